"""Discrete laws as values and masses, and sums of them by enumeration; `ExactNull` takes p-values from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from math import floor, frexp, ldexp, prod
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Array, Floats
from calibstat.draws.poisson_binomial import fast_length

# Totals that are equal in exact arithmetic may differ in their last digits, by less than this share of themselves or of
# the smallest one if it is negative. (The largest is no measure: in a cell of tiny predictions it may be 1e13.)
_EQUAL = 1e-14
# At most exp(-33) = 5e-15 of the mass of a sum lies beyond its `reach`.
_BEYOND = 33.0


@final
@dataclass(frozen=True, eq=False)
class Atoms:
    """A law with finitely many values (m,), in increasing order, and their masses (m,)."""

    values: Floats
    masses: Floats

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.values @ self.masses)

    @property
    def variance(self) -> float:
        """The variance; infinite where squares are too large for floats."""
        with np.errstate(over="ignore"):
            return float((self.values - self.mean) ** 2 @ self.masses)

    def tail(self, thresholds: Array) -> Floats:
        """Return P(X >= threshold) for each threshold."""
        return self.tails[np.searchsorted(self.values, thresholds)]

    @cached_property
    def tails(self) -> Floats:
        """P(X >= each value) and, last, zero: (m + 1,)."""
        tails = np.zeros(len(self.masses) + 1)
        np.cumsum(self.masses[::-1], out=tails[-2::-1])
        return tails

    def map(self, function: Callable[[Floats], Floats]) -> Atoms:
        """Return the law of an increasing function of the value."""
        return Atoms(function(self.values), self.masses)

    def compressed(self, n_atoms: int) -> Atoms:
        """Return a law of the same mean with at most so many atoms: means over equal pieces of the range."""
        if len(self.values) <= n_atoms:
            return self
        pieces = np.linspace(self.values[0], self.values[-1], n_atoms, endpoint=False)
        starts = np.searchsorted(self.values, pieces)
        starts = starts[np.diff(starts, prepend=-1) > 0]
        masses, sums = (np.add.reduceat(each, starts) for each in (self.masses, self.masses * self.values))
        kept = masses > 0
        return Atoms(sums[kept] / masses[kept], masses[kept])


CERTAINLY_ZERO = Atoms(np.zeros(1), np.ones(1))


def pooled(values: Array, masses: Array) -> Atoms:
    """Sort atoms, merge those of equal values at the largest of them, and drop atoms without mass."""
    kept = masses > 0
    values, masses = values[kept], masses[kept]
    order = np.argsort(values, kind="stable")
    values, masses = values[order], masses[order]
    last = np.append(np.diff(values) > _EQUAL * np.maximum(np.abs(values[1:]), abs(values[0])), True)
    starts = np.append(0, np.flatnonzero(last)[:-1] + 1)
    return Atoms(values[last], np.add.reduceat(masses, starts))


def pooled_each(terms: Floats, masses: Sequence[Floats]) -> list[Atoms]:
    """Return the law of the term of each cell, from terms (counts, L) and the masses of its counts."""
    return [pooled(terms[: len(each), cell], each) for cell, each in enumerate(masses)]


def sum_of_two(first: Atoms, second: Atoms, n_atoms: int) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return approximate values (m, k) of a sum, from at most `n_atoms` of each part, and the masses of both parts."""
    one, other = first.compressed(n_atoms), second.compressed(n_atoms)
    return np.add.outer(one.values, other.values), (one.masses, other.masses)


def enumerate_sum(laws: Sequence[Atoms]) -> Atoms:
    """Return the law of the sum of independent terms; equal totals are merged after each term."""
    whole = CERTAINLY_ZERO
    for law in sorted(laws, key=lambda each: len(each.values)):
        whole = pooled(np.add.outer(whole.values, law.values).ravel(), np.outer(whole.masses, law.masses).ravel())
    return whole


def maximum(laws: Sequence[Atoms]) -> Atoms:
    """Return the law of the largest of independent terms: the product of their distribution functions."""
    # The steps of the logarithm of each distribution function, from log 1 at the first atom.
    jumps = [np.diff(np.log(np.cumsum(law.masses) / law.masses.sum()), prepend=0.0) for law in laws]
    values = np.concatenate([law.values for law in laws])
    order = np.argsort(values, kind="stable")
    # the product is zero below the smallest value of any term
    begun = np.cumsum(np.concatenate([np.arange(len(jump)) == 0 for jump in jumps])[order]) == len(laws)
    product = np.where(begun, np.exp(np.minimum(np.cumsum(np.concatenate(jumps)[order]), 0.0)), 0.0)
    return pooled(values[order], np.maximum(np.diff(product, prepend=0.0), 0.0))


def reach(laws: Sequence[Atoms], beyond: float = _BEYOND) -> float:
    """Return a bound of the sum minus its smallest value, exceeded with a chance of exp(-beyond) (Chernoff)."""
    deviation = np.sqrt(sum(law.variance for law in laws))
    widest = sum(float(law.values[-1] - law.values[0]) for law in laws)
    if deviation == 0:
        return widest
    rates = np.geomspace(0.05, 20, 24) / deviation
    logs = np.zeros(len(rates))
    for law in laws:
        exponents = np.outer(rates, law.values - law.values[0])
        top = exponents[:, -1:].copy()
        exponents -= top
        logs += top[:, 0] + np.log(np.exp(exponents, out=exponents) @ law.masses)
    return min(widest, float(((logs + beyond) / rates).min()))


# Sums of terms that move in steps of one size, such as absolute differences: exact by fast Fourier transforms.
#
# The values of a term |count - expected| are one arithmetic progression below its kink and one above it, with the same
# step but different offsets. Given the side on which each cell falls, the sum lies on a lattice. All sides of one half
# of the cells are transformed at once, and `ExactNull` adds the two halves.

# Offsets closer than this share of a step are equal: for counts below 10^7 the rounding is smaller.
NOISE = 1e-8
# Remainders below this share of a divisor are rounding errors, multiplied by the quotient. The finer comparison above
# decides whether all terms lie on the lattice.
_REMAINDER = 1e-4
_OFFSETS = 2
# Masses below the rounding of the transforms are dropped at both ends.
_NEGLIGIBLE_MASS = 1e-19
# So many sides are transformed back at once, so that they stay in the cache.
_TOGETHER = 32
_NUMBERS = 2**20
# The largest number of points of the lattice of a common divisor.
_LATTICE_POINTS = 2**19


@dataclass(frozen=True, eq=False)
class Progression:
    """The part of a cell's law on one arithmetic progression: offset + step * (0, 1, ...), with these masses."""

    offset: float
    masses: Floats


def lattice_halves(cells: Sequence[Atoms], largest_step: float) -> tuple[Atoms, Atoms] | None:
    """Return the laws of two independent parts of the sum of the cells' terms; None if no lattice is small enough.

    The largest difference between terms of consecutive counts is the first candidate for the step.
    """
    for step in _candidates(cells, largest_step):
        found = takewhile(lambda each: each is not None, (_progressions(cell, step) for cell in cells if step))
        progressions = [each for each in found if each is not None]
        if len(progressions) == len(cells):
            halves = _halves(cells, progressions, step)
            if halves is not None:
                return halves
    return None


def _candidates(cells: Sequence[Atoms], largest_step: float) -> Iterator[float]:
    yield largest_step
    yield common_divisor(cells)


def common_divisor(cells: Sequence[Atoms]) -> float:
    """Return the step of the coarsest lattice on which all terms lie, up to an offset of each; 0 if it is too fine."""
    least = reach(cells) / _LATTICE_POINTS
    divisor = 0.0
    for cell in cells:
        for difference in np.unique(np.diff(cell.values)):
            larger, smaller = max(divisor, difference), min(divisor, difference)
            while smaller > _REMAINDER * larger:
                larger, smaller = smaller, abs(larger - smaller * round(larger / smaller))
                if larger < least:
                    return 0.0
            divisor = float(larger)
    # long ranges give the divisor more accurately than short differences
    for width in sorted(float(np.ptp(cell.values)) for cell in cells):
        times = round(width / divisor)
        if times == 0:  # so short that it was taken for a remainder
            return 0.0
        divisor = width / times
    return divisor


def _progressions(cell: Atoms, step: float) -> list[Progression] | None:
    """Split a cell's law by the offset of its terms from a lattice; None if there are too many offsets."""
    scaled = (cell.values - cell.values[0]) / step
    whole = np.floor(scaled + NOISE).astype(np.intp)
    part = scaled - whole
    order = np.argsort(part)
    ends = np.flatnonzero(np.diff(part[order]) > NOISE) + 1
    rows = np.split(order, ends) if len(ends) < _OFFSETS else []
    if not rows or any(part[row[-1]] - part[row[0]] > NOISE for row in rows):
        return None
    return [Progression(float(part[row[-1]]), np.bincount(whole[row], cell.masses[row]).astype(float)) for row in rows]


def _halves(cells: Sequence[Atoms], parts: list[list[Progression]], step: float) -> tuple[Atoms, Atoms] | None:
    """Return the laws of two halves of the cells; None if they have too many sides."""
    order = sorted(range(len(cells)), key=lambda cell: -len(parts[cell]))
    half: list[list[int]] = [[], []]
    for cell in order:
        half[int(_sides(parts, half[0]) > _sides(parts, half[1]))].append(cell)
    lengths = [int(reach([cells[cell] for cell in each]) / step) + 2 * len(each) + 1 for each in half]
    if any(length * _sides(parts, each) > _NUMBERS for length, each in zip(lengths, half, strict=True)):
        return None
    first, second = (
        _sum_of_half([cells[cell] for cell in each], [parts[cell] for cell in each], step, length)
        for length, each in zip(lengths, half, strict=True)
    )
    return first, second


def _sides(parts: list[list[Progression]], cells: list[int]) -> int:
    return prod(len(parts[cell]) for cell in cells)


def _sum_of_half(cells: list[Atoms], parts: list[list[Progression]], step: float, length: int) -> Atoms:
    """Return the law of the sum of some cells, from the transforms of their progressions on all sides."""
    if not cells:
        return CERTAINLY_ZERO
    length, middle = fast_length(length), len(cells) // 2
    (left, some), (right, others) = _product_of_sides(parts[:middle], length), _product_of_sides(parts[middle:], length)
    offset = np.add.outer(some, others).ravel()
    whole = np.floor(offset).astype(np.intp)
    part = offset - whole
    order = np.argsort(part, kind="stable")
    # rows are lattice points and columns are sorted by offset, so that the values of the table increase
    table = np.empty((length + int(whole.max()) + 1, len(order)))
    for start in range(0, len(order), _TOGETHER):
        sides = order[start : start + _TOGETHER]
        at, beside = np.divmod(sides, len(right))
        shifted = np.zeros((len(sides), len(table)))
        waves = np.fft.irfft(left[at] * right[beside], length)
        for row, first, masses in zip(shifted, whole[sides], waves, strict=True):
            row[first : first + length] = masses
        table[:, start : start + len(sides)] = shifted.T
    masses = np.maximum(table, 0.0, out=table).ravel()
    lowest = sum(float(cell.values[0]) for cell in cells)
    values = np.add.outer(step * np.arange(len(table)), step * part[order] + lowest).ravel()
    kept = masses > _NEGLIGIBLE_MASS
    inside = slice(int(kept.argmax()), len(kept) - int(kept[::-1].argmax()))
    masses = masses[inside]
    masses /= masses.sum()
    return Atoms(values[inside], masses)


def _product_of_sides(parts: list[list[Progression]], length: int) -> tuple[Array, Floats]:
    """Return the products of the transforms (s, length // 2 + 1) on each side, and their offsets (s,)."""
    transform, offset = np.ones((1, length // 2 + 1), dtype=complex), np.zeros(1)
    for progressions in parts:
        waves = np.fft.rfft([_padded(each.masses, length) for each in progressions], length)
        transform = (transform[:, None] * waves).reshape(-1, waves.shape[1])
        offset = np.add.outer(offset, [each.offset for each in progressions]).ravel()
    return transform, offset


def _padded(masses: Floats, length: int) -> Floats:
    """Pad with zeros, or cut off what lies beyond the reach of the sum."""
    kept = np.zeros(length)
    kept[: len(masses)] = masses[:length]
    return kept


# Sums of any terms on a grid, all mass rounded up: one law that gives rigorous upper and lower tails.
#
# With M roundings S <= S_up < S + M * step, so P(S_up >= v + M * step) <= P(S >= v) <= P(S_up >= v). Splitting the mass
# between neighbouring grid points would keep the mean. But if the observed value is an atom of the law, half of that
# atom would then fall below it, and the p-value would be too small.

# Cells are rounded together if they have at most about this many combinations of counts that are not rare.
_COMBINATIONS_OF_GRID = 2**19
# The largest number of combinations plus grid points times roundings, which takes about half a second.
_GRID_NUMBERS = 2**25
# Grid points that are held in memory at once.
_HELD = 2**22
# Combinations that are rounded at once, so that they stay in the cache.
_GRID_TOGETHER = 2**14
# Points of the first and the second trial. The difference of upper and lower tail should shrink to about a quarter; if
# it does not, then single values have much mass, and no grid is fine enough.
_TRIALS = (2**12, 2**14)
_SHRINKS = 0.45
_TRIES = 3
# At most exp(-25) = 1.4e-11 of the mass lies beyond the grid. The grid does not depend on rarer counts than
# this, which rounding errors keep or leave out; beyond it they count as its end.
_GRID_BEYOND, _RARE = 25.0, 1e-13


def grid_sum(cells: Sequence[Atoms], tolerance: float) -> tuple[Atoms, float] | None:
    """Return the law of the sum, rounded up, and a bound of the rounding; None if `tolerance` costs too much."""
    often = [Atoms(each.values[kept], each.masses[kept]) for each in cells for kept in [each.masses > _RARE]]
    farthest, groups = -_few_digits(-reach(often, _GRID_BEYOND)), _grouped(cells)
    alone = [[cell] for cell in cells]
    trials = [
        _excess(_convolve(alone, farthest / points, points + len(cells) + 1), len(cells), tolerance)
        for points in _TRIALS
    ]
    if trials[1] > max(1.0, _SHRINKS * trials[0]):
        return None
    # the difference is in proportion to the roundings and their size
    step = 0.9 * farthest / _TRIALS[1] * len(cells) / (trials[1] * len(groups))
    combinations = sum(prod(len(cell.values) for cell in group) for group in groups)
    for _ in range(_TRIES):
        step = _few_digits(step)
        n_points = int(farthest / step) + len(groups) + 2
        if n_points * len(groups) + combinations > _GRID_NUMBERS:
            return None
        law = _convolve(groups, step, n_points)
        excess = _excess(law, len(groups), tolerance)
        if excess <= 1:
            return law, step * len(groups)
        step *= 0.8 / excess
    return None


def _few_digits(step: float) -> float:
    """Round down to eight binary digits: cells that differ by rounding errors then have the same grid."""
    fraction, exponent = frexp(step)
    return ldexp(floor(fraction * 2**8), exponent - 8)


def _grouped(cells: Sequence[Atoms]) -> list[list[Atoms]]:
    """Group the cells, wide ones first, each in the first group with room for it.

    Neither order nor room depends on rare counts.
    """
    groups: list[list[Atoms]] = []
    sizes: list[int] = []
    for cell in sorted(cells, key=lambda each: -each.variance):
        n_values = int(np.count_nonzero(cell.masses > _RARE))
        home = next((at for at, size in enumerate(sizes) if size * n_values <= _COMBINATIONS_OF_GRID), None)
        if home is None:
            groups.append([cell])
            sizes.append(n_values)
        else:
            groups[home].append(cell)
            sizes[home] *= n_values
    return groups


def _convolve(groups: list[list[Atoms]], step: float, n_points: int) -> Atoms:
    """Return the law of the sum of all groups, each rounded up to the grid."""
    length = fast_length(n_points)
    transform = np.ones(length // 2 + 1, dtype=complex)
    some = max(1, _HELD // n_points)
    for first in range(0, len(groups), some):
        grids = np.zeros((len(groups[first : first + some]), n_points))
        for grid, group in zip(grids, groups[first:], strict=False):
            _round_up(group, step, grid)
        transform *= np.prod(np.fft.rfft(grids, length), axis=0)
    masses: Floats = np.maximum(np.fft.irfft(transform, length), 0.0)
    lowest = sum(float(cell.values[0]) for group in groups for cell in group)
    return Atoms(lowest + step * np.arange(length, dtype=float), masses / masses.sum())


def _round_up(group: list[Atoms], step: float, grid: Floats) -> None:
    """Add the masses of the sum of a group, minus its smallest value and rounded up, to an empty grid."""
    values, masses, last = np.zeros(1), np.ones(1), group[-1]
    for cell in group[:-1]:
        values = np.add.outer(values, (cell.values - cell.values[0]) / step).ravel()
        masses = np.outer(masses, cell.masses).ravel()
    steps = (last.values - last.values[0]) / step
    n_rows = max(1, _GRID_TOGETHER // len(steps))
    for start in range(0, len(values), n_rows):
        rows = slice(start, start + n_rows)
        point = np.minimum(np.ceil(np.add.outer(values[rows], steps)).ravel(), len(grid) - 1).astype(np.intp)
        np.add.at(grid, point, np.outer(masses[rows], last.masses).ravel())


def _excess(law: Atoms, width: int, tolerance: float) -> float:
    """Return the largest difference of upper and lower tail, in units of the tolerance."""
    upper = np.cumsum(law.masses[::-1])[::-1]
    upper[:-width] -= upper[width:]
    return float(upper.max() / tolerance)
