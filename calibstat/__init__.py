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
    "lenses.class_wise": ["ClassWise"],
    "lenses.given": ["Given"],
    "lenses.partition": ["Partition"],
    "lenses.region": ["Region"],
    "lenses.top_k": ["TopK"],
    "lenses.top_label": ["TopLabel"],
    "binnings.base": ["Binning", "Cells"],
    "binnings.categories": ["Categories"],
    "binnings.equal_mass": ["EqualMass"],
    "binnings.equal_width": ["EqualWidth"],
    "binnings.fixed_edges": ["FixedEdges"],
    "binnings.simplex_grid": ["SimplexGrid"],
    "binnings.unique": ["UniqueValues"],
    "binnings.variance_tree": ["VarianceTree"],
    "estimators.base": ["Estimator", "Evaluator"],
    "estimators.binned": ["BinnedEstimator", "CellwiseEstimator"],
    "estimators.tally": ["Tally"],
    "estimators.distances": ["TotalVariation", "SquaredEuclidean", "Lp"],
    "estimators.aliases": ["ACE", "KS", "MCE"],
    "estimators.bridge": ["BridgeComponents", "BrownianBridge", "MeanAndBridge"],
    "estimators.calibration_belt": ["Belt", "CalibrationBelt"],
    "estimators.clinical": ["CalibrationIndices", "CellMeans", "ICI"],
    "estimators.cox": ["Cox", "CoxFit"],
    "estimators.cumulative": ["AverageTwoBin", "KolmogorovSmirnov", "Kuiper"],
    "estimators.decomposition": ["BrierDecomposition", "BrierParts", "FerroFricker"],
    "estimators.deviation": ["PDE"],
    "estimators.each_class": ["EachClass"],
    "estimators.family": ["Family"],
    "estimators.generic": ["Generic"],
    "estimators.histogram": ["HistogramRegression"],
    "estimators.hosmer_lemeshow": ["GoodnessOfFit", "HosmerLemeshow", "PigeonHeyse"],
    "estimators.isotonic": ["CORP", "CORPParts"],
    "estimators.isotonic_curve": ["IsotonicCurve", "RecalibrationCurve"],
    "estimators.jackknife": ["Jackknifed"],
    "estimators.kde": ["KDECE", "LpCE"],
    "estimators.kernel": ["SKCE"],
    "estimators.kernel_evaluator": ["KernelErrors"],
    "estimators.kernel_functions": ["GaussianKernel", "Kernel", "LaplaceKernel"],
    "estimators.kernel_root": ["KCE"],
    "estimators.local_curve": ["LocalCurve"],
    "estimators.local_regression": ["LOESS", "VCE"],
    "estimators.logistic_spline": ["LogisticSpline"],
    "estimators.logit_scores": ["CubicScore", "LogitScore", "VectorScalingScore"],
    "estimators.miscalibration": ["ECE", "ExpectedMiscalibration", "MaximumMiscalibration"],
    "estimators.multiscale": ["MultiscaleL2"],
    "estimators.named_values": ["NamedValues"],
    "estimators.neighbor_validity": ["NeighborAUCV"],
    "estimators.observed_expected": ["ObservedToExpected", "Ratio"],
    "estimators.pearson": ["PearsonCE"],
    "estimators.performance": ["AUC", "RMSE"],
    "estimators.score_residuals": ["MeanCalibration", "ScoreExcess"],
    "estimators.scores": ["BrierScore", "LogScore", "Score", "SphericalScore", "ZeroOneLoss"],
    "estimators.smooth": ["SmoothCE", "SmoothECE"],
    "estimators.squared": ["DebiasedCE", "DebiasedL2", "RMSCE", "SquaredCE"],
    "estimators.standardized": ["StandardizedL2"],
    "estimators.sweep": ["ECESweep"],
    "estimators.tce": ["TCE"],
    "estimators.validity_curve": ["AUCV", "ValidityCurve"],
    "estimators.variable_based": ["VECE"],
    "estimators.within": ["Within"],
    "estimators.worst_interval": ["IntervalDeviation", "WorstInterval"],
    "estimators.zscores": ["BrierZ", "LogLossZ", "Spiegelhalter"],
    "nulls.consistency": ["Consistency"],
    "nulls.multiplier": ["Multiplier"],
    "nulls.sequential": ["Sequential"],
    "nulls.weak": ["Weak"],
    "resampling.bootstrap": ["Bootstrap"],
    "inference.comparison": ["comparison_test"],
    "inference.comparison_result": ["ComparisonTest"],
    "inference.equivalence": ["EquivalenceTest", "equivalence_test"],
    "inference.estimation": ["estimate"],
    "inference.omnibus": ["omnibus_test"],
    "inference.omnibus_result": ["OmnibusTest"],
    "inference.results": ["CalibrationTest", "Estimate"],
    "inference.spread": ["ConfidenceInterval"],
    "inference.testing": ["calibration_test"],
    "displays.reliability": ["ReliabilityDisplay"],
    "sweeps.summary": ["summarise"],
    "sweeps.sweep": ["Sweep"],
}
_SUBPACKAGES = ("calibrators", "generators")
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
