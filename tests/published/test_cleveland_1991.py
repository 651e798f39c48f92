"""Cleveland & Grosse (1991), "Computational methods for local regression": the direct fit with its band."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.loess import LOESS

TEN = cs.Given("x")(cs.Sample([0, 1, 0, 0, 1, 1, 0, 1, 1, 1], np.full(10, 0.5), variables={"x": np.arange(10)}))


@pytest.fixture(scope="module")
def curve():
    return LOESS(0.75, n_points=19, trim=0)(TEN)


@pytest.mark.parametrize(
    ("x", "fit", "error", "low", "high"),
    [
        (2, 0.25706772, 0.33196450, -0.63751171, 1.15164713),
        (4.5, 0.77142810, 0.33807139, -0.13960819, 1.68246440),
        (9, 1.10807444, 0.48786245, -0.20661946, 2.42276834),
    ],
)
def test_cleveland_1991_direct_fit_and_band(curve, x, fit, error, low, high):
    place = np.flatnonzero(curve.x == x)[0]
    found = [curve.outcome[place], curve.standard_error[place], curve.low[place], curve.high[place]]
    np.testing.assert_allclose(found, [fit, error, low, high], atol=1e-8)


def test_cleveland_1991_degrees_of_freedom(curve):
    assert curve.degrees_of_freedom == pytest.approx(4.33066551, abs=1e-8)


def test_cleveland_1991_constant_predictions_stay_constant(curve):
    np.testing.assert_allclose(curve.prediction, 0.5, atol=1e-12)
    np.testing.assert_allclose(curve.deviation, curve.outcome - 0.5, atol=1e-12)
