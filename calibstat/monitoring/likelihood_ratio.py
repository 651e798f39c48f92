"""Likelihood-ratio bets for two outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.checks import at_least_one
from calibstat.monitoring.base import Bets, Bettor
from calibstat.monitoring.experts import Rows, cell_expert, line_expert, shift_expert
from calibstat.monitoring.restarts import Restarts

# How the first unit of capital is split.
_LINE, _SHIFT, _CELLS, _LATER = np.log([0.4, 0.2, 0.2, 0.2])


@final
@dataclass(frozen=True)
class LikelihoodRatioBets(Bets):
    """Bet that labels follow a recalibrated prediction, learned from the rows before.

    Capital is the average of likelihood ratios prod q_t(y_t) / p_t(y_t) of logistic recalibrations q: of a line in
    log-odds (weight 0.4), a shift (0.2), shifts within cells (0.2), and of lines that start anew later (0.2), so that
    a change is found that comes after many rows. Each is a martingale under the null since q_t is settled before
    label t is seen, and so is the average (the e-process of Henzi, Puke, Dimitriadis & Ziegel 2023, without splitting
    the rows).

    Parameters
    ----------
    n_cells : int
        Cells of equal width.
    restart_every : int
        A line starts anew after so many rows.
    n_restarts : int
        At most so many of these bet at a time; the memory does not grow.

    Examples
    --------
    >>> import numpy as np
    >>> bettor = LikelihoodRatioBets().start(2)
    >>> chances = np.full((200, 2), 0.5)
    >>> log_e = bettor.bet(chances, np.ones(200, dtype=int))
    >>> int(np.argmax(log_e >= np.log(20)))
    15
    """

    n_cells: int = 5
    restart_every: int = 1000
    n_restarts: int = 8

    def __post_init__(self) -> None:
        for name in ("n_cells", "restart_every", "n_restarts"):
            at_least_one(name, getattr(self, name))

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
        return f"a shift, a line in log-odds, shifts in {self.n_cells} cells, {later}"


class _Mixture(Bettor):
    def __init__(self, bets: LikelihoodRatioBets) -> None:
        Bettor.__init__(self, 2)
        self.experts = {
            "line": (_LINE, line_expert()),
            "shift": (_SHIFT, shift_expert()),
            "cells": (_CELLS, cell_expert(bets.n_cells)),
        }
        self.later = Restarts(bets.n_restarts)
        self.every = bets.restart_every

    def stake(self, chances: Floats, outcomes: Ints) -> Floats:
        rows = Rows.of(chances)
        log_e = _LATER + self.later.stake(rows, outcomes)
        for weight, expert in self.experts.values():
            log_e = np.logaddexp(log_e, weight + expert.stake(rows, outcomes))
        return log_e

    def learn(self, chances: Floats, outcomes: Ints) -> None:
        rows = Rows.of(chances)
        for _, expert in self.experts.values():
            expert.learn(rows, outcomes)
        self.later.learn(rows, outcomes)
        if self.n_rows // self.every > self.later.started:
            self.later.start()

    def learned(self) -> dict[str, Array]:
        parts = {name: expert.state() for name, (_, expert) in self.experts.items()} | {"later": self.later.state()}
        return {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}

    def relearn(self, state: Mapping[str, Array]) -> None:
        def part(prefix: str) -> dict[str, Array]:
            return {name.removeprefix(f"{prefix}."): each for name, each in state.items() if name.startswith(prefix)}

        for name, (_, expert) in self.experts.items():
            expert.restore(part(name))
        self.later.restore(part("later"))
