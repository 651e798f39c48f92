"""Measures of other packages, swept beside ours on the same samples, as the documentation shows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import calibstat as cs
from calibstat.generators import BetaPredictions, GaussianMixture, Slope
from calibstat.sweeps.sweep import Sweep

MODELS = {"calibrated": GaussianMixture(0, -2), "off": BetaPredictions(2, 3, Slope(2))}


def swept(ours, theirs, **arguments):
    grid = {"n": [30, 400], "n_bins": [4, 15], "n_repeats": 20, "rng": 0}
    sweep = Sweep(MODELS, estimators={"ours": ours, "theirs": theirs}, **(grid | arguments))
    found = sweep.run(progress=False)
    assert (found["error"] == "").all()
    return found["estimate"].sel(estimator="ours"), found["estimate"].sel(estimator="theirs")


def largest_gap(n_bins):
    def measure(y_true, y_prob):
        happened, predicted = calibration_curve(y_true, y_prob, n_bins=n_bins)
        return np.abs(happened - predicted).max()

    return measure


@pytest.mark.parametrize("draws", ["rows", "sorted"])
def test_the_curve_of_scikit_learn(draws):
    ours, theirs = swept(lambda b: cs.MaximumMiscalibration(cs.EqualWidth(b)), largest_gap, draws=draws)
    assert np.allclose(ours, theirs, rtol=1e-10)


def test_the_brier_score_of_scikit_learn():
    ours, theirs = swept(cs.BrierScore(), lambda n_bins: brier_score_loss)
    assert np.allclose(ours, theirs, rtol=1e-10)


def test_another_measure_is_told_apart():
    ours, theirs = swept(lambda b: cs.MaximumMiscalibration(cs.EqualMass(b)), largest_gap)
    assert not np.allclose(ours, theirs, rtol=0.01)


def test_the_ece_of_netcal():
    metrics = pytest.importorskip("netcal.metrics")
    ours, theirs = swept(
        lambda b: cs.ECE(cs.EqualWidth(b)),
        lambda n_bins: lambda y_true, y_prob: metrics.ECE(n_bins).measure(y_prob, y_true),
    )
    assert np.allclose(ours, theirs, atol=1e-6)
