"""Every variable of a scan measured on the same draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.sparse import csr_array

from calibstat.auditing.groups import Levels
from calibstat.auditing.joint import adjust_pvalues, interval, root_mean_square, simultaneous
from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import blocks
from calibstat.estimators.tally import ratio
from calibstat.inference.intervals import NoInterval


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


# Sums of residuals over the cells of many variables at once, for all replicates of a block by one sparse product.


@final
class ResidualSums:
    """The mean and the largest error over the cells of each variable: `ECE` and `MaximumMiscalibration` of the cells.

    Parameters
    ----------
    predictions : Predictions
    variables : sequence of Levels
    """

    def __init__(self, predictions: Predictions, variables: Sequence[Levels]) -> None:
        n = len(predictions)
        self.predictions = predictions
        self.weights = np.ones(n) if predictions.weights is None else predictions.weights
        self.starts = np.concatenate([[0], np.cumsum([each.size for each in variables])[:-1]]).astype(np.intp)
        rows = np.concatenate([each.index + start for each, start in zip(variables, self.starts, strict=True)])
        cells = int(rows.max()) + 1
        columns = np.tile(np.arange(n), len(variables))
        self.table = csr_array((np.tile(self.weights, len(variables)), (rows, columns)), shape=(cells, n))
        self.mass = self.table @ np.ones(n)

    def residuals(self, outcomes: Array) -> Floats:
        """Return outcome - prediction of each component: (..., n) -> (c, ..., n)."""
        first = 1 if self.predictions.n_classes == 2 else 0
        return np.stack([(outcomes == first + k) - column for k, column in enumerate(self.predictions.components.T)])

    def sums(self, residuals: Floats) -> Floats:
        """Return weighted sums over cells of residuals (c, R, n): (c, R, L)."""
        return np.stack([np.ascontiguousarray((self.table @ each.T).T) for each in residuals])

    def errors(self, residuals: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the largest error of each variable: (R, V), (R, V)."""
        factor = 1.0 if len(residuals) == 1 else 0.5
        gaps = factor * np.abs(self.sums(residuals)).sum(axis=0)
        mean = np.add.reduceat(gaps, self.starts, axis=1) / self.weights.sum()
        return mean, np.maximum.reduceat(ratio(gaps, self.mass), self.starts, axis=1)

    def redrawn(self, n_resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the errors of labels drawn from the predictions: (R, V), (R, V)."""
        law, n = LabelLaw(self.predictions), len(self.predictions)
        drawn = [
            self.errors(self.residuals(law.invert(stream.random((size, n))[:kept])))
            for stream, size, kept in blocks(n_resamples, n, rng)
        ]
        means, largest = zip(*drawn, strict=True)
        return np.concatenate(means), np.concatenate(largest)

    def signed(self, outcomes: Array, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return the mean errors of residuals times random signs, centred over all rows: (R, V)."""
        observed, n, drawn = self.residuals(outcomes), len(self.predictions), []
        for stream, size, kept in blocks(n_resamples, n, rng):
            signs = 2.0 * stream.integers(0, 2, size=(size, n))[:kept] - 1.0
            signs -= np.average(signs, axis=1, weights=self.weights)[:, None]
            drawn.append(self.errors(observed[:, None] * signs)[0])
        return np.concatenate(drawn)
