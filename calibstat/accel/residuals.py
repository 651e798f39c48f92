r"""Compiled sum over all pairs of residuals for the Gaussian kernel of predictions: O(n^2 K), O(n K) memory.

Of :math:`\langle e_i, e_j \rangle = [y_i = y_j] - p_i(y_j) - p_j(y_i) + \langle p_i, p_j \rangle` the last term is
known from the kernel's exponent. With rows sorted by label the others are the same for a whole block of columns, or
one number of each column, so that no second product of vectors is needed.

In units in which the kernel is :math:`2^{-|p - q|^2 / 2}`, with :math:`f_{ij} = \langle p_i, p_j \rangle - |p_j|^2/2`
and r the length of a chance of 1,

.. math:: k_{ij} = 2^{-|p_i|^2/2}\, 2^{f_{ij}}, \qquad r^2 \langle e_i, e_j \rangle =
          f_{ij} + (|p_j|^2/2 - r\, p_j(y_i)) + (r^2 [y_i = y_j] - r\, p_i(y_j)).
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numba import njit

from calibstat.accel.pieces import in_threads
from calibstat.accel.powers import power_of_two
from calibstat.accel.tiles import AT_ONCE, ROWS, products
from calibstat.accel.wide import LINE, lined_up, wide
from calibstat.arrays import Array, Bools, Floats, Ints

_COLUMNS = 256  # of a block: some twenty numbers for each of its rows stay in the fastest cache
_UNROLLED = 32  # columns that loops take in one step
_FEWEST_ROWS = 48  # of a class, on average: blocks do not reach from one label to the next
# 2^this is nothing beside 2^(any exponent), also of rows that are as unlike as possible.
_FAR = -1000.0
_LARGEST_EXPONENT = 900.0
# Products are rounded by 2e-16 of a chance of 1, however small they are. That is to be below 1e-12 of their sizes added
# up, so that ties stay ties; where predictions are sharp and right, it may not be.
_SMALLEST_SUM = 2e-4


def sums_of_labels(panels: Any, labels: Array, chances: Floats) -> Any:
    """Twin of `PanelSums.of_labels`, where rows are compared by their chances, at one bandwidth that is not tiny."""
    n, n_classes = chances.shape
    served = panels.kernel.compiled == "gaussian" and len(panels.bandwidths) == 1 and panels._kept is None
    if not served or n < _FEWEST_ROWS * n_classes or not np.array_equal(panels.features, chances):
        return NotImplemented
    unit = np.sqrt(np.log2(np.e)) / panels.bandwidths[0]
    labels = labels.astype(np.intp)
    codes, taken = _places(labels, n_classes)
    rows = np.zeros((len(codes), n_classes + -n_classes % AT_ONCE))
    rows[taken, :n_classes] = unit * chances[np.argsort(labels, kind="stable")]
    halves = 0.5 * (rows**2).sum(axis=1)
    errors = np.abs((labels[:, None] == np.arange(n_classes)) - chances)
    if halves.max() > _LARGEST_EXPONENT or _least_sum(errors, unit * chances) < _SMALLEST_SUM * n**2:
        return NotImplemented
    factors = np.where(taken, np.exp2(-halves), 0.0)
    columns = np.ascontiguousarray(rows.T)
    # all that is read of a column: its part of exponents, its chances, its part of products with rows of each label
    table = np.concatenate([np.where(taken, -halves, _FAR)[None], columns, halves - unit * columns[:n_classes]])

    def add(start: int, stop: int) -> float:
        block, exponents = lined_up(len(table), stop - start), lined_up(ROWS, stop - start)
        block[:] = table[:, start:stop]
        return float(_below(rows, codes, factors, unit, start, block, exponents))

    return np.array([2 * sum(in_threads(add, _blocks(codes))) / unit**2])


def _least_sum(errors: Floats, rows: Floats) -> float:
    """Return a lower bound for the sum of k_ij |e_ic e_jc| over pairs and classes, by Jensen's inequality."""
    masses = errors.sum(axis=0)
    shares = errors / np.maximum(masses, np.finfo(float).tiny)
    spreads = shares.T @ (rows**2).sum(axis=1) - ((shares.T @ rows) ** 2).sum(axis=1)
    return float(masses**2 @ np.exp2(-spreads) - (errors**2).sum())


def _places(labels: Ints, n_classes: int) -> tuple[Ints, Bools]:
    """Return the label of each place, whole lines for each label, and which places are taken by rows."""
    counts = np.bincount(labels, minlength=n_classes)
    room = counts + -counts % LINE
    codes = np.repeat(np.arange(n_classes), room)
    return codes, np.arange(len(codes)) < np.repeat(np.cumsum(room) - room + counts, room)


def _blocks(codes: Ints) -> list[tuple[int, int]]:
    """Cut the places of each label into blocks of about the same length."""
    borders = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    found = []
    for begin, end in pairwise(borders):
        parts = ceil((end - begin) / _COLUMNS)
        length = ceil((end - begin) / (parts * _UNROLLED)) * _UNROLLED
        found += [(start, min(start + length, end)) for start in range(begin, end, length)]
    return found


@njit(nogil=True, cache=True)
def _below(rows, codes, factors, unit, start, block, exponents):  # type: ignore[no-untyped-def]
    """Sum over j in the block of columns from `start` on, of one label, and all i > j."""
    wide()
    n_features, label, stop = rows.shape[1], codes[start], start + block.shape[1]
    columns, of_labels = block[1 : n_features + 1], block[n_features + 1 :]
    total = 0.0
    for i in range(start, len(rows), ROWS):
        width = min(i - start + ROWS, stop - start)
        width += -width % LINE
        products(rows, i, columns, block[0], exponents, width)
        if i < stop:
            for r in range(ROWS):
                exponents[r, i + r - start : width] = _FAR
        same = unit * unit if codes[i] == label else 0.0
        for r in range(ROWS):
            kernel, weighted = _add(exponents, r, of_labels, codes[i], width)
            total += factors[i + r] * (weighted + (same - unit * rows[i + r, label]) * kernel)
    return total


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _add(exponents, r, of_labels, label, width):  # type: ignore[no-untyped-def]
    """Return the sum of 2^exponent along row r, and of the same times exponent + number of the column for the label."""
    wide()
    exponent, part = exponents[r][:width], of_labels[label][:width]
    kernel, weighted = 0.0, 0.0
    for j in range(width):
        value = power_of_two(exponent[j])
        kernel += value
        weighted += value * (exponent[j] + part[j])
    return kernel, weighted
