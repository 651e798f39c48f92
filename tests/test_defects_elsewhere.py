"""Defects of other packages: calibstat is right on the input that breaks them, and the same arithmetic with the defect
is wrong there, so that each test can fail.

More of them are in tests/estimators/test_peers_wrong.py (cells, shapes, missing values, order of rows, intervals,
p-values of zero) and tests/estimators/test_peers.py (one-sided p-values, degrees of freedom, the origin of a walk,
ties).
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


def true_world(n, seed):
    """Labels drawn from the predictions themselves."""
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return cs.Sample((rng.random(n) < p).astype(int), p, labels=[0, 1])


def error_of_cells(y, p, cells):
    """The ECE of given cells; rows of a negative cell are in none."""
    return sum(abs((y - p)[cells == cell].sum()) for cell in np.unique(cells[cells >= 0])) / len(y)


def test_confidence_of_exactly_one_has_no_cell_of_its_own():
    """torchmetrics issue 3510: bucketize puts 1.0 one past the last cell."""
    y, p = np.array([1, 0] * 20), np.array([0.92, 1.0] * 20)
    found = cs.ECE(cs.EqualWidth(10))(cs.Sample(y, p))
    assert found == pytest.approx(0.46, abs=1e-12)
    alone = np.digitize(p, np.arange(11) / 10) - 1
    assert alone.max() == 10
    assert error_of_cells(y, p, alone) == pytest.approx(0.54, abs=1e-12)


def test_confidence_of_exactly_zero_is_counted_in_the_first_cell():
    """torchmetrics issue 1646 and inspect_evals issue 2141: it falls into cell -1, which is no cell."""
    y, p = np.array([1, 0, 1, 0] * 10), np.array([0.0, 0.3, 0.95, 0.05] * 10)
    found = cs.ECE(cs.EqualWidth(10))(cs.Sample(y, p))
    assert found == pytest.approx((0.95 + 0.3 + 0.05) / 4, abs=1e-12)
    lost = np.digitize(p, np.linspace(0, 1, 11), right=True) - 1
    assert lost.min() == -1
    assert error_of_cells(y, p, lost) < 0.2 < found


def test_the_last_cell_is_not_dropped():
    """The calib_err of a leaderboard loops over one cell fewer than there are: the surest rows count for nothing."""
    p = np.repeat([0.5, 0.9], 100)
    y = np.r_[np.tile([0, 1], 50), np.tile([1, 1, 1, 0, 0], 20)]
    found = cs.RMSCE(cs.EqualMass(2))(cs.Sample(y, p))
    assert found == pytest.approx(0.3 / np.sqrt(2), abs=1e-12)
    deviations = [(y - p)[rows].mean() for rows in np.split(np.arange(200), 2)]
    without_last = np.sqrt(sum(0.5 * deviation**2 for deviation in deviations[:-1]))
    assert without_last == pytest.approx(0, abs=1e-12)


def test_each_class_has_its_own_cox_line():
    """calzone: whichever class is asked for, the probabilities are those of column 1."""
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.dirichlet([1, 1, 1], 4000)
    y = (np.cumsum(p, axis=1) < rng.random((4000, 1))).sum(axis=1)
    for label in range(3):
        found = (cs.ClassWise(label) | cs.Cox())(cs.Sample(y, p))
        assert abs(found.slope - 1) < 4 * found.slope_error
    wrong = cs.Cox()(cs.Sample((y == 0).astype(int), p[:, 1]))
    assert wrong.slope < 0


def test_noise_of_the_smooth_error_is_said_and_leaves_nothing_over():
    """relplot: its value is positive where labels follow the predictions, and nothing says by how much."""
    tests = [
        cs.calibration_test(true_world(100, seed), cs.SmoothECE(), null=cs.Consistency(99), rng=seed)
        for seed in range(40)
    ]
    values = np.array([float(test.statistic) for test in tests])
    excess = values - [float(test.null_mean) for test in tests]
    spread = excess.std(ddof=1) / np.sqrt(40)
    assert abs(excess.mean()) < 4 * spread
    assert values.mean() > 4 * spread


def test_the_interval_of_a_smooth_error_has_no_negative_end():
    """relplot: plus and minus of a bootstrap, around an estimate that is never below its noise."""
    for seed in range(5):
        low, high = cs.estimate(true_world(300, seed), cs.SmoothECE(), rng=seed).confidence_interval
        assert low == 0 < high


def test_the_smallest_of_forty_pvalues_is_adjusted():
    """MCGrad: the smallest p-value of all segments is reported as it is; 40 true segments are an alarm in most runs."""
    segments = np.arange(2400) % 40
    alarms, naive = 0, 0
    for seed in range(20):
        sample = true_world(2400, seed)
        alarms += float(cs.subgroup_audit(sample, {"segment": segments}, n_resamples=199, rng=seed).pvalue) <= 0.05
        y, p = sample.outcomes, sample.predictions.event
        z = np.bincount(segments, y - p) / np.sqrt(np.bincount(segments, p * (1 - p)))
        naive += np.abs(z).max() > 1.96
    assert alarms <= 20 * 0.05 + 4 * np.sqrt(20 * 0.05 * 0.95)
    assert naive > 10


@pytest.mark.parametrize("wrong", [-1, 0, np.nan, np.inf])
def test_a_bandwidth_that_is_none_is_refused(wrong):
    """ece_kde: its search of a bandwidth returns -1 where all likelihoods are negative, and goes on with it."""
    with pytest.raises(ValueError, match="bandwidth"):
        cs.KDECE(wrong)


def test_the_worst_interval_is_found_where_the_walk_falls():
    """cumulcalib: the place is that of the largest signed value, also where the largest departure is below zero."""
    p = np.linspace(0.01, 0.99, 99)
    y = np.where(p < 0.5, (np.arange(99) % 4 == 0).astype(int), 0)
    found = cs.WorstInterval()(cs.Sample(y, p))
    walk = np.cumsum(y - p)
    assert found.deviation < 0
    assert found.low <= p[np.abs(walk).argmax()] <= found.high
    assert p[walk.argmax()] < found.low
