"""The Brier score taken apart over cells, as it is and with the bias taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.scores.means import BrierScore
from calibstat.estimators.tally import Tally, TallyPlan, ratio
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class BrierParts:
    """The parts of a Brier score: score = uncertainty - sharpness + calibration + residual.

    ``float`` gives the calibration, which a test is about.

    Parameters
    ----------
    score : float
        The Brier score.
    uncertainty : float
        That of the best constant prediction.
    sharpness : float
        How much the outcomes of cells differ (also called resolution): larger is better.
    calibration : float
        Squared calibration error of the cells (also called reliability): smaller is better.
    residual : float
        What the cells do not see; zero if they are the distinct predictions.
    """

    score: float
    uncertainty: float
    sharpness: float
    calibration: float
    residual: float

    def __float__(self) -> float:
        return self.calibration


@final
@dataclass(frozen=True)
class BrierDecomposition(Estimator):
    r"""Brier score = uncertainty - sharpness + calibration + residual (Murphy 1973).

    .. math:: \bar y (1 - \bar y) - \sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2
              + \sum_b \frac{n_b}{n} (\bar p_b - \bar y_b)^2 + \text{residual}

    on the event for two classes (one-sided) and summed over classes otherwise. The residual is the part of the spread
    of predictions inside cells that Murphy's three terms miss (Stephenson, Coelho & Jolliffe 2008); it is zero when
    cells are the distinct predictions. The value is a record with the fields score, uncertainty, sharpness, calibration
    and residual; a test is about calibration, which is `SquaredCE`. Calibration and sharpness are both biased upward by
    about the mean of v_b / n_b: see `FerroFricker`. O(n) after cutting. Any number of classes; any weights.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.cells.decomposition import BrierDecomposition
    >>> parts = BrierDecomposition(cs.UniqueValues())(cs.Sample([0, 1, 0, 1, 1], [0.4, 0.4, 0.4, 0.9, 0.9]))
    >>> round(parts.uncertainty - parts.sharpness + parts.calibration, 6), round(parts.score, 6)
    (0.14, 0.14)
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "Brier score and its parts: uncertainty, sharpness, calibration, residual"

    @property
    def estimand(self) -> BrierDecomposition:
        """The unbinned decomposition."""
        return BrierDecomposition(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        return _PartsEvaluator(predictions, self.binning, _murphy)

    def headline(self, values: Floats) -> Floats:
        """Return the calibration part."""
        return values[..., 3]


@final
@dataclass(frozen=True)
class FerroFricker(Estimator):
    r"""Brier decomposition with the bias of its parts taken out (Ferro & Fricker 2012; Broecker 2012).

    With :math:`C = \sum_b \frac{n_b}{n} \frac{\bar y_b (1 - \bar y_b)}{n_b - 1}` and the parts of `BrierDecomposition`,

    .. math:: \text{calibration} - C, \qquad \text{sharpness} - C + \frac{\bar y (1 - \bar y)}{n - 1}, \qquad
              \text{uncertainty}\, \frac{n}{n - 1}

    The corrected calibration is `DebiasedCE`: unbiased when predictions are constant in cells, and it may be negative,
    as may sharpness. Cells of one row have no correction and keep their plug-in terms, unlike in `DebiasedCE`. With
    weights 1 / (n_b - 1) becomes :math:`\sum w^2 / (W_b^2 - \sum w^2)`. The same record; O(n) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.cells.decomposition import FerroFricker
    >>> parts = FerroFricker(cs.UniqueValues())(cs.Sample([0, 1, 0, 1, 1], [0.4, 0.4, 0.4, 0.9, 0.9]))
    >>> round(parts.calibration, 6), round(parts.uncertainty, 6)
    (-0.06, 0.3)
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "Brier score and its parts, debiased: uncertainty, sharpness, calibration, residual"

    @property
    def estimand(self) -> BrierDecomposition:
        """The unbinned decomposition."""
        return BrierDecomposition(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        return _PartsEvaluator(predictions, self.binning, _corrected)

    def headline(self, values: Floats) -> Floats:
        """Return the calibration part."""
        return values[..., 3]


class _PartsEvaluator(Evaluator):
    shape = (5,)

    def __init__(self, predictions: Predictions, binning: Binning, parts: Callable[[Tally], list[Floats]]) -> None:
        self.score = BrierScore().prepare(predictions)
        self.plan = TallyPlan(predictions, binning.cut(predictions), ("weight2",))
        self.parts = parts

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        score = self.score(outcomes, weights)
        uncertainty, sharpness, calibration = self.parts(self.plan(outcomes, weights))
        residual = score - (uncertainty - sharpness + calibration)
        return np.stack([score, uncertainty, sharpness, calibration, residual], axis=-1)

    def present(self, value: Floats) -> BrierParts:
        """Name the parts."""
        return BrierParts(*value.tolist())


def _murphy(tally: Tally) -> list[Floats]:
    """Return uncertainty, sharpness and calibration (...,) each."""
    mean = ratio(tally.outcome.sum(axis=-2), np.asarray(tally.total)[..., None], empty=np.nan)
    uncertainty = _uncertainty(mean)
    sharpness = (tally.share * ((tally.mean_outcome - mean[..., None, :]) ** 2).sum(axis=-1)).sum(axis=-1)
    gaps = ((tally.mean_prediction - tally.mean_outcome) ** 2).sum(axis=-1)
    return [uncertainty, sharpness, (tally.share * gaps).sum(axis=-1)]


def _corrected(tally: Tally) -> list[Floats]:
    uncertainty, sharpness, calibration = _murphy(tally)
    spread = _uncertainty(tally.mean_outcome)
    inside = (tally.share * spread * _inverse_size(tally.weight, tally.weight2)).sum(axis=-1)
    whole = uncertainty * _inverse_size(np.asarray(tally.total), np.asarray(tally.weight2.sum(axis=-1)))
    return [uncertainty + whole, sharpness - inside + whole, calibration - inside]


def _uncertainty(mean: Floats) -> Floats:
    """Return the variance of outcomes with means (..., c), summed over components."""
    return (mean * (1 - mean)).sum(axis=-1)


def _inverse_size(weight: Floats, weight2: Floats) -> Floats:
    """Return 1 / (n - 1), with weights sum w^2 / (W^2 - sum w^2); zero for a single row, despite rounding."""
    pairs = weight**2 - weight2
    return ratio(weight2, np.where(pairs > 1e-12 * weight**2, pairs, 0.0))
