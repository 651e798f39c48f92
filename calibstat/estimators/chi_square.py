"""Goodness-of-fit statistics over cells: Hosmer-Lemeshow and Pigeon-Heyse."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import gammaincc

from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Count
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    CellTerms,
    Estimator,
    Evaluator,
    ResidualForm,
    all_weights,
    between,
    two_classes,
)
from calibstat.estimators.large_sample import chi_square_law
from calibstat.estimators.tally import CellwiseEstimator, Tally, TallyPlan


@final
@dataclass(frozen=True)
class GoodnessOfFit:
    """Two chi-square statistics over the same cells.

    Parameters
    ----------
    published : float
        With the variance N e (1 - e) that N equal predictions e have.
    exact_variance : float
        With the variance sum p (1 - p) of the predictions as they are.
    degrees_of_freedom : int
        The number of cells, since no model was fitted to these rows.
    """

    published: float
    exact_variance: float
    degrees_of_freedom: int

    @property
    def published_pvalue(self) -> float:
        """The asymptotic p-value of the published statistic; `calibration_test` gives an exact one."""
        return float(gammaincc(self.degrees_of_freedom / 2, self.published / 2))

    @property
    def exact_variance_pvalue(self) -> float:
        """The asymptotic p-value of the statistic with exact variances."""
        return float(gammaincc(self.degrees_of_freedom / 2, self.exact_variance / 2))

    def __float__(self) -> float:
        return self.exact_variance


class _EqualMassChiSquare(Estimator):
    """Chi-square statistics over cells of equal mass: one, or both, of the two `forms` of `_CellChiSquares`."""

    n_bins: Count
    test_statistic: ClassVar[bool] = True
    bounds = between(0.0)
    forms: ClassVar[tuple[int, ...]]
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    @property
    def estimand(self) -> PearsonCE:
        """The unbinned chi-square distance, whose size decides how large this grows."""
        return PearsonCE(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up variances."""
        two_classes(self, predictions)
        return _CellChiSquares(predictions, EqualMass(self.n_bins), self.forms)


@final
@dataclass(frozen=True)
class HosmerLemeshow(_EqualMassChiSquare):
    r"""The Hosmer-Lemeshow statistic (1980) over cells of equal mass, for two classes, in two forms.

    .. math:: X^2 = \sum_b \frac{(o_b - e_b)^2}{e_b (1 - e_b / n_b)}, \qquad
              X_v^2 = \sum_b \frac{(o_b - e_b)^2}{\sum_{i \in b} p_i (1 - p_i)}

    with the number o of events and the sum e of predictions in each cell. The published form treats all predictions of
    a cell as equal; the second has the exact variance (Pigeon & Heyse 1999), so that under calibration its mean is
    the number of cells. The value is a `GoodnessOfFit` record; the second form is tested. On rows to which no model was
    fitted, the degrees of freedom are the number of cells g, not g - 2 (with which a test at level 5 % rejects 12 to 14
    %). With weights, w^2 enters the variances. If all predictions of a cell are 0 or 1 and an outcome contradicts them,
    the statistic is infinite. A test statistic, not a size: for that see `PearsonCE`.

    Weaknesses: it depends on the cells, is unstable with ties, and has little power against smooth errors if g is
    large. O(n log n) once, then O(n).

    Parameters
    ----------
    n_bins : int
        Number of cells of equal mass.

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> found = cs.HosmerLemeshow(5)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p))
    >>> round(found.published, 5), round(found.exact_variance, 5), round(found.published_pvalue, 5)
    (3.20635, 3.24843, 0.66821)
    """

    n_bins: Count = 10
    quantity: ClassVar[str] = "Hosmer-Lemeshow statistic (published form and with exact variances)"
    headline_place: ClassVar[int | None] = 1
    forms: ClassVar[tuple[int, ...]] = (0, 1)


@final
@dataclass(frozen=True)
class PigeonHeyse(_EqualMassChiSquare):
    r"""The Pigeon-Heyse statistic (1999): Hosmer-Lemeshow with the exact variance of each cell, for two classes.

    .. math:: J^2 = \sum_b \frac{(o_b - e_b)^2}{\sum_{i \in b} p_i (1 - p_i)}

    It is the second form of `HosmerLemeshow`, alone. The authors' g - 1 degrees of freedom are for the rows to which
    the model was fitted; here they are g, the number of cells. Infinite where an outcome contradicts a cell of
    predictions that are all 0 or 1. O(n) after cutting. A test statistic, not a size.

    Parameters
    ----------
    n_bins : int
        Number of cells of equal mass.

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.PigeonHeyse(5)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 5)
    3.24843
    """

    n_bins: Count = 10
    quantity: ClassVar[str] = "chi-square statistic over cells (exact variances)"
    forms: ClassVar[tuple[int, ...]] = (1,)


class _CellChiSquares(Evaluator):
    """Sums of squared residual sums over their variances: published form (0), exact variances (1), or both."""

    def __init__(self, predictions: Predictions, binning: Binning, forms: tuple[int, ...]) -> None:
        self.plan = TallyPlan(predictions, binning.cut(predictions), ("weight2", "complement"))
        self.forms = forms
        self.shape = (2,) if len(forms) == 2 else ()
        self.variance = predictions.chances.prod(axis=1)
        self.fixed = self._variances(None)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        variances = self.fixed if weights is None else self._variances(weights)
        return self._statistics(self.plan(outcomes, weights), variances)

    @property
    def capabilities(self) -> Capabilities:
        """Sums over cells; the terms are those of the form with exact variances, which is tested."""

        def terms(outcome: Array) -> Floats:
            return self._terms(self.plan.complete(outcome), self.fixed)[-1]

        return Capabilities(
            tally=self.plan,
            from_tally=lambda outcome: self._statistics(self.plan.complete(outcome), self.fixed),
            terms=CellTerms(terms, "sum", np.positive),
            large_sample=lambda _: chi_square_law(int((self.fixed > 0).sum())),
        )

    def present(self, value: Floats) -> Any:
        if not self.shape:
            return float(value)
        return GoodnessOfFit(float(value[0]), float(value[1]), self.plan.cells.size)

    def _variances(self, weights: Array | None) -> Floats:
        """Exact variance of each cell's weighted sum of outcomes (..., L)."""
        masses = all_weights(self.plan.predictions, weights)
        index, size = self.plan.cells.index, self.plan.cells.size
        flat = (masses**2 * self.variance).reshape(prod(masses.shape[:-1]), len(self.variance))
        sums = [np.bincount(index, row, minlength=size) for row in flat]
        return np.reshape(sums, (*masses.shape[:-1], size))

    def _statistics(self, tally: Tally, exact: Floats) -> Floats:
        values = [np.where(tally.total > 0, terms.sum(axis=-1), np.nan) for terms in self._terms(tally, exact)]
        return np.stack(values, axis=-1) if self.shape else values[0]

    def _terms(self, tally: Tally, exact: Floats) -> list[Floats]:
        """Return the terms (..., L) of each form."""
        squares = tally.residual[..., 0] ** 2
        variances = (tally.weight2 * tally.mean_law.prod(axis=-1), exact)
        return [in_units_of(squares, variances[form], tally.weight**2) for form in self.forms]


@final
@dataclass(frozen=True)
class PearsonCE(CellwiseEstimator):
    r"""Pearson's chi-square distance (1900) of mean outcomes in cells from mean predictions, plug-in and binned.

    .. math:: \sum_b \frac{n_b}{n} \sum_k \frac{(\bar y_{bk} - \bar p_{bk})^2}{\bar p_{bk}}, \quad\text{for two
              classes}\quad \sum_b \frac{n_b}{n} \frac{(\bar y_b - \bar p_b)^2}{\bar p_b (1 - \bar p_b)}

    For two classes n times this is the `HosmerLemeshow` statistic. Dimensionless; biased upward by about L (K - 1) / n
    with L cells. Errors at predictions near 0 or 1 dominate it; it is infinite where a class was seen in a cell whose
    predictions all say 0. O(n) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.PearsonCE(cs.EqualWidth(5))(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.320635
    """

    binning: Binning = EqualMass(10)
    quantity: ClassVar[str] = "chi-square distance of cell means (plug-in, binned)"
    bounds = between(0.0)
    needs: ClassVar[tuple[str, ...]] = ("complement",)
    residual_form: ClassVar[ResidualForm] = "function"

    def terms(self, tally: Tally) -> Floats:
        """Divide squared gaps by mean predictions, and weigh them by the shares of cells."""
        squares, law = (tally.mean_outcome - tally.mean_prediction) ** 2, tally.mean_law
        if squares.shape[-1] == 1:
            # Near 1 the gap of the event, which is that of the other class too, is known up to rounding only.
            rounded = (squares <= ROUNDING**2) & (law[..., :1] < ROUNDING)
            squares = np.concatenate([np.where(rounded, 0.0, squares), squares], axis=-1)
        return tally.share * in_units_of(squares, law).sum(axis=-1)


def in_units_of(squares: Floats, variances: Floats, largest: Array | float = 1.0) -> Floats:
    """Divide squared gaps by variances; without a variance the result is 0 if there is no gap, and infinity otherwise.

    Gaps below 1e-24 of the largest possible squared gap count as rounding errors.
    """
    uncertain = variances > 0
    impossible = np.where(squares > ROUNDING**2 * largest, np.inf, 0.0)
    return np.where(uncertain, squares / np.where(uncertain, variances, 1.0), impossible)
