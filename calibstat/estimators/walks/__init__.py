"""Cumulative errors: walks of residuals in the order of the prediction."""
