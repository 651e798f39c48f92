"""Pictures of rows in clusters: bars, bands and limits are wide enough for rows that are alike."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from tests.validity.clustered import WORLDS, Clustered

CELLS = cs.EqualMass(5)


def both(world, seed=0):
    """The same rows with their clusters, and without."""
    return [WORLDS[world](np.random.default_rng(seed), clusters=known) for known in (True, False)]


def test_bars_of_repeats_are_wider():
    known, blind = (cs.ReliabilityDisplay.compute(each, CELLS, n_resamples=199, rng=0) for each in both("repeats"))
    assert ((known.high - known.low) > 1.5 * (blind.high - blind.low)).mean() > 0.5
    assert (known.all_high >= known.high - 1e-12).all()
    assert ((known.wilson_high - known.wilson_low) > 1.5 * (blind.wilson_high - blind.wilson_low)).all()
    assert known.answer.noise > 2 * blind.answer.noise


def test_limits_of_repeats_are_wider_in_a_simplex():
    world, merged = Clustered(n_classes=5, correlation=0.9, constant=True), cs.Partition([[0], [1], [2, 3, 4]])
    samples = [merged(world(np.random.default_rng(0), clusters=known)) for known in (True, False)]
    known, blind = (cs.SimplexDisplay.compute(each, cs.SimplexGrid(2), n_resamples=199, rng=0) for each in samples)
    assert known.cells["limit"].values.mean() > 1.5 * blind.cells["limit"].values.mean()


def test_a_validity_curve_of_repeats_has_more_noise():
    known, blind = (cs.ValidityCurveDisplay.compute(each, CELLS, n_resamples=199, rng=0) for each in both("repeats"))
    assert known.null_mean > 1.5 * blind.null_mean
    assert known.pvalue > blind.pvalue


def test_the_band_of_a_local_regression_takes_clusters_for_copies():
    known, blind = (cs.LOESS()(each) for each in both("repeats"))
    np.testing.assert_array_equal(known.outcome, blind.outcome)
    each, _ = both("repeats")
    alone = cs.LOESS()(each.take(np.arange(0, len(each), 8)))
    middle = slice(100, 400)
    ratio = known.standard_error[middle] / (np.sqrt(8) * blind.standard_error[middle])
    np.testing.assert_allclose(ratio, 1, rtol=0.02)
    assert (known.high - known.low > 2 * (blind.high - blind.low)).all()
    assert 0.5 < np.median((known.high - known.low) / (alone.high - alone.low)) < 2
    null = [cs.LOESS(band="null")(each) for each in both("repeats")]
    np.testing.assert_allclose(null[0].standard_error / null[1].standard_error, np.sqrt(8), rtol=0.02)


def test_a_cluster_of_one_row_each_changes_no_band():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    pairs = cs.Sample(np.r_[y, 1], np.r_[p, 0.999], groups=np.r_[np.arange(200), 199])
    found, alone = cs.LOESS()(pairs), cs.LOESS()(cs.Sample(np.r_[y, 1], np.r_[p, 0.999]))
    np.testing.assert_allclose(found.low[:300], alone.low[:300], rtol=1e-9)


def test_a_belt_of_clusters_is_its_curve_alone():
    known, blind = both("repeats")
    belt = cs.CalibrationBelt()(known)
    assert np.isnan(belt.low).all()
    assert np.isnan([*belt.high.ravel(), belt.asymptotic_pvalue]).all()
    assert belt.statistic == cs.CalibrationBelt()(blind).statistic
    for each, bands in ((known, 0), (blind, 2)):
        display = cs.ReliabilityDisplay.compute(each, CELLS, n_resamples=199, rng=0)
        display.plot().add_curve(cs.CalibrationBelt())
        assert len(display.curves[-1].bands) == bands
        summary = cs.clinical_summary(each, n_resamples=99, rng=0).plot()
        assert (summary.belt_ is None) == (bands == 0)
        assert ("The belt is that" in summary.caption) == (bands > 0)
    plt.close("all")


@pytest.mark.parametrize("groups", [None, np.arange(300) // 5])
def test_the_caption_says_what_is_independent(groups):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    display = cs.ReliabilityDisplay.from_sample(cs.Sample(rng.random(300) < p, p, groups=groups), rng=0)
    said = "independent rows" if groups is None else "independent clusters"
    assert f"given its predictions and {said}" in " ".join(display.caption.split())
