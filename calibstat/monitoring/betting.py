"""Rows that are ready to be bet on, looked at through the lens, and what the bets on them earn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.lenses.base import Lens
from calibstat.monitoring.base import UNKNOWN, Bettor
from calibstat.monitoring.path import EvidencePath
from calibstat.monitoring.waiting import Ready
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True, eq=False)
class Betting:
    """A bettor behind a lens, and the path of its evidence.

    Parameters
    ----------
    lens : Lens
    labels : sequence
        The label of each column of predictions.
    bettor : Bettor
    path : EvidencePath
    """

    lens: Lens
    labels: Sequence[Hashable]
    bettor: Bettor
    path: EvidencePath

    def on(self, parts: Sequence[Ready]) -> None:
        """Bet on rows, part by part, in their order."""
        for ready in parts:
            if len(ready.outcomes):
                self._on(ready)

    def _on(self, ready: Ready) -> None:
        view = self.lens.look(Predictions(ready.rows, tuple(self.labels)))
        unknown = view.weights(ready.outcomes == UNKNOWN)
        outcomes = np.where(unknown, UNKNOWN, view.outcomes(np.maximum(ready.outcomes, 0)))
        if len(outcomes):
            self.path.add(self.bettor.bet(view.predictions.chances, outcomes.astype(np.intp)))
