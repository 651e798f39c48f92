"""Likelihood-ratio bets for two outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import NamedTuple, Protocol, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._text import counted
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Count
from calibstat.monitoring._stored import stored, stored_ints
from calibstat.monitoring.base import UNKNOWN, Bets, Bettor, Part, collect, distribute

# The shares of the initial capital.
_LINE, _SHIFT, _CELLS, _LATER = np.log([0.4, 0.2, 0.2, 0.2])


@final
@dataclass(frozen=True)
class LikelihoodRatioBets(Bets):
    """Bet that labels follow a recalibrated prediction, learned from the rows before.

    Capital is the average of likelihood ratios prod q_t(y_t) / p_t(y_t) of logistic recalibrations q: of a line in
    log-odds (weight 0.4), a shift (0.2), shifts within cells (0.2), and of lines that start anew later (0.2), which
    detect a change after many rows. Each is a martingale under the null since q_t is chosen before label t is seen, and
    so is the average (the e-process of Henzi, Puke, Dimitriadis & Ziegel 2023, without splitting the rows).

    Parameters
    ----------
    n_cells : int
        Number of cells, of equal width.
    restart_every : int
        A line starts anew after this many rows.
    n_restarts : int
        The largest number of these lines at a time; it bounds the memory.

    Raises
    ------
    ValueError, TypeError
        If one of them is not an integer of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> bettor = LikelihoodRatioBets().start(2)
    >>> chances = np.full((200, 2), 0.5)
    >>> log_e = bettor.bet(chances, np.ones(200, dtype=int))
    >>> int(np.argmax(log_e >= np.log(20)))
    15
    """

    n_cells: Count = 5
    restart_every: Count = 1000
    n_restarts: Count = 8

    def start(self, n_classes: int) -> Bettor:
        """Return a bettor with a capital of one."""
        if n_classes != 2:
            raise ValueError(
                f"LikelihoodRatioBets bets on two outcomes, but {n_classes} are seen: look through TopLabel() or "
                "ClassWise(label), or take KernelBets()."
            )
        return _Mixture(self)

    @property
    def description(self) -> str:
        """What is bet on."""
        later = f"lines that start anew every {self.restart_every} rows"
        return f"a shift, a line in log-odds, shifts in {counted(self.n_cells, 'cell')}, {later}"


class _Mixture(Bettor):
    def __init__(self, bets: LikelihoodRatioBets) -> None:
        Bettor.__init__(self, 2)
        self.experts = {
            "line": (_LINE, line_expert()),
            # Events happen more often, or less often, than predicted.
            "shift": (_SHIFT, Expert(Cells(1), [_SHIFT_SPREAD])),
            # Each cell of predictions errs in a way of its own.
            "cells": (_CELLS, Expert(Cells(bets.n_cells), [_CELL] * bets.n_cells)),
        }
        self.later = Restarts(bets.n_restarts)
        self.every = bets.restart_every

    def stake(self, chances: Floats, outcomes: Ints) -> Floats:
        rows = TwoOutcomes.of(chances)
        log_e = _LATER + self.later.stake(rows, outcomes)
        for weight, expert in self.experts.values():
            log_e = np.logaddexp(log_e, weight + expert.stake(rows, outcomes))
        return log_e

    def stake_one(self, chances: tuple[float, ...], outcome: int) -> float:
        row = OneRow.of(chances[0], chances[1], outcome)
        log_e = _LATER + self.later.stake_one(row)
        for weight, expert in self.experts.values():
            log_e = np.logaddexp(log_e, weight + expert.stake_one(row))
        return float(log_e)

    def learn(self, chances: Floats, outcomes: Ints) -> None:
        rows = TwoOutcomes.of(chances)
        for _, expert in self.experts.values():
            expert.learn(rows, outcomes)
        self.later.learn(rows, outcomes)
        if self.n_rows // self.every > self.later.started:
            self.later.start()

    def learned(self) -> dict[str, Array]:
        return collect(self._parts())

    def relearn(self, state: Mapping[str, Array]) -> None:
        distribute(state, self._parts())

    def _parts(self) -> dict[str, Part]:
        return {name: expert for name, (_, expert) in self.experts.items()} | {"later": self.later}


# Bets that begin anew: a change after many good rows is not drowned by what was learned before it.


@final
class Restarts:
    """Capital set aside for bettors that start later: the j-th gets the share 1 / (j (j + 1)) of it.

    At most `most` of them bet. When one more starts, the one with the least capital stops, and its capital is kept: a
    martingale that is stopped is a martingale.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.started = 0
        self.kept = -np.inf
        self.alive: list[tuple[int, Expert]] = []

    def start(self) -> None:
        """Start one more."""
        if len(self.alive) == self.most:
            capital = [_log_share(number) + expert.log_e for number, expert in self.alive]
            least = int(np.argmin(capital))
            self.kept = float(np.logaddexp(self.kept, capital[least]))
            del self.alive[least]
        self.started += 1
        self.alive.append((self.started, line_expert()))

    def stake(self, rows: TwoOutcomes, outcomes: Ints) -> Floats:
        """Bet on rows and return the log capital after each, all together: (n,)."""
        still = np.full(len(outcomes), _log_waiting(self.started, self.kept))
        for number, expert in self.alive:
            still = np.logaddexp(still, _log_share(number) + expert.stake(rows, outcomes))
        return still

    def stake_one(self, row: OneRow) -> float:
        """Bet on one row and return the log capital after it, all together."""
        still = _log_waiting(self.started, self.kept)
        for number, expert in self.alive:
            still = np.logaddexp(still, _log_share(number) + expert.stake_one(row))
        return still

    def learn(self, rows: TwoOutcomes, outcomes: Ints) -> None:
        """Let those that bet learn."""
        for _, expert in self.alive:
            expert.learn(rows, outcomes)

    def state(self) -> dict[str, Array]:
        """Return who bets, and all capital."""
        states = [expert.state() for _, expert in self.alive]
        return {
            "numbers": np.array([number for number, _ in self.alive], dtype=np.int64),
            "started": np.array(self.started),
            "kept": np.array(self.kept),
        } | {name: np.array([each[name] for each in states]) for name in ("theta", "precision", "log_e")}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.started, self.kept = int(stored_ints(state, "started", ())), float(stored(state, "kept", ()))
        numbers = stored_ints(state, "numbers", (min(self.started, self.most),), 1, self.started).tolist()
        self.alive = []
        parts = zip(numbers, state["theta"], state["precision"], state["log_e"], strict=True)
        for number, theta, precision, log_e in parts:
            expert = line_expert()
            expert.restore({"theta": theta, "precision": precision, "log_e": log_e})
            self.alive.append((number, expert))


@lru_cache(maxsize=64)
def _log_share(number: int) -> float:
    return float(-np.log(number * (number + 1.0)))


@lru_cache(maxsize=64)
def _log_waiting(started: int, kept: float) -> float:
    """Return the logarithm of the capital of those that have not started, and of those that have stopped."""
    return float(np.logaddexp(-np.log(started + 1.0), kept))


# One likelihood ratio: a logistic recalibration, learned as rows go by, against the prediction.

_REACH = 7.0
# Precisions of the ridge towards the identity: of a shift of log-odds, of a slope, and of a shift within a cell.
_SHIFT_SPREAD, _SLOPE, _CELL = 5.0, 15.0, 4.0
_LARGEST = 1e100  # what no line or curvature in a saved state reaches


@dataclass(frozen=True, eq=False)
class TwoOutcomes:
    """Predictions of two outcomes (n,), with the logarithms that every expert needs.

    `log_odds` lie within [-700, 700]; `log_chances` (2, n) of no event and of the event are minus infinity where it is
    zero.
    """

    event: Floats
    log_odds: Floats
    log_chances: Floats

    @classmethod
    def of(cls, chances: Floats) -> TwoOutcomes:
        """Take logarithms of chances (n, 2)."""
        with np.errstate(divide="ignore"):
            logs = np.log(chances.T)
            odds = np.minimum(np.maximum(logs[1] - logs[0], -700.0), 700.0)
        return cls(chances[:, 1], odds, logs)


class OneRow(NamedTuple):
    """A prediction of two outcomes and its outcome, with the same logarithms, as numbers; `cut` log-odds as `Line`."""

    event: float
    log_odds: float
    cut: float
    log_chances: tuple[float, float]
    outcome: int

    @classmethod
    def of(cls, other: float, event: float, outcome: int) -> OneRow:
        """Take logarithms of both chances."""
        logs = (float(np.log(other)) if other else -inf), (float(np.log(event)) if event else -inf)
        odds = min(max(logs[1] - logs[0], -700.0), 700.0)
        return cls(event, odds, min(max(odds, -_REACH), _REACH), logs, outcome)


class Features(Protocol):
    """What an expert sees of rows."""

    def of(self, rows: TwoOutcomes) -> Floats:
        """Return the features of rows: (d, n)."""

    def of_one(self, row: OneRow) -> tuple[tuple[int, float], ...]:
        """Return the features of one row that are not zero, with their places."""


@final
class Line:
    """A constant and the log-odds, which are cut so that no single row is a lever."""

    def of(self, rows: TwoOutcomes) -> Floats:
        """Return the features of rows: (2, n)."""
        found = np.ones((2, len(rows.event)))
        np.minimum(np.maximum(rows.log_odds, -_REACH), _REACH, out=found[1])
        return found

    def of_one(self, row: OneRow) -> tuple[tuple[int, float], ...]:
        """Return both."""
        return (0, 1.0), (1, row.cut)


@final
@dataclass(frozen=True)
class Cells:
    """One indicator for each of so many cells of equal width."""

    n_cells: int

    def of(self, rows: TwoOutcomes) -> Floats:
        """Return the features of rows: (n_cells, n)."""
        index = np.minimum((rows.event * self.n_cells).astype(np.intp), self.n_cells - 1)
        return (index == np.arange(self.n_cells)[:, None]).astype(float)

    def of_one(self, row: OneRow) -> tuple[tuple[int, float], ...]:
        """Return the one of its cell."""
        return ((min(int(row.event * self.n_cells), self.n_cells - 1), 1.0),)


@final
class Expert:
    """A recalibration logit q = logit p + theta . features(p), and the capital of betting on it.

    After each block theta takes one Newton step on the rows of the block, with the curvature of all rows so far and of
    the ridge. `ridge` (d,) holds precisions about zero.
    """

    def __init__(self, features: Features, ridge: list[float]) -> None:
        self.features = features
        self._move(np.zeros(len(ridge)))
        self.precision = np.diag(ridge)
        self.log_e = 0.0

    def log_ratios(self, rows: TwoOutcomes) -> Floats:
        """Return log q(y) - log p(y) for both outcomes: (2, n)."""
        odds = self._odds(rows, self.features.of(rows))
        found = np.empty((2, len(odds)))
        special.log_expit(-odds, out=found[0])
        special.log_expit(odds, out=found[1])
        found -= rows.log_chances
        return found

    def stake(self, rows: TwoOutcomes, outcomes: Ints) -> Floats:
        """Bet on rows and return the log capital after each: (n,)."""
        ratios = self.log_ratios(rows)
        gains = np.where(outcomes == UNKNOWN, ratios.min(axis=0), np.where(outcomes == 1, ratios[1], ratios[0]))
        gains[0] += self.log_e
        path = np.cumsum(gains)
        self.log_e = float(path[-1])
        return path

    def stake_one(self, row: OneRow) -> float:
        """Bet on one row and return the log capital after it."""
        odds = row.log_odds
        for place, feature in self.features.of_one(row):
            odds += self.steps[place] * feature
        self.log_e += float(special.log_expit(odds if row.outcome else -odds)) - row.log_chances[row.outcome]
        return self.log_e

    def learn(self, rows: TwoOutcomes, outcomes: Ints) -> None:
        """Take a Newton step."""
        features = self.features.of(rows)
        chance = special.expit(self._odds(rows, features))
        self.precision = self.precision + (features * (chance * (1 - chance))) @ features.T
        self._move(self.theta + np.linalg.solve(self.precision, features @ (outcomes - chance)))

    def _move(self, theta: Floats) -> None:
        self.theta, self.steps = theta, theta.tolist()

    def _odds(self, rows: TwoOutcomes, features: Floats) -> Floats:
        # Feature by feature: a matrix product rounds differently for different numbers of rows.
        odds = rows.log_odds
        for weight, feature in zip(self.theta, features, strict=True):
            odds = odds + weight * feature
        return odds

    def state(self) -> dict[str, Array]:
        """Return what was learned, and the capital."""
        return {"theta": self.theta, "precision": self.precision, "log_e": np.array(self.log_e)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        n_features = len(self.theta)
        self._move(stored(state, "theta", (n_features,), -_LARGEST, _LARGEST))
        self.precision = stored(state, "precision", (n_features, n_features), -_LARGEST, _LARGEST)
        self.log_e = float(stored(state, "log_e", ()))
        np.linalg.cholesky(self.precision)


def line_expert() -> Expert:
    """Events happen more or less often than predicted, and predictions are too bold, or too timid (Cox 1958)."""
    return Expert(Line(), [_SHIFT_SPREAD, _SLOPE])
