"""Smooth calibration errors: distances to calibration."""
