"""Local regression, and the indices of curves."""

from __future__ import annotations

import calibstat as cs
from registered.entries import ANY, TWO, Entry

ENTRIES = [
    Entry(cs.LOESS(n_points=100), TWO, "weights", signed=True, scalar=False, record=True),
    Entry(cs.LOESS(0.5, 1, 50, 0.0, None), TWO, "weights", signed=True, scalar=False, record=True),
    Entry(cs.LOESS(1.5, n_points=20, n_cells=12), TWO, "weights", signed=True, scalar=False, record=True),
    Entry(cs.VCE("age"), TWO, "weights", signed=True, scalar=False, record=True),
    Entry(cs.TopLabel() | cs.VCE("age", 0.9), ANY, "weights", signed=True, scalar=False, record=True),
    Entry(cs.ICI(), TWO, "weights", scalar=False, record=True),
    Entry(cs.ICI(cs.LOESS(2 / 3, degree=1)), TWO, "weights", scalar=False, record=True),
    Entry(cs.ICI(statistic="e90"), TWO, "weights", scalar=False, record=True),
    Entry(cs.ICI(cs.CellMeans()), scalar=False, record=True),
    Entry(cs.ICI(cs.Cox()), TWO, "repeats", fitted=True, scalar=False, record=True),
    Entry(cs.ICI(cs.IsotonicCurve()), pairs=True, scalar=False, record=True),
    Entry(cs.TopLabel() | cs.ICI(cs.CalibrationBelt(3)), ANY, weighted=False, fitted=True, scalar=False, record=True),
    Entry(cs.TopLabel() | cs.ICI(cs.LogisticSpline(3)), ANY, "repeats", fitted=True, scalar=False, record=True),
]
