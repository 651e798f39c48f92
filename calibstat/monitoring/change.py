"""Where a change began: how likely it is to have begun at each of the rows before an alarm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from calibstat.data.arrays import Floats, Ints
from calibstat.monitoring.base import UNKNOWN

# Rows at which a change is less likely than at the best one by exp(-5) are left out: see `located`.
_DROP = 5.0


class Change(NamedTuple):
    """The first row after a change, and an interval of 95 % for it; rows count from 1.

    `open` says that rows before `low` were not kept: the change may have begun before.
    """

    row: int
    low: int
    high: int
    open: bool

    @property
    def words(self) -> str:
        """A sentence.

        >>> " ".join(Change(1204, 1050, 1330, False).words.split())
        'The change began about row 1204 (95 %: 1050 to 1330).'
        >>> " ".join(Change(40, 1, 90, False).words.split())
        'The change began about row 40 (95 %: from the start to row 90).'
        >>> " ".join(Change(1, 1, 41, False).words.split())
        'This began about the first row (95 %: up to row 41).'
        """
        level = "95\N{NO-BREAK SPACE}%"
        if self.row == 1:
            return f"This began about the first row ({level}: up to row {self.high})."
        span = f"{self.low} to {self.high}"
        if self.open:
            span = f"before row {self.low} to row {self.high}"
        elif self.low == 1:
            span = f"from the start to row {self.high}"
        return f"The change began about row {self.row} ({level}: {span})."


def located(gains: Iterable[Floats], first: int, alarm_row: int) -> Change | None:
    """Find the change that raised the alarm, and an interval for it; None if no law explains the alarm.

    The likelihood of a change at row t is the average, over the laws, of prod_{s >= t} q(y_s) / p(y_s). The interval
    spans the rows whose likelihood is at least exp(-5) times the largest one. If the change is at T, the labels before
    T follow p whatever comes later, and so the ratio of an earlier row to T ever exceeds exp(5) with a probability of
    at most exp(-5), by the inequality of Ville (1939); if the law q is known, the same holds of later rows, with the
    roles of p and q exchanged. The rest of the 5 % is for the law, which is not known, and for the alarm, which chooses
    when one looks.

    Parameters
    ----------
    gains : iterable of (n,) floats
        Log likelihood ratios of rows, for each law that may hold after a change; zero where nothing is known.
    first : int
        Number of rows before these.
    alarm_row : int
        A change after this row has not raised the alarm.
    """
    until = alarm_row - first
    if until <= 0:
        return None
    paths = [np.cumsum(each[::-1])[::-1][:until] for each in gains]
    likelihood: Floats = np.logaddexp.reduce(paths, axis=0) - np.log(len(paths))
    best = int(likelihood.argmax())
    if likelihood[best] <= 0:
        return None
    likely = np.flatnonzero(likelihood >= likelihood[best] - _DROP)
    low, high = int(likely[0]), int(likely[-1])
    return Change(first + best + 1, first + low + 1, first + high + 1, low == 0 and first > 0)


# Laws of labels after a change: the predictions, sharper or flatter, with more of one label or less of it.

_SHIFTS = (-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0)
_POWERS = (0.4, 0.6, 0.8, 1.25, 1.6, 2.5)
_N_CELLS, _MOST_CLASSES = 5, 10


def tilted_gains(chances: Floats, outcomes: Ints) -> Iterator[Floats]:
    """Yield log q(y) - log p(y) of rows (n, k), for laws q that are proportional to p^b exp(a [y is the label]).

    The label is the event of two outcomes, in all cells of its probability or in one; of more outcomes it is the
    predicted one, or one of at most ten. Rows whose outcome is not known gain nothing.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    rows = np.arange(len(outcomes))
    useful = (outcomes != UNKNOWN) & (logs[rows, outcomes] > -np.inf)
    before = np.where(useful, logs[rows, outcomes], 0.0)
    for power, shift in _laws(chances):
        tilted = power * logs + shift
        gains = tilted[rows, outcomes] - np.logaddexp.reduce(tilted, axis=1) - before
        yield np.where(useful, gains, 0.0)


def _laws(chances: Floats) -> Iterator[tuple[float, Floats]]:
    """Yield powers b, and what is added to the logarithms: (k,) or (n, k)."""
    n_classes = chances.shape[1]
    columns = np.eye(n_classes)
    main = columns[1] if n_classes == 2 else columns[chances.argmax(axis=1)]
    yield from ((1.0, shift * main) for shift in _SHIFTS)
    yield from ((power, shift * main) for power, shift in product(_POWERS, (0.0, *_SHIFTS)))
    if n_classes == 2:
        cell = np.minimum((chances[:, 1] * _N_CELLS).astype(np.intp), _N_CELLS - 1)
        others = [(cell == each)[:, None] * main for each in range(_N_CELLS)]
    else:
        others = list(columns) if n_classes <= _MOST_CLASSES else []
    yield from ((1.0, shift * label) for label, shift in product(others, _SHIFTS))
