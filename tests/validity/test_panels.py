"""The omnibus test of pooled rows, and of a kernel at landmarks: its size and its power."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws import pooled
from calibstat.estimators.kernel import SKCE
from calibstat.estimators.kernel_locations import CME
from calibstat.inference.multiple import omnibus_test

pytestmark = pytest.mark.slow

N_RUNS = 200


def rejections(distort, n_rows, pool, monkeypatch, n_runs=N_RUNS):
    """How often the omnibus test rejects at 5 %, of `n_runs` samples; with or without pooling to 64 cells."""
    monkeypatch.setattr(pooled, "ROWS", 0 if pool else 10**9)
    monkeypatch.setattr(pooled, "most_cells", lambda _: 64)
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(n_runs):
        p = rng.beta(0.7, 1.5, n_rows)
        sample = cs.Sample((rng.random(n_rows) < distort(p)).astype(int), p, labels=[0, 1])
        found += omnibus_test(sample, n_resamples=99, rng=rng).pvalue <= 0.05
    return found / n_runs


def test_the_size_of_a_pooled_panel(monkeypatch):
    assert rejections(lambda p: p, 400, True, monkeypatch) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / N_RUNS)


@pytest.mark.parametrize(
    "distort",
    [lambda p: np.clip(1.15 * p, 0, 1), lambda p: p + 0.6 * p * (1 - p) * np.sin(20 * p)],
    ids=["too low", "wiggle"],
)
def test_a_pooled_panel_has_the_power_of_one_of_rows(distort, monkeypatch):
    """On the same samples: the shares differ by less than four standard errors of a difference, and both find it."""
    shares = [rejections(distort, 700, pool, monkeypatch, 100) for pool in (True, False)]
    assert min(shares) > 0.25
    assert shares[0] >= shares[1] - 4 * np.sqrt(0.25 * 2 / 100) / 2


def power(estimator, distort, n_rows=700, n_classes=4, n_runs=60):
    """How often a test by redrawn labels rejects at 5 %."""
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(n_runs):
        rows = rng.dirichlet(np.full(n_classes, 0.5), n_rows)
        labels = (distort(rows).cumsum(axis=1)[:, :-1] < rng.random((n_rows, 1))).sum(axis=1)
        sample = cs.Sample(labels, rows, labels=range(n_classes))
        found += cs.calibration_test(sample, estimator, n_resamples=99, rng=rng).pvalue <= 0.05
    return found / n_runs


def swapped(rows, share=0.14):
    """Two pairs of classes exchange a share of their probabilities."""
    return (1 - share) * rows + share * rows[:, [1, 0, 3, 2]]


def turned(rows, share=0.06):
    """Each class gives a share of its probability to the next."""
    return (1 - share) * rows + share * np.roll(rows, 1, axis=1)


@pytest.mark.parametrize("distort", [swapped, turned])
def test_a_kernel_at_landmarks_has_the_power_of_the_kernel(distort):
    whole, landmarks = (power(each, distort) for each in (SKCE(multiples=(1, 0.5, 0.25, 0.1)), CME(50)))
    assert landmarks > 0.4
    assert landmarks >= whole - 4 * np.sqrt(0.25 * 2 / 60) / 2
    assert power(CME(50), lambda rows: rows) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)
