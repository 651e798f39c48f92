"""Estimators: measures of miscalibration."""
