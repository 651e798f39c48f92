"""Law 8: tallies drawn whole, blocks of labels, and moved rows give the same law wherever two of them serve."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.draws import whole_cells as bin_level
from calibstat.draws.whole_cells import redraw_predictions
from calibstat.nulls.multiplier import Multiplier
from registry import make_sample
from suites import slow_but

N_DRAWS = 100_000
LEVEL = 1e-3  # seeds are fixed once: a correct engine passes for good
TALLIED = [
    cs.ECE(cs.EqualMass(4)),
    cs.ExpectedMiscalibration(cs.EqualWidth(3), cs.SquaredEuclidean()),
    cs.MaximumMiscalibration(cs.EqualMass(3)),
    cs.DebiasedCE(cs.EqualWidth(3)),
    cs.RMSCE(cs.VarianceTree(8)),
]
tallied = pytest.mark.parametrize("estimator", TALLIED, ids=repr)


def replicates(estimator, sample, *, shortcuts, rng, n_resamples=N_DRAWS):
    null = cs.Consistency(n_resamples, shortcuts=shortcuts)
    # equal values may differ in the last digits, and Kolmogorov-Smirnov would see it
    return null.draw(estimator, sample, cs.as_generator(rng)).samples.round(9)


def pvalue(first, second):
    return stats.ks_2samp(first, second, method="asymp").pvalue


@tallied
def test_tallies_and_blocks_agree_in_law(estimator):
    sample = make_sample(2, n=16, seed=11)
    whole = replicates(estimator, sample, shortcuts=True, rng=1)
    plain = replicates(estimator, sample, shortcuts=False, rng=2)
    assert pvalue(whole, plain) > LEVEL


@tallied
def test_a_wrong_null_is_told_apart(estimator):
    """The negative control: chances moved by three hundredths."""
    sample = make_sample(2, n=16, seed=11)
    moved = np.clip(sample.predictions.event + 0.03, 0, 1)
    wrong = cs.Sample.of(cs.Sample(sample.outcomes, moved).predictions, sample.outcomes)
    evaluate = estimator.prepare(sample.predictions)
    uniforms = np.random.Generator(np.random.PCG64(3)).random((N_DRAWS, 16))
    drawn = evaluate((uniforms < wrong.predictions.event).astype(int)).round(9)
    assert pvalue(replicates(estimator, sample, shortcuts=True, rng=1), drawn) < 1e-6


def enumerated(estimator, sample):
    """The exact law of the statistic: every label vector with its chance."""
    event = sample.predictions.chances[:, 1]
    labels = np.array(list(product([0, 1], repeat=len(event))))
    chances = np.prod(np.where(labels == 1, event, 1 - event), axis=1)
    values, place = np.unique(estimator.prepare(sample.predictions)(labels).round(9), return_inverse=True)
    return values, np.bincount(place.ravel(), chances)


@pytest.mark.parametrize("shortcuts", [True, False])
@tallied
def test_both_doors_agree_with_full_enumeration(estimator, shortcuts):
    sample = make_sample(2, n=8, seed=12)
    values, chances = enumerated(estimator, sample)
    drawn = replicates(estimator, sample, shortcuts=shortcuts, rng=4, n_resamples=50_000)
    place = np.searchsorted(values, drawn - 1e-8)
    np.testing.assert_allclose(values[place], drawn, atol=2e-9)
    seen = np.bincount(place, minlength=len(values))
    common = 50_000 * chances >= 5
    observed = np.append(seen[common], seen[~common].sum())
    expected = np.append(chances[common], chances[~common].sum()) * 50_000
    used = expected > 0
    assert stats.chisquare(observed[used], expected[used] * observed.sum() / expected[used].sum()).pvalue > LEVEL


@pytest.mark.parametrize("value", [0.0, 0.1, 0.2, 0.3])
def test_the_pvalue_agrees_with_full_enumeration(value):
    sample, estimator = make_sample(2, n=8, seed=12), TALLIED[0]
    values, chances = enumerated(estimator, sample)
    exact = chances[values >= value - 1e-9].sum()
    for shortcuts in (True, False):
        null = cs.Consistency(50_000, shortcuts=shortcuts).draw(estimator, sample, cs.as_generator(5))
        assert abs(null.pvalue(value) - exact) <= 4 * np.sqrt(exact * (1 - exact) / 50_000) + 1 / 50_001


@pytest.mark.parametrize(
    ("estimator", "sample"),
    [
        (cs.ECE(cs.SimplexGrid(2)), make_sample(3)),
        (cs.ECE(cs.EqualMass(4)), make_sample(2, weighted=True)),
        (cs.DebiasedL2(cs.EqualMass(4)), make_sample(2)),
        (cs.PDE(cs.EqualMass(4)), make_sample(2)),
        (cs.Generic(lambda s: s.outcomes.mean()), make_sample(2)),
    ],
    ids=["three classes", "weights", "needs squares", "needs rows", "needs everything"],
)
def test_where_counts_do_not_suffice_the_shortcut_is_not_taken(estimator, sample):
    first, second = (replicates(estimator, sample, shortcuts=way, rng=6, n_resamples=50) for way in (True, False))
    np.testing.assert_array_equal(first, second)


def naive_moved(estimator, sample, rng, n_resamples):
    """Broecker & Smith (2007) word by word: draw predictions with replacement, labels from them, evaluate anew."""
    values = []
    for _ in range(n_resamples):
        rows = [int(rng.integers(len(sample))) for _ in range(len(sample))]
        labels = [int(rng.random() < sample.predictions.event[row]) for row in rows]
        values.append(estimator(cs.Sample(labels, sample.predictions.event[rows], labels=[0, 1])))
    return np.round(values, 9)


@pytest.mark.parametrize(
    "estimator", slow_but([cs.ECE(cs.EqualMass(3))], [cs.ECE(cs.EqualMass(3)), cs.PDE(cs.EqualWidth(3))]), ids=repr
)
def test_moved_predictions_agree_in_law_with_a_naive_loop(estimator):
    sample = make_sample(2, n=12, seed=13)
    null = cs.Consistency(6000, resample_predictions=True)
    moved = null.draw(estimator, sample, cs.as_generator(7)).samples.round(9)
    naive = naive_moved(estimator, sample, np.random.Generator(np.random.PCG64(8)), 6000)
    assert pvalue(moved, naive) > LEVEL
    kept = replicates(estimator, sample, shortcuts=False, rng=9, n_resamples=6000)
    assert pvalue(kept, naive) < 1e-6


MOVED = [
    cs.ECE(cs.EqualMass(4)),
    cs.ECE(cs.EqualWidth(3)),
    cs.MaximumMiscalibration(cs.EqualMass(3)),
    cs.DebiasedCE(cs.EqualWidth(3)),
    cs.TopLabel() | cs.RMSCE(cs.EqualMass(3)),
]


@pytest.mark.parametrize("estimator", slow_but(MOVED[:2], MOVED), ids=repr)
def test_moved_cells_drawn_whole_agree_with_moved_rows(estimator, monkeypatch):
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    seen = estimator.lens(make_sample(2, n=60, seed=14))
    whole = redraw_predictions(estimator.core, seen, N_DRAWS, cs.as_generator(10)).round(9)
    rows = redraw_predictions(estimator.core, seen, 2500, cs.as_generator(11), shortcuts=False).round(9)
    assert pvalue(whole, rows) > LEVEL
    kept = replicates(estimator.core, seen, shortcuts=True, rng=12)
    assert pvalue(whole, kept) < 1e-6  # the negative control


def uneven(n=400, weighted=False, n_classes=2):
    """Rows of which few events stand out, in a model that is off."""
    rng = np.random.Generator(np.random.PCG64(15))
    weights = rng.gamma(2, 1, n) if weighted else None
    if n_classes == 2:
        p = rng.beta(0.3, 2, n)
        return cs.Sample((rng.random(n) < 0.7 * p).astype(int), p, sample_weight=weights, labels=[0, 1])
    rows = rng.dirichlet([2, 1, 0.3], n)
    codes = (rows.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return cs.Sample(codes, rows, sample_weight=weights, labels=range(3))


def squares_redrawn(shortcuts, rng, n_resamples=20_000, sample=None):
    null = cs.Consistency(n_resamples, shortcuts=shortcuts)
    return null.draw(cs.DebiasedL2(cs.EqualMass(3)), sample or uneven(200), cs.as_generator(rng))


def test_squared_residuals_drawn_whole_agree_with_rows(monkeypatch):
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    whole, rows = squares_redrawn(True, 1), squares_redrawn(False, 2)
    assert whole.description == "20000 resamples of whole cells"
    assert rows.description == "20000 resamples"
    assert pvalue(whole.samples, rows.samples) > LEVEL
    moved = cs.Sample(uneven(200).outcomes, np.clip(uneven(200).predictions.event + 0.02, 0, 1))
    assert pvalue(whole.samples, squares_redrawn(False, 2, 5000, moved).samples) < 1e-6  # the negative control


def signed(estimator, sample, rng, n_resamples=20_000, centred=True):
    return Multiplier(n_resamples, centred=centred).signs(estimator, sample, cs.as_generator(rng))


@pytest.mark.parametrize(
    ("estimator", "sample", "centred"),
    [
        (cs.ECE(cs.EqualMass(3)), uneven(), True),
        (cs.ECE(cs.EqualMass(3)), uneven(weighted=True), True),
        (cs.MaximumMiscalibration(cs.EqualWidth(2)), uneven(), False),
        (cs.ECE(cs.SimplexGrid(1)), uneven(n_classes=3, weighted=True), True),
    ],
    ids=["two classes", "weights", "maximum, not centred", "three classes"],
)
def test_signs_of_whole_cells_agree_with_signs_of_rows(estimator, sample, centred, monkeypatch):
    rows = signed(estimator, sample, 2, 5000, centred)
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    monkeypatch.setattr(bin_level, "ROWS_FOR_A_CELL", 1.0)
    whole = signed(estimator, sample, 1, centred=centred)
    assert (whole.whole_cells, rows.whole_cells) == (True, False)
    assert pvalue(whole.samples, rows.samples) > LEVEL
    assert pvalue(whole.samples * 1.1, rows.samples) < LEVEL  # the negative control


def test_few_events_keep_their_signs(monkeypatch):
    """A single event adds or takes one; normal noise would spread that over all draws."""
    sample = cs.Sample((np.arange(300) == 7).astype(int), np.full(300, 0.001))
    estimator = cs.ECE(cs.FixedEdges([0, 1]))
    rows = signed(estimator, sample, 2, 4000, centred=False).samples
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    whole = signed(estimator, sample, 1, centred=False).samples
    assert 0 < whole.std() < 0.03 * whole.mean()
    assert whole.mean() == pytest.approx(rows.mean(), rel=1e-3)
    monkeypatch.setattr(bin_level, "_STANDS_OUT", 1.0)
    assert signed(estimator, sample, 1, centred=False).samples.std() > 0.5 * whole.mean()  # the negative control
