"""Kernel estimators: pairs of rows, weighted by how alike their predictions are."""
