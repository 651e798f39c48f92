"""Point-wise deviation from cell means of outcomes (PDE)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning, Cells, expect_binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import TallyPlan, ratio, replicates
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class PDE(Estimator):
    r"""Probability deviation error: mean distance of each score from its cell's mean outcome (Torabian & Urner 2024).

    .. math:: \Big(\sum_b \frac{n_b}{n} \Big(\frac{1}{n_b}\sum_{i \in b} |p_i - \bar y_b|\Big)^p\Big)^{1/p}

    for two classes; total variation takes the place of the absolute value for more. Never below the binned error of the
    same cells, and equal to it when cells are level sets of the score. It does not vanish under calibration where
    scores vary inside a cell (uniform scores in B cells: 1 / (4 B)): read it beside its null mean. O(n K) after
    cutting.

    Parameters
    ----------
    binning : Binning
    p : float
        p >= 1.
    placement : {"cell", "row"}
        For p > 1, whether the power is taken of each cell's mean deviation, as above, or of each row's deviation.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 0, 1], [0.3, 0.3, 0.7, 0.7])
    >>> round(cs.PDE(cs.FixedEdges([0, 1]))(sample), 6)
    0.2
    """

    binning: Binning = EqualMass(15)
    p: float = 1
    placement: Literal["cell", "row"] = "cell"
    quantity: ClassVar[str] = "mean distance of predictions from cell means of outcomes (binned)"

    def __post_init__(self) -> None:
        if not 1 <= self.p < np.inf:
            raise ValueError(f"p is {self.p!r}, but it must be a number with 1 <= p < inf.")
        if self.placement not in ("cell", "row"):
            raise ValueError(f"placement is {self.placement!r}; it must be 'cell' or 'row'.")

    @property
    def estimand(self) -> PDE:
        """The unbinned error, where cells are level sets of the prediction."""
        return PDE(UniqueValues(), self.p, self.placement)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        return _DeviationEvaluator(predictions, expect_binning(self.binning).cut(predictions), self)


class _DeviationEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, cells: Cells, parameters: PDE) -> None:
        self.plan = TallyPlan(predictions, cells, ())
        self.scores = predictions.components
        self.parameters = parameters

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        tally = self.plan(outcomes, weights)
        leading = tally.outcome.shape[:-2]
        means = tally.mean_outcome.reshape(math.prod(leading), *tally.outcome.shape[-2:])
        n = len(self.scores)
        rows = np.ones((1, n)) if weights is None else replicates(weights)
        if self.plan.predictions.weights is not None:
            rows = rows * self.plan.predictions.weights
        rows = np.broadcast_to(rows, (len(means), n))
        values = [self._one(mean, weight) for mean, weight in zip(means, rows, strict=True)]
        return np.reshape(values, leading)

    def _one(self, mean_outcome: Floats, weight: Floats) -> float:
        """Evaluate one replicate from its cell means (L, c)."""
        index, size, p = self.plan.cells.index, self.plan.cells.size, self.parameters.p
        gaps = np.abs(self.scores - mean_outcome[index]).sum(axis=1)
        if self.scores.shape[1] > 1:
            gaps *= 0.5
        power = p if self.parameters.placement == "row" else 1
        mass = np.bincount(index, weight, minlength=size)
        inside = ratio(np.bincount(index, weight * gaps**power, minlength=size), mass)
        share = mass / mass.sum() if mass.sum() > 0 else np.full(size, np.nan)
        return float((share * inside ** (p / power)).sum() ** (1 / p))
