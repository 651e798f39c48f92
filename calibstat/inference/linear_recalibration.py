"""What a linear recalibration gains: the part of the Brier score that a straight line would remove.

The gain of the least-squares line of outcomes on 1 and the prediction is that of projecting the residuals on these two
columns. Its estimation error is of second order, because the line is optimal (Dimitriadis & Puke 2026).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from calibstat.arrays import Floats
from calibstat.inference.wrapped import wrapped_pvalue
from calibstat.nulls.distributions import TIE_TOLERANCE, EmpiricalNull
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
    first, second = (_gains(each) for each in seen)
    difference = float(first.mean() - second.mean())
    if paired:
        variance = float(np.var(first - second)) / len(first)
    else:
        variance = float(np.var(first)) / len(first) + float(np.var(second)) / len(second)
    error = float(np.sqrt(variance))
    z = 0.0 if abs(difference) <= TIE_TOLERANCE or error == 0 else difference / error
    normal = 2 * float(ndtr(-abs(z)))
    own = tuple(_exact(each, n_resamples, rng) for each in seen)
    return RecalibrationDifference(difference, error, wrapped_pvalue(normal, own), normal, (own[0], own[1]))


def _basis(seen: Sample) -> Floats:
    """(n, d) orthonormal columns that span 1 and the prediction; one where all predictions are equal."""
    event = seen.predictions.event
    columns, lengths, _ = np.linalg.svd(np.column_stack([np.ones(len(event)), event]), full_matrices=False)
    return columns[:, lengths > 1e-9 * lengths[0]]


def _gains(seen: Sample) -> Floats:
    """(n,) squared residual of each row before, less that after recalibration."""
    basis, residual = _basis(seen), seen.outcomes - seen.predictions.event
    after = residual - basis @ (basis.T @ residual)
    gains: Floats = residual**2 - after**2
    return gains


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
