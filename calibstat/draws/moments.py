"""What is known of the predictions in a cell, and the sums of those that are drawn from it.

Rows drawn with replacement from a cell are independent. Given how many of them are events, their predictions are
independent draws from two laws (of events and of the others), so their sum has a known mean and variance; it is drawn
from the normal law that has both. The sum of squared residuals is drawn with it, from the normal law of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Cells
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Bools, Floats, Ints
from calibstat.data.rounding import above_rounding
from calibstat.draws.streams import draw_blocks
from calibstat.estimators.tally import Tally, ratio


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
    """Rows of cells, of any common shape (..., L)."""

    rows: Floats  # their number
    events: Floats  # sum of the chances of the event (the number of events, for observed labels)
    event: RowLaw  # of a row that is drawn with replacement, given that it is an event
    other: RowLaw  # the same, given that it is none

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
            return cls.from_sums(add_up_powers(index, size, prediction, chance, degree))
        sums = add_up_powers(2 * index + chance, 2 * size, prediction, None, degree)
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
        """Draw the sum of predictions of `rows` (..., L) of which `events` happened, and of squared residuals.

        These are (1 - p)^2 of events and p^2 of others; their sum is empty unless `squared`.
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
    return above_rounding(mean_square - mean**2, mean_square)


# Sums of powers of the predictions in cells: all that draws of whole cells need to know of rows.


@final
@dataclass(frozen=True, eq=False)
class PowerSums:
    """Sums over rows of p^j and of p^j c, j = 0, ..., `degree` (prediction p, chance c)."""

    values: Floats  # (k, ...), of 1, c, p, p c, p^2, p^2 c, ...; where c is p, of 1, p, p^2, ... once
    same: bool  # whether c is p

    @property
    def degree(self) -> int:
        """The highest power whose sums are known with and without the chance."""
        return len(self.values) - 2 if self.same else len(self.values) // 2 - 1

    def total(self, power: int) -> Floats:
        """Return the sums of p^power."""
        return self.values[power if self.same else 2 * power]

    def of_events(self, power: int) -> Floats:
        """Return the sums of p^power c."""
        return self.values[power + 1 if self.same else 2 * power + 1]


def degree_for(squares: bool) -> int:
    """Return the highest power that is needed: the second for sums of predictions, the fourth for squared residuals."""
    return 4 if squares else 2


def power_terms(prediction: Floats, chance: Array | None, degree: int) -> list[Floats]:
    """Return what `PowerSums` adds up besides the number of rows; without a chance, powers alone."""
    if chance is None or chance is prediction:
        powers = [prediction]
        for _ in range(degree - (chance is None)):
            powers.append(powers[-1] * prediction)
        return powers
    found = [chance]
    power = prediction
    for step in range(degree):
        power = power * prediction if step else prediction
        found += [power, power * chance]
    return found


def add_up_powers(index: Ints, size: int, prediction: Floats, chance: Array | None, degree: int) -> PowerSums:
    """Add up the rows of each cell (L,); `chance` may be `prediction` itself, or None for powers alone."""
    rows, terms = np.bincount(index, minlength=size), add_up_terms(index, size, prediction, chance, degree)
    return PowerSums(np.concatenate([rows[None], terms]), chance is prediction)


def add_up_terms(
    index: Ints, size: int, prediction: Floats, chance: Array | None, degree: int, prediction_sums: Floats | None = None
) -> Floats:
    """Return the sums of `power_terms` of each cell, (k - 1, L), some rows at a time; those of p may be known."""
    sums: list[Floats] = []
    known = 0 if chance is None or chance is prediction else 1
    for start in range(0, max(len(index), 1), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        p = prediction[rows]
        c = None if chance is None else p if chance is prediction else chance[rows]
        terms = power_terms(p, c, degree)
        if prediction_sums is not None:
            del terms[known]
        sums.append(np.stack([np.bincount(index[rows], term, minlength=size) for term in terms]))
    total: Floats = np.sum(sums, axis=0)
    return total if prediction_sums is None else np.insert(total, known, prediction_sums, axis=0)


# Whether sums of predictions in cells may be drawn from the normal law: where none is so skewed that it would be seen.
#
# Given how many rows of a cell are events, the normal law moves their sum of predictions by at most the range of these
# predictions, on average in the best pairing (Goldstein 2010). That is nothing beside the noise of the cell, unless a
# cell joins predictions near 0 and near 1 whose outcomes are almost certain: a rare surprise then moves the sum by a
# whole row, and a normal law would spread it over all draws.

# The largest range of predictions in a cell, in standard deviations of its sum of outcome - prediction.
_WIDEST = 0.75


def sums_are_near_normal(
    cells: Cells, rows: Floats, events: Floats, prediction: Floats, chance: Array, *, by_prediction: bool
) -> bool:
    """Say whether the predictions of each cell range over less than the noise of the cell.

    `rows` and `events` (L,) are the number and the sum of chances of each cell. `chance` (n,) of ints are labels: rows
    of one label are then a group of their own. Cells cut `by_prediction` bound its range by their edges.
    """
    ends = np.array([0.0, 1.0]) if cells.edges is None or not by_prediction else np.clip(cells.edges, 0, 1)
    low, high = np.broadcast_to(ends[:-1], rows.shape), np.broadcast_to(ends[1:], rows.shape)
    least = events * (1 - high) ** 2 + (rows - events) * low**2
    doubtful = (high - low > _WIDEST * np.sqrt(np.maximum(least, 0))) & (rows > 0)
    return not doubtful.any() or _are_narrow(cells, doubtful, prediction, chance)


def _are_narrow(cells: Cells, doubtful: Bools, prediction: Floats, chance: Array) -> bool:
    """Look at the rows of doubtful cells themselves."""
    seen = np.flatnonzero(doubtful[cells.index])
    cell, p, c = cells.index[seen], prediction[seen], chance[seen]
    group = 2 * cell + (c if chance.dtype.kind in "biu" else 0)
    lowest, highest = np.full(2 * cells.size, np.inf), np.full(2 * cells.size, -np.inf)
    np.minimum.at(lowest, group, p)
    np.maximum.at(highest, group, p)
    noise = np.bincount(cell, c * (1 - p) ** 2 + (1 - c) * p**2, minlength=cells.size)
    width = np.maximum(highest - lowest, 0).reshape(-1, 2).max(axis=1)
    return bool((width <= _WIDEST * np.sqrt(noise)).all())


# Rows drawn with replacement, seen by cells that stay: how many of each cell and label, whole.
#
# The numbers of rows with and without the event in each cell are multinomial, which is exact; only the sums of
# predictions and of squared residuals are drawn from a normal law (see `Moments`).

# Replicates of cells are drawn in blocks as if each had this many rows: 1000 replicates, or fewer of many cells.
_AS_MANY_ROWS = 262


@final
@dataclass(frozen=True, eq=False)
class DrawnCells:
    """Rows drawn with replacement: replicates (R, L) of what each cell holds.

    `repeats` is the sum over rows of their squared weights: one for each row drawn, or, where rows that were drawn
    several times count as one of more weight, the squared number of times.
    """

    rows: Floats  # their number
    events: Floats  # their number
    prediction: Floats  # sum
    repeats: Floats
    square: Floats = field(default_factory=lambda: np.empty(0))  # of residuals; empty if not asked for

    def tally(self) -> Tally:
        """Turn them into a tally."""
        return Tally(self.rows, self.prediction[..., None], self.events[..., None], self.repeats, self.square)

    def each(self, change: Callable[[Floats], Floats]) -> DrawnCells:
        """Change all sums that there are."""
        parts = (self.rows, self.events, self.prediction, self.repeats, self.square)
        return DrawnCells(*(change(part) if part.size else part for part in parts))

    def first(self, kept: int) -> DrawnCells:
        """Return the first replicates."""
        return self.each(lambda part: part[:kept])

    def added(self, home: Ints, size: int) -> DrawnCells:
        """Add up fine cells to the coarse cells `home` (L,) that they are part of."""
        return self.each(lambda part: add_up_cells(part, home, size))


def numbers_for_cells(n_cells: int) -> int:
    """Return how many numbers a replicate of cells counts for when replicates are cut into blocks."""
    return max(_AS_MANY_ROWS, n_cells)


def draw_fixed(
    moments: Moments, n_resamples: int, rng: np.random.Generator, *, repeats: bool = False, squares: bool = False
) -> Iterator[DrawnCells]:
    """Draw as many rows as there are, with replacement, and count them in cells (L,), some replicates at a time.

    With `repeats`, for observed labels, rows drawn several times count as one of more weight (`DrawnCells.repeats`).
    """
    members = np.stack([moments.events, np.maximum(moments.rows - moments.events, 0.0)])
    n, occupied = int(moments.rows.sum()), members.ravel() > 0
    chances = members.ravel()[occupied] / members.sum()

    def cells(stream: np.random.Generator, size: int, kept: int) -> DrawnCells:
        drawn = np.zeros((members.size, size))  # cell by cell in memory, where sums over replicates are fast
        drawn[occupied] = stream.multinomial(n, chances, size=size).T
        counts = drawn.reshape(*members.shape, size).transpose(2, 0, 1)
        rows, events = counts[:, 0] + counts[:, 1], counts[:, 0]
        prediction, square = moments.draw(rows, events, stream, squares)
        weight2 = sum_of_squares(counts, members, stream) if repeats else rows
        return DrawnCells(rows, events, prediction, weight2, square).first(kept)

    return draw_blocks(cells, n_resamples, numbers_for_cells(members.size), rng)


def sum_of_squares(counts: Floats, members: Floats, stream: np.random.Generator) -> Floats:
    r"""Draw the sum over the rows of each cell of the squared number of times that each was drawn: (R, L).

    `counts` (R, m, L) were drawn of the m groups of each cell, which have `members` (m, L). Of W draws from N members
    any two are equal with chance 1/N, and these events are independent in pairs, so that the number C of equal pairs
    has mean W (W - 1) / (2 N) and variance W (W - 1) / 2 (1/N) (1 - 1/N); the sum of squares is W + 2 C. C is drawn
    from the normal law with both, for all groups of a cell at once.
    """
    each, chance = np.moveaxis(counts, 1, 0), 1 / np.maximum(members, 1)[:, None]
    among = each * (each - 1)  # twice the number of pairs
    mean, variance = ((among * factor).sum(axis=0) for factor in (chance, 2 * chance * (1 - chance)))
    noise = np.sqrt(variance)
    noise *= stream.standard_normal(noise.shape)
    return each.sum(axis=0) + (mean + noise).clip(0, among.sum(axis=0))


def add_up_cells(values: Floats, home: Ints, size: int) -> Floats:
    """Add up fine cells (R, G) to the coarse cells `home` (G,) that they are part of: (R, size)."""
    order = np.argsort(home, kind="stable")
    starts = np.flatnonzero(np.diff(home[order], prepend=-1))
    sums = np.zeros((len(values), size))
    sums[:, home[order][starts]] = np.add.reduceat(values[:, order], starts, axis=1)
    return sums


# Labels drawn anew: the sum of squared residuals of each cell, given how many events there are.


@final
@dataclass(frozen=True, eq=False)
class SquaresOfLabels:
    r"""Sums over cells of squared residuals :math:`(y - p)^2 = p^2 + y (1 - 2 p)` of labels with chances c.

    They are linear in the labels, and given the number Y of events nearly fixed. The sum of p over the events has the
    mean and the slope in Y, and the variance beside it, of its linear regression on Y:

    .. math:: \sum c p + m (Y - \sum c), \qquad \sum v (p - m)^2, \qquad v = c (1 - c),\; m = \sum v p / \sum v

    and is drawn from the normal law of these. In a cell of equal predictions the variance is zero. Where no row of a
    cell is an event, or every row is one, nothing is left to chance, and the sum is exact.
    """

    start: Floats  # (L,), the mean of the sum of squares where no event is drawn, by the regression
    slope: Floats  # (L,), by how much an event moves it
    deviation: Floats  # (L,), standard deviation given the number of events
    largest: Floats  # (L,), number of rows
    without: Floats  # (L,), the sum of squares where no row is an event
    every: Floats  # (L,), the sum of squares where every row is one

    @classmethod
    def of(cls, cells: Cells, prediction: Floats, chance: Floats, by_prediction: bool) -> SquaresOfLabels | None:
        """Add up the rows; None where predictions of a cell range too far, or few of its labels are uncertain."""
        rows = np.bincount(cells.index, minlength=cells.size).astype(float)

        def columns(p: Floats, c: Floats) -> list[Floats]:
            own = c * (1 - c)
            return [p * p, (1 - p) ** 2, c, c * p, own, own * p, own * p * p, own**2]

        power, every, events, along, variance, first, second, own2 = add_up_columns(cells, prediction, chance, columns)
        if not sums_are_near_normal(cells, rows, events, prediction, chance, by_prediction=by_prediction):
            return None
        middle = ratio(first, variance)
        spread = above_rounding(second - middle * first, second)
        if _few_uncertain(variance, own2, spread):
            return None
        slope = 1 - 2 * middle
        start = power + events - 2 * along - slope * events
        return cls(start, slope, 2 * np.sqrt(spread), rows, power, every)

    @classmethod
    def of_powers(cls, rows: Floats, mean: Floats, sums: Floats) -> SquaresOfLabels | None:
        """Do the same where chances are the predictions: from their mean and sums of powers about it (L, 3)."""
        second, third, fourth = sums.T
        own, skew = mean * (1 - mean), 1 - 2 * mean
        variance, along = rows * own - second, skew * second - third
        shift = ratio(along, variance)
        spread = above_rounding(own * second + skew * third - fourth - shift * along, own * second)
        own2 = rows * own**2 + (skew**2 - 2 * own) * second - 2 * skew * third + fourth
        if _few_uncertain(variance, own2, spread):
            return None
        middle, power = mean + shift, rows * mean**2 + second
        slope = 1 - 2 * middle
        start = rows * mean - power - slope * rows * mean
        return cls(start, slope, 2 * np.sqrt(spread), rows, power, rows * (1 - mean) ** 2 + second)

    def draw(self, events: Array, stream: np.random.Generator) -> Floats:
        """Draw the sums of squared residuals (R, L), given numbers of events (R, L)."""
        noise = self.deviation * stream.standard_normal(events.shape)
        squares = (self.start + self.slope * events + noise).clip(0, self.largest)
        np.copyto(squares, self.without, where=events == 0)
        np.copyto(squares, self.every, where=events == self.largest)
        return squares


# A cell has so many uncertain labels, as many of equal variance, where sums of predictions are drawn from a normal law
# given the number of events. Of three rows, two of which are events, the sum has three values: ties that it breaks.
_UNCERTAIN = 30.0


def _few_uncertain(variance: Floats, squares: Floats, spread: Floats) -> bool:
    """Whether few rows make the variance (L,) of a cell's labels; `squares` (L,) are the sums of theirs, squared."""
    return bool(((spread > 0) & (variance**2 < _UNCERTAIN * squares)).any())


def add_up_columns(
    cells: Cells, prediction: Floats, chance: Floats, columns: Callable[[Floats, Floats], list[Floats]]
) -> Floats:
    """Add up functions of the predictions and chances (n,) in cells, some rows at a time: (k, L)."""
    sums: list[Floats] = []
    for start in range(0, max(len(prediction), 1), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        found = columns(prediction[rows], chance[rows])
        sums.append(np.stack([np.bincount(cells.index[rows], each, cells.size) for each in found]))
    return np.asarray(np.sum(sums, axis=0))
