"""Sweeps: estimators and tests over worlds, sample sizes and bins, against the exact truth."""
