"""A calibrated world has the truth 0 through every lens, for every error and any number of classes."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen

LENSES = [
    cs.Canonical(),
    cs.TopLabel(),
    cs.TopK(2),
    cs.ClassWise(3),
    cs.Partition([[0, 4], [1, 2], [3]]),
    cs.ClassWise(2) | cs.Region(lambda seen: seen.event > 0.3),
]
ERRORS = [
    cs.ECE(),
    cs.RMSCE(cs.EqualMass(15)),
    cs.DebiasedL2(cs.EqualWidth(10)),
    cs.MaximumMiscalibration(cs.EqualMass(5)),
    cs.SKCE(0.5),
]
FOR_AN_EVENT = [cs.Kuiper(), cs.SmoothECE(), cs.PDE(cs.EqualMass(15))]
WORLD = gen.DirichletPredictions([0.5, 1, 2, 1, 0.3])


@pytest.mark.parametrize("lens", LENSES, ids=repr)
def test_every_error_is_zero_through_every_lens(lens):
    two = lens not in (cs.Canonical(), cs.TopK(2), LENSES[4])
    for error in ERRORS + FOR_AN_EVENT * two:
        estimator = lens | error
        truth = WORLD.truth(estimator)
        assert truth.value == 0
        assert truth.given == "the induced prediction"
        assert float(WORLD.truth(estimator, n_samples=1000, rng=0)) == pytest.approx(0, abs=1e-12)


def test_limits_are_zero_too():
    assert WORLD.limit(cs.TopLabel() | cs.ECE(cs.EqualMass(15))).value == 0
    assert gen.BetaPredictions(1, 1).limit(cs.ECE(cs.EqualMass(15))).value == 0


def test_several_numbers():
    truth = WORLD.truth(cs.EachClass(cs.ECE()))
    np.testing.assert_array_equal(truth.value, np.zeros(5))


@pytest.mark.parametrize("score", [cs.BrierScore(), cs.LogScore(), cs.ZeroOneLoss()], ids=repr)
def test_what_is_no_error_is_not_zero(score):
    """The negative control: a score of a calibrated model."""
    line = gen.BetaPredictions(1, 1)
    assert float(line.truth(score)) == pytest.approx(float(line.truth(score, n_samples=10**6, rng=0)), rel=0.01)
    assert abs(float(line.truth(score))) > 0.1
    with pytest.raises(ValueError, match="with 5 classes true values are known"):
        WORLD.truth(cs.TopLabel() | score)


def test_a_world_that_is_not_calibrated_has_its_errors():
    off = gen.DirichletPredictions([1] * 5, gen.TemperatureShift(0.75))
    with pytest.raises(ValueError, match="with 5 classes true values are known"):
        off.truth(cs.TopLabel() | cs.ECE())
    assert float(gen.BetaPredictions(1, 1, gen.Cubic(1.0)).truth(cs.ECE())) == pytest.approx(1 / 16)
    assert float(gen.Empirical([0.1, 0.6], gen.LogitShift(0.4)).truth(cs.ECE())) > 0.05
