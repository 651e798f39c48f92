"""Estimators without a naive version in tests/reference, and where they are compared instead."""

import calibstat as cs

# Compared with loops, other optimisers and other packages on samples of their own.
ELSEWHERE = {
    cs.CalibrationBelt: "test_calibration_belt.py: forward selection with a general optimiser",
    cs.Cox: "test_cox.py: statsmodels",
    cs.ICI: "test_clinical.py: each index with a curve written out, lowess and loess",
    cs.LOESS: "test_local_regression.py: weighted least squares at each point",
}
