"""The GiViTI calibration belt and its test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, chdtri

from calibstat._dataclass import dataclass
from calibstat._logistic import (
    clipped_logit,
    expit,
    fisher_information,
    fit_logistic,
    linear_predictor,
    log_likelihood,
    logit,
    orthonormal,
)
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Share
from calibstat.data.sample import Predictions
from calibstat.estimators._curves import CurveRecord
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, between, happened, two_classes, unweighted
from calibstat.estimators.combined import leading_shape
from calibstat.estimators.large_sample import LargeSampleLaw, scaled_law
from calibstat.estimators.loess import Gaps
from calibstat.estimators.logistic_spline import over_the_prediction


@final
@dataclass(frozen=True, eq=False)
class Belt(CurveRecord):
    """A calibration belt; ``float`` gives the statistic.

    Parameters
    ----------
    statistic : float
        The likelihood ratio T, without units.
    degree : int
        The degree of the selected polynomial.
    asymptotic_pvalue : float
        The p-value given the degree, from the corrected chi-squared law; NaN of rows in clusters.
    coefficients : (degree + 1,) floats
        The coefficients of the powers of logit(p).
    x, curve : (G,) floats
        Predictions, and the fitted chance at each.
    levels : tuple of float
        Confidence levels of the belts.
    low, high : (levels, G) floats
        Bounds of the whole curve at about each level, if it is a polynomial of the selected degree or less; NaN of rows
        in clusters, for which no such bounds are known.
    """

    statistic: float
    degree: int
    asymptotic_pvalue: float
    coefficients: Floats
    x: Floats
    curve: Floats
    levels: tuple[float, ...]
    low: Floats
    high: Floats

    words: ClassVar[Mapping[str, str]] = {
        "statistic": "likelihood ratio",
        "degree": "degree of the curve",
        "asymptotic_pvalue": "p-value, about (many rows only)",
    }

    def __float__(self) -> float:
        return self.statistic

    def _columns(self) -> dict[str, Any]:
        """Predictions, the curve, and the ends of each belt, such as low_95 and high_95."""
        ends = {
            f"{name}_{100 * level:g}": end
            for name, bounds in (("low", self.low), ("high", self.high))
            for level, end in zip(self.levels, bounds, strict=True)
        }
        return {"x": self.x, "curve": self.curve, **ends}

    def __repr__(self) -> str:
        return f"Belt(statistic={self.statistic:.4g}, degree={self.degree}, pvalue={self.asymptotic_pvalue:.3g})"


@final
@dataclass(frozen=True)
class CalibrationBelt(Estimator):
    r"""Likelihood ratio of a polynomial calibration curve: the GiViTI belt (Nattino, Finazzi & Bertolini 2014).

    .. math:: T = 2\,(\ell_m - \ell_{\text{bisector}}), \qquad
              \operatorname{logit} P(Y = 1 \mid p) = \sum_{k \le m} \beta_k (\operatorname{logit} p)^k

    with the degree m <= `max_degree` selected forward from 1: m + 1 is taken while its likelihood ratio against m
    exceeds the `threshold` quantile of chi-squared with one degree of freedom (as ``givitiR`` does with
    ``devel="external"``). The headline is T, without units; it grows with n, so it is a test statistic and no size.
    T does not follow a chi-squared law, because the degree is selected from the same data; `calibration_test` redraws
    labels and selects anew on each draw, which is exact. The record also has the corrected asymptotic p-value given m
    (Nattino et al.), the curve, and 80 % and 95 % belts: bounds over the coefficients for which
    :math:`(\beta - \hat\beta)^T I (\beta - \hat\beta)` is at most the quantile of T given m, as in givitiR. They are
    asymptotic, and for curves that are such polynomials: of calibrated samples the 95 % belt held the whole diagonal in
    94 to 97 % (n = 100 and 500 uniform, n = 300 with events of 1 and 5 %), but the curve p^2, which is none, in half of
    the samples of 2000 rows.

    For two classes, and rows to which the model was not fitted. p is clipped to [1e-9, 1 - 1e-9]. No weights. Under
    calibration T has mean above 2. Blind to errors that no polynomial of that degree follows; a few extreme p have much
    leverage. O(n) for each Newton step of each degree, with two degrees or more for each replicate.

    Parameters
    ----------
    max_degree : int
        From 1 to 4; givitiR has 4.
    threshold : float
        0 < threshold < 1: the quantile that the likelihood ratio must exceed for a higher degree.

    Raises
    ------
    ValueError
        If `max_degree` or `threshold` is out of range.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> cs.CalibrationBelt()(cs.Sample(rng.random(2000) < p**2, p)).degree
    1
    """

    max_degree: Literal[1, 2, 3, 4] = 4
    threshold: Share = 0.95
    test_statistic: ClassVar[bool] = True
    quantity: ClassVar[str] = "misfit that a smooth curve would remove (calibration belt; grows with the rows)"
    bounds = between(0.0)
    headline_place: ClassVar[int | None] = 0
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Compute powers of the logit."""
        two_classes(self, predictions)
        unweighted(self, predictions)
        return _BeltEvaluator(predictions, self)

    def gaps(self, predictions: Predictions) -> Gaps:
        """Prepare the absolute difference of selected curve and prediction in each row, which `ICI` averages."""
        over_the_prediction(self, predictions)
        unweighted(self, predictions)
        return _BeltEvaluator(predictions, self).gaps


class _BeltEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, belt: CalibrationBelt) -> None:
        self.predictions = predictions
        self.belt = belt
        self.shape = (belt.max_degree + 3,)
        self.linear = clipped_logit(predictions.event)
        self.basis, self.transform = orthonormal(self._powers(self.linear))
        self.bisector = self.basis.T @ self.linear / max(len(self.linear), 1)

    def _powers(self, linear: Floats) -> Floats:
        return linear[:, None] ** np.arange(self.belt.max_degree + 1)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        unweighted(self.belt, self.predictions, weights)
        leading, n = leading_shape(outcomes, None), len(self.predictions)
        if not n:
            return np.full((*leading, *self.shape), np.nan)
        target = happened(outcomes).reshape(-1, n)
        return self._select(target).reshape(*leading, *self.shape)

    def gaps(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return absolute differences of the curves and the predictions (..., n), and weights of one."""
        values = self(outcomes, weights)
        coefficients = values[..., 2:].reshape(-1, self.shape[0] - 2)
        chance = expit(linear_predictor(self.basis, coefficients)).reshape(*values.shape[:-1], len(self.linear))
        return np.abs(chance - self.predictions.event), np.ones(chance.shape)

    def _select(self, target: Floats) -> Floats:
        """Return statistic, degree and coefficients of each replicate (R, max_degree + 3)."""
        mass, threshold = np.ones(target.shape[1]), chdtri(1, 1 - self.belt.threshold)
        values = np.zeros((len(target), *self.shape))
        values[:, 1] = 1
        fits = fit_logistic(self.basis[:, :2], target, mass, start=self.bisector[:2])
        values[:, 2:4], best = fits.coefficients, fits.value
        active = np.arange(len(target))
        for degree in range(2, self.belt.max_degree + 1):
            used = slice(0, degree + 1)
            fits = fit_logistic(self.basis[:, used], target[active], mass, start=self.bisector[used])
            better = 2 * (fits.value - best[active]) > threshold
            active = active[better]
            if not len(active):
                break
            values[active, 1], best[active] = degree, fits.value[better]
            values[active, 2 : degree + 3] = fits.coefficients[better]
        values[:, 0] = 2 * np.maximum(best - log_likelihood(self.linear, target, mass), 0.0)
        return values

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(large_sample=lambda _: belt_law(self.belt.max_degree, self.belt.threshold))

    def present(self, value: Floats) -> Belt:
        statistic, degree = float(value[0]), int(value[1])
        used = slice(0, degree + 1)
        coefficients, transform = value[2 : degree + 3], self.transform[used, used]
        linear = self.basis[:, used] @ coefficients
        information = fisher_information(self.basis[:, used], linear[None], np.ones((1, len(linear))))[0]
        covariance = np.linalg.pinv(information, hermitian=True)
        x = np.linspace(expit(self.linear.min()), expit(self.linear.max()), 200)
        rows = self._powers(logit(x))[:, used] @ transform
        centre = rows @ coefficients
        error = np.sqrt(np.maximum(((rows @ covariance) * rows).sum(axis=1), 0))
        levels = (0.8, 0.95)
        independent = self.predictions.groups is None
        error = error if independent else np.full_like(error, np.nan)
        reach = np.array([[np.sqrt(belt_quantile(level, degree, self.belt.threshold))] for level in levels]) * error
        return Belt(
            statistic,
            degree,
            belt_survival(statistic, degree, self.belt.threshold) if independent else np.nan,
            transform @ coefficients,
            x,
            expit(centre),
            levels,
            expit(centre - reach),
            expit(centre + reach),
        )


_NODES, _MASSES = np.polynomial.legendre.leggauss(48)


def belt_survival(value: float, degree: int, threshold: float = 0.95) -> float:
    """Return P(T > value | degree m) for large n (Nattino, Finazzi & Bertolini 2014).

    T is a chi-squared variable with two degrees of freedom plus m - 1 increments, each chi-squared with one degree of
    freedom and above the `threshold` quantile that took the selection a degree further.
    """
    return max(0.0, 1 - float(_chance_of_sum(np.array([value]), degree - 1, float(chdtri(1, 1 - threshold)))[0]))


def belt_quantile(level: float, degree: int, threshold: float = 0.95) -> float:
    """Return the value below which T lies with probability `level`, given the degree."""
    least = (degree - 1) * float(chdtri(1, 1 - threshold))
    return float(brentq(lambda value: belt_survival(value, degree, threshold) - (1 - level), least, least + 100))


def belt_law(max_degree: int, threshold: float = 0.95) -> LargeSampleLaw:
    """Return the law of T whatever the degree: the laws given each degree, mixed as forward selection chooses them.

    Under calibration the degree grows beyond m with chance 1 - threshold, whatever happened before.
    """
    degrees = range(1, max_degree + 1)
    beyond = 1 - threshold
    chances = [beyond ** (m - 1) * (threshold if m < max_degree else 1.0) for m in degrees]
    least = float(chdtri(1, beyond))
    # The mean of a chi-square variable with one degree of freedom, given that it exceeds a point.
    step = float(chdtrc(3, least) / chdtrc(1, least)) if beyond > 0 else 0.0
    mean = sum(chance * (2 + (m - 1) * step) for m, chance in zip(degrees, chances, strict=True))

    def survival(value: float) -> float:
        parts = zip(degrees, chances, strict=True)
        return sum(chance * belt_survival(value, m, threshold) for m, chance in parts if chance > 0)

    return scaled_law("of the calibration belt, over the degrees that may be selected", survival, mean, 1.0)


def _chance_of_sum(values: Floats, increments: int, least: float) -> Floats:
    """Return P(chi2_2 + increments <= values); with D = z^2, z normal above the root of `least`."""
    if not increments:
        return np.where(values > 0, -np.expm1(-np.maximum(values, 0) / 2), 0.0)
    low = np.sqrt(least)
    high = np.sqrt(np.maximum(values - (increments - 1) * least, least))
    half = (high - low)[:, None] / 2
    z = low + half * (1 + _NODES)
    inner = _chance_of_sum((values[:, None] - z**2).ravel(), increments - 1, least).reshape(z.shape)
    density = 2 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return (half * _MASSES * density * inner).sum(axis=1) / (1 - chdtr(1, least))
