"""Statistical tests and simulation of classifier calibration.

Look at a sample through a lens, cut it into cells, prepare an estimator once, move what the null or the resampling
moves, and judge the observed value by where it falls.

>>> import calibstat as cs
>>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
>>> round((cs.Canonical() | cs.ECE(cs.FixedEdges([0, 0.5, 1])))(sample), 6)
0.25
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Every public name and the module that defines it; a module is imported when one of its names is first used.
_MODULES = {
    "sample": ["Sample"],
    "predictions": ["Predictions"],
    "arrays": ["as_generator"],
    "checks": ["SmallCellsWarning"],
    "lenses.base": ["Lens"],
    "lenses.canonical": ["Canonical"],
    "lenses.partition": ["Partition"],
    "lenses.top_label": ["TopLabel"],
    "lenses.top_k": ["TopK"],
    "lenses.class_wise": ["ClassWise"],
    "lenses.given": ["Given"],
    "lenses.region": ["Region"],
    "binnings.base": ["Binning", "Cells"],
    "binnings.equal_width": ["EqualWidth"],
    "binnings.equal_mass": ["EqualMass"],
    "binnings.fixed_edges": ["FixedEdges"],
    "binnings.simplex_grid": ["SimplexGrid"],
    "binnings.variance_tree": ["VarianceTree"],
    "binnings.categories": ["Categories"],
    "binnings.unique": ["UniqueValues"],
    "estimators.base": ["Estimator", "Evaluator"],
    "estimators.binned": ["BinnedEstimator", "CellwiseEstimator"],
    "estimators.tally": ["Tally"],
    "estimators.distances": ["TotalVariation", "SquaredEuclidean", "Lp"],
    "estimators.histogram": ["HistogramRegression"],
    "estimators.miscalibration": ["ECE", "ExpectedMiscalibration", "MaximumMiscalibration"],
    "estimators.squared": ["DebiasedCE", "DebiasedL2", "RMSCE", "SquaredCE"],
    "estimators.deviation": ["PDE"],
    "estimators.variable_based": ["VECE"],
    "estimators.generic": ["Generic"],
    "nulls.consistency": ["Consistency"],
    "resampling.bootstrap": ["Bootstrap"],
    "inference.testing": ["calibration_test"],
    "inference.estimation": ["estimate"],
    "inference.results": ["CalibrationTest", "Estimate"],
    "displays.reliability": ["ReliabilityDisplay"],
}
_SUBPACKAGES = ("generators",)
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"calibstat.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'calibstat' has no attribute {name!r}")
    value = getattr(import_module(f"calibstat.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES, "__version__"])
