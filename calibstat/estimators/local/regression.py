"""Local regression of outcomes on a score or a variable, with bands, and the variable-wise error made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.combined.named_values import NoRows
from calibstat.estimators.local.cells import LocalCells, checked_loess
from calibstat.estimators.local.curve import LocalCurve, band
from calibstat.estimators.local.gaps import GapsOfCells
from calibstat.estimators.rows import two_classes
from calibstat.estimators.tally import Tally, TallyPlan, ratio
from calibstat.lenses.given import Given
from calibstat.predictions import Predictions


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
    outcome (normal errors of one variance, t quantile) and the largest difference with its place; that largest
    absolute difference is the headline (probability units, biased upward by noise: read it beside its null mean).

    Rows with the same x are pooled, which is exact, and where x takes more than `n_cells` values its neighbours in
    rank are too, which is not: with 1024 cells the curve of 2000 rows moves by less than 0.0005 (span 0.75; 2 % of
    its standard error), 0.0012 (span 0.3; 5 %) or 0.004 (span 0.1; 8 %). With 70 000 rows it moves by at most 0.6 % of
    its standard error for uniform predictions and 4 % for Beta(1, 19) (span 0.75), with degree 1 by 3 % and 8 %. Cost:
    O(n log n + n_points * cells) once and then that of a tally, but a new fit for each set of weights that move;
    bands of the outcome add O(cells^3) on at most 256 cells. From 65 536 rows on cells are made without a sort, of
    about equally many rows. The curve cannot follow what is narrower than the span, and its outer ends are noisy; a
    polynomial may leave [0, 1].

    With ``band="null"`` the band lies about the smoothed *prediction*: where 95 % of the smoothed outcomes of a
    calibrated model lie at each point, from the exact variances of its outcomes given the predictions,
    :math:`\sum_i l_i^2 p_i (1 - p_i)` (normal quantiles). A curve that leaves it somewhere is no test, as there are
    many points: ``calibration_test(sample, LOESS())`` is one.

    With weights a neighbourhood holds a share of the *weight*, and the band counts W^2 / sum w^2 rows (Kish 1965).
    Weights that move (bootstrap) do not move the neighbourhoods.

    Parameters
    ----------
    span : float
        Share of the rows in a neighbourhood; above 1 all rows, with wider weights.
    degree : {1, 2}
        Of the local polynomial. With 1, `span` 2/3 and the prediction as x, it is ``lowess(p, y, iter=0)`` of R.
    n_points : int
    trim : float
        0 <= trim < 0.5.
    n_cells : int or None
        None never pools different values of x: exact, in O(n_points * n) memory.
    band : {"outcome", "null"}
        About the outcome's curve, for its own error; or about the prediction's, for what a calibrated model shows.

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

    span: float = 0.75
    degree: int = 2
    n_points: int = 500
    trim: float = 0.05
    n_cells: int | None = 1024
    band: Literal["outcome", "null"] = "outcome"
    quantity: ClassVar[str] = "largest absolute difference of the smoothed outcome and the smoothed prediction (LOESS)"

    def __post_init__(self) -> None:
        checked_loess(self.span, self.degree, self.n_points, self.trim, self.n_cells)
        if self.band not in ("outcome", "null"):
            raise ValueError(f"band is {self.band!r}; it must be 'outcome' or 'null'.")

    @property
    def estimand(self) -> LOESS:
        """The same smooth of the known chances: what is narrower than the span is not asked for."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut x into cells and compute the fit as a matrix."""
        two_classes(self, predictions)
        cells = LocalCells.cut(self, predictions, self.n_cells)
        return _CurveEvaluator(cells, self) if cells else NoRows(_shape(self))

    def headline(self, values: Floats) -> Floats:
        """Take the largest absolute difference; what comes after these is the mean squared residual."""
        return np.abs(values[..., : self.n_points]).max(axis=-1)

    def gaps(self, predictions: Predictions) -> GapsOfCells:
        """Prepare the absolute difference of smooth and prediction at each row's place, for indices over rows."""
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


def _shape(parameters: LOESS) -> tuple[int]:
    """Return how many numbers a value has: the differences, and where the band needs it the mean squared residual."""
    return (parameters.n_points + (parameters.band == "outcome"),)


class _CurveEvaluator(Evaluator):
    """The differences (..., n_points), followed by the mean squared residual where the band is the outcome's."""

    def __init__(self, cells: LocalCells, parameters: LOESS) -> None:
        self.cells = cells
        self.parameters = parameters
        self.shape = _shape(parameters)
        points = np.linspace(*cells.range(parameters.trim), parameters.n_points)
        # The residuals are had on cells that are few: those of the band.
        self.coarse = cells.pooled() if parameters.band == "outcome" else None
        self.operator = cells.operator(
            points if self.coarse is None else np.concatenate([points, self.coarse.centres]), parameters
        )
        self.matrix = self.operator.matrix(cells.mass)

    @property
    def tally(self) -> TallyPlan:
        return self.cells.plan

    def from_tally(self, outcome: Array) -> Floats:
        return self._fixed(self.cells.plan.complete(outcome))

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        tally = self.cells.plan(outcomes, weights)
        return self._fixed(tally) if weights is None else self._moved(tally)

    def _fixed(self, tally: Tally) -> Floats:
        points = self.parameters.n_points
        deviation = tally.residual[..., 0] @ self.matrix[:points].T
        return self._joined(deviation, tally.outcome[..., 0] @ self.matrix[points:].T, tally)

    def _moved(self, tally: Tally) -> Floats:
        """Fit anew under each set of masses."""
        leading, points = tally.residual.shape[:-2], self.parameters.n_points
        sums = np.stack([tally.residual[..., 0], tally.outcome[..., 0]], axis=-2)
        mass = np.broadcast_to(tally.weight, (*leading, sums.shape[-1])).reshape(-1, sums.shape[-1])
        fits = self.operator.fit(mass, sums.reshape(-1, *sums.shape[-2:]))
        fits = fits.reshape(*leading, 2, -1)
        return self._joined(fits[..., 0, :points], fits[..., 1, points:], tally)

    def _joined(self, deviation: Floats, fitted: Floats, tally: Tally) -> Floats:
        """Append the mean of (y - fit)^2, which is y (1 - 2 fit) + fit^2 for y = 0, 1, where it is needed."""
        total = np.broadcast_to(tally.total, deviation.shape[:-1])[..., None]
        if self.coarse is None:
            return np.where(total > 0, deviation, np.nan)
        happened, mass = self.coarse.sums(tally.outcome[..., 0]), self.coarse.sums(tally.weight)
        squares = (happened * (1 - 2 * fitted) + mass * fitted**2).sum(axis=-1)
        return np.where(total > 0, np.concatenate([deviation, ratio(squares[..., None], total)], axis=-1), np.nan)

    def present(self, value: Floats) -> LocalCurve:
        """Put the prediction's smooth and the band beside the differences."""
        points = self.parameters.n_points
        matrix, place = self.matrix[:points], self.operator.points[:points]
        prediction = matrix @ self.cells.plan.prediction[:, 0]
        if self.coarse is None:
            errors = np.sqrt((matrix**2) @ self.cells.variances)
            return LocalCurve.of_null(place, prediction, value, errors)
        scale = self.cells.rows / self.cells.mass.sum()
        rows = self.matrix[points:] if len(self.coarse.centres) == len(self.cells.centres) else None
        error, freedom = band(self.coarse, self.parameters, self.cells.rows, float(value[-1]), rows)
        lengths = np.sqrt((matrix**2) @ self.cells.mass / scale)
        return LocalCurve.of(place, prediction, value[:-1], error * lengths, freedom)
