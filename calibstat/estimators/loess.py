"""Local regression of outcomes on a score or a variable, with bands, and the indices computed from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
from scipy.special import betaincinv, ndtri

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Bins, HasParameters, Positive, Tail
from calibstat.data.sample import Predictions
from calibstat.estimators._curves import CurveRecord, picked
from calibstat.estimators._local_fits import LocalCells, LocalFit, LocalOperator
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, Headline, ResidualForm, between, two_classes
from calibstat.estimators.combined import NoRows, leading_shape
from calibstat.estimators.tally import BinnedEstimator, Tally, TallyPlan, ratio
from calibstat.lenses.restrict import Given

# What intervals are for: a local polynomial of the errors is linear in the residuals.
SMOOTHED = "the error of the *smoothed* curve, with this smoother"


@final
@dataclass(frozen=True)
class LOESS(Estimator):
    r"""Local regression of outcome and prediction on what is conditioned on (Cleveland & Devlin 1988).

    .. math:: \hat g(x) = \hat a_0, \qquad \hat a = \arg\min_a \sum_i w_i\, T\Big(\frac{|x_i - x|}{h(x)}\Big)
              \Big(y_i - \sum_{k \le d} a_k (x_i - x)^k\Big)^2

    with the tricube T and h(x) the distance of the q-th nearest row, q = floor(n span): the conventions of cloess
    (R's ``loess`` with ``surface="direct"``). Outcome and prediction are smoothed alike, so that their difference is
    the smooth of the residuals: zero in expectation under calibration, whatever the curve's bias. The value is a
    `LocalCurve` at `n_points` points between the `trim` and 1 - `trim` quantiles of x, with pointwise bands for the
    outcome and the largest difference with its place; that largest absolute difference is the headline (probability
    units, biased upward by noise: read it beside its null mean).

    Rows with the same x are pooled, which is exact; where x takes more than `n_cells` values, neighbours in rank are
    pooled too, which is not: with 1024 cells the curve of 2000 rows moves by less than 0.0005 (span 0.75; 2 % of
    its standard error), 0.0012 (span 0.3; 5 %) or 0.004 (span 0.1; 8 %). With 70 000 rows it moves by at most 0.6 % of
    its standard error for uniform predictions and 4 % for Beta(1, 19) (span 0.75), with degree 1 by 3 % and 8 %. Cost:
    O(n log n + n_points * cells) once, then that of a tally, but a new fit for each new set of weights. From 32 768
    rows on cells are made without a sort, with about equal numbers of rows. The curve cannot follow errors narrower
    than the span, and its ends are noisy; a polynomial may leave [0, 1], and so may its band.

    With the weights :math:`l_i` of rows in the smooth at a point, the band of the outcome is the wider, at each end, of
    the binomial limits of Clopper & Pearson (1934) for :math:`1 / \sum_i l_i^2` rows, which are asymmetric where
    events are rare, and of the normal ones with the outcomes' own variances :math:`\sum_i l_i^2 \hat g (1 - \hat g)`.
    It is for the smooth of the chances, pointwise, and holds it with *about* 95 % at least: in 94 to 100 % of the
    samples at every point, for events of 1 and 5 % (n = 300), predictions near 0 or 1, uniform ones (n = 30 and 500),
    and weights (lognormal). One variance for all rows, as in R's ``loess``, gives 62 to 80 % for rare events.

    With ``band="null"`` the band lies about the smoothed *prediction*: where 95 % of the smoothed outcomes of a
    calibrated model lie at each point, from the exact variances of its outcomes given the predictions,
    :math:`\sum_i l_i^2 p_i (1 - p_i)` (normal quantiles). A curve that leaves it somewhere is no test, as there are
    many points: ``calibration_test(sample, LOESS())`` is one.

    Of rows in clusters (`Sample.groups`) the band has the largest variance that dependence within clusters allows,
    :math:`\sum_g (\sum_{i \in g} |l_i| \sqrt{\hat g (1 - \hat g)})^2`, and the binomial limits are those of as few
    rows: it holds however strong the dependence is, and is wide where that is weak.

    With weights a neighbourhood holds a share of the *weight*, and :math:`l_i` holds the weight of its row, so that
    the band counts rows in effect (Kish 1965). Weights that move (bootstrap) do not move the neighbourhoods.

    The record also has a pointwise band for the smooth of the mean prediction at x, from residuals that leave their row
    out. Its level is about 95 %: with predictions that scatter about a line it held that line in 94 to 95 % of 200
    samples of 100 and 500 rows (worst point 91 %; with lognormal weights 92 to 94 %, worst 86 %), and in 91 % of those
    of 30 rows (worst 84 %; with span 0.3, 87 % and 75 %).
    Over the prediction itself it has hardly any width.

    Parameters
    ----------
    span : float
        Share of the rows in a neighbourhood; above 1 all rows, with wider weights.
    degree : {1, 2}
        Degree of the local polynomial. With 1, `span` 2/3 and the prediction as x, it is R's ``lowess(p, y, iter=0)``.
    n_points : int
        Number of points of the curve.
    trim : float
        0 <= trim < 0.5.
    n_cells : int or None
        None never pools different values of x: exact, in O(n_points * n) memory.
    band : {"outcome", "null"}
        About the outcome's curve, for its own error; or about the prediction's, for the curves of a calibrated model.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> curve = cs.LOESS()(cs.Sample(rng.random(2000) < p**2, p))
    >>> round(curve.maximum, 2), round(curve.location, 1)
    (0.26, 0.5)
    """

    span: Positive = 0.75
    degree: Literal[1, 2] = 2
    n_points: Bins = 500
    trim: Tail = 0.05
    n_cells: Bins | None = 1024
    band: Literal["outcome", "null"] = "outcome"
    by_rows: ClassVar[str] = "its neighbourhoods are made of rows"
    quantity: ClassVar[str] = "largest absolute difference of the smoothed outcome and the smoothed prediction (LOESS)"
    bounds = between(0.0, 1.0)
    residual_form: ClassVar[ResidualForm] = "seminorm"
    interval_about: ClassVar[str] = SMOOTHED
    two_outcomes: ClassVar[bool] = True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut x into cells and compute the fit as a matrix."""
        two_classes(self, predictions)
        cells = LocalCells.cut(self, predictions, self.n_cells)
        return _LocalCurveEvaluator(cells, self) if cells else NoRows((self.n_points,))

    def headline(self, values: Floats) -> Floats:
        """Return the largest absolute difference."""
        return np.abs(values).max(axis=-1)

    def gaps(self, predictions: Predictions) -> GapsOfCells:
        """Prepare the absolute difference of smooth and prediction for each row, which `ICI` averages."""
        two_classes(self, predictions)
        return GapsOfCells(LocalCells.cut(self, predictions, self.n_cells), self)


def VCE(variable: str, span: float = 0.75) -> Estimator:  # noqa: N802 (an estimator's name)
    """Variable-wise calibration error (Kelly & Smyth 2023): ``Given(variable) | LOESS(span)``.

    The largest absolute difference of smoothed outcome and smoothed prediction along a numeric variable, and where it
    is. It holds no lens for the outcome: the authors' measure is ``TopLabel() | VCE("age")``. For the mean instead of
    the largest difference see `VECE`.

    Parameters
    ----------
    variable : str
        The name of a numeric variable of the sample.
    span : float
        Share of the rows in a neighbourhood.

    Returns
    -------
    Estimator

    Examples
    --------
    >>> import calibstat as cs
    >>> age = [20, 25, 30, 35, 40, 45, 50, 55, 60, 65]
    >>> sample = cs.Sample([0, 1, 0, 1, 0, 1, 1, 1, 1, 1], [0.5] * 10, variables={"age": age})
    >>> found = cs.VCE("age")(sample)
    >>> round(found.maximum, 3), round(found.location, 1)
    (0.581, 50.4)
    """
    return Given(variable) | LOESS(span)


class _LocalCurveEvaluator(Evaluator):
    """The differences (..., n_points)."""

    def __init__(self, cells: LocalCells, parameters: LOESS) -> None:
        self.cells = cells
        self.parameters = parameters
        self.shape = (parameters.n_points,)
        points = np.linspace(*cells.range(parameters.trim), parameters.n_points)
        self.operator = cells.operator(points, parameters)
        self.matrix = self.operator.matrix(cells.mass)

    @property
    def capabilities(self) -> Capabilities:
        plan = self.cells.plan
        return Capabilities(tally=plan, from_tally=lambda outcome: self._fixed(plan.complete(outcome)))

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        tally = self.cells.plan(outcomes, weights)
        return self._fixed(tally) if weights is None else self._moved(tally)

    def _fixed(self, tally: Tally) -> Floats:
        return _known(tally.residual[..., 0] @ self.matrix.T, tally)

    def _moved(self, tally: Tally) -> Floats:
        """Fit anew for each set of masses."""
        residual = tally.residual[..., 0]
        mass = np.broadcast_to(tally.weight, residual.shape).reshape(-1, residual.shape[-1])
        fits = self.operator.fit(mass, residual.reshape(-1, 1, residual.shape[-1]))
        return _known(fits.reshape(*residual.shape[:-1], -1), tally)

    def present(self, value: Floats) -> LocalCurve:
        """Put the prediction's smooth and both bands beside the differences."""
        place = self.operator.points
        prediction = self.matrix @ self.cells.plan.prediction[:, 0]
        outcome, spread = prediction + value, ndtri(0.975) * self._errors_of_prediction()
        if self.parameters.band == "outcome":
            chance = np.clip(np.interp(self.cells.centres, place, outcome), 0.0, 1.0)
            errors = np.sqrt(self._variances((chance * (1 - chance))[self.cells.plan.cells.index]))
            low, high = _limits(outcome, errors, ratio(np.ones(len(place)), self._variances()))
        else:
            errors = np.sqrt(self._variances(self.cells.plan.predictions.chances.prod(axis=1)))
            low, high = prediction - ndtri(0.975) * errors, prediction + ndtri(0.975) * errors
        return LocalCurve(
            place, prediction, outcome, value, errors, low, high, prediction - spread, prediction + spread
        )

    def _variances(self, variances: Floats | None = None) -> Floats:
        """Return the variance of the smooth at each point, of outcomes with these variances (n,), or of one."""
        if self.cells.plan.predictions.groups is None:
            return self.cells.squares(self.matrix, variances)
        return self.cells.squares_of_clusters(np.abs(self.matrix), None if variances is None else np.sqrt(variances))

    def _errors_of_prediction(self) -> Floats:
        """Return standard errors of the smoothed prediction, from residuals of predictions that leave their row out.

        They are those of HC3 (MacKinnon & White 1985): divided by one minus the weight of the row in its own smooth, or
        of its cluster.
        """
        plan, centres = self.cells.plan, self.cells.centres
        index, weights, groups = plan.cells.index, plan.predictions.weights, plan.predictions.groups
        ends = self.cells.operator(centres[[0, -1]], self.parameters).matrix(self.cells.mass)
        places = np.r_[centres[0], self.operator.points, centres[-1]]
        matrix = np.vstack([ends[:1], self.matrix, ends[1:]])
        nearest = np.searchsorted((places[1:] + places[:-1]) / 2, centres)
        own = np.clip(matrix[nearest, np.arange(len(nearest))], 0.0, None)[index]
        together = (1.0 if weights is None else weights) if groups is None else groups.spread(groups.sums(weights))
        left_out = np.maximum(1 - own * together, 0.1)
        smooth = np.interp(centres, places, matrix @ plan.prediction[:, 0])
        residual = (plan.predictions.event - smooth[index]) / left_out
        if groups is not None:
            return np.sqrt(self.cells.squares_of_clusters(self.matrix, residual))
        return np.sqrt(self.cells.squares(self.matrix, residual**2))


def _known(deviation: Floats, tally: Tally) -> Floats:
    """Return the differences, NaN where no weight is left."""
    return np.where(np.broadcast_to(tally.total, deviation.shape[:-1])[..., None] > 0, deviation, np.nan)


def _limits(outcome: Floats, errors: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the wider, at each end, of the normal limits of a share and of the binomial ones of so many rows."""
    events = np.clip(outcome, 0.0, 1.0) * rows
    tiny, reach = np.finfo(float).tiny, ndtri(0.975) * errors
    low = np.where(events > 0, betaincinv(np.maximum(events, tiny), rows - events + 1, 0.025), 0.0)
    high = np.where(events < rows, betaincinv(events + 1, np.maximum(rows - events, tiny), 0.975), 1.0)
    return np.minimum(low, outcome - reach), np.maximum(high, outcome + reach)


@final
@dataclass(frozen=True, eq=False)
class LocalCurve(CurveRecord):
    """Smoothed outcome and prediction along x; ``float`` gives the largest absolute difference.

    Parameters
    ----------
    x : (G,) floats
        Score or variable.
    prediction, outcome : (G,) floats
        The smooth of each.
    deviation : (G,) floats
        Outcome minus prediction.
    standard_error : (G,) floats
        Standard error of the smoothed outcome, from the variances of outcomes at the smoothed chances; for a null band,
        under calibration with these predictions.
    low, high : (G,) floats
        Pointwise band of the smoothed outcome (about 95 %); for a null band, where 95 % of calibrated models have
        theirs.
    prediction_low, prediction_high : (G,) floats
        Pointwise band of the smoothed prediction (about 95 %), for the mean prediction at x.
    """

    x: Floats
    prediction: Floats
    outcome: Floats
    deviation: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    prediction_low: Floats
    prediction_high: Floats

    @property
    def maximum(self) -> float:
        """The largest absolute difference of outcome and prediction."""
        return float(np.abs(self.deviation).max())

    @property
    def location(self) -> float:
        """The x of the largest absolute difference."""
        return float(self.x[np.abs(self.deviation).argmax()])

    def __float__(self) -> float:
        return self.maximum

    def __repr__(self) -> str:
        return f"LocalCurve(maximum={self.maximum:.4g} at x={self.location:.4g}, {len(self.x)} points)"

    def _columns(self) -> dict[str, Any]:
        bands = "standard_error low high prediction_low prediction_high"
        return picked(self, f"x prediction outcome deviation {bands}")


class GapsOfCells:
    """Absolute differences of the smooth and the prediction in each cell, with the masses of cells."""

    def __init__(self, cells: LocalCells | None, parameters: LocalFit) -> None:
        self.cells = cells
        if cells:
            self.operator: LocalOperator = cells.operator(cells.centres, parameters)
            self.matrix = self.operator.matrix(cells.mass)

    @property
    def plan(self) -> TallyPlan | None:
        """The sums over cells that suffice, with weights as they are."""
        return self.cells and self.cells.plan

    def of_tally(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return gaps and masses of these sums."""
        residual = tally.residual[..., 0]
        return np.abs(residual @ self.matrix.T), np.broadcast_to(tally.weight, residual.shape)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., M) and masses (..., M)."""
        if not self.cells:
            empty = np.zeros((*leading_shape(outcomes, weights), 0))
            return empty, empty
        tally = self.cells.plan(outcomes, weights)
        if weights is None:
            return self.of_tally(tally)
        residual = tally.residual[..., 0]
        mass = np.broadcast_to(tally.weight, residual.shape).reshape(-1, residual.shape[-1])
        fits = self.operator.fit(mass, residual.reshape(-1, 1, residual.shape[-1]))
        return np.abs(fits.reshape(residual.shape)), mass.reshape(residual.shape)


class Gaps(Protocol):
    """Prepared absolute differences of a calibration curve and the prediction."""

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., m) and the mass of each (..., m)."""


@runtime_checkable
class Curve(Protocol):
    """What gives a calibration curve, such as `LOESS`, `LogisticSpline`, `Cox`, `IsotonicCurve`, `CellMeans`."""

    def gaps(self, predictions: Predictions) -> Gaps:
        """Prepare the absolute differences; called once for each set of predictions."""


@final
@dataclass(frozen=True)
class CellMeans(HasParameters):
    """The curve of cell means, for `ICI`; with the default cells the unbinned calibration function.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> two = cs.FixedEdges([0, 0.5, 1])
    >>> round(cs.ICI(cs.CellMeans(two))(sample).ici, 6) == round(cs.ECE(two)(sample), 6)
    True
    """

    binning: Binning = UniqueValues()

    def gaps(self, predictions: Predictions) -> GapsOfMeans:
        """Cut the cells."""
        return GapsOfMeans(TallyPlan(predictions, self.binning.cut(predictions), ()))


@final
@dataclass(frozen=True, eq=False)
class GapsOfMeans:
    """Absolute differences of mean outcome and mean prediction of cells, with the masses of cells."""

    plan: TallyPlan

    def of_tally(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return gaps and masses of these sums."""
        size = np.abs(tally.mean_outcome - tally.mean_prediction)[..., 0]
        return size, np.broadcast_to(tally.weight, size.shape)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., L) and masses (..., L)."""
        return self.of_tally(self.plan(outcomes, weights))


Index: TypeAlias = Literal["ici", "e50", "e90", "emax"]
_INDICES: dict[Index, str] = {"ici": "mean", "e50": "median", "e90": "0.9 quantile of the", "emax": "largest"}
_LEVELS: dict[str, float] = {"e50": 0.5, "e90": 0.9}


@final
@dataclass(frozen=True)
class CalibrationIndices:
    """Mean, quantiles and maximum of the absolute calibration error over rows; ``float`` gives the one that is asked.

    Parameters
    ----------
    ici, e50, e90, emax : float
        Mean, median, 0.9 quantile and maximum, in probability units.
    statistic : {"ici", "e50", "e90", "emax"}
        The one of the numbers that is tested, and has an interval.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    statistic: Index = "ici"

    words: ClassVar[Mapping[str, str]] = {
        "ici": "mean error (ICI)",
        "e50": "median error (E50)",
        "e90": "0.9 quantile (E90)",
        "emax": "largest error (Emax)",
    }

    def __float__(self) -> float:
        return float(getattr(self, self.statistic))


@final
@dataclass(frozen=True)
class ICI(Estimator):
    r"""Integrated calibration index with E50, E90 and Emax (Austin & Steyerberg 2019; Harrell 2015).

    .. math:: \text{ICI} = \frac1n \sum_i |\hat g(p_i) - p_i|

    and the median, the 0.9 quantile and the maximum of the same differences, with :math:`\hat g` any calibration curve.
    Probability units, for two classes. The default is Austin & Steyerberg's, ``loess(Y ~ P)`` of R (span 0.75, degree
    2, direct surface), as in ``CalibrationCurves``; `LogisticSpline` is their other smoother. ``ICI(LOESS(2/3,
    degree=1))`` has the curve of ``rms::val.prob`` (``lowess(p, y, iter=0)`` without its interpolation: Eavg, E90,
    Emax), ``ICI(Cox())`` the logistic one that it had before version 4.5-1 (Emax then over a grid of [0, 1], here over
    the rows), ``ICI(CalibrationBelt())`` the polynomial of the belt, and ``ICI(IsotonicCurve())`` the isotonic one.
    Quantiles are R's type 7. The value is a record; the headline is the ICI, or the one that `statistic` names. The
    noise of nine tenths of the rows is at most its own 0.9 quantile, so that E50 and E90 lie within so much of the
    quantiles a tenth of the rows below and above them: this is their interval.

    Biased upward by noise: at calibration by about the mean standard error of the curve, which falls as the span grows.
    Blind to errors that the curve cannot follow, such as those narrower than the smoother. Cost: that of the curve. Of
    `LOESS` it is O(n log n) once, then O(n); where p takes more than 1024 values, neighbours in rank share a cell (the
    curve moves by less than 0.0005 at n = 2000).

    Parameters
    ----------
    curve : LOESS, LogisticSpline, CalibrationBelt, Cox, IsotonicCurve or CellMeans
        All but LOESS and CellMeans are curves over the prediction; that of the belt has no weights.
    statistic : {"ici", "e50", "e90", "emax"}
        The one that is tested, estimated and compared.

    Raises
    ------
    ValueError
        If `statistic` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> found = cs.ICI()(cs.Sample(rng.random(2000) < p**2, p))
    >>> [round(each, 2) for each in (found.ici, found.e50, found.e90, found.emax)]
    [0.17, 0.19, 0.26, 0.26]
    """

    curve: Annotated[Curve, "a curve, such as LOESS() or LogisticSpline()"] = LOESS()
    statistic: Index = "ici"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    no_interval: ClassVar[str] = ", whose curve is not linear in the outcomes as that of ICI() is"

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """Which of the numbers the value is."""
        size = f"{_INDICES[self.statistic]} absolute difference of a calibration curve and the prediction"
        return f"{size} ({self.statistic.upper() if self.statistic == 'ici' else self.statistic.capitalize()})"

    @property
    def numbers(self) -> dict[str, Estimator]:
        """All four."""
        return {name: replace(self, statistic=name) for name in _INDICES}

    @property
    def headline_place(self) -> int:  # type: ignore[override]
        """That of the statistic."""
        return list(_INDICES).index(self.statistic)

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether the curve takes them."""
        return bool(getattr(self.curve, "takes_counts", False))

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """A seminorm where the curve is linear in the outcomes; a quantile is a function of the residuals."""
        if not isinstance(self.curve, (LOESS, CellMeans)):
            return "none"
        return "seminorm" if self.statistic in ("ici", "emax") else "function"

    @property
    def noise_form(self) -> ICI | None:
        """The 0.9 quantile of the noise for quantiles: it bounds that of all rows but a tenth."""
        if self.residual_form == "none":
            return None
        return self if self.residual_form == "seminorm" else replace(self, statistic="e90")

    @property
    def interval_about(self) -> str:  # type: ignore[override]
        """The error of the curve."""
        return BinnedEstimator.interval_about if isinstance(self.curve, CellMeans) else SMOOTHED

    @property
    def estimand(self) -> Estimator:
        """The unsmoothed difference, alone: quantiles are interpolated between rows."""
        return Headline(ICI(CellMeans(), self.statistic))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the curve."""
        two_classes(self, predictions)
        n: float = len(predictions) if predictions.counts is None else round(predictions.counts.sum())
        if n and isinstance(self.curve, CellMeans):
            n = math.inf  # cells have masses, between which nothing is interpolated
        return _IndicesEvaluator(self.curve.gaps(predictions), n, self.statistic)


class _IndicesEvaluator(Evaluator):
    shape = (4,)

    def __init__(self, gaps: Gaps, n: float, statistic: Index) -> None:
        self.gaps = gaps
        self.n = n
        self.statistic: Index = statistic

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self._indices(*self.gaps(outcomes, weights))

    @property
    def capabilities(self) -> Capabilities:
        """The tally of a curve that is a function of sums over cells."""
        gaps = self.gaps
        if not isinstance(gaps, (GapsOfCells, GapsOfMeans)) or gaps.plan is None:
            return Capabilities()
        plan = gaps.plan
        return Capabilities(
            tally=plan,
            from_tally=lambda outcome: self._indices(*gaps.of_tally(plan.complete(outcome))),
            signed=lambda outcomes, signs: self._indices(*gaps.of_tally(plan.signed(outcomes, signs))),
            nearby=self._nearby if self.statistic in _LEVELS else None,
        )

    def _nearby(self, outcomes: Array) -> tuple[float, float]:
        """Return the quantiles a tenth of the rows, and one row, below and above that of the statistic."""
        level, apart = _LEVELS[self.statistic], 1 - _LEVELS["e90"] + 1 / max(self.n - 1, 1)
        levels = (max(level - apart, 0.0), min(level + apart, 1.0))
        low, high = weighted_quantiles(*self.gaps(outcomes), levels, self.n)
        return float(low), float(high)

    def _indices(self, size: Floats, mass: Floats) -> Floats:
        if not self.n:
            return np.full((*size.shape[:-1], 4), np.nan)
        total = mass.sum(axis=-1)
        mean = ratio((size * mass).sum(axis=-1), total)
        largest = np.where(mass > 0, size, 0.0).max(axis=-1)
        indices = np.stack([mean, *weighted_quantiles(size, mass, tuple(_LEVELS.values()), self.n), largest], axis=-1)
        return np.where(total[..., None] > 0, indices, np.nan)

    def present(self, value: Floats) -> CalibrationIndices:
        ici, e50, e90, emax = map(float, value)
        return CalibrationIndices(ici, e50, e90, emax, self.statistic)


def weighted_quantiles(values: Floats, mass: Floats, levels: tuple[float, ...], n: float) -> list[Floats]:
    """Return quantiles of values (..., m), each repeated in proportion to its mass, as if there were n in all.

    With whole masses that sum to n these are the quantiles of the repeated values (type 7 of Hyndman & Fan 1996); of
    infinitely many they are values themselves.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    counts = np.cumsum(np.take_along_axis(mass, order, axis=-1), axis=-1)
    if math.isinf(n):
        share = ratio(counts, counts[..., -1:])
        return [_at_rank(ordered, share, level) for level in levels]
    counts = ratio(n * counts, counts[..., -1:])
    found = []
    for level in levels:
        below, part = divmod(level * (n - 1), 1)
        low, high = (_at_rank(ordered, counts, min(rank, n - 1)) for rank in (below, below + 1))
        found.append(low + part * (high - low))
    return found


def _at_rank(ordered: Floats, counts: Floats, rank: float) -> Floats:
    """Return the value that `rank` others precede."""
    place = (counts > rank * (1 + 1e-12) + 1e-9).argmax(axis=-1)
    return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
