"""Calibration error from a kernel density estimate on the simplex (compatibility)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, final

import numpy as np
from scipy.special import gammaln

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Order, Positive
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm, all_weights, between, in_batches, is_chances
from calibstat.estimators.tally import CellwiseEstimator, Tally, full_vector, ratio

_NUMBERS_IN_A_TILE = 2**21  # numbers of a tile of kernel values
_KEPT_NUMBERS = 2**26  # kernel values kept between batches of replicates: half a gigabyte
# Kernel values are relative to the nearest row. Where the rows of positive weight have together less than this share
# of the weights, the values are computed again relative to the nearest of them, as they may have been rounded to zero.
_LOST_SHARE = 1e-250


@final
@dataclass(frozen=True)
class LpCE(CellwiseEstimator):
    r"""The p-th power of the Lp calibration error, plug-in and binned: the estimand of `KDECE`.

    .. math:: \sum_b \frac{n_b}{n} \sum_k |\bar y_{bk} - \bar p_{bk}|^p

    always over all classes, so that for two it is twice that of the event (Popordanoska et al. 2022). Biased upward,
    and blind to errors that cancel inside a cell; O(n K) after cutting.

    Parameters
    ----------
    binning : Binning
    p : float
        1 <= p <= 10.

    Raises
    ------
    ValueError
        If `p` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.LpCE(cs.FixedEdges([0, 1]), p=2)(cs.Sample([0, 1], [0.2, 0.4])), 6)
    0.08
    """

    binning: Binning = EqualMass(15)
    p: Order = 1
    quantity: ClassVar[str] = "p-th power of the Lp calibration error of cell means (plug-in, binned)"
    bounds = between(0.0, 2.0)

    @property
    def noise_power(self) -> float:  # type: ignore[override]
        """The power."""
        return self.p

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """A power of a seminorm of the residuals."""
        return "seminorm" if self.p == 1 else "function"

    def terms(self, tally: Tally) -> Floats:
        """Weigh the powers of gaps by the shares of cells."""
        gaps = np.abs(full_vector(tally.mean_outcome) - full_vector(tally.mean_prediction)) ** self.p
        return tally.share * gaps.sum(axis=-1)


@final
@dataclass(frozen=True)
class KDECE(Estimator):
    r"""Lp canonical calibration error from a kernel density estimate (Popordanoska, Sayer & Blaschko 2022).

    .. math:: \frac1n \sum_i \lVert \hat E[Y \mid p_i] - p_i \rVert_p^p, \qquad \hat E[Y \mid p_i] =
              \frac{\sum_{j \ne i} K(p_i; p_j)\, \mathrm{onehot}(y_j)}{\sum_{j \ne i} K(p_i; p_j)}

    with K(z; p_j) the density at z of the Dirichlet law with parameters p_j / bandwidth + 1 (Beta, for two classes).
    The value is the p-th power, as the authors define it, always over all classes, so that for two it is twice that
    of the event. Any number of classes; O(n^2 K).

    Weaknesses (it is here for comparison with published numbers; prefer `SKCE` or `SmoothECE`): strongly biased upward,
    positive under calibration; the bandwidth decides the value (0.24 or 0.33 for the same ten rows with bandwidth 0.2
    or 0.05), and nothing in the data says which is right; it has no interval, so read it beside its null mean. Zero
    probabilities have no logarithm and are replaced by the smallest positive float. The kernel lives on the simplex, so
    what is conditioned on must be the prediction. A row without neighbours adds nothing.

    Parameters
    ----------
    bandwidth : float
        Positive, without units.
    p : float
        1 <= p <= 10.

    Raises
    ------
    ValueError
        If `bandwidth` is not positive and finite, or `p` is below 1 or infinite.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.KDECE(0.2)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.2364
    """

    bandwidth: Positive
    p: Order = 1
    quantity: ClassVar[str] = "p-th power of the Lp calibration error (kernel density, leave-one-out)"
    bounds = between(0.0, 2.0)

    @property
    def estimand(self) -> LpCE:
        """The unbinned error to the power p."""
        return LpCE(UniqueValues(), self.p)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take logarithms."""
        if predictions.given != (...,):
            raise ValueError(
                f"{self!r} smooths over the prediction, but {predictions.condition} is conditioned on; SKCE() smooths "
                "over variables."
            )
        return _DensityEvaluator(self, predictions)


class _DensityEvaluator(Evaluator):
    def __init__(self, estimator: KDECE, predictions: Predictions) -> None:
        self.p = estimator.p
        self.predictions = predictions
        rows = predictions.chances
        shape = rows / max(estimator.bandwidth, 1e-300)  # which are floats; each row is alone long before
        # log density at z: constant + sum_k (p_jk / bandwidth) log z_k
        self.constant = gammaln(shape.sum(axis=1) + rows.shape[1]) - gammaln(shape + 1).sum(axis=1)
        self.shape_parameters = shape
        self.logarithms = np.log(np.maximum(rows, np.finfo(float).tiny))
        self._kept: list[tuple[slice, Floats]] | None = None

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        width = 4 * self.predictions.n_classes
        return in_batches(self._batch, outcomes, weights, width)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        masses = np.atleast_2d(all_weights(self.predictions, weights))
        targets, seen = self._components(outcomes), self.predictions.components.T
        weighted = targets * masses[:, None, :]
        total = np.zeros(len(targets))
        for rows, tile in self._tiles():
            mass = masses @ tile.T
            sums = (weighted.reshape(-1, weighted.shape[-1]) @ tile.T).reshape(*weighted.shape[:2], -1)
            self._restore(rows, masses, weighted, mass, sums)
            gaps = np.abs(ratio(sums, mass[:, None, :]) - seen[:, rows]) ** self.p
            total += (masses[:, rows] * np.where(mass > 0, gaps.sum(axis=1), 0.0)).sum(axis=-1)
        whole = np.broadcast_to(masses.sum(axis=-1), total.shape)
        return ratio(total, whole, empty=np.nan) * (2 if self.predictions.n_classes == 2 else 1)

    def _restore(self, rows: slice, masses: Floats, weighted: Floats, mass: Floats, sums: Floats) -> None:
        """Redo, in place, the sums of `rows` whose near rows all have weight zero in a replicate.

        Shapes: masses (R or 1, n), weighted (R, c, n); of this slice, mass (R or 1, rows) and sums (R, c, rows).
        """
        lost = (masses[:, rows] > 0) & (mass <= _LOST_SHARE * masses.sum(axis=1, keepdims=True))
        for column in np.flatnonzero(lost.any(axis=0)):
            some = lost[:, column]
            logarithms = self._log_densities(slice(rows.start + column, rows.start + column + 1))
            present = np.where(masses[some] > 0, logarithms, -np.inf)
            values = np.exp(present - np.maximum(present.max(axis=1, keepdims=True), np.finfo(float).min))
            mass[some, column] = (masses[some] * values).sum(axis=1)
            if len(masses) == len(weighted):
                sums[some, :, column] = np.einsum("rcn,rn->rc", weighted[some], values)
            else:
                sums[:, :, column] = weighted @ values[0]

    def _components(self, outcomes: Array) -> Floats:
        """Indicators of outcomes, or their chances (R, c, n); the event alone for two classes."""
        n_classes, chances = self.predictions.n_classes, is_chances(outcomes)
        codes = np.arange(n_classes)[:, None]
        hits = np.swapaxes(outcomes, 1, 2) if chances else (outcomes[:, None, :] == codes).astype(float)
        return hits[:, 1:] if n_classes == 2 else hits

    def _tiles(self) -> Iterator[tuple[slice, Floats]]:
        if len(self.logarithms) ** 2 > _KEPT_NUMBERS:
            return self._made()
        if self._kept is None:
            self._kept = list(self._made())
        return iter(self._kept)

    def _made(self) -> Iterator[tuple[slice, Floats]]:
        """Kernel values K(p_i; p_j) of some rows i and all j, each row up to a factor, with K(p_i; p_i) = 0."""
        n = len(self.logarithms)
        step = max(1, _NUMBERS_IN_A_TILE // max(n, 1))
        starts = range(0, n, step)
        for start in track(starts, len(starts)):
            rows = slice(start, min(start + step, n))
            tile = self._log_densities(rows)
            tile -= np.maximum(tile.max(axis=1, keepdims=True), np.finfo(float).min)
            yield rows, np.exp(tile, out=tile)

    def _log_densities(self, rows: slice) -> Floats:
        """Logarithms of K(p_i; p_j) of some rows i and all j, without i = j."""
        tile = self.logarithms[rows] @ self.shape_parameters.T + self.constant
        inner = np.arange(rows.stop - rows.start)
        tile[inner, rows.start + inner] = -np.inf
        return tile
