"""Several statistics on the same draws, so that their joint law under the null is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.rounding import rounded_up
from calibstat.data.sample import Sample
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Estimator, Evaluator, Headline
from calibstat.estimators.tally import ratio
from calibstat.inference.intervals import NoInterval, UniformInterval, lower_end
from calibstat.inference.multiplicity import benjamini_hochberg, holm, single_step, step_down
from calibstat.nulls.base import EmpiricalNull
from calibstat.nulls.multiplier import signed_values

# Replicates that go through each member at once: with few rows each, calls would cost more than sums.
_MOST_AT_ONCE = 128
# Labels, or signs, held in memory at once.
_NUMBERS = 2**23
ADJUSTMENTS = {
    "max-t": "by the maximum over all, on the same draws (max-T, single step)",
    "step-down": "by the maximum over those not yet rejected, on the same draws (max-T, step-down)",
    "holm": "by Holm's method",
    "fdr_bh": "by Benjamini and Hochberg's method (share of false discoveries)",
}


@final
@dataclass(frozen=True, eq=False)
class Member:
    """A statistic, prepared on some of the rows.

    Parameters
    ----------
    evaluator : Evaluator
        Of a single number.
    sample : Sample
        Its rows.
    rows : (m,) ints, optional
        Which ones these are; None for all.
    """

    evaluator: Evaluator
    sample: Sample
    rows: Ints | None = None

    @classmethod
    def of(cls, estimator: Estimator, seen: Sample, rows: Ints | None = None) -> Member:
        """Prepare an estimator, without its lens, on rows of a sample seen through it."""
        own = seen if rows is None or len(rows) == len(seen) else seen.take(rows)
        return cls(Headline(estimator).prepare(own.predictions), own, None if own is seen else rows)

    @property
    def value(self) -> float:
        """The observed value."""
        return float(self.evaluator(self.sample.outcomes))

    def on(self, rows: Array) -> Array:
        """Pick this member's rows of (..., n)."""
        # Unlike rows[..., self.rows], take leaves each replicate in one piece of memory, which is faster to sum.
        return rows if self.rows is None else np.take(rows, self.rows, axis=-1)


def redraw(members: Sequence[Member], seen: Sample, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Evaluate all members on the same labels drawn from the predictions: (R, m)."""
    law, n = LabelLaw(seen.predictions), len(seen)
    return replicate(lambda labels: _each(members, labels, _on_labels), law.draw, n_resamples, n, rng, _batch_size(n))


def multiply(members: Sequence[Member], seen: Sample, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Evaluate all members on residuals times the same random signs: (R, m).

    The signs are centred over the rows of each member: that is the noise of a mean over these rows.
    """
    n = len(seen)

    def draw(stream: np.random.Generator, size: int, kept: int) -> Array:
        return 2 * stream.integers(0, 2, size=(size, n))[:kept].astype(np.int8) - np.int8(1)

    return replicate(lambda signs: _each(members, signs, _on_signs), draw, n_resamples, n, rng, _batch_size(n))


def _each(members: Sequence[Member], rows: Array, evaluate: Callable[[Member, Array], Floats]) -> Floats:
    """Evaluate each member on its part of replicates (R, n): (R, m)."""
    return np.stack([evaluate(member, member.on(rows)) for member in members], axis=-1)


def _on_labels(member: Member, labels: Array) -> Floats:
    return member.evaluator(labels)


def _on_signs(member: Member, signs: Array) -> Floats:
    centred = signs - np.average(signs, axis=-1, weights=member.sample.predictions.weights)[:, None]
    return signed_values(member.evaluator, member.sample, centred)


def _batch_size(n_rows: int) -> int:
    """How many replicates hundreds of small members are given at once; no value depends on it."""
    return min(_MOST_AT_ONCE, max(1, _NUMBERS // n_rows))


def standardise(estimator: Estimator, members: Sequence[Member], values: Floats, draws: Floats) -> tuple[Floats, ...]:
    """Make evidence comparable: divide by the scale that predictions give, or else by the root mean square.

    The latter is over data and draws together, so that these stay exchangeable and the test exact.

    Returns
    -------
    values : (m,) floats
    draws : (R, m) floats
    scales : (m,) floats
    """
    found, drawn = estimator.evidence(values), estimator.evidence(draws)
    own = [member.evaluator.capabilities.scale for member in members]
    spread = root_mean_square(found, drawn)
    scales = np.array([size if scale is None else scale for scale, size in zip(own, spread, strict=True)])
    return ratio(found, scales), ratio(drawn, scales), scales


def root_mean_square(values: Floats, draws: Floats) -> Floats:
    """Return the root mean square of each column, of data (m,) and draws (R, m) together: (m,)."""
    return np.sqrt((values**2 + (draws**2).sum(axis=0)) / (1 + len(draws)))


def each_pvalue(values: Floats, draws: Floats) -> Floats:
    """Return the p-value of each column by itself: (m,)."""
    return np.array(
        [EmpiricalNull(draw, np.asarray).pvalue(value) for value, draw in zip(values, draws.T, strict=True)]
    )


def adjust_pvalues(values: Floats, kinds: Sequence[Floats], adjust: str) -> tuple[Floats, Floats]:
    """Return p-values, and these adjusted; where there are several kinds of draws, the larger of theirs.

    Parameters
    ----------
    values : (m,) floats
        Standardised evidence.
    kinds : sequence of (R, m) floats
    adjust : one of `ADJUSTMENTS`
    """
    pvalues = np.max([each_pvalue(values, draws) for draws in kinds], axis=0)
    if adjust == "holm":
        return pvalues, holm(pvalues)
    if adjust == "fdr_bh":
        return pvalues, benjamini_hochberg(pvalues)
    step = single_step if adjust == "max-t" else step_down
    return pvalues, np.max([step(values, draws) for draws in kinds], axis=0)


def simultaneous(noises: Sequence[Floats], scales: Floats, confidence_level: float) -> Floats:
    """Return half-widths (m,) that hold together: the quantile of the largest standardised noise, times the scales."""
    largest = [ratio(noise, scales).max(axis=1) for noise in noises]
    return UniformInterval(0.0, largest, "").half_width(confidence_level) * scales


def interval(value: float, half_width: float) -> tuple[float, float]:
    """Go the half-width down, at most to zero, and up."""
    return lower_end(value, half_width), float(value + half_width)


def alpha(confidence_level: float) -> float:
    """Return one minus the level, without the rounding error that would decide ties: 1 - 0.9 is below 0.1."""
    return round(1 - confidence_level, 12)


def check_adjust(adjust: str) -> None:
    """Refuse an unknown method."""
    if adjust not in ADJUSTMENTS:
        raise ValueError(f"adjust is {adjust!r}; it must be one of {', '.join(map(repr, ADJUSTMENTS))}.")


def check_resamples(adjust: str, m: int, n_resamples: int, level: float) -> None:
    """Refuse so few resamples that no adjusted p-value of `m` tests can reach the level, whatever the data."""
    if (m if adjust == "holm" else 1) / (1 + n_resamples) > level:
        other = ", or adjust='max-t', which needs fewer" if adjust == "holm" else ""
        raise ValueError(
            f"n_resamples is {n_resamples}: with {m} test{'s' if m > 1 else ''} and adjust={adjust!r} no adjusted "
            f"p-value could be {level:g} or less, whatever the data. {_wanted(adjust, m, level)}{other}."
        )


def few_resamples(adjust: str, m: int, n_resamples: int, level: float) -> str:
    """Say where resamples are too few for one small p-value among many to reach the level; "" if they are not."""
    if adjust != "fdr_bh" or m / (1 + n_resamples) <= level:
        return ""
    return (
        f"{n_resamples} resamples cannot give an adjusted p-value of {level:g} to one of {m} tests alone, only to "
        f"several together. {_wanted(adjust, m, level)}"
    )


def _wanted(adjust: str, m: int, level: float) -> str:
    smallest = (1 if adjust in ("max-t", "step-down") else m) / level
    least = rounded_up(smallest) - 1
    return f"Take n_resamples of at least {least} (better {rounded_up(20 * smallest) - 1})"


# Every group measured on the same draws: values, p-values and intervals that hold together.


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """What the draws say of each of m groups.

    Parameters
    ----------
    values, null_means, standardized : (m,) floats
        The statistic, its mean over redrawn labels, and it divided by its scale.
    pvalues, adjusted : (m,) floats
        Of each group by itself, and adjusted for all.
    pvalue : float
        Of all groups together.
    half_widths : (m,) floats, optional
        Of intervals that cover together; None where none is known to.
    note : str
        Why there is no interval; else "".
    """

    values: Floats
    null_means: Floats
    standardized: Floats
    pvalues: Floats
    adjusted: Floats
    pvalue: float
    half_widths: Floats | None
    note: str

    def interval(self, j: int) -> tuple[float, float] | None:
        """Return the interval of a group, if it has one."""
        return None if self.half_widths is None else interval(self.values[j], self.half_widths[j])


def measure(
    core: Estimator,
    members: Sequence[Member],
    seen: Sample,
    adjust: str,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Measured:
    """Evaluate all groups on the data, on redrawn labels and on random signs.

    Parameters
    ----------
    core : Estimator
        Without its lens.
    members : sequence of Member
        The groups.
    seen : Sample
        All rows, as seen through the lens.
    adjust : str
    confidence_level : float
    n_resamples : int
    rng : Generator
    """
    values = np.array([member.value for member in members])
    drawn = redraw(members, seen, n_resamples, rng)
    standardized, draws, scales = standardise(core, members, values, drawn)
    pvalues, adjusted = adjust_pvalues(standardized, [draws], adjust)
    half_widths, note = _half_widths(core, members, seen, drawn, scales, confidence_level, rng)
    return Measured(
        values=values,
        null_means=drawn.mean(axis=0),
        standardized=standardized,
        pvalues=pvalues,
        adjusted=adjusted,
        pvalue=float(adjust_pvalues(standardized, [draws], "max-t")[1].min()),
        half_widths=half_widths,
        note=note,
    )


def _half_widths(
    core: Estimator,
    members: Sequence[Member],
    seen: Sample,
    drawn: Floats,
    scales: Floats,
    confidence_level: float,
    rng: np.random.Generator,
) -> tuple[Floats | None, str]:
    if core.residual_form != "seminorm":
        return None, f"no intervals: none is known to cover for {core!r}; Kuiper() and ECE() have one"
    noise = multiply(members, seen, len(drawn), rng)
    try:
        return simultaneous([noise, core.evidence(drawn)], scales, confidence_level), ""
    except NoInterval as error:
        return None, f"no intervals: {error}"
