"""Test whether an error is at most a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import one_bar
from calibstat._text import percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_kind, check_share, repeats
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.inference.arguments import buckets_note, check_sample, look_through, with_counts
from calibstat.inference.by_lens import one_lens
from calibstat.inference.estimate import interval_of, redrawn
from calibstat.inference.forest import Forest, ForestRow, Noise
from calibstat.inference.intervals import Interval, NoInterval
from calibstat.inference.results import Inquiry, Result, ends_text, number, picked, small_pvalue
from calibstat.inference.test import events_note, exact_law, fewest_rows, negative_note, size_of_error
from calibstat.lenses.base import Lens
from calibstat.nulls.base import NullDistribution


@final
@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceTest(Result):
    """What `equivalence_test` found.

    Parameters
    ----------
    estimate : float
        The observed value.
    margin : float
    pvalue : float
        The p-value of the null that the error is larger than the margin.
    upper_bound : float
        One-sided bound of the error.
    confidence_level : float
        Of the upper bound.
    method : str
        What the bound is for, and how it was computed.
    question : Inquiry
    n_resamples : int
        How often noise was drawn.
    fewest : float
        Number of rows of the rarest outcome; with weights, of equally weighted ones that are as good; of clusters in
        which it was seen, where there are any.
    noise : Noise
        Where values lie under calibration, on rows like these.
    level : float
        From which p-value on the error is said to be at most the margin.
    taken : tuple of str
        What the result takes for granted of the rows.
    """

    estimate: float
    margin: float
    pvalue: float
    upper_bound: float
    confidence_level: float
    method: str
    question: Inquiry
    n_resamples: int
    fewest: float
    noise: Noise
    level: float = LEVEL
    taken: tuple[str, ...] = ()

    _display: ClassVar[str] = "EstimateDisplay"
    _text_columns: ClassVar[tuple[int, ...]] = (3,)
    _spare_columns: ClassVar[tuple[int, ...]] = (3,)

    @property
    def within(self) -> bool:
        """Whether the hypothesis that the error is larger than the margin is rejected at the level."""
        if self._of_bound:
            return self.upper_bound <= self.margin
        return self.pvalue <= self.level + ROUNDING

    @property
    def _of_bound(self) -> bool:
        """Whether the test of the level is that of the bound."""
        return abs(1 - self.confidence_level - self.level) <= ROUNDING

    @property
    def verdict(self) -> str:
        """One sentence: the error is at most the margin, or this cannot be said."""
        asked, confidence = self.question, f"with {percent(self.confidence_level)} confidence"
        how = confidence if self._of_bound else f"at level {percent(self.level)}"
        bound = number(self.upper_bound, self.margin) + ("" if self._of_bound else f" {confidence}")
        found = f"its upper bound is {bound} ({asked.n_in_words}, p {small_pvalue(self.pvalue)})"
        claim = f"the {self._quantity} of {asked.what} is at most {self.margin:.4g}"
        return (
            f"{how.capitalize()} {claim}: {found}."
            if self.within
            else f"It cannot be said {how} that {claim}: {found}."
        )

    @property
    def _quantity(self) -> str:
        return self.question.estimator.quantity.split(" (")[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        few = () if self.question.clusters is None else events_note(self.fewest, what="clusters")
        return self.taken + negative_note(self.estimate) + few

    def forest(self) -> Forest:
        """Return the value as the row of a forest plot, up to its bound, beside the margin and what noise gives."""
        asked, level = self.question, percent(self.confidence_level)
        margin, bound = number(self.margin, self.upper_bound), number(self.upper_bound, self.margin)
        row = ForestRow.beside(
            self.noise, type(asked.estimator.core).__name__, self.estimate, (self.estimate, self.upper_bound)
        )
        told = f"at most {margin}" if self.within else f"cannot be said to be at most {margin}"
        return Forest(
            (row,),
            axis=asked.estimator.quantity.split(" (")[0],
            answer=(told, f"{level} bound {bound}; n = {asked.n:,}"),
            caption=f"{self.verdict} The line goes from the observed value to its bound; the pale bar is where {level} "
            "of the values of a calibrated model with as many rows lie, and a value in the strong colour is more than "
            "that.",
            interval=f"up to the {level} bound",
            noise=f"{level} if calibrated",
            reference=self.margin,
            reference_words="margin",
        )

    def _values(self) -> dict[str, Any]:
        return (
            self.question.to_dict()
            | picked(self, "estimate margin within pvalue upper_bound level confidence_level method n_resamples")
            | {"null_interval": self.noise[:2], "notes": self.notes}
        )

    def _table(self) -> list[list[str]]:
        level, ends = percent(self.confidence_level), ends_text(self.noise[:2])
        numbers = (self.estimate, self.upper_bound, self.margin)
        row = [*(number(each, self.margin) for each in numbers), ends]
        return [["value", f"{level} bound", "margin", f"{level} if calibrated"], row]

    def _notes(self) -> Sequence[str]:
        return self.notes

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("value", self.question.estimator.quantity),
            ("null", f"it is larger than {self.margin:.4g}"),
            ("bound", self.method),
            ("estimator", repr(self.question.estimator)),
            ("data", f"{self.question.rows}, seen through {self.question.lens!r}; {self.question.source}"),
        ]


@one_bar
def equivalence_test(
    sample: Sample,
    estimator: Estimator | None = None,
    margin: float | None = None,
    *,
    lens: Lens | None = None,
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> EquivalenceTest:
    """Test the hypothesis that an error is larger than a margin; rejecting it says that the error is at most that.

    A test of calibration cannot say that an error is small; this one can (Schuirmann 1987; Wellek 2010). The upper
    bound is that of ``estimate(..., interval="finite")``, one-sided: it holds at every n, for rare and almost certain
    events and for weights. For rows in clusters it is that of one sign for each, which is asymptotic.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator, optional
        One with a default interval: ECE, RMSCE, Kuiper, DebiasedL2 and others, with its lens. By default
        ``ECE(EqualMass(15))``; without a `lens` too, and with more than two classes, of the top label.
    margin : float
        Between 0 and 1, in units of the estimator (squared for `DebiasedL2`); always given, and chosen before seeing
        the data.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``.
    level : float
        From which p-value on the error is said to be at most the margin; p-values do not depend on it.
    confidence_level : float
        Of the upper bound.
    n_resamples : int
    rng : int, Generator or None

    Returns
    -------
    EquivalenceTest
        With ``within``, ``upper_bound`` and ``pvalue``; prints itself in words.

    Raises
    ------
    ValueError
        If the margin is out of range, or no interval is known to cover for the estimator.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.equivalence import equivalence_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(20_000)
    >>> sample = cs.Sample(rng.random(20_000) < p, p)
    >>> equivalence_test(sample, cs.ECE(cs.EqualMass(10)), 0.05, rng=0).within
    True
    """
    margin = _checked_margin(margin)
    if estimator is None:
        check_sample(sample)
        lens = one_lens(sample, lens)
        estimator = size_of_error(sample, lens)
    question, seen = look_through(sample, estimator, lens, counted=True, labelled=True, buckets=True)
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    repeats("n_resamples", n_resamples)
    try:
        core, generator = question.estimator.core, as_generator(rng)
        evaluator = core.prepare(seen.predictions)
        found = _interval_source(core, seen, evaluator, n_resamples, generator)
        upper = found.upper(confidence_level)
    except NoInterval as reason:
        raise ValueError(f"equivalence_test: {reason}.") from reason
    return EquivalenceTest(
        estimate=found.value,
        margin=margin,
        pvalue=found.pvalue_above(margin),
        upper_bound=upper,
        confidence_level=confidence_level,
        method=found.method,
        question=with_counts(question, seen, evaluator.capabilities),
        n_resamples=n_resamples,
        fewest=fewest_rows(seen),
        level=level,
        taken=buckets_note(seen),
        noise=_noise(core, seen, evaluator, n_resamples, found.value, confidence_level, generator),
    )


def _noise(
    core: Estimator,
    seen: Sample,
    evaluator: Evaluator,
    n_resamples: int,
    value: float,
    confidence_level: float,
    rng: np.random.Generator,
) -> Noise:
    """Say what noise alone gives: computed where it can be, as in a test, otherwise drawn."""
    law: NullDistribution | None = exact_law(core, seen, evaluator) if seen.groups is None else None
    law = law or redrawn(core, seen, evaluator, n_resamples, rng)
    return Noise.of(law, core.extreme, value, confidence_level)


def _checked_margin(margin: float | None) -> float:
    check_kind("margin", margin, float, "0.02")
    if margin is None or not 0 < margin < 1:
        raise ValueError(
            f"margin is {margin!r}; it must lie between 0 and 1, in units of the estimator: for example 0.02."
        )
    return margin


def _interval_source(
    core: Estimator, seen: Sample, evaluator: Evaluator, n_resamples: int, rng: np.random.Generator
) -> Interval:
    """Return the law behind the interval, which holds at every n except for rows in clusters."""
    found = interval_of(core, seen, n_resamples, None, rng, evaluator, finite=seen.groups is None)
    if not found.of_error:
        raise NoInterval(f"{core!r} is no error: zero does not mean that nothing is wrong; take ECE or DebiasedL2")
    return found
