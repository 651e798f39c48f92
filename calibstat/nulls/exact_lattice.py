"""Sums of terms that move in steps of one size, such as absolute differences: exact by fast Fourier transforms.

A term |count - expected| runs through one arithmetic progression below and one above its kink, with the same step but
offsets of its own. Given the side on which each cell falls, the sum lives on a lattice; all sides of half of the cells
are gone through at once, and the two halves meet in `ExactNull`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.nulls.exact_atoms import CERTAINLY_ZERO, Atoms, reach
from calibstat.nulls.poisson_binomial import fast_length

# Offsets closer than this share of a step are one: the rounding of counts below 10^7 stays under it.
_NOISE = 1e-8
# Remainders below this share of a divisor are none: its own rounding, so many times over. Whether all terms lie on the
# lattice is decided by the finer comparison above.
_REMAINDER = 1e-4
_OFFSETS = 2
# Masses below the rounding of the transforms are left out at both ends.
_NEGLIGIBLE = 1e-19
# Sides that are transformed back at once, so that they stay in the cache.
_TOGETHER = 32
_NUMBERS = 2**20
# The lattice of a common divisor may have so many points.
_POINTS = 2**19


@dataclass(frozen=True, eq=False)
class Progression:
    """The part of a cell's law on one arithmetic progression: offset + step * (0, 1, ...), with these masses."""

    offset: float
    masses: Floats


def lattice_halves(cells: Sequence[Atoms], largest_step: float) -> tuple[Atoms, Atoms] | None:
    """Return laws of two independent parts of the sum, or None if its terms lie on no small lattices.

    Parameters
    ----------
    cells : sequence of Atoms
        The law of the term of each cell.
    largest_step : float
        The largest difference between terms of consecutive counts, a candidate for the step.
    """
    for step in _candidates(cells, largest_step):
        found = [_progressions(cell, step) for cell in cells] if step else [None]
        progressions = [each for each in found if each is not None]
        if len(progressions) == len(found):
            halves = _halves(cells, progressions, step)
            if halves is not None:
                return halves
    return None


def _candidates(cells: Sequence[Atoms], largest_step: float) -> Iterator[float]:
    yield largest_step
    yield _common_divisor(cells)


def _common_divisor(cells: Sequence[Atoms]) -> float:
    """Return the step of the coarsest lattice that holds all terms, up to an offset for each; 0 if it is too fine."""
    least = reach(cells) / _POINTS
    divisor = 0.0
    for cell in cells:
        for difference in np.unique(np.diff(cell.values)):
            larger, smaller = max(divisor, difference), min(divisor, difference)
            while smaller > _REMAINDER * larger:
                larger, smaller = smaller, abs(larger - smaller * round(larger / smaller))
                if larger < least:
                    return 0.0
            divisor = float(larger)
    # long ranges know the divisor better than short differences
    for width in sorted(float(np.ptp(cell.values)) for cell in cells):
        divisor = width / round(width / divisor)
    return divisor


def _progressions(cell: Atoms, step: float) -> list[Progression] | None:
    """Split a cell's law by the offset of its terms from a lattice; None if there are too many offsets."""
    scaled = (cell.values - cell.values[0]) / step
    whole = np.floor(scaled + _NOISE).astype(np.intp)
    part = scaled - whole
    order = np.argsort(part)
    rows = np.split(order, np.flatnonzero(np.diff(part[order]) > _NOISE) + 1)
    if len(rows) > _OFFSETS or any(part[row[-1]] - part[row[0]] > _NOISE for row in rows):
        return None
    return [Progression(float(part[row[-1]]), np.bincount(whole[row], cell.masses[row]).astype(float)) for row in rows]


def _halves(cells: Sequence[Atoms], parts: list[list[Progression]], step: float) -> tuple[Atoms, Atoms] | None:
    """Go through the sides of either half, unless there are too many."""
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
    """Multiply the transforms of the progressions of all sides."""
    if not cells:
        return CERTAINLY_ZERO
    length, middle = fast_length(length), len(cells) // 2
    (left, some), (right, others) = _product(parts[:middle], length), _product(parts[middle:], length)
    offset = np.add.outer(some, others).ravel()
    whole = np.floor(offset).astype(np.intp)
    part = offset - whole
    order = np.argsort(part, kind="stable")
    # rows are lattice points and columns go by offset, so the table is sorted as it stands
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
    kept = masses > _NEGLIGIBLE
    inside = slice(int(kept.argmax()), len(kept) - int(kept[::-1].argmax()))
    masses = masses[inside]
    masses /= masses.sum()
    return Atoms(values[inside], masses)


def _product(parts: list[list[Progression]], length: int) -> tuple[Array, Floats]:
    """Return the product of transforms on each of the sides (s, length // 2 + 1), and the offsets (s,)."""
    transform, offset = np.ones((1, length // 2 + 1), dtype=complex), np.zeros(1)
    for progressions in parts:
        waves = np.fft.rfft([_cut(each.masses, length) for each in progressions], length)
        transform = (transform[:, None] * waves).reshape(-1, waves.shape[1])
        offset = np.add.outer(offset, [each.offset for each in progressions]).ravel()
    return transform, offset


def _cut(masses: Floats, length: int) -> Floats:
    """Pad with zeros, or leave out what lies beyond the reach of the sum."""
    kept = np.zeros(length)
    kept[: len(masses)] = masses[:length]
    return kept
