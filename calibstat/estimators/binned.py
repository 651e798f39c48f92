"""Binned estimators: a binning, the sums that suffice, and a function of these sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, final

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.predictions import Predictions


class BinnedEstimator(Estimator):
    """An estimator that looks at cells only.

    Subclasses have a field `binning` and write `functional`; they name in `needs` the sums beyond weight, prediction
    and outcome that it uses ("weight2", "square").
    """

    binning: Binning
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def functional(self, tally: Tally) -> Floats:
        """Return the value of tallies (..., L, c) as an array (...,)."""

    @final
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up what no outcome changes."""
        return _BinnedEvaluator(TallyPlan(predictions, self.binning.cut(predictions), self.needs), self.functional)


class _BinnedEvaluator(Evaluator):
    def __init__(self, plan: TallyPlan, functional: Callable[[Tally], Floats]) -> None:
        self.plan = plan
        self.functional = functional

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.functional(self.plan(outcomes, weights))

    @property
    def tally(self) -> TallyPlan:
        return self.plan

    def from_tally(self, outcome: Array) -> Floats:
        return self.functional(self.plan.complete(outcome))
