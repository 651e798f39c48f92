"""What an estimator costs at a million rows, in stable argsorts of the predictions.

The reference is ``numpy.argsort(kind="stable")``, which ordering rows takes. ``numpy.sort`` of floats is vectorised on
processors with AVX-512 and there up to twenty times faster than any ordering of rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibstat as cs

N = 1_000_000
# In multiples of the argsort: below one, nothing is sorted.
ESTIMATORS = [
    (cs.ECE(cs.EqualWidth(15)), 0.15),
    (cs.ECE(), 0.2),
    (cs.DebiasedL2(), 0.25),
    (cs.PDE(), 0.35),
    (cs.Kuiper(), 2),
    (cs.KolmogorovSmirnov(), 2),
    (cs.AverageTwoBin(), 2),
    (cs.BrownianBridge(), 2.2),
    (cs.SmoothECE(), 2.4),
    (cs.SmoothCE(), 6),
    (cs.CORP(), 2.6),
    (cs.BrierDecomposition(cs.EqualMass(15)), 0.4),
    (cs.FerroFricker(cs.EqualMass(15)), 0.4),
    (cs.BrierScore(), 0.25),
    (cs.AUC(), 2),
    (cs.ECESweep(), 4.5),
    (cs.MultiscaleL2(), 3.5),
    (cs.Spiegelhalter(), 0.7),
    (cs.LogitScore(1), 0.9),
    (cs.VectorScalingScore(), 0.7),
    (cs.HosmerLemeshow(), 0.4),
    (cs.AUCV(), 3),
    (cs.KendallTau(), 6),
    (cs.ProbabilisticCount(), 6),
    (cs.NeighborAUCV(15), 6),
]


def named(estimator):
    """The estimator with its binning, where that tells two of them apart."""
    binning = getattr(estimator, "binning", None)
    return f"{type(estimator).__name__}({'' if binning is None else repr(binning)})"


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    p = rng.beta(0.7, 0.7, N)
    return cs.Sample((rng.random(N) < p).astype(int), p)


@pytest.mark.parametrize(("estimator", "goal"), ESTIMATORS, ids=repr)
def test_estimator_costs_a_few_argsorts(sample, estimator, goal, ratios):
    def fresh():
        # predictions remember their order: copied, so that ordering is counted
        return estimator(cs.Sample.of(sample.predictions.take(slice(None)), sample.outcomes))

    order = partial(np.argsort, sample.predictions.event, kind="stable")
    ratios.at_most(f"{named(estimator)}, n = 1e6; a stable argsort", fresh, order, goal, rounds=5)


def test_kendall_tau_of_chances_costs_a_pass_for_each_bit_of_their_ranks(sample, ratios):
    chances = np.random.default_rng(5).random(N)
    both, evaluator = np.column_stack([1 - chances, chances]), cs.KendallTau().prepare(sample.predictions)
    order = partial(np.argsort, sample.predictions.event, kind="stable")
    ratios.at_most("KendallTau() of chances, n = 1e6; a stable argsort", lambda: evaluator(both), order, 15, rounds=3)
