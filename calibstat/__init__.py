"""Statistical tests and simulation of classifier calibration.

Look at a sample through a lens, cut it into cells, prepare an estimator once, move what the null or the resampling
moves, and judge the observed value by where it falls.

>>> import calibstat as cs
>>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
>>> round((cs.Canonical() | cs.ECE(cs.FixedEdges([0, 0.5, 1])))(sample), 6)
0.25
"""

from __future__ import annotations

from calibstat._lazy import lazy_names

__version__ = "0.1.0"

# Every public name and the module that defines it; a module is imported when one of its names is first used.
_MODULES = {
    "data.sample": ["Sample", "Predictions"],
    "data.arrays": ["as_generator"],
    "data.parameters": ["SmallCellsWarning"],
    "_compiled": ["accelerate"],
    "lenses.base": ["Lens", "Relabelling"],
    "lenses.relabel": ["Canonical", "ClassWise", "Partition", "TopK", "TopLabel"],
    "lenses.restrict": ["Given", "Region"],
    "binnings.base": ["Binning", "Cells"],
    "binnings.values": ["Categories", "UniqueValues"],
    "binnings.intervals": ["EqualMass", "EqualWidth", "FixedEdges", "Quantiles"],
    "binnings.simplex": ["SimplexGrid", "VarianceTree"],
    "binnings.tree_leaves": ["TreeLeaves"],
    "estimators.base": ["Estimator", "Evaluator"],
    "estimators.tally": ["BinnedEstimator", "CellwiseEstimator", "Tally"],
    "estimators.miscalibration": [
        "TotalVariation",
        "SquaredEuclidean",
        "Lp",
        "ExpectedMiscalibration",
        "MaximumMiscalibration",
        "VECE",
    ],
    "estimators.panels": ["ACE", "KS", "MCE"],
    "estimators.walks": [
        "AndersonDarling",
        "AverageTwoBin",
        "BridgeComponents",
        "BrownianBridge",
        "CramerVonMises",
        "IntervalDeviation",
        "KolmogorovSmirnov",
        "Kuiper",
        "MeanAndBridge",
        "WorstInterval",
    ],
    "estimators.large_sample": ["anderson_darling_sf", "cramer_von_mises_sf", "kolmogorov_smirnov_sf", "kuiper_sf"],
    "estimators.belt": ["Belt", "CalibrationBelt"],
    "estimators.loess": ["CalibrationIndices", "CellMeans", "ICI", "LocalCurve", "LOESS", "VCE"],
    "estimators.cox": ["Cox", "CoxFit", "ObservedToExpected", "Ratio"],
    "estimators.histogram": ["BrierDecomposition", "BrierParts", "FerroFricker", "HistogramRegression"],
    "estimators.decision_loss": ["CalibrationDecisionLoss", "DecisionLoss"],
    "estimators.deviation": ["PDE", "ECESweep"],
    "estimators.combined": ["EachClass", "Family", "NamedValues", "Within"],
    "estimators.wrappers": ["Generic", "Jackknifed"],
    "estimators.chi_square": ["GoodnessOfFit", "HosmerLemeshow", "PigeonHeyse", "PearsonCE"],
    "estimators.isotonic": ["CORP", "CORPParts", "IsotonicCurve", "RecalibrationCurve"],
    "estimators.kernel_locations": ["CME", "UCME"],
    "estimators.kernel_density": ["KDECE", "LpCE"],
    "estimators.kernel": ["SKCE", "KernelErrors", "KCE"],
    "estimators.kernels": ["GaussianKernel", "Kernel", "LaplaceKernel"],
    "estimators.logistic_spline": ["LogisticSpline"],
    "estimators.ranks": ["KendallTau", "ProbabilisticCount"],
    "estimators.recalibration_scores": ["CubicScore", "LogitScore", "VectorScalingScore"],
    "estimators.standardized_cells": ["MultiscaleL2", "StandardizedL2"],
    "estimators.validity_curve": ["NeighborAUCV", "AUCV", "ValidityCurve"],
    "estimators.scores": ["AUC", "RMSE", "BrierScore", "LogScore", "Score", "SphericalScore", "ZeroOneLoss"],
    "estimators.score_tests": ["MeanCalibration", "ScoreExcess", "BrierZ", "LogLossZ", "Spiegelhalter"],
    "estimators.smooth": ["SmoothCE", "SmoothECE"],
    "estimators.squared": ["DebiasedCE", "DebiasedL2", "ECE", "RMSCE", "SquaredCE", "TruthfulCE"],
    "estimators.tce": ["TCE"],
    "nulls.base": ["EmpiricalNull", "Null"],
    "nulls.asymptotic": ["Asymptotic"],
    "nulls.consistency": ["Consistency", "Sequential"],
    "nulls.exact": ["Exact", "NotExact"],
    "nulls.multiplier": ["Multiplier", "Weak"],
    "draws.bootstrap": ["Bootstrap", "Resampler"],
    "inference.band": ["CalibrationBand", "calibration_band"],
    "inference.compare": ["comparison_test", "ComparisonTest"],
    "inference.equivalence": ["EquivalenceTest", "equivalence_test"],
    "inference.estimate": ["estimate"],
    "inference.multiple": ["multiple_test", "MultipleTest", "omnibus_test", "OmnibusTest"],
    "inference.multiplicity": ["benjamini_hochberg", "benjamini_yekutieli", "holm", "single_step", "step_down"],
    "inference.results": ["CalibrationTest", "Estimate"],
    "inference.compare_models": ["compare_models", "ModelComparison", "PairDifference"],
    "inference.intervals": ["ConfidenceInterval"],
    "inference.test": ["calibration_test"],
    "auditing.audit": ["subgroup_audit", "SubgroupAudit", "GroupFinding"],
    "auditing.curves": ["equal_curves_test", "EqualCurvesTest"],
    "auditing.groups": ["LeftOut"],
    "auditing.learner": ["learner_audit", "LearnerAudit"],
    "auditing.leaves": ["LeafFinding"],
    "auditing.scan": ["scan_variables", "CellFinding", "VariableFinding", "VariableScan"],
    "interpretability.leaves": ["grow_leaf_table", "leaf_table", "LeafTable"],
    "interpretability.desiderata": ["desiderata", "Desiderata", "Desideratum"],
    "interpretability.operations": ["average_labels", "merge_cells"],
    "interpretability.properties": ["Properties", "Property", "properties"],
    "interpretability.simplification": ["simplify", "SimplificationPath"],
    "monitoring.base": ["Bets", "Bettor"],
    "monitoring.kernel_bets": ["KernelBets"],
    "monitoring.likelihood_ratio": ["LikelihoodRatioBets"],
    "monitoring.monitor": ["Monitor"],
    "planning.families": ["ErrorFamily"],
    "planning.planning": ["minimum_detectable", "required_n", "MinimumDetectable", "RequiredN"],
    "comparisons.compare": ["compare_calibrators"],
    "comparisons.results": ["CalibratorComparison"],
    "comparisons.variable_based": ["variable_based_protocol", "VariableBasedComparison"],
    "displays.cumulative": ["CumulativeDisplay"],
    "displays.monitor": ["MonitorDisplay"],
    "displays.null": ["NullDisplay"],
    "displays.reliability": ["ReliabilityDisplay", "side_by_side"],
    "displays.simplex": ["SimplexDisplay"],
    "displays.trajectory": ["TrajectoryDisplay", "trajectory"],
    "displays.validity_curve": ["ValidityCurveDisplay"],
    "displays.variable": ["VariableDisplay"],
    "sweeps.summary": ["summarise"],
    "sweeps.sweep": ["Sweep"],
}
_SUBPACKAGES = ("calibrators", "extending", "generators")

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES, _SUBPACKAGES, ["__version__"])
