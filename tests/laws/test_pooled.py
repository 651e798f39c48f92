"""Laws 4 and 8 for pooled rows: counts of equal predictions give the value of rows, and cells drawn whole their law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.draws import pooled
from calibstat.draws.labels import LabelLaw
from calibstat.draws.pooled import PooledEvaluator
from registry import ESTIMATORS, every, make_sample
from suites import everything, slow_but

POOLING = [
    entry
    for entry in ESTIMATORS
    if entry.thing.core.takes_counts
    and 2 in entry.classes
    and len(entry.thing.lens(make_sample(2)).predictions.keys) == 1
]
NEAR = dict(rtol=1e-9, atol=1e-12)
ON_A_MESH = dict(rtol=1e-4)  # that of pooled rows is coarser
WALKS = [cs.Kuiper(), cs.BrownianBridge(), cs.AndersonDarling()]


def tied(estimator, n=80, n_values=9):
    """A sample with few different predictions, not all of the same number of rows, and ages that follow them."""
    rng = np.random.default_rng(3)
    level = rng.integers(0, n_values, n)
    prediction = np.linspace(0.02, 0.97, n_values)[level]
    sample = cs.Sample(rng.random(n) < prediction, prediction, variables={"age": 20.0 + level})
    return estimator.lens(sample)


@every(POOLING)
def test_equal_predictions_given_as_counts_give_the_value_of_rows(entry):
    seen, core = tied(entry.thing), entry.thing.core
    labels = LabelLaw(seen.predictions.chances).invert(np.random.default_rng(1).random((40, len(seen))))
    cells = PooledEvaluator(core, seen.predictions)
    assert cells.exact
    near = ON_A_MESH if isinstance(core, cs.SmoothECE) else NEAR
    np.testing.assert_allclose(cells(labels), core.prepare(seen.predictions)(labels), **near)


def test_pairs_of_rows_cannot_be_given_as_weights():
    """The negative control: weights that do not say that they count rows give another debiased error."""
    core = cs.DebiasedL2(cs.UniqueValues())
    seen = tied(core)
    values, place, counts = np.unique(seen.predictions.event, return_inverse=True, return_counts=True)
    share = np.bincount(place, seen.outcomes) / counts
    chances, weights = np.stack([1 - share, share], axis=1), counts.astype(float)
    pooled_rows = replace(seen.predictions, rows=values, variables={}, weights=weights)
    of_rows = core.prepare(seen.predictions)(seen.outcomes)
    assert core.prepare(replace(pooled_rows, counts=weights))(chances) == pytest.approx(of_rows)
    assert core.prepare(pooled_rows)(chances) != pytest.approx(of_rows)


@pytest.mark.parametrize("estimator", slow_but(WALKS[:1], WALKS), ids=repr)
def test_cells_drawn_whole_have_the_law_of_rows_that_are_pooled(estimator, monkeypatch):
    monkeypatch.setattr(pooled, "ROWS", 0)
    monkeypatch.setattr(pooled, "most_cells", lambda _: 5)
    sample, core = make_sample(2, n=40, seed=15), cs.estimators.base.Headline(estimator)
    drawn = cs.Consistency(20_000).draw(core, sample, cs.as_generator(1))
    assert drawn.pooled.n_cells <= 5
    cells = PooledEvaluator(core, sample.predictions)
    uniforms = np.random.default_rng(2).random((20_000, 40))
    rows = cells(LabelLaw(sample.predictions.chances).invert(uniforms))
    moved = cells(LabelLaw(np.clip(sample.predictions.chances + np.array([-0.03, 0.03]), 0, 1)).invert(uniforms))
    assert stats.ks_2samp(drawn.samples.round(9), rows.round(9), method="asymp").pvalue > 1e-3
    assert stats.ks_2samp(drawn.samples.round(9), moved.round(9), method="asymp").pvalue < 1e-6  # the negative control


def test_a_test_compares_the_data_pooled_alike_and_says_so(monkeypatch):
    monkeypatch.setattr(pooled, "ROWS", 0)
    monkeypatch.setattr(pooled, "most_cells", lambda _: 5)
    sample = make_sample(2, n=40, seed=15)
    result = cs.calibration_test(sample, cs.Kuiper(), rng=1)
    law, cells = result.null_distribution, PooledEvaluator(cs.Kuiper(), sample.predictions)
    assert result.statistic == cs.Kuiper()(sample)
    assert law.pooled.value == cells(sample.outcomes) < result.statistic
    assert result.pvalue == (1 + (law.samples >= law.pooled.value - 1e-12).sum()) / 1000
    assert f"pooled to {cells.n_cells} cells" in everything(result)
    told = result.to_dict()
    assert (told["pooled_cells"], told["pooled_statistic"]) == (cells.n_cells, law.pooled.value)


@pytest.mark.parametrize(
    ("sample", "null"),
    [
        (make_sample(2, n=40), cs.Consistency(9, shortcuts=False)),
        (make_sample(2, n=40), cs.Consistency(9, resample_predictions=True)),
        (make_sample(2, n=40, weighted=True), cs.Consistency(9)),
        (tied(cs.Kuiper()), cs.Consistency(9)),
    ],
    ids=["no shortcuts", "moved predictions", "weights", "few values"],
)
def test_nothing_is_pooled_that_would_change_what_was_asked(sample, null, monkeypatch):
    monkeypatch.setattr(pooled, "ROWS", 0)
    result = cs.calibration_test(sample, cs.Kuiper(), null=null, rng=1)
    pooled_data = result.null_distribution.pooled
    assert pooled_data is None or pooled_data.exact
    assert result.to_dict()["pooled_cells"] is None
    assert "pooled" not in everything(result)


def test_draws_that_stop_early_compare_the_same(monkeypatch):
    monkeypatch.setattr(pooled, "ROWS", 0)
    monkeypatch.setattr(pooled, "most_cells", lambda _: 5)
    sample = make_sample(2, n=40, seed=15)
    found = cs.calibration_test(sample, cs.Kuiper(), null=cs.Sequential(999, 20), rng=1)
    all_drawn = cs.calibration_test(sample, cs.Kuiper(), null=cs.Consistency(999), rng=1).null_distribution
    law = found.null_distribution
    assert len(law.samples) < 999
    np.testing.assert_array_equal(law.samples, all_drawn.samples[: len(law.samples)])
    assert law.pooled.value == all_drawn.pooled.value
    assert (law.samples >= law.pooled.value - 1e-12).sum() == 20
    assert "pooled to" in everything(found)


def test_below_the_threshold_nothing_is_pooled():
    sample = make_sample(2, n=600)
    assert cs.calibration_test(sample, cs.Kuiper(), n_resamples=9, rng=1).null_distribution.pooled is None


@pytest.mark.parametrize("n", [0.5, 3.0], ids=["most predictions near zero", "most near one half"])
def test_no_cell_holds_more_than_its_share(n):
    rng = np.random.default_rng(4)
    prediction = rng.beta(n, 3, 30_000)
    predictions = cs.Sample(rng.random(30_000) < prediction, prediction).predictions
    cells = PooledEvaluator(cs.Kuiper(), predictions)
    groups = np.split(cells.order, cells.starts[1:])
    variance = np.array([predictions.chances[rows].prod(axis=1).sum() for rows in groups])
    assert 128 < cells.n_cells <= pooled.most_cells(30_000) == 256
    assert cells.counts.max() <= 2 / 256 * 30_000 + 1
    assert variance.max() <= 2 / 256 * variance.sum() + 0.25
    low, high = (np.array([f(prediction[rows]) for rows in groups[:9]]) for f in (np.min, np.max))
    assert (low[1:] > high[:-1]).all()


def test_rows_beside_a_gigantic_tie_keep_their_cells():
    """They had as many cells as their share of the rows: 7 of 256."""
    rng = np.random.default_rng(4)
    prediction = np.where(rng.random(20_000) < 0.97, 0.5, rng.random(20_000))
    cells = PooledEvaluator(cs.Kuiper(), cs.Sample(rng.random(20_000) < prediction, prediction).predictions)
    counts = np.sort(cells.counts)
    assert counts[-1] > 19_000
    assert 128 < cells.n_cells <= 256
    assert counts[-2] < 12


def test_a_walk_whose_scale_is_below_every_number_has_no_standardized_value():
    prediction = np.full(50, 5e-324)
    sample = cs.Sample(np.zeros(50, dtype=int), prediction, labels=[0, 1])
    found = cs.calibration_test(sample, cs.CramerVonMises(), null=cs.Consistency(19), rng=0)
    assert found.standardized is None
    assert found.pvalue == 1
