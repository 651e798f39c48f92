"""Calibration errors of cell means: of any order, squared, and debiased.

They are errors of the event for two classes, and of the whole vector otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Norm, without_defaults
from calibstat.data.rounding import above_rounding
from calibstat.estimators.base import Bounds, Expansion, PairsInCells, ResidualForm, between
from calibstat.estimators.tally import CellwiseEstimator, Tally, TallyPlan, over_components, ratio

Denominator: TypeAlias = Literal["pairs", "counts"]
_ROOT = "signed root of the "
# Squared errors that are smaller may be rounding errors, of which a root would make something.
_ROUNDED = 1e-15


@final
@dataclass(frozen=True)
class ECE(CellwiseEstimator):
    r"""Expected calibration error, binned, of any order: the mean error of cells, their root mean square, the largest.

    .. math:: \sum_b \frac{n_b}{n}\, \tfrac12 \lVert \bar y_b - \bar p_b \rVert_1,
       \quad\text{for two classes}\quad \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    (Naeini et al. 2015; Guo et al. 2017 through ``TopLabel()``), the total variation case of `ExpectedMiscalibration`;
    and of order p > 1 the plug-in lp calibration error (Kumar et al. 2019, Definition 2.1; Lee et al. 2023 for vectors)

    .. math:: \Big(\sum_b \frac{n_b}{n} \lVert \bar y_b - \bar p_b \rVert_p^p\Big)^{1/p}, \quad\text{for two classes}
       \quad \Big(\sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|^p\Big)^{1/p}

    which is the p or the norm of other packages: 2 is `RMSCE`, inf `MaximumMiscalibration` (for more than two classes
    with ``Lp(inf)``). In probability units. Biased upward: under calibration the first order is about
    :math:`\sum_b \sqrt{2 \bar v_b n_b / \pi} / n`, v = p(1 - p); show it beside its null mean. O(n) after cutting.

    Parameters
    ----------
    binning : Binning
    p : float
        1 <= p <= 50; ``numpy.inf`` for the largest error of a cell.

    Raises
    ------
    ValueError
        If `p` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 2, 1], [[0.1, 0.3, 0.6], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    >>> round((cs.TopLabel() | cs.ECE(cs.FixedEdges([0, 1])))(sample), 6)
    0.0
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> [round(cs.ECE(cs.FixedEdges([0, 0.5, 1]), p)(sample), 4) for p in (1, 2, float("inf"))]
    [0.25, 0.255, 0.3]
    """

    binning: Binning = EqualMass(15)
    p: Norm = 1
    residual_form: ClassVar[ResidualForm] = "seminorm"
    __repr__ = without_defaults

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return _QUANTITIES.get(self.p, f"calibration error of order {self.p:g} (in cells)")

    @property
    def combine(self) -> Literal["sum", "max"]:  # type: ignore[override]
        """The maximum for the order inf."""
        return "max" if self.p == math.inf else "sum"

    @property
    def squared_form(self) -> DebiasedL2 | None:
        """The U-statistic of squared errors in the same cells; none of a maximum."""
        return None if self.p == math.inf else DebiasedL2(self.binning)

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero, and one or the distance of opposite corners of the simplex."""
        return between(0.0, 1.0, 1.0 if self.p == 1 else 2.0 ** (1 / self.p))

    def expansion(self, plan: TallyPlan) -> Callable[[Array], Expansion] | None:
        """Expand the root of the squared error, for the order two."""
        if self.p != 2:
            return None
        squared = SquaredCE(self.binning).expansion(plan)
        return lambda outcomes: squared(outcomes).root()

    def terms(self, tally: Tally) -> Floats:
        """Divide absolute residual sums by the total weight; of other orders, weigh powers of gaps by shares."""
        if self.p == 1:
            gaps = np.abs(tally.outcome - tally.prediction)
            return tally.over_total(gaps[..., 0] if gaps.shape[-1] == 1 else 0.5 * gaps.sum(axis=-1))
        gaps = np.abs(tally.mean_outcome - tally.mean_prediction)
        if self.p == math.inf:
            return np.where(tally.weight > 0, gaps.max(axis=-1), 0.0)
        return tally.share * over_components(gaps**self.p)

    def link(self, combined: Floats) -> Floats:
        """Take the root of the order."""
        if self.p in (1, math.inf):
            return combined
        return np.sqrt(combined) if self.p == 2 else np.power(combined, 1 / self.p)


_QUANTITIES = {
    1: "average calibration error (ECE, in cells)",
    2: "root mean squared calibration error (in cells)",
    np.inf: "largest calibration error of a cell (MCE)",
}


def RMSCE(binning: Binning = EqualMass(15)) -> ECE:  # noqa: N802 (an estimator's name)
    r"""Root mean squared calibration error, plug-in and binned (Kumar et al. 2019): ``ECE(binning, p=2)``.

    .. math:: \Big(\sum_b \frac{n_b}{n} \lVert \bar y_b - \bar p_b \rVert_2^2\Big)^{1/2}

    The root of `SquaredCE`, biased upward; show it beside its null mean.

    Parameters
    ----------
    binning : Binning

    Returns
    -------
    ECE

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.RMSCE(cs.FixedEdges([0, 0.5, 1]))(sample), 6)
    0.254951
    """
    return ECE(binning, p=2)


@final
@dataclass(frozen=True)
class SquaredCE(CellwiseEstimator):
    r"""Squared calibration error, plug-in and binned (Kumar et al. 2019, Definition 3.1).

    .. math:: \sum_b \frac{n_b}{n} \lVert \bar y_b - \bar p_b \rVert_2^2

    The estimand of `DebiasedCE` and `DebiasedL2`. Biased upward by about the mean of v_b / n_b (v_b the variance of an
    outcome), and blind to errors that cancel inside a cell. In squared probability units. O(n K) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.SquaredCE(cs.FixedEdges([0, 0.5, 1]))(sample), 6)
    0.065
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "squared calibration error (in cells)"
    bounds = between(0.0, 1.0, 2.0)
    residual_form: ClassVar[ResidualForm] = "function"

    @property
    def squared_form(self) -> DebiasedL2:
        """The U-statistic in the same cells."""
        return DebiasedL2(self.binning)

    def expansion(self, plan: TallyPlan) -> Callable[[Array], Expansion]:
        """Expand in the mean residuals of cells."""
        return lambda outcomes: _expanded(plan, outcomes, self.functional, plan.fixed.weight)

    def terms(self, tally: Tally) -> Floats:
        """Weigh the squared norms of cells by their shares."""
        return tally.share * over_components((tally.mean_outcome - tally.mean_prediction) ** 2)


@final
@dataclass(frozen=True)
class TruthfulCE(CellwiseEstimator):
    r"""Truthful calibration error: squared sums of residuals in cells, not divided by the size of the cells.

    .. math:: \sum_b \Big\lVert \frac1n \sum_{i \in b} (y_i - p_i) \Big\rVert_2^2

    the event for two classes, otherwise the whole vector (Lu, Wu, Hartline & Hu 2025, who generalise the unnormalised
    binned squared errors of Hartline, Hu & Wu 2025; a factor such as the number of cells, by which m cells of equal
    mass give `SquaredCE`, changes no comparison and is left out). Truthful: whoever knows the chances of all classes
    cannot lower its expectation by reporting others, whatever the cells: it is the squared bias of the cells plus
    :math:`\sum v_i / n^2`, v the variance of an outcome, which no report changes. So a calibrated model has this in
    place of zero, and a sharper one less of it. `ECE` and `SquaredCE`, where reports choose what a sum is divided by,
    can be lowered so. Through ``TopLabel()`` it is not truthful, as a report then chooses the outcome that counts;
    through `EachClass`, as `AverageTwoBin`, it is.

    In squared probability units; blind to errors that cancel inside a cell. O(n K) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.TruthfulCE(cs.FixedEdges([0, 0.5, 1]))(sample), 6)
    0.0325
    """

    binning: Binning = EqualMass(15)
    quantity: ClassVar[str] = "squared errors of cells, added up (truthful)"
    bounds = between(0.0, 1.0, 2.0)
    residual_form: ClassVar[ResidualForm] = "function"
    noise_power: ClassVar[float] = 2

    @property
    def estimand(self) -> TruthfulCE:
        """The same in the same cells, which level sets of the prediction would make zero."""
        return self

    def terms(self, tally: Tally) -> Floats:
        """Square the residual sums of cells over the total weight."""
        sums = tally.outcome - tally.prediction
        return over_components(ratio(sums, tally.total[..., None, None], empty=np.nan) ** 2)


class _Debiased(CellwiseEstimator):
    """Debiased squared errors of cells, or their signed roots."""

    binning: Binning
    root: bool

    @property
    def estimand(self) -> ECE | SquaredCE:
        """The unbinned squared error, or its root."""
        return ECE(UniqueValues(), p=2) if self.root else SquaredCE(UniqueValues())

    @property
    def squared_form(self) -> DebiasedL2:
        """The U-statistic in the same cells."""
        return DebiasedL2(self.binning)

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero, and the squared distance of opposite corners of the simplex, or its root."""
        return between(0.0, 1.0, math.sqrt(2) if self.root else 2.0)

    def link(self, combined: Floats) -> Floats:
        """Take the root of the size, and keep the sign; sizes within rounding of zero are zero."""
        if not self.root:
            return combined
        return np.where(np.abs(combined) > _ROUNDED, np.copysign(np.sqrt(np.abs(combined)), combined), 0.0)


@final
@dataclass(frozen=True)
class DebiasedCE(_Debiased):
    r"""Debiased squared calibration error, signed (Kumar et al. 2019, Definition 4.1).

    .. math:: \sum_b \frac{n_b}{n}\Big[\lVert \bar y_b - \bar p_b \rVert_2^2
              - \frac{\sum_k \bar y_{bk}(1 - \bar y_{bk})}{n_b - 1}\Big]

    Unbiased for the squared binned error when predictions are constant in cells; otherwise slightly too small. The
    value may be negative, and is not clipped at zero. With weights :math:`1 / (n_b - 1)` becomes
    :math:`\sum w^2 / (W_b^2 - \sum w^2)`. O(n K) after cutting. Its variance exceeds that of `SquaredCE`; it is blind
    to errors that cancel inside a cell.

    Parameters
    ----------
    binning : Binning
    single_rows : {"zero", "plugin", "raise"}
        What a cell of one row adds: nothing (as in the authors' code), its plug-in square, or an error.
    root : bool
        Whether to take the signed root, :math:`\operatorname{sign}(v) \sqrt{|v|}`, in probability units. The authors'
        ``calibration`` package gives the root too, of negative values 0. A root is not unbiased.

    Raises
    ------
    ValueError, TypeError
        If `single_rows` is none of these, or `root` is not a boolean.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.9])
    >>> round(cs.DebiasedCE(cs.UniqueValues())(sample), 10)
    -0.0666666667
    >>> round(cs.DebiasedCE(cs.UniqueValues(), single_rows="plugin")(sample), 10)
    -0.0646666667
    """

    binning: Binning = EqualMass(15)
    single_rows: Literal["zero", "plugin", "raise"] = "zero"
    root: bool = False
    needs: ClassVar[tuple[str, ...]] = ("weight2",)
    __repr__ = without_defaults

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"{_ROOT * self.root}squared calibration error (debiased, signed, in cells)"

    def terms(self, tally: Tally) -> Floats:
        """Subtract the variance of each cell's proportion from its squared gap."""
        pairs = _pair_weight(tally)
        single = (pairs == 0) & (tally.weight > 0)
        if self.single_rows == "raise" and single.any():
            raise ValueError(
                f"{self!r}: a cell holds a single row, so the variance of its proportion cannot be taken out; "
                "take fewer cells, or single_rows='zero' or 'plugin'."
            )
        outcome = tally.mean_outcome
        spread = over_components(outcome * (1 - outcome))
        gaps = over_components((outcome - tally.mean_prediction) ** 2)
        terms = gaps - spread * ratio(tally.weight2, pairs)
        if self.single_rows == "zero":
            terms = np.where(single, 0.0, terms)
        return tally.share * terms


@final
@dataclass(frozen=True)
class DebiasedL2(_Debiased):
    r"""Debiased squared calibration error as a U-statistic (Hoeffding 1948), signed.

    .. math:: \sum_b \frac{n_b}{n} \frac{1}{n_b (n_b - 1)} \sum_{i \ne j \in b} \langle r_i, r_j \rangle,
              \qquad r_i = y_i - p_i

    Unbiased for :math:`\sum_b P(b) \lVert E[r \mid b] \rVert^2`, a lower bound of the unbinned squared error, even when
    predictions vary inside a cell, where `DebiasedCE` is biased. May be negative. A cell of one row has no pairs and
    adds nothing. With weights the denominator is :math:`W_b^2 - \sum w^2`. O(n K) after cutting. Its variance exceeds
    that of `SquaredCE`; it is blind to errors that cancel inside a cell.

    The debiased plug-in of T-Cal (Lee et al. 2023, Section 4) has :math:`n_b^2` in place of :math:`n_b (n_b - 1)`
    (``denominator="counts"``): the part of each cell is then 1 - 1 / n_b of the unbiased one.

    Parameters
    ----------
    binning : Binning
    denominator : {"pairs", "counts"}
        n_b (n_b - 1), or T-Cal's n_b^2.
    root : bool
        Whether to take the signed root, :math:`\operatorname{sign}(v) \sqrt{|v|}`, in probability units. It is not
        unbiased; tests and intervals are those of the square, whose ends are mapped.

    Raises
    ------
    ValueError, TypeError
        If `denominator` is neither, or `root` is not a boolean.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.DebiasedL2(cs.EqualMass(5))(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 10)
    -0.0325
    >>> round(cs.DebiasedL2(cs.EqualMass(5), root=True)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    -0.180278
    """

    binning: Binning = EqualMass(15)
    denominator: Denominator = "pairs"
    root: bool = False
    needs: ClassVar[tuple[str, ...]] = ("weight2", "square")
    residual_form: ClassVar[ResidualForm] = "pairs"
    __repr__ = without_defaults

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"{_ROOT * self.root}squared calibration error (unbiased, signed, in cells)"

    def expansion(self, plan: TallyPlan) -> Callable[[Array], Expansion] | None:
        """Expand the U-statistic: its linear part, with the mean residuals of cells, and its pairs; not its root."""
        if self.root:
            return None
        pairs, weight = _pair_weight(plan.fixed), plan.fixed.weight
        divided = self._divided(pairs, weight)
        # What products are divided by, over the weight of rows: the rows of a cell less one, or one for a single row.
        fewer = np.where(pairs > 0, ratio(divided, weight), 1.0)
        kept = ratio(pairs, divided)
        return lambda outcomes: _expanded(plan, outcomes, self.functional, fewer, kept)

    def terms(self, tally: Tally) -> Floats:
        """Weigh the mean products of pairs of residuals by the shares of cells."""
        products = over_components(tally.residual**2) - tally.square
        return tally.share * ratio(products, self._divided(_pair_weight(tally), tally.weight))

    def _divided(self, pairs: Floats, weight: Floats) -> Floats:
        """Return what the products of each cell are divided by; zero where there are no pairs."""
        return pairs if self.denominator == "pairs" else np.where(pairs > 0, weight**2, 0.0)


def _expanded(
    plan: TallyPlan,
    outcomes: Array,
    functional: Callable[[Tally], Floats],
    fewer: Floats,
    kept: Floats | float = 1.0,
) -> Expansion:
    """Expand a squared error of cells: row i adds 2 <g, r_i> - |g|^2 - value, g the mean residual of its cell.

    Products of two rows of a cell are divided by `fewer` (L,) and by the total weight; of the squared error of a cell
    the share `kept` (L,) counts.
    """
    predictions, index, weights = plan.predictions, plan.cells.index, plan.predictions.weights
    tally = plan(outcomes)
    value, total = float(functional(tally)), float(tally.weight.sum())
    mean = ratio(tally.residual, tally.weight[:, None])
    share = np.broadcast_to(kept, tally.weight.shape)
    pull = 2 / total * share[:, None] * mean
    level = (share * (mean**2).sum(axis=1) + value) / total
    rate = 1 / np.sqrt(np.where(fewer > 0, fewer, 1.0) * total)

    def residual() -> Floats:
        found = predictions.happened(outcomes)
        found -= predictions.components
        return found

    def rows() -> tuple[Floats, Floats]:
        slope = np.take(pull, index, axis=0)
        influence = over_components(slope * residual()) - np.take(level, index)
        return (influence, slope) if weights is None else (weights * influence, weights[:, None] * slope)

    variance = None
    if weights is None and tally.square.size and pull.shape[1] == 1:
        within = above_rounding(tally.square - tally.residual[:, 0] * mean[:, 0], tally.square)
        between = tally.weight * (pull[:, 0] * mean[:, 0] - level) ** 2
        variance = float((pull[:, 0] ** 2 * within + between).sum())
    pairs = PairsInCells(index, rate, weights, lambda: residual() - np.take(mean, index, axis=0))
    return Expansion(value, rows, pairs, variance)


def _pair_weight(tally: Tally) -> Floats:
    """Weight of all pairs i != j of each cell, W^2 - sum w^2; exactly zero for a single row despite rounding."""
    return above_rounding(tally.weight**2 - tally.weight2, tally.weight**2)
