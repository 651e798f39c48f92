"""Test whether the calibration curves of groups are equal; the model need not be calibrated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import (
    clipped_logit,
    expit,
    fit_logistic,
    inverse_roots,
    linear_predictor,
    made_orthonormal,
    natural_spline,
    pieces,
    sums_of_products,
)
from calibstat._text import counted, level_of, percent
from calibstat.auditing.findings import left_out_text
from calibstat.auditing.groups import LeftOut, Levels, look
from calibstat.auditing.pooled_groups import ROWS
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import NUMBERS_IN_CACHE, RNG, Floats, Ints, effective_number, effective_rows, two_columns
from calibstat.data.groups import MINIMUM_CLUSTERS, ClusterCount
from calibstat.data.parameters import LEVEL, Count, NotNegative, check_arguments, check_share, repeats
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.data.sample import Sample
from calibstat.draws.group_sums import ENOUGH, Draw, JointNormal
from calibstat.draws.labels import ClusteredLabels
from calibstat.draws.streams import random_signs, replicate, stream_of
from calibstat.estimators.base import all_weights
from calibstat.inference.arguments import check_lens
from calibstat.inference.forest import Forest, ForestRow
from calibstat.inference.multiplicity import cannot_reject, enough_redraws, joint_test, more_note, single_step
from calibstat.inference.results import Result, RowCounts, not_rejected, picked, pvalue_cell, small_pvalue
from calibstat.inference.test import fewest_rows
from calibstat.lenses.base import Lens

# Events, and non-events, that a group must expect by default.
MIN_EXPECTED = 10.0
# Steps of the prediction in which the sums of many rows are drawn.
_STEPS = 128
# One in so many of many rows is fitted first.
_ONE_IN = 16
_IN_STEPS = (
    f"every group expects at least {ENOUGH} events and non-events, so sums over {_STEPS} steps of the prediction are "
    "drawn from their joint normal law, and p-values compare walks at the ends of these"
)
# Events, and non-events, for a standard error that large samples justify.
_MIN_OBSERVED = 10


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
      :math:`R_i = w_i (y_i - \hat\eta(p_i)) (1[G_i = g] - \hat e_g(p_i))`, where a logistic regression on a spline of
      the prediction gives :math:`\hat\eta`, and a linear one :math:`\hat e_g`. The statistic is the range of the
      sums of R in the order of the prediction, divided by the standard deviation of all of it, the largest over the
      groups. It sees differences that change sign along the prediction.
    * the score statistic (Rao 1948) of G and G times the logit beside that spline (differential item functioning,
      Swaminathan & Rogers 1990), which is strong against shifts and slopes.

    Both are compared with their values on the same redraws: labels drawn from the curve of all rows, which is fitted
    anew to each of them (one step of Newton's method). The p-value is that of the smaller of the two p-values among
    those of all redraws (min-p, Westfall & Young 1993). Redraws know small groups and rare events, which large-sample
    laws do not; asymptotic is only that the spline must follow the curve. Of 5000 rows or more, and groups that expect
    200 events and non-events, sums over 128 steps of the prediction are drawn from their joint normal law instead, and
    the data are compared in these steps too; the result says so. With weights all sums are weighted, and the
    null says that the outcome does not depend on the weight either. Of rows in clusters (`Sample.groups`) each
    p-value is the larger of that of one random sign for each cluster and that of labels which are redrawn as dependent
    within clusters as the sample leaves possible (asymptotic).

    How much the odds of the event differ is reported beside the tests: one logistic regression on the spline and the
    groups gives for each group the ratio of its odds to those of the other groups at the same prediction
    (their geometric mean, weighted by size). The standard errors come from the sandwich covariance of rows (White 1982)
    or clusters (Liang & Zeger 1986), which large samples justify; no p-value is taken from them. A group with fewer
    than ten events, or non-events, has no ratio.

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
        Groups with fewer rows are left out; where there are weights, with fewer rows in effect (Kish 1965).
    min_expected : float
        Groups with fewer expected events, or non-events, are left out too; the expected number sums over the group a
        spline fit of the outcome on the prediction in all rows, in effective rows too.
    missing : {"raise", "level"}
        Whether missing values raise an error or form a group.
    level : float
        The level at which texts reject.
    n_resamples : int
        Number of redraws; more are taken where so few could not reject and more cost little.
    rng : int, Generator or None

    Returns
    -------
    EqualCurvesTest

    Raises
    ------
    ValueError
        If there are more than two outcomes, fewer than two groups that are large enough, or few clusters.

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
    repeats("n_resamples", n_resamples)
    check_share("level", level, LEVEL)
    lens = check_lens(lens)
    levels, seen = _one_variable(sample, by, lens, binning, missing)
    curve = PooledCurve.fit(seen)
    kept, left_out = large_enough(levels, _expected(levels, curve), min_size, min_expected)
    rows = np.flatnonzero(np.isin(levels.index, kept))
    if len(rows) < len(seen):
        seen = seen.take(rows)
        curve = PooledCurve.fit(seen)
    index = np.searchsorted(kept, levels.index[rows])
    generator = stream_of(rng, levels.variable)
    noises = _noises(curve, seen, generator)
    names = [levels.names[code] for code in kept]
    taken = enough_redraws(n_resamples, 1, level, len(rows) * len(kept))
    in_steps = seen.groups is None and len(index) >= ROWS and enough_events(curve, index)
    return EqualCurvesTest(
        variable=levels.variable,
        groups=tuple(names),
        sizes=tuple(np.bincount(index).tolist()),
        gaps=tuple((np.bincount(index, curve.residual) / np.bincount(index, curve.weights)).tolist()),
        **_tested(Comparison.of(curve, index), noises, in_steps, taken, generator),
        **_odds([level_of(levels.variable, name) for name in names], seen, index, curve),
        left_out=tuple(left_out),
        lens=lens,
        n=len(index),
        n_resamples=taken,
        source=seen.predictions.source,
        counts=RowCounts.of(seen, min(fewest_rows(seen.take(index == g)) for g in range(len(kept)))),
        level=level,
        clusters=seen.predictions.clusters,
        notes=more_note(taken, n_resamples, level),
        how=(_IN_STEPS,) if in_steps else (),
    )


def _one_variable(sample: Sample, by: Any, lens: Lens, binning: Binning, missing: str) -> tuple[Levels, Sample]:
    """Cut the variable and look through the lens; refuse several variables and several outcomes."""
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
    return variables[0], seen


def _expected(levels: Levels, curve: PooledCurve) -> Floats:
    """Return rows in effect, and the events among them if as much happened in each group as in all rows: (L, 2)."""
    mass, square, events = (
        np.bincount(levels.index, each, minlength=levels.size)
        for each in (curve.weights, curve.weights**2, curve.weights * curve.chance)
    )
    rows = np.divide(mass**2, square, out=np.zeros(levels.size), where=square > 0)
    return np.column_stack([rows, np.divide(rows * events, mass, out=np.zeros(levels.size), where=mass > 0)])


@final
@dataclass(frozen=True, eq=False)
class PooledCurve:
    """A logistic regression of the outcome on a spline of the prediction in all rows.

    `weights` (n,) are relative to their mean, `basis` (n, d) spans the spline, `chance` (n,) is the fit, and `residual`
    (n,) the weighted outcome minus it.
    """

    event: Floats
    weights: Floats
    basis: Floats
    coefficients: Floats  # (d,)
    chance: Floats
    residual: Floats

    @classmethod
    def fit(cls, seen: Sample) -> PooledCurve:
        """Fit the curve."""
        event, weights = seen.predictions.event, all_weights(seen.predictions, None)
        happened, weights = seen.outcomes.astype(float), weights / weights.mean()
        groups = seen.groups
        many = len(event) if groups is None else round(groups.counted(seen.predictions.weights).effective)
        basis = spline_basis(event, n_knots(many))
        start = None
        if len(event) >= ROWS:  # from the curve of some rows to that of all it is not far
            near = fit_logistic(basis[::_ONE_IN], happened[None, ::_ONE_IN], weights[::_ONE_IN])
            start = near.coefficients[0] if near.exists[0] else None
        fits = fit_logistic(basis, happened[None], weights, start=start)
        chance = expit(linear_predictor(basis, fits.coefficients))[0]
        return cls(event, weights, basis, fits.coefficients[0], chance, weights * (happened - chance))

    @property
    def variance(self) -> Floats:
        """The variance (n,) of each outcome."""
        return self.chance * (1 - self.chance)

    def without(self, columns: Floats) -> Floats:
        """Subtract from columns (n, k) their regressions on the basis, in which rows count by their information."""
        mass = self.weights * self.variance
        return columns - self.basis @ (self.inverse @ (self.basis.T @ (mass[:, None] * columns)))

    def refitted(self, residuals: Floats) -> Floats:
        """Subtract from weighted residuals (R, n) what a step of Newton's method takes into the curve."""
        return residuals - ((residuals @ self.basis) @ self.inverse @ self.basis.T) * (self.weights * self.variance)

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the information of the basis."""
        roots, _ = inverse_roots(sums_of_products(self.basis.T, (self.weights * self.variance)[None]), ROUNDING)
        return roots[0] @ roots[0].T


def enough_events(curve: PooledCurve, index: Ints) -> bool:
    """Whether every group expects enough events and non-events, in effect, for sums of them to be nearly normal."""
    sums = (
        [np.bincount(index, curve.weights**power * chance) for power in (1, 2)]
        for chance in (curve.chance, 1 - curve.chance)
    )
    return bool(min(effective_number(*each).min() for each in sums) >= ENOUGH)


def _noises(curve: PooledCurve, seen: Sample, rng: np.random.Generator) -> list[Draw]:
    """Return functions that draw weighted residuals (R, n): of labels drawn from the curve.

    Of clusters, signs are drawn too, and labels depend on each other in a cluster as far as these leave possible: few
    clusters follow the curve that is fitted to them, so that their residuals times signs have too little noise.
    """
    groups = seen.groups
    if groups is None:
        return [
            lambda stream, _size, kept: (
                curve.weights * ((stream.random((kept, len(curve.event))) < curve.chance) - curve.chance)
            )
        ]
    count = groups.counted(seen.predictions.weights)
    if count.effective < MINIMUM_CLUSTERS:
        raise ValueError(
            f"there are {count}, but a test by signs needs at least {MINIMUM_CLUSTERS}: take more of them."
        )
    signs = random_signs(groups.number)
    labels = ClusteredLabels(two_columns(curve.chance), seen.outcomes, groups, curve.weights)
    share = labels.strongest(rng)
    return [
        lambda stream, size, kept: curve.residual * groups.spread(signs(stream, size, kept)),
        lambda stream, size, kept: curve.weights * (labels.draw(share, stream, size, kept) - curve.chance),
    ]


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """How far residuals (R, n) differ between groups: (R, G + 1), a walk for each group and the score statistic last.

    `members` (n, G) are what the prediction does not explain of the groups, by the standard deviation of the sum of
    their residuals, in the `order` of the prediction; `columns` (n, k) that of group and group times logit, and `roots`
    (k, r) those of the inverse covariance of their sums. Of two groups the first suffices.
    """

    curve: PooledCurve
    order: Ints
    stops: Ints  # the last row of each value of the prediction, in this order
    members: Floats
    columns: Floats
    roots: Floats

    @classmethod
    def of(cls, curve: PooledCurve, index: Ints) -> Comparison:
        """Prepare for the groups (n,) of rows, 0 to G - 1."""
        order = np.argsort(curve.event, kind="stable")
        stops = np.append(np.flatnonzero(np.diff(curve.event[order]) > 0), len(order) - 1)
        member = (index[:, None] == np.arange(int(index.max()) + 1)).astype(float)
        used = curve.without(member[:, :1] if member.shape[1] == 2 else member)
        mass = curve.weights**2 * curve.variance
        scale = np.sqrt(mass @ used**2)
        both = np.column_stack([member[:, 1:], member[:, 1:] * clipped_logit(curve.event)[:, None]])
        columns = curve.without(both)
        roots, _ = inverse_roots(sums_of_products(columns.T, mass[None]), SAME)
        found = roots[0][:, roots[0].any(axis=0)]
        return cls(curve, order, stops, (used / np.where(scale > ROUNDING, scale, np.inf))[order], columns, found)

    def __call__(self, residuals: Floats) -> Floats:
        """Fit the curve anew to residuals (R, n) and compare, for as many at once as stay in the cache."""
        size = max(1, NUMBERS_IN_CACHE // residuals.shape[1])
        return np.concatenate([self._some(residuals[each : each + size]) for each in range(0, len(residuals), size)])

    def _some(self, residuals: Floats) -> Floats:
        left = self.curve.refitted(residuals)
        score = ((left @ self.columns @ self.roots) ** 2).sum(axis=-1)
        left = np.take(left, self.order, axis=-1)
        return np.stack([*(_range(left * member, self.stops) for member in self.members.T), score], axis=-1)


@final
@dataclass(frozen=True, eq=False)
class ComparisonInSteps:
    """The same of many rows: sums of residuals over T steps of the prediction, drawn from their joint normal law.

    In each step residuals are summed three ways: times `members` (for the walks, which are read at the ends of steps),
    times the basis (for the curve, which is fitted anew) and times the columns of the score. `curve` (T, G, d) is what
    a unit of each coefficient of the curve takes from the walks up to there.
    """

    comparison: Comparison
    law: JointNormal
    curve: Floats
    data: Floats  # (T, G + d + k), the sums of the data

    @classmethod
    def of(cls, comparison: Comparison) -> ComparisonInSteps:
        """Cut steps of equal shares of rows and of variance, by halves; equal predictions stay together."""
        fitted, order, stops = comparison.curve, comparison.order, comparison.stops
        mass = (fitted.weights * fitted.variance)[order]
        reached = np.cumsum(mass / mass.sum() + 1 / len(order))[stops]
        ends = stops[np.flatnonzero(np.diff((reached * (_STEPS / 2)).astype(int), append=_STEPS + 1))] + 1
        curve, covariance, data = [], [], []
        for a, b in zip([0, *ends[:-1]], ends, strict=True):
            rows, members = order[a:b], comparison.members[a:b]
            basis = fitted.basis[rows]
            all_columns = np.column_stack([members, basis, comparison.columns[rows]])
            curve.append((mass[a:b, None] * members).T @ basis)
            covariance.append(all_columns.T @ ((fitted.weights[rows] * mass[a:b])[:, None] * all_columns))
            data.append(fitted.residual[rows] @ all_columns)
        return cls(comparison, JointNormal.of(np.stack(covariance)), np.cumsum(curve, axis=0), np.stack(data))

    def __call__(self, sums: Floats) -> Floats:
        """Compare by sums over steps (R, T, G + d + k): (R, G + 1)."""
        n_steps, n_groups, d = self.curve.shape
        total = sums[..., n_groups:].sum(axis=1)
        moved = (total[:, :d] @ self.comparison.curve.inverse) @ self.curve.reshape(-1, d).T
        walks = np.cumsum(sums[..., :n_groups], axis=1) - moved.reshape(-1, n_steps, n_groups)
        score = ((total[:, d:] @ self.comparison.roots) ** 2).sum(axis=-1)
        return np.column_stack([np.maximum(walks.max(axis=1), 0) - np.minimum(walks.min(axis=1), 0), score])


def _range(rows: Floats, stops: Ints) -> Floats:
    """Return the range of the sums of rows (R, n) up to each stop, zero included."""
    sums = np.take(np.cumsum(rows, axis=-1), stops, axis=-1)
    return np.maximum(sums.max(axis=-1), 0) - np.minimum(sums.min(axis=-1), 0)


def _tested(
    compare: Comparison, noises: list[Draw], in_steps: bool, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Return both statistics with their p-values, and those of the groups, from the same redraws."""
    values = compared = compare(compare.curve.residual[None])[0]
    if in_steps:
        steps = ComparisonInSteps.of(compare)
        compared = steps(steps.data[None])[0]
        kinds = [replicate(steps, steps.law.draw, n_resamples, steps.law.scale.size, rng)]
    else:
        kinds = [replicate(compare, noise, n_resamples, len(compare.order), rng) for noise in noises]
    evidence = [np.column_stack([draws[:, :-1].max(axis=1), draws[:, -1]]) for draws in kinds]
    found = joint_test(np.array([compared[:-1].max(), compared[-1]]), evidence, standardize="ranks")
    each = np.max([single_step(compared[:-1], draws[:, :-1]) for draws in kinds], axis=0)
    return {
        "group_pvalues": tuple(np.resize(each, compare.columns.shape[1] // 2 + 1).tolist()),
        "covariance_statistic": float(values[:-1].max()),
        "covariance_pvalue": float(found.pvalues[0]),
        "regression_statistic": float(values[-1]),
        "regression_df": compare.roots.shape[1],
        "regression_pvalue": float(found.pvalues[1]),
        "pvalue": found.pvalue,
    }


def _odds(names: list[str], seen: Sample, index: Ints, curve: PooledCurve) -> dict[str, Any]:
    """Return the odds ratios, the standard errors of their logarithms, and the groups that have none."""
    codes = np.arange(len(index)) if seen.groups is None else seen.groups.codes
    reasons = [_too_few(seen, rows, codes) for rows in (np.flatnonzero(index == g) for g in range(len(names)))]
    used = np.flatnonzero([not reason for reason in reasons])
    ratios, errors = np.full((2, len(names)), np.nan)
    why = "has no other group of enough events and non-events beside it"
    if len(used) > 1:
        if len(used) == len(names):
            fitted = log_odds(seen, index, codes, curve)
        else:
            rows = np.flatnonzero(np.isin(index, used))
            fitted = log_odds(seen.take(rows), np.searchsorted(used, index[rows]), codes[rows])
        ratios[used], errors[used] = np.exp(fitted[0]), fitted[1]
        why = "shares hardly any predictions with the others, or the prediction separates its outcomes"
    return {
        "odds_ratios": tuple(ratios.tolist()),
        "standard_errors": tuple(errors.tolist()),
        "without_odds": tuple(
            LeftOut(names[g], int((index == g).sum()), reasons[g] or why) for g in np.flatnonzero(np.isnan(ratios))
        ),
    }


def _too_few(seen: Sample, rows: Ints, codes: Ints) -> str:
    """Say what a group has too few of: events or non-events, in effect, or clusters in which there are any."""
    weights = all_weights(seen.predictions, None)[rows]
    for what, outcome in (("events", 1), ("non-events", 0)):
        count = effective_rows(np.bincount(codes[rows], weights * (seen.outcomes[rows] == outcome)))
        if count < _MIN_OBSERVED:
            alone = seen.groups is None
            has = f"{count:.3g} {what}" if alone else f"{what} in as good as {count:.3g} clusters of equal size"
            return f"has {has}, fewer than {_MIN_OBSERVED}"
    return ""


def log_odds(seen: Sample, index: Ints, codes: Ints, curve: PooledCurve | None = None) -> Floats:
    """Return log odds ratios of groups and their standard errors (2, G), from one logistic regression.

    Each group is held against the weighted mean of the others, beside the `curve` of all rows. `codes` (n,) are
    clusters, each row one of its own where there are none. A ratio about which the regression knows less than one row
    of even odds (a standard error of 2) is NaN.
    """
    curve = curve or PooledCurve.fit(seen)
    mass = np.bincount(index, curve.weights)
    others = np.where(np.eye(len(mass)) > 0, 0, mass) / (mass.sum() - mass)[:, None]
    columns = (index[:, None] == np.arange(1, len(mass))).astype(float)
    columns -= curve.basis @ (curve.basis.T @ columns) / len(index)
    if np.linalg.eigvalsh(columns.T @ columns)[0] <= SAME * len(index):
        return np.full((2, len(mass)), np.nan)
    d = curve.basis.shape[1]
    contrasts = np.zeros((len(mass), d + columns.shape[1]))
    contrasts[:, d:] = (np.eye(len(mass)) - others)[:, 1:]
    start = np.append(curve.coefficients, np.zeros(columns.shape[1]))
    happened = seen.outcomes[None].astype(float)
    fit = fit_logistic(curve.basis, happened, curve.weights, beside=columns, start=start).coefficients[0]
    chance = expit(curve.basis @ fit[:d] + columns @ fit[d:])
    naive, covariance = sandwich(
        (curve.basis, columns), curve.weights * chance * (1 - chance), curve.weights * (seen.outcomes - chance), codes
    )
    known = np.einsum("gi,ij,gj->g", contrasts, naive, contrasts) < 4
    errors = np.sqrt(np.einsum("gi,ij,gj->g", contrasts, covariance, contrasts))
    return np.where(known, [contrasts @ fit, errors], np.nan)


def sandwich(columns: Sequence[Floats], information: Floats, residual: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Return the inverse information of coefficients, and their covariance by the sum of scores of each cluster.

    With the factors of Stata for few clusters, G / (G - 1) (n - 1) / (n - d) (Liang & Zeger 1986). The columns of the
    design stand side by side (n, ...); rows (n,) have their information, weighted residual and cluster.
    """
    n, d, size = len(codes), sum(each.shape[1] for each in columns), int(codes.max()) + 1
    total, meat = np.zeros((2, d, d))
    for rows in pieces(n):
        design = np.column_stack([each[rows] for each in columns])
        total += design.T @ (information[rows, None] * design)
        meat += design.T @ (residual[rows, None] ** 2 * design)
    if size < n:
        scores = np.stack([np.bincount(codes, column * residual, size) for each in columns for column in each.T])
        meat, size = scores @ scores.T, len(np.unique(codes))
    else:
        size = n
    inverse = np.linalg.pinv(total, hermitian=True).astype(float, copy=False)
    return inverse, inverse @ meat @ inverse * (size / (size - 1) * (n - 1) / (n - d))


_QUESTION = "this compares groups where the prediction is the same; the model may be off in all groups alike"


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
        The standardised range of the cumulated covariance, largest over the groups, and its p-value.
    regression_statistic, regression_pvalue : float
        The score statistic of the logistic regression, and its p-value.
    regression_df : int
    pvalue : float
        Of the smaller of the two, among redraws.
    odds_ratios : tuple of float
        For each group, its odds of the event over those of the other groups at the same prediction; NaN without one.
    standard_errors : tuple of float
        Of the logarithms of the odds ratios, for large samples. No p-value comes from them.
    without_odds : tuple of LeftOut
        The groups that have no odds ratio, with the reason.
    left_out : tuple of LeftOut
    lens : Lens
    n, n_resamples : int
    source : str
    counts : RowCounts
    level : float
        Level of the test in texts.
    clusters : ClusterCount, optional
        Number of clusters, and how many of equal size would be as good, where the null names them.
    notes : tuple of str
        That more redraws were taken than asked for.
    how : tuple of str
        How noise was drawn, where that is special.
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
    odds_ratios: tuple[float, ...]
    standard_errors: tuple[float, ...]
    without_odds: tuple[LeftOut, ...]
    left_out: tuple[LeftOut, ...]
    lens: Lens
    n: int
    n_resamples: int
    source: str
    counts: RowCounts
    level: float = LEVEL
    clusters: ClusterCount | None = None
    notes: tuple[str, ...] = ()
    how: tuple[str, ...] = ()

    _display: ClassVar[str] = "AuditDisplay"
    _row: ClassVar[str] = "group"
    _indexed: ClassVar[bool] = True

    def __iter__(self) -> Iterator[float]:
        return iter((self.covariance_statistic, self.pvalue))

    @property
    def hypothesis(self) -> str:
        """The null hypothesis, in words."""
        how = "labels drawn from a spline fit in all rows (which must follow the curve)"
        if self.clusters is not None:
            how = (
                "the larger p of one random sign for each cluster and of labels redrawn from the curve, which depend "
                "on each other in clusters (asymptotic)"
            )
        return (
            f"given the prediction, the outcome seen through {self.lens!r} does not depend on {self.variable!r}; the "
            f"prediction itself may be off; {how}"
        )

    @property
    def verdict(self) -> str:
        """One sentence: evidence that the curves differ, or no evidence."""
        p = f"p {small_pvalue(self.pvalue, level=self.level)}"
        low, high = min(self.gaps), max(self.gaps)
        least, most = self.groups[self.gaps.index(low)], self.groups[self.gaps.index(high)]
        apart = f"most in {most} ({high:+.3f} on average), least in {least} ({low:+.3f})"
        if self.pvalue > self.level:
            none = cannot_reject(self.n_resamples, 1, self.level)
            equal = f"That as much happens at the same prediction in all {len(self.groups)} groups of {self.variable!r}"
            return f"{not_rejected(self.level, none, equal)} ({p}); {apart}."
        differ = f"groups of {self.variable!r} differ at {percent(self.level)}"
        return f"At the same prediction, {differ} ({p}): it happens {apart}."

    def forest(self) -> Forest:
        """Return the odds ratios of groups as rows of a forest plot, those of the strongest evidence first."""
        rows = [
            ForestRow(
                level_of(self.variable, name),
                ratio,
                (float(ratio * np.exp(-1.96 * error)), float(ratio * np.exp(1.96 * error))),
                beyond=max(p, self.pvalue) <= self.level,
                words=f"{100 * gap:+.1f} %",
            )
            for p, _, name, gap, ratio, error in sorted(
                (p, -abs(gap), name, gap, ratio, error) for name, _, gap, ratio, error, p in self._columns()
            )
            if np.isfinite(ratio)
        ]
        if not rows:
            raise ValueError(f"no group of {self.variable!r} has an odds ratio: {left_out_text(self.without_odds)}.")
        differ = self.pvalue <= self.level
        return Forest(
            tuple(rows),
            axis="odds of the event, times those of the others",
            answer=(
                f"{'groups differ' if differ else 'no evidence that groups differ'} at the same prediction",
                f"p {small_pvalue(float(f'{self.pvalue:.2g}'), level=self.level)}; n = {self.n:,}",
            ),
            caption=f"{self.verdict} Each row is the odds of the event in a group over those of the other groups at "
            "the same prediction, with a 95 % interval for large samples of that group alone; the tests, not the "
            f"intervals, decide. Null: {self.hypothesis}.",
            interval="95 %, large samples",
            beyond="more than noise",
            reference=1.0,
            log=True,
            heading="happens by",
        )

    def _rows(self) -> list[dict[str, Any]]:
        names = ("group", "n", "gap", "odds_ratio", "standard_error", "pvalue_adjusted")
        return [dict(zip(names, each, strict=True)) for each in self._columns()]

    def _columns(self) -> Iterator[tuple[str, int, float, float, float, float]]:
        """Iterate over the groups."""
        odds = (self.odds_ratios, self.standard_errors)
        return zip(self.groups, self.sizes, self.gaps, *odds, self.group_pvalues, strict=True)

    def _values(self) -> dict[str, Any]:
        return {
            "lens": repr(self.lens),
            **picked(self, "variable n n_resamples pvalue covariance_statistic covariance_pvalue"),
            **picked(self, "regression_statistic regression_df regression_pvalue hypothesis source notes how"),
            **({} if self.clusters is None else self.clusters.to_dict()),
            "groups": self._rows(),
            "without_odds": self.without_odds,
            "left_out": self.left_out,
        }

    def _table(self) -> list[list[str]]:
        rows = [
            [
                level_of(self.variable, name),
                str(n),
                f"{gap:+.4f}",
                "" if np.isnan(odds) else f"{odds:.3g}",
                pvalue_cell(p),
            ]
            for name, n, gap, odds, _, p in self._columns()
        ]
        return [["group", "rows", "more happens by", "odds ratio", "adj. p"], *rows]

    def _notes(self) -> list[str]:
        left = [f"left out: {left_out_text(self.left_out)}"] if self.left_out else []
        odds = [f"no odds ratio: {left_out_text(self.without_odds)}"] if self.without_odds else []
        return [_QUESTION, *left, *odds, *([] if self.clusters is None else [str(self.clusters)]), *self.notes]

    def _details(self) -> list[tuple[str, str]]:
        covariance, units = pvalue_cell(self.covariance_pvalue), "rows" if self.clusters is None else "clusters"
        details = [
            ("more by", "mean of the outcome minus a logistic spline of the prediction in all rows"),
            (
                "odds ratio",
                "odds of the event over those of the other groups at the same prediction, by a logistic regression; "
                f"standard errors (in to_frame) are for large samples, from the sandwich covariance of {units}, and no "
                "p-value is taken from them",
            ),
            (
                "adjusted p",
                f"cumulated covariance of outcome and group given the prediction; the largest: p = {covariance}",
            ),
            (
                "regression",
                f"group and group x logit beside a spline of the prediction: score statistic "
                f"{self.regression_statistic:.4g}, {self.regression_df} degrees of freedom, "
                f"p {small_pvalue(self.regression_pvalue)}",
            ),
            ("p", "that of the smaller of the two, among redraws (min-p)"),
            ("null", self.hypothesis),
            ("draws", "; ".join([f"{self.n_resamples} redraws", *self.how])),
            ("data", f"n = {self.n}; {self.source}"),
        ]
        return [(name, text) for name, text in details if text]


def large_enough(levels: Levels, expected: Floats, min_size: int, min_expected: float) -> tuple[Ints, list[LeftOut]]:
    """Return the groups to compare and those left out; refuse fewer than two groups.

    `expected` (L, 2) are rows in effect, and the events that each group would have if the curves were equal.
    """
    counts = np.bincount(levels.index, minlength=levels.size)
    names = [level_of(levels.variable, name) for name in levels.names]
    reasons = [
        _reason(count, rows, events, min_size, min_expected)
        for count, (rows, events) in zip(counts.tolist(), expected.tolist(), strict=True)
    ]
    left_out = [LeftOut(names[g], int(counts[g]), reason) for g, reason in enumerate(reasons) if reason]
    kept = np.flatnonzero([not reason for reason in reasons])
    if len(kept) < 2:
        shown = "; ".join(f"{each.name} (n = {each.n}) {each.reason}" for each in left_out[:10]) or "it has one level"
        raise ValueError(
            f"{levels.variable!r} has fewer than two groups of at least {counted(min_size, 'row')}, and "
            f"{min_expected:g} expected events and non-events, so that there is nothing to compare: {shown}. Take "
            "another variable, larger groups, or more rows; with a smaller min_size or min_expected the p-value is too "
            "small too often."
        )
    return kept, left_out


def _reason(count: int, rows: float, expected: float, min_size: int, min_expected: float) -> str:
    if count < min_size:
        return f"has fewer than {counted(min_size, 'row')}"
    if rows < min_size * (1 - SAME):
        return f"is by weights as good as {rows:.3g} rows, fewer than {min_size}"
    for what, number in (("events", expected), ("non-events", rows - expected)):
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
        return made_orthonormal((index == np.arange(len(values))[:, None]).astype(float)).T
    rank = (np.cumsum(counts) - counts / 2)[index] / len(event)
    places = np.unique(np.quantile(rank, (np.arange(knots) + 0.5) / knots))
    columns = np.empty((3 + len(places), len(event)))
    columns[0], columns[1], columns[-1] = 1, rank, clipped_logit(event)
    for rows in pieces(len(event)):
        columns[2:-1, rows] = natural_spline(rank[rows], places).T
    return made_orthonormal(columns).T
