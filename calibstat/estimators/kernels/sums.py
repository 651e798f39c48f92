r"""Sums over pairs of rows, :math:`\sum_{i \ne j} k(x_i, x_j)^m a_i a_j`, in three ways.

Along a line by a recursion in O(n); over all pairs in panels, so that the n x n matrix need not be held; inside blocks
of consecutive rows. Each takes many vectors a at once (classes, replicates) and knows several bandwidths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.kernels.functions import Kernel

# exp(300) squared times any sensible sum stays below the largest float.
_LONGEST_SEGMENT = 300.0
_PANEL_NUMBERS = 2**21
_MOST_ROWS_IN_A_PANEL = 512
_KEPT_NUMBERS = 2**25  # kernel values kept between batches of replicates: a quarter of a gigabyte
_BLOCK_NUMBERS = 2**20


class PairSums(ABC):
    """Sums over pairs of different rows.

    `rows` are the rows of the sample that take part, in the order in which the sums expect them.
    """

    rows: Ints
    n_bandwidths: int

    @abstractmethod
    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums of vectors (C, n) with the kernel to a power, for each bandwidth: (J, C)."""

    def pairs(self, weights: Floats) -> Floats:
        """Return the weight of all pairs, of weights (R, n): (R,); exactly zero for a single row despite rounding."""
        whole = weights.sum(axis=-1) ** 2
        weight = whole - (weights**2).sum(axis=-1)
        return np.where(weight > 1e-12 * whole, weight, 0.0)


@final
class LineSums(PairSums):
    r"""The Laplace kernel along a line: sorted, :math:`s_i = e^{-(x_i - x_{i-1})/\gamma} (s_{i-1} + a_{i-1})`.

    The recursion is a cumulative sum of :math:`a_i e^{x_i/\gamma}`; the line is cut into segments in which the
    exponential does not overflow.
    """

    def __init__(self, rows: Ints, values: Floats, bandwidths: tuple[float, ...]) -> None:
        self.rows = rows
        self.values = values[rows]
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)
        self._prepared: dict[float, tuple[Ints, Floats, Floats, Floats]] = {}

    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums along the line: (J, C)."""
        return np.stack([self._one(vectors, bandwidth / power) for bandwidth in self.bandwidths])

    def _segments(self, bandwidth: float) -> tuple[Ints, Floats, Floats, Floats]:
        """Return borders of segments, exponentials inside them, and what is left of a sum one segment later."""
        if bandwidth not in self._prepared:
            position = (self.values - self.values[0]) / bandwidth
            segment = np.floor(position / _LONGEST_SEGMENT)
            starts = np.concatenate([[0], np.flatnonzero(np.diff(segment)) + 1])
            borders = np.append(starts, len(position))
            local = position - np.repeat(position[starts], np.diff(borders))
            decay = np.exp(-np.diff(position[starts], append=np.inf))
            self._prepared[bandwidth] = borders, np.exp(local), np.exp(-local), decay
        return self._prepared[bandwidth]

    def _one(self, vectors: Floats, bandwidth: float) -> Floats:
        total, carry = np.zeros(len(vectors)), np.zeros(len(vectors))
        if not len(self.values):
            return total
        borders, up, down, decay = self._segments(bandwidth)
        for start, stop, left in zip(borders[:-1], borders[1:], decay, strict=True):
            lifted = vectors[:, start:stop] * up[start:stop]
            np.cumsum(lifted, axis=1, out=lifted)
            lowered = vectors[:, start:stop] * down[start:stop]
            total += carry * lowered.sum(axis=1)
            carry = (carry + lifted[:, -1]) * left
            lowered[:, 1:] *= lifted[:, :-1]
            total += lowered[:, 1:].sum(axis=1)
        return 2 * total


@final
class PanelSums(PairSums):
    """Any kernel over all pairs i < j: a matrix product for each panel of some rows i and all later rows j."""

    def __init__(self, kernel: Kernel, features: Floats, bandwidths: tuple[float, ...]) -> None:
        self.kernel = kernel
        self.features = features
        self.rows = np.arange(len(features))
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)
        self._kept: list[tuple[slice, slice, list[Floats]]] | None = None

    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums over all pairs: (J, C)."""
        total = np.zeros((self.n_bandwidths, len(vectors)))
        for first, second, panels in self._panels():
            left, right = vectors[:, first], vectors[:, second]
            for sums, panel in zip(total, panels, strict=True):
                product = left @ (panel if power == 1 else panel**power)
                product *= right
                sums += product.sum(axis=1)
        return 2 * total

    def _panels(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        if len(self.features) ** 2 / 2 * self.n_bandwidths > _KEPT_NUMBERS:
            return self._made()
        if self._kept is None:
            self._kept = list(self._made())
        return iter(self._kept)

    def _made(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        n = len(self.features)
        step = max(1, min(_MOST_ROWS_IN_A_PANEL, _PANEL_NUMBERS // max(n, 1)))
        for start in range(0, n, step):
            first, second = slice(start, min(start + step, n)), slice(start, n)
            distance = self.kernel.distance(self.features[first], self.features[second])
            panels = [self.kernel.profile(distance / bandwidth) for bandwidth in self.bandwidths]
            for panel in panels:
                panel[np.tril_indices(first.stop - start, m=panel.shape[1])] = 0.0
            yield first, second, panels


@final
class BlockSums(PairSums):
    """Any kernel over the pairs inside blocks of consecutive rows; a last partial block is left out."""

    def __init__(self, kernel: Kernel, features: Floats, bandwidths: tuple[float, ...], size: int) -> None:
        n = len(features)
        self.size = max(1, min(size, n))
        self.rows = np.arange(n // self.size * self.size)
        self.kernel = kernel
        self.features = features[self.rows].reshape(n // self.size, self.size, features.shape[1])
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)

    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums over pairs inside blocks: (J, C)."""
        total = np.zeros((self.n_bandwidths, len(vectors)))
        blocks = vectors.reshape(len(vectors), len(self.features), self.size).transpose(1, 0, 2)
        step = max(1, _BLOCK_NUMBERS // self.size**2)
        inner = np.arange(self.size)
        for start in range(0, len(blocks), step):
            some, rows = blocks[start : start + step], self.features[start : start + step]
            distance = self.kernel.distance(rows, rows)
            for sums, bandwidth in zip(total, self.bandwidths, strict=True):
                tile = self.kernel.profile(distance / bandwidth) ** power
                tile[:, inner, inner] = 0.0
                sums += ((some @ tile) * some).sum(axis=(0, 2))
        return total

    def pairs(self, weights: Floats) -> Floats:
        """Return the weight of all pairs inside blocks."""
        blocks = weights.reshape(len(weights), len(self.features), self.size)
        whole = blocks.sum(axis=-1) ** 2
        weight = whole - (blocks**2).sum(axis=-1)
        return np.where(weight > 1e-12 * whole, weight, 0.0).sum(axis=-1)
