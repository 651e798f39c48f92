"""Isotonic recalibration: what is left after the best increasing map of the predictions."""
