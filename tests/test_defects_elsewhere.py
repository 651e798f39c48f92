"""Defects of other packages: calibstat is right on the input that breaks them, and the same arithmetic with the defect
is wrong there, so that each test can fail.

More of them are in tests/estimators/test_peers_wrong.py (cells, shapes, missing values, intervals, p-values of zero)
and, with the packages installed, tests/estimators/test_peers.py (ties, the origin of a walk, degrees of freedom).
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.estimators.standardized_cells import scales_of


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
        low, high = cs.estimate(true_world(300, seed), cs.SmoothECE(), n_resamples=199, rng=seed).confidence_interval
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


def test_over_and_under_confidence_are_both_evidence():
    """MAPIE 1.6.0: its p-value is the upper tail, so that under-confidence of any size gives 1."""
    chance = np.random.Generator(np.random.PCG64(1)).random(500)
    labels = (np.random.Generator(np.random.PCG64(2)).random(500) < chance).astype(int)
    for power in (0.5, 2):
        p = 1 / (1 + (1 / chance - 1) ** power)
        assert cs.calibration_test(cs.Sample(labels, p), cs.Spiegelhalter()).pvalue < 1e-4
    assert stats.norm.sf(cs.Spiegelhalter()(cs.Sample(labels, 1 / (1 + (1 / chance - 1) ** 0.5)))) > 0.999


def test_the_order_of_equal_rows_decides_nothing():
    """MAPIE 1.6.0: its walks are read inside a tie, and noise that is added to the predictions says in which order."""
    p = np.repeat([0.3, 0.6], 3)
    labels = [np.r_[first, second] for first in permutations([0, 0, 1]) for second in permutations([1, 0, 1])]
    for walk in (cs.KolmogorovSmirnov(), cs.Kuiper()):
        assert len({float(walk(cs.Sample(y, p))) for y in labels}) == 1
    inside = {np.abs(np.cumsum(y - p)).max().round(12) for y in labels}
    assert len(inside) > 1


def test_no_two_replicates_share_a_stream():
    """PyCalib: workers are forked with the same global generator, and 400 draws are 200 that come twice."""
    sample = true_world(5000, 0)
    for shortcuts in (True, False):
        drawn = cs.Consistency(400, shortcuts=shortcuts).draw(cs.BrierScore(), sample, cs.as_generator(0)).samples
        assert len(np.unique(drawn)) > 390
    twice = np.concatenate([np.random.Generator(np.random.PCG64(0)).random(200)] * 2)
    assert len(np.unique(twice)) == 200


def test_platt_scaling_is_fitted_by_the_installed_scikit_learn():
    """PyCalib: its LogisticCalibration passes an argument on that scikit-learn 1.8 has no more, a TypeError."""
    sample = true_world(2000, 1)
    p, y = sample.predictions.event, sample.outcomes
    for calibrator in (cal.Platt(), cal.Temperature(), cal.Beta(), cal.Isotonic()):
        fitted = calibrator.fit(np.column_stack([1 - p, p]), y).predict_proba(np.column_stack([1 - p, p]))
        assert np.abs(fitted[:, 1] - p).max() < 0.2


def test_the_distribution_holds_no_other_package():
    """netcal 1.4.0: its wheel installs the packages ``docs`` and ``examples`` beside its own."""
    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    found = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]["find"]
    assert found == {"include": ["calibstat*"]}


def test_predictions_of_another_source_lose_no_degrees_of_freedom():
    """calzone 0.1.1: two are taken away by default, as if the model had been fitted to these rows."""
    found = [cs.HosmerLemeshow(10)(true_world(300, seed)) for seed in range(1000)]
    size = np.mean([each.published_chi_square_pvalue <= 0.05 for each in found])
    with_two_less = np.mean([stats.chi2.sf(each.published, 8) <= 0.05 for each in found])
    noise = 4 * np.sqrt(0.05 * 0.95 / 1000)
    assert abs(size - 0.05) < noise < with_two_less - 0.05


def test_nothing_that_is_extra_is_needed():
    """probmetrics 1.3.0: numba belongs to an extra, and the package cannot be imported without it."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import calibstat as cs\n"
        "[getattr(cs, name) for name in cs.__all__]\n"
        "sample = cs.Sample([0, 1, 1, 0] * 50, [0.2, 0.7, 0.6, 0.4] * 50)\n"
        "print(cs.calibration_test(sample, cs.SmoothECE(), n_resamples=9, rng=0).pvalue)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) <= 1


def test_the_interval_of_an_error_holds_zero_where_there_is_none():
    """calibstats 0.1.0: bootstrap intervals of the plug-in error hold the true 0 in no run of 200."""
    intervals = [
        cs.estimate(true_world(500, seed), cs.ECE(cs.EqualMass(10)), rng=seed).confidence_interval for seed in range(60)
    ]
    assert np.mean([low <= 0 <= high for low, high in intervals]) >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / 60)
    rng = np.random.Generator(np.random.PCG64(0))
    sample = true_world(500, 0)
    plain = [cs.ECE(cs.EqualMass(10))(sample.take(rng.integers(0, 500, 500))) for _ in range(200)]
    assert np.quantile(plain, 0.025) > 0.01


@pytest.mark.parametrize("kind", ["other rows", "other sharpness"])
def test_errors_that_differ_by_noise_alone_are_not_told_apart(kind):
    """calibstats 0.1.0: of two models without error, the one with fewer rows, or with sharper predictions, is worse.

    It rejects in 85 to 100 % of such runs at 5 %: the bias of plug-in errors is taken for a difference.
    """
    pvalues, larger = [], 0
    for seed in range(40):
        if kind == "other rows":
            a, b = true_world(200, seed), true_world(2000, 1000 + seed)
        else:
            a = true_world(1000, seed)
            b = cs.Sample(a.outcomes, np.full(1000, 0.5), labels=[0, 1])
        error = cs.ECE(cs.EqualMass(10))
        larger += float(error(a)) > float(error(b))
        debiased, paired = cs.DebiasedL2(cs.EqualMass(10)), kind != "other rows"
        pvalues.append(cs.comparison_test(a, b, debiased, paired=paired, n_resamples=99, rng=seed).pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 40)
    assert larger >= 36


def test_a_walk_begins_at_zero():
    """MAPIE 1.6.0: without the origin a range is smaller than the largest distance from it, which cannot be."""
    sample = cs.Sample([0, 1, 0, 1, 0], [0.1, 0.9, 0.21, 0.9, 0.5])
    kuiper, smirnov = cs.Kuiper()(sample), cs.KolmogorovSmirnov()(sample)
    assert kuiper >= smirnov
    y, p = sample.outcomes[[0, 2, 4, 1, 3]], sample.predictions.event[[0, 2, 4, 1, 3]]
    without_origin = np.ptp(np.cumsum(y - p)) / 5
    assert without_origin < smirnov


def test_single_precision_is_taken_as_it_is_and_computed_in_double():
    """MCGrad: errors and their scales are of single precision by default."""
    rng = np.random.Generator(np.random.PCG64(5))
    single = rng.random(10_000).astype(np.float32)
    y = (rng.random(10_000) < single).astype(int)
    for estimator in (cs.ECE(cs.EqualWidth(10)), cs.Kuiper(), cs.BrierScore()):
        assert float(estimator(cs.Sample(y, single))) == float(estimator(cs.Sample(y, single.astype(float))))
    squares = (single - y.astype(np.float32)) ** 2
    assert float(np.cumsum(squares)[-1]) / 10_000 != float(cs.BrierScore()(cs.Sample(y, single)))


def test_scales_without_pairs_use_up_no_level():
    """T-Cal: where there are more cells than rows, each holds one row, whose debiased error is 0; yet such a scale
    takes its share of the level, and the answer is a yes or a no.

    Here a scale leaves four rows to a cell, all scales have one p-value, and its size is the level.
    """
    assert [cells for cells in scales_of(12) if cells > 12 / 4] == []
    found = [
        cs.calibration_test(true_world(60, seed), cs.MultiscaleL2(), null=cs.Consistency(99), rng=seed)
        for seed in range(200)
    ]
    size = np.mean([test.pvalue <= 0.05 for test in found])
    assert abs(size - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 200)
    with pytest.raises(ValueError, match="n_resamples"):
        cs.Consistency(0)


def test_dependent_pvalues_are_combined_at_their_level():
    """arviz-stats issue 419: ``pot_c`` combines p-values of order statistics by the law of a Cauchy variable, which is
    right far in the tail only, and rejects 9 to 11 % at 5 %. Here a combination is compared with those of redrawn
    labels.
    """
    found = [
        cs.omnibus_test(true_world(60, seed), combine="cauchy", n_resamples=99, rng=seed).pvalue for seed in range(400)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    rng = np.random.Generator(np.random.PCG64(1))
    ranks = np.arange(1, 201)
    below = stats.beta.cdf(np.sort(rng.random((1000, 200)), axis=1), ranks, 201 - ranks)
    pvalues = 2 * np.minimum(below, 1 - below)
    kept = np.where(pvalues < 0.5, np.tan((0.5 - pvalues) * np.pi), np.nan)
    assert np.mean(stats.cauchy.sf(np.nanmean(kept, axis=1)) <= 0.05) > 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)


def test_a_density_is_not_divided_by_its_bandwidth_twice():
    """ece_kde: its likelihood of a bandwidth divides a normalised density by the bandwidth again, and so likes none."""
    errors = [cs.KDECE(bandwidth)(true_world(2000, 3)) for bandwidth in (0.02, 0.04, 0.08)]
    assert max(errors) < 0.08
    assert max(errors) < 2 * min(errors) + 0.02
    sample, found = true_world(1000, 3), []
    for divided_again in (False, True):
        fits = [likelihood_of_density(sample.predictions.event, h, divided_again) for h in (0.0005, 0.005, 0.02, 0.08)]
        found.append(cs.KDECE((0.0005, 0.005, 0.02, 0.08)[int(np.argmax(fits))])(sample))
    assert found[0] < 0.08
    assert not found[1] < 0.08


def likelihood_of_density(p, bandwidth, divided_again):
    """The log-likelihood of each prediction under the density of the others, by the kernels of `KDECE`."""
    density = stats.beta.pdf(p[:, None], p / bandwidth + 1, (1 - p) / bandwidth + 1)
    np.fill_diagonal(density, 0.0)
    likelihood = np.log(density.sum(axis=1) / (len(p) - 1))
    return np.mean(likelihood - (np.log(bandwidth) if divided_again else 0.0))


def test_a_band_holds_everywhere_at_once():
    """reliabilitydiag: its regions hold at each point by itself, at 90 %; a hundred redraws and no observed one."""
    inside, pointwise = 0, 0
    for seed in range(100):
        rng = np.random.Generator(np.random.PCG64(seed))
        p = rng.choice(np.linspace(0.05, 0.95, 10), 150)
        y = (rng.random(150) < p).astype(int)
        band = cs.calibration_band(cs.Sample(y, p, labels=[0, 1]))
        inside += bool(((band.lower <= band.prediction) & (band.prediction <= band.upper)).all())
        rows = [y[p == value] for value in np.unique(p)]
        ends = [stats.binom.interval(0.9, len(each), value) for each, value in zip(rows, np.unique(p), strict=True)]
        pointwise += all(low <= each.sum() <= high for each, (low, high) in zip(rows, ends, strict=True))
    assert inside / 100 >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / 100)
    assert pointwise / 100 < 0.95 - 4 * np.sqrt(0.05 * 0.95 / 100)


def test_an_error_comes_with_its_value_under_the_null_and_an_interval():
    """netcal and torchmetrics: a number and nothing beside it. Without error it is 0.05 for 300 rows in ten cells."""
    sample, error = true_world(300, 0), cs.ECE(cs.EqualWidth(10))
    test, found = cs.calibration_test(sample, error, rng=0), cs.estimate(sample, error, rng=0)
    assert 0.03 < float(test.null_mean) < 0.08
    assert found.confidence_interval.low == 0 < found.confidence_interval.high


def test_one_word_is_two_errors_of_two_lenses():
    """Packages call the error of the event and that of the confidence ECE; here the lens says which one is meant."""
    rng = np.random.Generator(np.random.PCG64(6))
    p = rng.random(2000)
    y = (rng.random(2000) < p**1.3).astype(int)
    error, sample = cs.ECE(cs.EqualWidth(10)), cs.Sample(y, p)
    confidence = np.maximum(p, 1 - p)
    right = ((p > 0.5) == y).astype(int)
    assert error(sample) == pytest.approx(error_of_cells(y, p, (10 * p).astype(int)), abs=1e-12)
    top = (cs.TopLabel() | error)(sample)
    assert top == pytest.approx(error_of_cells(right, confidence, (10 * confidence).astype(int)), abs=1e-12)
    assert abs(top - error(sample)) > 0.01
