"""Laws of statistics under calibration in large samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import chdtrc, gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

# Below this skewness the Pearson law equals the normal law up to digits that do not matter.
_NO_SKEWNESS = 1e-4


@final
@dataclass(frozen=True, eq=False)
class LargeSampleLaw:
    """The law of a statistic under calibration, given the predictions, as the number of rows grows.

    `survival` gives the probability of a value at least as extreme, `quantile` the value below which the statistic lies
    with a probability in (0, 1); `name` says in words what law it is.
    """

    name: str
    survival: Callable[[float], float]
    quantile: Callable[[float], float]
    mean: float


def normal_law(scale: float, *, two_sided: bool) -> LargeSampleLaw:
    """Return the normal law of mean zero and standard deviation `scale`; of scale zero, the law of zero itself."""

    def survival(value: float) -> float:
        z = _over(abs(value) if two_sided else value, scale)
        if not scale > 0:
            return 1.0 if z <= 0 else 0.0
        return float(2 * ndtr(-z) if two_sided else ndtr(-z))

    name = "normal, two-sided" if two_sided else "normal, one-sided"
    return LargeSampleLaw(name, survival, lambda q: scale * float(ndtri(q)), 0.0)


def chi_square_law(freedom: int) -> LargeSampleLaw:
    """Return the chi-square law; with no degree of freedom, the law of zero itself."""

    def survival(value: float) -> float:
        if not freedom:
            return 1.0 if value <= 0 else 0.0
        return float(chdtrc(freedom, max(value, 0.0)))

    def quantile(q: float) -> float:
        return 2 * float(gammaincinv(freedom / 2, q)) if freedom else 0.0

    words = f"chi-square with {freedom} degree{'' if freedom == 1 else 's'} of freedom"
    return LargeSampleLaw(words, survival, quantile, float(freedom))


def scaled_law(name: str, survival: Callable[[float], Any], mean: float, scale: float) -> LargeSampleLaw:
    """Return the law of `scale` times a positive variable with this survival function and mean."""

    def extreme(value: float) -> float:
        x = _over(value, scale)
        return 0.0 if x == np.inf else float(survival(max(x, 0.0)))

    return LargeSampleLaw(name, extreme, lambda q: scale * upper_point(survival, 1 - q), scale * mean)


def pearson_law(variance: float, third_cumulant: float) -> LargeSampleLaw:
    """Return the shifted gamma law (Pearson's type III) of mean zero with these two moments, one-sided."""
    scale = float(np.sqrt(variance))
    skewness = third_cumulant / scale**3 if scale > 0 else 0.0
    name = f"shifted gamma (Pearson III) of skewness {skewness:.3g}"
    if abs(skewness) < _NO_SKEWNESS:
        normal = normal_law(scale, two_sided=False)
        return LargeSampleLaw(name, normal.survival, normal.quantile, 0.0)
    shape, unit = 4 / skewness**2, scale * skewness / 2
    above, inverse = (gammaincc, gammaincinv) if skewness > 0 else (gammainc, gammainccinv)

    def survival(value: float) -> float:
        return float(above(shape, max(shape + value / unit, 0.0)))

    return LargeSampleLaw(name, survival, lambda q: unit * (float(inverse(shape, q)) - shape), 0.0)


def upper_point(survival: Callable[[float], Any], tail: float) -> float:
    """Return the x >= 0 with survival(x) = tail, by bisection."""
    low, high = 0.0, 1.0
    while survival(high) > tail and high < 1e300:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if survival(middle) > tail else (low, middle)
    return (low + high) / 2


def _over(value: float, scale: float) -> float:
    """Divide by the scale; if that is zero, anything beyond rounding becomes infinite."""
    if scale > 0:
        return value / scale
    return 0.0 if abs(value) <= 1e-15 else float(np.copysign(np.inf, value))
