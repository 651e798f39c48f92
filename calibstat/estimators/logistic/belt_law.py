"""The law of the calibration belt's statistic under calibration, given the selected degree."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, chdtri

from calibstat.arrays import Floats
from calibstat.estimators.large_sample import LargeSampleLaw, scaled_law

_NODES, _MASSES = np.polynomial.legendre.leggauss(48)


def belt_survival(value: float, degree: int, threshold: float = 0.95) -> float:
    r"""Return P(T > value | degree m) for large n (Nattino, Finazzi & Bertolini 2014).

    T is a chi-squared variable with two degrees of freedom plus m - 1 increments, each chi-squared with one degree of
    freedom and above the `threshold` quantile that took the selection a degree further.

    Examples
    --------
    >>> round(belt_survival(5.991465, 1), 6)
    0.05
    """
    return max(0.0, 1 - float(_sums(np.array([value]), degree - 1, float(chdtri(1, 1 - threshold)))[0]))


def belt_quantile(level: float, degree: int, threshold: float = 0.95) -> float:
    """Return the value below which T lies with chance `level`, given the degree."""
    least = (degree - 1) * float(chdtri(1, 1 - threshold))
    return float(brentq(lambda value: belt_survival(value, degree, threshold) - (1 - level), least, least + 100))


def belt_law(max_degree: int, threshold: float = 0.95) -> LargeSampleLaw:
    """Return the law of T whatever the degree: the laws given each degree, mixed as forward selection chooses them.

    Under calibration the degree grows beyond m with chance 1 - threshold, whatever happened before.

    Examples
    --------
    >>> round(belt_law(1).survival(5.991465), 6)
    0.05
    """
    degrees = range(1, max_degree + 1)
    beyond = 1 - threshold
    chances = [beyond ** (m - 1) * (threshold if m < max_degree else 1.0) for m in degrees]
    least = float(chdtri(1, beyond))
    # the mean of a chi-square variable of one degree of freedom above a point
    step = float(chdtrc(3, least) / chdtrc(1, least)) if beyond > 0 else 0.0
    mean = sum(chance * (2 + (m - 1) * step) for m, chance in zip(degrees, chances, strict=True))

    def survival(value: float) -> float:
        parts = zip(degrees, chances, strict=True)
        return sum(chance * belt_survival(value, m, threshold) for m, chance in parts if chance > 0)

    return scaled_law("of the calibration belt, over the degrees that may be selected", survival, mean, 1.0)


def _sums(values: Floats, increments: int, least: float) -> Floats:
    """Return P(chi2_2 + increments <= values); with D = z^2, z normal above the root of `least`."""
    if not increments:
        return np.where(values > 0, -np.expm1(-np.maximum(values, 0) / 2), 0.0)
    low = np.sqrt(least)
    high = np.sqrt(np.maximum(values - (increments - 1) * least, least))
    half = (high - low)[:, None] / 2
    z = low + half * (1 + _NODES)
    inner = _sums((values[:, None] - z**2).ravel(), increments - 1, least).reshape(z.shape)
    density = 2 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return (half * _MASSES * density * inner).sum(axis=1) / (1 - chdtr(1, least))
