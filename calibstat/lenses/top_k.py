"""The k most probable classes, in order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.checks import at_least_one
from calibstat.lenses.base import Lens, View
from calibstat.lenses.codes import Ranked
from calibstat.predictions import Predictions

# Numbers that are looked at together, so that they stay in the cache; one maximum needs no copy of the rows, and then
# these are at least so many.
_NUMBERS, _ROWS = 2**16, 128
# Up to so many largest entries are searched for one by one, which is faster than a sort.
_SEARCHES = 8


@final
@dataclass(frozen=True)
class TopK(Lens):
    """At which rank among the k most probable classes is the outcome? (Vaicenavicius et al. 2019, Section 3).

    Code j >= 1 is "the j-th most probable class happened", code 0 "none of the k"; so ``TopK(1)`` asks what
    `TopLabel` asks. Among equal probabilities the class that comes first is the more probable.

    Parameters
    ----------
    k : int
        1 <= k < number of classes.

    Raises
    ------
    ValueError
        On looking, if there are not more than `k` classes.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 2], [[0.1, 0.3, 0.6], [0.2, 0.5, 0.3]])
    >>> cs.TopK(2)(sample).outcomes
    array([0, 2])
    """

    k: int

    def __post_init__(self) -> None:
        at_least_one("k", self.k)

    def look(self, predictions: Predictions) -> View:
        """Rank the classes of each row, keep the k largest probabilities and what remains."""
        return look_at_top(self, self.k, predictions)


def look_at_top(lens: Lens, k: int, predictions: Predictions) -> View:
    """See predictions through their `k` largest probabilities; `lens` is named in errors."""
    if predictions.seen:
        raise ValueError(
            f"{lens!r}: this sample has already been seen through {predictions.seen}, the other classes are not "
            "known any more. Leave the lens out: the sample is binary and says whether the top label was right."
        )
    if k >= predictions.n_classes:
        raise ValueError(
            f"{lens!r} needs more than {k} classes, found {predictions.n_classes}; take k < {predictions.n_classes}."
        )
    # only sums need double precision
    columns, largest = _largest_of_rows(predictions.rows if k == 1 else predictions.probabilities, k)
    induced = np.empty((len(predictions), k + 1), order="F" if k == 1 else "C")
    induced[:, 1:] = largest
    total = 1.0 if k == 1 else predictions.probabilities.sum(axis=1)
    induced[:, 0] = total - largest.sum(axis=1)
    names = ("other", "top") if k == 1 else ("other", *(f"top {j}" for j in range(1, k + 1)))
    codes = Ranked(columns, predictions.n_classes)
    return View(replace(predictions, probabilities=induced, classes=names), codes)


def _largest_of_rows(rows: Array, k: int) -> tuple[Ints, Floats]:
    """Return the columns (n, k) of the k largest entries of each row and these, in one pass: some rows at a time."""
    rows, (n, n_classes) = _marked_writeable(rows), rows.shape
    columns, largest = np.empty((n, k), dtype=np.intp), np.empty((n, k))
    step = max(_ROWS if k == 1 else 1, _NUMBERS // n_classes)
    each = np.arange(step)[:, None]
    for start in range(0, n, step):
        block = rows[start : start + step]
        found = _largest(block, k)
        columns[start : start + step] = found
        largest[start : start + step] = block[each[: len(block)], found]
    return columns, largest


def _marked_writeable(rows: Array) -> Array:
    """Return the same memory, marked writeable if its owner is: nothing is written, but argmax copies what is not."""
    marked = rows.view()
    with suppress(ValueError):
        marked.setflags(write=True)
    return marked


def _largest(rows: Array, k: int) -> Ints:
    """Return the columns of the k largest entries of each row, the first of equal ones first."""
    if k > _SEARCHES:
        return np.argsort(-rows, axis=1, kind="stable")[:, :k]
    if k == 1:
        return rows.argmax(axis=1)[:, None]
    left, each, columns = rows.copy(), np.arange(len(rows)), []
    for _ in range(k):
        columns.append(left.argmax(axis=1))
        left[each, columns[-1]] = -np.inf
    return np.stack(columns, axis=1)
