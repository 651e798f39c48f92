"""Laws of statistics under calibration in large samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat.data.arrays import Floats
from calibstat.data.parameters import numbers

# Below this skewness the Pearson law equals the normal law up to digits that do not matter.
_NO_SKEWNESS = 1e-4
# Above this one, laws of degenerate sums reject up to 100 % of calibrated rare-event models.
_MOST_SKEWED = 4.0
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
        return float(2 * special.ndtr(-z) if two_sided else special.ndtr(-z))

    name = "normal, two-sided" if two_sided else "normal, one-sided"
    return LargeSampleLaw(name, survival, lambda q: scale * float(special.ndtri(q)), 0.0)


def chi_square_law(freedom: int) -> LargeSampleLaw:
    """Return the chi-square law; with no degree of freedom, the law of zero itself."""

    def survival(value: float) -> float:
        if not freedom:
            return 1.0 if value <= 0 else 0.0
        return float(special.chdtrc(freedom, max(value, 0.0)))

    def quantile(q: float) -> float:
        return 2 * float(special.gammaincinv(freedom / 2, q)) if freedom else 0.0

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
    _refuse_skewed(skewness)
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
    above, inverse = (
        (special.gammaincc, special.gammaincinv) if skewness > 0 else (special.gammainc, special.gammainccinv)
    )

    def survival(value: float) -> float:
        return float(above(shape, max(shape + value / unit, 0.0)))

    return LargeSampleLaw(name, survival, lambda q: unit * (float(inverse(shape, q)) - shape), 0.0, moved)


def _refuse_skewed(skewness: float) -> None:
    """Refuse a law that is more skewed than those for which rejections were measured to be right."""
    if abs(skewness) > _MOST_SKEWED:
        raise ValueError(
            f"the statistic has skewness {skewness:.3g} if the model is calibrated, as where few events are expected, "
            "and no large-sample law follows it: leave `null` out, or use Consistency(), which is exact"
        )


Cumulants: TypeAlias = Callable[[float], tuple[float, float, float]]


def saddlepoint_law(name: str, cumulants: Cumulants, reach: tuple[float, float]) -> LargeSampleLaw:
    r"""Return the law of mean zero with a known cumulant function, by the saddlepoint (Lugannani & Rice 1980).

    :math:`P(S \ge x) \approx \Phi(-r^*)`, r* = w + log(u / w) / w (Barndorff-Nielsen 1986), with x = K'(t),
    w = sign(t) sqrt(2 (t x - K(t))) and u = t sqrt(K''(t)): its relative error stays small far into the tail.
    `cumulants` takes t to K, K' and K''; beyond the two t of `reach` tails count as there.
    """
    scale = float(np.sqrt(cumulants(0.0)[2]))
    step = _CENTRE / scale
    _refuse_skewed((cumulants(step)[2] - cumulants(-step)[2]) / (2 * step) / scale**3)

    def tail(t: float) -> float:
        if abs(t) >= step:
            return far(t)
        low, high = far(-step), far(step)  # straight between both sides of the mean, where w and u vanish
        return low + (t / step + 1) / 2 * (high - low)

    def far(t: float) -> float:
        value, slope, bend = cumulants(t)
        w = float(np.copysign(np.sqrt(max(2 * (t * slope - value), 0.0)), t))
        u = t * float(np.sqrt(bend))
        return float(special.ndtr(-(w + np.log(u / w) / w))) if u / w > 0 else float(t < 0)

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


# The laws of walks of residuals: of the range, the height and the squares of a Brownian motion.

# Below this point the series in exp(-1 / x^2) are used; above it those in exp(-x^2), which keep digits in the tail.
_SWITCH = 2.0
_TERMS = np.arange(12)
# Means of the two laws of a Brownian motion.
KUIPER_MEAN = 2 * math.sqrt(2 / math.pi)
KOLMOGOROV_SMIRNOV_MEAN = math.sqrt(math.pi / 2)


def kuiper_sf(x: float | Floats) -> Floats:
    r"""Return P(max W - min W > x) for a Brownian motion W on [0, 1] (Feller 1951).

    .. math:: 1 - \sum_{k \ge 0} \Big(\frac{8}{x^2} + \frac{2}{(k + 1/2)^2 \pi^2}\Big) e^{-2 (k + 1/2)^2 \pi^2 / x^2}
              = 8 \sum_{k \ge 1} (-1)^{k-1} k\, \bar\Phi(k x)

    The law of the standardised `Kuiper` statistic (ECCE-R) of a calibrated model in large samples (Arrieta-Ibarra
    et al. 2022). Its mean is :math:`2\sqrt{2/\pi} = 1.5958`. Absolute error below 1e-14.

    Parameters
    ----------
    x : float or array of floats
        Standardised values; of NaN the probability is NaN.

    Returns
    -------
    survival : float or array of floats
        P-values by the law of large samples.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(float(cs.kuiper_sf(2.0)), 6)
    0.181494
    """
    half, k = (_TERMS + 0.5)[:, None] ** 2 * np.pi**2, (_TERMS + 1)[:, None]
    return _of_series(
        x,
        lambda near: (8 / near**2 + 2 / half) * np.exp(-2 * half / near**2),
        lambda far: 8 * (-1.0) ** (k - 1) * k * special.ndtr(-k * far),
    )


def kolmogorov_smirnov_sf(x: float | Floats) -> Floats:
    r"""Return P(max \|W\| > x) for a Brownian motion W on [0, 1].

    .. math:: 1 - \frac{4}{\pi} \sum_{k \ge 0} \frac{(-1)^k}{2k+1} e^{-(2k+1)^2 \pi^2 / (8 x^2)}
              = 4 \sum_{k \ge 0} (-1)^k\, \bar\Phi((2k+1) x)

    The law of the standardised `KolmogorovSmirnov` statistic (ECCE-MAD) of a calibrated model in large samples
    (Arrieta-Ibarra et al. 2022). Its mean is :math:`\sqrt{\pi/2} = 1.2533`. Absolute error below 1e-14.

    Parameters
    ----------
    x : float or array of floats
        Standardised values; of NaN the probability is NaN.

    Returns
    -------
    survival : float or array of floats
        P-values by the law of large samples.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(float(cs.kolmogorov_smirnov_sf(2.0)), 6)
    0.091001
    """
    odd, sign = (2 * _TERMS + 1)[:, None], (-1.0) ** _TERMS[:, None]
    return _of_series(
        x,
        lambda near: 4 / np.pi * sign / odd * np.exp(-(odd**2) * np.pi**2 / (8 * near**2)),
        lambda far: 4 * sign * special.ndtr(-odd * far),
    )


def log_bridge_sf(x: Floats) -> Floats:
    """Return the logarithm of P(max |B| > x) for a Brownian bridge B (Kolmogorov 1933), without underflow."""
    far = np.maximum(x, 1.0)
    with np.errstate(over="ignore"):  # of distances beyond 1e154
        tail = np.log(2) - 2 * far**2 + np.log1p(-np.exp(-6 * far**2) + np.exp(-16 * far**2))
    return np.where(x < 1.0, np.log(special.kolmogorov(np.minimum(x, 1.0))), tail)


def log_two_sided(z: Floats) -> Floats:
    """Return the logarithm of P(|Z| > |z|) for a standard normal Z, without underflow."""
    return np.log(2) + special.log_ndtr(-np.abs(z))


def _of_series(x: float | Floats, near: Callable[[Floats], Floats], far: Callable[[Floats], Floats]) -> Floats:
    """Add up terms (12, N): below the switch they give the probability of less, above it that of more."""

    def survival(flat: Floats) -> Floats:
        less, more = near(np.clip(flat, 0.1, _SWITCH)), far(np.maximum(flat, _SWITCH))  # below 0.1 less than 1e-300
        return np.where(flat < _SWITCH, 1 - less.sum(axis=0), more.sum(axis=0))

    return _at_each(x, survival)


def _at_each(x: float | Floats, survival: Callable[[Floats], Floats]) -> Floats:
    """Evaluate at numbers of any shape, and keep probabilities between 0 and 1."""
    values = numbers("x", x, None)
    return np.reshape(np.clip(survival(np.ravel(values)), 0.0, 1.0), values.shape)[()]


# The laws of squared walks in large samples: integrals of squared Brownian motions and bridges.
#
# Each is a sum of independent squared normal variables, :math:`Q = \sum_j Z_j^2 / \mu_j` with :math:`\mu_1 < \mu_2 <
# \dots`, and for such sums (Smirnov 1937)
#
# .. math:: P(Q > x) = \frac1\pi \sum_{k \ge 1} (-1)^{k+1} \int_{\mu_{2k-1}}^{\mu_{2k}}
#           \frac{e^{-x u / 2}}{u \sqrt{|D(u)|}}\, du, \qquad D(u) = \prod_j (1 - u / \mu_j)
#
# The integrands are infinite at both ends like inverse roots, which the rule of Gauss and Chebyshev takes into
# account. All terms but the first are small in the tail, so small probabilities keep their digits.

_N_SERIES = 30
_N_NODES = 256
# Below, the laws have less than 1e-14 of their mass, and the series would need more terms.
_SMALLEST_HEIGHT, _SMALLEST_BRIDGE = 0.004, 0.025


def cramer_von_mises_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 W(t)^2 dt` > x) for a Brownian motion W (Cameron & Martin 1944).

    The law of the standardised `CramerVonMises` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / ((j - 1/2)^2 \pi^2)`, whose mean is 1/2. Absolute error below 1e-13.

    Parameters
    ----------
    x : float or array of floats
        Standardised values; of NaN the probability is NaN.

    Returns
    -------
    survival : float or array of floats
        P-values by the law of large samples.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(float(cs.cramer_von_mises_sf(1.0)), 6)
    0.136102
    """
    return survival_of(x, *_height_rule(), _SMALLEST_HEIGHT)


def anderson_darling_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 B(t)^2 / (t (1 - t)) dt + Z^2` > x), B a Brownian bridge, Z normal, independent.

    The law of the standardised `AndersonDarling` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / (j (j + 1))` (Anderson & Darling 1952) and one more :math:`Z^2`; its mean is 2. Absolute error below
    1e-13.

    Parameters
    ----------
    x : float or array of floats
        Standardised values; of NaN the probability is NaN.

    Returns
    -------
    survival : float or array of floats
        P-values by the law of large samples.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(float(cs.anderson_darling_sf(2.0)), 6)
    0.365112
    """
    return survival_of(x, *_bridge_rule(), _SMALLEST_BRIDGE)


@cache
def _height_rule() -> tuple[Floats, Floats]:
    """Of a Brownian motion: D(u) = cos(sqrt u)."""
    j = np.arange(1, 2 * _N_SERIES + 1, dtype=float)
    return quadratic_rule(np.square((j - 0.5) * np.pi), lambda u: np.cos(np.sqrt(u)))


@cache
def _bridge_rule() -> tuple[Floats, Floats]:
    """Of a weighted bridge and one more variable: D(u) = (u - 1) cos(sqrt(1 + 4 u) pi / 2) / (pi u)."""
    j = np.arange(1, 2 * _N_SERIES)
    roots = np.append(1.0, j * (j + 1.0))
    return quadratic_rule(roots, lambda u: (u - 1) * np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def quadratic_rule(roots: Floats, determinant: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return u and weights with P(Q > x) = sum weights exp(-x u / 2), from 2 m smallest, increasing mu and from D."""
    low, high = roots[::2, None], roots[1::2, None]
    half = (high - low) / 2
    angle = (np.arange(_N_NODES) + 0.5) * np.pi / _N_NODES
    points = low + half * (1 - np.cos(angle))
    smooth = half * np.sin(angle) / np.sqrt(np.abs(determinant(points))) / points
    sign = (-1.0) ** np.arange(len(low))[:, None]
    return points.ravel(), (sign * smooth / _N_NODES).ravel()


def survival_of(x: float | Floats, points: Floats, weights: Floats, smallest: float) -> Floats:
    """Return P(Q > x) by the points and weights of `quadratic_rule`; one below `smallest`."""

    def survival(flat: Floats) -> Floats:
        found = [weights @ np.exp(-0.5 * each * points) for each in np.maximum(flat, smallest)]
        return np.where(flat < smallest, 1.0, found)

    return _at_each(x, survival)


# The name, the survival function and the mean of each law.
RANGE = ("range of a Brownian motion", kuiper_sf, KUIPER_MEAN)
HEIGHT = ("height of a Brownian motion", kolmogorov_smirnov_sf, KOLMOGOROV_SMIRNOV_MEAN)
SQUARED_WALK = ("integral of a squared Brownian motion", cramer_von_mises_sf, 0.5)
SQUARED_BRIDGE = ("squared normal variable and Anderson-Darling law", anderson_darling_sf, 2.0)
