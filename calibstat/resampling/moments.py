"""What is known of the predictions in a cell, and the sum of those that are drawn from it.

Rows drawn with replacement from a cell are independent. Given how many of them are events, their predictions are
independent draws from two laws (of events and of the others), so the sum has a known mean and variance; it is drawn
from the normal law that has both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.estimators.tally import ratio

# Variances this small beside the mean square are rounding: sums of a million squares keep ten digits.
_ROUNDING = 1e-12
# Rows that are added up at once, so that they stay in the cache.
_ROWS = 2**15


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Means and variances of the predictions of cells, of any common shape (..., L).

    Parameters
    ----------
    rows : floats
        Number of rows.
    events : floats
        Sum of the chances of the event (the number of events, for observed labels).
    event_mean, event_variance : floats
        Of the prediction of a row that is drawn with replacement, given that it is an event.
    other_mean, other_variance : floats
        Given that it is none.
    """

    rows: Floats
    events: Floats
    event_mean: Floats
    event_variance: Floats
    other_mean: Floats
    other_variance: Floats

    @classmethod
    def from_sums(cls, sums: Floats) -> Moments:
        """Make them of sums (k, ..., L): of 1 and of `terms`."""
        rows, events, prediction, joint, square, joint_square = (sums[each] for each in all_terms(len(sums) < 6))
        others = np.maximum(rows - events, 0.0)
        of_events = _mean_and_variance(events, joint, joint_square)
        return cls(rows, events, *of_events, *_mean_and_variance(others, prediction - joint, square - joint_square))

    @classmethod
    def of_cells(cls, index: Ints, size: int, prediction: Floats, chance: Array) -> Moments:
        """Add up the rows (n,) of each cell; `chance` may be `prediction` itself, or labels as ints: fewer passes."""
        if chance.dtype.kind in "biu":
            return cls._of_labels(2 * index + chance, size, prediction)
        rows = np.bincount(index, minlength=size)[None]
        return cls.from_sums(np.concatenate([rows, add_up_terms(index, size, prediction, chance)]))

    @classmethod
    def _of_labels(cls, code: Ints, size: int, prediction: Floats) -> Moments:
        """Add up the rows with and without the event, numbered 2 * cell + label."""
        rows = np.bincount(code, minlength=2 * size).astype(float)
        mean, variance = _mean_and_variance(rows, *add_up_terms(code, 2 * size, prediction))
        (others, events), (of_others, of_events), (other_variance, event_variance) = (
            each.reshape(size, 2).T for each in (rows, mean, variance)
        )
        return cls(others + events, events, of_events, event_variance, of_others, other_variance)

    @classmethod
    def of_values(cls, index: Ints, values: Floats, chance: Array) -> Moments:
        """Make those of cells of equal predictions `values` (L,), whose sums need no normal law."""
        rows = np.bincount(index, minlength=len(values)).astype(float)
        nothing = np.zeros(len(values))
        events: Floats = np.bincount(index, chance, minlength=len(values)).astype(float, copy=False)
        return cls(rows, events, values, nothing, values, nothing)

    def sum_of_predictions(self, rows: Array, events: Array, stream: np.random.Generator) -> Floats:
        """Draw the sum of the predictions of this many rows, of which so many are events."""
        others = rows - events
        mean = events * self.event_mean + others * self.other_mean
        variance = events * self.event_variance + others * self.other_variance
        drawn: Floats = mean + np.sqrt(variance) * stream.standard_normal(np.shape(mean))
        return np.where(variance > 0, drawn.clip(0, rows), mean)


def all_terms(same: bool) -> list[int]:
    """Which of the sums of 1 and of `terms` are those of 1, c, p, p c, p^2, p^2 c: all in turn, or fewer if c is p."""
    return [0, 1, 1, 2, 2, 3] if same else [0, 1, 2, 3, 4, 5]


def terms(prediction: Floats, chance: Array | None) -> list[Floats]:
    """Return what is added up besides the number of rows, each once; without a chance p and p^2."""
    square = prediction * prediction
    if chance is None:
        return [prediction, square]
    if chance is prediction:
        return [prediction, square, square * prediction]
    return [chance, prediction, prediction * chance, square, square * chance]


def add_up_terms(index: Ints, size: int, prediction: Floats, chance: Array | None = None) -> Floats:
    """Return the sums of `terms` of each cell, (k - 1, L), some rows at a time."""
    sums: list[Floats] = []
    for start in range(0, max(len(index), 1), _ROWS):
        rows = slice(start, start + _ROWS)
        p = prediction[rows]
        c = None if chance is None else p if chance is prediction else chance[rows]
        sums.append(np.stack([np.bincount(index[rows], term, minlength=size) for term in terms(p, c)]))
    total: Floats = np.sum(sums, axis=0)
    return total


def _mean_and_variance(mass: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    mean, mean_square = ratio(first, mass), ratio(second, mass)
    variance = mean_square - mean**2
    return mean, np.where(variance > _ROUNDING * mean_square, variance, 0.0)
