"""In which direction predictions are off, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtri

from calibstat.estimators.walks.worst_interval import WorstInterval
from calibstat.lenses.base import Lens
from calibstat.lenses.top_label import TopLabel
from calibstat.sample import Sample


@final
@dataclass(frozen=True)
class Means:
    """What was predicted and what happened in some rows, on average.

    Parameters
    ----------
    predicted, happened : float
        Weighted means of the event's probability and of its indicator.
    standard_error : float
        Of `happened`, were the predictions calibrated.
    """

    predicted: float
    happened: float
    standard_error: float

    @classmethod
    def of(cls, sample: Sample) -> Means:
        """Take them from a sample of two outcomes."""
        chance = sample.predictions.event
        mass = np.ones(len(sample)) if sample.predictions.weights is None else sample.predictions.weights
        share = mass / mass.sum()
        clipped = np.clip(chance, 0, 1)
        error = float(np.sqrt((share**2 * clipped * (1 - clipped)).sum()))
        return cls(float(share @ chance), float(share @ sample.outcomes), error)

    @property
    def residual(self) -> float:
        """What happened minus what was predicted."""
        return self.happened - self.predicted


def is_top_label(lens: Lens, sample: Sample) -> bool:
    """Whether the event is that the top label is right."""
    return sample.predictions.seen == "the top label" or any(isinstance(part, TopLabel) for part in lens.parts)


def sign_words(residual: float, top_label: bool) -> str:
    """Say what a mean residual of this sign means."""
    if top_label:
        return "underconfident" if residual > 0 else "overconfident"
    return "predicts too low" if residual > 0 else "predicts too high"


def direction(sample: Sample, means: Means, top_label: bool, level: float) -> str:
    """Say in which direction the predictions of a group are off, given that they are.

    On average, where the mean residual differs from zero at this level (normal); else where they are off most.

    Parameters
    ----------
    sample : Sample
        The rows of the group, of two outcomes.
    means : Means
    top_label : bool
    level : float
        Divided by the number of groups, if there are several (Bonferroni).
    """
    threshold = -float(ndtri(level / 2))
    if abs(means.residual) > threshold * means.standard_error:
        return f"{sign_words(means.residual, top_label)} on average"
    conditioned = sample.predictions
    if len(conditioned.keys) != 1 or conditioned.column(conditioned.keys[0]).categorical:
        return "off in both directions"
    worst = WorstInterval()(sample)
    if np.isnan(worst.low):
        return ""
    sign = sign_words(worst.deviation, top_label)
    if conditioned.given == (...,):
        return f"{sign} where it says {worst.low:.2f} to {worst.high:.2f}"
    return f"{sign} at {conditioned.given[0]} {worst.low:.4g} to {worst.high:.4g}"
