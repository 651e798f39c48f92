"""The one number of an estimator that gives several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import CellTerms, Estimator, Evaluator, ResidualForm
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.predictions import Predictions

if TYPE_CHECKING:
    from calibstat.estimators.large_sample import LargeSampleLaw


@final
@dataclass(frozen=True)
class Headline(Estimator):
    """The one number of an estimator that gives several: what a test of it is about."""

    inner: Estimator

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return self.inner.quantity

    @property
    def estimand(self) -> Estimator:
        """The headline of the inner estimand."""
        return Headline(self.inner.estimand)

    @property
    def residual_form(self) -> ResidualForm:
        """That of the inner estimator."""
        return self.inner.residual_form

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the inner estimator."""
        return _HeadlineEvaluator(self.inner, self.inner.prepare(predictions))

    def evidence(self, values: Floats) -> Floats:
        """Order values as the inner estimator does."""
        return self.inner.evidence(values)

    def __repr__(self) -> str:
        return repr(self.inner)


class _HeadlineEvaluator(Evaluator):
    def __init__(self, estimator: Estimator, inner: Evaluator) -> None:
        self.estimator = estimator
        self.inner = inner

    @property
    def scale(self) -> float | None:  # type: ignore[override]
        return self.inner.scale

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        return self.inner.batch_size

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.estimator.headline(self.inner(outcomes, weights))

    def signed(self, outcomes: Array, signs: Array) -> Floats | None:
        values = self.inner.signed(outcomes, signs)
        return None if values is None else self.estimator.headline(values)

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw | None:
        return self.inner.large_sample(rng)

    @property
    def tally(self) -> TallyPlan | None:
        return self.inner.tally

    @property
    def cellwise(self) -> CellTerms | None:
        return self.inner.cellwise

    def remark(self, outcomes: Array) -> str:
        return self.inner.remark(outcomes)

    def from_tally(self, outcome: Array) -> Floats:
        return self.estimator.headline(self.inner.from_tally(outcome))

    def from_tallies(self, tallies: Tally) -> Floats | None:
        values = self.inner.from_tallies(tallies)
        return None if values is None else self.estimator.headline(values)
