"""Calibrators: maps that make probabilities better calibrated, fitted on rows that the classifier has not seen.

They are scikit-learn estimators: X holds the probabilities, (n,) of the last class or (n, K), and y the labels.

>>> import numpy as np
>>> from calibstat.calibrators import Platt
>>> p = np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.9])
>>> y = np.array(["no", "no", "yes", "no", "yes", "yes"])
>>> Platt().fit(p, y).predict_proba([0.2, 0.8]).round(2)
array([[0.7, 0.3],
       [0.3, 0.7]])
"""

from __future__ import annotations

from calibstat._lazy import lazy_names

# Every public name and the module that defines it; a module is imported when one of its names is first used.
_MODULES = {
    "base": ["Calibrator"],
    "scaling": ["Platt", "Quadratic", "Beta", "AugmentedBeta"],
    "softmax": ["Temperature", "VectorScaling", "MatrixScaling", "Dirichlet"],
    "structured": ["StructuredVectorScaling", "StructuredMatrixScaling"],
    "ensemble": ["EnsembleTemperature"],
    "isotonic": ["Isotonic", "CenteredIsotonic", "VennAbers"],
    "binned": ["HistogramBinning", "AverageLabels", "Binned", "ScalingBinning", "BBQ"],
    "spline": ["Spline", "Smooth"],
    "meta": ["OneVsRest", "Calibrated"],
    "trees": ["DecisionTree", "CalibrationTree", "VariableBased"],
    "_storage": ["save", "load"],
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
