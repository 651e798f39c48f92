"""Every public lens, binning, estimator, null and resampler, with samples that fit it: what the laws run over."""

from __future__ import annotations

import pytest

import calibstat as cs
from calibstat.nulls.multiplier import MergedCells
from registered import cells, combined, isotonic, kernels, local, logistic, scores, smooth, walks
from registered.entries import ANY, LABELS, MANY, TREE, TWO, Entry, gap, make_sample, older, parts

__all__ = [
    "ANY",
    "BINNINGS",
    "ESTIMATORS",
    "LABELS",
    "LENSES",
    "MANY",
    "NULLS",
    "REGIONAL",
    "RESAMPLERS",
    "TWO",
    "VARIABLE_BINNINGS",
    "Entry",
    "every",
    "first_of_its_class",
    "gap",
    "make_sample",
    "older",
    "parts",
]


def every(entries: list[Entry]) -> pytest.MarkDecorator:
    """Run a test for each entry, as the argument ``entry``."""
    return pytest.mark.parametrize("entry", entries, ids=[entry.name for entry in entries])


LENSES = [
    Entry(cs.Canonical(), ANY),
    Entry(cs.TopLabel(), ANY),
    Entry(cs.TopK(1), ANY),
    Entry(cs.TopK(2), MANY),
    Entry(cs.ClassWise("a"), ANY),
    Entry(cs.ClassWise("d"), MANY),
    Entry(cs.Partition([["b"], ["a"]])),
    Entry(cs.Partition([["d", "b"], "a"]), (3,)),
    Entry(cs.Partition({"one": ["d", "b"], "two": "a"}), (3,)),
    Entry(cs.Partition([["c"], ["d", "b"], ["a"]]), (4,)),
    Entry(cs.Given("age"), ANY),
    Entry(cs.Given(..., "sex"), ANY),
    Entry(cs.Region.between("age", 1, 6), ANY, evaluable=False),
    Entry(cs.Region.between("a", 0.1, 0.7), ANY, evaluable=False),
    Entry(cs.Region(older), ANY, evaluable=False),
    Entry(cs.TopLabel() | cs.Given("age"), ANY),
    Entry(cs.TopK(2) | cs.ClassWise("top 2") | cs.Given("sex", ...), MANY),
    Entry(cs.Region(older) | cs.Given(..., "age") | cs.TopLabel(), ANY, evaluable=False),
]

# Binnings stand with a lens after which they have what they cut: the prediction, or a variable.
BINNINGS = [
    Entry(cs.EqualWidth(4), empty_cells=True),
    Entry(cs.EqualWidth(1)),
    Entry(cs.EqualMass(4), TWO, "weights"),
    Entry(cs.EqualMass(1)),
    Entry(cs.FixedEdges([0, 0.25, 0.5, 0.8, 1]), empty_cells=True),
    Entry(cs.FixedEdges([0, 0.25, 0.5, 0.8, 1], closed="right"), empty_cells=True),
    Entry(cs.Quantiles(4), TWO, "weights"),
    Entry(cs.SimplexGrid(3), ANY),
    Entry(cs.VarianceTree(6), ANY, "repeats"),
    Entry(cs.VarianceTree(4, "median"), ANY, "repeats"),
    Entry(cs.VarianceTree(2, "median", 5), ANY, "repeats"),
    Entry(cs.UniqueValues(), ANY),
    Entry(cs.UniqueValues(0.05), ANY),
    Entry(cs.EqualWidth(3) * cs.EqualMass(3), TWO, "weights"),
    Entry(MergedCells(cs.EqualMass(8), 3), TWO, "weights", evaluable=False),
]
VARIABLE_BINNINGS = [
    (cs.Given("sex"), Entry(cs.Categories(), ANY)),
    (cs.Given("age"), Entry(cs.Categories(), ANY)),
    (cs.Given("age"), Entry(cs.EqualWidth(3), ANY, empty_cells=True)),
    (cs.Given("age"), Entry(cs.EqualMass(3), ANY, "weights")),
    (cs.Given("age"), Entry(cs.TreeLeaves(TREE, ("age", "age")), ANY, evaluable=False)),
    (cs.Given("age", ...), Entry(cs.TreeLeaves(TREE, ("age", ...)), evaluable=False)),
    (
        cs.Given("age", "sex"),
        Entry(cs.TreeLeaves(TREE, ("age", "age")) * cs.EqualMass(2) * cs.Categories(), ANY, "weights", evaluable=False),
    ),
    (cs.Given("age", "sex"), Entry(cs.UniqueValues(), ANY)),
    (cs.Given("age", "sex"), Entry(cs.EqualMass(2) * cs.Categories(), ANY, "weights")),
    (cs.Given("sex", ...), Entry(cs.Categories() * cs.SimplexGrid(2), ANY)),
    (cs.Given(..., "sex"), Entry(cs.VarianceTree(6) * cs.Categories(), ANY, "repeats")),
]

FAMILIES = [cells, walks, kernels, smooth, isotonic, scores, logistic, local, combined]
ESTIMATORS = [entry for family in FAMILIES for entry in family.ENTRIES]
# A region may leave no row, and then the value is NaN.
_classes = [entry.core for entry in ESTIMATORS]
_VARIANTS = {id(entry) for place, entry in enumerate(ESTIMATORS) if entry.core in _classes[:place]}


def first_of_its_class(entry: Entry) -> bool:
    """Whether no estimator of the same class stands before it; what is no estimator is the first."""
    return id(entry) not in _VARIANTS


REGIONAL = [
    Entry(cs.Region.between("age", 1, 6) | cs.ECE(cs.EqualWidth(3)), evaluable=False),
    Entry(cs.Region(older) | cs.TopLabel() | cs.MaximumMiscalibration(cs.EqualWidth(3)), ANY, evaluable=False),
]

NULLS = [
    Entry(cs.Consistency(99)),
    Entry(cs.Consistency(99, shortcuts=False)),
    Entry(cs.Consistency(99, resample_predictions=True)),
    Entry(cs.Multiplier(99)),
    Entry(cs.Weak(99)),
    Entry(cs.Sequential(99, 10)),
    Entry(cs.Exact()),
    Entry(cs.Saddlepoint()),
    Entry(cs.Asymptotic()),
]
RESAMPLERS = [Entry(cs.Bootstrap(99))]
