"""Comparisons of calibrators on rows that they were not fitted on."""
