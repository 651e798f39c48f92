"""Histogram regression: the calibration function, estimated cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.rounding import above_rounding
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, between
from calibstat.estimators.scores import BrierScore
from calibstat.estimators.squared import DebiasedL2
from calibstat.estimators.tally import Tally, TallyPlan, full_vector, ratio


@final
@dataclass(frozen=True)
class HistogramRegression(Estimator):
    r"""Mean outcome and mean prediction of every cell (Vaicenavicius et al. 2019, Section 4.1).

    The calibration function :math:`r(p) = P(Y = \cdot \mid p)` is estimated by the proportions of outcomes among the
    rows of each cell. The value is an xarray Dataset with the variables ``proportion`` (share of rows),
    ``mean_prediction``, ``mean_outcome``, ``deviation`` (outcome minus prediction) and ``count`` (sum of weights);
    empty cells are kept as NaN with count 0. Under resampling the evaluator gives the deviations (..., L, K). Cells
    with few rows are noisy. There is no single number to test. O(n K) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> cells = cs.HistogramRegression(cs.EqualWidth(2))(sample)
    >>> cells["count"].values
    array([2., 2.])
    >>> cells["deviation"].sel(label=1).values.round(2)
    array([-0.3,  0.2])
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "deviation of mean outcome from mean prediction in each cell"
    undefined: ClassVar[str] = "a cell without rows has no mean; take fewer cells, or EqualMass"
    has_headline: ClassVar[bool] = False
    reads_buckets = True

    @property
    def estimand(self) -> HistogramRegression:
        """The calibration function at every distinct prediction."""
        return HistogramRegression(UniqueValues())

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether the cells are those of single rows."""
        return self.binning.takes_counts

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up the predictions."""
        return _HistogramEvaluator(TallyPlan(predictions, self.binning.cut(predictions), ()))


class _HistogramEvaluator(Evaluator):
    def __init__(self, plan: TallyPlan) -> None:
        self.plan = plan
        self.shape = (plan.cells.size, plan.predictions.n_classes)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return _deviations(self.plan(outcomes, weights))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            tally=self.plan,
            from_tally=lambda outcome: _deviations(self.plan.complete(outcome)),
            fewest=self.plan.fewest,
        )

    def present(self, value: Floats) -> Any:
        """Label the cells: an xarray Dataset with dimensions cell and label."""
        import xarray as xr

        fixed, cells = self.plan.fixed, self.plan.cells
        empty = fixed.weight == 0
        prediction = np.where(empty[:, None], np.nan, full_vector(fixed.mean_prediction))
        both = ("cell", "label")
        coordinates: dict[str, Any] = {"label": list(map(_name, self.plan.predictions.classes))}
        if cells.edges is not None:
            coordinates |= {"low": ("cell", cells.edges[:-1]), "high": ("cell", cells.edges[1:])}
        if cells.names is not None:
            coordinates["cell"] = list(cells.names)
        return xr.Dataset(
            {
                "proportion": ("cell", fixed.share),
                "mean_prediction": (both, prediction),
                "mean_outcome": (both, prediction + value),
                "deviation": (both, value),
                "count": ("cell", fixed.weight),
            },
            coords=coordinates,
        )


def _deviations(tally: Tally) -> Floats:
    gaps = full_vector(tally.mean_outcome) - full_vector(tally.mean_prediction)
    return np.where(tally.weight[..., None] > 0, gaps, np.nan)


def _name(label: object) -> object:
    return label if isinstance(label, (int, str)) else str(label)


@final
@dataclass(frozen=True)
class BrierParts:
    """The parts of a Brier score: score = uncertainty - sharpness + calibration + residual.

    ``float`` gives the calibration, which is the part that is tested.

    Parameters
    ----------
    score : float
        The Brier score.
    uncertainty : float
        The Brier score of the best constant prediction.
    sharpness : float
        How much the outcomes of cells differ (also called resolution): larger is better.
    calibration : float
        Squared calibration error of the cells (also called reliability): smaller is better.
    residual : float
        The part due to the spread of predictions inside cells; zero if cells are the distinct predictions.
    """

    score: float
    uncertainty: float
    sharpness: float
    calibration: float
    residual: float

    words: ClassVar[Mapping[str, str]] = {
        "score": "Brier score",
        "calibration": "  reliability (calibration)",
        "sharpness": "  resolution (sharpness)",
        "uncertainty": "  uncertainty",
        "residual": "  residual inside cells",
    }

    def __float__(self) -> float:
        return self.calibration


class _Decomposition(Estimator):
    """The parts of a Brier score over cells, as they are or with their bias corrected."""

    binning: Binning
    corrected: ClassVar[bool] = False
    headline_place: ClassVar[int | None] = 3
    bounds = between(0.0, 1.0, 2.0)

    @property
    def estimand(self) -> BrierDecomposition:
        """The unbinned decomposition."""
        return BrierDecomposition(UniqueValues())

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether the cells are those of single rows."""
        return self.binning.takes_counts

    @property
    def numbers(self) -> dict[str, Estimator]:
        """The score, and the calibration; the other parts say nothing of the predictions."""
        return {"score": BrierScore(), "calibration": self}

    @property
    def squared_form(self) -> DebiasedL2:
        """The U-statistic of the calibration in the same cells."""
        return DebiasedL2(self.binning)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        return _BrierPartsEvaluator(predictions, self.binning, _corrected if self.corrected else _murphy)


@final
@dataclass(frozen=True)
class BrierDecomposition(_Decomposition):
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
    >>> parts = cs.BrierDecomposition(cs.UniqueValues())(cs.Sample([0, 1, 0, 1, 1], [0.4, 0.4, 0.4, 0.9, 0.9]))
    >>> round(parts.uncertainty - parts.sharpness + parts.calibration, 6), round(parts.score, 6)
    (0.14, 0.14)
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "calibration part of the Brier score"


@final
@dataclass(frozen=True)
class FerroFricker(_Decomposition):
    r"""Brier decomposition with the bias of its parts corrected (Ferro & Fricker 2012; Broecker 2012).

    With :math:`C = \sum_b \frac{n_b}{n} \frac{\bar y_b (1 - \bar y_b)}{n_b - 1}` and the parts of `BrierDecomposition`,

    .. math:: \text{calibration} - C, \qquad \text{sharpness} - C + \frac{\bar y (1 - \bar y)}{n - 1}, \qquad
              \text{uncertainty}\, \frac{n}{n - 1}

    The corrected calibration is `DebiasedCE`: unbiased when predictions are constant in cells. It may be negative, and
    so may sharpness. Cells of one row cannot be corrected and keep their plug-in terms, unlike in `DebiasedCE`. With
    weights 1 / (n_b - 1) becomes :math:`\sum w^2 / (W_b^2 - \sum w^2)`. A `BrierParts` record; O(n) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> parts = cs.FerroFricker(cs.UniqueValues())(cs.Sample([0, 1, 0, 1, 1], [0.4, 0.4, 0.4, 0.9, 0.9]))
    >>> round(parts.calibration, 6), round(parts.uncertainty, 6)
    (-0.06, 0.3)
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "calibration part of the Brier score (debiased)"
    corrected: ClassVar[bool] = True


class _BrierPartsEvaluator(Evaluator):
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

    @property
    def capabilities(self) -> Capabilities:
        """The cells of two of the parts."""
        return Capabilities(fewest=self.plan.fewest)

    def present(self, value: Floats) -> BrierParts:
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
    return ratio(weight2, above_rounding(weight**2 - weight2, weight**2))
