"""Smooth calibration errors: distances to calibration that move little when the predictions move little."""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import ClassVar, final

import numpy as np
from scipy.fft import dct
from scipy.sparse import csc_array, csr_array

from calibstat._dataclass import dataclass
from calibstat.data.arrays import NUMBERS_IN_CACHE, ROWS_IN_CACHE, Array, Bools, Floats, Ints
from calibstat.data.parameters import Positive
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    ResidualForm,
    all_weights,
    between,
    happened,
    numeric_column,
    two_classes,
)
from calibstat.estimators.tally import ratio
from calibstat.estimators.walks import Ordered, WalkEvaluator, on_unit_interval

# A mesh is fine enough if the bandwidth covers this many of its intervals.
_FINE_ENOUGH = 8
_COARSEST = 1024
# With more rows than these the noise alone mostly needs the next mesh.
_ROWS_OF_MESHES = (50_000, 3_000_000)
# The logarithm of an error is found with this precision; of pooled rows, whose error moves more by pooling, with less.
_PRECISION, _OF_POOLED_ROWS = 1e-13, 1e-3


@final
@dataclass(frozen=True)
class SmoothCE(Estimator):
    r"""Smooth calibration error: the worst Lipschitz-weighted mean residual (Kakade & Foster 2008).

    .. math:: \max_w \frac1n \sum_i w(p_i) (y_i - p_i) \quad\text{over}\quad
              |w(p)| \le 1, \; |w(p) - w(q)| \le |p - q|

    in probability units. The value is computed exactly, and lies within factors of 2 of the lower distance to
    calibration (Blasiok, Gopalan, Hu & Nakkiran 2023). By duality of the linear programme it is a regression of the
    walk of residuals C (see `Kuiper`): on a range of predictions of length at most 2 the optimal flow is monotone, so
    that the value is

    .. math:: |C_n| + \min_h \sum_k (p_{(k+1)} - p_{(k)})\, |C_k - h_k|
              \quad\text{over monotone } h \text{ between } 0 \text{ and } C_n

    which takes O(n log n). Of a calibrated model it is positive, of order :math:`n^{-1/2}`: show it beside its null
    mean. It says little about errors that change sign within a short range. A variable is rescaled to its range. It is
    for two classes, with any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.SmoothCE()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.2575
    """

    quantity: ClassVar[str] = "worst mean residual over weights that are 1-Lipschitz in the prediction (smooth CE)"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and measure the gaps between predictions."""
        ordered = Ordered(self, predictions)
        places = on_unit_interval(predictions, ordered.values)
        return WalkEvaluator(ordered, partial(_flow_distance, gaps=np.diff(places)))


def _flow_distance(walk: Floats, gaps: Floats) -> Floats:
    """Return the smooth error of walks (..., L + 1), given the gaps (L - 1,) between predictions."""
    end = walk[..., -1]
    if not len(gaps):
        return np.abs(end)
    upward = walk[..., 1:-1] * np.where(end < 0, -1.0, 1.0)[..., None]
    between = np.clip(upward, 0.0, np.abs(end)[..., None])
    outside = (np.abs(upward - between) * gaps).sum(axis=-1)
    return np.abs(end) + outside + isotonic_median_distance(between, gaps)


@final
@dataclass(frozen=True)
class SmoothECE(Estimator):
    r"""Smooth ECE: the mean absolute residual after smoothing with a bandwidth equal to it (Blasiok & Nakkiran 2024).

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i (y_i - p_i)\, K_\sigma(t, p_i) \Big| dt,
              \qquad \mathrm{smECE} = \mathrm{smECE}_{\sigma^*} = \sigma^*

    in probability units, with the Gaussian kernel reflected at 0 and 1, and the only bandwidth that equals the error.
    The value is at least half the lower distance to calibration and at most twice its root (their Theorem 9).

    The reflected kernel is the heat kernel of [0, 1], so that smoothing is a cosine transform. Residuals are split
    among the four nearest of M + 1 nodes of a mesh (cubic interpolation) and damped, which takes
    :math:`O(n + M \log M)`. M grows from 1024 to 65536 until :math:`\sigma^* \ge 8 / M`; the relative error is then
    below 1e-5. Values below 1.2e-4 have an absolute error below 1.2e-4.

    Of a calibrated model it is positive (about 0.07, 0.03, 0.014 for n = 100, 1000, 10000): show it beside its null
    mean. It smooths away errors that change sign within a short range. A variable instead of the prediction is
    rescaled to its range. It is for two classes, with any weights.

    Parameters
    ----------
    bandwidth : float, optional
        A fixed bandwidth instead of the fixed point (at least 1.2e-4 for full accuracy).

    Raises
    ------
    ValueError
        If `bandwidth` is not positive and finite.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [i / 10 + 0.05 for i in range(10)])
    >>> round(cs.SmoothECE()(sample), 5), round(cs.SmoothECE(bandwidth=0.1)(sample), 5)
    (0.10912, 0.1166)
    """

    bandwidth: Positive | None = None
    quantity: ClassVar[str] = "mean absolute residual after smoothing over the prediction (smooth ECE)"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """A seminorm of the residuals with a fixed bandwidth; otherwise a function of them."""
        return "function" if self.bandwidth is None else "seminorm"

    @property
    def noise_form(self) -> SmoothECE:
        """Itself: with its own bandwidth, too, there is a triangle inequality, though no norm.

        Let a > b be the values of r and s. As the error falls with the bandwidth, that of s at a is at most b, hence
        a - b is at most the error of r - s at a. If a is at least the value of r - s, so is that error at most; if not,
        a - b <= a is below it.
        """
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Place the predictions on [0, 1]."""
        two_classes(self, predictions)
        places = on_unit_interval(predictions, numeric_column(self, predictions))
        return _HeatEvaluator(predictions, places, self.bandwidth)


class _HeatEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, places: Floats, bandwidth: float | None) -> None:
        self.predictions = predictions
        self.places = places
        self.bandwidth = bandwidth
        self.meshes: dict[int, Mesh] = {}
        self.coarsest = _COARSEST * 4 ** sum(len(places) > rows for rows in _ROWS_OF_MESHES)
        self.finest, self.precision = FINEST, _PRECISION
        if predictions.counts is not None and len(places) > _FEW:  # a finer mesh would show the places of pooled rows
            self.coarsest = self.finest = 2 ** (len(places) - 1).bit_length()
            self.precision = _OF_POOLED_ROWS

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self._smooth(happened(outcomes) - self.predictions.event, all_weights(self.predictions, weights))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(signed=self._signed)

    def _signed(self, outcomes: Array, signs: Array) -> Floats:
        residual = (happened(outcomes) - self.predictions.event) * signs
        return self._smooth(residual, all_weights(self.predictions, None))

    def _smooth(self, residual: Floats, mass: Floats) -> Floats:
        total = np.asarray(mass.sum(axis=-1))
        residual = residual * ratio(mass, total[..., None], empty=np.nan)
        if not len(self.places):
            return np.full(residual.shape[:-1], np.nan)
        rows = residual.reshape(-1, residual.shape[-1])
        values = self._blocks(rows, self.coarsest).reshape(residual.shape[:-1])
        return np.where(np.broadcast_to(total, values.shape) > 0, values, np.nan)

    def _blocks(self, residual: Floats, n_nodes: int) -> Floats:
        size = max(1, NUMBERS_IN_CACHE // n_nodes)
        starts = range(0, len(residual), size)
        return np.concatenate([self._block(residual[start : start + size], n_nodes) for start in starts])

    def _block(self, residual: Floats, n_nodes: int) -> Floats:
        """Evaluate residuals (R, n); replicates that need a finer mesh are evaluated again on a finer one."""
        mesh = self._mesh(n_nodes)
        if self.bandwidth is not None:
            values = mesh.smoothed(mesh.spread(residual), np.full(len(residual), self.bandwidth))
            unsettled = np.full(len(residual), self.bandwidth * n_nodes < _FINE_ENOUGH)
        else:
            values = fixed_point(mesh, mesh.spread(residual), self.precision)
            unsettled = values * n_nodes < _FINE_ENOUGH
        if n_nodes < self.finest and unsettled.any():
            values[unsettled] = self._blocks(residual[unsettled], 4 * n_nodes)
        return values

    def _mesh(self, n_nodes: int) -> Mesh:
        if n_nodes not in self.meshes:
            self.meshes[n_nodes] = Mesh(self.places, n_nodes)
        return self.meshes[n_nodes]


# Smoothing on [0, 1] with a Gaussian kernel reflected at both ends: the heat equation on a mesh.

# Intervals of the finest mesh.
FINEST = 65536
_FEW = 256  # places of counts that are predictions themselves, such as scores of two digits
_MOST_HALVINGS = 80
_NOTHING = -80.0  # the logarithm of a share that does not count; much smaller numbers would slow arithmetic down
_SLACK = 0.5  # for the error of a mesh that is too coarse, in a logarithm
_GUESSES = 16  # bandwidths of which one is near the error
_HEIGHT_OF_NOISE = math.sqrt(2 / math.pi)  # the mean size of normal noise, in standard deviations
# The shares of a point in the nodes around it: powers of its distance x to the one below, by cubic interpolation.
_SHARES = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6


class Mesh:
    """A mesh of M + 1 nodes on [0, 1], on which points (n,) are split among the four nodes around each."""

    def __init__(self, places: Floats, n_cells: int) -> None:
        self.places, self.n_cells = places, n_cells
        # Smoothing multiplies the k-th cosine by exp(-(pi k sigma)^2 / 2).
        self.decay = 0.5 * (np.pi * np.arange(n_cells + 1)) ** 2

    @cached_property
    def splitting(self) -> csc_array:
        """(M + 1, n) the shares of points in nodes, mirrored at the ends."""
        first, x = self._located(slice(None))
        shares = (_SHARES @ x ** np.arange(4)[:, None]).T
        nodes = first[:, None] + np.arange(-1, 3)
        nodes = self.n_cells - np.abs(self.n_cells - np.abs(nodes))
        starts = 4 * np.arange(len(x) + 1)
        rows = csr_array((shares.ravel(), nodes.ravel(), starts), shape=(len(x), self.n_cells + 1))
        return rows.T

    def _located(self, rows: slice) -> tuple[Ints, Floats]:
        """Return the node below some points, and how far above it they are, in intervals."""
        x = self.places[rows] * self.n_cells
        first = np.minimum(x.astype(np.intp), self.n_cells - 1)
        x -= first
        return first, x

    def spread(self, masses: Floats) -> Floats:
        """Put masses (R, n) on the nodes, and return their cosine coefficients (R, M + 1)."""
        alone = len(masses) == 1  # its points are gone through once, which takes less time than to write shares down
        nodes = self._split(masses[0])[None] if alone else np.ascontiguousarray((self.splitting @ masses.T).T)
        nodes[:, [0, -1]] *= 2  # an end node also represents its mirror image
        return dct(nodes, type=1, axis=1) / 2

    def _split(self, masses: Floats) -> Floats:
        """Split masses (n,) among the nodes, by sums of each interval: of masses times powers of the distance."""
        size, powers = max(ROWS_IN_CACHE, self.n_cells), np.zeros((4, self.n_cells))
        for start in range(0, len(masses), size):
            rows = slice(start, start + size)
            first, x = self._located(rows)
            some = masses[rows]
            for sums in powers:
                sums += np.bincount(first, some, minlength=self.n_cells)
                some = some * x
        nodes = np.zeros(self.n_cells + 3)
        for i, share in enumerate(_SHARES @ powers):
            nodes[i : i + self.n_cells] += share
        nodes[2] += nodes[0]
        nodes[-3] += nodes[-1]
        return nodes[1:-1]

    @cached_property
    def guesses(self) -> tuple[Floats, Floats]:
        """Logarithms (S,) of bandwidths, and what each multiplies squared coefficients (M + 1, S) by."""
        places = np.linspace(-math.log(2 * self.n_cells), 0.1, _GUESSES)
        damping = np.exp(np.maximum(np.multiply.outer(self.decay, -2 * np.exp(2 * places)), _NOTHING))
        damping[1:] *= 2
        return places, damping

    def guess(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return about where the logarithm of the error (R,) is, and the slope there, as if residuals were noise.

        The integral of the square, which these bandwidths have in common, then tells that of the absolute value.
        """
        places, damping = self.guesses
        with np.errstate(divide="ignore"):
            height = np.log(_HEIGHT_OF_NOISE**2 * (coefficients**2 @ damping)) / 2 - places
        after = np.argmax(height < 0, axis=1).clip(1)
        low, high = (np.take_along_axis(height, each[:, None], axis=1)[:, 0] for each in (after - 1, after))
        slope = np.maximum(high - low, -1e3) / (places[1] - places[0])
        return places[after - 1] - low / slope, np.minimum(slope, -1.0)

    def smoothed(self, coefficients: Floats, bandwidth: Floats) -> Floats:
        """Return the integral (R,) of the absolute value of the masses smoothed with bandwidths (R,)."""
        wide = np.minimum(bandwidth, 1e100)  # squares of which are floats; all is smooth long before
        damped = np.multiply.outer(-(wide**2), self.decay)
        np.exp(np.maximum(damped, _NOTHING, out=damped), out=damped)
        damped *= coefficients
        return _integral_of_absolute(dct(damped, type=1, axis=1, overwrite_x=True), self.n_cells)


def fixed_point(mesh: Mesh, coefficients: Floats, precision: float) -> Floats:
    """Find the bandwidth (R,) that equals its integral, by secants of logarithms.

    The logarithm of integral over bandwidth falls by one or more for each unit of that of the bandwidth (of noise by
    about 1.5). So the root lies between a point and that point plus the height there. Where the height is below
    `precision`, a last step is taken without looking. (On a coarse mesh the height may jump over zero.)
    """
    found, rows = np.zeros(len(coefficients)), np.flatnonzero((coefficients**2).sum(axis=1) > 0)
    coefficients = coefficients[rows]  # without residuals the bandwidth is zero
    place, slope = mesh.guess(coefficients)
    before = last = low = high = np.full(len(rows), np.nan)
    for _ in range(_MOST_HALVINGS):
        with np.errstate(divide="ignore"):
            height = np.log(mesh.smoothed(coefficients, np.exp(place))) - place
        if np.isnan(low).all():
            low, high = place + np.minimum(height, 0) - _SLACK, place + np.maximum(height, 0) + _SLACK
        else:
            low, high = np.where(height > 0, place, low), np.where(height > 0, high, place)
            moved = place - before
            slope = np.minimum(np.divide(height - last, moved, out=slope, where=moved != 0), -1.0)
        before, last, place = place, height, place - height / slope
        place = np.where((low <= place) & (place <= high), place, (low + high) / 2)
        found[rows] = np.exp(place)
        going = np.flatnonzero((np.abs(height) > precision) & (high - low > precision))
        if not len(going):
            break
        rows, coefficients = rows[going], coefficients[going]
        before, last, place, slope, low, high = (each[going] for each in (before, last, place, slope, low, high))
    return found


def _integral_of_absolute(nodes: Floats, n_cells: int) -> Floats:
    """Return the integral (R,) of the absolute value of a smooth function, even at both ends, from nodes (R, M + 1).

    The trapezoidal rule is exact except at kinks; a zero at z = (j + u) h adds h^2 |f'(z)| (u^2 - u + 1/6), by the
    Euler-Maclaurin formula from both sides.
    """
    size = np.abs(nodes)
    trapezoid = size.sum(axis=1) - (size[:, 0] + size[:, -1]) / 2
    negative = nodes < 0
    places = np.flatnonzero(negative[:, 1:] != negative[:, :-1])
    row = places // n_cells
    places += row  # among all nodes
    j = places - row * (n_cells + 1)
    flat = nodes.ravel()
    before, after = flat.take(places), flat.take(places + 1)
    u = before / (before - after)
    # Twice the derivative times the step at both nodes; at the ends it is zero, by symmetry.
    slope = (1 - u) * (j > 0) * (after - flat.take(places - 1, mode="clip"))
    slope += u * (j < n_cells - 1) * (flat.take(places + 2, mode="clip") - before)
    kinks = np.abs(slope) * (u * u - u + 1 / 6) / 2
    return (trapezoid + np.bincount(row, kinks, minlength=len(nodes))) / n_cells


def isotonic_median_distance(values: Floats, weights: Floats) -> Floats:
    r"""Return the weighted absolute distance (...,) of sequences (..., m) from the nearest non-decreasing ones.

    .. math:: \min_h \sum_k d_k |a_k - h_k| \quad\text{over}\quad h_1 \le h_2 \le \dots \le h_m

    with weights d (m,) that are not negative, by partitioning (Stout 2013). Positions whose fit lies above the median
    of the candidates form the upper end of their segment, which one running sum finds; both ends are then segments
    with half the candidates. All sequences together take O(m log m) each.
    """
    if not values.size:
        return np.zeros(values.shape[:-1])
    rows = values.reshape(-1, values.shape[-1])
    n_rows, size = rows.shape
    order = np.argsort(rows, axis=1, kind="stable")
    rank = np.empty((n_rows, size), dtype=np.int32)
    np.put_along_axis(rank, order, np.arange(size, dtype=np.int32)[None], axis=1)
    low, high = np.zeros_like(rank), np.full_like(rank, size - 1)
    for _ in range((size - 1).bit_length()):
        middle = (low + high) >> 1
        above = _upper_ends(rank > middle, weights, _starts_of_segments(low))
        above &= low < high
        low, high = np.where(above, middle + 1, low), np.where(above, high, np.maximum(middle, low))
    fit = np.take_along_axis(rows, np.take_along_axis(order, low.astype(np.intp), axis=1), axis=1)
    return (np.abs(rows - fit) * weights).sum(axis=1).reshape(values.shape[:-1])


def _starts_of_segments(low: Array) -> Ints:
    """Return where segments begin in the flattened array: at rows, and where the candidates change."""
    new = np.ones(low.shape, dtype=bool)
    np.not_equal(low[:, 1:], low[:, :-1], out=new[:, 1:])
    return np.flatnonzero(new)


def _upper_ends(above: Bools, weights: Floats, starts: Ints) -> Bools:
    """Return the upper end (R, m) of each segment that disagrees least, by weight, with `above`."""
    gain = np.where(above, weights, -weights)
    sums = np.cumsum(gain, axis=1).ravel()
    before = sums[starts] - gain.ravel()[starts]
    least = np.minimum.reduceat(sums, starts)
    lengths = np.diff(starts, append=len(sums))
    # The lower end reaches to the first place with the least sum; it is empty if that is the start of the segment.
    hit = np.flatnonzero(sums == np.repeat(least, lengths))
    segment = np.searchsorted(starts, hit, side="right") - 1
    first = np.ones(len(hit), dtype=bool)
    np.not_equal(segment[1:], segment[:-1], out=first[1:])
    last_below = np.where(before <= least, starts - 1, hit[first])
    return (np.arange(len(sums)) > np.repeat(last_below, lengths)).reshape(above.shape)
