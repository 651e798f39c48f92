"""Sums of powers of the predictions in cells: all that draws of whole cells need to know of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints

# Rows that are added up at once, so that they stay in the cache.
_ROWS = 2**14


@final
@dataclass(frozen=True, eq=False)
class PowerSums:
    """Sums over rows of p^j and of p^j c, j = 0, ..., `degree` (prediction p, chance c).

    Parameters
    ----------
    values : (k, ...) floats
        Of 1, c, p, p c, p^2, p^2 c, ...; where c is p, of 1, p, p^2, ... once.
    same : bool
        Whether c is p.
    """

    values: Floats
    same: bool

    @property
    def degree(self) -> int:
        """The highest power whose sums are known with and without the chance."""
        return len(self.values) - 2 if self.same else len(self.values) // 2 - 1

    def total(self, power: int) -> Floats:
        """Return the sums of p^power."""
        return self.values[power if self.same else 2 * power]

    def of_events(self, power: int) -> Floats:
        """Return the sums of p^power c."""
        return self.values[power + 1 if self.same else 2 * power + 1]


def degree_for(squares: bool) -> int:
    """Return the highest power that is needed: the second for sums of predictions, the fourth for squared residuals."""
    return 4 if squares else 2


def power_terms(prediction: Floats, chance: Array | None, degree: int) -> list[Floats]:
    """Return what `PowerSums` adds up besides the number of rows; without a chance, powers alone."""
    if chance is None or chance is prediction:
        powers = [prediction]
        for _ in range(degree - (chance is None)):
            powers.append(powers[-1] * prediction)
        return powers
    found = [chance]
    power = prediction
    for step in range(degree):
        power = power * prediction if step else prediction
        found += [power, power * chance]
    return found


def add_up(index: Ints, size: int, prediction: Floats, chance: Array | None, degree: int) -> PowerSums:
    """Add up the rows of each cell (L,); `chance` may be `prediction` itself, or None for powers alone."""
    return PowerSums(
        np.concatenate(
            [np.bincount(index, minlength=size)[None], add_up_terms(index, size, prediction, chance, degree)]
        ),
        chance is prediction,
    )


def add_up_terms(
    index: Ints,
    size: int,
    prediction: Floats,
    chance: Array | None,
    degree: int,
    prediction_sums: Floats | None = None,
) -> Floats:
    """Return the sums of `power_terms` of each cell, (k - 1, L), some rows at a time; those of p may be known."""
    sums: list[Floats] = []
    known = 0 if chance is None or chance is prediction else 1
    for start in range(0, max(len(index), 1), _ROWS):
        rows = slice(start, start + _ROWS)
        p = prediction[rows]
        c = None if chance is None else p if chance is prediction else chance[rows]
        terms = power_terms(p, c, degree)
        if prediction_sums is not None:
            del terms[known]
        sums.append(np.stack([np.bincount(index[rows], term, minlength=size) for term in terms]))
    total: Floats = np.sum(sums, axis=0)
    return total if prediction_sums is None else np.insert(total, known, prediction_sums, axis=0)
