"""Exact laws of the number of events in each cell, and draws of whole cells.

Given the predictions, the number of events among the rows of a cell is Poisson-binomial. Its probabilities are had
by a discrete Fourier transform of the characteristic function on a window that holds all but 1e-16 of the mass (Hong
2013, with the window and the pooling below added), so a replicate costs one table look-up a cell, whatever n. Cells of
rows that are almost certain have a way of their own (`rare_flips`).
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.nulls.pooled_rows import Points, pool
from calibstat.nulls.rare_flips import rare_laws

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
        variance = np.bincount(cells.index, chances * (1 - chances), minlength=cells.size)
        certain = rare_laws(chances, cells, variance)
        # frequencies are kept up to this abs(exp(i angle) - 1)
        largest = np.sqrt(2 * _NEGLIGIBLE / np.maximum(variance, _NEGLIGIBLE / 2))
        self.laws = [
            found or _law(points, float(spread))
            for found, points, spread in zip(certain, pool(chances, cells, largest), variance, strict=True)
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


def _law(points: Points, variance: float) -> tuple[int, Floats]:
    """Return the first count of the window and the probabilities of the counts in it."""
    mean, n = float(points.centre @ points.count), int(points.count.sum())
    # Bernstein's inequality: at most exp(-37) of the mass lies further out on either side.
    reach = _NEGLIGIBLE / 3 + np.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * variance)
    first, last = max(0, int(np.floor(mean - reach))), min(n, int(np.ceil(mean + reach)))
    width = last - first + 1
    length = fast_length(width)
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    # |characteristic function| <= exp(-variance * (1 - cos(angle)))
    kept = angles[variance * (1 - np.cos(angles)) <= _NEGLIGIBLE]
    transform = np.zeros(len(angles), dtype=complex)
    transform[: len(kept)] = _characteristic(points, kept, first)
    # irfft has the opposite sign of the exponent
    return first, np.maximum(np.fft.irfft(transform.conj(), length)[:width], 0.0)


def _characteristic(points: Points, angles: Floats, first: int) -> Array:
    """Return E exp(i * angle * (count - first)) at each angle.

    Rows of a group share a Taylor expansion to order 4, whose error in a probability is below 1e-16 for each row.
    """
    # |exp(i * angle) - 1|^2
    chord = 4 * np.sin(angles / 2) ** 2
    z = (1j * np.sin(angles) - chord / 2)[:, None]
    pooled = points.count > 1
    value = np.prod(1 + points.centre[~pooled] * z, axis=1)
    centre, count = points.centre[pooled], points.count[pooled]
    base = 1 + centre * z
    # |base|^2 - 1, and so the logarithm in two real parts, which is many times faster than that of complex numbers
    size = np.multiply.outer(-chord, centre * (1 - centre))
    # where the base (almost) vanishes so does its power; the expansion is not needed there
    vanishing = size < -1 + 1e-6
    if vanishing.any():
        base[vanishing], size[vanishing] = 1, 0
    slope = z / base
    second, third, fourth = points.moments[pooled].T
    series = slope * slope * (-second / 2 + slope * (third / 3 - slope * fourth / 4))
    turn = np.arctan2(base.imag, base.real) @ count - angles * first
    exponent = series.sum(axis=1) + np.log1p(size) @ (count / 2) + 1j * turn
    return np.where(vanishing.any(axis=1), 0.0, value * np.exp(exponent))


def fast_length(length: int) -> int:
    """Return the next length that is a small multiple of a power of two, for fast Fourier transforms."""
    power = 1 << max(0, (length - 1).bit_length() - 3)
    return -(-length // power) * power
