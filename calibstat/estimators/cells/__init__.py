"""Estimators of cells: a binning, and a function of the sums in its cells."""
