"""Goodness-of-fit statistics over cells: Hosmer-Lemeshow and Pigeon-Heyse."""

from __future__ import annotations

from math import inf, nan, prod
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from scipy.special import gammaincc

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Count, keep, without_defaults
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

Freedom: TypeAlias = Count | Literal["g", "g - 1", "g - 2"]
_FITTED = {"g": 0, "g - 1": 1, "g - 2": 2}


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
        Of the chi-square law; the p-values by it are NaN if there is none.
    """

    published: float
    exact_variance: float
    degrees_of_freedom: int

    @property
    def published_chi_square_pvalue(self) -> float:
        """The p-value of the published form by the chi-square law, about; `calibration_test` gives an exact one."""
        return self._survival(self.published)

    @property
    def exact_variance_chi_square_pvalue(self) -> float:
        """The p-value of the statistic with exact variances by the chi-square law, about."""
        return self._survival(self.exact_variance)

    def _survival(self, value: float) -> float:
        if self.degrees_of_freedom < 1:
            return {0.0: 1.0, inf: 0.0}.get(value, nan)
        return float(gammaincc(self.degrees_of_freedom / 2, value / 2))

    def __float__(self) -> float:
        return self.exact_variance


class _ChiSquare(Estimator):
    """Chi-square statistics over cells: one, or both, of the two `forms` of `_CellChiSquares`."""

    binning: Binning | Count
    df: Freedom
    test_statistic: ClassVar[bool] = True
    bounds = between(0.0)
    forms: ClassVar[tuple[int, ...]]
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether the cells do."""
        return isinstance(self.binning, Binning) and self.binning.takes_counts

    def __post_init__(self) -> None:
        if not isinstance(self.binning, Binning):
            keep(self, binning=EqualMass(self.binning))

    @property
    def estimand(self) -> PearsonCE:
        """The unbinned chi-square distance, whose size decides how large this grows."""
        return PearsonCE(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up variances."""
        two_classes(self, predictions)
        assert isinstance(self.binning, Binning)
        return _CellChiSquares(predictions, self.binning, self.forms, self.df)


@final
@dataclass(frozen=True)
class HosmerLemeshow(_ChiSquare):
    r"""The Hosmer-Lemeshow statistic (Hosmer & Lemeshow 1980) over cells, for two classes, in two forms.

    .. math:: X^2 = \sum_b \frac{(o_b - e_b)^2}{e_b (1 - e_b / n_b)}, \qquad
              X_v^2 = \sum_b \frac{(o_b - e_b)^2}{\sum_{i \in b} p_i (1 - p_i)}

    with the number o of events and the sum e of predictions in each cell. The published form treats all predictions of
    a cell as equal; the second has the exact variance (Pigeon & Heyse 1999), so that under calibration its mean is
    the number of cells. The value is a `GoodnessOfFit` record; the second form is tested. With weights, w^2 enters the
    variances. If all predictions of a cell are 0 or 1 and an outcome contradicts them, the statistic is infinite. A
    test statistic, not a size: for that see `PearsonCE`.

    On rows to which no model was fitted, for which this package is made, the degrees of freedom are the number of cells
    g (Hosmer, Lemeshow & Sturdivant 2013): the default. On the rows of the fit they are g - 2, about;
    there a test at level 5 % with g would reject too rarely, and on other rows a test with g - 2 rejects 12 to 14 %.
    They are those of the p-value by the chi-square law in the record, and of ``null=Asymptotic()``; `calibration_test`
    is exact by redrawn labels, for rows to which no model was fitted.
    ``HosmerLemeshow(Quantiles(10), df="g - 2")`` has the numbers of R's ``ResourceSelection::hoslem.test(y, p)``.

    Weaknesses: it depends on the cells, is unstable with ties, and has little power against smooth errors if g is
    large. O(n log n) once, then O(n).

    Parameters
    ----------
    binning : Binning or int
        The cells; a number stands for that many of equal mass.
    df : {"g", "g - 1", "g - 2"} or int
        Degrees of freedom, g being the number of cells with any variance.

    Raises
    ------
    ValueError, TypeError
        If `binning` is neither a binning nor an integer of at least 1, or `df` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)
    >>> found = cs.HosmerLemeshow(5)(sample)
    >>> round(found.published, 5), round(found.exact_variance, 5), round(found.published_chi_square_pvalue, 5)
    (3.20635, 3.24843, 0.66821)
    >>> round(cs.HosmerLemeshow(5, df="g - 2")(sample).published_chi_square_pvalue, 5)
    0.36089
    """

    binning: Binning | Count = EqualMass(10)
    df: Freedom = "g"
    quantity: ClassVar[str] = "misfit of groups of similar predictions (Hosmer-Lemeshow statistic; grows with the rows)"
    headline_place: ClassVar[int | None] = 1
    forms: ClassVar[tuple[int, ...]] = (0, 1)
    __repr__ = without_defaults


@final
@dataclass(frozen=True)
class PigeonHeyse(_ChiSquare):
    r"""The Pigeon-Heyse statistic (Pigeon & Heyse 1999): Hosmer-Lemeshow with exact variances, for two classes.

    .. math:: J^2 = \sum_b \frac{(o_b - e_b)^2}{\sum_{i \in b} p_i (1 - p_i)}

    It is the second form of `HosmerLemeshow`, alone. The authors' g - 1 degrees of freedom are for the rows to which
    the model was fitted; by default they are g, the number of cells. Infinite where an outcome contradicts a cell of
    predictions that are all 0 or 1. O(n) after cutting. A test statistic, not a size.

    Parameters
    ----------
    binning : Binning or int
        The cells; a number stands for that many of equal mass.
    df : {"g", "g - 1", "g - 2"} or int
        Degrees of freedom of ``null=Asymptotic()``, g being the number of cells with any variance.

    Raises
    ------
    ValueError, TypeError
        If `binning` is neither a binning nor an integer of at least 1, or `df` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.PigeonHeyse(5)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 5)
    3.24843
    """

    binning: Binning | Count = EqualMass(10)
    df: Freedom = "g"
    quantity: ClassVar[str] = "chi-square statistic over cells (exact variances)"
    forms: ClassVar[tuple[int, ...]] = (1,)
    __repr__ = without_defaults


class _CellChiSquares(Evaluator):
    """Sums of squared residual sums over their variances: published form (0), exact variances (1), or both."""

    def __init__(self, predictions: Predictions, binning: Binning, forms: tuple[int, ...], df: Freedom) -> None:
        self.plan = TallyPlan(predictions, binning.cut(predictions), ("weight2", "complement"))
        self.forms = forms
        self.shape = (2,) if len(forms) == 2 else ()
        self.variance = predictions.label_variance / predictions.multiplicity
        self.fixed = self._variances(None)
        self.uncertain = int((self.fixed > 0).sum())
        self.freedom = self.uncertain - _FITTED[df] if isinstance(df, str) else df

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
            fewest=self.plan.fewest,
            large_sample=(lambda _: chi_square_law(self.freedom)) if self.freedom > 0 or not self.uncertain else None,
        )

    def present(self, value: Floats) -> Any:
        if not self.shape:
            return float(value)
        return GoodnessOfFit(float(value[0]), float(value[1]), self.freedom)

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
    noise_power: ClassVar[float] = 2

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
    with np.errstate(over="ignore"):  # a variance near 1e-308 is almost none
        return np.where(uncertain, squares / np.where(uncertain, variances, 1.0), impossible)
