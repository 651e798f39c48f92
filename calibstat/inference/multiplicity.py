"""Several p-values at once: corrections of p-values, and joint draws of standardised values."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calibstat.data.arrays import Floats
from calibstat.draws.ties import tie_slack, typical_size


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
    values = _checked(pvalues)
    if len(values) < 2:
        return values
    # statsmodels takes a second to import, and collects garbage in every call (30 to 100 ms): one call for a family.
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(values, method="holm")[1])


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
    return _false_discoveries(pvalues, "bh")


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
    return _false_discoveries(pvalues, "by")


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
        (1 + number of draws whose maximum reaches the value) / (1 + R); NaN where the value is. The draws of such a
        column count for the others all the same: left out, the test of these would not be exact where it depends on
        the labels whether a value can be had.

    Examples
    --------
    >>> single_step([3.0, 1.5], [[1.0, 2.0], [0.5, 1.0], [1.2, 0.3]])
    array([0.25, 0.5 ])
    >>> single_step([3.0, float("nan")], [[1.0, 2.0], [0.5, 3.0], [1.2, 0.3]])
    array([0.5, nan])
    """
    found, drawn = _joint(values, draws)
    if not found.size:
        return found
    largest = drawn.max(axis=1)
    return _unknown_as_nan(np.array([_share(value, largest) for value in found]), values)


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
        In the order of `values`; NaN where the value is, as in `single_step`.

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
    each = np.array([_share(found[j], rest[:, k]) for k, j in enumerate(order)])
    adjusted = np.empty_like(found)
    adjusted[order] = np.maximum.accumulate(each)
    return _unknown_as_nan(adjusted, values)


def _false_discoveries(pvalues: ArrayLike, method: Literal["bh", "by"]) -> Floats:
    values = _checked(pvalues)
    if len(values) < 2:
        return values
    # scipy.stats takes half a second to import.
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(values, method=method))


def _checked(pvalues: ArrayLike) -> Floats:
    """Return p-values as a new row of floats, and refuse what is none."""
    values = np.array(pvalues, dtype=float)
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
    """Check shapes; NaN becomes the weakest evidence, in data and draws alike, so that they stay exchangeable."""
    found, drawn = np.array(values, dtype=float), np.array(draws, dtype=float)
    if found.ndim != 1 or drawn.ndim != 2 or drawn.shape[1] != len(found) or not len(drawn):
        raise ValueError(
            f"values have shape {found.shape} and draws {drawn.shape}; expected (m,) and (R, m) with R at least 1."
        )
    found[np.isnan(found)] = -np.inf
    drawn[np.isnan(drawn)] = -np.inf
    return found, drawn


def _unknown_as_nan(adjusted: Floats, values: ArrayLike) -> Floats:
    """What has no value has no p-value."""
    return np.where(np.isnan(np.asarray(values, dtype=float)), np.nan, adjusted)


def _share(value: float, drawn: Floats) -> float:
    """Count the draws that reach a value, ties included, the data being one of the R + 1 sets."""
    slack = tie_slack(float(value), typical_size(drawn))
    return (1 + int(np.count_nonzero(drawn >= value - slack))) / (1 + len(drawn))
