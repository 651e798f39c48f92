"""Drawing a row costs at most fifty times what two uniforms cost."""

import time

import numpy as np
import pytest

from calibstat import generators as gen

pytestmark = pytest.mark.benchmark
N = 50_000  # short runs, so that some of them are undisturbed

MODELS = [
    gen.FinitePredictions(np.linspace(0.01, 0.99, 99), np.linspace(0.01, 0.99, 99) ** 2),
    gen.GaussianMixture(1, 1),
    gen.BetaPredictions(1, 1, gen.Slope(0.75)),
    gen.BetaPredictions(0.5, 0.5, gen.LogitShift(0.3)),
    gen.BetaPredictions(2, 3, gen.HoelderBumps(1, 4, 5)),
    gen.DirichletPredictions([1, 1, 1], gen.PairSwap(0.4)),
    gen.DirichletPredictions([1, 1, 1], gen.Mixture(0.5, [0.2, 0.3, 0.5])),
    gen.Empirical(np.linspace(0, 1, 1000), gen.ClippedTails(0.1)),
    gen.VariableMiscalibration(0.05, 0.1),
    gen.ModelPair().first,
    gen.ModelPair(),
    gen.RegressionFunction("hard").classified_by(lambda X: 0.2 + 0.6 * (X[:, 0] > 0.5)),
]


def least_time(function, repeats=60):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_draws_cost_at_most_fifty_times_two_uniforms(benchmark, model, ratios):
    rng = np.random.default_rng(0)
    benchmark.pedantic(lambda: model.sample(N, rng), rounds=3)
    ours, plain = least_time(lambda: model.sample(N, rng)), least_time(lambda: rng.random((N, 2)))
    map_of = getattr(model, "recalibration", None)
    name = type(model).__name__ + ("" if map_of is None else f" with {type(map_of).__name__}")
    ratios.record(f"{name}, n = 5e4; two uniforms for each row", 1e3 * ours, 1e3 * plain, 50)
