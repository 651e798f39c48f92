"""Difference of Brier scores of two models: of skill, that is calibration and sharpness together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibstat.data.arrays import Floats
from calibstat.data.rounding import SAME
from calibstat.data.sample import Sample
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import blocks
from calibstat.estimators.base import Estimator
from calibstat.inference.differences import (
    FEW_OTHERS,
    kept_rows,
    midway_variance,
    other_rows,
    unseen_rows_variance,
    wrapped_pvalue,
)
from calibstat.inference.spread import normal_pvalue
from calibstat.nulls.base import EmpiricalNull


class ScoreDifference(NamedTuple):
    """Difference of mean Brier scores: of skill, that is calibration and sharpness together."""

    difference: float
    standard_error: float
    pvalue: float


def score_difference(a: Sample, b: Sample, estimator: Estimator, paired: bool) -> ScoreDifference:
    """Compare Brier scores of the whole predictions, on the rows that the estimator's lens keeps."""
    first, second = (_Scored.of(each, estimator) for each in (a, b))
    difference = first.mean - second.mean
    if paired:
        variance = float((first.share**2 * (first.score - second.score - difference) ** 2).sum())
        if first.others < FEW_OTHERS:
            slope = first.slope - second.slope
            variance = max(variance, midway_variance(first.share, slope, first.prediction, second.prediction))
    else:
        variance = first.variance + second.variance
    error = float(np.sqrt(variance))
    return ScoreDifference(difference, error, normal_pvalue(difference, error, max(first.mean, second.mean)))


@dataclass(frozen=True, eq=False)
class _Scored:
    """The rows of one model with their scores: the squared distance of outcome and prediction.

    Of the event alone for two classes; then one more event adds 1 - 2 p to the score of its row, else one more outcome
    of class k adds 1 - 2 p_k. `others` is the number of rows that have another outcome than the commonest one.
    """

    score: Floats
    share: Floats
    slope: Floats
    prediction: Floats
    others: int

    @classmethod
    def of(cls, sample: Sample, estimator: Estimator) -> _Scored:
        rows = kept_rows(sample, estimator)
        outcomes, components = sample.outcomes[rows], sample.predictions.components[rows]
        happened = np.eye(sample.predictions.n_classes)[outcomes][:, -components.shape[1] :]
        weights = np.ones(len(rows)) if sample.predictions.weights is None else sample.predictions.weights[rows]
        score = ((happened - components) ** 2).sum(axis=1)
        others = int(other_rows(np.zeros((weights > 0).sum(), dtype=np.intp), happened[weights > 0], 1)[0])
        return cls(score, weights / weights.sum(), 1 - 2 * components, components, others)

    @property
    def mean(self) -> float:
        return float(self.share @ self.score)

    @property
    def variance(self) -> float:
        """That of the mean, with what equal outcomes may hide."""
        seen = float((self.share**2 * (self.score - self.mean) ** 2).sum())
        return seen + unseen_rows_variance(self.share, self.slope, self.others == 0)


# What a linear recalibration gains: the part of the Brier score that a straight line would remove.
#
# The gain of the least-squares line of outcomes on 1 and the prediction is that of projecting the residuals on these
# two columns. Its estimation error is of second order, because the line is optimal (Dimitriadis & Puke 2026).


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
    return columns[:, lengths > SAME * lengths[0]]


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
