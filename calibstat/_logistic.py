"""Logistic regression: log-odds, natural splines of them, and the one function that fits.

Neither statsmodels nor scikit-learn fits many replicates at once or penalises by a matrix, and with the same accuracy
they take 2 to 17 times as long (docs/dependencies.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import interpolate, special
from calibstat.data.arrays import Array, Bools, Floats, Ints
from calibstat.data.rounding import ROUNDING, SAME, SMALLEST_PROBABILITY

_HALVINGS = 30  # of a step, before it is too short to matter
_REACH = 32.0  # of a step, in log-odds of a row: further away likelihoods are straight, without any curvature
_PIECE = 2**14  # rows whose arrays stay in the cache


def pieces(n: int) -> Iterator[slice]:
    """Yield slices of n rows, so short that arrays of some tens of columns stay in the cache."""
    for first in range(0, n, _PIECE):
        yield slice(first, first + _PIECE)


def expit(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    return special.expit(x)


def logit(p: Floats) -> Floats:
    """Return log(p / (1 - p)); infinite at 0 and 1."""
    p = np.asarray(p, dtype=float)
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def clipped_logit(p: Floats) -> Floats:
    """Return log-odds of probabilities that are clipped to [1e-9, 1 - 1e-9]."""
    return logit(np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))


def certain(sure: Bools, masses: Floats) -> Bools:
    """Whether one of the rows that are `sure` (n,) counts, so that log-odds have no slope and no intercept: (...,)."""
    return np.asarray((sure & (masses > 0)).any(axis=-1))


@final
@dataclass(frozen=True, eq=False)
class LogisticFits:
    """Logistic regressions of R replicates: coefficients (R, d), and the largest log-likelihood less the penalty (R,).

    There `exists` a maximum unless outcomes are separated. Then the likelihood grows without end: coefficients are
    large and finite, and the value is its supremum up to rounding.
    """

    coefficients: Floats
    value: Floats
    exists: Bools


def fit_logistic(
    design: Floats,
    happened: Array,
    mass: Floats,
    *,
    beside: Floats | None = None,
    offset: Floats | float = 0.0,
    penalty: Floats | None = None,
    start: Floats | None = None,
) -> LogisticFits:
    r"""Fit P(event) = expit(offset + design @ b) to replicates by Newton's method with halved steps.

    .. math:: \max_b \sum_i m_i (y_i \ell_i - \log(1 + e^{\ell_i})) - b^\top P b / 2, \qquad \ell = o + X b

    Each replicate is fitted on its own: no bit depends on which others are there. Of columns that depend on each other
    the least combination is taken, so that columns of zeros get coefficients of zero.

    Shapes: the design is (n, d), outcomes or their chances (R, n), weights `mass` (n,) or (R, n), the offset (n,), the
    penalty P, positive semidefinite, (d, d), and the start (d,), by default zero. Further columns of the design may
    stand `beside` it, so that a large one need not be copied to take them.
    """
    columns = [np.ascontiguousarray(each.T) for each in (design, beside) if each is not None]
    n, d = len(design), sum(map(len, columns))
    matrix = np.zeros((d, d)) if penalty is None else penalty
    first = np.zeros(d) if start is None else start
    mass = np.broadcast_to(mass, happened.shape)
    size = max(1, 2**16 // max(n, 1))  # replicates whose arrays stay in the cache
    parts = [
        _fit_well(columns, happened[rows : rows + size], mass[rows : rows + size], offset, matrix, first)
        for rows in range(0, max(len(happened), 1), size)
    ]
    return LogisticFits(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _fit_well(
    columns: list[Floats], happened: Floats, mass: Floats, offset: Floats | float, penalty: Floats, start: Floats
) -> tuple[Floats, Floats, Bools]:
    """Fit, and once more with short steps where a step led so far that no other followed; return the better fits."""
    coefficients, value, exists, lost = _fit(columns, happened, mass, offset, penalty, start)
    rows = np.flatnonzero(lost)
    if len(rows):
        again = _fit(columns, happened[rows], mass[rows], offset, penalty, start, _REACH)
        better = again[1] > value[rows]
        rows = rows[better]
        coefficients[rows], value[rows], exists[rows] = (each[better] for each in again[:3])
    return coefficients, value, exists


def _fit(
    columns: list[Floats],
    happened: Floats,
    mass: Floats,
    offset: Floats | float,
    penalty: Floats,
    start: Floats,
    reach: float = np.inf,
) -> tuple[Floats, Floats, Bools, Bools]:
    """Return coefficients, values, whether there is a maximum, and whether a step led to where none follows."""

    def at(coefficients: Floats, rows: Ints | slice) -> tuple[Floats, Floats, Floats]:
        return _penalised(columns, coefficients, happened[rows], mass[rows], offset, penalty)

    coefficients, active = np.tile(start, (len(happened), 1)), np.arange(len(happened))
    value, gradient, curvature = at(coefficients, slice(None))
    exists, total = np.zeros(len(happened), dtype=bool), mass.sum(axis=-1)
    lost = np.zeros_like(exists)
    for _ in range(100):
        if not len(active):
            break
        rows = slice(None) if len(active) == len(happened) else active  # a slice copies nothing
        before, share = value[rows], np.ones(len(active))
        step, gain = _newton_step(gradient[rows], curvature[rows])
        promise = gain
        if reach < np.inf:
            part = 1 / np.maximum(_longest(step, columns, mass[rows]) / reach, 1.0)
            step, promise = part[:, None] * step, part * gain
        straight = (gain == 0) & (gradient[rows] != 0).any(axis=-1)
        moved = coefficients[rows] + step
        reached = at(moved, rows)
        for _ in range(_HALVINGS):
            # Less than that of what the slope promises is too far (Armijo); what rounding takes away is no reason.
            least = before + 1e-4 * share * promise - 1e-14 * np.abs(before)
            far = np.flatnonzero(~(reached[0] >= least))
            if not len(far):
                break
            share[far] /= 2
            moved[far] = coefficients[active[far]] + share[far, None] * step[far]
            for kept, found in zip(reached, at(moved[far], active[far]), strict=True):
                kept[far] = found
        coefficients[rows] = moved
        value[rows], gradient[rows], curvature[rows] = reached
        # A step that promises this little leaves an error of about its square; of a likelihood that tends to zero, as
        # where outcomes are separated, no share is small.
        done = gain <= 1e-14 * np.abs(reached[0]) + 1e-16 * total[rows]
        if done.any():
            # At a maximum such a step is short. Without one, it moves the nearest rows by one however far they are.
            exists[active[done]] = _longest(step[done], columns, mass[active[done]]) < 0.1
        # Whoever gains nothing by the shortest step stands at the supremum, besides rounding, or is lost.
        stays = share <= 0.5**_HALVINGS
        lost[active] = (straight | (stays & ~done)) & (value[active] < -ROUNDING * total[active])
        active = active[~done & ~stays]
    return coefficients, value, exists, lost


def _longest(step: Floats, columns: list[Floats], mass: Floats) -> Floats:
    """Return by how much the log-odds of the rows with weight move at most (R,)."""
    longest = np.zeros(len(step))
    for rows, part in _pieces(columns):
        moved = np.abs(np.where(mass[:, rows] > 0, _times_each(step, part), 0.0))
        np.maximum(longest, moved.max(axis=-1), out=longest)
    return longest


def _pieces(columns: list[Floats]) -> Iterator[tuple[slice, Floats]]:
    """Yield rows that stay in the cache, and all columns of theirs: (d, rows)."""
    for rows in pieces(columns[0].shape[1]):
        parts = [each[:, rows] for each in columns]
        yield rows, parts[0] if len(parts) == 1 else np.concatenate(parts)


def _penalised(
    columns: list[Floats], coefficients: Floats, happened: Floats, mass: Floats, offset: Floats | float, penalty: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return log-likelihoods less the penalty (R,), the gradients (R, d), and minus second derivatives (R, d, d)."""
    across = _times_each(coefficients, penalty)
    value, gradient = -(across * coefficients).sum(axis=-1) / 2, -across
    curvature = np.tile(penalty, (len(coefficients), 1, 1))
    for rows, part in _pieces(columns):
        target, weight = happened[:, rows], mass[:, rows]
        linear = _times_each(coefficients, part) + (offset if isinstance(offset, float) else offset[rows])
        small = np.exp(-np.abs(linear))
        total = 1 + small
        # The chance of the less likely outcome, with all its digits also where the other is almost certain.
        unlikely = small / total
        loss = np.maximum(linear, 0.0) - target * linear + np.log(total)
        residual = np.where(linear < 0, target - unlikely, unlikely - (1 - target))
        value -= (weight * loss).sum(axis=-1)
        gradient += _times_each(weight * residual, part.T)
        curvature += sums_of_products(part, weight * (unlikely / total))
    return value, gradient, curvature


def log_likelihood(linear: Floats, happened: Floats, mass: Floats) -> Floats:
    """Return the weighted log-likelihood of log-odds (..., n): (...,)."""
    softplus = np.maximum(linear, 0.0) + np.log(1.0 + np.exp(-np.abs(linear)))
    return (mass * (happened * linear - softplus)).sum(axis=-1)


def linear_predictor(design: Floats, coefficients: Floats) -> Floats:
    """Return design @ coefficients of each replicate: (R, n)."""
    return _times_each(coefficients, design.T)


def fisher_information(design: Floats, linear: Floats, mass: Floats) -> Floats:
    """Return the sums of mass p (1 - p) x x' at log-odds (R, n): (R, d, d)."""
    small = np.exp(-np.abs(linear))
    return sums_of_products(design.T, mass * (small / (1 + small) ** 2))


def sums_of_products(columns: Floats, mass: Floats) -> Floats:
    """Return the sums of mass x x' of columns (d, n) for masses (R, n): (R, d, d)."""
    total: Floats = np.zeros((len(mass), len(columns), len(columns)))
    for rows in pieces(columns.shape[1]):
        total += np.matmul(mass[:, None, rows] * columns[:, rows], columns[:, rows].T)
    return total


def _newton_step(gradient: Floats, curvature: Floats) -> tuple[Floats, Floats]:
    """Return the step (R, d), and what its slope promises to gain (R,)."""
    roots, _ = inverse_roots(curvature, 1e-13)
    along = np.matmul(gradient[:, None, :], roots)
    return np.matmul(roots, along.swapaxes(-1, -2))[..., 0], (along**2).sum(axis=(-2, -1))


def _times_each(rows: Floats, matrix: Floats) -> Floats:
    """Multiply each row (R, k) by a matrix (k, m) on its own: one product of all would round differently."""
    return np.matmul(rows[:, None, :], matrix)[:, 0]


def inverse_roots(matrices: Floats, least: float) -> tuple[Floats, int]:
    """Return A (R, d, d) with A A' a generalised inverse of each covariance, and the rank of the first.

    Directions with less than the share `least` of the largest variance, of columns scaled to equal ones, are none.
    """
    deviation = np.sqrt(np.maximum(np.diagonal(matrices, axis1=-2, axis2=-1), 0.0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(matrices / deviation[:, :, None] / deviation[:, None, :])
    kept = values > least * np.maximum(values.max(axis=-1, keepdims=True), 1e-300)
    factors = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return vectors * factors[:, None, :] / deviation[:, :, None], int(kept[0].sum())


def orthonormal(design: Floats) -> tuple[Floats, Floats]:
    """Return an orthogonal basis of mean squares 1 with ``basis == design @ transform``; dependent columns are zero."""
    n, d = design.shape
    basis, transform = np.zeros((d, n)), np.zeros((d, d))  # both by rows, which lie in one piece of memory
    for j in range(d):
        size = np.sqrt(np.mean(design[:, j] ** 2)) if n else 0.0
        if size == 0:
            continue
        column, combination = design[:, j] / size, np.eye(d)[j] / size
        for _ in range(2):  # twice is enough (Giraud et al. 2005)
            along = basis[:j] @ column / n
            column, combination = column - along @ basis[:j], combination - along @ transform[:j]
        left = np.sqrt(np.mean(column**2))
        if left > SAME:
            basis[j], transform[j] = column / left, combination / left
    return basis.T, transform.T


def made_orthonormal(columns: Floats) -> Floats:
    """Make columns (d, n) orthogonal, of mean squares 1, where they lie; those that depend on others are left out.

    What is returned, (m, n), is the first part of the memory that was given.
    """
    n, m = columns.shape[1], 0
    for column in columns:
        size = np.sqrt(np.mean(column**2)) if n else 0.0
        if size == 0:
            continue
        column = column / size
        for _ in range(2):  # twice is enough (Giraud et al. 2005)
            column = column - (columns[:m] @ column / n) @ columns[:m]
        left = np.sqrt(np.mean(column**2))
        if left > SAME:
            columns[m] = column / left
            m += 1
    return columns[:m]


# Natural cubic splines, given by their values at the knots: cubic between, linear beyond.


def natural_spline(values: Floats, knots: Floats) -> Floats:
    """Return (n, k) splines, of which number j is 1 at knot j and 0 at the others; a single knot gives a constant."""
    if len(knots) == 1:
        return np.ones((len(values), 1))
    spline = interpolate.CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    rows: Floats = spline(np.clip(values, knots[0], knots[-1]))
    low, high = values < knots[0], values > knots[-1]
    rows[low] += np.outer(values[low] - knots[0], spline(knots[0], 1))
    rows[high] += np.outer(values[high] - knots[-1], spline(knots[-1], 1))
    return rows


def roughness(knots: Floats) -> Floats:
    """Return the (k, k) matrix of the integral of the squared second derivative; straight lines have none."""
    if len(knots) < 3:
        return np.zeros((len(knots),) * 2)
    # The second derivative is linear between knots, so the integral is that of products of hat functions.
    bends = interpolate.CubicSpline(knots, np.eye(len(knots)), bc_type="natural")(knots, 2)
    widths = np.diff(knots)
    hats = np.diag((np.append(widths, 0) + np.append(0, widths)) / 3)
    hats += np.diag(widths / 6, 1) + np.diag(widths / 6, -1)
    return bends.T @ hats @ bends
