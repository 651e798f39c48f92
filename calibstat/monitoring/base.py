"""Bets on labels: a capital that grows under calibration only by luck.

Before each label is seen, a bettor announces what one unit of capital becomes under each label, at odds that are fair
if the label follows its prediction. Capital is then a non-negative martingale that starts at one, and the probability
that it ever reaches 1 / level is at most the level (Ville 1939). The bettor learns in blocks whose sizes depend on the
number of rows alone, so that no bet looks ahead and rows may arrive in batches of any size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Protocol, final

import numpy as np

from calibstat._progress import part
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import HasParameters
from calibstat.monitoring._stored import expect, stored_ints, stored_rows
from calibstat.monitoring.recent import RecentRows

UNKNOWN = -1
"""The outcome of a row whose label is not known: it counts as the label that is worst for the bet."""
_GROWTH, _LARGEST = 50, 4096


def block_size(n_rows: int) -> int:
    """Return how many rows are bet on before the bettor learns again, after `n_rows`: 1, later 2 %, at most 4096."""
    return min(max(1, n_rows // _GROWTH), _LARGEST)


class Part(Protocol):
    """A part of a bettor whose state can be saved as arrays and restored."""

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""


def collect(parts: Mapping[str, Part]) -> dict[str, Array]:
    """Return the states of all parts, each under its name."""
    return {f"{label}.{name}": array for label, each in parts.items() for name, array in each.state().items()}


def distribute(arrays: Mapping[str, Array], parts: Mapping[str, Part]) -> None:
    """Give each part its own arrays back."""
    for label, each in parts.items():
        start = f"{label}."
        each.restore({name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)})


class Bettor(ABC):
    """A capital and what was learned so far; made by `Bets.start`.

    Parameters
    ----------
    n_classes : int
        Number of outcomes k behind the lens.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_rows = 0
        self.end = block_size(0)
        self.held_chances: list[Floats] = []
        self.held_outcomes: list[Ints] = []
        self.n_classes = n_classes
        self.recent = RecentRows(n_classes)

    @property
    def n_outcomes(self) -> int:
        """The number of labels that may come: one for each column of the chances."""
        return self.n_classes

    @final
    def bet(self, chances: Floats, outcomes: Ints) -> Floats:
        """Bet on rows in their order.

        Parameters
        ----------
        chances : (n, k) floats
            Laws of the outcomes, as predicted.
        outcomes : (n,) ints
            What happened, or `UNKNOWN`.

        Returns
        -------
        log_e : (n,) floats
            Logarithm of the capital after each row; infinite once an outcome of probability zero has occurred.
        """
        log_e = np.empty(len(outcomes))
        done, total = 0, len(outcomes)
        while done < total:
            rows = slice(done, min(total, done + self.end - self.n_rows))
            with part(done / total, rows.stop / total):
                log_e[rows] = self.stake(chances[rows], outcomes[rows])
            self.held_chances.append(chances[rows])
            self.held_outcomes.append(outcomes[rows])
            self.n_rows += rows.stop - done
            done = rows.stop
            if self.n_rows == self.end:
                self._close_block()
        return log_e

    @final
    def bet_on_one(self, event: float, outcome: int) -> float:
        """Bet on a row of two outcomes with this probability of the event; what `bet` does, at the cost of one row."""
        total = (1.0 - event) + event
        chances = (1.0 - event) / total, event / total
        log_e = self.stake_one(chances, outcome)
        self.held_chances.append(np.array([chances]))
        self.held_outcomes.append(np.array([outcome], dtype=np.intp))
        self.n_rows += 1
        if self.n_rows == self.end:
            self._close_block()
        return log_e

    @final
    def around(self, alarm_row: int) -> tuple[int, Floats, Ints]:
        """Return rows around the alarm in this row: the number of those before them, chances (n, k), outcomes (n,)."""
        chances, outcomes = self.recent.kept()
        first, most = self.recent.first, self.recent.most
        rows = slice(max(0, alarm_row - most - first), max(0, alarm_row + most - first))
        chances = np.concatenate([chances, *self.held_chances])[rows]
        return first + rows.start, chances, np.concatenate([outcomes, *self.held_outcomes])[rows]

    def _close_block(self) -> None:
        chances, outcomes = np.concatenate(self.held_chances), np.concatenate(self.held_outcomes)
        self.recent.add(chances, outcomes)
        known = outcomes != UNKNOWN
        self.learn(chances[known], outcomes[known])
        self.held_chances, self.held_outcomes = [], []
        self.end = self.n_rows + block_size(self.n_rows)

    @final
    def state(self) -> dict[str, Array]:
        """Return everything that is needed to continue, as arrays by name."""
        held = np.concatenate([*self.held_chances, np.empty((0, self.n_classes))])
        outcomes = np.concatenate([*self.held_outcomes, np.empty(0, dtype=np.intp)])
        counts = np.array([self.n_rows, self.end])
        rows = {"counts": counts, "held_chances": held, "held_outcomes": outcomes} | self.recent.state()
        return rows | self.learned()

    @final
    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a state that `state` returned."""
        self.n_rows, self.end = stored_ints(state, "counts", (2,)).tolist()
        chances, outcomes = stored_rows(state, "held", self.n_classes, self.n_outcomes)
        self.held_chances, self.held_outcomes = [chances], [outcomes]
        begun = self.n_rows - len(outcomes)
        expect(begun >= 0 and self.end == begun + block_size(begun) > self.n_rows, "the rows of a block are held")
        self.recent.restore(state, begun, self.n_outcomes)
        self.relearn(state)

    @abstractmethod
    def stake(self, chances: Floats, outcomes: Ints) -> Floats:
        """Bet on rows (n, k) with what was learned from closed blocks, and return the log capital (n,)."""

    def stake_one(self, chances: tuple[float, ...], outcome: int) -> float:
        """Bet on one row whose label is known, as `stake` does, bit for bit."""
        return float(self.stake(np.array([chances]), np.array([outcome], dtype=np.intp))[0])

    @abstractmethod
    def learn(self, chances: Floats, outcomes: Ints) -> None:
        """Learn from the rows of a closed block whose labels are known."""

    @abstractmethod
    def learned(self) -> dict[str, Array]:
        """Return what was learned, and the capital, as arrays by name."""

    @abstractmethod
    def relearn(self, state: Mapping[str, Array]) -> None:
        """Continue from what `learned` returned."""


class Bets(HasParameters, ABC):
    """A way to bet; subclasses are frozen dataclasses of parameters."""

    in_messages: ClassVar[str] = "a bet, such as KernelBets()"

    @abstractmethod
    def start(self, n_classes: int) -> Bettor:
        """Return a bettor with a capital of one, for so many outcomes."""

    @property
    @abstractmethod
    def description(self) -> str:
        """On what the capital is bet, for texts."""
