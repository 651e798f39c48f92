"""One likelihood ratio: a logistic recalibration, learned as rows go by, against the prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit, log_expit

from calibstat.arrays import Floats, Ints
from calibstat.monitoring.base import UNKNOWN

_REACH = 7.0
# Precisions of the ridge towards the identity: of a shift of log-odds, of a slope, and of a shift within a cell.
_SHIFT, _SLOPE, _CELL = 5.0, 15.0, 4.0

Features = Callable[["Rows"], Floats]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of two outcomes, with the logarithms that every expert needs.

    Parameters
    ----------
    event : (n,) floats
        Predicted chance of the event.
    log_odds : (n,) floats
        Within [-700, 700].
    log_chances : (2, n) floats
        Logarithms of the chances of no event, and of the event; minus infinity where it is zero.
    """

    event: Floats
    log_odds: Floats
    log_chances: Floats

    @classmethod
    def of(cls, chances: Floats) -> Rows:
        """Take logarithms of chances (n, 2)."""
        with np.errstate(divide="ignore"):
            logs = np.log(chances.T)
            odds = np.clip(logs[1] - logs[0], -700.0, 700.0)
        return cls(chances[:, 1], odds, logs)


def shift(rows: Rows) -> Floats:
    """One feature, constant: (1, n)."""
    return np.ones((1, len(rows.event)))


def line(rows: Rows) -> Floats:
    """A constant and the log-odds, which are cut so that no single row is a lever: (2, n)."""
    return np.stack([np.ones(len(rows.event)), np.clip(rows.log_odds, -_REACH, _REACH)])


def cells(n_cells: int) -> Features:
    """One indicator for each of so many cells of equal width: (n_cells, n)."""

    def indicators(rows: Rows) -> Floats:
        index = np.minimum((rows.event * n_cells).astype(np.intp), n_cells - 1)
        return (index == np.arange(n_cells)[:, None]).astype(float)

    return indicators


@final
class Expert:
    """A recalibration logit q = logit p + theta . features(p), and the capital of betting on it.

    After each block theta takes one Newton step on the rows of the block, with the curvature of all rows so far and
    of the ridge.

    Parameters
    ----------
    features : callable
        Returns (d, n) floats for n rows.
    ridge : (d,) floats
        Precisions about zero.
    """

    def __init__(self, features: Features, ridge: list[float]) -> None:
        self.features = features
        self.theta = np.zeros(len(ridge))
        self.precision = np.diag(ridge)
        self.log_e = 0.0

    def log_ratios(self, rows: Rows) -> Floats:
        """Return log q(y) - log p(y) for both outcomes: (2, n)."""
        odds = self._odds(rows, self.features(rows))
        return np.stack([log_expit(-odds), log_expit(odds)]) - rows.log_chances

    def stake(self, rows: Rows, outcomes: Ints) -> Floats:
        """Bet on rows and return the log capital after each: (n,)."""
        ratios = self.log_ratios(rows)
        gains = np.where(outcomes == UNKNOWN, ratios.min(axis=0), np.where(outcomes == 1, ratios[1], ratios[0]))
        path = np.cumsum(np.concatenate([[self.log_e], gains]))[1:]
        self.log_e = float(path[-1])
        return path

    def learn(self, rows: Rows, outcomes: Ints) -> None:
        """Take a Newton step."""
        features = self.features(rows)
        chance = expit(self._odds(rows, features))
        self.precision = self.precision + (features * (chance * (1 - chance))) @ features.T
        self.theta = self.theta + np.linalg.solve(self.precision, features @ (outcomes - chance))

    def _odds(self, rows: Rows, features: Floats) -> Floats:
        # Feature by feature: a matrix product rounds differently for different numbers of rows.
        odds = rows.log_odds
        for weight, feature in zip(self.theta, features, strict=True):
            odds = odds + weight * feature
        return odds

    def state(self) -> dict[str, Floats]:
        """Return what was learned, and the capital."""
        return {"theta": self.theta, "precision": self.precision, "log_e": np.array(self.log_e)}

    def restore(self, state: Mapping[str, Floats]) -> None:
        """Take over what `state` returned."""
        self.theta, self.precision, self.log_e = state["theta"], state["precision"], float(state["log_e"])


def shift_expert() -> Expert:
    """Events happen more often, or less often, than predicted."""
    return Expert(shift, [_SHIFT])


def line_expert() -> Expert:
    """Besides, predictions are too bold, or too timid (Cox 1958)."""
    return Expert(line, [_SHIFT, _SLOPE])


def cell_expert(n_cells: int) -> Expert:
    """Each cell of predictions errs in a way of its own."""
    return Expert(cells(n_cells), [_CELL] * n_cells)
