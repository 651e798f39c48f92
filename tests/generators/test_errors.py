"""Bad input: one clear error that says what to do."""

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen


def test_a_population_of_lists_is_that_of_arrays():
    lists = [0, 0.8], [0.3, 0.7], [1, 3]
    found, same = gen.population_of(*lists), gen.population_of(*map(np.array, lists))
    for made in (found, same):
        np.testing.assert_allclose(made.predictions.probabilities, [[1, 0], [0.2, 0.8]])
        np.testing.assert_allclose(made.chances, [[0.7, 0.3], [0.3, 0.7]])
        np.testing.assert_allclose(made.predictions.weights, [0.25, 0.75])
    with pytest.raises(ValueError, match="chances holds something else than numbers"):
        gen.population_of([0.2, 0.8], ["a", "b"])


LINE = gen.GaussianMixture(1, 1)

BAD = [
    (lambda: gen.BetaPredictions(0, 1), ValueError, "0.05"),
    (lambda: gen.BetaPredictions(1, 1, gen.Bump(0.9, 0.1, 0.5)), ValueError, r"leaves \[0, 1\]"),
    (lambda: gen.BetaPredictions(1, 1, lambda p: p + 0.1), ValueError, r"leaves \[0, 1\]"),
    (lambda: gen.BetaPredictions(1, 1, lambda p: p[:3]), ValueError, "keep the shape"),
    (lambda: gen.BetaPredictions(1, 1, 0.3), TypeError, "function"),
    (lambda: gen.GaussianMixture(1, 100), ValueError, "beta1"),
    (lambda: gen.GaussianMixture(np.nan, 1), ValueError, "beta0"),
    (lambda: gen.Slope(-1), ValueError, "above 0"),
    (lambda: gen.LogitShift(np.inf), ValueError, "finite"),
    (lambda: gen.Cubic(9), ValueError, "leaves"),
    (lambda: gen.Wiggle(1, 0.9), ValueError, "leaves"),
    (lambda: gen.ClippedTails(0.5), ValueError, "below 0.5"),
    (lambda: gen.HoelderBumps(0, 3, 1), ValueError, "smoothness"),
    (lambda: gen.HoelderBumps(1, 1, 30), ValueError, "leaves"),
    (lambda: gen.Mixture(1.2, [0.5, 0.5]), ValueError, "weight"),
    (lambda: gen.Mixture(0.2, [0.5, 0.6]), ValueError, "sum to 1"),
    (lambda: gen.TemperatureShift(0), ValueError, "T is 0; it must be a finite number above 0"),
    (lambda: gen.MatrixMap([[1, 2]]), ValueError, "matrix"),
    (lambda: gen.PairSwap(2), ValueError, "d is"),
    (lambda: gen.DirichletPredictions([1]), ValueError, "two classes"),
    (lambda: gen.DirichletPredictions([1, 1, 0]), ValueError, "parameters"),
    (lambda: gen.DirichletPredictions([1, 1, 1], lambda rows: 2 * rows), ValueError, "leaves the simplex"),
    (lambda: gen.DirichletPredictions([1, 1], gen.Mixture(0.1, [1, 0, 0])), ValueError, "classes"),
    (lambda: gen.DirichletPredictions([1, 1], gen.PairSwap(0.1)), ValueError, "three classes"),
    (lambda: gen.FinitePredictions([0.2], [0.3, 0.4]), ValueError, "shape"),
    (lambda: gen.FinitePredictions([0.2], [1.3]), ValueError, "not a law"),
    (lambda: gen.FinitePredictions([0.2], [0.3], mass=[0]), ValueError, "positive"),
    (lambda: gen.FinitePredictions([0.2], [0.3], features=["x"]), ValueError, "features"),
    (lambda: gen.FinitePredictions([0.2, 0.3], [0.3, 0.3], variables={"v": [1]}), ValueError, "1"),
    (lambda: gen.kelly_smyth_theorem_5_1(1), ValueError, "at least 2"),
    (lambda: gen.VariableMiscalibration(0.3, 0.1), ValueError, "0.3183"),
    (lambda: gen.VariableMiscalibration(-0.1, 0.1), ValueError, ">= 0"),
    (lambda: gen.RegressionFunction("medium"), ValueError, "simple"),
    (lambda: gen.RegressionFunction().classified_by(3), TypeError, "predict_proba"),
    (lambda: gen.RegressionFunction().classified_by(np.mean, breaks=[[]]), ValueError, "two features"),
    (lambda: gen.ModelPair((1, 0)), ValueError, "sharpness"),
    (lambda: gen.ModelPair((1, 1), (gen.Identity(), gen.Wiggle(1, 0.1))), ValueError, "inverse"),
    (lambda: gen.Empirical([0.2, 1.4]), ValueError, "1.4"),
    (lambda: LINE.sample(0), ValueError, "at least 1"),
    (lambda: LINE.sample(3, rng="seed"), TypeError, "rng"),
    (lambda: LINE.truth(cs.Given("age") | cs.ECE()), ValueError, "age"),
    (lambda: LINE.truth(cs.RMSCE(), "ise"), ValueError, "features"),
    (lambda: LINE.truth(cs.RMSCE(), "bias"), ValueError, "'ise'"),
    (lambda: LINE.limit(cs.ECE(cs.UniqueValues())), ValueError, "number of rows"),
    (lambda: LINE.limit(cs.ECE(cs.VarianceTree(100))), ValueError, "number of rows"),
    (lambda: LINE.calibration_function([[0.2, 0.3, 0.5]]), ValueError, "2 classes"),
    (lambda: gen.DirichletPredictions([1] * 4, gen.TemperatureShift(2)).truth(cs.ECE()), ValueError, "ClassWise"),
    (
        lambda: gen.DirichletPredictions([1] * 4, gen.TemperatureShift(2)).truth(cs.TopLabel() | cs.ECE()),
        ValueError,
        "n_samples",
    ),
    (
        lambda: gen.DirichletPredictions([1] * 3, gen.TemperatureShift(2)).limit(cs.ECE(cs.SimplexGrid(3))),
        ValueError,
        "ClassWise",
    ),
    (lambda: gen.Conditioned(LINE, lambda rows: rows.event[:2]).truth(cs.ECE()), ValueError, "one code"),
]


@pytest.mark.parametrize(("make", "error", "text"), BAD)
def test_bad_input(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_edges_of_parameters_work():
    for model in (gen.BetaPredictions(0.05, 0.05), gen.BetaPredictions(1e6, 1e6), gen.GaussianMixture(0, 1e-3)):
        assert model.population(cs.TopLabel()).predictions.weights.sum() == pytest.approx(1)
        assert len(model.sample(1, rng=0)) == 1
        assert np.isfinite(float(model.truth(cs.TopLabel() | cs.ECE())))


def test_names_are_found():
    for name in gen.__all__:
        assert getattr(gen, name).__name__ == name
    assert "GaussianMixture" in dir(gen)
    with pytest.raises(AttributeError, match="Gauss"):
        gen.Gauss
