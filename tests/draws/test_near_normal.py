"""Where the normal law of a cell's sum of predictions would be seen, rows are drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.draws.moments import sums_are_near_normal

N = 4000


def confident(scale, seed=0):
    """Half of the predictions within `scale` of 0, half within it of 1; labels follow them."""
    rng = np.random.default_rng(seed)
    near, high = scale * rng.random(N), rng.random(N) < 0.5
    p = np.where(high, 1 - near, near)
    return cs.Sample((rng.random(N) < p).astype(int), p, labels=[0, 1])


def by_loops(cells, p, chance):
    """The rule, cell by cell."""
    labels = chance.dtype.kind in "biu"
    for cell in range(cells.size):
        here = cells.index == cell
        noise = sum(c * (1 - q) ** 2 + (1 - c) * q**2 for q, c in zip(p[here], chance[here], strict=True))
        groups = [p[here & (chance == label)] for label in (0, 1)] if labels else [p[here]]
        if any(len(group) and np.ptp(group) > 0.75 * np.sqrt(noise) for group in groups):
            return False
    return True


SHAPES = {
    "uniform": np.random.default_rng(1).random(400),
    "both ends": confident(1e-2).predictions.event[:400],
    "almost certain": confident(1e-4).predictions.event[:400],
    "one end": 1e-6 * np.random.default_rng(2).random(400),
    "few": np.random.default_rng(3).random(12),
    "one surprise": np.append(np.full(300, 1e-5), 0.4),
}


@pytest.mark.parametrize("binning", [cs.EqualMass(5), cs.EqualMass(7), cs.EqualWidth(4), cs.EqualMass(1)], ids=repr)
@pytest.mark.parametrize("p", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("kind", ["law", "labels", "surprises"])
def test_the_rule_against_loops(binning, p, kind):
    rng = np.random.default_rng(4)
    chance = {"law": p, "labels": (rng.random(len(p)) < p).astype(int), "surprises": rng.integers(0, 2, len(p))}[kind]
    cells = binning.cut(cs.Sample(chance > 0.5, p, labels=[False, True]).predictions)
    rows, events = (np.bincount(cells.index, each, cells.size).astype(float) for each in (None, chance))
    wanted = by_loops(cells, p, chance)
    for by_prediction in (True, False):  # edges only save a look at rows
        found = sums_are_near_normal(cells, rows, events, p, chance, by_prediction=by_prediction)
        assert found is wanted


def test_the_rule_tells_apart():
    cells = cs.EqualMass(5).cut(confident(1e-4).predictions)
    assert not by_loops(cells, *2 * [confident(1e-4).predictions.event])
    sample = cs.Sample(np.arange(N) % 2, np.linspace(0, 1, N))
    assert by_loops(cs.EqualMass(5).cut(sample.predictions), *2 * [sample.predictions.event])


def draws(sample, estimator, shortcuts, seed, n_resamples=400):
    null = cs.Consistency(n_resamples, resample_predictions=True, shortcuts=shortcuts)
    return null.draw(estimator, sample, np.random.default_rng(seed)).samples


@pytest.mark.parametrize("scale", [1e-3, 1e-5])
@pytest.mark.parametrize("estimator", [cs.ECE(cs.EqualMass(11)), cs.DebiasedL2(cs.EqualMass(15))], ids=repr)
def test_almost_certain_predictions_at_both_ends_are_drawn_by_rows(scale, estimator):
    """They were drawn whole: at 1e-4 the distance to draws of rows was 0.65, and a p-value .86 for .30."""
    sample = confident(scale)
    assert np.array_equal(*(draws(sample, estimator, shortcuts, 1, 20) for shortcuts in (True, False)))


def test_predictions_at_both_ends_with_some_noise_are_drawn_whole_with_the_same_law():
    """2 x 400 draws, Kolmogorov-Smirnov at 1e-4."""
    for estimator in (cs.ECE(cs.EqualMass(10)), cs.DebiasedL2(cs.EqualMass(15))):
        sample = confident(2e-2)
        whole, rows = (draws(sample, estimator, shortcuts, seed) for seed, shortcuts in enumerate((True, False)))
        assert stats.ks_2samp(whole, rows).pvalue > 1e-4
        assert not np.array_equal(whole, draws(sample, estimator, False, 0))


def test_bootstraps_of_surprises_weigh_rows():
    """A wrong label in a cell of rows that are almost certain, at both ends: it is drawn 0, 1, 2, ... times."""
    sample, error = confident(1e-4), cs.ECE(cs.EqualMass(11))
    p, middle = sample.predictions.event, error.binning.cut(sample.predictions).index == 5
    right = (p > 0.5).astype(int)
    wrong = right.copy()
    wrong[np.flatnonzero(middle & (p < 0.5))[0]] = 1
    for labels, whole in ((right, True), (wrong, False)):
        sample = cs.Sample(labels, p, labels=[0, 1])
        same = np.array_equal(
            *(cs.Bootstrap(20, shortcuts=way).replicates(error, sample, rng=1) for way in (True, False))
        )
        assert same is not whole
    blunt = cs.Sample(wrong, 0.1 + 0.8 * p, labels=[0, 1])
    sample = cs.Sample(wrong, p, labels=[0, 1])
    both = [cs.Bootstrap(20, shortcuts=way).paired_replicates(error, sample, blunt, rng=1) for way in (True, False)]
    assert np.array_equal(*both)


@pytest.mark.parametrize("certain", [False, True], ids=["no event", "every row an event"])
def test_a_cell_in_which_nothing_surprising_is_drawn_has_the_squares_of_its_rows(certain):
    """They had normal noise, so that no event among 4000 rows of chances up to 1e-7 had a p-value of .03 for 1."""
    rng = np.random.default_rng(0)
    p, y = 1e-7 * rng.random(N), np.zeros(N, dtype=int)
    sample = cs.Sample(1 - y if certain else y, 1 - p if certain else p, labels=[0, 1])
    for estimator in (cs.DebiasedL2(cs.EqualMass(10)), cs.DebiasedL2(cs.EqualWidth(10))):
        found = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=1)
        assert found.null_distribution.whole_cells
        np.testing.assert_allclose(np.median(found.null_distribution.samples), found.statistic, rtol=1e-9)
        assert found.pvalue > 0.95


@pytest.mark.parametrize("law", [True, False], ids=["powers", "columns"])
def test_three_uncertain_labels_of_a_cell_keep_their_ties(law, monkeypatch):
    """Two events among three uncertain labels had a p-value of .04 where it is .09: the commoner pair is the larger."""
    chances, labels = np.full(N, 1e-12), np.zeros(N, dtype=int)
    chances[:3], labels[1:3] = (0.05, 0.3, 0.3), 1
    sample = cs.Sample(labels, chances)
    if not law:
        monkeypatch.setattr(type(sample.predictions), "is_exact_law", False)
    found = cs.calibration_test(sample, cs.DebiasedL2(cs.EqualMass(15)), null=cs.Consistency(999), rng=1)
    np.testing.assert_allclose(found.pvalue, 0.3 * 0.3, atol=4 * np.sqrt(0.09 * 0.91 / 999))
    assert not found.null_distribution.whole_cells
