"""Is the error at most so large?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.data.arrays import RNG, as_generator
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Headline
from calibstat.inference.estimate import level_between, spread_of
from calibstat.inference.results import Asked, Result, noted, number, small_pvalue
from calibstat.inference.spread import NoInterval, Spread
from calibstat.inference.test import (
    check_asked,
    check_number,
    cluster_count,
    cluster_note,
    describe,
    events_note,
    fewest_rows,
    negative_note,
)
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Multiplier


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
        Of the hypothesis that the error is larger than the margin.
    upper_bound : float
        One-sided bound of the error.
    confidence_level : float
    method : str
        What the bound is for, and how it was had.
    asked : Asked
    multiplier : Multiplier
        What the noise was had with.
    fewest : int
        Number of rows of the rarest outcome.
    n_clusters : int or None
        Number of clusters, where the multiplier names groups.
    """

    estimate: float
    margin: float
    pvalue: float
    upper_bound: float
    confidence_level: float
    method: str
    asked: Asked
    multiplier: Multiplier
    fewest: int
    n_clusters: int | None = None

    @property
    def within(self) -> bool:
        """Whether the error is at most the margin, with the confidence asked for."""
        return self.upper_bound <= self.margin

    @property
    def verdict(self) -> str:
        """One sentence: the error is at most the margin, or this cannot be said."""
        level = f"{100 * self.confidence_level:g} % confidence"
        asked, bound = self.asked, number(self.upper_bound, self.margin)
        where = f"through {asked.lens!r} (n = {asked.n}, p {small_pvalue(self.pvalue)}): its upper bound is {bound}."
        claim = f"the {asked.estimator.quantity} is at most {number(self.margin, self.upper_bound)}"
        return (
            f"With {level} {claim} {where}" if self.within else f"It cannot be said with {level} that {claim} {where}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        return negative_note(self.estimate) + events_note(self.fewest) + cluster_note(self.n_clusters)

    def _values(self) -> dict[str, Any]:
        return self.asked.to_dict() | {
            "estimate": self.estimate,
            "margin": self.margin,
            "within": self.within,
            "pvalue": self.pvalue,
            "upper_bound": self.upper_bound,
            "confidence_level": self.confidence_level,
            "method": self.method,
            "multiplier": repr(self.multiplier),
            "notes": self.notes,
        }

    def _details(self) -> list[tuple[str, str]]:
        margin = number(self.margin, self.upper_bound)
        return [
            ("value", f"{number(self.estimate, self.margin)}: {self.asked.estimator.quantity}"),
            ("null", f"the {self.asked.estimator.quantity} is larger than {margin}"),
            ("bound", self.method),
            ("estimator", repr(self.asked.estimator)),
            ("data", f"n = {self.asked.n}; {self.asked.source}"),
            *noted(self.notes),
        ]


def equivalence_test(
    sample: Sample,
    estimator: Estimator,
    margin: float,
    *,
    confidence_level: float = 0.95,
    multiplier: Multiplier | None = None,
    n_resamples: int = 999,
    rng: RNG = None,
) -> EquivalenceTest:
    """Test the hypothesis that an error is larger than a margin; rejecting it says that the error is at most that.

    A test of calibration cannot say that an error is small; this one can. The upper bound is that of the interval of
    `estimate`, one-sided.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        One with a default interval: ECE, RMSCE, Kuiper, DebiasedL2 and others, with its lens.
    margin : float
        Between 0 and 1, in units of the estimator (squared for `DebiasedL2`); chosen before seeing the data.
    confidence_level : float
    multiplier : Multiplier, optional
        ``Multiplier(groups="patient")`` for rows in clusters.
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
    check_asked(sample, estimator)
    level_between(confidence_level)
    _check(margin, multiplier)
    seen = estimator.lens(sample)
    asked = describe(estimator, seen)
    chosen = Multiplier(n_resamples) if multiplier is None else multiplier
    try:
        spread = _spread(estimator.core, seen, chosen, n_resamples, as_generator(rng))
        upper = spread.upper(confidence_level)
    except NoInterval as reason:
        raise ValueError(f"equivalence_test: {reason}.") from reason
    return EquivalenceTest(
        estimate=spread.value,
        margin=margin,
        pvalue=spread.pvalue_above(margin),
        upper_bound=upper,
        confidence_level=confidence_level,
        method=spread.method,
        asked=asked,
        multiplier=chosen,
        fewest=fewest_rows(seen),
        n_clusters=cluster_count(chosen, seen.predictions),
    )


def _check(margin: float, multiplier: Multiplier | None) -> None:
    check_number("margin", margin, "0.02")
    if not 0 < margin < 1:
        raise ValueError(
            f"margin is {margin!r}; it must lie between 0 and 1, in units of the estimator: for example 0.02."
        )
    if not (multiplier is None or isinstance(multiplier, Multiplier)):
        raise TypeError(f"multiplier is {multiplier!r}, but Multiplier(...) is expected: Multiplier(groups='patient').")


def _spread(
    core: Estimator, seen: Sample, multiplier: Multiplier, n_resamples: int, rng: np.random.Generator
) -> Spread:
    """Return what the interval is made of; with labels drawn anew where that serves, which it does not for clusters."""
    if core.residual_form != "seminorm":
        return spread_of(core, seen, multiplier, None, rng)
    whole = Headline(core)
    evaluator = whole.prepare(seen.predictions)
    clustered = multiplier.groups is not None
    redraws = None if clustered else Consistency(n_resamples).draw(whole, seen, rng, evaluator).samples
    return spread_of(core, seen, multiplier, redraws, rng, evaluator)
