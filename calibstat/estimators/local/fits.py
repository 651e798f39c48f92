"""Local polynomial fits as linear operators (Cleveland 1979; Cleveland & Grosse 1991, the conventions of cloess).

A fit at a point is linear in the outcomes, and all rows with one value of x have the same place in it. So sums over
*cells* of x suffice: exactly where each cell is one value, and with a small error where neighbours share a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats

# Numbers of a block of points and cells: they stay in the cache of most processors.
_NUMBERS = 2**16
# Points of a block at most: those that are near one another reach few of the cells.
_POINTS = 32
# Directions of a local design with less than this share of its weight are left out (pseudo-inverse).
_RCOND = 1e-10
# With a larger determinant, in units of the weight, there are none: d <= 3, and 1e-8 / 3^3 > 1e-10.
_SOUND = 1e-8
_TINY = np.finfo(float).tiny


@final
@dataclass(frozen=True, eq=False)
class LocalOperator:
    """Where to fit, from which cells.

    Parameters
    ----------
    points : (P,) floats
    centres : (M,) floats
        Place of each cell, increasing.
    widths : (P,) floats
        Half-width of the neighbourhood of each point.
    degree : {1, 2}
    """

    points: Floats
    centres: Floats
    widths: Floats
    degree: int

    def matrix(self, mass: Floats) -> Floats:
        """Return (P, M): the fit is this matrix times the weighted sums of the outcomes, cells having these masses."""
        found = np.zeros((len(self.points), len(self.centres)))
        for part, reached, powers in self._blocks():
            found[part, reached] = _first_rows(powers, mass[reached])
        return found

    def fit(self, mass: Floats, sums: Floats) -> Floats:
        """Fit replicates of masses (R, M) and sums (R, k, M): (R, k, P)."""
        values = np.empty((*sums.shape[:-1], len(self.points)))
        for part, reached, powers in self._blocks():
            for replicate, (weight, one) in enumerate(zip(mass, sums, strict=True)):
                values[replicate, :, part] = one[:, reached] @ _first_rows(powers, weight[reached]).T
        return values

    def _blocks(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        """Yield points in blocks, the cells they reach, and tricube weights times powers of the relative distance."""
        size = max(1, min(_POINTS, _NUMBERS // max(len(self.centres), 1)))
        rounding = 1e-12 * (self.centres[-1] - self.centres[0])
        for start in range(0, len(self.points), size):
            part = slice(start, start + size)
            points, widths = self.points[part, None], np.maximum(self.widths[part, None], max(rounding, _TINY))
            first = np.searchsorted(self.centres, (points - widths).min(), side="left")
            reached = slice(first, np.searchsorted(self.centres, (points + widths).max(), side="right"))
            gap = self.centres[reached] - points
            distance = np.abs(gap)
            if distance.min(initial=np.inf) < rounding:
                gap[distance < rounding] = distance[distance < rounding] = 0
            gap *= 1 / widths
            powers = [tricube(distance, widths)]
            for _ in range(2 * self.degree):
                powers.append(powers[-1] * gap)
            yield part, reached, powers


def tricube(distance: Floats, width: Floats) -> Floats:
    """Return (1 - (d/h)^3)^3, but 1 where d <= 0.001 h and 0 where d >= 0.999 h, as cloess does; h > 0."""
    relative = distance * (1 / width)
    weight = 1 - relative * relative * relative
    weight *= weight * weight
    np.putmask(weight, relative >= 0.999, 0)
    np.putmask(weight, relative <= 0.001, 1)
    return weight


def _first_rows(powers: list[Floats], mass: Floats) -> Floats:
    """Return the value at distance 0 of the weighted polynomial fit, as weights of sums: (P, M)."""
    degree = len(powers) // 2
    moments = np.stack([power @ mass for power in powers], axis=-1)
    first = _first_of_inverses(moments[:, np.add.outer(np.arange(degree + 1), np.arange(degree + 1))])
    rows = first[:, :1] * powers[0]
    for k in range(1, degree + 1):
        rows += first[:, k, None] * powers[k]
    return rows


def _first_of_inverses(normal: Floats) -> Floats:
    """Return the first row (P, d) of the pseudo-inverse of each matrix (P, d, d) of moments of distances up to 1."""
    # Eigenvalues are at most d times the weight, the first moment: these matrices have none that are left out.
    sound = np.linalg.det(normal) > _SOUND * normal[:, 0, 0] ** normal.shape[-1]
    first = np.empty(normal.shape[:-1])
    first[sound] = np.linalg.inv(normal[sound])[:, 0]
    if not sound.all():
        first[~sound] = np.linalg.pinv(normal[~sound], rcond=_RCOND, hermitian=True)[:, 0]
    return first


def nearest_widths(points: Floats, centres: Floats, mass: Floats, span: float, n: int) -> Floats:
    """Return the distance from each point within which lies a share `span` of the mass.

    With equal masses the distance of the q-th nearest row, q = floor(n span + 1e-5); with span > 1 the largest
    distance times the span (as R documents it for one variable). Where a tie lies just at that distance and nothing
    inside, the neighbourhood is a little wider, so that it holds the tie.
    """
    target = min(max(np.floor(n * span + 1e-5), 1.0), n) / n * mass.sum()
    # For a window that begins at a cell, the first cell at which it holds enough.
    sums = np.cumsum(mass)
    last = np.searchsorted(sums, sums - mass + target * (1 - 1e-9))
    ends = np.append(centres, np.inf)[last]
    # Further to the right its left end comes nearer and its right end goes away: the best is where the two are level.
    level = np.searchsorted(centres + ends, 2 * points)
    snap = 1e-12 * (centres[-1] - centres[0])
    width = np.full(len(points), np.inf)
    for begin in (np.maximum(level - 1, 0), np.minimum(level, len(centres) - 1)):
        reach = np.maximum(np.abs(points - centres[begin]), np.abs(ends[begin] - points))
        width = np.minimum(width, np.where(points < centres[begin], ends[begin] - points, reach))
    width[width < snap] = 0
    first = _nearest(points, centres[mass > 0])
    first[first < snap] = 0
    return np.where(first >= 0.999 * width, 1.01 * width, width) * max(span, 1.0)


def _nearest(points: Floats, centres: Floats) -> Floats:
    """Return the distance of each point to the nearest centre."""
    place = np.searchsorted(centres, points)
    sides = (centres[np.maximum(place - 1, 0)], centres[np.minimum(place, len(centres) - 1)])
    return np.minimum(np.abs(points - sides[0]), np.abs(points - sides[1]))


def error_scales(rows: Floats, mass: Floats) -> tuple[float, float]:
    r"""Return the two traces that turn residuals into standard errors.

    With L the (n, n) matrix of a fit, :math:`\delta_1 = \operatorname{tr} (I-L)^T(I-L)` and :math:`\delta_2` the trace
    of its square; the residual variance is RSS / delta_1 with delta_1^2 / delta_2 degrees of freedom.

    Parameters
    ----------
    rows : (M, M) floats
        `LocalOperator.matrix` at the centres themselves.
    mass : (M,) floats
        Number of rows of each cell.
    """
    # L acts on cell means; with unit vectors for cells it is symmetric in form, and the n - M other directions are
    # left alone by I - L.
    root = np.sqrt(mass)
    inner = root[:, None] * rows * root
    both = inner + inner.T - inner.T @ inner
    n, trace = mass.sum(), np.trace(both)
    return float(n - trace), float(n - 2 * trace + (both**2).sum())
