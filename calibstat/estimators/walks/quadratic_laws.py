r"""The laws of squared walks in large samples: integrals of squared Brownian motions and bridges.

Each is a sum of independent squared normal variables, :math:`Q = \sum_j Z_j^2 / \mu_j` with
:math:`\mu_1 < \mu_2 < \dots`, and for such sums (Smirnov 1937)

.. math:: P(Q > x) = \frac1\pi \sum_{k \ge 1} (-1)^{k+1} \int_{\mu_{2k-1}}^{\mu_{2k}}
          \frac{e^{-x u / 2}}{u \sqrt{|D(u)|}}\, du, \qquad D(u) = \prod_j (1 - u / \mu_j)

The integrands are infinite at both ends like inverse roots, which the rule of Gauss and Chebyshev takes into account.
All terms but the first are small in the tail, so small probabilities keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from calibstat.arrays import Floats

# Means of the two laws: the integral of t, and that of 1 with a squared normal variable.
CRAMER_VON_MISES_MEAN = 0.5
ANDERSON_DARLING_MEAN = 2.0
_INTERVALS = 30
_POINTS = 256
# Below, the laws have less than 1e-14 of their mass, and the series would need more terms.
_SMALLEST_HEIGHT, _SMALLEST_BRIDGE = 0.004, 0.025


def cramer_von_mises_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 W(t)^2 dt` > x) for a Brownian motion W (Cameron & Martin 1944).

    The law of the standardised `CramerVonMises` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / ((j - 1/2)^2 \pi^2)`, whose mean is 1/2. Absolute error below 1e-13.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{cramer_von_mises_sf(1.0):.6f}")
    0.136102
    """
    return survival_of(x, *_height_rule(), _SMALLEST_HEIGHT)


def anderson_darling_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 B(t)^2 / (t (1 - t)) dt + Z^2` > x), B a Brownian bridge, Z normal, independent.

    The law of the standardised `AndersonDarling` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / (j (j + 1))` (Anderson & Darling 1952) and one more :math:`Z^2`; its mean is 2. Absolute error
    below 1e-13.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{anderson_darling_sf(2.0):.6f}")
    0.365112
    """
    return survival_of(x, *_bridge_rule(), _SMALLEST_BRIDGE)


@cache
def _height_rule() -> tuple[Floats, Floats]:
    """Of a Brownian motion: D(u) = cos(sqrt u)."""
    j = np.arange(1, 2 * _INTERVALS + 1, dtype=float)
    return quadratic_rule(np.square((j - 0.5) * np.pi), lambda u: np.cos(np.sqrt(u)))


@cache
def _bridge_rule() -> tuple[Floats, Floats]:
    """Of a weighted bridge and one more variable: D(u) = (u - 1) cos(sqrt(1 + 4 u) pi / 2) / (pi u)."""
    j = np.arange(1, 2 * _INTERVALS)
    roots = np.append(1.0, j * (j + 1.0))
    return quadratic_rule(roots, lambda u: (u - 1) * np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def quadratic_rule(roots: Floats, determinant: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return points u and weights with which P(Q > x) is the sum of weights times exp(-x u / 2).

    Parameters
    ----------
    roots : (2 m,) floats
        The smallest of the numbers mu, all different, in increasing order.
    determinant : callable
        D.
    """
    low, high = roots[::2, None], roots[1::2, None]
    half = (high - low) / 2
    angle = (np.arange(_POINTS) + 0.5) * np.pi / _POINTS
    points = low + half * (1 - np.cos(angle))
    smooth = half * np.sin(angle) / np.sqrt(np.abs(determinant(points))) / points
    sign = (-1.0) ** np.arange(len(low))[:, None]
    return points.ravel(), (sign * smooth / _POINTS).ravel()


def survival_of(x: float | Floats, points: Floats, weights: Floats, smallest: float) -> Floats:
    """Return P(Q > x) by the points and weights of `quadratic_rule`; one below `smallest`."""
    values = np.asarray(x, dtype=float)
    flat = np.maximum(np.ravel(values), smallest)
    found = np.array([weights @ np.exp(-0.5 * each * points) for each in flat])
    found = np.where(np.ravel(values) < smallest, 1.0, np.clip(found, 0.0, 1.0))
    return np.reshape(found, values.shape)[()]
