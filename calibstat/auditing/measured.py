"""Every group measured on the same draws: values, p-values and intervals that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.auditing.joint import Member, adjust_pvalues, interval, multiply, redraw, simultaneous, standardise
from calibstat.estimators.base import Estimator
from calibstat.inference.spread import NoInterval
from calibstat.sample import Sample


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
