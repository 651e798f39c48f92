"""Synthetic worlds, with lenses that they can be seen through and estimators whose limits they know."""

from __future__ import annotations

import warnings

import numpy as np

import calibstat as cs
from calibstat import calibrators as cal
from calibstat import generators as gen

TOP, CANONICAL = cs.TopLabel(), cs.Canonical()
WIDTH, MASS = cs.ECE(cs.EqualWidth(8)), cs.RMSCE(cs.EqualMass(5))
DATA = np.random.default_rng(0).beta(2, 3, 150)


def calibrated(world, calibrator):
    """The world of a calibrator that is fitted to 500 rows."""
    fit = world.sample(500, rng=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fits far better")  # one is worse than chance
        return gen.Recalibrated(world, calibrator.fit(fit.y_prob, fit.outcomes))


WORLDS = [
    (gen.vaicenavicius_example_1(), [CANONICAL, TOP, cs.ClassWise(1), cs.TopK(2)], []),
    (gen.kelly_smyth_theorem_5_1(3), [TOP, TOP | cs.Given("v")], []),
    (gen.kelly_smyth_theorem_5_2(4), [TOP, TOP | cs.Given("v")], []),
    (gen.kelly_smyth_theorem_5_4(), [TOP, TOP | cs.Given("v")], []),
    (gen.GaussianMixture(1, 1), [CANONICAL, TOP, cs.Region.between(1, 0.2, 0.7)], [WIDTH, MASS]),
    (gen.GaussianMixture(0, 0), [CANONICAL], [WIDTH]),
    (gen.BetaPredictions(0.5, 0.5, gen.LogitShift(0.3)), [CANONICAL, TOP, cs.ClassWise(0)], [WIDTH, MASS]),
    (gen.BetaPredictions(2, 3, gen.Wiggle(15, 0.2)), [CANONICAL, TOP], [WIDTH, cs.PDE(cs.EqualWidth(4))]),
    (gen.BetaPredictions(5, 2, gen.HoelderBumps(0.5, 6, 5)), [CANONICAL, TOP], [WIDTH]),
    (gen.DirichletPredictions([0.5, 1, 2], gen.TemperatureShift(2)), [TOP, cs.ClassWise(1)], [WIDTH]),
    (gen.DirichletPredictions([0.5, 1, 2], gen.PairSwap(0.5)), [CANONICAL], []),
    (gen.DirichletPredictions([1] * 6, gen.Mixture(0.3, [1, 0, 0, 0, 0, 0])), [cs.ClassWise(0)], [WIDTH]),
    (gen.Empirical(DATA, gen.Cubic(2.0)), [CANONICAL, TOP], [WIDTH]),
    (gen.VariableMiscalibration(0.05, 0.1), [CANONICAL, TOP, TOP | cs.Given("v")], [WIDTH]),
    (gen.ModelPair((1, 0.7), (gen.Slope(1.5), gen.Identity())).first, [CANONICAL, TOP], [WIDTH]),
    (gen.ModelPair((1, 0.7), (gen.Slope(1.5), gen.LogitShift(1))).second, [CANONICAL], [WIDTH]),
    (
        gen.RegressionFunction("hard").classified_by(lambda X: np.where(X[:, 0] < 0.3, 0.4, 0.6), ([0.3], [])),
        [CANONICAL, cs.Given("x1")],
        [WIDTH],
    ),
    (calibrated(gen.GaussianMixture(1, 1), cal.Quadratic()), [CANONICAL, TOP, cs.Region.between(1, 0.1, 0.3)], [WIDTH]),
    (calibrated(gen.BetaPredictions(2, 3), cal.Isotonic()), [CANONICAL, TOP, cs.ClassWise(0)], [WIDTH, MASS]),
    (calibrated(gen.BetaPredictions(2, 3), cal.VennAbers()), [CANONICAL, TOP], [WIDTH]),
    (calibrated(gen.Empirical(DATA), cal.HistogramBinning()), [CANONICAL, TOP], [WIDTH]),
    (gen.Conditioned(gen.BetaPredictions(2, 3, gen.Slope(2)), lambda rows: rows.event > 0.4), [CANONICAL], [WIDTH]),
    (gen.Clustered(gen.BetaPredictions(2, 3, gen.Slope(2)), 8, 0.3), [CANONICAL, TOP], [WIDTH, MASS]),
    (
        gen.Clustered(gen.GaussianMixture(1, 1), gen.ParetoSizes(1.5, 3, 50), 0.9, "constant"),
        [CANONICAL, cs.Region.between(1, 0.2, 0.7)],
        [WIDTH],
    ),
    (gen.Clustered(gen.vaicenavicius_example_1(), (1, 2, 30), 0.05), [CANONICAL, TOP, cs.ClassWise(1)], []),
    (
        gen.Clustered(gen.DirichletPredictions([1] * 5, gen.Mixture(0.3, [1, 0, 0, 0, 0])), 8, 0.9),
        [cs.ClassWise(0)],
        [],
    ),
]
