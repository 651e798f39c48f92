"""Worlds of several classes: closed forms against quadrature and against random rows."""

import numpy as np
import pytest
from scipy import special

import calibstat as cs
from calibstat import generators as gen
from calibstat.generators.base import evaluate

TOP = cs.TopLabel()
HALVED = cs.ExpectedMiscalibration(cs.UniqueValues(), cs.Lp(1))  # twice the total variation, and not looked up

# pi = 1/2 (Widmann et al. 2019): classes, alpha, value for e_1 and for the uniform law
WIDMANN = [(2, 1.0, 0.25, 0.125), (3, 1.0, 1 / 3, 4 / 27), (10, 1.0, 0.45, 0.174339220), (10, 0.1, 0.45, 0.355320901)]


@pytest.mark.parametrize(("n_classes", "a", "corner", "uniform"), WIDMANN)
def test_widmann_mixtures(n_classes, a, corner, uniform):
    first = gen.DirichletPredictions([a] * n_classes, gen.Mixture(0.5, np.eye(n_classes)[0]))
    assert float(first.truth(cs.ECE())) == pytest.approx(corner, abs=1e-12)
    second = gen.DirichletPredictions([a] * n_classes, gen.Mixture(0.5, np.full(n_classes, 1 / n_classes)))
    k = n_classes
    closed = 0.5 / (a * special.beta(a, (k - 1) * a)) * ((k - 1) ** (k - 1) / k**k) ** a
    assert float(second.truth(cs.ECE())) == pytest.approx(closed, abs=1e-12)
    assert closed == pytest.approx(uniform, abs=1e-8)


@pytest.mark.parametrize("alpha", [(1, 1), (0.4, 2), (1, 1, 1), (0.3, 0.5, 2)])
def test_closed_form_against_quadrature(alpha):
    law = np.arange(1, len(alpha) + 1) / np.arange(1, len(alpha) + 1).sum()
    model = gen.DirichletPredictions(alpha, gen.Mixture(0.4, law))
    for lens in (cs.Canonical(), cs.ClassWise(0), cs.ClassWise(1)):
        closed, numeric = model.truth(lens | cs.ECE()), model.truth(lens | HALVED)
        assert closed.method == "closed form"
        assert "nodes" in numeric.method
        assert numeric.value / 2 == pytest.approx(closed.value, abs=1e-9)


@pytest.mark.parametrize("lens", [cs.ClassWise(3), cs.Partition([[0, 5], [1, 2], [3, 4]])])
def test_groups_of_many_classes(lens):
    model = gen.DirichletPredictions([0.5, 1, 2, 0.3, 1, 1], gen.Mixture(0.3, [0.1, 0.2, 0.3, 0.1, 0.1, 0.2]))
    assert float(model.truth(lens | HALVED)) / 2 == pytest.approx(float(model.truth(lens | cs.ECE())), abs=1e-9)


def test_pair_swap_is_hidden_from_weaker_lenses():
    model = gen.DirichletPredictions([1, 1, 1], gen.PairSwap(0.45))
    assert float(model.truth(cs.ECE())) == pytest.approx(0.45 / 6, abs=1e-8)  # E min(p_1, p_2) = 1/6
    assert float(model.truth(TOP | cs.ECE())) == pytest.approx(0, abs=1e-12)
    assert float(model.truth(cs.ClassWise(2) | cs.ECE())) == pytest.approx(0, abs=1e-12)
    assert float(model.truth(cs.ClassWise(0) | cs.ECE())) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize(
    "recalibration",
    [
        gen.TemperatureShift(0.75),
        gen.MatrixMap([[1, 0.2, 0], [0, 0.8, 0], [0.1, 0, 1.3]], [0.1, 0, 0]),
        gen.PairSwap(0.4),
    ],
    ids=["temperature", "matrix", "swap"],
)
def test_three_classes_against_random_rows(recalibration):
    model = gen.DirichletPredictions([0.5, 1, 2], recalibration)
    drawn = model.truth(cs.ECE(), n_samples=400_000, rng=1)
    assert abs(float(model.truth(cs.ECE())) - drawn.value) < 4 * drawn.standard_error + 1e-12
    rows = model.rows(200_000, np.random.default_rng(2))
    for lens in (TOP, cs.Partition([[0, 2], [1]])):
        binned = lens | cs.ECE(cs.EqualWidth(8))
        assert float(model.limit(binned)) == pytest.approx(evaluate(binned, rows), abs=2e-3)
        assert float(model.limit(binned)) <= float(model.truth(binned)) + 1e-6


def test_identity_is_calibrated():
    model = gen.DirichletPredictions([2, 0.5, 1])
    for lens in (cs.Canonical(), TOP, cs.ClassWise(1)):
        assert float(model.truth(lens | cs.RMSCE())) == pytest.approx(0, abs=1e-12)


def test_rankings_give_an_upper_bound():
    model = gen.DirichletPredictions([0.3, 0.5, 2], gen.Mixture(0.4, [0.2, 0.5, 0.3]))
    bound = model.truth(cs.TopK(2) | cs.ECE())
    assert bound.given == "upper bound given the full prediction"
    assert "upper bound" in str(bound)
    assert model.truth(TOP | cs.ECE()).value < bound.value


def test_top_label_of_a_symmetric_mixture():
    # given the confidence c, the top label happens with chance pi / 3 + (1 - pi) c
    model = gen.DirichletPredictions([1, 1, 1], gen.Mixture(0.5, [1 / 3] * 3))
    assert float(model.truth(TOP | cs.ECE())) == pytest.approx(0.5 * (11 / 18 - 1 / 3), abs=1e-9)  # E max p = 11/18


def test_calibration_function():
    mixture = gen.Mixture(0.3, [0.5, 0.25, 0.25])
    model = gen.DirichletPredictions([1, 2, 3], mixture)
    row = np.array([[0.2, 0.5, 0.3]])
    assert model.calibration_function(row) == pytest.approx(mixture(row))
    assert model.calibration_function([0.4], cs.ClassWise(0)) == pytest.approx([0.3 * 0.5 + 0.7 * 0.4], abs=1e-6)
