"""Estimators of cells: sums, maxima and pairs of rows inside a binning."""

from __future__ import annotations

import numpy as np

import calibstat as cs
from registered.entries import ANY, MANY, TREE, TWO, Entry

ERRORS = [
    Entry(cs.ECE(), TWO, "weights"),
    Entry(cs.ECE(cs.EqualMass(4)), TWO, "weights"),
    Entry(cs.ECE(cs.EqualWidth(4))),
    Entry(cs.ECE(cs.FixedEdges([0, 0.3, 0.5, 1]))),
    Entry(cs.ECE(cs.UniqueValues()), ANY),
    Entry(cs.ECE(cs.SimplexGrid(3)), ANY),
    Entry(cs.ECE(cs.EqualWidth(3) * cs.FixedEdges([0, 0.45, 1]))),
    Entry(cs.ExpectedMiscalibration(cs.VarianceTree(6)), ANY, "repeats"),
    Entry(cs.ExpectedMiscalibration(cs.EqualWidth(5), cs.SquaredEuclidean())),
    Entry(cs.ExpectedMiscalibration(cs.SimplexGrid(2), cs.Lp(2)), ANY),
    Entry(cs.ExpectedMiscalibration(cs.UniqueValues(), cs.Lp(1.5)), ANY),
    Entry(cs.MaximumMiscalibration(cs.EqualMass(3)), TWO, "weights"),
    Entry(cs.MaximumMiscalibration(cs.SimplexGrid(3), cs.Lp(np.inf)), ANY, evaluable=False),
    Entry(cs.MaximumMiscalibration(cs.VarianceTree(5), cs.SquaredEuclidean()), ANY, "repeats"),
    Entry(cs.SquaredCE(cs.EqualWidth(5))),
    Entry(cs.SquaredCE(cs.SimplexGrid(3)), ANY),
    Entry(cs.TruthfulCE(cs.EqualWidth(5))),
    Entry(cs.TruthfulCE(cs.EqualMass(4)), TWO, "weights"),
    Entry(cs.TruthfulCE(cs.SimplexGrid(3)), ANY),
    Entry(cs.RMSCE(cs.EqualMass(5)), TWO, "weights"),
    Entry(cs.RMSCE(cs.SimplexGrid(2)), ANY),
    Entry(cs.ECE(cs.EqualMass(4), p=3), TWO, "weights"),
    Entry(cs.ECE(cs.SimplexGrid(3), p=1.5), ANY),
    Entry(cs.ECE(cs.SimplexGrid(3), p=np.inf), ANY, evaluable=False),
    Entry(cs.DebiasedCE(cs.EqualWidth(4)), pairs=True, signed=True),
    Entry(cs.DebiasedCE(cs.SimplexGrid(3), single_rows="plugin"), ANY, pairs=True, signed=True),
    Entry(cs.DebiasedL2(cs.EqualMass(4)), TWO, "weights", pairs=True, signed=True),
    Entry(cs.DebiasedL2(cs.SimplexGrid(3)), ANY, pairs=True, signed=True),
    Entry(cs.DebiasedL2(cs.EqualMass(5), "counts"), TWO, "weights", pairs=True, signed=True),
    Entry(cs.DebiasedL2(cs.EqualMass(4), root=True), TWO, "weights", pairs=True, signed=True),
    Entry(cs.DebiasedCE(cs.SimplexGrid(3), root=True), ANY, pairs=True, signed=True),
    Entry(cs.PDE(cs.EqualMass(4)), TWO, "weights"),
    Entry(cs.PDE(cs.FixedEdges([0, 0.4, 1]), p=2)),
    Entry(cs.PDE(cs.SimplexGrid(3), p=3, placement="row"), ANY),
    Entry(cs.PDE(cs.TreeLeaves(TREE, ("age", ...))), evaluable=False),
    Entry(cs.ECE(cs.TreeLeaves(TREE, ("age", "age"), 2)), ANY, evaluable=False),
    Entry(cs.LpCE(cs.SimplexGrid(3), p=3), ANY),
    Entry(cs.PearsonCE(cs.SimplexGrid(3)), ANY),
    Entry(cs.HistogramRegression(cs.EqualWidth(4)), signed=True, scalar=False, headline=False),
    Entry(cs.HistogramRegression(cs.SimplexGrid(2)), ANY, signed=True, scalar=False, headline=False),
]

BEHIND_LENSES = [
    Entry(cs.VECE("age"), (2, 3), "weights"),
    Entry(cs.VECE("sex", cs.Categories()), ANY),
    Entry(cs.VECE("age", cs.EqualWidth(3)), ANY),
    Entry(cs.TopLabel() | cs.ECE(cs.EqualWidth(4)), ANY),
    Entry(cs.TopLabel() | cs.VECE("age", cs.EqualMass(3)), ANY, "weights"),
    Entry(
        cs.TopLabel() | cs.Given(..., "sex") | cs.DebiasedL2(cs.EqualMass(2) * cs.Categories()),
        ANY,
        "weights",
        pairs=True,
        signed=True,
    ),
    Entry(cs.ClassWise("a") | cs.RMSCE(cs.EqualMass(4)), ANY, "weights"),
    Entry(cs.TopK(2) | cs.ExpectedMiscalibration(cs.SimplexGrid(3)), MANY),
    Entry(cs.Partition([["c", "b"], ["a", "d"]]) | cs.PDE(cs.EqualWidth(3)), (4,)),
]

STANDARDIZED = [
    Entry(cs.StandardizedL2(cs.SimplexGrid(3), "counts"), ANY, pairs=True, signed=True),
    Entry(cs.StandardizedL2(cs.EqualMass(4)), TWO, "weights", pairs=True, signed=True),
    Entry(cs.MultiscaleL2(), TWO, "weights", pairs=True, signed=True),
    Entry(cs.MultiscaleL2("counts"), TWO, "weights", pairs=True, signed=True),
    Entry(cs.Given("age") | cs.MultiscaleL2(), ANY, "weights", pairs=True, signed=True),
    Entry(cs.HosmerLemeshow(4), TWO, "weights", pairs=True, scalar=False, record=True),
    Entry(cs.HosmerLemeshow(cs.EqualWidth(4), "g - 2"), TWO, pairs=True, scalar=False, record=True),
    Entry(cs.PigeonHeyse(4), TWO, "weights", pairs=True),
]

OTHERS = [
    Entry(cs.ECESweep(), TWO, "weights"),
    Entry(cs.ECESweep(p=2), TWO, "weights"),
    Entry(cs.ECESweep(2, "uniform"), TWO, "weights"),
    Entry(cs.Given("age") | cs.ECESweep(strategy="uniform"), TWO, "weights"),
    Entry(cs.TCE(cs.EqualWidth(4)), chances=False, weighted=False),
    Entry(cs.TCE(n_min=5, n_max=20), chances=False, weighted=False),
    Entry(cs.BrierDecomposition(cs.EqualWidth(4)), signed=True, scalar=False, record=True),
    Entry(cs.BrierDecomposition(cs.SimplexGrid(3)), ANY, signed=True, scalar=False, record=True),
    Entry(cs.BrierDecomposition(cs.EqualMass(3)), TWO, "weights", signed=True, scalar=False, record=True),
    Entry(cs.FerroFricker(cs.EqualWidth(4)), pairs=True, signed=True, scalar=False, record=True),
    Entry(cs.FerroFricker(cs.SimplexGrid(2)), ANY, pairs=True, signed=True, scalar=False, record=True),
    Entry(cs.AUCV(), ANY, neutral=None),
    Entry(cs.AUCV(cs.EqualMass(4)), TWO, "weights", neutral=None),
    Entry(cs.NeighborAUCV(3), TWO, "repeats", neutral=None),
    Entry(cs.NeighborAUCV(5, include_self=False), TWO, "repeats", neutral=None),
    Entry(cs.Given("age") | cs.NeighborAUCV(4), TWO, "repeats", neutral=None),
]

ENTRIES = ERRORS + BEHIND_LENSES + STANDARDIZED + OTHERS
