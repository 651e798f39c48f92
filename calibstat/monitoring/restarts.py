"""Bets that begin anew: a change after many good rows is not drowned by what was learned before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.monitoring.experts import Expert, Rows, line_expert


@final
class Restarts:
    """Capital set aside for bettors that start later: the j-th gets the share 1 / (j (j + 1)) of it.

    At most `most` of them bet. When one more starts, the one with the least capital stops, and its capital is kept: a
    martingale that is stopped is a martingale.

    Parameters
    ----------
    most : int
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

    def stake(self, rows: Rows, outcomes: Ints) -> Floats:
        """Bet on rows and return the log capital after each, all together: (n,)."""
        waiting = -np.log(self.started + 1.0)
        still = np.full(len(outcomes), np.logaddexp(waiting, self.kept))
        for number, expert in self.alive:
            still = np.logaddexp(still, _log_share(number) + expert.stake(rows, outcomes))
        return still

    def learn(self, rows: Rows, outcomes: Ints) -> None:
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
        self.started, self.kept = int(state["started"]), float(state["kept"])
        self.alive = []
        for position, number in enumerate(state["numbers"].tolist()):
            expert = line_expert()
            expert.restore({name: state[name][position] for name in ("theta", "precision", "log_e")})
            self.alive.append((number, expert))


def _log_share(number: int) -> float:
    return float(-np.log(number * (number + 1.0)))
