"""Bounds that hold at every n: how often they miss the error at the predictions of the sample, in hostile worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit, logit

import calibstat as cs
from calibstat.inference.intervals import NormalInterval
from calibstat.nulls.multiplier import Multiplier

pytestmark = pytest.mark.slow
RUNS, LEVEL = 400, 0.95
ECE, SQUARED = cs.ECE(), cs.DebiasedL2(cs.EqualMass(10))


@dataclass(frozen=True)
class World:
    """Predictions, chances and weights."""

    predictions: Callable
    chances: Callable
    weights: Callable = lambda n, rng: None

    def draw(self, rng):
        """Draw a sample and its chances."""
        p = self.predictions(rng)
        chance = np.broadcast_to(self.chances(p), p.shape)
        weights = self.weights(len(p), rng)
        happened = rng.random(len(p)) < chance
        return cs.Sample(happened, p, labels=[False, True], sample_weight=weights), chance


def shifted(by):
    return lambda p: expit(logit(p) + by)


def three_scores(n):
    return World(lambda rng: rng.choice([0.2, 0.5, 0.8], n), shifted(0.7))


def rare(n, by):
    return World(lambda rng: rng.beta(1, 19, n), shifted(by))


ALMOST_CERTAIN = World(lambda _: np.full(10, 1 - 1e-7), lambda _: 0.95)
ONE_SIDED = World(lambda _: np.repeat([1.0, 0.001], [400, 40]), lambda p: np.where(p == 1, 1, 0.03))
HEAVY = World(lambda _: np.full(2000, 0.001), lambda _: 0.03, lambda n, _: np.where(np.arange(n) < 20, 100.0, 1.01))
PARETO = World(lambda rng: rng.random(300), shifted(0.3), lambda n, rng: 1 + rng.pareto(1, n))
WORLDS = {
    "ten right rows": (ALMOST_CERTAIN, ECE),
    "certain beside a few rare": (ONE_SIDED, ECE),
    "the same, the largest error": (ONE_SIDED, cs.MaximumMiscalibration(cs.UniqueValues())),
    "the same, Kuiper": (ONE_SIDED, cs.Kuiper()),
    "twenty heavy rows": (HEAVY, ECE),
    "twenty heavy rows, squared": (HEAVY, SQUARED),
    "Pareto weights": (PARETO, ECE),
    "Pareto weights, squared": (PARETO, SQUARED),
    "three scores, squared": (three_scores(200), cs.DebiasedL2(cs.UniqueValues())),
    "rare, squared": (rare(2000, 0.3), SQUARED),
    "rare": (rare(500, 0.7), ECE),
}


def truth(estimator, sample, chance):
    """The mean over labels at these predictions of an unbiased square; of a seminorm its value at the chances."""
    if isinstance(estimator, cs.DebiasedL2):
        cells = estimator.binning.cut(sample.predictions)
        w = np.ones(len(chance)) if sample.predictions.weights is None else sample.predictions.weights
        error = w * (chance - sample.predictions.event)
        total = 0.0
        for cell in np.unique(cells.index):
            own = cells.index == cell
            mass, pairs = w[own].sum(), w[own].sum() ** 2 - (w[own] ** 2).sum()
            total += mass / w.sum() * (error[own].sum() ** 2 - (error[own] ** 2).sum()) / pairs if pairs > 0 else 0.0
        return total
    evaluator = estimator.prepare(sample.predictions)
    return float(evaluator(np.stack([1 - chance, chance], axis=1)))


def misses(world, estimator, bound, runs=RUNS):
    """Count the samples in which an upper bound lies below the truth."""
    rng = np.random.default_rng(20_261_122)
    missed = 0
    for _ in range(runs):
        sample, chance = world.draw(rng)
        missed += bound(estimator, sample, rng) < truth(estimator, sample, chance) - 1e-12
    return missed


def upper(estimator, sample, rng):
    """The bound; none where so few rows have all the weight that none is given."""
    try:
        return cs.equivalence_test(sample, estimator, 0.5, n_resamples=199, rng=rng).upper_bound
    except ValueError as reason:
        if "needs at least 7 rows (in effect, by weights)" not in str(reason):
            raise
        return np.inf


def of_signs(estimator, sample, rng):
    """The value and the quantile of noise that the residuals show."""
    noise = Multiplier(199, centred=True).draw(estimator, sample, rng).samples
    return estimator(sample) + np.quantile(noise, LEVEL)


def of_a_standard_error(estimator, sample, _rng):
    """The normal bound, with the standard error at the estimate."""
    found = estimator.prepare(sample.predictions).capabilities.expansion(sample.outcomes)
    return NormalInterval(found.value, found.linear**0.5, "").upper(LEVEL)


def most(runs, share=1 - LEVEL):
    """The largest count that 4 standard errors allow."""
    return runs * share + 4 * (runs * share * (1 - share)) ** 0.5


@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize("name", WORLDS)
def test_the_upper_bound_misses_in_at_most_five_percent(name):
    assert misses(*WORLDS[name], upper) <= most(RUNS)


@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize("name", ["ten right rows", "certain beside a few rare", "twenty heavy rows"])
def test_negative_control_noise_that_the_residuals_show_is_too_little(name):
    assert misses(*WORLDS[name], of_signs) > most(RUNS)


@pytest.mark.parametrize("name", ["three scores, squared", "rare, squared"])
def test_negative_control_a_standard_error_at_the_estimate_is_too_small(name):
    assert misses(*WORLDS[name], of_a_standard_error, 1600) > most(1600)
