"""Smooth calibration errors: distances to calibration that move little when the predictions move little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.rows import all_weights, happened, two_classes
from calibstat.estimators.smooth.heat import FINEST, Mesh, fixed_point
from calibstat.estimators.smooth.isotonic_median import isotonic_median_distance
from calibstat.estimators.tally import ratio
from calibstat.estimators.walks.ordered import Ordered, on_unit_interval
from calibstat.predictions import Predictions

# Numbers held in memory at once by replicates of a mesh.
_NUMBERS = 2**20
# A mesh is fine enough when the bandwidth covers that many of its intervals.
_FINE_ENOUGH = 8
_COARSEST = 1024


@final
@dataclass(frozen=True)
class SmoothCE(Estimator):
    r"""Smooth calibration error: the worst Lipschitz-weighted mean residual (Kakade & Foster 2008).

    .. math:: \max_w \frac1n \sum_i w(p_i) (y_i - p_i) \quad\text{over}\quad
              |w(p)| \le 1, \; |w(p) - w(q)| \le |p - q|

    in probability units, exact. Within factors of 2 of the lower distance to calibration (Blasiok, Gopalan, Hu &
    Nakkiran 2023). By duality of the linear programme it is a regression of the walk of residuals C (see `Kuiper`): on
    a range of predictions of length at most 2 the optimal flow is monotone, so that

    .. math:: |C_n| + \min_h \sum_k (p_{(k+1)} - p_{(k)})\, |C_k - h_k|
              \quad\text{over monotone } h \text{ between } 0 \text{ and } C_n

    which takes O(n log n) without a heap. At calibration it is positive, of order :math:`n^{-1/2}`: show it beside its
    null mean. It says little about errors that change sign within a short range. A variable instead of the prediction
    is measured in parts of its range. Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.smooth.errors import SmoothCE
    >>> round(SmoothCE()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.2575
    """

    quantity: ClassVar[str] = "worst mean residual over weights that are 1-Lipschitz in the prediction (smooth CE)"

    @property
    def estimand(self) -> SmoothCE:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A seminorm."""
        return "seminorm"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and measure the gaps between predictions."""
        ordered = Ordered(self, predictions)
        places = on_unit_interval(self, predictions)[ordered.order[ordered.stops[1:] - 1]]
        return _WalkRegression(ordered, np.diff(places))


class _WalkRegression(Evaluator):
    def __init__(self, ordered: Ordered, gaps: Floats) -> None:
        self.ordered = ordered
        self.gaps = gaps

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self._distance(self.ordered.walk(outcomes, weights))

    def signed(self, outcomes: Array, signs: Array) -> Floats:
        return self._distance(self.ordered.walk(outcomes, signs=signs))

    def _distance(self, walk: Floats) -> Floats:
        end = walk[..., -1]
        if not len(self.gaps):
            return np.abs(end)
        upward = walk[..., 1:-1] * np.where(end < 0, -1.0, 1.0)[..., None]
        between = np.clip(upward, 0.0, np.abs(end)[..., None])
        outside = (np.abs(upward - between) * self.gaps).sum(axis=-1)
        return np.abs(end) + outside + isotonic_median_distance(between, self.gaps)


@final
@dataclass(frozen=True)
class SmoothECE(Estimator):
    r"""Smooth ECE: the mean absolute residual after smoothing with its own bandwidth (Blasiok & Nakkiran 2024).

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i (y_i - p_i)\, K_\sigma(t, p_i) \Big| dt,
              \qquad \mathrm{smECE} = \mathrm{smECE}_{\sigma^*} = \sigma^*

    with the Gaussian kernel reflected at 0 and 1, and the only bandwidth that equals its error. In probability units.
    At least half the lower distance to calibration and at most twice its root (their Theorem 9).

    The reflected kernel is the heat kernel of [0, 1], so that smoothing is a cosine transform: residuals are split
    among the four nearest nodes of a mesh of M + 1 nodes (cubic interpolation) and damped; :math:`O(n + M \log M)`. M
    grows from 1024 to 65536 until :math:`\sigma^* \ge 8 / M`; then the relative error is below 1e-5. Values below
    1.2e-4 have an absolute error below that.

    At calibration it is positive (about 0.07, 0.03, 0.014 at n = 100, 1000, 10000): show it beside its null mean. It
    smooths away errors that change sign within a short range. A variable instead of the prediction is measured in
    parts of its range. Two classes; any weights.

    Parameters
    ----------
    bandwidth : float, optional
        A fixed bandwidth instead of the fixed point (at least 1.2e-4 for full accuracy).

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.smooth.errors import SmoothECE
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [i / 10 + 0.05 for i in range(10)])
    >>> round(SmoothECE()(sample), 5), round(SmoothECE(bandwidth=0.1)(sample), 5)
    (0.10912, 0.1166)
    """

    bandwidth: float | None = None
    quantity: ClassVar[str] = "mean absolute residual after smoothing over the prediction (smooth ECE)"

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not 0 < self.bandwidth < np.inf:
            raise ValueError(f"bandwidth is {self.bandwidth!r}, but it must be a positive number, or None.")

    @property
    def estimand(self) -> SmoothECE:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """With a fixed bandwidth a seminorm of the residuals; with its own, a function of them."""
        return "function" if self.bandwidth is None else "seminorm"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Place the predictions on the coarsest mesh."""
        two_classes(self, predictions)
        return _HeatEvaluator(predictions, on_unit_interval(self, predictions), self.bandwidth)


class _HeatEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, places: Floats, bandwidth: float | None) -> None:
        self.predictions = predictions
        self.places = places
        self.bandwidth = bandwidth
        self.meshes: dict[int, Mesh] = {}

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self._smooth(happened(outcomes) - self.predictions.event, all_weights(self.predictions, weights))

    def signed(self, outcomes: Array, signs: Array) -> Floats:
        residual = (happened(outcomes) - self.predictions.event) * signs
        return self._smooth(residual, all_weights(self.predictions, None))

    def _smooth(self, residual: Floats, mass: Floats) -> Floats:
        total = np.asarray(mass.sum(axis=-1))
        residual = ratio(residual * mass, total[..., None], empty=np.nan)
        if not len(self.places):
            return np.full(residual.shape[:-1], np.nan)
        rows = residual.reshape(-1, residual.shape[-1])
        values = self._blocks(rows, _COARSEST).reshape(residual.shape[:-1])
        return np.where(np.broadcast_to(total, values.shape) > 0, values, np.nan)

    def _blocks(self, residual: Floats, n_nodes: int) -> Floats:
        size = max(1, _NUMBERS // n_nodes)
        starts = range(0, len(residual), size)
        return np.concatenate([self._block(residual[start : start + size], n_nodes) for start in starts])

    def _block(self, residual: Floats, n_nodes: int) -> Floats:
        """Evaluate rows (R, n), those that need it again on a finer mesh."""
        mesh = self._mesh(n_nodes)
        if self.bandwidth is not None:
            values = mesh.smoothed(mesh.spread(residual), np.full(len(residual), self.bandwidth))
            unsettled = np.full(len(residual), self.bandwidth * n_nodes < _FINE_ENOUGH)
        else:
            values = fixed_point(mesh, mesh.spread(residual))
            unsettled = values * n_nodes < _FINE_ENOUGH
        if n_nodes < FINEST and unsettled.any():
            values[unsettled] = self._blocks(residual[unsettled], 4 * n_nodes)
        return values

    def _mesh(self, n_nodes: int) -> Mesh:
        if n_nodes not in self.meshes:
            self.meshes[n_nodes] = Mesh(self.places, n_nodes)
        return self.meshes[n_nodes]
