"""Are the calibration curves of groups equal? The model need not be calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc

from calibstat.arrays import RNG, Floats, Ints, as_generator
from calibstat.auditing.curves_groups import large_enough
from calibstat.auditing.curves_result import EqualCurvesTest
from calibstat.auditing.levels import Levels
from calibstat.auditing.looking import look
from calibstat.auditing.smooths import logits, maximal_log_likelihood, n_knots, residuals, spline_basis
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.checks import at_least_one
from calibstat.estimators.logistic.fits import orthonormal
from calibstat.inference.arguments import check_lens, check_number
from calibstat.inference.multiplicity import single_step
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.nulls.distributions import EmpiricalNull
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample

# A logistic regression of G costs some columns for each level; more knots would cost it its size.
_KNOTS_OF_REGRESSION = 6
# Events, and non-events, that a group must expect by default.
MIN_EXPECTED = 10.0


def equal_curves_test(
    sample: Sample,
    by: Any,
    *,
    lens: Lens | None = None,
    binning: Binning = EqualMass(4),
    min_size: int = 50,
    min_expected: float = MIN_EXPECTED,
    missing: str = "raise",
    n_resamples: int = 999,
    rng: RNG = None,
) -> EqualCurvesTest:
    r"""Test whether what happens at a prediction is the same in all groups: P(Y = 1 | p, G) = P(Y = 1 | p).

    This is *sufficiency* of the prediction, another question than `subgroup_audit`: a model that is off in the same way
    in all groups satisfies it, and groups may differ in their predictions. Two tests, each for other differences:

    * the generalised covariance measure (Shah & Peters 2020) of outcome and group given the prediction, cumulated:
      :math:`R_i = (y_i - \hat\eta(p_i)) (1[G_i = g] - \hat e_g(p_i))` with spline fits on the prediction, and the range
      of its sums in the order of the prediction, the largest over the groups, against Gaussian multipliers. Sees
      differences that change sign along the prediction;
    * the likelihood ratio of a logistic regression on a spline of the prediction with and without G and G times the
      logit (differential item functioning, Swaminathan & Rogers 1990; chi-squared with two degrees of freedom for each
      group but one). Strong against shifts and slopes.

    The p-value is twice the smaller one (Bonferroni). Asymptotic: groups of few events or non-events are left out.

    Parameters
    ----------
    sample : Sample
    by : str, or mapping of one name to values
        A variable of the sample, or a column with one value for each row.
    lens : Lens, optional
        Looked through first; it must leave two outcomes.
    binning : Binning
        How a number is cut; one with at most ten distinct values is not.
    min_size : int
        Groups with fewer rows are left out.
    min_expected : float
        So are groups in which fewer events, or non-events, are expected: what happens in all rows of the same
        prediction (a spline), summed over the group.
    missing : {"raise", "level"}
    n_resamples : int
        Of the multipliers.
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
    _check_numbers(n_resamples, min_size, min_expected)
    lens = Canonical() if lens is None else check_lens(lens)
    variables, seen = look(sample, by, lens, binning, missing)
    levels = _the_one(variables)
    _check(seen, lens)
    kept, left_out = large_enough(levels, _expected(seen, levels), min_size, min_expected)
    event, happened, index = _rows_of(kept, seen, levels)
    value, covariance, each = _covariance(event, happened, index, n_resamples, as_generator(rng))
    ratio, freedom, regression = _regression(event, happened, index)
    return EqualCurvesTest(
        variable=levels.variable,
        groups=tuple(levels.names[code] for code in kept),
        sizes=tuple(np.bincount(index).tolist()),
        gaps=tuple(_gap(event, happened, index == g) for g in range(len(kept))),
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
    )


def _check_numbers(n_resamples: int, min_size: int, min_expected: float) -> None:
    at_least_one("n_resamples", n_resamples)
    at_least_one("min_size", min_size)
    check_number("min_expected", min_expected, "10")
    if not min_expected >= 0:
        raise ValueError(
            f"min_expected is {min_expected!r}; it must be a number of events, at least 0: for example 10."
        )


def _the_one(variables: list[Levels]) -> Levels:
    if len(variables) != 1:
        names = ", ".join(repr(each.variable) for each in variables)
        raise ValueError(
            f"by names {len(variables)} variables ({names}), but this test is of one; test each by itself."
        )
    return variables[0]


def _check(seen: Sample, lens: Lens) -> None:
    if seen.predictions.n_classes != 2:
        raise ValueError(
            f"equal_curves_test needs two outcomes, but {seen.predictions.n_classes} are seen through {lens!r}; look "
            "through TopLabel() or ClassWise(label)."
        )
    if seen.predictions.weights is not None:
        raise ValueError(
            "equal_curves_test has no weighted version: there is no theory for one; leave the weights out."
        )


def _expected(seen: Sample, levels: Levels) -> Floats:
    """Return how many events each group would have if as much happened in it as in all rows of the same prediction."""
    event, happened = seen.predictions.event, seen.outcomes.astype(float)
    fitted = happened - residuals(spline_basis(event, n_knots(len(event))), happened)
    expected: Floats = np.bincount(levels.index, fitted, minlength=levels.size).astype(float)
    return expected


def _rows_of(kept: Ints, seen: Sample, levels: Levels) -> tuple[Floats, Floats, Ints]:
    """Return prediction, outcome and number of the group, from 0, of the rows in the groups that are compared."""
    rows = np.flatnonzero(np.isin(levels.index, kept))
    index: Ints = np.searchsorted(kept, levels.index[rows])
    return seen.predictions.event[rows], seen.outcomes[rows].astype(float), index


def _covariance(
    event: Floats, happened: Floats, index: Ints, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float, Floats]:
    """Return the largest cumulated covariance, its p-value, and the p-value of each group, adjusted."""
    order = np.argsort(event, kind="stable")
    event, happened, index = event[order], happened[order], index[order]
    basis = spline_basis(event, n_knots(len(event)))
    n_groups = int(index.max()) + 1
    member = (index[:, None] == np.arange(n_groups)).astype(float)
    product = residuals(basis, happened)[:, None] * residuals(basis, member)
    stops = np.append(np.flatnonzero(np.diff(event) > 0), len(event) - 1)
    centred = product - product.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    scale = np.where(scale > 1e-12, scale, np.inf)
    # With two groups the second one is the first, negated.
    used = range(1 if n_groups == 2 else n_groups)
    values = np.array([_range(product[None, :, g], stops)[0] / scale[g] for g in used])
    drawn = []
    for stream, size, kept in blocks(n_resamples, len(event), rng):
        noise = stream.standard_normal((size, len(event)))[:kept]
        drawn.append(np.stack([_range(noise * centred[:, g], stops) / scale[g] for g in used], axis=-1))
    draws = np.concatenate(drawn)
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
    basis = spline_basis(event, min(_KNOTS_OF_REGRESSION, n_knots(len(event))))
    slope = logits(event)
    member = (index[:, None] == np.arange(1, int(index.max()) + 1)).astype(float)
    whole, _ = orthonormal(np.column_stack([basis, member, member * slope[:, None]]))
    whole = whole[:, whole.any(axis=0)]
    freedom = whole.shape[1] - basis.shape[1]
    gain = maximal_log_likelihood(whole, happened) - maximal_log_likelihood(whole[:, : basis.shape[1]], happened)
    ratio = max(0.0, 2 * gain)
    return ratio, freedom, float(chdtrc(freedom, ratio)) if freedom else 1.0


def _gap(event: Floats, happened: Floats, member: Floats) -> float:
    """Return how much more happens in a group than in all rows of the same prediction, on average."""
    basis = spline_basis(event, n_knots(len(event)))
    return float(residuals(basis, happened)[member].mean())
