"""Kernels: how alike two predictions are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import EllipsisType
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import distances
from calibstat.data.arrays import NUMBERS_IN_CACHE, Floats, Ints
from calibstat.data.parameters import HasParameters
from calibstat.data.sample import Predictions

# Squared distances are computed from products where the rounding of these, 1e-16 of the squared lengths, is below
# 1e-10 of the squared bandwidth.
_ROUNDING_OF_SQUARES = 1e-6
# With more differences scipy gains time, although it takes longer to import than numpy. The distances are the same.
_MANY_DIFFERENCES = 2e7


class Kernel(HasParameters, ABC):
    """A positive definite kernel of the form profile(distance / bandwidth).

    Rows are probability vectors over all classes (both of them for two classes). A numeric variable x comes as the
    pair (-x, x), as the event of two classes does, and a categorical one as indicators of its levels.
    """

    in_messages: ClassVar[str] = "a kernel, such as GaussianKernel()"

    along_line: ClassVar[bool] = False
    """Whether the kernel is exp(-distance / bandwidth), with distances that add up along a line."""
    compiled: ClassVar[Literal["", "laplace", "gaussian"]] = ""
    """The name of its compiled form, where there is one."""

    @abstractmethod
    def distance(self, first: Floats, second: Floats) -> Floats:
        """Return the distances of all pairs of rows: (..., a, d), (..., b, d) -> (..., a, b)."""

    @abstractmethod
    def profile(self, ratio: Floats) -> Floats:
        """Return the kernel at each distance divided by the bandwidth."""

    @property
    def at_zero(self) -> float:
        """The kernel of a row with itself: its largest value."""
        return float(self.profile(np.zeros(1))[0])

    def matrices(self, first: Floats, second: Floats, bandwidths: tuple[float, ...]) -> list[Floats]:
        """Return the kernel of all pairs of rows, (..., a, b), at each bandwidth."""
        return self._profiles(self.distance(first, second), bandwidths)

    def _profiles(self, distance: Floats, bandwidths: tuple[float, ...]) -> list[Floats]:
        with np.errstate(over="ignore"):  # the kernel is zero at any distance that has no float
            return [self.profile(distance / bandwidth) for bandwidth in bandwidths]


@final
@dataclass(frozen=True)
class LaplaceKernel(Kernel):
    """exp(-TV / bandwidth), TV the total variation distance; for two classes and for a variable ``|x - x'|``.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.SKCE(0.5, kind="biased", kernel=cs.LaplaceKernel())(sample), 6)
    0.029039
    """

    along_line: ClassVar[bool] = True
    compiled = "laplace"

    def distance(self, first: Floats, second: Floats) -> Floats:
        """Return half the sum of absolute differences."""
        if first.ndim == 2 and scipy_gains(first.size * len(second)):
            return distances.cdist(0.5 * first, 0.5 * second, "cityblock")
        total = _sum_of_gaps(np.abs, first, second)
        total *= 0.5
        return total

    def profile(self, ratio: Floats) -> Floats:
        """Return exp(-ratio)."""
        found = np.negative(ratio)
        return np.exp(found, out=found)


@final
@dataclass(frozen=True)
class GaussianKernel(Kernel):
    """exp(-d^2 / (2 bandwidth^2)), d the Euclidean distance of the vectors; for two classes ``sqrt(2) |p - p'|``.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.SKCE(0.5, kind="biased", kernel=cs.GaussianKernel())(sample), 6)
    0.030102
    """

    compiled = "gaussian"

    def distance(self, first: Floats, second: Floats) -> Floats:
        """Return the root of the sum of squared differences."""
        if first.ndim == 2 and scipy_gains(first.size * len(second)):
            return distances.cdist(first, second)
        total = _sum_of_gaps(np.square, first, second)
        return np.sqrt(total, out=total)

    def profile(self, ratio: Floats) -> Floats:
        """Return exp(-ratio^2 / 2)."""
        return np.exp(-0.5 * ratio * ratio)

    def matrices(self, first: Floats, second: Floats, bandwidths: tuple[float, ...]) -> list[Floats]:
        """Return the kernel of all pairs; where rounding allows by ``-|x - y|^2 / 2 = x y - (|x|^2 + |y|^2) / 2``.

        That is one product of matrices, if two columns are added to each: the last two terms and ones.
        """
        norms = (first**2).sum(axis=-1), (second**2).sum(axis=-1)
        largest = max((float(norm.max()) for norm in norms if norm.size), default=0.0)
        least = min(bandwidths)
        if least * least < _ROUNDING_OF_SQUARES * largest:
            return self._profiles(self.distance(first, second), bandwidths)
        left = np.concatenate([first, -0.5 * norms[0][..., None], np.ones((*norms[0].shape, 1))], axis=-1)
        right = np.concatenate([second, np.ones((*norms[1].shape, 1)), -0.5 * norms[1][..., None]], axis=-1)
        found = []
        for bandwidth in bandwidths:
            exponent = (left / bandwidth / bandwidth) @ np.swapaxes(right, -1, -2)
            found.append(np.exp(exponent, out=exponent))
        return found


def scipy_gains(n_differences: float) -> bool:
    """Whether scipy computes distances: if it is loaded, or so many differences, which may be taken in parts, load it.

    The import takes as long as many differences, which scipy computes twice as fast.
    """
    if n_differences > _MANY_DIFFERENCES:
        distances.load("cdist")
    return "cdist" in vars(distances)


def _sum_of_gaps(size: np.ufunc, first: Floats, second: Floats) -> Floats:
    """Return the sum over columns of the size of the difference of each pair of rows: (..., n, m)."""
    n, m = first.shape[-2], second.shape[-2]
    total = np.zeros((*first.shape[:-1], m))
    step = max(1, NUMBERS_IN_CACHE // max(1, m)) if first.ndim == 2 else max(1, n)
    for start in range(0, n, step):
        some, part = first[..., start : start + step, :], total[..., start : start + step, :]
        for column in range(first.shape[-1]):
            gap = some[..., :, None, column] - second[..., None, :, column]
            part += size(gap, out=gap)
    return total


# A median among so many distances of each row is found by a sort.
_FEW_GAPS = 4
# The median of the distances is taken over the pairs of at most this many rows, evenly spaced in sorted order.
_ROWS_FOR_MEDIAN = 1000


def on_a_line(predictions: Predictions) -> bool:
    """Whether what is conditioned on is one column of numbers."""
    return len(predictions.keys) == 1 and not predictions.column(predictions.keys[0]).categorical


def features(predictions: Predictions) -> Floats:
    """Return rows (n, d) for kernels; beside other columns, a numeric variable is divided by its standard deviation."""
    return np.concatenate([_block(predictions, key) for key in predictions.keys], axis=1)


def _block(predictions: Predictions, key: str | int | EllipsisType) -> Floats:
    variable = predictions.column(key)
    if not isinstance(key, str):
        event = variable.values
        return np.stack([1 - event, event], axis=1) if predictions.n_classes == 2 else event[:, None]
    if variable.levels is not None:
        return (variable.values[:, None] == np.arange(len(variable.levels))).astype(float)
    values = variable.values
    if len(predictions.keys) > 1 and len(values):
        values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])  # squares of which are floats
        values = values / (values.std() or 1.0)
    return np.stack([-values, values], axis=1)


def median_distance(predictions: Predictions, rows: Floats, kernel: Kernel) -> float:
    """Return the median distance of pairs of rows (of different ones if more than half are equal; else one)."""
    order = sorted_rows(predictions, rows)
    n_rows = predictions.n_rows
    places = np.linspace(0, n_rows - 1, min(n_rows, _ROWS_FOR_MEDIAN)).round().astype(np.intp)
    if predictions.counts is not None:
        places = np.searchsorted(np.cumsum(predictions.counts[order]), places, side="right")
    some = rows[order[places]]
    if kernel.along_line and on_a_line(predictions):  # half the sum over columns, which differ by their sign
        return _median_gap(some[:, -1] * (some.shape[1] / 2)) or 1.0
    distances = kernel.distance(some, some)[np.tri(len(some), k=-1, dtype=bool)]
    if not len(distances):
        return 1.0
    median = float(np.median(distances))
    if median == 0 and distances.any():
        median = float(np.median(distances[distances > 0]))
    return median or 1.0


def _median_gap(line: Floats) -> float:
    """Return the median distance of pairs of sorted numbers (of those that differ if most are equal; zero if none do).

    Pairs at most so far apart are counted along the line, until few are left among which to look.
    """
    n, each = len(line), np.arange(len(line))

    def up_to(gap: float) -> Ints:
        return np.maximum(np.searchsorted(line, line + gap, side="right"), each + 1)

    near, far = each + 1, np.full(n, n)  # of the pairs of row i those from near[i] to far[i] are looked at
    pairs, equal = n * (n - 1) // 2, int((up_to(0.0) - near).sum())
    if equal == pairs:
        return 0.0
    left_out = equal if 2 * equal > pairs else 0
    ranks = (left_out + pairs - 1) // 2, (left_out + pairs) // 2
    low, high = -np.inf, float(line[-1] - line[0])
    middle = 0.0
    while (far - near).sum() > _FEW_GAPS * n and low < middle < high:
        found = up_to(middle)
        count = int((found - each - 1).sum())
        if count <= ranks[0]:
            low, near = middle, found
        elif count > ranks[1]:
            high, far = middle, found
        else:
            break
        middle = (max(low, 0.0) + high) / 2
    counts = far - near
    first = np.repeat(each, counts)
    second = np.arange(len(first)) + np.repeat(near - (np.cumsum(counts) - counts), counts)
    gaps = np.sort(line[second] - line[first])
    below = int((near - each - 1).sum())
    return float(gaps[ranks[0] - below] + gaps[ranks[1] - below]) / 2


def sorted_rows(predictions: Predictions, rows: Floats) -> Ints:
    """Sort rows by their last column, and where it has ties by those before it: (n,)."""
    if on_a_line(predictions):
        return predictions.order
    order = np.argsort(rows[:, -1], kind="stable")
    placed = rows[order, -1]
    return np.lexsort(rows.T) if (placed[1:] == placed[:-1]).any() else order
