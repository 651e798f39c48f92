r"""Compiled sums over all pairs of rows for the Laplace and the Gaussian kernel: O(n^2 (d + C)), O(n) memory.

A block of columns stays in the cache while all rows below it pass, four at a time. For four rows and the block, three
things are computed: distances, by :math:`TV = \tfrac12 (\sum_k a_k + \sum_k b_k) - \sum_k \min(a_k, b_k)` or
:math:`|a - b|^2 = |a|^2 + |b|^2 - 2 ab`; kernel values, by powers of two; and one sum for each vector. All numbers have
double precision: observed values are compared with draws that come from matrix products, and ties must stay ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import ceil, prod
from typing import Any, Final, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial

from calibstat._threads import in_order, threads
from calibstat.data.arrays import Array, Bools, Floats, Ints

_COLUMNS = 224  # of a block, so that some thirty numbers for each stay in the fastest cache
# With more vectors than this, matrix products by tiles of kernel values are faster.
_MOST_VECTORS = 128
# With smaller bandwidths, relative to the longest row, the rounding of distances (1e-16 of its length or square) would
# be more than 1e-12 of the bandwidth or its square.
_SMALLEST_BANDWIDTH = {"laplace": 1e-3, "gaussian": 1e-2}


def panel_sums(panels: Any, vectors: Floats, power: int = 1) -> Any:
    """Twin of `PanelSums.__call__`, for few vectors, bandwidths that are not tiny, and kernel values not kept."""
    name, features = panels.kernel.compiled, panels.features
    kept = panels._kept is not None  # products with kept kernel values are faster
    if kept or not name or not 0 < len(vectors) <= _MOST_VECTORS or not features.size:
        return NotImplemented
    squares = (features**2).sum(axis=1)
    lengths = np.abs(features).sum(axis=1) if name == "laplace" else np.sqrt(squares)
    if min(panels.bandwidths) < _SMALLEST_BANDWIDTH[name] * lengths.max():
        return NotImplemented
    bandwidths = np.array(panels.bandwidths)
    exponents = -power * np.log2(np.e) / (bandwidths if name == "laplace" else 2 * bandwidths**2)
    offsets = 0.5 * features.sum(axis=1) if name == "laplace" else squares
    columns, values = _padded_to_lines(features.T), _padded_to_lines(vectors)
    rows = np.ascontiguousarray((1.0 if name == "laplace" else -2.0) * columns.T)
    factors = np.ascontiguousarray(values.T)
    table = np.concatenate([_padded_to_lines(offsets[None])[:1], columns, values])  # all that a column needs

    def add(start: int, stop: int) -> Floats:
        block, workspace = lined_up(len(table), stop - start), lined_up(2, ROWS, stop - start)
        block[:] = table[:, start:stop]
        return _below(name == "laplace", exponents, rows, table[0], factors, start, block, workspace)

    parts = in_threads(add, pieces(len(rows), _COLUMNS))
    return 2 * np.sum(parts, axis=0)[:, : len(vectors)]


def _padded_to_lines(rows: Floats) -> Floats:
    """Add zeros, which change no sum, so that rows are read in groups and columns in lines of the cache."""
    height, width = rows.shape
    return np.pad(rows.astype(float), ((0, -height % AT_ONCE), (0, -width % LINE)))


@njit(nogil=True, cache=True)
def _below(laplace, exponents, rows, offsets, factors, start, block, workspace):  # type: ignore[no-untyped-def]
    """Sum over j in the block of columns from `start` on and all i > j, for each exponent and vector: (J, C)."""
    wide()
    n_features, stop = rows.shape[1], start + block.shape[1]
    columns, vectors = block[1 : n_features + 1], block[n_features + 1 :]
    distances, values = workspace[0], workspace[1]
    totals = np.zeros((len(exponents), len(vectors)))
    for i in range(start, len(rows), ROWS):
        width = min(i - start + ROWS, stop - start)
        width += -width % LINE
        if laplace:
            without_minima(rows, i, columns, block[0], distances, width)
        else:
            products(rows, i, columns, block[0], distances, width)
        for m in range(len(exponents)):
            _powers(exponents[m], offsets, i, distances, values, width)
            if i < stop:
                for r in range(ROWS):
                    values[r, i + r - start : width] = 0.0
            _add_products(values, vectors, width, factors, i, totals, m)
    return totals


@njit(nogil=True, cache=True, fastmath={"contract"})
def _powers(exponent, offsets, i, distances, values, width):  # type: ignore[no-untyped-def]
    """Return 2^(exponent (offset of the row + distance)), at least 2^-1000."""
    wide()
    for r in range(ROWS):
        first, found, value = exponent * offsets[i + r], distances[r][:width], values[r][:width]
        for j in range(width):
            power = first + exponent * found[j]
            value[j] = power_of_two(-1000.0 if power < -1000.0 else power)


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _add_products(values, vectors, width, factors, i, totals, m):  # type: ignore[no-untyped-def]
    """Add to totals[m] the sums of each row's values with each vector, times the row's own number in it."""
    wide()
    for c in range(0, len(vectors), AT_ONCE):
        v0, v1, v2, v3, v4 = vectors[c], vectors[c + 1], vectors[c + 2], vectors[c + 3], vectors[c + 4]
        for r in range(ROWS):
            value = values[r][:width]
            s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(width):
                s0 += value[j] * v0[j]
                s1 += value[j] * v1[j]
                s2 += value[j] * v2[j]
                s3 += value[j] * v3[j]
                s4 += value[j] * v4[j]
            totals[m, c] += factors[i + r, c] * s0
            totals[m, c + 1] += factors[i + r, c + 1] * s1
            totals[m, c + 2] += factors[i + r, c + 2] * s2
            totals[m, c + 3] += factors[i + r, c + 3] * s3
            totals[m, c + 4] += factors[i + r, c + 4] * s4


# The compiled sum over all pairs of residuals for the Gaussian kernel of predictions: O(n^2 K), O(n K) memory.
#
# In :math:`\langle e_i, e_j \rangle = [y_i = y_j] - p_i(y_j) - p_j(y_i) + \langle p_i, p_j \rangle` the last term
# follows from the kernel's exponent. With rows sorted by label, each other term is the same for a whole block of
# columns, or one number for each column, so that no second product of vectors is needed.
#
# With units in which the kernel is :math:`2^{-|p - q|^2 / 2}`, with :math:`f_{ij} = \langle p_i, p_j \rangle -
# |p_j|^2/2` and r the length of a chance of 1,
#
# .. math:: k_{ij} = 2^{-|p_i|^2/2}\, 2^{f_{ij}}, \qquad r^2 \langle e_i, e_j \rangle =
#           f_{ij} + (|p_j|^2/2 - r\, p_j(y_i)) + (r^2 [y_i = y_j] - r\, p_i(y_j)).

_RESIDUAL_COLUMNS = 256  # of a block, so that some twenty numbers for each stay in the fastest cache
_UNROLLED = 32  # columns that loops take in one step
_FEWEST_ROWS = 48  # of a class, on average, since a block has columns of one label only
# 2^this is negligible beside 2^(any exponent), even for the most different rows.
_NO_PAIR = -1000.0
_LARGEST_EXPONENT = 900.0
# Products are rounded by 2e-16 of a chance of 1, however small they are. Ties stay ties if that is below 1e-12 of the
# sum of their sizes, which may fail where predictions are sharp and right.
_SMALLEST_SUM = 2e-4


def sums_of_labels(panels: Any, labels: Array, chances: Floats) -> Any:
    """Twin of `PanelSums.of_labels`, for rows compared by their chances with one bandwidth that is not tiny."""
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
    # all that a column needs: its part of exponents, its chances, and its part of products with rows of each label
    table = np.concatenate([np.where(taken, -halves, _NO_PAIR)[None], columns, halves - unit * columns[:n_classes]])

    def add(start: int, stop: int) -> float:
        block, exponents = lined_up(len(table), stop - start), lined_up(ROWS, stop - start)
        block[:] = table[:, start:stop]
        return float(_residuals_below(rows, codes, factors, unit, start, block, exponents))

    return np.array([2 * sum(in_threads(add, _blocks(codes))) / unit**2])


def _least_sum(errors: Floats, rows: Floats) -> float:
    """Return a lower bound for the sum of k_ij |e_ic e_jc| over pairs and classes, by Jensen's inequality."""
    masses = errors.sum(axis=0)
    shares = errors / np.maximum(masses, np.finfo(float).tiny)
    spreads = shares.T @ (rows**2).sum(axis=1) - ((shares.T @ rows) ** 2).sum(axis=1)
    return float(masses**2 @ np.exp2(-spreads) - (errors**2).sum())


def _places(labels: Ints, n_classes: int) -> tuple[Ints, Bools]:
    """Return the label of each place, in whole lines of the cache for each label, and which places have rows."""
    counts = np.bincount(labels, minlength=n_classes)
    room = counts + -counts % LINE
    codes = np.repeat(np.arange(n_classes), room)
    return codes, np.arange(len(codes)) < np.repeat(np.cumsum(room) - room + counts, room)


def _blocks(codes: Ints) -> list[tuple[int, int]]:
    """Cut the places of each label into blocks of about the same length."""
    borders = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    found = []
    for begin, end in pairwise(borders):
        parts = ceil((end - begin) / _RESIDUAL_COLUMNS)
        length = ceil((end - begin) / (parts * _UNROLLED)) * _UNROLLED
        found += [(start, min(start + length, end)) for start in range(begin, end, length)]
    return found


@njit(nogil=True, cache=True)
def _residuals_below(rows, codes, factors, unit, start, block, exponents):  # type: ignore[no-untyped-def]
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
                exponents[r, i + r - start : width] = _NO_PAIR
        same = unit * unit if codes[i] == label else 0.0
        for r in range(ROWS):
            kernel, weighted = _add_residuals(exponents, r, of_labels, codes[i], width)
            total += factors[i + r] * (weighted + (same - unit * rows[i + r, label]) * kernel)
    return total


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _add_residuals(exponents, r, of_labels, label, width):  # type: ignore[no-untyped-def]
    """Return the sum of 2^exponent along row r, and the sum of the same times (exponent + the column's part)."""
    wide()
    exponent, part = exponents[r][:width], of_labels[label][:width]
    kernel, weighted = 0.0, 0.0
    for j in range(width):
        value = power_of_two(exponent[j])
        kernel += value
        weighted += value * (exponent[j] + part[j])
    return kernel, weighted


# Tiles of pairs: four rows against a block of columns that stays in the cache, five features at a time.

ROWS: Final = 4
AT_ONCE: Final = 5
"""Features are padded with zeros to a multiple of this number."""


@njit(nogil=True, cache=True, fastmath={"contract"})
def products(rows, i, columns, offsets, found, width):  # type: ignore[no-untyped-def]
    """Write offsets[j] + sum_k rows[i + r, k] columns[k, j] into found[r, j], for r < 4 and j < width."""
    wide()
    x, y, z, w = found[0][:width], found[1][:width], found[2][:width], found[3][:width]
    for j in range(width):
        x[j] = y[j] = z[j] = w[j] = offsets[j]
    x_row, y_row, z_row, w_row = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    for k in range(0, len(columns), AT_ONCE):
        x0, x1, x2, x3, x4 = x_row[k], x_row[k + 1], x_row[k + 2], x_row[k + 3], x_row[k + 4]
        y0, y1, y2, y3, y4 = y_row[k], y_row[k + 1], y_row[k + 2], y_row[k + 3], y_row[k + 4]
        z0, z1, z2, z3, z4 = z_row[k], z_row[k + 1], z_row[k + 2], z_row[k + 3], z_row[k + 4]
        w0, w1, w2, w3, w4 = w_row[k], w_row[k + 1], w_row[k + 2], w_row[k + 3], w_row[k + 4]
        c0, c1, c2, c3, c4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(width):
            b0, b1, b2, b3, b4 = c0[j], c1[j], c2[j], c3[j], c4[j]
            x[j] = x[j] + x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3 + x4 * b4
            y[j] = y[j] + y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3 + y4 * b4
            z[j] = z[j] + z0 * b0 + z1 * b1 + z2 * b2 + z3 * b3 + z4 * b4
            w[j] = w[j] + w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3 + w4 * b4


@njit(nogil=True, cache=True, fastmath={"contract"})
def without_minima(rows, i, columns, offsets, found, width):  # type: ignore[no-untyped-def]
    """Write offsets[j] - sum_k min(rows[i + r, k], columns[k, j]) into found[r, j], for r < 4 and j < width."""
    wide()
    x, y, z, w = found[0][:width], found[1][:width], found[2][:width], found[3][:width]
    for j in range(width):
        x[j] = y[j] = z[j] = w[j] = offsets[j]
    x_row, y_row, z_row, w_row = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    for k in range(0, len(columns), AT_ONCE):
        x0, x1, x2, x3, x4 = x_row[k], x_row[k + 1], x_row[k + 2], x_row[k + 3], x_row[k + 4]
        y0, y1, y2, y3, y4 = y_row[k], y_row[k + 1], y_row[k + 2], y_row[k + 3], y_row[k + 4]
        z0, z1, z2, z3, z4 = z_row[k], z_row[k + 1], z_row[k + 2], z_row[k + 3], z_row[k + 4]
        w0, w1, w2, w3, w4 = w_row[k], w_row[k + 1], w_row[k + 2], w_row[k + 3], w_row[k + 4]
        c0, c1, c2, c3, c4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(width):
            b0, b1, b2, b3, b4 = c0[j], c1[j], c2[j], c3[j], c4[j]
            x[j] -= min(x0, b0) + min(x1, b1) + min(x2, b2) + min(x3, b3) + min(x4, b4)
            y[j] -= min(y0, b0) + min(y1, b1) + min(y2, b2) + min(y3, b3) + min(y4, b4)
            z[j] -= min(z0, b0) + min(z1, b1) + min(z2, b2) + min(z3, b3) + min(z4, b4)
            w[j] -= min(w0, b0) + min(w1, b1) + min(w2, b2) + min(w3, b3) + min(w4, b4)


# Instructions of the processor that numba does not offer: two additions at once, and prefetching memory.

_PAIR, _BYTES, _NUMBER = ir.VectorType(ir.DoubleType(), 2), ir.IntType(8).as_pointer(), ir.IntType(32)
# The number of rows to prefetch ahead, and of bytes in a line of the cache.
_AHEAD, _TOGETHER = 512, 64


def _at(context: Any, builder: Any, array: Any, where: Any) -> Any:
    """Return the address of an element of an array of this type."""
    return builder.gep(context.make_array(array)(context, builder, where[0]).data, [where[1]])


def _add_pair(context: Any, table: Any, spot: Any, first: Any, second: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Do ``table[spot] += first; table[spot + 1] += second``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.bitcast(_at(context, builder, signature.args[0], arguments), _PAIR.as_pointer())
        pair = ir.Constant(_PAIR, ir.Undefined)
        for position, number in enumerate(arguments[2:]):
            pair = builder.insert_element(pair, number, ir.Constant(_NUMBER, position))
        builder.store(builder.fadd(builder.load(place, align=8), pair), place, align=8)
        return context.get_dummy_value()

    return types.void(table, types.uint64, types.float64, types.float64), code


def _fetch(context: Any, column: Any, row: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Prefetch a row; it may lie beyond the array."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _NUMBER, _NUMBER, _NUMBER])
        place = builder.bitcast(_at(context, builder, signature.args[0], arguments), _BYTES)
        to_read, soon, data = (ir.Constant(_NUMBER, each) for each in (0, 3, 1))
        builder.call(builder.module.declare_intrinsic("llvm.prefetch", (_BYTES,), kind), [place, to_read, soon, data])
        return context.get_dummy_value()

    return types.void(column, types.int64), code


add_pair: Any = intrinsic(_add_pair)
fetch: Any = intrinsic(_fetch)


@njit(nogil=True, cache=True, inline="always")
def fetch_ahead(column, start, stop):  # type: ignore[no-untyped-def]
    """Prefetch the rows `_AHEAD` of these."""
    for row in range(start + _AHEAD, stop + _AHEAD, _TOGETHER // column.itemsize):
        fetch(column, row)


# The widest vectors of the processor, and memory aligned for them.

LINE: Final = 8
"""The number of doubles in a line of the cache, and in the widest vectors."""


def _wide(context: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Let the loops of this function use vectors of 512 bits if the processor has them; LLVM prefers 256.

    Loops with many multiplications for each number that they read become a third faster, others no faster.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        attributes = builder.function.attributes
        if isinstance(attributes, set):  # its own `add` takes only attributes without a value
            set.add(attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), code


wide: Any = intrinsic(_wide)


def lined_up(*shape: int) -> Floats:
    """Return zeros that begin at a line of the cache; if rows are whole lines, no vector then lies across two."""
    size = prod(shape)
    memory = np.zeros(size + LINE)
    start = -memory.ctypes.data // memory.itemsize % LINE
    return memory[start : start + size].reshape(shape)


# Powers of two, of many numbers at a time.

# The coefficients of 2^f for -1/2 <= f <= 1/2, with an error of 2e-14.
_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9 = (
    Chebyshev.interpolate(np.exp2, 9, domain=[-0.5, 0.5]).convert(kind=Polynomial).coef.tolist()
)
# A number to which this is added is rounded to an integer in its lowest bits.
_TO_INTEGER = 1.5 * 2.0**52


@njit(nogil=True, cache=True, fastmath={"contract"})
def power_of_two(power):  # type: ignore[no-untyped-def]
    """Return 2^power with an error of 2e-14, for powers from -1000 to 1000."""
    rounded = power + _TO_INTEGER
    f = power - (rounded - _TO_INTEGER)
    value = _C9 * f + _C8
    value = value * f + _C7
    value = value * f + _C6
    value = value * f + _C5
    value = value * f + _C4
    value = value * f + _C3
    value = value * f + _C2
    value = value * f + _C1
    value = value * f + _C0
    return as_float(as_integer(value) + (as_integer(rounded) << 52))


# The bits of a double as a whole number, and back.


def _as(found: Any, given: Any) -> tuple[Any, Any]:
    """Return the signature and the code of reading the bits of one type as another."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(arguments[0], context.get_value_type(found))

    return found(given), code


def _integer_of(context: Any, number: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Return the bits of a double."""
    return _as(types.int64, types.float64)


def _float_of(context: Any, bits: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Return the double that has these bits."""
    return _as(types.float64, types.int64)


as_integer: Any = intrinsic(_integer_of)
as_float: Any = intrinsic(_float_of)


# Work in pieces that do not depend on the number of threads.

T = TypeVar("T")
# Rows of one piece, enough work to be worth a thread.
ROWS_IN_A_PIECE = 2**18


def pieces(n: int, size: int = ROWS_IN_A_PIECE) -> list[tuple[int, int]]:
    """Cut 0..n into pieces [start, stop) of this size; there is at least one."""
    return [(start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def shares(n: int) -> list[tuple[int, int]]:
    """Cut 0..n into one piece for each thread, for work whose result does not depend on the cuts."""
    return pieces(n, max(ROWS_IN_A_PIECE, -(-n // threads())))


def in_threads(work: Callable[..., T], tasks: Iterable[tuple[int, ...]]) -> list[T]:
    """Return ``work(*task)`` for all tasks, in their order; kernels that release the GIL run side by side."""
    return list(in_order(lambda task: work(*task), tasks))
