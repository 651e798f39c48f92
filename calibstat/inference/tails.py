"""What theory says of p-values below the smallest one that redraws can give: about how small they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from calibstat._lazy import special
from calibstat._text import counted
from calibstat.data.arrays import Floats, Ints
from calibstat.data.rounding import ROUNDING, SMALLEST_PVALUE
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, Evaluator, Headline, all_weights
from calibstat.inference.multiplicity import adjust_pvalues
from calibstat.inference.test import exact_law
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.linear import LinearSum, RowSums, SaddlepointSum

# A tail says more than another p-value where it is smaller by this factor.
_FAR = 0.1
# Of normal draws the mean fourth power is three times the squared variance.
_NEARLY_NORMAL = 3.5
# All signs of so many cells are enumerated.
_MOST_CELLS = 12


def of_labels(null: Null) -> bool:
    """Whether a null redraws labels and keeps predictions: the law of which tails are known."""
    return isinstance(null, Consistency) and not null.resample_predictions


def at_smallest(pvalues: ArrayLike, n_resamples: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each p-value is the smallest that so many redraws can give."""
    return np.asarray(pvalues) <= (1 + ROUNDING) / (1 + n_resamples)


def tail_of(estimator: Estimator, seen: Sample, value: float) -> float | None:
    r"""Return about how likely a calibrated model with these predictions gives such a value; None where unknown.

    It is computed exactly, or by a saddlepoint, where that is possible, and otherwise by the law of many rows, if that
    is of a walk of residuals (`walk_tail`). Other laws of many rows are too light far out: that of `CubicScore` gave
    p-values of at most 0.0001 in 0.5 to 1.5 percent of samples of calibrated models.
    """
    core, own = estimator.core, estimator.lens(seen)
    evaluator = Headline(core).prepare(own.predictions)
    law = exact_law(core, own, evaluator)
    if law is not None:
        return law.pvalue(value)
    return walk_tail(evaluator, value, lambda: _residual_sums(own.predictions))


def tail_beyond(core: Estimator, seen: Sample, value: float, n_resamples: int) -> float | None:
    """Return the tail of a value that no redraw reaches, if it says more than their number; else None."""
    found = tail_of(core, seen, value)
    return found if far_below(found, n_resamples) else None


def _residual_sums(predictions: Predictions) -> RowSums | None:
    found = LinearSum.of_residuals(predictions.event, all_weights(predictions, None), predictions.counts)
    return found.numbers if found.rows else None


def walk_tail(evaluator: Evaluator, value: float, residuals: Callable[[], RowSums | None]) -> float | None:
    r"""Return the tail of a walk of residuals by its law in many rows, where it is no rarer than sums of residuals are.

    Of few events the sum of residuals is farther from zero than the normal law says, and so are a walk's distances. So
    the normal exponent :math:`z^2 / 2` at the tail's normal score z is replaced by that of the sum of residuals, z of
    its standard deviations away from zero (Chernoff 1952), wherever that makes the tail larger.
    """
    law = evaluator.capabilities.law_of_walk
    if law is None:
        return None
    return _as_heavy_as(residuals(), min(max(law().survival(value), 0.0), 1.0))


def _as_heavy_as(sums: RowSums | None, tail: float) -> float:
    """Return a tail that is as heavy as that of a sum of residuals, as many standard deviations from zero."""
    if sums is None or not 0 < tail < 1:
        return tail
    z, law = -float(special.ndtri(tail / 2)), SaddlepointSum(sums, 0.0)
    return min(1.0, tail * math.exp(max(0.0, z * z / 2 - law.reach(z * law.deviation))))


def cells_tail(seen: Sample, cells: Ints, value: float, *, without_bias: bool = False) -> float | None:
    r"""Return about how likely the mean absolute error over cells (n,) of two outcomes is so large by chance.

    Of sums of residuals in cells, nearly normal and independent, the sum of absolute values is the largest of the sums
    with each choice of signs: the tails of all these are added up, which is nearly exact far out. The variance of a
    cell is the larger one of labels drawn from the predictions and of the residuals seen. `without_bias` is the mean
    residual of all rows taken off; then sums differ in their variance, and signs are enumerated. None for more
    outcomes, and without bias where there are too many cells for that.
    """
    size = int(cells.max()) + 1
    if seen.predictions.n_classes != 2 or (without_bias and size > _MOST_CELLS):
        return None
    event, mass = seen.predictions.event, all_weights(seen.predictions, None)
    squares = mass**2 / seen.predictions.multiplicity
    spread = ((squares * each) for each in (event * (1 - event), (seen.outcomes - event) ** 2))
    variances = np.maximum(*(np.bincount(cells, each, size) for each in spread))
    deviations, times = np.sqrt(variances.sum(keepdims=True)), 2.0 ** min(int(np.count_nonzero(variances)), 1000)
    if without_bias:
        signs = 2.0 * (np.arange(2**size)[:, None] >> np.arange(size) & 1) - 1
        signs = signs - signs @ np.bincount(cells, mass, size)[:, None] / mass.sum()
        deviations, times = np.sqrt(signs**2 @ variances), 1.0
    tails = special.ndtr(-value * mass.sum() / deviations[deviations > 0])
    return _as_heavy_as(_residual_sums(seen.predictions), min(1.0, times * float(tails.sum())))


def normal_tail(difference: float, noise: Floats) -> float | None:
    """Return the p-value by the normal law, where no noise (R,) reaches the difference; None if it looks not normal."""
    square = float(np.mean(noise**2))
    if np.abs(noise).max() >= abs(difference) or not 0 < np.mean(noise**4) <= _NEARLY_NORMAL * square**2:
        return None
    return float(2 * special.ndtr(-abs(difference) / np.sqrt(square)))


def far_below(tail: float | None, n_resamples: int) -> TypeGuard[float]:
    """Whether a tail says more than the smallest p-value of so many redraws."""
    return tail is not None and tail < _FAR / (1 + n_resamples)


def beyond(pvalues: ArrayLike, n_resamples: int, tail: Callable[[int], float | None]) -> tuple[float | None, ...]:
    """Return the tail of each of J p-values that is the smallest of so many redraws, if it says more; else None."""
    places = np.flatnonzero(at_smallest(pvalues, n_resamples))
    found = {int(place): tail(int(place)) for place in places}
    every = map(found.get, range(np.size(pvalues)))
    return tuple(each if far_below(each, n_resamples) else None for each in every)


def adjusted_tails(
    tails: Sequence[float | None], pvalues: ArrayLike, adjusted: ArrayLike, adjust: str
) -> tuple[float | None, ...]:
    """Return about how small each adjusted p-value is, where a tail is known and says more than it does.

    P-values by the maximum over all are bounded by the number of tests times the tail (Bonferroni), or by Holm's method
    where that is taken step by step.
    """
    known = np.array([np.nan if each is None else each for each in tails])
    single = np.where(np.isnan(known), np.asarray(pvalues, dtype=float), known)
    tested = ~np.isnan(single)
    found = np.full(len(single), np.nan)
    found[tested] = (
        single[tested] * tested.sum()
        if adjust == "max-t"
        else adjust_pvalues(single[tested], "holm" if adjust == "step-down" else adjust)
    )
    says_more = ~np.isnan(known) & (found < _FAR * np.asarray(adjusted))
    return tuple(float(each) if more else None for each, more in zip(found, says_more, strict=True))


def about_cells(tails: Sequence[float | None]) -> list[str]:
    """Write tails for a table, in a column whose name says that they are approximate; nothing where there is none.

    >>> about_cells([3.2e-9, 1e-40, None])
    ['3e-09', '< 1e-12', '']
    """
    return ["" if each is None else _size(each) for each in tails]


BESIDE = 'how small they are by theory is under "about"'


def about_detail(tails: Sequence[float | None]) -> list[tuple[str, str]]:
    """Say what the column of tails is, if there is one."""
    if all(each is None for each in tails):
        return []
    how = "computed, or by the law of a walk of many rows; adjusted by Bonferroni's method in place of a maximum"
    return [("about", f"how small adjusted p-values are that no redraw reaches: {how}, an approximation")]


def tail_note(n_resamples: int, pvalues: ArrayLike, tails: Sequence[float | None], about: str = "") -> tuple[str, ...]:
    """Say that p-values are the smallest of so many redraws, where some are, and how small they are by theory."""
    if not np.any(at_smallest(pvalues, n_resamples)):
        return ()
    smallest = f"{1 / (1 + n_resamples):.2g} is the smallest p-value that {counted(n_resamples, 'redraw')} can give"
    known = [each for each in tails if each is not None]
    if not known:
        return (smallest,)
    return (f"{smallest}; {about or f'by theory it is {tail_text(min(known))}'}",)


def pair_note(n_resamples: int, names: tuple[str, str], tail: float) -> str:
    """Say how small the p-value of a difference is that no redraw reaches."""
    smallest = f"{1 / (1 + n_resamples):.2g} is the smallest p-value that {counted(n_resamples, 'redraw')} can give"
    return f"{smallest}, before it is adjusted; by the normal law that of {' and '.join(names)} is {tail_text(tail)}"


def tail_text(tail: float) -> str:
    """Write a tail in a sentence.

    >>> tail_text(3.2e-9), tail_text(1e-40)
    ('about 3e-09', 'below about 1e-12')
    """
    return f"about {_size(tail)}" if tail > SMALLEST_PVALUE else f"below about {SMALLEST_PVALUE:g}"


def _size(tail: float) -> str:
    return f"{tail:.1g}" if tail > SMALLEST_PVALUE else f"< {SMALLEST_PVALUE:g}"
