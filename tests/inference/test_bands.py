"""Honest bands of a non-decreasing chance (Dimitriadis et al. 2023)."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.inference.band import Runs, calibration_band

ALPHA = 0.05


def sample_of(p, chance, rng, **more):
    return cs.Sample((rng.random(len(p)) < chance).astype(int), p, labels=[0, 1], **more)


def naive(p, y, alpha, group=lambda x: x):
    """Loops over all runs of groups; the best bound of all runs that end before a prediction, or start after it."""
    groups = sorted(set(group(p)))
    delta = alpha / (len(groups) * (len(groups) + 1))
    bounds = {}
    for x in sorted(set(p)):
        low, high = 0.0, 1.0
        for j, first in enumerate(groups):
            for last in groups[j:]:
                inside = (group(p) >= first) & (group(p) <= last)
                n, s = inside.sum(), y[inside].sum()
                if p[inside].max() <= x and s > 0:
                    low = max(low, stats.beta.ppf(delta, s, n - s + 1))
                if p[inside].min() >= x and s < n:
                    high = min(high, stats.beta.ppf(1 - delta, s + 1, n - s))
        bounds[x] = low, high
    return np.array(list(bounds.values())).T


def test_two_predictions_of_ten_rows_as_in_dimitriadis_et_al():
    """2 of 10 and 7 of 10: delta = 0.05 / 6; two Clopper-Pearson bounds each, the better one counts."""
    y = [1] * 2 + [0] * 8 + [1] * 7 + [0] * 3
    band = calibration_band(cs.Sample(y, [0.2] * 10 + [0.7] * 10))
    np.testing.assert_allclose(band.lower, [0.01413, 0.28820], atol=5e-6)
    np.testing.assert_allclose(band.upper, [0.62176, 0.95554], atol=5e-6)
    assert band.count.tolist() == [10, 10]


@pytest.mark.parametrize("seed", range(4))
def test_bounds_agree_with_loops(seed):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.1, 0.25, 0.4, 0.6, 0.85], 40)
    sample = sample_of(p, p**2, rng)
    for alpha in (0.05, 0.3):
        band = calibration_band(sample, confidence_level=1 - alpha)
        np.testing.assert_allclose([band.lower, band.upper], naive(p, sample.outcomes, alpha), rtol=1e-9)


def test_grouped_bounds_agree_with_loops():
    rng = np.random.default_rng(5)
    p = np.r_[rng.random(30), 0.3, 0.7]
    sample = sample_of(p, p**3, rng)
    band = calibration_band(sample, digits=1)
    expected = naive(p, sample.outcomes, ALPHA, lambda x: np.floor(10 * x))
    np.testing.assert_allclose([band.lower, band.upper], expected, rtol=1e-9)
    assert "predictions grouped to 1 digits" in band.to_text(verbose=True)


def test_many_distinct_predictions_are_grouped():
    rng = np.random.default_rng(6)
    p = rng.random(1500)
    sample = sample_of(p, p, rng)
    assert calibration_band(sample).digits == 3
    assert calibration_band(sample.take(np.arange(300))).digits is None


@pytest.mark.parametrize("digits", [None, 1])
def test_pvalue_is_where_the_diagonal_leaves(digits):
    rng = np.random.default_rng(7)
    p = rng.random(300)
    sample = sample_of(p, 0.5 + 0.4 * (p - 0.5), rng)
    pvalue = calibration_band(sample, digits=digits).pvalue
    assert 0 < pvalue < 1
    for factor, rejected in ((0.999, False), (1.001, True)):
        band = calibration_band(sample, confidence_level=1 - pvalue * factor, digits=digits)
        assert band.rejects_calibration is rejected


def test_bounds_of_errors_by_definition():
    rng = np.random.default_rng(8)
    p = rng.choice([0.1, 0.5, 0.8], 300)
    band = calibration_band(sample_of(p, p**2, rng))
    for q in (1, 2, 3):
        nearest = farthest = 0.0
        for x, n, low, high in zip(band.prediction, band.count, band.lower, band.upper, strict=True):
            nearest += n * max(0.0, low - x, x - high) ** q / 300
            farthest += n * max(abs(x - low), abs(x - high)) ** q / 300
        assert band.bounds(q) == pytest.approx((nearest ** (1 / q), farthest ** (1 / q)))
    assert band.bounds(np.inf).high == band.maximum_error == max(band.bounds(40).high, band.maximum_error)
    with pytest.raises(ValueError, match=r"q is 0\.5, but it must be at least 1"):
        band.bounds(0.5)


def test_bounds_between_predictions():
    band = calibration_band(cs.Sample([0] * 10 + [1] * 10, [0.2] * 10 + [0.7] * 10))
    low, high = band.at([0.1, 0.2, 0.5, 0.7, 0.9])
    np.testing.assert_array_equal(low, [0, *band.lower[[0, 0, 1, 1]]])
    np.testing.assert_array_equal(high, [*band.upper[[0, 0, 1, 1]], 1])


@pytest.mark.filterwarnings("ignore:.*fits far better")
def test_decreasing_chance_refutes_monotonicity():
    rng = np.random.default_rng(9)
    p = rng.choice([0.1, 0.5, 0.9], 300)
    band = calibration_band(sample_of(p, 1 - p, rng))
    assert band.rejects_monotonicity
    assert band.rejects_calibration
    assert np.isnan(band.maximum_error)
    assert "bounds no error" in band.to_text(verbose=True)
    assert band.to_dict()["ece_bounds"] is None
    json.dumps(band.to_dict(), allow_nan=False)


def test_words_and_tables():
    rng = np.random.default_rng(10)
    p = rng.choice([0.1, 0.5, 0.9], 600)
    fair, off = calibration_band(sample_of(p, p, rng)), calibration_band(sample_of(p, np.full(600, 0.5), rng))
    assert fair.verdict.startswith("Calibration is not rejected at 5 % (p = ")
    assert off.verdict.startswith("Evidence at 5 % that predictions are too low and too high (p < ")
    assert "the diagonal leaves the 95 % band at 2 of 3 predictions, 0.1 to 0.9, by 0." in off.verdict
    for part in ("simultaneous, finite-sample, of P(event | prediction) if that does not decrease", "unbinned,"):
        assert part in fair.to_text(200, verbose=True)
    assert list(fair.to_frame().columns) == ["prediction", "count", "lower", "upper"]
    assert json.loads(json.dumps(fair.to_dict(), allow_nan=False)) == fair.to_dict()
    assert str(pickle.loads(pickle.dumps(fair))) == str(fair)


def three_classes():
    return cs.Sample([0, 1, 2], np.full((3, 3), 1 / 3))


@pytest.mark.parametrize(
    ("sample", "options", "message"),
    [
        (three_classes(), {}, r"3 outcomes are seen through Canonical\(\).*lens=TopLabel\(\)"),
        (cs.Sample([0, 1], [0.1, 0.9], sample_weight=[1, 2]), {}, "has weights.*whose interval takes weights"),
        (cs.Sample([0, 1], [0.1, 0.9], variables={"v": [1, 2]}), {"lens": cs.Given("v")}, "the prediction alone"),
        (cs.Sample([0, 1], [0.1, 0.9]), {"lens": cs.Region(lambda s: s.event > 2)}, "no row is left"),
        (cs.Sample([0, 1], [0.1, 0.9]), {"confidence_level": 95}, "must be a number between 0 and 1"),
        (cs.Sample([0, 1], [0.1, 0.9]), {"digits": 0}, "whole number from 1 to 6"),
    ],
    ids=["classes", "weights", "variable", "region", "level", "digits"],
)
def test_what_has_no_band(sample, options, message):
    with pytest.raises(ValueError, match=message):
        calibration_band(sample, **options)
    assert calibration_band(three_classes(), lens=cs.TopLabel()).n == 3
    with pytest.raises(TypeError, match="lens is of type str, but a lens is expected"):
        calibration_band(three_classes(), lens="top")


WORLDS = {
    "calibrated": lambda p: p,
    "slope": lambda p: 0.5 + 0.4 * (p - 0.5),
    "step": lambda p: np.where(p < 0.55, 0.1, 0.8),
}


@pytest.mark.slow
@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("world", WORLDS)
def test_band_and_errors_are_covered(world, digits):
    """400 runs of 150 rows: at least 95 % less 4 standard errors (4.4 %); continuous predictions where grouped."""
    rng, covered, wrong = np.random.default_rng(20230101), 0, 0
    for _ in range(400):
        p = rng.random(150) if digits else rng.choice(np.linspace(0.05, 0.95, 10), 150)
        band = calibration_band(sample_of(p, WORLDS[world](p), rng), digits=digits)
        chance = WORLDS[world](band.prediction)
        covered += bool(((band.lower <= chance) & (chance <= band.upper)).all())
        ece = np.average(np.abs(chance - band.prediction), weights=band.count)
        worst = np.abs(chance - band.prediction).max()
        within = band.bounds(1).low <= ece <= band.bounds(1).high and worst <= band.maximum_error
        wrong += not within or (world == "calibrated" and band.pvalue <= ALPHA)
    assert covered / 400 >= 0.95 - 0.0436
    assert wrong / 400 <= 0.05 + 0.0436


def test_negative_control_without_a_correction_for_all_runs():
    """The same bounds, each of level 95 % by itself, miss the chance somewhere in most runs."""
    rng, covered = np.random.default_rng(20230101), 0
    for _ in range(400):
        p = rng.choice(np.linspace(0.05, 0.95, 10), 150)
        runs = Runs.of(p, (rng.random(150) < p).astype(int))
        alpha = ALPHA / 2 / runs.share
        covered += bool(((runs.lower(alpha) <= runs.last) & (runs.first <= runs.upper(alpha))).all())
    assert covered / 400 < 0.95 - 0.0436


@pytest.mark.parametrize("q", ["a", None, [1]])
def test_the_order_of_an_error_is_a_number(q):
    band = calibration_band(cs.Sample([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]))
    with pytest.raises(TypeError, match=r"q is .*; it must be a number, for example 1 \(ECE\)"):
        band.bounds(q)


SCREENS = {
    80: """\
Calibration is not rejected at 5 % (p = 1, 20 rows): the diagonal stays inside
the 95 % band, and no error is larger than 0.3555.

error (95 %)      at least  at most
largest                  0   0.3555
mean (ECE)               0   0.3386
root mean square         0   0.3391

How this was computed: .to_text(verbose=True)""",
    120: """\
Calibration is not rejected at 5 % (p = 1, 20 rows): the diagonal stays inside the 95 % band, and no
error is larger than 0.3555.

error (95 %)      at least  at most
largest                  0   0.3555
mean (ECE)               0   0.3386
root mean square         0   0.3391

How this was computed: .to_text(verbose=True)""",
}


@pytest.mark.parametrize("width", SCREENS)
def test_the_screen(width):
    assert (
        calibration_band(cs.Sample([1] * 2 + [0] * 8 + [1] * 7 + [0] * 3, [0.3] * 10 + [0.6] * 10)).to_text(width)
        == SCREENS[width]
    )
