"""Exact laws of the number of events in each cell, and draws of whole cells.

Given the predictions, the number of events among the rows of a cell is Poisson-binomial. Its probabilities are had
by a discrete Fourier transform of the characteristic function on a window that holds all but 1e-16 of the mass (Hong
2013, with the window and the pooling below added), so a replicate costs one table look-up a cell, whatever n. Cells of
rows that are almost certain have a way of their own (`rare_flips`).
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.estimators.tally import ratio
from calibstat.nulls.rare_flips import rare_laws

# Rows of a cell that lie in the same of 2048 steps of [0, 1] share a Taylor expansion about their mean. To order 4 its
# error in a probability is below 1e-16 for each row; groups of up to 8 rows are not pooled.
_STEPS = 2048
_POOL_ABOVE = 8
# exp(-37) = 1e-16: what is left out of the window and of the frequencies.
_NEGLIGIBLE = 37.0


class CellCounts:
    """The law of the number of events in each cell, cells being independent.

    Parameters
    ----------
    chances : (n,) floats in [0, 1]
        Chance of the event in each row.
    cells : Cells
    """

    def __init__(self, chances: Floats, cells: Cells) -> None:
        points = _pool(chances, cells)
        bounds = np.searchsorted(points[0], np.arange(cells.size + 1))
        variance = np.bincount(cells.index, chances * (1 - chances), minlength=cells.size)
        certain = rare_laws(chances, cells, variance)
        mean = np.bincount(cells.index, chances, minlength=cells.size)
        counts = np.bincount(cells.index, minlength=cells.size)
        self.laws = [
            found or _law([part[low:high] for part in points[1:]], int(counts[b]), mean[b], variance[b])
            for b, (found, low, high) in enumerate(zip(certain, bounds[:-1], bounds[1:], strict=True))
        ]

    def invert(self, uniforms: Floats) -> Ints:
        """Turn uniforms (R, L) into counts (R, L)."""
        counts = np.empty(uniforms.shape, dtype=np.intp)
        for cell, (first, masses) in enumerate(self.laws):
            cumulative = np.cumsum(masses)
            found = np.searchsorted(cumulative, uniforms[:, cell] * cumulative[-1], side="right")
            counts[:, cell] = first + np.minimum(found, len(masses) - 1)
        return counts


def poisson_binomial(chances: Floats) -> Floats:
    """Return the probabilities of 0, 1, ..., n events among independent rows.

    Examples
    --------
    >>> import numpy as np
    >>> poisson_binomial(np.array([0.5, 0.5])).round(12)
    array([0.25, 0.5 , 0.25])
    """
    cells = Cells(1, np.zeros(len(chances), dtype=np.intp), "fixed")
    first, masses = CellCounts(chances, cells).laws[0]
    whole = np.zeros(len(chances) + 1)
    whole[first : first + len(masses)] = masses
    return whole


def _pool(chances: Floats, cells: Cells) -> tuple[Ints, Floats, Floats, Floats]:
    """Pool nearly equal rows of a cell.

    Returns
    -------
    cell : (m,) ints
        The cell of each point, increasing.
    centre, count : (m,) floats
    moments : (m, 3) floats
        Sums of second, third and fourth powers of the distances to the centre.
    """
    step = np.minimum((chances * _STEPS).astype(np.intp), _STEPS - 1)
    keys, group = _groups(cells.index * _STEPS + step, cells.size * _STEPS)
    count = np.bincount(group, minlength=len(keys)).astype(float)
    centre = ratio(np.bincount(group, chances, minlength=len(keys)), count)
    single = count <= _POOL_ABOVE
    alone = single[group]
    distance = chances - centre[group]
    square = distance * distance
    powers = [np.bincount(group, power, minlength=len(keys)) for power in (square, square * distance, square * square)]
    kept = ~single
    cell = np.concatenate([keys[kept] // _STEPS, cells.index[alone]])
    order = np.argsort(cell, kind="stable")
    moments = np.zeros((len(cell), 3))
    moments[: kept.sum()] = np.stack(powers, axis=1)[kept]
    ones = np.ones(int(alone.sum()))
    return (
        cell[order],
        np.concatenate([centre[kept], chances[alone]])[order],
        np.concatenate([count[kept], ones])[order],
        moments[order],
    )


def _groups(keys: Ints, n_keys: int) -> tuple[Ints, Ints]:
    """Return group keys and the group of each row; without a sort unless most groups would be empty."""
    if n_keys <= 2**17 + 2 * len(keys):
        return np.arange(n_keys), keys
    return np.unique(keys, return_inverse=True)


def _law(points: list[Floats], n: int, mean: float, variance: float) -> tuple[int, Floats]:
    """Return the first count of the window and the probabilities of the counts in it."""
    # Bernstein's inequality: at most exp(-37) of the mass lies further out on either side.
    reach = _NEGLIGIBLE / 3 + np.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * variance)
    first, last = max(0, int(np.floor(mean - reach))), min(n, int(np.ceil(mean + reach)))
    width = last - first + 1
    angles = 2 * np.pi * np.arange(width // 2 + 1) / width
    # |characteristic function| <= exp(-variance * (1 - cos(angle)))
    kept = angles[variance * (1 - np.cos(angles)) <= _NEGLIGIBLE]
    transform = np.zeros(len(angles), dtype=complex)
    transform[: len(kept)] = np.exp(-1j * kept * first) * _characteristic(points, kept)
    # irfft has the opposite sign of the exponent
    return first, np.maximum(np.fft.irfft(transform.conj(), width), 0.0)


def _characteristic(points: list[Floats], angles: Floats) -> Floats:
    """Return E exp(i * angle * count) at each angle."""
    centre, count, moments = points
    z = np.exp(1j * angles)[:, None] - 1
    pooled = count > 1
    value = np.prod(1 + centre[~pooled] * z, axis=1)
    centre, count = centre[pooled], count[pooled]
    base = 1 + centre * z
    # |base|^2 - 1, and so the logarithm in two real parts, which is many times faster than that of complex numbers
    size = np.multiply.outer(2 * (np.cos(angles) - 1), centre * (1 - centre))
    # where the base (almost) vanishes so does its power; the expansion is not needed there
    vanishing = size < -1 + 1e-6
    if vanishing.any():
        base[vanishing], size[vanishing] = 1, 0
    slope = z / base
    second, third, fourth = moments[pooled].T
    series = slope * slope * (-second / 2 + slope * (third / 3 - slope * fourth / 4))
    exponent = series.sum(axis=1) + np.log1p(size) @ (count / 2) + 1j * (np.arctan2(base.imag, base.real) @ count)
    return np.where(vanishing.any(axis=1), 0.0, value * np.exp(exponent))
