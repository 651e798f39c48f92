"""The omnibus test of pooled rows, and of a kernel at landmarks: its size and its power."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws import pooled
from calibstat.draws.labels import LabelLaw
from calibstat.estimators.combined import Family
from calibstat.estimators.kernel import SKCE
from calibstat.estimators.kernel_locations import CME
from calibstat.estimators.panels import default_panel
from calibstat.inference.multiple import omnibus_test
from calibstat.inference.multiplicity import joint_test

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


def hotter(rows, share=0.18):
    """All predictions are too timid."""
    powers = rows ** (1 + share)
    return powers / powers.sum(axis=1, keepdims=True)


def shifted(rows, logit=0.55):
    """One class is more probable than predicted."""
    odds = rows * np.where(np.arange(rows.shape[1]), 1, np.exp(logit))
    return odds / odds.sum(axis=1, keepdims=True)


def locally(rows, share=0.34):
    """Where the first class has a chance of .1 to .3, each class gives some of its probability to the next."""
    near = np.abs(rows[:, :1] - 0.2) < 0.1
    return np.where(near, (1 - share) * rows + share * np.roll(rows, 1, axis=1), rows)


def exchanged(rows, share=0.8):
    """The first of two pairs of classes gains from its partner where the last class is likely, and loses elsewhere."""
    found, more = rows.copy(), np.where(rows[:, -1] > 0.04, 1, -1)
    for one in (0, 2):
        moved = share * more * np.minimum(rows[:, one], rows[:, one + 1])
        found[:, one] += moved
        found[:, one + 1] -= moved
    return found


def panels_reject(distort, n_rows=410, n_classes=10, n_runs=70):
    """Which samples a panel rejects at 5 % with the kernel over pairs, at landmarks, and without; on the same draws."""
    rng = np.random.default_rng(7)
    with_pairs, at_landmarks = (default_panel(n_classes, n)[0].estimator for n in (10, n_rows))
    others = default_panel(n_classes, n_rows)[1:]
    family = Family({"pairs": with_pairs, "landmarks": at_landmarks} | {each.name: each.estimator for each in others})
    panels = [[0, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 3, 4, 5]]
    found = []
    for _ in range(n_runs):
        rows = rng.dirichlet(np.full(n_classes, 0.5), n_rows)
        labels = (distort(rows).cumsum(axis=1)[:, :-1] < rng.random((n_rows, 1))).sum(axis=1)
        sample = cs.Sample(labels, rows, labels=range(n_classes))
        evaluate = family.prepare(sample.predictions)
        drawn = evaluate(LabelLaw(sample.predictions.chances).draw(rng, 99, 99))
        values, draws = family.evidences(evaluate(sample.outcomes)), family.evidences(drawn)
        tests = [joint_test(values[own], [draws[:, own]], "max-t", "moments", "max-t") for own in panels]
        found.append([each.pvalue <= 0.05 for each in tests])
    assert (with_pairs, at_landmarks) == (SKCE(multiples=(1, 0.5, 0.25, 0.1)), CME(50))
    return np.array(found).T


@pytest.mark.parametrize("distort", [hotter, shifted, locally])
def test_a_panel_loses_no_power_at_landmarks(distort):
    """Four standard errors of the difference on the same samples."""
    pairs, landmarks, _ = panels_reject(distort)
    assert landmarks.mean() > 0.35
    assert landmarks.sum() >= pairs.sum() - 4 * np.sqrt((landmarks != pairs).sum())


def test_a_panel_needs_a_kernel_and_finds_at_landmarks_what_it_finds_in_pairs():
    """The negative control: the panel without it has less power against an error that differs between regions."""
    pairs, landmarks, neither = panels_reject(exchanged, 810, 5, 50)
    assert landmarks.sum() >= pairs.sum() - 4 * np.sqrt((landmarks != pairs).sum())
    assert neither.sum() < landmarks.sum() - 4 * np.sqrt((landmarks != neither).sum())


def test_a_panel_at_landmarks_has_its_level():
    assert panels_reject(lambda rows: rows)[1].mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 70)
