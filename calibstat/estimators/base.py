"""Estimators: functions of a sample that do their outcome-free work first.

``prepare`` sees predictions only and returns an `Evaluator`; the evaluator takes what moves (labels under a null,
weights under a bootstrap, known chances in a synthetic world). The data are replicate zero: the observed value, the
null draws, the bootstrap draws and the population truth all go through the same evaluator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat._progress import track
from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.lenses.base import Lens, View
from calibstat.lenses.relabel import Canonical

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
    """How many replicates to pass at once, at least, where they share costly work.

    It changes no value but the rounding of matrix products.
    """

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


# The one number of an estimator that gives several.


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


# What estimators on rows share: one event, its residuals and the weights, whatever moves.


def two_classes(estimator: Estimator, predictions: Predictions) -> None:
    """Refuse, naming the lenses that would help, unless there are two classes."""
    if predictions.n_classes != 2:
        raise ValueError(
            f"{estimator!r}: this estimator needs 2 classes, got {predictions.n_classes}: look through a lens first, "
            "for example TopLabel() or ClassWise(label)."
        )


def unweighted(estimator: Estimator, predictions: Predictions, weights: Array | None = None) -> None:
    """Refuse weights, for an estimator without a weighted theory."""
    if predictions.weights is not None or weights is not None:
        raise ValueError(
            f"{estimator!r} has no weighted version: there is no theory for one. Leave the weights out, or use an "
            "estimator on cells, for example ECE(EqualMass(15))."
        )


def happened(outcomes: Array) -> Floats:
    """Return the indicator of the event, (..., n), or its known chance where chances (..., n, 2) are given."""
    return outcomes[..., 1] if is_chances(outcomes) else outcomes.astype(float)


def is_chances(outcomes: Array) -> bool:
    """Tell known chances (..., n, K) from labels (..., n)."""
    return bool(np.issubdtype(outcomes.dtype, np.floating))


def all_weights(predictions: Predictions, weights: Array | None) -> Floats:
    """Return the product of the sample's weights and those that move, (..., n) or (n,); ones if there are none."""
    own = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    return own if weights is None else own * weights


# Replicates on any leading axes, evaluated in batches that fit into memory.

# Numbers held at once while replicates are evaluated: 32 MiB of floats.
NUMBERS_IN_A_BATCH = 2**22
# The same for evaluators that go over these numbers again and again: they stay in the cache of most processors.
NUMBERS_IN_CACHE = 2**17


def in_batches(
    evaluate: Callable[[Array, Array | None], Floats],
    outcomes: Array,
    weights: Array | None,
    width: int = 1,
    numbers: int = NUMBERS_IN_A_BATCH,
) -> Floats:
    """Evaluate replicates with one leading axis, a batch at a time, and give the leading axes back.

    Parameters
    ----------
    evaluate : callable
        Takes outcomes (R, n) or chances (R, n, K), and weights (R, n) or None; returns (R, *shape).
    outcomes : (..., n) ints or (..., n, K) floats
    weights : (..., n) floats, optional
    width : int
        Numbers that each row of a replicate takes up.
    numbers : int
        How many may be held at once.

    Returns
    -------
    values : (..., *shape) floats
    """
    tail = 2 if is_chances(outcomes) else 1
    leading, trailing = outcomes.shape[:-tail], outcomes.shape[-tail:]
    if weights is not None:
        leading = np.broadcast_shapes(leading, weights.shape[:-1])
        weights = np.broadcast_to(weights, (*leading, weights.shape[-1])).reshape(prod(leading), weights.shape[-1])
    flat = np.broadcast_to(outcomes, (*leading, *trailing)).reshape(prod(leading), *trailing)
    step = max(1, numbers // max(1, width * trailing[0]))
    starts = range(0, max(1, len(flat)), step)
    parts = [
        evaluate(flat[start : start + step], None if weights is None else weights[start : start + step])
        for start in track(starts, len(starts))
    ]
    values = np.concatenate(parts)
    return values.reshape((*leading, *values.shape[1:]))
