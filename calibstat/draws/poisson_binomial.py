"""Exact laws of the number of events in each cell, and draws of whole cells.

Given the predictions, the number of events among the rows of a cell is Poisson-binomial. Few rows are added one after
the other; for more, its probabilities are computed by a discrete Fourier transform of the characteristic function on a
window that holds all but 1e-16 of the mass (Hong 2013, with the window and the pooling below added), so a replicate
costs one table look-up a cell, whatever n. Cells of rows that are almost certain have a way of their own
(`_rare_laws`).
"""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat.binnings.base import Cells
from calibstat.data.arrays import NUMBERS_IN_CACHE, ROWS_IN_CACHE, Array, Bools, Floats, Ints
from calibstat.data.rounding import ROUNDING, rounded_up
from calibstat.data.sample import Predictions
from calibstat.estimators.tally import TallyPlan, add_up

# exp(-37) = 1e-16: what is left out of the window and of the frequencies.
_NEGLIGIBLE = 37.0


class CellCounts:
    """The law of the number of events in each cell, from the chances (n,) of rows; cells are independent.

    Cells are given as such or, where they are runs of rows, by the first row (L,) of each. The number of rows and the
    sum of chances (L,) of each may be `known`. Each row of cells may stand for `several`, (n,).
    """

    def __init__(
        self,
        chances: Floats,
        cells: Cells | Ints,
        known: tuple[Floats, Floats] | None = None,
        several: Floats | None = None,
    ) -> None:
        chances = np.ascontiguousarray(chances)
        rows = _InCells.of(chances, cells, several) if isinstance(cells, Cells) else _InRuns(chances, cells)
        few = rows.counts <= _ROWS_ONE_BY_ONE
        if few.all() and not rows.are_many:
            self.powers, self.laws = None, _added_one_by_one(rows.only(few))
            return
        self.powers = Powers.of(rows, known) if rows.are_many else None
        variance = rows.total(rows.chances * (1 - rows.chances)) if self.powers is None else self.powers.variance
        found = _rare_laws(rows, variance)
        if self.powers is not None:
            _add_narrow_laws(found, self.powers, variance)
        wide = np.array([law is None for law in found])
        if wide.any():
            # frequencies are kept up to this abs(exp(i angle) - 1)
            largest = np.sqrt(2 * _NEGLIGIBLE / np.maximum(variance[wide], _NEGLIGIBLE / 2))
            each = zip(np.flatnonzero(wide), pool(rows.only(wide), largest), strict=True)
            for cell, points in each:
                found[cell] = _window_laws(points, variance[[cell]])[0]
        self.laws = [law for law in found if law is not None]

    def draw(self, stream: np.random.Generator, _size: int, kept: int) -> Ints:
        """Draw counts (kept, L): the first of a block of replicates."""
        return self.invert(stream.random((kept, len(self.laws))))

    @cached_property
    def guide(self) -> Guide:
        """Where to look for the counts of uniforms."""
        return Guide.of([masses for _, masses in self.laws])

    def invert(self, uniforms: Floats) -> Ints:
        """Turn uniforms (R, L) into counts (R, L)."""
        found = self.guide.find(uniforms)
        found += np.array([first for first, _ in self.laws])
        return found


def counts_of(plan: TallyPlan) -> CellCounts:
    """Return the law of the counts in the cells of a plan, computed once: tests compute it, and draws use it too."""
    if not isinstance(plan.label_law, CellCounts):
        same = plan.predictions.is_exact_law and plan.predictions.unweighted
        known = (plan.weight, plan.prediction[:, 0]) if same else None
        plan.label_law = counts_in(plan.cells, plan.predictions, known)
    return plan.label_law


def counts_in(cells: Cells, predictions: Predictions, known: tuple[Floats, Floats] | None = None) -> CellCounts:
    """Return the law of the counts in cells, of rows that may stand for several."""
    chances, several, powers = predictions.event_chance, predictions.counts, predictions.powers
    if several is not None and powers is not None:
        chances, several = three_chances(chances, several, powers)
        cells = Cells(cells.size, np.tile(cells.index, 3), cells.moves)
    return CellCounts(chances, cells, known, several)


def three_chances(mean: Floats, rows: Floats, powers: Floats) -> tuple[Floats, Floats]:
    """Return three chances, and how many rows have each of them (fractions too), for rows of different chances.

    Of each (n,) the mean, the number and the sums of powers 2 to 4 (n, 3) of distances to the mean stay as they are,
    which is what the law of their events needs: (3 n,) and (3 n,). With -a and b the distances of two chances beside
    the mean, b - a is the third sum over the second, and a b + (b - a)^2 the fourth over it. Where one of these is no
    chance, next to 0 and 1, two chances among those of the rows keep all sums but the fourth: a b is the variance.
    """
    second, third, fourth = powers.T
    spread = second > ROUNDING * rows * mean * (1 - mean)
    skew = np.divide(third, second, out=np.zeros(len(mean)), where=spread)
    product = np.divide(fourth, second, out=np.zeros(len(mean)), where=spread) - skew**2
    least = np.where(spread, second / rows, 1.0)
    below, above = _on_both_sides(skew, np.maximum(product, least))
    beyond = (mean < below) | (mean + above > 1)
    fewer = _on_both_sides(skew, least)
    below, above = np.where(beyond, fewer[0], below), np.where(beyond, fewer[1], above)
    few, many = (np.where(spread, second / (each * (below + above)), 0.0) for each in (below, above))
    chances = np.concatenate([mean - np.where(spread, below, 0.0), mean, mean + np.where(spread, above, 0.0)])
    return np.clip(chances, 0.0, 1.0), np.concatenate([few, np.maximum(rows - few - many, 0.0), many])


def _on_both_sides(difference: Floats, product: Floats) -> tuple[Floats, Floats]:
    """Return the two positive numbers a and b (n,) with this b - a and a b; neither loses digits to the other."""
    larger = np.sqrt(difference**2 / 4 + product) + np.abs(difference) / 2
    smaller = product / larger
    return np.where(difference > 0, smaller, larger), np.where(difference > 0, larger, smaller)


@final
@dataclass(frozen=True, eq=False)
class _InCells:
    """Rows with their cells; each may stand for several, (n,)."""

    chances: Floats
    cells: Cells
    several: Floats | None = None

    @classmethod
    def of(cls, chances: Floats, cells: Cells, several: Floats | None) -> _InCells:
        """Write rows that stand for several out where they are not many."""
        if several is None or several.sum() > _MANY_ROWS * _MANY_CELLS or (several != np.floor(several)).any():
            return cls(chances, cells, several)
        rows = np.repeat(np.arange(len(chances)), several.astype(np.intp))
        return cls(chances[rows], Cells(cells.size, cells.index[rows], cells.moves))

    @property
    def are_many(self) -> bool:
        """Whether one expansion for a whole cell may be good enough: of many cells, or of very many rows in each."""
        if self.cells.size >= _MANY_CELLS or self.several is not None:
            return True
        return len(self.chances) >= _MANY_ROWS * self.cells.size

    @property
    def counts(self) -> Ints:
        """(L,) the number of rows of each cell."""
        return np.rint(np.bincount(self.cells.index, self.several, self.cells.size)).astype(np.intp)

    def powers(self, mean: Floats) -> tuple[Floats, float]:
        """Add up powers 2 to 4 of distances to the mean of the cell, (L, 3); return the largest distance too."""
        sums, widest = np.zeros((3, self.cells.size)), 0.0
        for start in range(0, len(self.chances), ROWS_IN_CACHE):
            index = self.cells.index[start : start + ROWS_IN_CACHE]
            distance = self.chances[start : start + ROWS_IN_CACHE] - mean.take(index)
            widest = max(widest, float(distance.max()), -float(distance.min()))
            power = distance * distance
            if self.several is not None:
                power *= self.several[start : start + ROWS_IN_CACHE]
            for total in sums:
                total += np.bincount(index, power, len(total))
                power *= distance
        return sums.T, widest

    def total(self, values: Floats) -> Floats:
        """Add up values (n,) over cells: (L,)."""
        values = values if self.several is None else values * self.several
        return add_up(self.cells.index, values[None], self.cells.size)[0]

    def spread(self, values: Floats) -> Floats:
        """Return the value (L,) of the cell of each row: (n,)."""
        return values.take(self.cells.index)

    def only(self, wanted: Bools) -> _InCells:
        """Return the rows of wanted cells (L,), in these cells."""
        if wanted.all():
            return self
        rows = np.flatnonzero(wanted[self.cells.index])
        index = (np.cumsum(wanted) - 1)[self.cells.index[rows]]
        several = None if self.several is None else self.several[rows]
        return _InCells(self.chances[rows], Cells(int(wanted.sum()), index, self.cells.moves), several)


@final
@dataclass(frozen=True, eq=False)
class _InRuns:
    """Rows whose cells are runs that begin at `starts`."""

    chances: Floats
    starts: Ints

    @property
    def are_many(self) -> bool:
        return len(self.starts) >= _MANY_CELLS

    def powers(self, mean: Floats) -> tuple[Floats, float]:
        distance = self.chances - self.spread(mean)
        power, sums = distance * distance, []
        for _ in range(3):
            sums.append(self.total(power))
            power *= distance
        return np.stack(sums, axis=1), float(np.abs(distance).max(initial=0.0))

    @cached_property
    def counts(self) -> Ints:
        return np.diff(self.starts, append=len(self.chances))

    def total(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts)

    def spread(self, values: Floats) -> Floats:
        return np.repeat(values, self.counts)

    def only(self, wanted: Bools) -> _InCells:
        index = np.repeat(np.arange(wanted.sum()), self.counts[wanted])
        return _InCells(self.chances[np.repeat(wanted, self.counts)], Cells(int(wanted.sum()), index, "data"))


# Steps of the guide of one cell, in most of which no count begins, and of all cells together.
_STEPS_OF_A_GUIDE, _FEWEST_STEPS, _ALL_STEPS = 256, 4, 2**20
# Tables of few cells stay in the cache while the counts of so many replicates are found.
_ROWS_AT_ONCE = 1024


@final
@dataclass(frozen=True, eq=False)
class Guide:
    """Inverts several cumulative distributions (L of them) by a table of equal steps of uniforms (Chen & Asau 1974).

    `first` (L * steps,) is the smallest count c that uniforms of a step may mean. From `cut` on they mean the next one,
    if these are all; if there are more, up to `last`, `first` has -1 - c. `cumulative` has the cumulative masses of all
    cells, those of a cell from `begin` (L,) on.
    """

    first: Array
    cut: Floats
    last: Array
    cumulative: Floats
    begin: Ints
    steps: int

    @classmethod
    def of(cls, laws: list[Floats]) -> Guide:
        """Compute the tables from masses (m,) of each cell."""
        steps = min(_STEPS_OF_A_GUIDE, max(_FEWEST_STEPS, _ALL_STEPS // len(laws)))
        lengths = np.array([len(masses) for masses in laws])
        begin = np.cumsum(lengths) - lengths
        cumulative = np.concatenate([masses.cumsum() for masses in laws])
        cumulative /= np.repeat(cumulative[begin + lengths - 1], lengths)
        # a count begins where the one before it ends; the last ends at one, which no uniform reaches
        step = (cumulative * steps).astype(np.intp)
        step += np.repeat(np.arange(len(laws)) * steps, lengths)
        reached = cumulative < 1
        begins = np.bincount(step[reached], minlength=len(laws) * steps)
        cut = np.full(len(begins), np.inf)
        cut[step[reached]] = cumulative[reached]
        cut[begins > 1] = np.inf
        last = np.cumsum(begins.reshape(len(laws), -1), axis=1, dtype=np.int32).ravel()
        first = last - begins.astype(np.int32)
        return cls(np.where(begins > 1, -1 - first, first), cut, last, cumulative, begin, steps)

    def find(self, uniforms: Floats) -> Ints:
        """Return how many cumulative masses each uniform (R, L) reaches: (R, L)."""
        found = np.empty(uniforms.shape, dtype=np.intp)
        rows = min(max(1, len(uniforms)), _ROWS_AT_ONCE)
        cells = max(1, NUMBERS_IN_CACHE // rows)
        for row in range(0, uniforms.shape[0], rows):
            for cell in range(0, uniforms.shape[1], cells):
                tile = slice(row, row + rows), slice(cell, cell + cells)
                found[tile] = self._find(uniforms[tile], cell)
        return found

    def _find(self, uniforms: Floats, first: int) -> Array:
        """Find the counts of some cells, from the cell `first` on."""
        step = (uniforms * self.steps).astype(np.int32)
        step += np.arange(first, first + uniforms.shape[1], dtype=np.int32) * self.steps
        found = self.first.take(step).ravel()
        places = np.flatnonzero(found < 0)
        found += (self.cut.take(step) <= uniforms).ravel()
        if len(places):
            sought = uniforms[np.unravel_index(places, uniforms.shape)]
            low, high = -1 - found.take(places), self.last.take(step.ravel().take(places))
            begin = self.begin.take(first + places % uniforms.shape[1])
        while len(places):  # bisection, of mostly two counts
            middle = (low + high) >> 1
            reached = self.cumulative.take(begin + middle) <= sought
            low, high = np.where(reached, middle + 1, low), np.where(reached, high, middle)
            found[places] = low
            going = np.flatnonzero(low < high)
            places, low, high = places[going], low[going], high[going]
            begin, sought = begin[going], sought[going]
        return found.reshape(uniforms.shape)


# Up to so many rows of each of a few cells are added in less time than transforms take.
_ROWS_ONE_BY_ONE = 256


def _added_one_by_one(rows: _InCells) -> list[tuple[int, Floats]]:
    """Return the probabilities of 0, 1, ... events in each cell: the next row of all cells at once.

    This is the recursive formula in Hong (2013). Only positive numbers are added, so that rare counts too have all
    their digits.
    """
    chances, cells = rows.chances, rows.cells
    counts, order = np.diff(cells.starts), cells.order
    table = np.zeros((counts.max(initial=0), cells.size))
    table[np.arange(len(order)) - np.repeat(cells.starts[:-1], counts), cells.index[order]] = chances[order]
    laws = np.zeros((len(table) + 1, cells.size))
    laws[0] = 1.0
    for row, chance in enumerate(table, start=1):
        one_more = laws[:row] * chance
        laws[:row] *= 1 - chance
        laws[1 : row + 1] += one_more
    return [(0, law[: count + 1]) for law, count in zip(np.ascontiguousarray(laws.T), counts, strict=True)]


@final
@dataclass(frozen=True, eq=False)
class BinomialCounts:
    """The binomial laws of the numbers of events in groups (L,) whose rows all have the same chance, one each."""

    first: Ints
    guide: Guide

    @classmethod
    def of(cls, rows: Floats, chance: Floats) -> BinomialCounts:
        """Compute the probabilities of the counts in the window of each group."""
        first, last = _windows(rows * chance, rows * chance * (1 - chance), rows)
        width = last - first + 1
        begin = np.cumsum(width) - width
        n, p, events = (np.repeat(each, width) for each in (rows, chance, first - begin))
        events += np.arange(len(events))
        logs = special.gammaln(n + 1) - special.gammaln(events + 1) - special.gammaln(n - events + 1)
        masses = np.exp(logs + special.xlogy(events, p) + special.xlog1py(n - events, -p))
        return cls(first, Guide.of(np.split(masses, begin[1:])))

    def invert(self, uniforms: Floats) -> Ints:
        """Turn uniforms (R, L) into counts (R, L)."""
        return self.guide.find(uniforms) + self.first


# With so many cells or more, rows of most cells are nearly equal; so many rows of one leave only low frequencies.
_MANY_CELLS, _MANY_ROWS = 64, 2**15
# What an expansion about the mean of a cell may leave out of a probability: no number of draws shows it.
_LEFT_OUT = 1e-13


@final
@dataclass(frozen=True, eq=False)
class Powers:
    """Sums over cells of powers of the distances of chances to their mean in the cell."""

    count: Floats  # (L,), number of rows
    mean: Floats  # (L,), mean chance
    sums: Floats  # (L, 3), of second, third and fourth powers
    widest: float  # no distance is larger

    @classmethod
    def of(cls, rows: _InCells | _InRuns, known: tuple[Floats, Floats] | None) -> Powers:
        """Add up the rows; their number and sum of chances may be known."""
        count, total = known or (rows.counts.astype(float), rows.total(rows.chances))
        mean = total / np.maximum(count, 1)
        return cls(count, mean, *rows.powers(mean))

    @property
    def variance(self) -> Floats:
        """(L,) the variance of the number of events, the sum of c (1 - c)."""
        return np.maximum(self.count * self.mean * (1 - self.mean) - self.sums[:, 0], 0.0)


def _add_narrow_laws(found: list[tuple[int, Floats] | None], powers: Powers, variance: Array) -> None:
    """Add the laws of cells for which one expansion, about the mean chance of all their rows, is good enough."""
    count, mean, moments = powers.count, powers.mean, powers.sums
    # the fifth term of the logarithm, times the bound of the characteristic function itself
    # on average over all frequencies, whose share up to |exp(i angle) - 1| = z is at most z / 2
    largest = np.sqrt(np.minimum(4.0, 2 * _NEGLIGIBLE / np.maximum(variance, 1e-300)))
    chord = np.linspace(0.0, largest, 17) ** 2
    slope = chord / np.maximum(1 - chord * mean * (1 - mean), 1e-6)
    fifth = np.minimum(moments[:, 2] ** 1.25, powers.widest * moments[:, 2])
    error = (fifth * slope**2.5 / 5 * np.exp(-variance * chord / 2)).mean(axis=0) * largest / 2
    narrow = np.flatnonzero((error <= _LEFT_OUT) & [law is None for law in found])
    first, last = _windows(mean * count, variance, count)
    widths, place = np.unique(last - first + 1, return_inverse=True)
    lengths = np.array([fast_length(width) for width in widths.tolist()])[place]
    for length in np.unique(lengths[narrow]):
        some = narrow[lengths[narrow] == length]
        points = PooledRows(mean[some, None], count[some, None], moments[some, None])
        for cell, law in zip(some, _window_laws(points, variance[some]), strict=True):
            found[cell] = law


def _windows(mean: Floats, variance: Array, n_rows: Floats) -> tuple[Ints, Ints]:
    """Return the first and the last count that are kept of each cell."""
    reach = reach_of_sum(1.0, variance)
    first, last = np.maximum(0, np.floor(mean - reach)), np.minimum(np.rint(n_rows), np.ceil(mean + reach))
    return first.astype(np.intp), last.astype(np.intp)


def reach_of_sum(largest: float, variance: Array | float) -> Array:
    """Return how far from its mean a sum of independent numbers up to `largest` reaches.

    By Bernstein's inequality at most exp(-37) of the mass lies further out on either side.
    """
    step = _NEGLIGIBLE / 3 * largest
    return np.asarray(step + np.sqrt(step**2 + 2 * _NEGLIGIBLE * variance))


def _window_laws(points: PooledRows, variance: Array) -> list[tuple[int, Floats]]:
    """Return, for each cell, the first count of its window and the probabilities of the counts in it.

    The windows of these cells have about the same width.
    """
    mean, n_rows = (points.centre * points.count).sum(axis=1), points.count.sum(axis=1)
    first, last = _windows(mean, variance, n_rows)
    width = last - first + 1
    length = fast_length(int(width.max()))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    # |characteristic function| <= exp(-variance * (1 - cos(angle)))
    kept = angles[variance.min() * (1 - np.cos(angles)) <= _NEGLIGIBLE]
    transform = np.zeros((len(first), len(angles)), dtype=complex)
    transform[:, : len(kept)] = _characteristic(points, kept, first)
    # irfft has the opposite sign of the exponent
    masses = np.maximum(np.fft.irfft(transform.conj(), length), 0.0)
    return [(one, each[:m]) for one, each, m in zip(first.tolist(), masses, width.tolist(), strict=True)]


def _characteristic(points: PooledRows, angles: Floats, first: Ints) -> Array:
    """Return E exp(i * angle * (count - first)) of each cell, (C, angles), by Taylor expansions of order 4."""
    # |exp(i * angle) - 1|^2
    chord = 4 * np.sin(angles / 2) ** 2
    z = (1j * np.sin(angles) - chord / 2)[:, None]
    pooled = (points.count != 1).any(axis=0)
    value = np.prod(1 + points.centre[:, None, ~pooled] * z, axis=2)
    centre, count = points.centre[:, None, pooled], points.count[:, pooled, None]
    base = 1 + centre * z
    # |base|^2 - 1, and so the logarithm in two real parts, which is many times faster than that of complex numbers
    size = -chord[:, None] * (centre * (1 - centre))
    # where the base (almost) vanishes so does its power; the expansion is not needed there
    vanishing = size < -1 + 1e-6
    if vanishing.any():
        base[vanishing], size[vanishing] = 1, 0
    slope = z / base
    second, third, fourth = np.moveaxis(points.moments[:, None, pooled], -1, 0)
    series = slope * slope * (-second / 2 + slope * (third / 3 - slope * fourth / 4))
    turn = (np.arctan2(base.imag, base.real) @ count)[..., 0] - np.multiply.outer(first, angles)
    exponent = series.sum(axis=2) + (np.log1p(size) @ (count / 2))[..., 0] + 1j * turn
    return np.where(vanishing.any(axis=2), 0.0, value * np.exp(exponent))


def fast_length(length: int) -> int:
    """Return the next length that is a small multiple of a power of two, for fast Fourier transforms."""
    power = 1 << max(0, (length - 1).bit_length() - 3)
    return -(-length // power) * power


# Rows of a cell with nearly equal chances, pooled: what a Taylor expansion needs of them.

# Rows of a cell that lie in the same of 2048 steps of [0, 1] share an expansion about their mean; groups of up to 8
# rows are not pooled. The expansion is in distance times |exp(i angle) - 1|, so steps are wider where that is small.
_STEPS = 2048
_POOL_ABOVE = 8
# Rows that are added up at once, so that they stay in the cache.
_ROWS = 2**14


@final
@dataclass(frozen=True, eq=False)
class PooledRows:
    """Groups of rows, and single rows: m of each of C cells."""

    centre: Floats  # (C, m), the mean chance of the event
    count: Floats  # (C, m), the number of rows
    moments: Floats  # (C, m, 3), sums of second, third and fourth powers of the distances to the centre


def pool(rows: _InCells, largest: Array) -> list[PooledRows]:
    """Pool nearly equal chances in each cell, for abs(exp(i angle) - 1) of at most `largest` (L,), in (0, 2]."""
    chances, cells = rows.chances, rows.cells
    several = np.ones(len(chances)) if rows.several is None else rows.several
    steps = np.ceil(_STEPS * largest / 2).astype(np.intp)
    keys, group, sums = _power_sums(chances, cells.index, steps, rows.several)
    kept = sums[0] > _POOL_ABOVE
    alone = np.flatnonzero(~kept[group])
    keys, sums = keys[kept], sums[:, kept]
    cell = np.repeat(np.arange(cells.size), steps + 1)[keys]
    mean, moments = _central(sums)
    width = 1 / steps[cell]
    centre = (keys - _first(steps)[cell] + 0.5 + mean) * width
    order = np.argsort(np.concatenate([cell, cells.index[alone]]), kind="stable")
    columns = (
        np.concatenate([centre, chances[alone]]),
        np.concatenate([sums[0], several[alone]]),
        np.concatenate([moments * width[:, None] ** np.arange(2, 5), np.zeros((len(alone), 3))]),
    )
    n_points = np.bincount(cell, minlength=cells.size) + np.bincount(cells.index[alone], minlength=cells.size)
    ends = np.cumsum(n_points)
    return [
        PooledRows(*(column[None, order[end - n : end]] for column in columns))
        for n, end in zip(n_points, ends, strict=True)
    ]


def _power_sums(chances: Floats, index: Ints, steps: Ints, several: Floats | None) -> tuple[Ints, Ints, Floats]:
    """Return keys of groups, the group of each row, and sums of powers 0 to 4 of distances, counted in steps."""
    n_keys = int((steps + 1).sum())
    if n_keys > 2**17 + 2 * len(chances):  # most groups would be empty
        key, distance = _located(chances, index, steps)
        keys, group = np.unique(key, return_inverse=True)
        return keys, group, _added(group, distance, len(keys), several)
    group, sums = np.empty(len(chances), dtype=np.intp), np.zeros((5, n_keys))
    n_rows = max(_ROWS, n_keys)
    for start in range(0, len(chances), n_rows):
        rows = slice(start, start + n_rows)
        group[rows], distance = _located(chances[rows], index[rows], steps)
        sums += _added(group[rows], distance, n_keys, None if several is None else several[rows])
    return np.arange(n_keys), group, sums


def _first(steps: Ints) -> Ints:
    """Return the first key of each cell."""
    return np.cumsum(steps + 1) - (steps + 1)


def _located(chances: Floats, index: Ints, steps: Ints) -> tuple[Ints, Floats]:
    """Return the key of the step of each row, and its distance to the middle of the step."""
    distance = chances * steps.take(index)
    key = distance.astype(np.intp)
    distance -= key
    distance -= 0.5
    key += _first(steps).take(index)
    return key, distance


def _added(group: Ints, distance: Floats, n_groups: int, several: Floats | None) -> Floats:
    """Add up powers 0 to 4 of the distances in each group: (5, n_groups)."""
    power = distance if several is None else distance * several
    sums = [np.bincount(group, several, n_groups), np.bincount(group, power, n_groups)]
    for _ in range(3):
        power = power * distance
        sums.append(np.bincount(group, power, n_groups))
    return np.array(sums, dtype=float)


def _central(sums: Floats) -> tuple[Floats, Floats]:
    """Turn sums of powers 0 to 4 into the mean (m,), and sums of powers 2 to 4 of distances to it (m, 3)."""
    count, first, second, third, fourth = sums
    mean = first / count
    moments = [
        second - mean * first,
        third - mean * (3 * second - 2 * mean * first),
        fourth - mean * (4 * third - mean * (6 * second - 3 * mean * first)),
    ]
    return mean, np.stack(moments, axis=1)


# Exact laws of counts in cells where almost every row is certain.
#
# A Fourier transform leaves noise of 1e-17 in every probability. Chi-square terms of such cells are as large as their
# events are rare, and would make that noise a mean. Sums of powers of the odds give each probability to its own
# digits.

# At most this many rows of a cell are expected to differ from what is almost certain for each. Then six of them differ
# with a chance below 1e-20, and are left out.
_RARE = 1e-3
_FLIPS = 5


def _rare_laws(rows: _InCells | _InRuns, variance: Array) -> list[tuple[int, Floats] | None]:
    """Return the first count of each cell and the probabilities from there on; None for cells that are less certain.

    The `variance` (L,) of each count, the sum of p (1 - p), is at most the sum of min(p, 1 - p).
    """
    found: list[tuple[int, Floats] | None] = [None] * len(variance)
    if (variance > _RARE).all():
        return found
    rare = rows.total(np.minimum(rows.chances, 1 - rows.chances)) <= _RARE
    some = rows.only(rare)
    several, cells = np.ones(len(some.chances)) if some.several is None else some.several, some.cells
    for cell, start, end in zip(np.flatnonzero(rare), cells.starts, cells.starts[1:], strict=False):
        own = cells.order[start:end]
        found[cell] = _rare_law(some.chances[own], several[own])
    return found


def _rare_law(chances: Floats, several: Floats) -> tuple[int, Floats]:
    """Return the first count and its and the following probabilities: sure events, more of them, or fewer."""
    sure = chances > 0.5
    more, fewer = _flips(chances[~sure], several[~sure]), _flips(1 - chances[sure], several[sure])
    law = np.convolve(more, fewer[::-1])
    return round(several[sure].sum()) - (len(fewer) - 1), law


def _flips(chances: Floats, several: Floats) -> Floats:
    r"""Return the probabilities of 0, 1, ..., 5 events, all of them rare.

    With odds r of single rows, P(k) = P(0) e_k(r), elementary symmetric functions, which Newton's identities make of
    power sums: :math:`k\, e_k = \sum_{j=1}^k (-1)^{j-1} e_{k-j} \sum_i r_i^j`.
    """
    chances, several = chances[chances > 0], several[chances > 0]
    odds = chances / (1 - chances)
    most = min(_FLIPS, rounded_up(several.sum()))
    powers, power = [], np.ones(len(odds))
    for _ in range(most):
        power = power * odds
        powers.append(float(power @ several))
    symmetric = [1.0]
    for k in range(1, most + 1):
        signed = sum((-1) ** (j - 1) * symmetric[k - j] * powers[j - 1] for j in range(1, k + 1))
        symmetric.append(max(signed / k, 0.0))
    return np.array(symmetric) * float(np.exp(np.log1p(-chances) @ several))
