"""What a linear recalibration gains: the part of the Brier score that a straight line would remove.

The gain of the least-squares line of outcomes on 1 and the prediction is that of projecting the residuals on these two
columns. Its estimation error is of second order, because the line is optimal (Dimitriadis & Puke 2026).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibstat.arrays import Floats
from calibstat.inference.normal_test import normal_pvalue
from calibstat.inference.unseen_noise import FEW_OTHERS, midway_variance, unseen_rows_variance
from calibstat.inference.wrapped import wrapped_pvalue
from calibstat.nulls.distributions import EmpiricalNull
from calibstat.nulls.labels import LabelLaw
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample


class RecalibrationDifference(NamedTuple):
    """Difference of what a linear recalibration gains each model, in units of the Brier score."""

    difference: float
    standard_error: float
    pvalue: float
    normal_pvalue: float
    own_pvalues: tuple[float, float]


def recalibration_difference(
    seen: tuple[Sample, Sample], paired: bool, n_resamples: int, rng: np.random.Generator
) -> RecalibrationDifference | None:
    """Compare the gains of two models; None unless there are two outcomes, and for weighted rows.

    The p-value is wrapped like that of the comparison: the larger of the normal one and of twice the smaller exact
    p-value of a gain by itself.
    """
    if seen[0].predictions.n_classes != 2 or any(each.predictions.weights is not None for each in seen):
        return None
    first, second = (_Gains.of(each) for each in seen)
    difference = float(first.gains.mean() - second.gains.mean())
    if paired:
        variance = float(np.var(first.gains - second.gains)) / len(first.gains)
        if first.others < FEW_OTHERS:
            slope, share = first.slope - second.slope, np.full(len(first.gains), 1 / len(first.gains))
            variance = max(variance, midway_variance(share, slope, *(each.predictions.components for each in seen)))
    else:
        variance = first.variance + second.variance
    error = float(np.sqrt(variance))
    normal = normal_pvalue(difference, error, max(float(np.abs(each.gains).mean()) for each in (first, second)))
    own = tuple(_exact(each, n_resamples, rng) for each in seen)
    return RecalibrationDifference(difference, error, wrapped_pvalue(normal, own), normal, (own[0], own[1]))


def _basis(seen: Sample) -> Floats:
    """(n, d) orthonormal columns that span 1 and the prediction; one where all predictions are equal."""
    event = seen.predictions.event
    columns, lengths, _ = np.linalg.svd(np.column_stack([np.ones(len(event)), event]), full_matrices=False)
    return columns[:, lengths > 1e-9 * lengths[0]]


@dataclass(frozen=True, eq=False)
class _Gains:
    """What a linear recalibration gains each row of a model.

    Parameters
    ----------
    gains : (n,) floats
        Squared residual before, less that after.
    slope : (n, 1) floats
        How much one more event adds to the sum of the gains: 2 (line - prediction), since the line is optimal.
    others : int
        Number of rows that have another outcome than the commonest one.
    """

    gains: Floats
    slope: Floats
    others: int

    @classmethod
    def of(cls, seen: Sample) -> _Gains:
        basis, residual = _basis(seen), seen.outcomes - seen.predictions.event
        along = basis @ (basis.T @ residual)
        events = int(seen.outcomes.sum())
        return cls(residual**2 - (residual - along) ** 2, 2 * along[:, None], min(events, len(seen) - events))

    @property
    def variance(self) -> float:
        """That of the mean, with what equal outcomes may hide."""
        n = len(self.gains)
        return float(np.var(self.gains)) / n + unseen_rows_variance(np.full(n, 1 / n), self.slope, self.others == 0)


def _exact(seen: Sample, n_resamples: int, rng: np.random.Generator) -> float:
    """Exact p-value of the mean gain, by redrawn labels."""
    law, basis, event, n = LabelLaw(seen.predictions), _basis(seen), seen.predictions.event, len(seen)
    drawn = [
        (((law.invert(stream.random((size, n))[:kept]) - event) @ basis) ** 2).sum(axis=-1)
        for stream, size, kept in blocks(n_resamples, n, rng)
    ]
    observed = float((((seen.outcomes - event) @ basis) ** 2).sum())
    return EmpiricalNull(np.concatenate(drawn), _as_it_is).pvalue(observed)


def _as_it_is(values: Floats) -> Floats:
    return values
