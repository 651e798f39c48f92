"""Test whether the calibration curves of groups are equal; the model need not be calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import chdtrc

from calibstat._logistic import clipped_logit, natural_spline, orthonormal
from calibstat._text import percent
from calibstat.auditing.findings import left_out_text
from calibstat.auditing.groups import LeftOut, Levels, look
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Floats, Ints
from calibstat.data.parameters import LEVEL, Count, NotNegative, at_least_one, check_arguments, check_share
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.draws.streams import replicate, stream_of
from calibstat.inference.arguments import check_lens
from calibstat.inference.multiplicity import single_step
from calibstat.inference.results import Result, not_rejected, picked, pvalue_cell, small_pvalue
from calibstat.lenses.base import Lens
from calibstat.nulls.base import EmpiricalNull

# Events, and non-events, that a group must expect by default.
MIN_EXPECTED = 10.0


def equal_curves_test(
    sample: Sample,
    by: Any,
    *,
    lens: Lens | None = None,
    binning: Binning = EqualMass(4),
    min_size: Count = 50,
    min_expected: NotNegative = MIN_EXPECTED,
    missing: str = "raise",
    level: float = LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> EqualCurvesTest:
    r"""Test whether the chance of the event at a prediction is equal in all groups: P(Y = 1 | p, G) = P(Y = 1 | p).

    The null is *sufficiency* of the prediction, which `subgroup_audit` does not test: a model that is off in the same
    way in all groups satisfies it, and groups may differ in their predictions. Two tests see different departures:

    * the generalised covariance measure (Shah & Peters 2020) of outcome and group given the prediction, cumulated:
      :math:`R_i = (y_i - \hat\eta(p_i)) (1[G_i = g] - \hat e_g(p_i))` with spline fits on the prediction. The statistic
      is the range of the sums of R in the order of the prediction, the largest over the groups, and is compared with
      Gaussian multipliers. It sees differences that change sign along the prediction.
    * the likelihood ratio of a logistic regression on a spline of the prediction with and without G and G times the
      logit (differential item functioning, Swaminathan & Rogers 1990). It is compared with chi-squared, with two
      degrees of freedom for each group but one, and is strong against shifts and slopes.

    The p-value is twice the smaller of the two (Bonferroni). Both laws are asymptotic, so that groups of few events or
    non-events are left out.

    Parameters
    ----------
    sample : Sample
    by : str, or mapping of one name to values
        A variable of the sample, or a column with one value for each row.
    lens : Lens, optional
        Looked through first; it must leave two outcomes.
    binning : Binning
        How a numeric variable is cut; each value is a group if there are at most ten.
    min_size : int
        Groups with fewer rows are left out.
    min_expected : float
        Groups with fewer expected events, or non-events, are left out too; the expected number sums over the group a
        spline fit of the outcome on the prediction in all rows.
    missing : {"raise", "level"}
        Whether missing values raise an error or form a group.
    level : float
        The level at which texts reject.
    n_resamples : int
        Number of draws of the Gaussian multipliers.
    rng : int, Generator or None

    Returns
    -------
    EqualCurvesTest

    Raises
    ------
    ValueError
        If there are more than two outcomes, weights, or fewer than two groups that are large enough.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.auditing.curves import equal_curves_test
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.random(2000), rng.choice(["f", "m"], 2000)
    >>> alike = cs.Sample(rng.random(2000) < p**2, p, variables={"sex": sex})  # off, but alike
    >>> equal_curves_test(alike, by="sex", rng=0).pvalue > 0.05
    True
    >>> apart = cs.Sample(rng.random(2000) < np.where(sex == "f", p, p**2), p, variables={"sex": sex})
    >>> equal_curves_test(apart, by="sex", rng=0).pvalue <= 0.002
    True
    """
    check_arguments(equal_curves_test, "", min_size=min_size, min_expected=min_expected)
    at_least_one("n_resamples", n_resamples)
    check_share("level", level, LEVEL)
    lens = check_lens(lens)
    levels, seen = _one_variable(sample, by, lens, binning, missing)
    event, happened = seen.predictions.event, seen.outcomes.astype(float)
    # How many events each group would have if as much happened in it as in all rows of the same prediction.
    expected = np.bincount(levels.index, happened - _excess(event, happened), minlength=levels.size).astype(float)
    kept, left_out = large_enough(levels, expected, min_size, min_expected)
    rows = np.flatnonzero(np.isin(levels.index, kept))
    event, happened, index = event[rows], happened[rows], np.searchsorted(kept, levels.index[rows])
    value, covariance, each = _covariance(event, happened, index, n_resamples, stream_of(rng, levels.variable))
    excess = _excess(event, happened)
    ratio, freedom, regression = _regression(event, happened, index)
    return EqualCurvesTest(
        variable=levels.variable,
        groups=tuple(levels.names[code] for code in kept),
        sizes=tuple(np.bincount(index).tolist()),
        gaps=tuple(float(excess[index == g].mean()) for g in range(len(kept))),
        group_pvalues=tuple(map(float, each)),
        covariance_statistic=value,
        covariance_pvalue=covariance,
        regression_statistic=ratio,
        regression_df=freedom,
        regression_pvalue=regression,
        pvalue=min(1.0, 2 * min(covariance, regression)),
        left_out=tuple(left_out),
        lens=lens,
        n=len(index),
        n_resamples=n_resamples,
        source=seen.predictions.source,
        level=level,
    )


def _one_variable(sample: Sample, by: Any, lens: Lens, binning: Binning, missing: str) -> tuple[Levels, Sample]:
    """Cut the variable and look through the lens; refuse several variables, several outcomes, and weights."""
    variables, seen = look(sample, by, lens, binning, missing)
    if len(variables) != 1:
        names = ", ".join(repr(each.variable) for each in variables)
        raise ValueError(
            f"by names {len(variables)} variables ({names}), but this test takes one; test each by itself."
        )
    if seen.predictions.n_classes != 2:
        raise ValueError(
            f"equal_curves_test needs two outcomes, but {seen.predictions.n_classes} are seen through {lens!r}; look "
            "through TopLabel() or ClassWise(label)."
        )
    if seen.predictions.weights is not None:
        raise ValueError(
            "the sample has weights, but equal_curves_test has no weighted version (none has a theory); leave them out."
        )
    return variables[0], seen


def _excess(event: Floats, happened: Floats) -> Floats:
    """Return outcome minus spline fit on the prediction in all rows (n,)."""
    return spline_residuals(spline_basis(event, n_knots(len(event))), happened)


def _covariance(
    event: Floats, happened: Floats, index: Ints, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float, Floats]:
    """Return the largest cumulated covariance, its p-value, and the p-value of each group, adjusted."""
    order = np.argsort(event, kind="stable")
    event, happened, index = event[order], happened[order], index[order]
    n_groups = int(index.max()) + 1
    member = (index[:, None] == np.arange(n_groups)).astype(float)
    product = _excess(event, happened)[:, None] * _excess(event, member)
    stops = np.append(np.flatnonzero(np.diff(event) > 0), len(event) - 1)
    centred = product - product.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    scale = np.where(scale > ROUNDING, scale, np.inf)
    # With two groups the second one is the first, negated.
    used = range(1 if n_groups == 2 else n_groups)
    values = np.array([_range(product[None, :, g], stops)[0] / scale[g] for g in used])

    def noise(stream: np.random.Generator, size: int, kept: int) -> Floats:
        return stream.standard_normal((size, len(event)))[:kept]

    def each_range(drawn: Floats) -> Floats:
        return np.stack([_range(drawn * centred[:, g], stops) / scale[g] for g in used], axis=-1)

    draws = replicate(each_range, noise, n_resamples, len(event), rng)
    largest = EmpiricalNull(draws.max(axis=1), np.asarray)
    adjusted = single_step(values, draws)
    each = np.repeat(adjusted, 2) if n_groups == 2 else adjusted
    return float(values.max()), largest.pvalue(float(values.max())), each


def _range(rows: Floats, stops: Ints) -> Floats:
    """Return the range of the sums of rows (R, n) up to each stop, zero included."""
    sums = np.take(np.cumsum(rows, axis=-1), stops, axis=-1)
    return np.maximum(sums.max(axis=-1), 0) - np.minimum(sums.min(axis=-1), 0)


def _regression(event: Floats, happened: Floats, index: Ints) -> tuple[float, int, float]:
    """Return the likelihood ratio, its degrees of freedom and its p-value."""
    # Each level of G takes columns of the regression; with more knots too, the test would exceed its level.
    basis = spline_basis(event, min(6, n_knots(len(event))))
    slope = clipped_logit(event)
    member = (index[:, None] == np.arange(1, int(index.max()) + 1)).astype(float)
    whole, _ = orthonormal(np.column_stack([basis, member, member * slope[:, None]]))
    whole = whole[:, whole.any(axis=0)]
    freedom = whole.shape[1] - basis.shape[1]
    gain = maximal_log_likelihood(whole, happened) - maximal_log_likelihood(whole[:, : basis.shape[1]], happened)
    ratio = max(0.0, 2 * gain)
    return ratio, freedom, float(chdtrc(freedom, ratio)) if freedom else 1.0


_QUESTION = (
    "does as much happen in every group where the prediction is the same? (This is not about miscalibration: the model "
    "may be off in all groups alike.)"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class EqualCurvesTest(Result):
    """The result of `equal_curves_test`; unpacks to ``(statistic, pvalue)`` with the covariance statistic.

    Parameters
    ----------
    variable : str
    groups : tuple of str
    sizes : tuple of int
    gaps : tuple of float
        For each group, how much more happens than in all rows of the same predictions, on average.
    group_pvalues : tuple of float
        The p-value of each group's cumulated covariance, adjusted for the number of groups.
    covariance_statistic, covariance_pvalue : float
        The standardised range of the cumulated covariance, largest over the groups; its p-value by multipliers.
    regression_statistic, regression_pvalue : float
        The likelihood ratio of the logistic regression; its p-value by the chi-squared law.
    regression_df : int
    pvalue : float
        Twice the smaller of the two, at most 1.
    left_out : tuple of LeftOut
    lens : Lens
    n, n_resamples : int
    source : str
    level : float
        Level of the test in texts.
    """

    variable: str
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    gaps: tuple[float, ...]
    group_pvalues: tuple[float, ...]
    covariance_statistic: float
    covariance_pvalue: float
    regression_statistic: float
    regression_df: int
    regression_pvalue: float
    pvalue: float
    left_out: tuple[LeftOut, ...]
    lens: Lens
    n: int
    n_resamples: int
    source: str
    level: float = LEVEL

    _row: ClassVar[str] = "group"
    _indexed: ClassVar[bool] = True
    _width: ClassVar[int | None] = 100

    def __iter__(self) -> Iterator[float]:
        return iter((self.covariance_statistic, self.pvalue))

    @property
    def hypothesis(self) -> str:
        """The null hypothesis, in words."""
        return (
            f"given the prediction, the outcome seen through {self.lens!r} does not depend on {self.variable!r}; the "
            "prediction itself may be off (asymptotic)"
        )

    @property
    def verdict(self) -> str:
        """One sentence: evidence that the curves differ, or no evidence."""
        where = f"through {self.lens!r} (n = {self.n}, p {small_pvalue(self.pvalue, level=self.level)})"
        curves = f"the calibration curves of the {len(self.groups)} groups of {self.variable!r}"
        if self.pvalue > self.level:
            return f"{not_rejected(self.level, what=f'That {curves} are equal')} {where}."
        low, high = min(self.gaps), max(self.gaps)
        least, most = self.groups[self.gaps.index(low)], self.groups[self.gaps.index(high)]
        return (
            f"Evidence at {percent(self.level)} that {curves} differ {where}: "
            f"at the same prediction most happens in {most} ({high:+.3f} on average), least in {least} ({low:+.3f})."
        )

    def _rows(self) -> list[dict[str, Any]]:
        groups = zip(self.groups, self.sizes, self.gaps, self.group_pvalues, strict=True)
        return [{"group": name, "n": n, "gap": gap, "pvalue_adjusted": p} for name, n, gap, p in groups]

    def _values(self) -> dict[str, Any]:
        return {
            "lens": repr(self.lens),
            **picked(self, "variable n n_resamples pvalue covariance_statistic covariance_pvalue"),
            **picked(self, "regression_statistic regression_df regression_pvalue hypothesis source"),
            "groups": self._rows(),
            "left_out": self.left_out,
        }

    def _table(self) -> list[list[str]]:
        rows = [
            [f"{self.variable} {name}", str(n), f"{gap:+.4f}", pvalue_cell(p)]
            for name, n, gap, p in zip(self.groups, self.sizes, self.gaps, self.group_pvalues, strict=True)
        ]
        return [["group", "n", "more happens by", "adjusted p"], *rows]

    def _details(self) -> list[tuple[str, str]]:
        covariance = pvalue_cell(self.covariance_pvalue)
        details = [
            ("question", _QUESTION),
            ("more by", "mean of the outcome minus a spline fit of it on the prediction in all rows"),
            (
                "adjusted p",
                f"cumulated covariance of outcome and group given the prediction; the largest: p = {covariance}",
            ),
            (
                "regression",
                f"group and group x logit beside a spline of the prediction: likelihood ratio "
                f"{self.regression_statistic:.4g}, {self.regression_df} degrees of freedom, "
                f"p {small_pvalue(self.regression_pvalue)}",
            ),
            ("p", "twice the smaller of the two"),
            ("null", self.hypothesis),
            ("left out", left_out_text(self.left_out)),
            ("data", f"n = {self.n}; {self.source}"),
        ]
        return [(name, text) for name, text in details if text]


def large_enough(levels: Levels, expected: Floats, min_size: int, min_expected: float) -> tuple[Ints, list[LeftOut]]:
    """Return the groups to compare and those left out; refuse fewer than two groups.

    Asymptotic laws need at least `min_expected` events and non-events in each group; `expected` (L,) are the events
    that each group would have if the curves were equal.
    """
    counts = np.bincount(levels.index, minlength=levels.size)
    names = [f"{levels.variable} {name}" for name in levels.names]
    reasons = [_reason(int(count), float(e), min_size, min_expected) for count, e in zip(counts, expected, strict=True)]
    left_out = [LeftOut(names[g], int(counts[g]), reason) for g, reason in enumerate(reasons) if reason]
    kept = np.flatnonzero([not reason for reason in reasons])
    if len(kept) < 2:
        shown = "; ".join(f"{each.name} (n = {each.n}) {each.reason}" for each in left_out[:10]) or "it has one level"
        raise ValueError(
            f"{levels.variable!r} has fewer than two groups of at least {min_size} rows, and {min_expected:g} expected "
            f"events and non-events, so that there is nothing to compare: {shown}. Take another variable, larger "
            "groups, or more rows; with a smaller min_size or min_expected the p-value is too small too often."
        )
    return kept, left_out


def _reason(count: int, expected: float, min_size: int, min_expected: float) -> str:
    if count < min_size:
        return f"has fewer than {min_size} rows"
    for what, number in (("events", expected), ("non-events", count - expected)):
        if number < min_expected:
            return f"expects {max(number, 0.0):.3g} {what}, fewer than {min_expected:g}"
    return ""


def n_knots(n: int) -> int:
    """Return the number of knots for `n` rows: twice the fourth root of n, rounded and clipped to 5 to 20."""
    return int(np.clip(round(2 * n**0.25), 5, 20))


def spline_basis(event: Floats, knots: int) -> Floats:
    """Return orthogonal columns (n, d) that span smooth functions of the prediction.

    The functions are a restricted cubic spline of the rank, with equally spaced knots, and the logit. If predictions
    have at most as many distinct values as there are knots, the columns span all functions of them.
    """
    values, index, counts = np.unique(event, return_inverse=True, return_counts=True)
    if len(values) <= knots:
        basis, _ = orthonormal((index[:, None] == np.arange(len(values))).astype(float))
        return basis
    rank = (np.cumsum(counts) - counts / 2)[index] / len(event)
    places = np.unique(np.quantile(rank, (np.arange(knots) + 0.5) / knots))
    columns = [np.ones(len(event)), rank, natural_spline(rank, places), clipped_logit(event)]
    basis, _ = orthonormal(np.column_stack(columns))
    return basis[:, basis.any(axis=0)]


def spline_residuals(basis: Floats, values: Floats) -> Floats:
    """Subtract least-squares fits on an orthogonal basis from values (n,) or (n, k)."""
    return values - basis @ (basis.T @ values) / len(basis)


def maximal_log_likelihood(design: Floats, happened: Floats) -> float:
    """Return the largest log-likelihood (supremum, if outcomes are separated) of a well-conditioned design (n, d)."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about separated outcomes, where the likelihood approaches its supremum
        return float(GLM(happened, design, family=Binomial()).fit(tol=1e-12, wls_method="lstsq").llf)
