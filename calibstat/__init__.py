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
    "compiled": ["accelerate"],
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
    "estimators.cells.distances": ["TotalVariation", "SquaredEuclidean", "Lp"],
    "estimators.combined.aliases": ["ACE", "KS", "MCE"],
    "estimators.walks.bridge": ["BridgeComponents", "BrownianBridge", "MeanAndBridge"],
    "estimators.logistic.belt": ["Belt", "CalibrationBelt"],
    "estimators.local.clinical": ["CalibrationIndices", "CellMeans", "ICI"],
    "estimators.logistic.cox": ["Cox", "CoxFit"],
    "estimators.walks.cumulative": ["AverageTwoBin", "KolmogorovSmirnov", "Kuiper"],
    "estimators.cells.decomposition": ["BrierDecomposition", "BrierParts", "FerroFricker"],
    "estimators.cells.deviation": ["PDE"],
    "estimators.combined.each_class": ["EachClass"],
    "estimators.combined.family": ["Family"],
    "estimators.combined.generic": ["Generic"],
    "estimators.cells.histogram": ["HistogramRegression"],
    "estimators.cells.hosmer_lemeshow": ["GoodnessOfFit", "HosmerLemeshow", "PigeonHeyse"],
    "estimators.isotonic.corp": ["CORP", "CORPParts"],
    "estimators.isotonic.curve": ["IsotonicCurve", "RecalibrationCurve"],
    "estimators.combined.jackknife": ["Jackknifed"],
    "estimators.kernels.cme": ["CME"],
    "estimators.kernels.density": ["KDECE", "LpCE"],
    "estimators.kernels.skce": ["SKCE"],
    "estimators.kernels.ucme": ["UCME"],
    "estimators.kernels.evaluator": ["KernelErrors"],
    "estimators.kernels.functions": ["GaussianKernel", "Kernel", "LaplaceKernel"],
    "estimators.kernels.root": ["KCE"],
    "estimators.local.curve": ["LocalCurve"],
    "estimators.local.regression": ["LOESS", "VCE"],
    "estimators.logistic.spline": ["LogisticSpline"],
    "estimators.scores.logit": ["CubicScore", "LogitScore", "VectorScalingScore"],
    "estimators.cells.miscalibration": ["ECE", "ExpectedMiscalibration", "MaximumMiscalibration"],
    "estimators.cells.multiscale": ["MultiscaleL2"],
    "estimators.combined.named_values": ["NamedValues"],
    "estimators.cells.neighbor_validity": ["NeighborAUCV"],
    "estimators.logistic.observed_expected": ["ObservedToExpected", "Ratio"],
    "estimators.cells.pearson": ["PearsonCE"],
    "estimators.scores.performance": ["AUC", "RMSE"],
    "estimators.scores.residuals": ["MeanCalibration", "ScoreExcess"],
    "estimators.scores.means": ["BrierScore", "LogScore", "Score", "SphericalScore", "ZeroOneLoss"],
    "estimators.smooth.errors": ["SmoothCE", "SmoothECE"],
    "estimators.cells.squared": ["DebiasedCE", "DebiasedL2", "RMSCE", "SquaredCE"],
    "estimators.cells.standardized": ["StandardizedL2"],
    "estimators.cells.sweep": ["ECESweep"],
    "estimators.cells.tce": ["TCE"],
    "estimators.cells.validity_curve": ["AUCV", "ValidityCurve"],
    "estimators.cells.variable_based": ["VECE"],
    "estimators.combined.within": ["Within"],
    "estimators.walks.quadratic": ["AndersonDarling", "CramerVonMises"],
    "estimators.walks.worst_interval": ["IntervalDeviation", "WorstInterval"],
    "estimators.scores.standardized": ["BrierZ", "LogLossZ", "Spiegelhalter"],
    "nulls.asymptotic": ["Asymptotic"],
    "nulls.consistency": ["Consistency"],
    "nulls.exact": ["Exact", "NotExact"],
    "nulls.multiplier": ["Multiplier"],
    "nulls.sequential": ["Sequential"],
    "nulls.weak": ["Weak"],
    "resampling.bootstrap": ["Bootstrap"],
    "inference.band_result": ["CalibrationBand"],
    "inference.bands": ["calibration_band"],
    "inference.comparison": ["comparison_test"],
    "inference.comparison_result": ["ComparisonTest"],
    "inference.equivalence": ["EquivalenceTest", "equivalence_test"],
    "inference.estimation": ["estimate"],
    "inference.families": ["multiple_test"],
    "inference.families_result": ["MultipleTest"],
    "inference.multiplicity": ["benjamini_hochberg", "benjamini_yekutieli", "holm", "single_step", "step_down"],
    "inference.omnibus": ["omnibus_test"],
    "inference.omnibus_result": ["OmnibusTest"],
    "inference.results": ["CalibrationTest", "Estimate"],
    "inference.several_models": ["compare_models"],
    "inference.several_models_result": ["ModelComparison", "PairDifference"],
    "inference.spread": ["ConfidenceInterval"],
    "inference.testing": ["calibration_test"],
    "auditing.audit": ["subgroup_audit"],
    "auditing.audit_result": ["SubgroupAudit"],
    "auditing.group_finding": ["GroupFinding"],
    "auditing.curves": ["equal_curves_test"],
    "auditing.curves_result": ["EqualCurvesTest"],
    "auditing.groups": ["LeftOut"],
    "auditing.scan": ["scan_variables"],
    "auditing.scan_findings": ["CellFinding", "VariableFinding"],
    "auditing.scan_result": ["VariableScan"],
    "monitoring.base": ["Bets", "Bettor"],
    "monitoring.kernel_bets": ["KernelBets"],
    "monitoring.likelihood_ratio": ["LikelihoodRatioBets"],
    "monitoring.monitor": ["Monitor"],
    "planning.families": ["ErrorFamily"],
    "planning.planning": ["minimum_detectable", "required_n"],
    "planning.results": ["MinimumDetectable", "RequiredN"],
    "comparisons.compare": ["compare_calibrators"],
    "comparisons.result": ["CalibratorComparison"],
    "comparisons.variable_based": ["variable_based_protocol"],
    "comparisons.variable_based_result": ["VariableBasedComparison"],
    "displays.reliability": ["ReliabilityDisplay"],
    "displays.simplex": ["SimplexDisplay"],
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
