"""Calibration through the lens of interpretability: cells of predictions, what merging them does, and properties."""
