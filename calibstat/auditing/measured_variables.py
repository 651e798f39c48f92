"""Every variable of a scan measured on the same draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.auditing.joint import adjust_pvalues, interval, root_mean_square, simultaneous
from calibstat.auditing.residual_sums import ResidualSums
from calibstat.estimators.tally import ratio
from calibstat.inference.spread import NoInterval
from calibstat.sample import Sample


@final
@dataclass(frozen=True, eq=False)
class MeasuredVariables:
    """What the draws say of each of V variables.

    Parameters
    ----------
    values, null_means, worst_expected : (V,) floats
        The error, its mean over redrawn labels, and that of the largest error of a cell.
    strong, weak : two (V,) floats each
        P-values by themselves, and adjusted for all, under each null.
    half_widths : (V,) floats, optional
        Of intervals that cover together; None where there are none.
    note : str
        Why there is no interval; else "".
    """

    values: Floats
    null_means: Floats
    worst_expected: Floats
    strong: tuple[Floats, Floats]
    weak: tuple[Floats, Floats]
    half_widths: Floats | None
    note: str

    def interval(self, j: int) -> tuple[float, float] | None:
        """Return the interval of a variable, if it has one."""
        return None if self.half_widths is None else interval(self.values[j], self.half_widths[j])


def measure_variables(
    sums: ResidualSums, seen: Sample, adjust: str, confidence_level: float, n_resamples: int, rng: np.random.Generator
) -> MeasuredVariables:
    """Evaluate all variables on the data, on redrawn labels and on random signs.

    Parameters
    ----------
    sums : ResidualSums
        Over the cells of the variables.
    seen : Sample
        As seen through the lens.
    adjust : str
    confidence_level : float
    n_resamples : int
    rng : Generator
    """
    values = sums.errors(sums.residuals(seen.outcomes[None, :]))[0][0]
    drawn, maxima = sums.redrawn(n_resamples, rng)
    noise = sums.signed(seen.outcomes, n_resamples, rng)
    scales = root_mean_square(values, drawn)
    standardized, draws, signed = (ratio(each, scales) for each in (values, drawn, noise))
    half_widths, note = _half_widths([noise, drawn], scales, confidence_level)
    return MeasuredVariables(
        values=values,
        null_means=drawn.mean(axis=0),
        worst_expected=maxima.mean(axis=0),
        strong=adjust_pvalues(standardized, [draws], adjust),
        weak=adjust_pvalues(standardized, [draws, signed], adjust),
        half_widths=half_widths,
        note=note,
    )


def _half_widths(noises: list[Floats], scales: Floats, confidence_level: float) -> tuple[Floats | None, str]:
    try:
        return simultaneous(noises, scales, confidence_level), ""
    except NoInterval as error:
        return None, f"no intervals: {error}"
