"""Worlds with variables, features, data sets and pairs."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from calibstat import generators as gen
from calibstat._logistic import expit, logit

TOP = cs.TopLabel()


@pytest.mark.parametrize(("ece", "vece"), [(0.05, 0.1), (0.0, 0.2), (0.1, 0.0)])
def test_variable_miscalibration_has_the_errors_asked_for(ece, vece):
    model = gen.VariableMiscalibration(ece, vece)
    for lens in (cs.Canonical(), TOP):
        assert float(model.truth(lens | cs.ECE())) == pytest.approx(ece, abs=1e-10)
        assert float(model.truth(lens | cs.VECE("v"))) == pytest.approx(vece, abs=1e-10)


def test_variable_miscalibration_is_over_and_underconfident():
    model = gen.VariableMiscalibration(0.0, 0.1)
    low, high = (cs.Region.between("v", *ends) | cs.ECE(cs.FixedEdges([0, 1])) for ends in ((0, 0.5), (0.5, 1)))
    assert float(model.limit(low)) == pytest.approx(0.1, abs=1e-8)
    assert float(model.limit(high)) == pytest.approx(0.1, abs=1e-8)
    assert float(model.limit(cs.ECE(cs.FixedEdges([0, 1])))) == pytest.approx(0, abs=1e-10)


def test_limits_on_cells_of_a_variable():
    model = gen.VariableMiscalibration(0.02, 0.1)
    # thirds: the middle one cancels, the outer two hold (3/2) of int_0^(1/3) sin(2 pi v) dv = 3 / (4 pi)
    assert float(model.limit(cs.VECE("v", cs.EqualWidth(3)))) == pytest.approx(0.075, abs=1e-8)
    assert float(model.limit(cs.VECE("v", cs.EqualMass(3)))) == pytest.approx(0.075, abs=1e-8)
    assert float(model.limit(cs.VECE("v", cs.EqualMass(10)))) < 0.1 + 1e-9


def test_empirical_world():
    rng = np.random.default_rng(3)
    scores = rng.beta(2, 3, 200)
    model = gen.Empirical(scores, gen.Wiggle(3, 0.1), variables={"age": rng.integers(20, 60, 200)})
    gaps = gen.Wiggle(3, 0.1)(scores) - scores
    assert float(model.truth(cs.ECE())) == pytest.approx(np.abs(gaps).mean(), abs=1e-13)
    ages = model.table.predictions.variables["age"].values
    by_age = [abs(gaps[ages == age].sum()) for age in np.unique(ages)]
    assert float(model.truth(cs.VECE("age"))) == pytest.approx(sum(by_age) / 200, abs=1e-13)
    rows = rng.dirichlet([1, 1, 1, 1], 100)
    many = gen.Empirical(rows, gen.TemperatureShift(2), labels=list("abcd"))
    law = np.sqrt(rows) / np.sqrt(rows).sum(axis=1, keepdims=True)
    assert float(many.truth(cs.ECE())) == pytest.approx(0.5 * np.abs(law - rows).sum(axis=1).mean(), abs=1e-13)
    assert many.sample(10, rng=0).labels == tuple("abcd")


def test_pair_of_calibrated_models():
    pair = gen.ModelPair((1, 0.7))
    for member in (pair.first, pair.second):
        assert float(member.truth(cs.ECE())) == pytest.approx(0, abs=1e-12)
        assert member.population(cs.Canonical()).predictions.weights.sum() == pytest.approx(1)


def test_pair_truth_against_integration_over_the_signal():
    pair = gen.ModelPair((1, 0.7), (gen.Slope(1.5), gen.LogitShift(0.4)))
    for member, gain, announced in (
        (pair.first, 1 / 1.49**0.5, lambda c: expit(logit(c) / 1.5)),
        (pair.second, 0.7 / 2**0.5, lambda c: expit(logit(c) - 0.4)),
    ):

        def gap(z, gain=gain, announced=announced):
            chance = stats.norm.cdf(gain * z)
            return abs(chance - announced(chance)) * stats.norm.pdf(z)

        expected = integrate.quad(gap, -9, 0, epsabs=1e-12)[0] + integrate.quad(gap, 0, 9, epsabs=1e-12)[0]
        assert float(member.truth(cs.ECE())) == pytest.approx(expected, abs=1e-9)


def test_pair_samples_share_rows():
    pair = gen.ModelPair((1, 0.7), (gen.Identity(), gen.LogitShift(0.4)))
    first, second = pair.sample(200_000, rng=0)
    assert (first.outcomes == second.outcomes).all()
    binned = cs.ECE(cs.EqualWidth(10))
    assert binned(first) == pytest.approx(float(pair.first.limit(binned)), abs=0.01)
    assert binned(second) == pytest.approx(float(pair.second.limit(binned)), abs=0.01)
    assert first.predictions.event.std() > second.predictions.event.std()


def test_conditioned_model_of_proposition_1():
    chances = [0.1, 0.3, 0.6, 0.8]
    world = gen.FinitePredictions([0.5] * 4, chances, variables={"x": [0, 1, 2, 3]}, features=["x"])
    model = gen.Conditioned(world, lambda rows: rows.variables["x"].values >= 2)
    assert set(model.sample(100, rng=0).predictions.event.round(12)) == {0.2, 0.7}
    assert float(model.truth(cs.ECE())) == pytest.approx(0, abs=1e-12)
    assert float(model.truth(cs.RMSCE(), "ise")) == pytest.approx(0.1)
    line = gen.Conditioned(gen.BetaPredictions(1, 1), lambda rows: rows.event > 0.37)
    assert line.table[1][:, 1] == pytest.approx([0.185, 0.685], abs=1e-10)


def test_distance_from_the_regression_function():
    # Kumar et al. (2019) and Rosenberg: CE <= ISE
    eta, score = [0.1, 0.5, 0.4, 0.8], [0.3, 0.3, 0.5, 0.5]
    model = gen.FinitePredictions(score, eta, variables={"x": [0, 1, 2, 3]}, features=["x"])
    assert float(model.truth(cs.RMSCE(), "ise")) == pytest.approx(0.2121320344, abs=1e-10)
    assert float(model.truth(cs.RMSCE())) == pytest.approx(0.0707106781, abs=1e-10)


@pytest.fixture(scope="module", params=["simple", "hard"])
def trained(request):
    world = gen.RegressionFunction(request.param)
    X, y, eta = world.draw(2000, rng=0)
    assert world.eta(X) == pytest.approx(eta)
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, y)
    return world, world.classified_by(tree)


def test_trees_are_known_exactly(trained):
    world, model = trained
    leaf_error = _error_of_leaves(world, model, n=400_000)
    exact = model.truth(cs.ECE())
    assert exact.given == "the induced prediction"
    assert float(exact) == pytest.approx(leaf_error, abs=3e-3)
    drawn = model.truth(cs.ECE(), n_samples=1_000_000, rng=1)
    assert drawn.given == "the induced prediction"
    assert abs(drawn.value - float(exact)) < 5 * drawn.standard_error


def _error_of_leaves(world, model, n):
    X = np.random.default_rng(7).random((n, 2))
    score, eta = model.predict(X), world.eta(X)
    return sum(abs((eta - score)[score == value].sum()) for value in np.unique(score)) / n


def test_calibration_error_never_exceeds_ise(trained):
    _, model = trained
    for estimator in (cs.ECE(), cs.RMSCE(), cs.SquaredCE()):
        assert float(model.truth(estimator)) < float(model.truth(estimator, "ise"))


def test_smooth_classifiers_give_upper_bounds(trained):
    world, _ = trained
    smooth = world.classified_by(lambda X: 0.9 * world.eta(X), breaks=([], []))
    bound = smooth.truth(cs.ECE())
    assert bound.given == "upper bound given the full prediction"
    assert bound.value == pytest.approx(0.05, abs=1e-9)
    with pytest.raises(ValueError, match="n_samples"):
        world.classified_by(world.eta).truth(cs.ECE())


def test_forests_jump_where_their_trees_do():
    world = gen.RegressionFunction("simple")
    X, y, _ = world.draw(500, rng=1)
    forest = RandomForestClassifier(n_estimators=4, max_leaf_nodes=5, random_state=0).fit(X, y)
    model = world.classified_by(forest)
    assert float(model.truth(cs.ECE())) == pytest.approx(_error_of_leaves(world, model, 400_000), abs=4e-3)


def test_features_are_variables(trained):
    _, model = trained
    assert set(model.sample(5, rng=0).predictions.variables) == {"x1", "x2"}
    value = float(model.limit(cs.Given("x1") | cs.ECE(cs.EqualWidth(5))))
    assert 0 < value < float(model.truth(cs.ECE(), "ise"))
