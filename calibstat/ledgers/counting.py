"""Counts rows in fine steps of the prediction: sums in arrays, of which a table keeps the lines that occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from calibstat.data.arrays import Array, Ints
from calibstat.data.sample import Predictions, Sample
from calibstat.ledgers.steps import COUNTS, HALVINGS, STEPS, SUMS, middle_of, step_of, terms_of
from calibstat.ledgers.table import TAKEN, grouped

if TYPE_CHECKING:
    import pandas as pd

_FIRST: Final = -HALVINGS - 1
_WIDTH: Final = 2 * (STEPS - _FIRST) + 1
# Up to so many lines sums are kept in arrays that have a place for each; else lines that occur are numbered first.
_MOST_PLACES: Final = 1 << 22
# So many rows are counted at a time: what is computed of them stays near the processor.
_AT_A_TIME: Final = 1 << 15


def count_rows(lens: str, sample: Sample, by: Sequence[str]) -> pd.DataFrame:
    """Count and add up the rows of a sample of two outcomes."""
    import pandas as pd

    predictions, outcomes = sample.predictions, sample.outcomes
    event, groups = predictions.event, _groups(predictions, by)
    place, numbered = np.empty(len(event), np.intp), None
    for start in range(0, len(event), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        place[part] = step_of(event[part]) - _FIRST
        if groups is not None:
            place[part] += _WIDTH * groups.number[part]
    n_places = _WIDTH * (1 if groups is None else len(groups.first))
    if n_places > max(_MOST_PLACES, len(event)):
        numbered, place = np.unique(place, return_inverse=True)
        n_places = len(numbered)
    sums = _sums(event, outcomes, place, n_places, numbered)
    found = np.flatnonzero(sums[0])
    group, step = np.divmod(found if numbered is None else numbered[found], _WIDTH)
    columns: dict[str, Any] = {"lens": lens}
    if groups is not None:
        columns |= {name: grouped(predictions.variables[name].take(groups.first[group])) for name in by}
    columns["step"] = step + _FIRST
    columns |= {name: sums[k][found].astype(np.int64) for k, name in enumerate(COUNTS)}
    columns |= {name: sums[k][found] for k, name in enumerate(SUMS, start=len(COUNTS))}
    return pd.DataFrame(columns, index=np.arange(len(found)))


def _sums(event: Array, outcomes: Ints, place: Ints, n_places: int, numbered: Ints | None) -> Array:
    """Return rows, events and the sums of a ledger in each place (7, places)."""
    sums = np.zeros((len(COUNTS) + len(SUMS), n_places))
    every = np.arange(n_places) if numbered is None else numbered
    middle = middle_of(every % _WIDTH + _FIRST)
    for start in range(0, len(event), max(_AT_A_TIME, n_places)):
        part = slice(start, start + max(_AT_A_TIME, n_places))
        here, happened = place[part], outcomes[part].astype(float)
        for total, term in zip(sums, terms_of(event[part] - middle[here], happened), strict=True):
            total += np.bincount(here, weights=term, minlength=n_places)
    return sums


class _Groups:
    """For each row the number of its group, and for each group its first row."""

    def __init__(self, columns: Sequence[Array]) -> None:
        number: Any = 0
        for values in columns:
            found, code = np.unique(values, return_inverse=True)
            number = code + len(found) * number
        _, self.first, self.number = np.unique(number, return_index=True, return_inverse=True)


def _groups(predictions: Predictions, by: Sequence[str]) -> _Groups | None:
    for name in by:
        if name not in predictions.variables:
            raise ValueError(f"the sample has no variable {name!r}; it has {tuple(predictions.variables)!r}")
        if name in TAKEN:
            raise ValueError(f"a variable has the name {name!r}, which a ledger uses itself: rename it")
    return _Groups([predictions.variables[name].values for name in by]) if by else None
