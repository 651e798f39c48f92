"""What is known of the predictions in a cell, and the sums of those that are drawn from it.

Rows drawn with replacement from a cell are independent. Given how many of them are events, their predictions are
independent draws from two laws (of events and of the others), so their sum has a known mean and variance; it is drawn
from the normal law that has both. The sum of squared residuals is drawn with it, from the normal law of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.estimators.tally import ratio
from calibstat.resampling.power_sums import PowerSums, add_up

# Variances this small beside the mean square are rounding: sums of a million squares keep ten digits.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Squares:
    """Mean and variance of p^2, and its covariance with p."""

    mean: Floats
    variance: Floats
    covariance: Floats


@final
@dataclass(frozen=True, eq=False)
class RowLaw:
    """The law of the prediction p of a row that is drawn: mean and variance (..., L), and of p^2 where it matters."""

    mean: Floats
    variance: Floats
    squares: Squares | None = None

    @classmethod
    def from_powers(cls, mass: Floats, *powers: Floats) -> RowLaw:
        """Make it of the number of rows and their sums of p, p^2, and p^3 and p^4 if p^2 matters."""
        mean, mean2, *higher = (ratio(each, mass) for each in powers)
        variance = _variance(mean2, mean)
        if not higher:
            return cls(mean, variance)
        covariance = np.where(variance > 0, higher[0] - mean * mean2, 0.0)
        return cls(mean, variance, Squares(mean2, _variance(higher[1], mean2), covariance))

    @classmethod
    def of_value(cls, value: Floats) -> RowLaw:
        """Make that of rows with this prediction."""
        nothing = np.zeros(value.shape)
        return cls(value, nothing, Squares(value**2, nothing, nothing))


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Rows of cells, of any common shape (..., L).

    Parameters
    ----------
    rows : (..., L) floats
        Number of rows.
    events : (..., L) floats
        Sum of the chances of the event (the number of events, for observed labels).
    event, other : RowLaw
        Of a row that is drawn with replacement, given that it is an event, and that it is none.
    """

    rows: Floats
    events: Floats
    event: RowLaw
    other: RowLaw

    @classmethod
    def from_sums(cls, sums: PowerSums) -> Moments:
        """Make them of sums of at least p^2; of p^4 where sums of squared residuals are to be drawn."""
        rows, events = sums.total(0), sums.of_events(0)
        of_events = [sums.of_events(power) for power in range(1, sums.degree + 1)]
        of_others = [sums.total(power) - each for power, each in enumerate(of_events, start=1)]
        others = np.maximum(rows - events, 0.0)
        return cls(rows, events, RowLaw.from_powers(events, *of_events), RowLaw.from_powers(others, *of_others))

    @classmethod
    def of_cells(cls, index: Ints, size: int, prediction: Floats, chance: Array, degree: int = 2) -> Moments:
        """Add up the rows (n,) of each cell; `chance` may be `prediction` itself, or labels as ints: fewer passes."""
        if chance.dtype.kind not in "biu":
            return cls.from_sums(add_up(index, size, prediction, chance, degree))
        sums = add_up(2 * index + chance, 2 * size, prediction, None, degree)
        others, events = sums.values.reshape(-1, size, 2).transpose(2, 0, 1)
        return cls(others[0] + events[0], events[0], RowLaw.from_powers(*events), RowLaw.from_powers(*others))

    @classmethod
    def of_values(cls, index: Ints, values: Floats, chance: Array) -> Moments:
        """Make those of cells of equal predictions `values` (L,), whose sums need no normal law."""
        rows = np.bincount(index, minlength=len(values)).astype(float)
        events: Floats = np.bincount(index, chance, minlength=len(values)).astype(float, copy=False)
        law = RowLaw.of_value(values)
        return cls(rows, events, law, law)

    def draw(
        self, rows: Array, events: Array, stream: np.random.Generator, squared: bool = False
    ) -> tuple[Floats, Floats]:
        """Draw the sum of the predictions of this many rows, of which so many are events, and of squared residuals.

        Parameters
        ----------
        rows, events : (..., L) floats
        stream : Generator
        squared : bool
            Whether to draw the sum of squared residuals, (1 - p)^2 of events and p^2 of others; else it is empty.

        Returns
        -------
        prediction, square : (..., L) floats
        """
        event, other, others = self.event, self.other, rows - events
        prediction = _mixed(events, event.mean, others, other.mean)
        variance = _mixed(events, event.variance, others, other.variance)
        noise = np.sqrt(variance)
        noise *= stream.standard_normal(noise.shape)  # in place: replicates stay in the order of memory that they have
        prediction += noise
        np.clip(prediction, 0, rows, out=prediction)
        return prediction, self._draw_squares(events, others, variance, noise, stream) if squared else np.empty(0)

    def _draw_squares(
        self, events: Array, others: Array, variance: Floats, noise: Floats, stream: np.random.Generator
    ) -> Floats:
        """Draw the sum of squared residuals, given by how much the sum of predictions is off its mean."""
        event, of_events, of_others = self.event, self.event.squares, self.other.squares
        if of_events is None or of_others is None:
            raise ValueError("sums of squared residuals need the fourth powers of predictions; add up to degree 4.")
        mean = events * (1 - 2 * event.mean + of_events.mean) + others * of_others.mean
        shared = events * (of_events.covariance - 2 * event.variance) + others * of_others.covariance
        spread = events * (4 * (event.variance - of_events.covariance) + of_events.variance)
        spread += others * of_others.variance
        slope = ratio(shared, variance)
        rest = np.maximum(spread - slope * shared, 0.0)
        square: Floats = mean + slope * noise + np.sqrt(rest) * stream.standard_normal(mean.shape)
        return square.clip(0, events + others)


def _mixed(events: Array, event: Floats, others: Array, other: Floats) -> Floats:
    """Add up what events and others contribute, each so much."""
    total = events * event
    total += others * other
    return total


def _variance(mean_square: Floats, mean: Floats) -> Floats:
    variance = mean_square - mean**2
    return np.where(variance > _ROUNDING * mean_square, variance, 0.0)
