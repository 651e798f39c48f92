"""Laws of statistics under calibration in large samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from scipy.special import chdtrc, gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

# Below this skewness the Pearson law equals the normal law up to digits that do not matter.
_NO_SKEWNESS = 1e-4
# Of the saddlepoint: below this argument, in standard deviations, digits cancel; halvings to the last digits of a p.
_CENTRE, _HALVINGS = 0.01, 50


@final
@dataclass(frozen=True, eq=False)
class LargeSampleLaw:
    """The law of a statistic under calibration, given the predictions, as the number of rows grows.

    `survival` gives the probability of a value at least as extreme, `quantile` the value below which the statistic lies
    with a probability in (0, 1); `name` says in words what law it is. Where a moment was estimated by random numbers,
    `moved` returns the law for the moment that many standard errors higher.
    """

    name: str
    survival: Callable[[float], float]
    quantile: Callable[[float], float]
    mean: float
    moved: Callable[[float], LargeSampleLaw] | None = None


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


def pearson_law(variance: float, third_cumulant: float, error: float = 0.0) -> LargeSampleLaw:
    """Return the shifted gamma law (Pearson's type III) of mean zero with these two moments, one-sided.

    `error` is the standard error of the third cumulant, if it was estimated.
    """
    scale = float(np.sqrt(variance))
    skewness = third_cumulant / scale**3 if scale > 0 else 0.0
    name = f"shifted gamma (Pearson III) of skewness {skewness:.3g}"
    moved = None
    if error > 0:
        name += f" +- {error / scale**3:.1g}, its standard error from random probes"

        def moved(z: float) -> LargeSampleLaw:
            return pearson_law(variance, third_cumulant + z * error)

    if abs(skewness) < _NO_SKEWNESS:
        normal = normal_law(scale, two_sided=False)
        return LargeSampleLaw(name, normal.survival, normal.quantile, 0.0, moved)
    shape, unit = 4 / skewness**2, scale * skewness / 2
    above, inverse = (gammaincc, gammaincinv) if skewness > 0 else (gammainc, gammainccinv)

    def survival(value: float) -> float:
        return float(above(shape, max(shape + value / unit, 0.0)))

    return LargeSampleLaw(name, survival, lambda q: unit * (float(inverse(shape, q)) - shape), 0.0, moved)


Cumulants: TypeAlias = Callable[[float], tuple[float, float, float]]


def saddlepoint_law(name: str, cumulants: Cumulants, reach: tuple[float, float]) -> LargeSampleLaw:
    r"""Return the law of mean zero with a known cumulant function, by the saddlepoint (Lugannani & Rice 1980).

    :math:`P(S \ge x) \approx \Phi(-r^*)`, r* = w + log(u / w) / w (Barndorff-Nielsen 1986), with x = K'(t),
    w = sign(t) sqrt(2 (t x - K(t))) and u = t sqrt(K''(t)): its relative error stays small far into the tail.
    `cumulants` takes t to K, K' and K''; beyond the two t of `reach` tails count as there.
    """
    scale = float(np.sqrt(cumulants(0.0)[2]))

    def tail(t: float) -> float:
        if abs(t) * scale < _CENTRE:  # straight between both sides of the mean, where w and u vanish
            ends = [tail(sign * _CENTRE / scale) for sign in (-1, 1)]
            return ends[0] + (t * scale / _CENTRE + 1) / 2 * (ends[1] - ends[0])
        value, slope, bend = cumulants(t)
        w = float(np.copysign(np.sqrt(max(2 * (t * slope - value), 0.0)), t))
        u = t * float(np.sqrt(bend))
        return float(ndtr(-(w + np.log(u / w) / w))) if u / w > 0 else float(t < 0)

    def solved(below: Callable[[float], bool]) -> float:
        low, high = reach
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) else (low, middle)
        return (low + high) / 2

    return LargeSampleLaw(
        name,
        lambda value: tail(solved(lambda t: cumulants(t)[1] < value)),
        lambda q: cumulants(solved(lambda t: tail(t) > 1 - q))[1],
        0.0,
    )


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
