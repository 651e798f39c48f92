"""Cumulative errors: how far the walk of residuals strays when rows come in the order of the prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.large_sample import LargeSampleLaw, scaled_law
from calibstat.estimators.replicates import NUMBERS_IN_CACHE, in_batches
from calibstat.estimators.walks.brownian import KOLMOGOROV_SMIRNOV_MEAN, KUIPER_MEAN, kolmogorov_smirnov_sf, kuiper_sf
from calibstat.estimators.walks.ordered import Ordered, on_unit_interval
from calibstat.estimators.walks.worst_interval import describe_worst
from calibstat.predictions import Predictions


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
    >>> from calibstat.estimators.walks.cumulative import Kuiper
    >>> sample = cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(Kuiper()(sample), 6)
    0.275
    """

    quantity: ClassVar[str] = "worst mean residual over an interval of predictions (Kuiper, cutoff calibration error)"

    @property
    def estimand(self) -> Kuiper:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A seminorm."""
        return "seminorm"

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
    >>> from calibstat.estimators.walks.cumulative import KolmogorovSmirnov
    >>> round(KolmogorovSmirnov()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.25
    """

    quantity: ClassVar[str] = "largest mean residual over a lower range of predictions (Kolmogorov-Smirnov)"

    @property
    def estimand(self) -> KolmogorovSmirnov:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A seminorm."""
        return "seminorm"

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
    >>> from calibstat.estimators.walks.cumulative import AverageTwoBin
    >>> round(AverageTwoBin()(cs.Sample([0, 1], [0.5, 0.5])), 6)
    0.0
    """

    quantity: ClassVar[str] = "squared mean residual of two bins, averaged over the place of their edge"

    @property
    def estimand(self) -> AverageTwoBin:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A function of the residuals, quadratic."""
        return "function"

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
        self.words = remark
        self.functional = functional
        self.law = law
        self.scale = None if law is None else ordered.scale

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_CACHE)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        return self.functional(self.ordered.walk(outcomes, weights))

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw | None:  # noqa: ARG002
        return self.law

    def remark(self, outcomes: Array) -> str:
        return "" if self.words is None else self.words(outcomes)

    def signed(self, outcomes: Array, signs: Array) -> Floats:
        return self.functional(self.ordered.walk(outcomes, signs=signs))


def _spread(walk: Floats) -> Floats:
    return walk.max(axis=-1) - walk.min(axis=-1)


def _height(walk: Floats) -> Floats:
    return np.maximum(walk.max(axis=-1), -walk.min(axis=-1))


def _two_bins(walk: Floats, gaps: Floats) -> Floats:
    return ((walk**2 + (walk[..., -1:] - walk) ** 2) * gaps).sum(axis=-1)
