"""Logistic recalibration: intercepts, slopes, splines and belts on the logit."""
