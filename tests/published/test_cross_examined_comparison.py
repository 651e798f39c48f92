"""Intervals, comparisons and bands from their definitions: sums over pairs of rows, bounds of all runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs

N_BINS = 10


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(23)
    z = rng.normal(size=600)
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(600) < 1 / (1 + np.exp(-0.7 * z))).astype(int)
    return y, p, 0.5 + 0.5 * (p - 0.5)


def parts(y, p):
    """Cells, their sizes, and for each row its residual and the mean residual of its cell."""
    cell = np.empty(len(p), dtype=int)
    for number, chunk in enumerate(np.array_split(np.argsort(p, kind="stable"), N_BINS)):
        cell[chunk] = number
    size = np.bincount(cell)
    r = y - p
    return cell, size[cell], r, (np.bincount(cell, r) / size)[cell]


def debiased(y, p):
    """The mean over cells of the products of residuals of different rows."""
    cell, size, r, _ = parts(y, p)
    together = (cell[:, None] == cell) & ~np.eye(len(p), dtype=bool)
    return float((together * np.outer(r, r) / (size - 1)).sum() / len(p))


def test_lee_2023_debiased_square_is_a_sum_over_pairs_in_an_interval_by_inversion(rows):
    y, p, _ = rows
    found = cs.estimate(cs.Sample(y, p), cs.DebiasedL2(cs.EqualMass(N_BINS)), rng=0)
    value = debiased(y, p)
    _, _, r, mean = parts(y, p)
    influence = 2 * mean * r - mean**2 - value
    half = stats.norm.ppf(0.975) * np.sqrt((influence**2).mean() / len(p))  # of Sun et al. (2024), at the estimate
    assert found.estimate == pytest.approx(value, abs=1e-12)
    low, high = found.confidence_interval
    assert low <= max(value, 0.0) < value + half < high < max(value, 0.0) + 3 * half


def test_total_variance_of_a_difference_is_a_sum_over_pairs(rows):
    """The linear part less the degenerate part, or the degenerate part where that is larger."""
    y, p, q = rows
    found = cs.comparison_test(cs.Sample(y, p), cs.Sample(y, q), cs.DebiasedL2(cs.EqualMass(N_BINS)), rng=0)
    difference = debiased(y, p) - debiased(y, q)
    pairs, linear = np.zeros((len(p), len(p))), np.zeros(len(p))
    for predictions, sign in ((p, 1), (q, -1)):
        cell, size, r, mean = parts(y, predictions)
        pairs += sign * (cell[:, None] == cell) * np.outer(r - mean, r - mean) / (size - 1)
        linear += sign * (2 * mean * r - mean**2)
    np.fill_diagonal(pairs, 0)
    degenerate = 2 * (pairs**2).sum() / len(p) ** 2
    variance = max(((linear - difference) ** 2).mean() / len(p) - degenerate, degenerate)
    assert found.difference == pytest.approx(difference, abs=1e-12)
    # labels redrawn where both errors are equal show about the same noise
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.15)
    assert found.difference_pvalue == pytest.approx(2 * stats.norm.sf(abs(difference) / np.sqrt(variance)), abs=0.05)
    assert found.pvalue >= max(found.difference_pvalue, min(1, 2 * min(found.own_pvalues)))


def test_dimitriadis_2023_band_is_the_best_bound_of_all_runs():
    rng = np.random.default_rng(5)
    p = rng.integers(1, 12, 150) / 12
    y = (rng.random(150) < p**2).astype(int)
    values = np.unique(p)
    level = 0.05 / (len(values) * (len(values) + 1))
    lower, upper = np.zeros(len(values)), np.ones(len(values))
    for first, low in enumerate(values):
        for last in range(first, len(values)):
            inside = (p >= low) & (p <= values[last])
            n, events = int(inside.sum()), int(y[inside].sum())
            at_least = stats.beta.ppf(level, events, n - events + 1) if events else 0.0
            at_most = stats.beta.ppf(1 - level, events + 1, n - events) if events < n else 1.0
            lower[last:] = np.maximum(lower[last:], at_least)
            upper[: first + 1] = np.minimum(upper[: first + 1], at_most)
    band = cs.calibration_band(cs.Sample(y, p))
    np.testing.assert_allclose(band.lower, lower, atol=1e-9)
    np.testing.assert_allclose(band.upper, upper, atol=1e-9)
    nearest = np.interp(p, values, np.maximum(0, np.maximum(lower - values, values - upper)))
    farthest = np.interp(p, values, np.maximum(abs(values - lower), abs(values - upper)))
    assert tuple(band.bounds(1)) == pytest.approx((nearest.mean(), farthest.mean()), abs=1e-9)
