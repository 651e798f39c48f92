"""Several statistics at once: what makes them comparable, and how their p-values are corrected for having several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import Any, Final, Literal, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.data.arrays import Floats
from calibstat.data.parameters import LEVEL, MOST_DRAWS, numbers
from calibstat.data.rounding import ROUNDING, rounded_up
from calibstat.nulls.base import Null, monte_carlo_pvalue, tie_slack, typical_size


def holm(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that rejecting where one is at most alpha errs with probability at most alpha (Holm 1979).

    Valid whatever the dependence between the tests.

    Parameters
    ----------
    pvalues : (m,) floats

    Returns
    -------
    adjusted : (m,) floats
        In the order of `pvalues`; never smaller than these.

    Raises
    ------
    ValueError
        If these are not numbers from 0 to 1 in one row.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = _checked_pvalues(pvalues)
    order, adjusted = np.argsort(values, kind="stable"), np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return np.minimum(adjusted, 1.0)


def benjamini_hochberg(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that of those at most alpha a share of at most alpha is expected to be false discoveries.

    Valid for independent and for positively dependent tests (Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001).

    Parameters
    ----------
    pvalues : (m,) floats

    Returns
    -------
    adjusted : (m,) floats
        In the order of `pvalues`; never smaller than these.

    Raises
    ------
    ValueError
        If these are not numbers from 0 to 1 in one row.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    return _false_discoveries(pvalues, any_dependence=False)


def benjamini_yekutieli(pvalues: ArrayLike) -> Floats:
    """Adjust p-values for the share of false discoveries, whatever the dependence between the tests.

    Larger than those of `benjamini_hochberg` by the factor 1 + 1/2 + ... + 1/m (Benjamini & Yekutieli 2001).

    Parameters
    ----------
    pvalues : (m,) floats

    Returns
    -------
    adjusted : (m,) floats
        In the order of `pvalues`; never smaller than these.

    Raises
    ------
    ValueError
        If these are not numbers from 0 to 1 in one row.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4)
    array([0.055 , 0.0733, 0.0733])
    """
    return _false_discoveries(pvalues, any_dependence=True)


def single_step(values: ArrayLike, draws: ArrayLike) -> Floats:
    """Adjust by the largest of all values: how often is the largest of a joint draw at least as large as this value?

    With draws that are exchangeable with the data when all hypotheses hold (labels drawn anew together), the
    probability that any adjusted p-value is at most alpha is then at most alpha, for every number of draws and
    whatever the dependence (Westfall & Young 1993).

    Parameters
    ----------
    values : (m,) floats
        Larger is more evidence; of comparable size (standardised), or the noisiest decides.
    draws : (R, m) floats
        The same under the null, all columns from the same draw; NaN counts as the weakest evidence.

    Returns
    -------
    adjusted : (m,) floats
        (1 + number of draws whose maximum reaches the value) / (1 + R).

    Raises
    ------
    ValueError
        If the shapes are not (m,) and (R, m) with R at least 1, or a value is NaN. Where it depends on the labels
        whether there is a value, give -inf: left out with its draws, the test of the others would not be exact.

    Examples
    --------
    >>> single_step([3.0, 1.5], [[1.0, 2.0], [0.5, 1.0], [1.2, 0.3]])
    array([0.25, 0.5 ])
    >>> single_step([3.0, float("-inf")], [[1.0, 2.0], [0.5, 3.0], [1.2, 0.3]])
    array([0.5, 1. ])
    """
    found, drawn = _joint(values, draws)
    if not found.size:
        return found
    return _shares_reached(found, drawn.max(axis=1))


def step_down(values: ArrayLike, draws: ArrayLike) -> Floats:
    """Adjust the largest value by the maximum of all, the next by that of the rest, and so on (Westfall & Young 1993).

    Never larger than `single_step`. The adjusted p-values are made monotone. The probability that any *true*
    hypothesis gets one of at most alpha is at most alpha where the values of true hypotheses have the same joint law
    as in the draws, whether others are true or not (disjoint groups); for overlapping groups it is so when all
    hypotheses hold.

    Parameters
    ----------
    values : (m,) floats
        Larger is more evidence; of comparable size (standardised).
    draws : (R, m) floats
        The same under the null, all columns from the same draw; NaN counts as the weakest evidence.

    Returns
    -------
    adjusted : (m,) floats
        In the order of `values`.

    Raises
    ------
    ValueError
        If the shapes are not (m,) and (R, m) with R at least 1, or a value is NaN, as in `single_step`.

    Examples
    --------
    >>> step_down([3.0, 1.5], [[1.0, 2.0], [0.5, 1.0], [1.2, 0.3]])
    array([0.25, 0.5 ])
    >>> step_down([3.0, 1.5], [[2.0, 1.0], [0.5, 1.0], [1.2, 0.3]])
    array([0.25, 0.25])
    """
    found, drawn = _joint(values, draws)
    if not found.size:
        return found
    order = np.argsort(-found, kind="stable")
    # Column k: the maximum over the k-th largest value's column and those of all smaller values.
    rest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
    each = np.array([_shares_reached(found[[j]], rest[:, k])[0] for k, j in enumerate(order)])
    adjusted = np.empty_like(found)
    adjusted[order] = np.maximum.accumulate(each)
    return adjusted


def holm_of_pairs(pvalues: ArrayLike, own: ArrayLike, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Adjust the p-values of pairs of m things, each of which has a p-value of its own, step by step (Holm 1979).

    The null of a pair is that both are null by themselves, so that the p-values of their own hold, or else that the
    p-value of the pair holds. Of m things at most m are null, though they form many pairs: so while k pairs are left
    an own p-value counts m times, not 2 k times as in Holm's method for pairs alone, and the pairs that are left share
    what c things that are null by themselves leave of the level, whatever c (sequential rejection, Goeman & Solari
    2010).

    Parameters
    ----------
    pvalues : (k,) floats
        Of each pair, valid unless both are null by themselves.
    own : (m,) floats
        Of each thing by itself.
    pairs : sequence of (int, int)
        All pairs of the m things.

    Returns
    -------
    adjusted : (k,) floats
        The probability that one of at most alpha belongs to a pair whose null is true is at most alpha.

    Examples
    --------
    >>> holm_of_pairs([0.001, 0.002, 0.5], [0.4, 0.01, 0.3], [(0, 1), (1, 2), (0, 2)])
    array([0.03, 0.03, 0.6 ])
    """
    single, alone = np.asarray(pvalues, dtype=float), np.asarray(own, dtype=float)
    smaller = np.array([min(alone[a], alone[b]) for a, b in pairs])
    left, worst, adjusted = [*range(len(pairs))], 0.0, np.ones(len(pairs))
    while left:
        of_own, of_pairs = factors_of_pairs(len(left), len(alone))
        weighed = np.maximum(of_own * smaller[left], of_pairs * single[left])
        first = int(weighed.argmin())
        worst = max(worst, float(weighed[first]))
        adjusted[left.pop(first)] = min(1.0, worst)
    return adjusted


def factors_of_pairs(left: int, m: int) -> tuple[float, float]:
    """Return how many times own p-values and those of pairs count while so many pairs of m things are left.

    If c things are null by themselves, c / (first factor) + (other pairs) / (second factor) is at most one.

    >>> factors_of_pairs(28, 8), factors_of_pairs(3, 8)
    ((8, 28), (6, 3))
    """
    if 2 * left <= m:
        return 2 * left, left
    shared = (min(left - comb(c, 2), comb(m - c, 2)) * m / (m - c) for c in range(2, m - 1))
    return m, max(left, *shared, 0)


def least_factor_of_pairs(m: int, adjust: str) -> float:
    """Return the smallest adjusted p-value that R draws can give to a pair of m things, times 1 + R."""
    return max(factors_of_pairs(comb(m, 2), m)) if adjust == "holm" else 2 * least_factor(adjust, comb(m, 2))


def _false_discoveries(pvalues: ArrayLike, any_dependence: bool) -> Floats:
    values = _checked_pvalues(pvalues)
    order, adjusted = np.argsort(values, kind="stable"), np.empty(len(values))
    ranks = np.arange(1, len(values) + 1)
    factors = len(values) / ranks * (np.sum(1 / ranks) if any_dependence else 1.0)
    adjusted[order] = np.minimum.accumulate((values[order] * factors)[::-1])[::-1]
    return np.minimum(adjusted, 1.0)


def _checked_pvalues(pvalues: ArrayLike) -> Floats:
    """Return p-values as a new row of floats, and refuse what is none."""
    values = np.array(numbers("pvalues", pvalues, None))
    if values.ndim != 1:
        raise ValueError(
            f"pvalues have shape {values.shape}, but one row of them is expected, (m,): for example [0.01]."
        )
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        raise ValueError(
            f"a p-value is {values[wrong[0]]} (at position {wrong[0]}), but p-values lie between 0 and 1; leave out "
            "tests without one."
        )
    return values


def _joint(values: ArrayLike, draws: ArrayLike) -> tuple[Floats, Floats]:
    """Check shapes, and refuse values that are NaN; in draws NaN becomes the weakest evidence."""
    found, drawn = (np.array(numbers(*each, None)) for each in (("values", values), ("draws", draws)))
    if found.ndim != 1 or drawn.ndim != 2 or drawn.shape[1] != len(found) or not len(drawn):
        raise ValueError(
            f"values have shape {found.shape} and draws {drawn.shape}; expected (m,) and (R, m) with R at least 1."
        )
    if np.isnan(found).any():
        raise ValueError(
            f"a value is nan (at position {np.isnan(found).argmax()}), but numbers are expected; leave out tests "
            "without one, or give -inf, the weakest evidence, where their draws must count."
        )
    return found, _weakest_if_unknown(drawn)


def _weakest_if_unknown(evidence: Floats) -> Floats:
    return np.where(np.isnan(evidence), -np.inf, evidence)


def _shares_reached(values: Floats, drawn: Floats) -> Floats:
    """Return the p-value of each value among the same draws (R,), ties included."""
    ordered = np.sort(drawn)
    reached = np.searchsorted(ordered, values - tie_slack(values, typical_size(drawn)), side="left")
    return monte_carlo_pvalue((len(drawn) - reached).astype(float), len(drawn))


class Standardization(ABC):
    """A way to make statistics of different size and noise comparable before the largest of them counts.

    It is given the data and the draws together, and treats all of these sets alike, so that they stay exchangeable:
    the p-values of `single_step` are then exact at every n and for every number of draws.
    """

    @abstractmethod
    def __call__(self, evidence: Floats) -> Floats:
        """Return comparable evidence: from (1 + R, J), the data first, to the same shape."""


@final
@dataclass(frozen=True)
class ByMoments(Standardization):
    """In standard deviations above the mean of each statistic, of data and draws together: the default everywhere.

    What does not vary is no evidence. Against ranks it loses nothing where the draws are many, and with few draws it
    finds more, since it tells apart the sets in which some statistic is the largest of all.
    """

    def __call__(self, evidence: Floats) -> Floats:
        """Subtract the mean of each column and divide by its standard deviation."""
        centre, deviation = moments(evidence)
        known = np.isfinite(evidence)
        largest = np.where(known, np.abs(evidence), 0.0).max(axis=0, initial=0.0)
        varies = deviation > ROUNDING * largest
        return np.where(varies, (evidence - centre) / np.where(varies, deviation, 1.0), np.where(known, 0.0, evidence))


@final
@dataclass(frozen=True)
class ByRanks(Standardization):
    """By the p-value of each statistic among all sets (min-p, Westfall & Young 1993; Ge, Dudoit & Speed 2003).

    With R draws of J statistics the smallest joint p-value may be J / (1 + R): take many draws.
    """

    def __call__(self, evidence: Floats) -> Floats:
        """Return minus the share of the sets, each itself included, with at least as strong evidence."""
        return np.stack([-_shares_of_all(column) for column in evidence.T], axis=-1)


@final
@dataclass(frozen=True)
class AsMeasured(Standardization):
    """Not at all, for statistics of one kind and of equal noise; otherwise the noisiest decides."""

    def __call__(self, evidence: Floats) -> Floats:
        """Return the evidence as it is."""
        return evidence


STANDARDIZATIONS: Final[dict[str, Standardization]] = {"moments": ByMoments(), "ranks": ByRanks(), "none": AsMeasured()}
Standardize: TypeAlias = Literal["moments", "ranks", "none"]


def moments(evidence: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of each column (R, J), over what is finite."""
    known = np.isfinite(evidence)
    count = np.maximum(known.sum(axis=0), 1)
    size = np.where(known, np.abs(evidence), 0.0).max(axis=0, initial=0.0)
    # Sums of large numbers, and of their squares, may be infinite; those of shares of a power of two are not.
    unit = 2.0 ** np.floor(np.log2(np.where(size > 0, size, 1.0)))
    shares = np.where(known, evidence, 0.0) / unit
    centre = shares.sum(axis=0) / count
    return centre * unit, np.sqrt(np.where(known, (shares - centre) ** 2, 0.0).sum(axis=0) / count) * unit


def _shares_of_all(column: Floats) -> Floats:
    """Return the share of sets (1 + R,) with at least as strong evidence as each; NaN where there is none."""
    known = np.where(np.isnan(column), -np.inf, column)
    reached = np.searchsorted(np.sort(known), known - tie_slack(known, typical_size(known)), side="left")
    return np.where(np.isnan(column), np.nan, 1 - reached / len(column))


Adjust: TypeAlias = Literal["max-t", "step-down", "holm", "fdr_bh", "fdr_by"]
ADJUSTMENTS: Final[dict[str, str]] = {
    "max-t": "by the maximum over all, on the same draws (max-T, single step; Westfall & Young 1993)",
    "step-down": "by the maximum over those not yet rejected, on the same draws (max-T, step-down)",
    "holm": "by Holm's method",
    "fdr_bh": "by Benjamini and Hochberg's method (share of false discoveries, for positive dependence)",
    "fdr_by": "by Benjamini and Yekutieli's method (share of false discoveries, for any dependence)",
}
_ON_DRAWS: dict[str, Callable[[ArrayLike, ArrayLike], Floats]] = {"max-t": single_step, "step-down": step_down}
_ON_PVALUES: dict[str, Callable[[ArrayLike], Floats]] = {
    "holm": holm,
    "fdr_bh": benjamini_hochberg,
    "fdr_by": benjamini_yekutieli,
}


@final
@dataclass(frozen=True, eq=False)
class JointTest:
    """What draws say of each of J statistics, and of all together; NaN where there is no value.

    `standardized` (J,) is the evidence as it was made comparable; `pvalues` (J,) are of each by itself, `adjusted` (J,)
    for all. `pvalue` is of all together: by default the smallest one adjusted by the maximum over all.
    """

    standardized: Floats
    pvalues: Floats
    pvalues_adjusted: Floats
    pvalue: float


def _cauchy(pvalues: Floats) -> Floats:
    return np.tan((0.5 - pvalues) * np.pi).mean(axis=-1)


def _fisher(pvalues: Floats) -> Floats:
    return -2 * np.log(pvalues).sum(axis=-1)


def _truncated(pvalues: Floats) -> Floats:
    return -2 * np.where(pvalues <= LEVEL, np.log(pvalues), 0.0).sum(axis=-1)


Combine: TypeAlias = Literal["max-t", "cauchy", "fisher", "truncated"]
COMBINATIONS: Final[dict[str, str]] = {
    "max-t": "the strongest of several statistics",
    "cauchy": "the mean of Cauchy quantiles of the p-values (Liu & Xie 2020)",
    "fisher": "the product of the p-values (Fisher 1932)",
    "truncated": "the product of the p-values of at most 5 % (Zaykin et al. 2002)",
}
_OF_PVALUES: dict[str, Callable[[Floats], Floats]] = {"cauchy": _cauchy, "fisher": _fisher, "truncated": _truncated}


def combined_pvalue(sets: Floats, combine: str) -> float:
    """Return the p-value of p-values combined, from evidence (1 + R, J) with the data first.

    Each set has a p-value of each statistic among all sets, less half a set so that none is 1, and its combination is
    compared with those of all others: exact, however the statistics depend on each other.
    """
    pvalues = np.stack([_shares_of_all(column) for column in sets.T], axis=-1) - 0.5 / len(sets)
    found = _OF_PVALUES[combine](pvalues)
    return float(single_step(found[:1], found[1:, None])[0])


def joint_only(why: str) -> dict[str, str]:
    """Say why methods that need joint draws are missing in a verb, for `check_choices`."""
    return dict.fromkeys(_ON_DRAWS, why)


def check_choices(
    adjust: str, standardize: str = "moments", missing: Mapping[str, str] | None = None, combine: str = "max-t"
) -> None:
    """Refuse the name of a method that there is not, or that is `missing` in a verb, which says why."""
    missing = missing or {}
    choices = (("adjust", adjust, ADJUSTMENTS), ("standardize", standardize, STANDARDIZATIONS))
    for name, value, known in (*choices, ("combine", combine, COMBINATIONS)):
        if value not in known:
            offered = ", ".join(repr(each) for each in known if each not in missing)
            raise ValueError(f"{name} is {value!r}; it must be one of {offered}.")
    if adjust in missing:
        offered = " or ".join(repr(each) for each in ADJUSTMENTS if each not in missing)
        raise ValueError(f"adjust is {adjust!r}, but {missing[adjust]}: take {offered}.")


def adjust_pvalues(pvalues: ArrayLike, adjust: str) -> Floats:
    """Adjust p-values by a method that needs nothing else: "holm", "fdr_bh" or "fdr_by"."""
    return _ON_PVALUES[adjust](pvalues)


# Redraws so few that no adjusted p-value could reach the level: the text begins with that, or more are drawn.

_Null = TypeVar("_Null", bound=Null)
LITTLE: Final = 2 * 10**8
"""More redraws cost little up to so many evaluated labels (rows x redraws x tests): some five seconds."""


_TIMES_AS_LONG: Final = 4
"""So much longer than was asked for may tests take by themselves, whatever they cost, where none could reject."""


def least_factor(adjust: str, m: int) -> float:
    """Return the smallest adjusted p-value that R draws can give to any of m tests, times 1 + R."""
    return 1.0 if adjust in _ON_DRAWS or not m else float(adjust_pvalues(np.full(m, 1e-9), adjust).min() * 1e9)


def enough_redraws(asked: int, factor: float, level: float, size: int) -> int:
    """Return how many redraws to take: as asked, or more where no test could reject with these and more cost little.

    The smallest adjusted p-value of R redraws is ``factor / (1 + R)``. Where that is above the level, five times as
    many are taken as reach the level, or as many as reach it, or else as asked: the first of these with which `size`,
    rows times tests, times their number is at most `LITTLE`, or takes at most four times as long as was asked for.

    >>> [enough_redraws(999, 60, 0.05, 60 * n) for n in (500, 2000, 10**6)], enough_redraws(19, 1, 0.05, 500)
    ([5999, 1199, 1199], 19)
    >>> enough_redraws(999, 600, 0.05, 600 * 10**6)
    999
    """
    reaches, most = rounded_up(factor / level), max(LITTLE, _TIMES_AS_LONG * (1 + asked) * size)
    little = [each for each in (5 * reaches, reaches) if each * size <= most]
    return little[0] - 1 if little and reaches > 1 + asked else asked


def with_enough(null: _Null, asked: Any, m: int, adjust: str, level: float, n: int) -> tuple[_Null, tuple[str, ...]]:
    """Return a null that draws enough for m tests of n rows by `enough_redraws`, with a note that says so.

    What was `asked` for stays as it is where it is an object, which says how often it draws.
    """
    if isinstance(asked, Null) or null.n_resamples is None:
        return null, ()
    taken = enough_redraws(null.n_resamples, least_factor(adjust, m), level, m * n)
    more: Any = null
    return (
        (null, ())
        if taken == null.n_resamples
        else (replace(more, n_resamples=taken), more_note(taken, null.n_resamples, level))
    )


def more_note(taken: int, asked: int, level: float) -> tuple[str, ...]:
    """Say how many redraws were taken, if these are more than were asked for."""
    few = f"since with {asked} no adjusted p-value could be at most {percent(level)}, whatever the data"
    return () if taken == asked else (f"{taken} redraws were taken, {few}",)


def cannot_reject(n_resamples: int, factor: float, level: float) -> str:
    """Return the headline of tests none of which could reject, whatever the data; "" where one could.

    >>> cannot_reject(19, 12, 0.05)
    'No test could reject at 5 %, whatever the data: with 19 redraws the smallest possible p-value is 0.6 (at least \
239 redraws are needed).'
    """
    reaches = rounded_up(factor / level)
    if reaches <= 1 + n_resamples:
        return ""
    return (
        f"No test could reject at {percent(level)}, whatever the data: with {counted(n_resamples, 'redraw')} the "
        f"smallest possible p-value is {min(1.0, factor / (1 + n_resamples)):.2g} ({more_needed(reaches)})."
    )


def more_needed(reaches: int, order: bool = False) -> str:
    """Say how many redraws are needed for an inverse p-value, or what to do if these are too many to wait for."""
    if reaches - 1 <= MOST_DRAWS:
        return f"take at least {reaches - 1}" if order else f"at least {reaches - 1} redraws are needed"
    return "more redraws are needed than can be waited for; take a statistic whose p-value is computed, such as ECE()"


def joint_test(
    evidence: Floats,
    draws: Sequence[Floats],
    adjust: str = "max-t",
    standardize: str = "moments",
    combine: str = "max-t",
) -> JointTest:
    """Test several statistics on the same draws; where there are several kinds of draws, the larger p-value counts.

    Larger `evidence` (J,) is stronger, NaN where a statistic has no value; `draws` (R, J) of each kind are the same
    under the null, where NaN counts as the weakest evidence.
    """
    sets, known = [np.concatenate([evidence[None], each]) for each in draws], ~np.isnan(evidence)
    made_comparable = [STANDARDIZATIONS[standardize](each) for each in sets]
    # Without a value on these labels a statistic is the weakest evidence, so that data and draws stay exchangeable.
    alone, together = ([_weakest_if_unknown(each) for each in kind] for kind in (sets, made_comparable))
    pvalues = np.max([[single_step(c[:1], c[1:, None])[0] for c in each.T] for each in alone], axis=0)
    largest = np.max([single_step(each[0], each[1:]) for each in together], axis=0)
    if adjust in _ON_DRAWS:
        adjusted = np.max([_ON_DRAWS[adjust](each[0], each[1:]) for each in together], axis=0)
    else:  # a statistic without a value in any draw is left out
        possible = np.any([~np.isnan(each).all(axis=0) for each in sets], axis=0)
        adjusted = np.full(len(evidence), np.nan)
        adjusted[possible] = _ON_PVALUES[adjust](pvalues[possible])
    pvalue = float(largest[known].min()) if known.any() else np.nan
    if combine in _OF_PVALUES:
        pvalue = max(combined_pvalue(each, combine) for each in alone)
    pvalues, adjusted = (np.where(known, each, np.nan) for each in (pvalues, adjusted))
    return JointTest(made_comparable[0][0], pvalues, adjusted, pvalue)
