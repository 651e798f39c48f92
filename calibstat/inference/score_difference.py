"""Difference of Brier scores of two models: of skill, that is calibration and sharpness together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.inference.normal_test import normal_pvalue
from calibstat.inference.paired_rows import kept_rows
from calibstat.inference.unseen_noise import FEW_OTHERS, midway_variance, other_rows, unseen_rows_variance
from calibstat.sample import Sample


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
