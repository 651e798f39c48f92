"""Binned estimators: a binning, the sums that suffice, and a function of these sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, final

from calibstat.binnings.base import Binning, expect_binning
from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Capabilities, CellTerms, Estimator, Evaluator, Expansion, two_classes
from calibstat.estimators.tally import Tally, TallyPlan


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

    def cellwise(self, plan: TallyPlan) -> CellTerms | None:  # noqa: ARG002
        """Say how the value is made of one term for each cell of a plan; by default it is not."""
        return None

    def expansion(self, plan: TallyPlan) -> Callable[[Array], Expansion] | None:  # noqa: ARG002
        """Return what expands the value at outcomes (n,), on the cells of a plan; by default nothing does."""
        return None

    @final
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up what no outcome changes."""
        if self.two_outcomes:
            two_classes(self, predictions)
        cells = expect_binning(self.binning).cut(predictions)
        return _BinnedEvaluator(TallyPlan(predictions, cells, self.needs), self)


class CellwiseEstimator(BinnedEstimator):
    """A binned estimator that is an increasing function of the sum, or the maximum, of one term for each cell.

    Subclasses write `terms`; the term of a cell must not depend on outcomes of other cells. Cells are independent given
    the predictions, so for two outcomes the null distribution of such a value can be had without drawing anything
    (`Exact`).
    """

    combine: ClassVar[Literal["sum", "max"]] = "sum"

    @abstractmethod
    def terms(self, tally: Tally) -> Floats:
        """Return the term of each cell of tallies (..., L, c): (..., L); NaN without rows."""

    def link(self, combined: Floats) -> Floats:
        """Map the combined terms to the value, increasingly; by default they are the value."""
        return combined

    @final
    def cellwise(self, plan: TallyPlan) -> CellTerms | None:
        """Hand out the terms."""

        def terms(outcome: Array) -> Floats:
            return self.terms(plan.complete(outcome))

        return CellTerms(terms, self.combine, self.link)

    @final
    def functional(self, tally: Tally) -> Floats:
        """Combine the terms."""
        terms = self.terms(tally)
        return self.link(terms.sum(axis=-1) if self.combine == "sum" else terms.max(axis=-1))


class _BinnedEvaluator(Evaluator):
    def __init__(self, plan: TallyPlan, estimator: BinnedEstimator) -> None:
        self.plan = plan
        self.estimator = estimator

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.estimator.functional(self.plan(outcomes, weights))

    @property
    def capabilities(self) -> Capabilities:
        functional = self.estimator.functional
        return Capabilities(
            tally=self.plan,
            from_tally=lambda outcome: functional(self.plan.complete(outcome)),
            from_tallies=functional,
            terms=self.estimator.cellwise(self.plan),
            signed=lambda outcomes, signs: functional(self.plan.signed(outcomes, signs)),
            expansion=self.estimator.expansion(self.plan),
        )
