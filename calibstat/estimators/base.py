"""Estimators: functions of a sample that do their outcome-free work first.

``prepare`` sees predictions only and returns an `Evaluator`; the evaluator takes what moves (labels under a null,
weights under a bootstrap, known chances in a synthetic world). The data are replicate zero: the observed value, the
null draws, the bootstrap draws and the population truth all go through the same evaluator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.lenses.base import Lens, View
from calibstat.lenses.canonical import Canonical
from calibstat.predictions import Predictions
from calibstat.sample import Sample

if TYPE_CHECKING:  # it needs scipy.special, which takes twice as long to import as numpy
    from calibstat.estimators.large_sample import LargeSampleLaw

ResidualForm: TypeAlias = Literal["none", "function", "seminorm", "debiased square"]


@final
@dataclass(frozen=True, eq=False)
class CellTerms:
    """How a value is made of one term for each cell of a tally.

    Parameters
    ----------
    terms : callable
        Takes outcome sums (..., L, c) and returns the terms (..., L); each depends on its own cell's outcomes only.
    combine : {"sum", "max"}
    link : callable
        Takes the combined terms (...,) to the value, increasingly.
    """

    terms: Callable[[Array], Floats]
    combine: Literal["sum", "max"]
    link: Callable[[Floats], Floats]


class Evaluator(ABC):
    """A prepared statistic.

    `shape` is that of a single value: () for a number.
    """

    shape: tuple[int, ...] = ()
    scale: float | None = None
    """What the value is divided by to be standardised under the null, known from the predictions alone."""
    batch_size: int = 1
    """How many replicates to pass at once, at least, where they share costly work; it changes no value."""

    @abstractmethod
    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates of what moves.

        Parameters
        ----------
        outcomes : (..., n) ints or (..., n, K) floats
            Labels as column numbers, or the known chances of each label.
        weights : (..., n) floats, optional
            Row weights of each replicate; they multiply the weights of the sample.

        Returns
        -------
        values : (..., *shape) floats
        """

    @property
    def tally(self) -> TallyPlan | None:
        """The cell sums that suffice, where some do: replicates of these sums can then be drawn whole."""
        return None

    def from_tally(self, outcome: Array) -> Floats:
        """Evaluate replicates (..., L, c) of the outcome sums of `tally`; called only where there is a tally."""
        raise TypeError(f"{type(self).__name__} needs rows, not outcome sums of shape {outcome.shape}.")

    def from_tallies(self, tallies: Tally) -> Floats | None:  # noqa: ARG002
        """Evaluate replicates of whole tallies, whose predictions moved too; None if the value depends on more."""
        return None

    @property
    def cellwise(self) -> CellTerms | None:
        """How the value (the headline, of several) is made of one term for each cell of `tally`, where it is."""
        return None

    def signed(self, outcomes: Array, signs: Array) -> Floats | None:  # noqa: ARG002
        """Evaluate with outcome - prediction of each row multiplied by a number; None if there is no fast way.

        Only for estimators that depend on these residuals alone (`Estimator.residual_form`). Without a fast way the
        caller passes prediction + sign * (outcome - prediction) as chances.

        Parameters
        ----------
        outcomes : (..., n) ints
        signs : (..., n) floats
            Any multipliers; one for each row, whatever the number of classes.
        """
        return None

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw | None:  # noqa: ARG002
        """Return the law of the headline under calibration given the predictions in large samples; None if unknown.

        Parameters
        ----------
        rng : Generator
            For laws whose moments are traces that are had from random probes.
        """
        return None

    def remark(self, outcomes: Array) -> str:  # noqa: ARG002
        """Say more about where the observed value comes from, for texts; by default nothing."""
        return ""

    def present(self, value: Floats) -> Any:
        """Turn the observed value (replicate zero) into what users see: here a float, or the array."""
        return float(value) if self.shape == () else value


class Estimator(ABC):
    """A measure of miscalibration.

    Subclasses are frozen dataclasses of parameters; their repr is their methods section.
    """

    quantity: ClassVar[str]
    """What the number is, in words and with its units, for texts."""

    @property
    def lens(self) -> Lens:
        """The lens that is looked through first; ``estimator.lens | estimator.core == estimator``."""
        return Canonical()

    @property
    def core(self) -> Estimator:
        """What is left of the estimator without its lens."""
        return self

    @property
    @abstractmethod
    def estimand(self) -> Estimator:
        """What the estimator estimates: an estimator that is evaluated on a population with known chances."""

    @property
    def residual_form(self) -> ResidualForm:
        """How the value depends on the residuals outcome - prediction, given the predictions.

        "none": on more than these; "function": on these alone; "seminorm": besides, |e(r) - e(s)| <= e(r - s), and
        e(-r) = e(r); "debiased square": it is the U-statistic of `DebiasedL2` on cells.
        """
        return "none"

    @abstractmethod
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Do all work that needs no outcome; called once for each set of predictions."""

    def headline(self, values: Floats) -> Floats:
        """Reduce values (..., *shape) to the one number a test is about, (...,); by default they are that number."""
        return values

    def evidence(self, values: Floats) -> Floats:
        """Order headline values so that larger is stronger evidence of miscalibration."""
        return values

    @final
    def __call__(self, sample: Sample) -> Any:
        """Evaluate on a sample."""
        evaluator = self.prepare(sample.predictions)
        return evaluator.present(evaluator(sample.outcomes))

    @final
    def __ror__(self, lens: Any) -> Estimator:
        """Look through a lens first: ``lens | estimator``."""
        if not isinstance(lens, Lens):
            return NotImplemented
        whole = lens | self.lens
        return Through(whole, self.core) if whole.parts else self.core


def common_form(forms: Iterable[ResidualForm]) -> ResidualForm:
    """Return what holds of a norm of several values of these forms.

    Debiased squares are functions of residuals by their fast way alone, which others beside them may not have.
    """
    found = set(forms)
    if "none" in found or ("debiased square" in found and len(found) > 1):
        return "none"
    return "seminorm" if found == {"seminorm"} else "function"


@final
@dataclass(frozen=True)
class Through(Estimator):
    """An estimator behind a lens; made by ``lens | estimator``."""

    through: Lens
    inner: Estimator

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return self.inner.quantity

    @property
    def lens(self) -> Lens:
        """The lens that is looked through first."""
        return self.through

    @property
    def core(self) -> Estimator:
        """The estimator without the lens."""
        return self.inner

    @property
    def estimand(self) -> Estimator:
        """The inner estimand, through the same lens."""
        return self.through | self.inner.estimand

    @property
    def residual_form(self) -> ResidualForm:
        """That of the inner estimator: residuals behind a lens are sums of those before it."""
        return self.inner.residual_form

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Look, then prepare what is seen."""
        view = self.through.look(predictions)
        return _ThroughEvaluator(view, self.inner.prepare(view.predictions))

    def headline(self, values: Floats) -> Floats:
        """Reduce values as the inner estimator does."""
        return self.inner.headline(values)

    def evidence(self, values: Floats) -> Floats:
        """Order values as the inner estimator does."""
        return self.inner.evidence(values)

    def __repr__(self) -> str:
        return f"{self.through!r} | {self.inner!r}"


class _ThroughEvaluator(Evaluator):
    def __init__(self, view: View, inner: Evaluator) -> None:
        self.view = view
        self.inner = inner
        self.shape = inner.shape

    @property
    def scale(self) -> float | None:  # type: ignore[override]
        return self.inner.scale

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        seen = (
            self.view.chances(outcomes) if np.issubdtype(outcomes.dtype, np.floating) else self.view.outcomes(outcomes)
        )
        return self.inner(seen, None if weights is None else self.view.weights(weights))

    def signed(self, outcomes: Array, signs: Array) -> Floats | None:
        return self.inner.signed(self.view.outcomes(outcomes), self.view.weights(signs))

    def present(self, value: Floats) -> Any:
        return self.inner.present(value)
