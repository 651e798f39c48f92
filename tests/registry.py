"""Every public lens, binning, estimator, null and resampler, with samples that fit it: what the laws run over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.headline import Headline
from calibstat.nulls.merging import MergedCells
from calibstat.predictions import Predictions

# Labels whose order is not the alphabet's, so that positions cannot pass for labels.
LABELS = ("b", "a", "d", "c", "e")
ANY = (2, 3, 4, 5)
MANY = (3, 4, 5)


@dataclass(frozen=True)
class Entry:
    """One thing to which the laws apply.

    Parameters
    ----------
    thing : Lens, Binning, Estimator, Null or Resampler
    classes : tuple of int
        The numbers of classes of samples that fit.
    cells_move_with : {"nothing", "repeats", "weights"}
        Whether repeating rows, or even weighting them, moves the cells.
    pairs : bool
        Whether the value is made of pairs of different rows, so that a row of weight two is not two rows.
    scalar, chances : bool
        Whether the value is a number; whether it can be evaluated on known chances.
    evaluable : bool
        Whether the repr can be evaluated in the namespace of the package.
    """

    thing: Any
    classes: tuple[int, ...] = (2,)
    cells_move_with: Literal["nothing", "repeats", "weights"] = "nothing"
    pairs: bool = False
    scalar: bool = True
    chances: bool = True
    evaluable: bool = True

    @property
    def name(self) -> str:
        return repr(self.thing)

    def sample(self, seed: int = 0, n: int = 40, weighted: bool = False) -> cs.Sample:
        """Make a sample that fits."""
        return make_sample(self.classes[-1], seed=seed, n=n, weighted=weighted)


def make_sample(n_classes: int, *, seed: int = 0, n: int = 40, weighted: bool = False) -> cs.Sample:
    """Make a sample of smooth predictions, not quite calibrated, with the variables "age" and "sex"."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = rng.dirichlet(np.ones(n_classes), size=n)
    truths = 0.8 * rows + 0.2 / n_classes
    outcomes = (rng.random((n, 1)) > np.cumsum(truths, axis=1)[:, :-1]).sum(axis=1)
    return cs.Sample(
        np.array(LABELS)[outcomes],
        rows,
        variables={"age": rng.integers(0, 8, n).astype(float), "sex": np.array(["f", "m"])[rng.integers(0, 2, n)]},
        sample_weight=rng.integers(1, 4, n) / 2 if weighted else None,
        labels=LABELS[:n_classes],
    )


def every(entries: list[Entry]) -> pytest.MarkDecorator:
    """Run a test for each entry, as the argument ``entry``."""
    return pytest.mark.parametrize("entry", entries, ids=[entry.name for entry in entries])


def older(predictions: Predictions) -> np.ndarray:
    """A region made by a function."""
    return predictions.variables["age"].values >= 3


def gap(sample: cs.Sample) -> float:
    """A function of a sample: the weighted mean residual, without its sign."""
    residual = sample.outcomes - sample.predictions.event
    return abs(np.average(residual, weights=sample.predictions.weights))


LENSES = [
    Entry(cs.Canonical(), ANY),
    Entry(cs.TopLabel(), ANY),
    Entry(cs.TopK(1), ANY),
    Entry(cs.TopK(2), MANY),
    Entry(cs.ClassWise("a"), ANY),
    Entry(cs.ClassWise("d"), MANY),
    Entry(cs.Partition([["b"], ["a"]]), (2,)),
    Entry(cs.Partition([["d", "b"], "a"]), (3,)),
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
    Entry(cs.EqualWidth(4), (2,)),
    Entry(cs.EqualWidth(1), (2,)),
    Entry(cs.EqualMass(4), (2,), "weights"),
    Entry(cs.EqualMass(1), (2,)),
    Entry(cs.FixedEdges([0, 0.25, 0.5, 0.8, 1]), (2,)),
    Entry(cs.SimplexGrid(3), ANY),
    Entry(cs.VarianceTree(6), ANY, "repeats"),
    Entry(cs.VarianceTree(4, "median"), ANY, "repeats"),
    Entry(cs.UniqueValues(), ANY),
    Entry(cs.UniqueValues(0.05), ANY),
    Entry(cs.EqualWidth(3) * cs.EqualMass(3), (2,), "weights"),
]
BINNINGS += [Entry(MergedCells(cs.EqualMass(8), 3), (2,), "weights", evaluable=False)]
VARIABLE_BINNINGS = [
    (cs.Given("sex"), Entry(cs.Categories(), ANY)),
    (cs.Given("age"), Entry(cs.Categories(), ANY)),
    (cs.Given("age"), Entry(cs.EqualWidth(3), ANY)),
    (cs.Given("age"), Entry(cs.EqualMass(3), ANY, "weights")),
    (cs.Given("age", "sex"), Entry(cs.UniqueValues(), ANY)),
    (cs.Given("age", "sex"), Entry(cs.EqualMass(2) * cs.Categories(), ANY, "weights")),
    (cs.Given("sex", ...), Entry(cs.Categories() * cs.SimplexGrid(2), ANY)),
    (cs.Given(..., "sex"), Entry(cs.VarianceTree(6) * cs.Categories(), ANY, "repeats")),
]

ESTIMATORS = [
    Entry(cs.ECE(), (2,), "weights"),
    Entry(cs.ECE(cs.EqualMass(4)), (2,), "weights"),
    Entry(cs.ECE(cs.EqualWidth(4)), (2,)),
    Entry(cs.ECE(cs.FixedEdges([0, 0.3, 0.5, 1])), (2,)),
    Entry(cs.ECE(cs.UniqueValues()), ANY),
    Entry(cs.ECE(cs.SimplexGrid(3)), ANY),
    Entry(cs.ECE(cs.EqualWidth(3) * cs.FixedEdges([0, 0.45, 1])), (2,)),
    Entry(cs.ExpectedMiscalibration(cs.VarianceTree(6)), ANY, "repeats"),
    Entry(cs.ExpectedMiscalibration(cs.EqualWidth(5), cs.SquaredEuclidean()), (2,)),
    Entry(cs.ExpectedMiscalibration(cs.SimplexGrid(2), cs.Lp(2)), ANY),
    Entry(cs.ExpectedMiscalibration(cs.UniqueValues(), cs.Lp(1.5)), ANY),
    Entry(cs.MaximumMiscalibration(cs.EqualMass(3)), (2,), "weights"),
    Entry(cs.MaximumMiscalibration(cs.SimplexGrid(3), cs.Lp(np.inf)), ANY, evaluable=False),
    Entry(cs.MaximumMiscalibration(cs.VarianceTree(5), cs.SquaredEuclidean()), ANY, "repeats"),
    Entry(cs.SquaredCE(cs.EqualWidth(5)), (2,)),
    Entry(cs.SquaredCE(cs.SimplexGrid(3)), ANY),
    Entry(cs.RMSCE(cs.EqualMass(5)), (2,), "weights"),
    Entry(cs.RMSCE(cs.SimplexGrid(2)), ANY),
    Entry(cs.DebiasedCE(cs.EqualWidth(4)), (2,), pairs=True),
    Entry(cs.DebiasedCE(cs.SimplexGrid(3), single_rows="plugin"), ANY, pairs=True),
    Entry(cs.DebiasedL2(cs.EqualMass(4)), (2,), "weights", pairs=True),
    Entry(cs.DebiasedL2(cs.SimplexGrid(3)), ANY, pairs=True),
    Entry(cs.PDE(cs.EqualMass(4)), (2,), "weights"),
    Entry(cs.PDE(cs.FixedEdges([0, 0.4, 1]), p=2), (2,)),
    Entry(cs.PDE(cs.SimplexGrid(3), p=3, placement="row"), ANY),
    Entry(cs.HistogramRegression(cs.EqualWidth(4)), (2,), scalar=False),
    Entry(cs.HistogramRegression(cs.SimplexGrid(2)), ANY, scalar=False),
    Entry(cs.VECE("age"), (2, 3), "weights"),
    Entry(cs.VECE("sex", cs.Categories()), ANY),
    Entry(cs.VECE("age", cs.EqualWidth(3)), ANY),
    Entry(cs.Generic(gap), (2,), chances=False, evaluable=False),
    Entry(Headline(cs.ECE(cs.EqualWidth(6))), (2,), evaluable=False),
    Entry(cs.TopLabel() | cs.ECE(cs.EqualWidth(4)), ANY),
    Entry(cs.TopLabel() | cs.VECE("age", cs.EqualMass(3)), ANY, "weights"),
    Entry(
        cs.TopLabel() | cs.Given(..., "sex") | cs.DebiasedL2(cs.EqualMass(2) * cs.Categories()), ANY, "weights", True
    ),
    Entry(cs.ClassWise("a") | cs.RMSCE(cs.EqualMass(4)), ANY, "weights"),
    Entry(cs.TopK(2) | cs.ExpectedMiscalibration(cs.SimplexGrid(3)), MANY),
    Entry(cs.Partition([["c", "b"], ["a", "d"]]) | cs.PDE(cs.EqualWidth(3)), (4,)),
    Entry(cs.TopLabel() | cs.Generic(gap), ANY, chances=False, evaluable=False),
]
# A region may leave no row, and then the value is NaN.
REGIONAL = [
    Entry(cs.Region.between("age", 1, 6) | cs.ECE(cs.EqualWidth(3)), (2,), evaluable=False),
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
    Entry(cs.Asymptotic()),
]
RESAMPLERS = [Entry(cs.Bootstrap(99))]
