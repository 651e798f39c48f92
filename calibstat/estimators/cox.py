"""Cox's recalibration of the logit: intercept and slope with intervals."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import exp, log, nan
from statistics import NormalDist
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from scipy.special import stdtrit

from calibstat._dataclass import dataclass
from calibstat._logistic import (
    LogisticFits,
    certain,
    clipped_logit,
    expit,
    fit_logistic,
    linear_predictor,
    log_likelihood,
    sums_of_products,
)
from calibstat._text import percent
from calibstat.data.arrays import Array, Floats, effective_rows
from calibstat.data.groups import Groups, cluster_factors
from calibstat.data.parameters import CONFIDENCE_LEVEL, Share
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Bounds,
    Capabilities,
    Estimator,
    Evaluator,
    Expansion,
    Headline,
    all_weights,
    between,
    happened,
    in_batches,
    two_classes,
)
from calibstat.estimators.logistic_spline import LogisticGaps, over_the_prediction
from calibstat.estimators.recalibration_scores import logit_score
from calibstat.estimators.tally import ratio

Statistic: TypeAlias = Literal["score", "likelihood_ratio", "slope", "intercept_in_the_large"]
# A standard error that is larger than the range of logits says that rows show no noise: all are certain and right.
_WIDEST = 2 * log(1e9)
# The place of each statistic among the eight numbers of a fit, and the value of each coefficient under calibration.
_PLACES = {"score": 7, "likelihood_ratio": 6, "slope": 4, "intercept_in_the_large": 0}
_CALIBRATED = {"slope": 1.0, "intercept_in_the_large": 0.0, "intercept": 0.0}


_BY_MODEL = ", by the logistic model"


@final
@dataclass(frozen=True)
class CoxFit:
    """Intercept and slope of the recalibrated logit; 0 and 1 under calibration.

    Parameters
    ----------
    intercept_in_the_large : float
        With the slope fixed at one; positive where the event is more frequent than predicted. Like the other
        coefficients it is NaN where a prediction is 0 or 1, whose log-odds are infinite.
    intercept_in_the_large_interval : (float, float)
        Its Wald interval.
    intercept, slope : float
        Fitted together; a slope below one means over-confidence.
    intercept_interval, slope_interval : (float, float)
        Wald intervals. NaN where outcomes are separated or the predictions are all equal.
    likelihood_ratio, score : float
        Statistics of intercept = 0 and slope = 1, with two degrees of freedom.
    statistic : {"score", "likelihood_ratio", "slope", "intercept_in_the_large"}
        The one of the numbers that is tested.
    intercept_in_the_large_error, intercept_error, slope_error : float
        Standard errors; with weights, or of rows in clusters, those of the sandwich variance.
    clustered : bool
        Whether rows come in clusters, so that the statistics have no asymptotic p-value.
    """

    intercept_in_the_large: float
    intercept_in_the_large_interval: tuple[float, float]
    intercept: float
    intercept_interval: tuple[float, float]
    slope: float
    slope_interval: tuple[float, float]
    likelihood_ratio: float
    score: float
    statistic: Statistic = "score"
    intercept_in_the_large_error: float = float("nan")
    intercept_error: float = float("nan")
    slope_error: float = float("nan")
    clustered: bool = False

    words: ClassVar[Mapping[str, str]] = {
        "slope": "calibration slope",
        "intercept_in_the_large": "intercept in the large",
        "intercept": "intercept beside the slope",
        "likelihood_ratio": "likelihood ratio",
        "score": "score statistic",
    }

    @property
    def likelihood_ratio_pvalue(self) -> float:
        """The asymptotic p-value (chi-square with two degrees of freedom); `calibration_test` gives an exact one."""
        return self._pvalue(self.likelihood_ratio)

    @property
    def score_pvalue(self) -> float:
        """The asymptotic p-value of the score statistic."""
        return self._pvalue(self.score)

    def _pvalue(self, statistic: float) -> float:
        """Return that of independent rows; NaN of rows in clusters."""
        return nan if self.clustered else exp(-statistic / 2)

    def __float__(self) -> float:
        return float(getattr(self, self.statistic))


@final
@dataclass(frozen=True)
class Cox(Estimator):
    r"""Cox's (1958) calibration intercept and slope, for two classes.

    .. math:: \mathrm{logit}\, P(Y = 1 \mid p) = a + b\, \mathrm{logit}\, p

    by maximum likelihood; also the intercept with b = 1 (calibration in the large on the logit scale). The value is a
    `CoxFit` record; by default a test is about the score statistic of (a, b) = (0, 1) (`LogitScore` of degree 1, which
    is faster where no fit is wanted). Units: logits; b has none. Consistent and asymptotically normal; biased by
    O(1/n), b upward. With weights, or of rows in clusters, intervals use the sandwich variance, of sums over clusters
    with the correction CR2 (Bell & McCaffrey 2002), and Student's law; with weights the likelihood ratio
    is that of weights scaled to sum w^2 = sum w. Predictions are clipped to [1e-9, 1 - 1e-9]; where something happened
    that was predicted with a chance of 0, both statistics are infinite. O(n) for each Newton step.

    Weaknesses: sees smooth monotone errors only; an intercept of 0 and a slope of 1 do not mean calibration.

    Parameters
    ----------
    confidence_level : float
        Of the intervals, between 0 and 1.
    statistic : {"score", "likelihood_ratio", "slope", "intercept_in_the_large"}
        The one that is tested. A coefficient is tested on both sides of its value under calibration; it has intervals
        and can be compared.

    Raises
    ------
    ValueError
        If `confidence_level` is not between 0 and 1, or `statistic` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> fit = cs.Cox()(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p))
    >>> round(fit.intercept, 5), round(fit.slope, 5), round(fit.likelihood_ratio, 5)
    (0.63743, 1.10569, 0.62257)
    """

    confidence_level: Share = CONFIDENCE_LEVEL
    statistic: Statistic = "score"
    calibrated: ClassVar[Mapping[str, float]] = _CALIBRATED
    undefined: ClassVar[str] = (
        "log-odds of predictions of 0 or 1 are infinite, so that there is no slope and no intercept; a fit has no "
        "maximum where all outcomes are alike or the prediction separates them, and no slope where all predictions "
        "are equal"
    )
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    no_interval: ClassVar[str] = "Cox(statistic='slope') and Cox(statistic='intercept_in_the_large') have one"

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """Which of the numbers the value is."""
        if self.test_statistic:
            name = "likelihood ratio" if self.statistic == "likelihood_ratio" else "score statistic"
            return f"{name} of slope 1 and intercept 0 (about chi-square with two degrees of freedom)"
        return f"calibration {self.statistic.replace('_', ' ')}, on the logit scale"

    @property
    def test_statistic(self) -> bool:  # type: ignore[override]
        """Whether one of the statistics is tested, and not a coefficient."""
        return self.statistic in ("score", "likelihood_ratio")

    @property
    def is_error(self) -> bool:
        """Whether it is a statistic of both coefficients."""
        return self.test_statistic

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Statistics are not negative; of a slope nothing is known."""
        return between(0.0) if self.test_statistic else between()

    @property
    def estimand(self) -> Estimator:
        """The number that is tested alone: errors and statistics beside it depend on the number of rows."""
        return Headline(self)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take logits."""
        two_classes(self, predictions)
        return _CoxEvaluator(self, predictions)

    def gaps(self, predictions: Predictions) -> LogisticGaps:
        """Prepare the absolute difference of the fitted curve and the prediction in each row, which `ICI` averages."""
        linear = clipped_logit(over_the_prediction(self, predictions))
        return LogisticGaps(predictions, np.column_stack([np.ones(len(linear)), linear]))

    def headline(self, values: Floats) -> Floats:
        """Return the statistic of intercept 0 and slope 1, or the coefficient."""
        return values[..., _PLACES[self.statistic]]

    def evidence(self, values: Floats) -> Floats:
        """Larger statistics are stronger evidence, and coefficients further from calibration on either side."""
        return values if self.test_statistic else np.abs(values - _CALIBRATED[self.statistic])


class _CoxEvaluator(Evaluator):
    shape = (8,)
    standard_errors: ClassVar[list[int]] = [1, 3, 5]

    def __init__(self, estimator: Cox, predictions: Predictions) -> None:
        self.estimator = estimator
        self.predictions = predictions
        self.logits = clipped_logit(predictions.event)
        self.score = logit_score(predictions, 1)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, 8)

    def present(self, value: Floats) -> Any:
        z = _reach(self.estimator.confidence_level, self.predictions)
        large, intercept, slope = (
            (float(m), (float(m - z * se), float(m + z * se))) for m, se in value[:6].reshape(3, 2)
        )
        errors = [float(error) for error in value[1:6:2]]
        score, statistic = float(value[7]), self.estimator.statistic
        clustered = self.predictions.groups is not None
        return CoxFit(
            *large,
            *intercept,
            *slope,
            likelihood_ratio=float(value[6]),
            score=score,
            statistic=statistic,
            intercept_in_the_large_error=errors[0],
            intercept_error=errors[1],
            slope_error=errors[2],
            clustered=clustered,
        )

    @property
    def capabilities(self) -> Capabilities:
        """Coefficients have an expansion; a statistic, which has none, means what they are."""
        if self.estimator.test_statistic:
            return Capabilities(remark=self._coefficients, meaning=lambda outcomes, *_: self._meaning(outcomes))
        return Capabilities(expansion=self._expanded)

    def _meaning(self, outcomes: Array) -> str:
        """Say which slope and intercept there are; nothing where there is no slope."""
        found = self._coefficients(outcomes).removesuffix(_BY_MODEL)
        return f"Calibration {found}; a calibrated model has 1 and 0." if found else ""

    def _coefficients(self, outcomes: Array) -> str:
        """Write slope and intercept with their intervals; nothing where there are none."""
        fit = self.present(self(outcomes))
        if not np.isfinite(fit.slope_error):
            return ""
        (slope, large), level = (
            (fit.slope_interval, fit.intercept_in_the_large_interval),
            self.estimator.confidence_level,
        )
        return (
            f"slope {fit.slope:.4g} ({percent(level)}: {slope[0]:.4g} to {slope[1]:.4g}), intercept in the large "
            f"{fit.intercept_in_the_large:.4g} ({large[0]:.4g} to {large[1]:.4g}){_BY_MODEL}"
        )

    def _expanded(self, outcomes: Array) -> Expansion:
        """A row adds its score times the inverse of the information."""
        values, none, alone = self(outcomes), np.full(len(self.logits), np.nan), self.estimator.statistic != "slope"
        value = float(self.estimator.headline(values))
        if not np.isfinite(value):
            return Expansion.known(np.nan, none, none[:, None])
        masses = all_weights(self.predictions, None)
        design = np.stack([np.ones(len(self.logits)), self.logits])
        chances = expit(value + self.logits if alone else values[2] + values[4] * self.logits)
        design = design[:1] if alone else design
        information = (design * masses * chances * (1 - chances)) @ design.T
        toward = np.linalg.pinv(information, hermitian=True)[-1] @ design
        return Expansion.known(value, masses * (happened(outcomes) - chances) * toward, (masses * toward)[:, None])

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        event = happened(outcomes)
        masses = np.broadcast_to(all_weights(self.predictions, weights), event.shape)
        design = np.column_stack([np.ones(len(self.logits)), self.logits])
        large = fit_logistic(design[:, :1], event, masses, offset=self.logits)
        both = fit_logistic(design, event, masses, start=np.array([0.0, 1.0]))
        gain = both.value - log_likelihood(self.logits, event, masses)
        squares = masses**2 if self.predictions.counts is None else masses**2 / self.predictions.counts
        gain *= 2 * ratio(masses.sum(axis=-1), squares.sum(axis=-1))
        score = self.score(outcomes, weights)
        gain = np.where(np.isinf(score), np.inf, gain)  # something happened that was predicted with a chance of 0
        columns = [
            *self._with_errors(large, design[:, :1], self.logits, masses, squares, event),
            *self._with_errors(both, design, 0.0, masses, squares, event),
        ]
        values = np.stack([*columns, np.maximum(gain, 0.0), score], axis=-1)
        values[certain(self.predictions.sure, masses), :6] = np.nan
        return np.where((masses.sum(axis=-1) > 0)[:, None], values, np.nan)

    def _with_errors(
        self, fits: LogisticFits, design: Floats, offset: Floats | float, masses: Floats, squares: Floats, event: Floats
    ) -> list[Floats]:
        """Return each coefficient (R,) and its sandwich error.

        Both are NaN where no maximum exists or predictions are all equal, errors where there are too few clusters.
        """
        chance = expit(linear_predictor(design, fits.coefficients) + offset)
        variance = chance * (1 - chance)
        bread = sums_of_products(design.T, masses * variance)
        groups = self.predictions.groups
        if groups is None:
            meat = sums_of_products(design.T, squares * variance)
        else:
            meat = _of_clusters(groups, masses, masses * (event - chance), design)
        sizes = np.diagonal(bread, axis1=-2, axis2=-1).prod(axis=-1)
        known = fits.exists & (np.linalg.det(bread) > ROUNDING * np.maximum(sizes, 1e-300))
        inverse = np.linalg.inv(np.where(known[:, None, None], bread, np.eye(design.shape[1])))
        errors = np.sqrt(np.maximum(np.diagonal(inverse @ meat @ inverse, axis1=-2, axis2=-1), 0.0))
        known &= ~(errors > _WIDEST).any(axis=-1)
        pairs = zip(fits.coefficients.T, errors.T, strict=True)
        return [np.where(known, each, np.nan) for pair in pairs for each in pair]


def _of_clusters(groups: Groups, masses: Floats, residuals: Floats, design: Floats) -> Floats:
    """Return the sums over clusters of the squares of their scores (R, d, d); NaN of too few clusters."""
    found = np.empty((len(residuals), design.shape[1], design.shape[1]))
    for place, (mass, residual) in enumerate(zip(masses, residuals, strict=True)):
        if groups.counted(mass).too_few:
            found[place] = np.nan
            continue
        scores = np.stack([groups.sums(residual * column) for column in design.T])
        found[place] = cluster_factors(groups.sums(mass))[0] * scores @ scores.T
    return found


def _reach(confidence_level: float, predictions: Predictions) -> float:
    """Return how many standard errors an interval reaches: by the normal law, with weights or clusters by Student's.

    With weights its degrees of freedom are those of a sum of squares with such weights (Satterthwaite 1946).
    """
    level, weights, groups = (1 + confidence_level) / 2, predictions.importance, predictions.groups
    if groups is not None:
        return float(stdtrit(cluster_factors(groups.sums(predictions.weights))[1], level))
    if weights is None:
        return NormalDist().inv_cdf(level)
    return float(stdtrit(effective_rows(weights**2), level))


@final
@dataclass(frozen=True)
class ObservedToExpected(Estimator):
    r"""Observed over expected number of events, O/E, for two classes.

    .. math:: \frac{\sum_i y_i}{\sum_i p_i}

    Above 1 the event is more frequent than predicted. A test is two-sided in ``|O/E - 1|``. Unbiased under calibration;
    with weights the sums are weighted. O(n). Blind to all errors that cancel in the mean. Infinite where nothing was
    expected and something happened, and 1 where neither.

    The interval that `estimate` and `clinical_summary` give is symmetric on the logarithm, like that of Debray et al.
    (2017), whose standard error :math:`\sqrt{(1 - \bar y) / \sum_i y_i}` takes every row for equally likely to have
    an event; here it is :math:`\sqrt{\sum_i (y_i - O/E \, p_i)^2} / \sum_i y_i`, which knows the predictions, and is
    half as wide where these are nearly 0 or 1. In simulations with 4 to 400 events among 20 to 2000 rows intervals of
    95 % held the truth in 94 to 97 % of samples, and in 92 % with 6 rows of no event. With fewer than 20 rows with an
    event, or without, the result says so.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.ObservedToExpected()(cs.Sample([0, 1, 1, 0], [0.2, 0.5, 0.6, 0.3])), 4)
    1.25
    """

    quantity: ClassVar[str] = "observed over expected number of events"
    takes_counts: ClassVar[bool] = True
    reads_buckets = True
    is_error: ClassVar[bool] = False
    bounds = between(0.0)
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Keep the predictions."""
        two_classes(self, predictions)
        return _RatioEvaluator(predictions)

    def evidence(self, values: Floats) -> Floats:
        """Either side of one is evidence."""
        return np.abs(values - 1)


class _RatioEvaluator(Evaluator):
    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, 2)

    @property
    def capabilities(self) -> Capabilities:
        masses = all_weights(self.predictions, None)
        finite = float(masses @ self.predictions.event) > float(masses.max()) / sys.float_info.max
        return Capabilities(expansion=self._expanded, linear=self._linear if finite else None)

    def _linear(self) -> Floats:
        masses = all_weights(self.predictions, None)
        return np.stack([np.zeros(len(masses)), masses / (masses @ self.predictions.event)])

    def _expanded(self, outcomes: Array) -> Expansion:
        masses, value = all_weights(self.predictions, None), float(self(outcomes))
        expected = float((masses * self.predictions.event).sum())
        if not expected:
            return Expansion.known(value, np.full(len(masses), np.nan), np.full((len(masses), 1), np.nan))
        share = masses / expected
        return Expansion.known(value, share * (happened(outcomes) - value * self.predictions.event), share[:, None])

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        event = happened(outcomes)
        masses = np.broadcast_to(all_weights(self.predictions, weights), event.shape)
        observed, expected = (masses * event).sum(axis=-1), (masses * self.predictions.event).sum(axis=-1)
        with np.errstate(over="ignore"):  # next to nothing was expected
            value = np.where(expected > 0, ratio(observed, expected), np.where(observed > 0, np.inf, 1.0))
        return np.where(masses.sum(axis=-1) > 0, value, np.nan)
