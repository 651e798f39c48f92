"""The world of a fitted map: truths and limits against samples, integration by hand, and the world itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit, logit
from scipy.stats import beta

import calibstat as cs
from calibstat import calibrators as cal
from calibstat import generators as gen
from calibstat.generators._branches import branches_of
from calibstat.generators.base import evaluate
from suites import slow_but

# The predictions of `MIXTURE` are worse than chance, and look like that.
pytestmark = pytest.mark.filterwarnings("ignore:.*fits far better")

TOP = cs.TopLabel()
LINE = gen.BetaPredictions(1, 1, gen.Slope(0.5))
MIXTURE = gen.GaussianMixture(1, 1)
EXTREME = gen.BetaPredictions(0.3, 0.2, gen.LogitShift(0.5))
FITTED = [
    cal.Temperature(),
    cal.Platt(),
    cal.Quadratic(),
    cal.Beta(),
    cal.Isotonic(),
    cal.CenteredIsotonic(),
    cal.HistogramBinning(cs.EqualMass(7)),
    cal.ScalingBinning(),
    cal.Binned(),
    cal.Spline(),
    cal.Smooth(),
    cal.BBQ(),
    cal.VennAbers(),
    cal.StructuredMatrixScaling(),
    cal.EnsembleTemperature(),
    cal.MatrixScaling(),
    cal.AverageLabels(),
    cal.DecisionTree(),
    cal.CalibrationTree(ccp_alpha=0.0),
    cal.OneVsRest(cal.Isotonic()),
]


def named(each):
    return " ".join(str(each).split())


def identity():
    """Platt scaling that says what it is given."""
    fitted = cal.Platt(smallest=1e-300).fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    fitted.coef_, fitted.intercept_ = np.ones(1), 0.0
    return fitted


def bent(a, b, c):
    """Quadratic scaling with these coefficients."""
    fitted = cal.Quadratic(smallest=1e-300).fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    fitted.intercept_, fitted.coef_ = a, np.array([b, c])
    return fitted


@cache
def model_of(world, position):
    fit = world.sample(2000, rng=position)
    return gen.Recalibrated(world, FITTED[position].fit(fit.y_prob, fit.outcomes))


CASES = [(world, position) for world in (LINE, MIXTURE, EXTREME) for position in range(len(FITTED))]
each_case = pytest.mark.parametrize(
    ("world", "position"),
    slow_but(lambda case: case in [(MIXTURE, 2), (LINE, 6)], CASES, one_in=4),
    ids=lambda each: named(FITTED[each]) if isinstance(each, int) else named(each),
)


# Samples


@each_case
def test_truths_are_those_of_a_million_rows(world, position):
    model = model_of(world, position)
    drawn = model.rows(10**6, np.random.default_rng(1))
    for estimator in (cs.ECE(), cs.SquaredCE(), cs.BrierScore()):
        _agrees(float(model.truth(estimator)), estimator.estimand, drawn.predictions.probabilities, drawn.chances)


@each_case
def test_limits_are_those_of_calibrated_rows_of_the_world(world, position):
    """The rows below know nothing of levels or atoms: predictions and chances are those of the world, then binned."""
    model, drawn = model_of(world, position), world.rows(10**6, np.random.default_rng(2))
    said = FITTED[position].fit(*_fit_rows(world, position)).predict_proba(drawn.predictions.probabilities)
    for lens in (cs.Canonical(), TOP):
        estimator = lens | cs.ECE(cs.EqualWidth(20))
        _agrees(float(model.limit(estimator)), estimator, said, drawn.chances)


def _agrees(expected, estimator, said, chances):
    """Four standard errors of blocks, besides the bias of distances in cells, which is less for all rows at once."""
    value = _on_rows(estimator, said, chances)
    blocks = [_on_rows(estimator, said[part], chances[part]) for part in np.split(np.arange(len(said)), 20)]
    error, bias = np.std(blocks, ddof=1) / np.sqrt(20), abs(np.mean(blocks) - value)
    assert abs(expected - value) <= 4 * error + bias + 1e-9, estimator


def _fit_rows(world, position):
    fit = world.sample(2000, rng=position)
    return fit.y_prob, fit.outcomes


def _on_rows(estimator, said, chances):
    return float(evaluate(estimator, gen.population_of(said, chances)))


def test_another_fit_of_the_calibrator_leaves_the_world_as_it_is():
    fitted = cal.Temperature().fit(*_fit_rows(LINE, 0))
    model = gen.Recalibrated(LINE, fitted)
    before = float(model.truth(cs.ECE()))
    fitted.fit(*_fit_rows(EXTREME, 0))
    assert float(gen.Recalibrated(LINE, fitted).truth(cs.ECE())) > before + 0.01
    assert float(model.truth(cs.ECE())) == before
    said = (
        each.rows(10, np.random.default_rng(0)).predictions.event for each in (model, gen.Recalibrated(LINE, fitted))
    )
    assert not np.allclose(*said, atol=0.01)


def test_labels_are_those_of_the_world():
    model = model_of(MIXTURE, 2)
    sample = model.sample(200_000, rng=0)
    assert sample.predictions.classes == (-1, 1)
    assert cs.calibration_test(sample, cs.ECE(cs.EqualWidth(10)), rng=0).pvalue < 0.01
    limit = float(model.limit(cs.ECE(cs.EqualWidth(10))))
    assert abs(cs.ECE(cs.EqualWidth(10))(sample) - limit) < 0.005


# The identity gives the world back


@pytest.mark.parametrize("world", [LINE, MIXTURE, EXTREME, gen.FinitePredictions([0.2, 0.7], [0.3, 0.7])], ids=named)
def test_the_identity_gives_the_world_back(world):
    model = gen.Recalibrated(world, identity())
    assert model.finite == world.finite
    for lens in (cs.Canonical(), TOP, cs.ClassWise(world.population(cs.Canonical()).predictions.classes[0])):
        for estimator in (cs.ECE(), cs.RMSCE(), cs.BrierScore(), cs.LogScore()):
            given, expected = (float(each.truth(lens | estimator)) for each in (model, world))
            assert given == pytest.approx(expected, abs=1e-10), (lens, estimator)
        for binning in (cs.EqualWidth(7), cs.EqualMass(4)):
            given, expected = (float(each.limit(lens | cs.ECE(binning))) for each in (model, world))
            assert given == pytest.approx(expected, abs=1e-9), (lens, binning)
        asked = np.array([0.2, 0.55, 0.7])
        found = model.calibration_function(asked, lens)
        np.testing.assert_allclose(found, world.calibration_function(asked, lens), atol=1e-9)
    drawn, own = (each.rows(100, np.random.default_rng(0)) for each in (model, world))
    np.testing.assert_allclose(drawn.predictions.event, own.predictions.event, rtol=1e-12)
    np.testing.assert_allclose(drawn.chances, own.chances, atol=1e-12)


# Integration by hand


def test_places_on_both_sides_of_a_turn_are_pooled():
    """A parabola takes each value twice, with equal slopes: chances are averages by the density at both places."""
    model = gen.Recalibrated(LINE, bent(0.2, 0.5, -0.3))
    turn = 0.5 / 0.6

    def density(x):
        return expit(x) * expit(-x)

    def parts(x):
        """The mass at a place and at its mirror, the event's share of both, and the prediction."""
        other = 2 * turn - x
        mass = density(x) + density(other)
        happened = density(x) * expit(x / 2) + density(other) * expit(other / 2)
        return mass, happened, expit(0.2 + 0.5 * x - 0.3 * x**2)

    def integral(function):
        return sum(integrate.quad(function, low, low + 1, epsabs=1e-14)[0] for low in turn + np.arange(60))

    squared = integral(lambda x: parts(x)[0] * (parts(x)[1] / parts(x)[0] - parts(x)[2]) ** 2)

    def gap(x):
        return parts(x)[1] - parts(x)[0] * parts(x)[2]

    error = integral(lambda x: abs(gap(x)))
    assert float(model.truth(cs.SquaredCE())) == pytest.approx(squared, abs=1e-9)
    assert float(model.truth(cs.ECE())) == pytest.approx(error, abs=1e-9)
    asked = np.array([-3.0, -1.0, 0.3])
    mass, happened, said = parts(turn + np.sqrt(turn**2 + (0.2 - asked) / 0.3))
    np.testing.assert_allclose(said, expit(asked))
    np.testing.assert_allclose(model.calibration_function(expit(asked)), happened / mass, atol=1e-9)
    highest = expit(0.2 + 0.5 * turn - 0.3 * turn**2)
    assert np.isnan(model.calibration_function([highest + 0.01])).all()
    unpooled = integral(lambda x: density(x) * (expit(x / 2) - parts(x)[2]) ** 2)
    unpooled += integral(lambda x: density(2 * turn - x) * (expit((2 * turn - x) / 2) - parts(x)[2]) ** 2)
    assert unpooled > squared + 1e-3  # the negative control: rows by themselves are farther off


@pytest.mark.parametrize("position", slow_but([6], [4, 5, 6, 7, 11, 12, 17]), ids=lambda each: named(FITTED[each]))
def test_steps_and_slopes_against_two_million_points(position):
    """Midpoints in p; equal predictions share their mean chance. Maps that increase take no value twice besides."""
    model = model_of(LINE, position)
    p = (np.arange(2_000_000) + 0.5) / 2_000_000
    said = model.calibrator.predict_proba(np.column_stack([1 - p, p]))
    rows = gen.population_of(said, expit(logit(p) / 2), np.ones(len(p)))
    for estimator in (cs.ECE(), cs.SquaredCE()):
        assert float(model.truth(estimator)) == pytest.approx(float(evaluate(estimator.estimand, rows)), abs=3e-6)


def test_the_limit_is_known_where_a_cell_ends_at_a_steep_piece_of_the_map():
    """Isotonic regression rises by 0.004 between two scores that are 4e-7 apart: rounding there hides how narrow."""
    world = gen.BetaPredictions(0.5, 6, gen.LogitShift(0.5))
    fit = world.sample(2000, rng=2)
    model = gen.Recalibrated(world, cal.Isotonic().fit(fit.y_prob, fit.y_true))
    p = beta.ppf((np.arange(100_000) + 0.5) / 100_000, 0.5, 6)
    said = model.calibrator.predict_proba(np.column_stack([1 - p, p]))
    rows = gen.population_of(said, world.calibration_function(p), np.ones(len(p)))
    for estimator in (cs.ECE(cs.EqualMass(15)), cs.SquaredCE(cs.EqualMass(15))):
        assert float(model.limit(estimator)) == pytest.approx(float(evaluate(estimator, rows)), abs=1e-5)


def test_a_histogram_has_atoms():
    fit = LINE.sample(500, rng=0)
    fitted = cal.HistogramBinning(cs.FixedEdges([0, 0.3, 1])).fit(fit.y_prob, fit.outcomes)
    model = gen.Recalibrated(LINE, fitted)
    said = fitted.predict_proba([[0.9, 0.1], [0.1, 0.9]])[:, 1]
    low, high = (integrate.quad(lambda p: expit(logit(p) / 2), *ends, epsabs=1e-13)[0] for ends in ((0, 0.3), (0.3, 1)))
    assert model.finite
    assert float(model.truth(cs.ECE())) == pytest.approx(
        abs(low - 0.3 * said[0]) + abs(high - 0.7 * said[1]), abs=1e-10
    )
    np.testing.assert_allclose(model.calibration_function(said), [low / 0.3, high / 0.7], atol=1e-10)
    assert np.isnan(model.calibration_function([0.123])).all()
    assert "enumeration" in str(model.truth(cs.ECE()))


def test_cells_of_a_finite_world_are_pooled():
    world = gen.FinitePredictions([0.1, 0.2, 0.8], [0.3, 0.1, 0.6], mass=[1, 2, 1])
    fitted = cal.HistogramBinning(cs.FixedEdges([0, 0.5, 1])).fit([0.1, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    model = gen.Recalibrated(world, fitted)
    said = fitted.predict_proba([0.1, 0.8])[:, 1]
    expected = 0.75 * abs((0.3 + 2 * 0.1) / 3 - said[0]) + 0.25 * abs(0.6 - said[1])
    assert float(model.truth(cs.ECE())) == pytest.approx(expected, abs=1e-12)


def test_a_better_calibrator_is_better_in_truth():
    """What the world is for: temperature scaling has the form of this world, and a histogram of few rows has noise."""
    fit = LINE.sample(500, rng=1)
    errors = [
        float(gen.Recalibrated(LINE, made.fit(fit.y_prob, fit.outcomes)).truth(cs.SquaredCE()))
        for made in (cal.Temperature(), cal.HistogramBinning())
    ]
    assert errors[0] < errors[1] < float(LINE.truth(cs.SquaredCE()))


# Refusals

THREE = gen.DirichletPredictions([1, 1, 1])
P, Y = np.array([0.2, 0.4, 0.6, 0.8]), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: gen.Recalibrated(THREE, identity()), ValueError, "neither a density in one variable nor finitely"),
        (lambda: gen.Recalibrated(gen.vaicenavicius_example_1(), identity()), ValueError, "which has 3 classes"),
        (lambda: gen.Recalibrated("world", identity()), TypeError, "must be a synthetic model"),
        (lambda: gen.Recalibrated(LINE, cal.Platt()), TypeError, "must be a fitted calibrator"),
        (lambda: gen.Recalibrated(LINE, np.sqrt), TypeError, "must be a Calibrator"),
        (
            lambda: gen.Recalibrated(LINE, cal.AugmentedBeta().fit(np.column_stack([P, P]), Y)),
            ValueError,
            "reads variables",
        ),
        (
            lambda: gen.Recalibrated(LINE, cal.Platt(input="logits").fit(P, Y)),
            ValueError,
            "input='probability' and normalize=True",
        ),
        (
            lambda: gen.Recalibrated(LINE, cal.Temperature().fit(np.eye(3)[[0, 1, 2, 0]] / 2 + 1 / 6, [0, 1, 2, 1])),
            ValueError,
            r"fitted to the classes \[0, 1, 2\], but the world has \[0, 1\]",
        ),
        (lambda: gen.Recalibrated(LINE, cal.Platt().fit(P, ["a", "b", "a", "b"])), ValueError, "fitted to the classes"),
        (
            lambda: gen.Recalibrated(gen.Recalibrated(LINE, identity()), identity()),
            ValueError,
            "neither a density in one variable",
        ),
    ],
)
def test_what_has_no_truth_is_refused(made, error, message):
    with pytest.raises(error, match=message):
        made()


# Branches


def test_branches_of_a_map_with_a_jump_a_kink_a_turn_and_a_step():
    def function(x):
        return np.select([x < -1, x < 0, x < 1], [x, x + 5, 5 + 3 * x], np.where(x < 2, 8 - (x - 1) ** 2, 3.0))

    found = branches_of(function, np.linspace(-3.03, 3.01, 50))
    assert [(round(each.low[0], 6), round(each.high[-1], 6)) for each in found.branches] == [(-3.03, 8), (7, 8)]
    assert found.is_constant(np.array([-2, 0.5, 1.5, 1.9999, 2.0001, 3])).tolist() == [False] * 4 + [True] * 2
    assert np.abs(found.borders[:, None] - [-1, 0, 1, 2]).min(axis=0).max() < 1e-6
    np.testing.assert_allclose(np.sort(found.places(np.array([-2.0, 4.5, 6.5]))), [-2, -0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(np.sort(found.places(np.array([7.75]))), [2.75 / 3, 1.5], atol=1e-9)
    assert len(found.places(np.array([2.0, 9.0]))) == 0  # in the jump, and above all values
    assert found.several(np.array([6.0, 7.5])).tolist() == [False, True]
    (_, _, slope), *_ = found.levels(np.array([6.5]))
    np.testing.assert_allclose(slope, 3, atol=1e-7)


def test_a_map_without_end_of_detail_is_refused():
    noise = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no smooth function of the prediction in 200000 pieces"):
        branches_of(lambda x: noise.random(len(x)), np.linspace(0, 1, 50))
