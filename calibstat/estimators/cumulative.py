"""Cumulative errors: how far the walk of residuals strays when rows come in the order of the prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from scipy.special import kolmogorov, log_ndtr, ndtr

from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators._ordered import Ordered, on_unit_interval
from calibstat.estimators.base import NUMBERS_IN_CACHE, Capabilities, Estimator, Evaluator, ResidualForm, in_batches
from calibstat.estimators.large_sample import LargeSampleLaw, scaled_law
from calibstat.estimators.worst_interval import describe_worst


@final
@dataclass(frozen=True)
class Kuiper(Estimator):
    r"""Cutoff calibration error: the worst mean residual over an interval of predictions (Kuiper's statistic).

    .. math:: \max_k C_k - \min_k C_k, \qquad C_k = \frac1n \sum_{i \le k} (y_{(i)} - p_{(i)}), \quad C_0 = 0

    with rows in the order of the prediction, and the walk read at the ends of ties only (the order inside a tie is
    arbitrary). It is :math:`\sup_I |E[(Y - p) 1(p \in I)]|` over intervals I, in probability units: ECCE-R of
    Arrieta-Ibarra et al. (2022), identified with the cutoff calibration error of Rossellini et al. (2025), which bounds
    what decisions by cutoffs can lose. Tests also give it divided by :math:`\sqrt{\sum v_i} / n` (with weights
    :math:`\sqrt{\sum w_i^2 v_i} / \sum w_i`), v = p (1 - p), which follows `brownian.kuiper_sf` under calibration in
    large samples.

    No bins and no bandwidth; O(n log n) once, then O(n). At calibration about 1.6 of that scale is expected. It loses
    errors that change sign often. `WorstInterval` says where the interval lies. Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(cs.Kuiper()(sample), 6)
    0.275
    """

    quantity: ClassVar[str] = "worst mean residual over an interval of predictions (Kuiper, cutoff calibration error)"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def largest_value(self, n_classes: int) -> float:  # noqa: ARG002
        """Return one."""
        return 1.0

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        ordered = Ordered(self, predictions)
        law = scaled_law("range of a Brownian motion", kuiper_sf, KUIPER_MEAN, ordered.scale or 0.0)
        return _WalkEvaluator(ordered, _spread, law, remark=partial(describe_worst, ordered))


@final
@dataclass(frozen=True)
class KolmogorovSmirnov(Estimator):
    r"""Largest mean residual over a lower range of predictions: ECCE-MAD (Arrieta-Ibarra et al. 2022).

    .. math:: \max_k |C_k|, \qquad C_k = \frac1n \sum_{i \le k} (y_{(i)} - p_{(i)})

    with rows in the order of the prediction, read at the ends of ties only; in probability units (the KS calibration
    error of Gupta et al. 2021). Never above `Kuiper`, and at least half of it. Standardised as there; then it follows
    `brownian.kolmogorov_smirnov_sf` under calibration in large samples. O(n log n) once, then O(n).

    It weighs errors at low predictions as the start of the walk; `Kuiper` treats all intervals alike. It loses errors
    that change sign often. Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.KolmogorovSmirnov()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.25
    """

    quantity: ClassVar[str] = "largest mean residual over a lower range of predictions (Kolmogorov-Smirnov)"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def largest_value(self, n_classes: int) -> float:  # noqa: ARG002
        """Return one."""
        return 1.0

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        ordered = Ordered(self, predictions)
        mean = KOLMOGOROV_SMIRNOV_MEAN
        law = scaled_law("height of a Brownian motion", kolmogorov_smirnov_sf, mean, ordered.scale or 0.0)
        return _WalkEvaluator(ordered, _height, law)


@final
@dataclass(frozen=True)
class AverageTwoBin(Estimator):
    r"""Average squared error of two bins, over all places of the edge (Hartline, Hu & Wu 2025).

    .. math:: \int_0^1 \big[ C(q)^2 + (C(1) - C(q))^2 \big] dq, \qquad C(q) = \frac1n \sum_{p_i \le q} (y_i - p_i)

    in squared probability units. Truthful: a forecaster who knows the chances cannot lower its expectation by saying
    something else. Its expectation under calibration is :math:`\sum v_i / n^2`, v = p (1 - p), and not zero. A variable
    instead of the prediction is measured in parts of its range. O(n log n) once, then O(n).

    It loses errors that change sign often. Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.AverageTwoBin()(cs.Sample([0, 1], [0.5, 0.5])), 6)
    0.0
    """

    quantity: ClassVar[str] = "squared mean residual of two bins, averaged over the place of their edge"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and measure the gaps between predictions."""
        ordered = Ordered(self, predictions)
        places = on_unit_interval(self, predictions)[ordered.order[ordered.stops[1:] - 1]]
        gaps = np.diff(places, prepend=0.0, append=1.0)
        return _WalkEvaluator(ordered, lambda walk: _two_bins(walk, gaps))


class _WalkEvaluator(Evaluator):
    def __init__(
        self,
        ordered: Ordered,
        functional: Callable[[Floats], Floats],
        law: LargeSampleLaw | None = None,
        remark: Callable[[Array], str] | None = None,
    ) -> None:
        self.ordered = ordered
        self.remark = remark
        self.functional = functional
        self.law = law

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_CACHE)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        return self.functional(self.ordered.walk(outcomes, weights))

    @property
    def capabilities(self) -> Capabilities:
        law = self.law
        return Capabilities(
            signed=lambda outcomes, signs: self.functional(self.ordered.walk(outcomes, signs=signs)),
            large_sample=None if law is None else lambda _: law,
            standard_deviation=None if law is None else lambda: self.ordered.scale,
            remark=self.remark,
        )


def _spread(walk: Floats) -> Floats:
    return walk.max(axis=-1) - walk.min(axis=-1)


def _height(walk: Floats) -> Floats:
    return np.maximum(walk.max(axis=-1), -walk.min(axis=-1))


def _two_bins(walk: Floats, gaps: Floats) -> Floats:
    return ((walk**2 + (walk[..., -1:] - walk) ** 2) * gaps).sum(axis=-1)


# The laws that the walk of residuals gives rise to in large samples: survival functions of Brownian motion.

# Below, the series in exp(-1 / x^2) are used; above, those in exp(-x^2), which keep their digits in the tail.
_SWITCH = 2.0
_TERMS = np.arange(12)
# Means of the two laws of a Brownian motion.
KUIPER_MEAN = 2 * math.sqrt(2 / math.pi)
KOLMOGOROV_SMIRNOV_MEAN = math.sqrt(math.pi / 2)


def kuiper_sf(x: float | Floats) -> Floats:
    r"""Return P(max W - min W > x) for a Brownian motion W on [0, 1] (Feller 1951).

    .. math:: 1 - \sum_{k \ge 0} \Big(\frac{8}{x^2} + \frac{2}{(k + 1/2)^2 \pi^2}\Big) e^{-2 (k + 1/2)^2 \pi^2 / x^2}
              = 8 \sum_{k \ge 1} (-1)^{k-1} k\, \bar\Phi(k x)

    The law of the standardised `Kuiper` statistic (ECCE-R) of a calibrated model in large samples
    (Arrieta-Ibarra et al. 2022). Its mean is :math:`2\sqrt{2/\pi} = 1.5958`. Absolute error below 1e-14.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{kuiper_sf(1.5):.6f}")
    0.512941
    """
    near, far = _split(x)
    half = (_TERMS + 0.5)[:, None] ** 2 * np.pi**2
    series = (8 / near**2 + 2 / half) * np.exp(-2 * half / near**2)
    k = (_TERMS + 1)[:, None]
    tail = 8 * ((-1.0) ** (k - 1) * k * ndtr(-k * far)).sum(axis=0)
    return _join(x, 1 - series.sum(axis=0), tail)


def kolmogorov_smirnov_sf(x: float | Floats) -> Floats:
    r"""Return P(max \|W\| > x) for a Brownian motion W on [0, 1].

    .. math:: 1 - \frac{4}{\pi} \sum_{k \ge 0} \frac{(-1)^k}{2k+1} e^{-(2k+1)^2 \pi^2 / (8 x^2)}
              = 4 \sum_{k \ge 0} (-1)^k\, \bar\Phi((2k+1) x)

    The law of the standardised `KolmogorovSmirnov` statistic (ECCE-MAD) of a calibrated model in large samples
    (Arrieta-Ibarra et al. 2022). Its mean is :math:`\sqrt{\pi/2} = 1.2533`. Absolute error below 1e-14.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{kolmogorov_smirnov_sf(1.0):.6f}")
    0.629223
    """
    near, far = _split(x)
    odd = (2 * _TERMS + 1)[:, None]
    sign = (-1.0) ** _TERMS[:, None]
    series = 4 / np.pi * sign / odd * np.exp(-(odd**2) * np.pi**2 / (8 * near**2))
    return _join(x, 1 - series.sum(axis=0), 4 * (sign * ndtr(-odd * far)).sum(axis=0))


def log_bridge_sf(x: Floats) -> Floats:
    """Return the logarithm of P(max |B| > x) for a Brownian bridge B (Kolmogorov 1933), without underflow."""
    far = np.maximum(x, 1.0)
    tail = np.log(2) - 2 * far**2 + np.log1p(-np.exp(-6 * far**2) + np.exp(-16 * far**2))
    return np.where(x < 1.0, np.log(kolmogorov(np.minimum(x, 1.0))), tail)


def log_two_sided(z: Floats) -> Floats:
    """Return the logarithm of P(|Z| > |z|) for a standard normal Z, without underflow."""
    return np.log(2) + log_ndtr(-np.abs(z))


def _split(x: float | Floats) -> tuple[Floats, Floats]:
    """Return x where the first series serves and x where the second one does, each kept away from the other side."""
    flat = np.ravel(np.asarray(x, dtype=float))
    # The first series is one minus something smaller than 1e-300 for x below 0.1.
    return np.clip(flat, 0.1, _SWITCH), np.maximum(flat, _SWITCH)


def _join(x: float | Floats, near: Floats, far: Floats) -> Floats:
    values = np.asarray(x, dtype=float)
    joined = np.where(np.ravel(values) < _SWITCH, near, far)
    joined = np.where(np.isnan(np.ravel(values)), np.nan, np.clip(joined, 0.0, 1.0))
    return np.reshape(joined, values.shape)[()]
