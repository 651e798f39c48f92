"""Cleveland & Grosse (1991), "Computational methods for local regression": the direct fit."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.loess import LOESS

TEN = cs.Given("x")(cs.Sample([0, 1, 0, 0, 1, 1, 0, 1, 1, 1], np.full(10, 0.5), variables={"x": np.arange(10)}))


@pytest.fixture(scope="module")
def curve():
    return LOESS(0.75, n_points=19, trim=0)(TEN)


@pytest.mark.parametrize(("x", "fit"), [(2, 0.25706772), (4.5, 0.77142810), (9, 1.10807444)])
def test_cleveland_1991_direct_fit(curve, x, fit):
    np.testing.assert_allclose(curve.outcome[curve.x == x], [fit], atol=1e-8)


def test_cleveland_1991_constant_predictions_stay_constant(curve):
    np.testing.assert_allclose(curve.prediction, 0.5, atol=1e-12)
    np.testing.assert_allclose(curve.deviation, curve.outcome - 0.5, atol=1e-12)
