"""Scores with published numbers: Rosenberg's lecture, Vaicenavicius et al. (2019), Torabian & Urner (2024)."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.scores import AUC, RMSE, BrierScore, LogScore, SphericalScore, ZeroOneLoss

EIGHT = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9])


def test_torabian_urner_2024_performance_of_eight_rows():
    assert RMSE()(EIGHT) == pytest.approx(0.4286607050, abs=5e-11)
    assert ZeroOneLoss()(EIGHT) == pytest.approx(0.25, abs=1e-15)
    assert AUC()(EIGHT) == pytest.approx(0.8125, abs=1e-15)


def test_rosenberg_lecture_log_loss_tells_rare_events_apart():
    """An event that was given 0.001 instead of 0.01 costs ln 10 more; the square loss hardly sees it."""
    losses = {p: (LogScore()(one(p)), BrierScore()(one(p))) for p in (0.01, 0.001)}
    assert losses[0.001][0] - losses[0.01][0] == pytest.approx(2.302585, abs=5e-7)
    assert losses[0.01][1] == pytest.approx(0.9801, abs=1e-12)
    assert losses[0.001][1] == pytest.approx(0.998001, abs=1e-12)


def one(p):
    return cs.Sample([1], [p], labels=[0, 1])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_vaicenavicius_2019_code_quadratic_logarithmic_spherical(n_classes):
    """Their quadratic score is the Brier score over all columns minus one; ours is one-sided for two classes."""
    rng = np.random.Generator(np.random.PCG64(3))
    rows, labels = rng.dirichlet(np.ones(n_classes), 50), rng.integers(0, n_classes, 50)
    sample, hit = cs.Sample(labels, rows), rows[np.arange(50), labels]
    quadratic = np.mean((rows**2).sum(axis=1) - 2 * hit)
    sides = 2 if n_classes == 2 else 1
    assert sides * BrierScore()(sample) - 1 == pytest.approx(quadratic, abs=1e-12)
    assert LogScore()(sample) == pytest.approx(-np.log(hit).mean(), abs=1e-12)
    assert SphericalScore()(sample) == pytest.approx(-np.mean(hit / np.sqrt((rows**2).sum(axis=1))), abs=1e-12)
