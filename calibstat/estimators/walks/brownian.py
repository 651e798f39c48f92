"""The laws that the walk of residuals gives rise to in large samples: survival functions of Brownian motion."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import kolmogorov, log_ndtr, ndtr

from calibstat.arrays import Floats

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
