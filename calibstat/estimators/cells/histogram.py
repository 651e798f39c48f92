"""Histogram regression: the calibration function, estimated cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning, expect_binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import Tally, TallyPlan, full_vector
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class HistogramRegression(Estimator):
    r"""Mean outcome and mean prediction of every cell (Vaicenavicius et al. 2019, Section 4.1).

    The calibration function :math:`r(p) = P(Y = \cdot \mid p)` is estimated by the proportions of outcomes among the
    rows of each cell. The value is an xarray Dataset with the variables ``proportion`` (share of rows),
    ``mean_prediction``, ``mean_outcome``, ``deviation`` (outcome minus prediction) and ``count`` (sum of weights);
    empty cells are kept as NaN with count 0. Under resampling the evaluator gives the deviations (..., L, K). Cells
    with few rows are noisy: it is a picture, not a number that could be tested. O(n K) after cutting.

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

    @property
    def estimand(self) -> HistogramRegression:
        """The calibration function at every distinct prediction."""
        return HistogramRegression(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up the predictions."""
        return _HistogramEvaluator(TallyPlan(predictions, expect_binning(self.binning).cut(predictions), ()))


class _HistogramEvaluator(Evaluator):
    def __init__(self, plan: TallyPlan) -> None:
        self.plan = plan
        self.shape = (plan.cells.size, plan.predictions.n_classes)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return _deviations(self.plan(outcomes, weights))

    @property
    def tally(self) -> TallyPlan:
        return self.plan

    def from_tally(self, outcome: Array) -> Floats:
        return _deviations(self.plan.complete(outcome))

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
