"""Sums of any terms on a grid, all mass rounded up: one law that gives rigorous upper and lower tails.

With M roundings S <= S_up < S + M * step, so P(S_up >= v + M * step) <= P(S >= v) <= P(S_up >= v). Splitting mass
between neighbouring grid points instead would keep the mean, but where the observed value is an atom of the law half
of that atom would fall below it, and the p-value would be too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from calibstat.arrays import Floats
from calibstat.nulls.exact_atoms import Atoms, reach
from calibstat.nulls.poisson_binomial import fast_length

# Cells with at most so many combinations of counts are rounded together.
_COMBINATIONS = 2**19
# Grid points times roundings, and combinations: about half a second.
_NUMBERS = 2**25
# Grid points of some groups that are held at once.
_HELD = 2**22
# Combinations that are rounded at once, so that they stay in the cache.
_TOGETHER = 2**14
# Points of the first and the second look. If the difference of upper and lower tail is not about a quarter at the
# second, then single values have much mass, and no grid is fine enough.
_LOOKS = (2**12, 2**14)
_SHRINKS = 0.45
_TRIES = 3
# At most exp(-25) = 1.4e-11 of the mass lies beyond the grid.
_BEYOND = 25.0


def grid_sum(cells: Sequence[Atoms], tolerance: float) -> tuple[Atoms, float] | None:
    """Return the law of the sum, rounded up, and by how much at most; None if bounds this close cost too much.

    Parameters
    ----------
    cells : sequence of Atoms
    tolerance : float
        The largest difference of upper and lower tail.
    """
    farthest, groups = reach(cells, _BEYOND), _grouped(cells)
    alone = [[cell] for cell in cells]
    looks = [
        _excess(_convolve(alone, farthest / points, points + len(cells) + 1), len(cells), tolerance)
        for points in _LOOKS
    ]
    if looks[1] > max(1.0, _SHRINKS * looks[0]):
        return None
    # the difference is in proportion to the roundings and their size
    step = 0.9 * farthest / _LOOKS[1] * len(cells) / (looks[1] * len(groups))
    combinations = sum(prod(len(cell.values) for cell in group) for group in groups)
    for _ in range(_TRIES):
        n_points = int(farthest / step) + len(groups) + 2
        if n_points * len(groups) + combinations > _NUMBERS:
            return None
        law = _convolve(groups, step, n_points)
        excess = _excess(law, len(groups), tolerance)
        if excess <= 1:
            return law, step * len(groups)
        step *= 0.8 / excess
    return None


def _grouped(cells: Sequence[Atoms]) -> list[list[Atoms]]:
    """Put cells together, large ones first, each into the first group that has room."""
    groups: list[list[Atoms]] = []
    sizes: list[int] = []
    for cell in sorted(cells, key=lambda each: -len(each.values)):
        n_values = len(cell.values)
        home = next((at for at, size in enumerate(sizes) if size * n_values <= _COMBINATIONS), None)
        if home is None:
            groups.append([cell])
            sizes.append(n_values)
        else:
            groups[home].append(cell)
            sizes[home] *= n_values
    return groups


def _convolve(groups: list[list[Atoms]], step: float, n_points: int) -> Atoms:
    """Round the sum of each group up, and multiply transforms."""
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
    """Add the mass of a sum of some terms, less its smallest value, to an empty grid."""
    values, masses, last = np.zeros(1), np.ones(1), group[-1]
    for cell in group[:-1]:
        values = np.add.outer(values, (cell.values - cell.values[0]) / step).ravel()
        masses = np.outer(masses, cell.masses).ravel()
    steps = (last.values - last.values[0]) / step
    n_rows = max(1, _TOGETHER // len(steps))
    for start in range(0, len(values), n_rows):
        rows = slice(start, start + n_rows)
        point = np.minimum(np.ceil(np.add.outer(values[rows], steps)).ravel(), len(grid) - 1).astype(np.intp)
        np.add.at(grid, point, np.outer(masses[rows], last.masses).ravel())


def _excess(law: Atoms, width: int, tolerance: float) -> float:
    """Return how often the tolerance goes into the difference of upper and lower tail, where that is most."""
    upper = np.cumsum(law.masses[::-1])[::-1]
    upper[:-width] -= upper[width:]
    return float(upper.max() / tolerance)
