"""Synthetic models: classifiers on worlds whose calibration errors are known.

>>> import calibstat as cs
>>> from calibstat import generators
>>> model = generators.GaussianMixture(1, 1)
>>> print(model.truth(cs.ECE()))
0.5637511406 (given the induced prediction; Gauss-Legendre quadrature, ...)
>>> round(model.limit(cs.ECE(cs.EqualWidth(10))).value, 8)
0.55835667
>>> len(model.sample(100, rng=0))
100
"""

from __future__ import annotations

from calibstat._lazy import lazy_names

# Every public name and the module that defines it; a module is imported when one of its names is first used.
_MODULES = {
    "base": ["SyntheticModel", "Population", "Truth", "population_of"],
    "finite": [
        "FinitePredictions",
        "vaicenavicius_example_1",
        "kelly_smyth_theorem_5_1",
        "kelly_smyth_theorem_5_2",
        "kelly_smyth_theorem_5_4",
        "Empirical",
    ],
    "beta": ["GaussianMixture", "BetaPredictions"],
    "dirichlet": ["DirichletPredictions"],
    "variable_based": ["VariableMiscalibration", "ModelPair"],
    "worlds": ["RegressionFunction", "Classified", "Conditioned"],
    "recalibrated": ["Recalibrated"],
    "clustered": ["Clustered", "ParetoSizes"],
    "recalibrations": [
        "Recalibration",
        "Identity",
        "LogitShift",
        "Slope",
        "Cubic",
        "Wiggle",
        "Bump",
        "ClippedTails",
        "HoelderBumps",
    ],
    "simplex_maps": ["SimplexMap", "Mixture", "TemperatureShift", "MatrixMap", "PairSwap"],
    "laws": ["check_generator"],
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
