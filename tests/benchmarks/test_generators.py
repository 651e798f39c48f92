"""Drawing a row costs so many times what two uniforms cost."""

import numpy as np
import pytest

from calibstat import generators as gen

N = 50_000

MODELS = [
    (gen.FinitePredictions(np.linspace(0.01, 0.99, 99), np.linspace(0.01, 0.99, 99) ** 2), 25),
    (gen.GaussianMixture(1, 1), 12),
    (gen.BetaPredictions(1, 1, gen.Slope(0.75)), 8),
    (gen.BetaPredictions(0.5, 0.5, gen.LogitShift(0.3)), 25),
    (gen.BetaPredictions(2, 3, gen.HoelderBumps(1, 4, 5)), 40),
    (gen.DirichletPredictions([1, 1, 1], gen.PairSwap(0.4)), 16),
    (gen.DirichletPredictions([1, 1, 1], gen.Mixture(0.5, [0.2, 0.3, 0.5])), 15),
    (gen.Empirical(np.linspace(0, 1, 1000), gen.ClippedTails(0.1)), 9),
    (gen.VariableMiscalibration(0.05, 0.1), 16),
    (gen.ModelPair().first, 15),
    (gen.ModelPair(), 25),
    (gen.Clustered(gen.BetaPredictions(1, 1), 8, 0.3), 25),
    (gen.RegressionFunction("hard").classified_by(lambda X: 0.2 + 0.6 * (X[:, 0] > 0.5)), 30),
]


@pytest.mark.parametrize(("model", "goal"), MODELS, ids=lambda each: type(each).__name__)
def test_draws_cost_a_few_uniforms(model, goal, ratios):
    rng = np.random.default_rng(0)
    map_of = getattr(model, "recalibration", None)
    name = type(model).__name__ + ("" if map_of is None else f" with {type(map_of).__name__}")
    ratios.at_most(
        f"{name}, n = 5e4; two uniforms for each row",
        lambda: model.sample(N, rng),
        lambda: rng.random((N, 2)),
        goal,
        rounds=30,
    )
