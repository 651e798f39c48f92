"""Kernel bets for any number of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import log, log1p
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Count, Positive
from calibstat.estimators.kernels import GaussianKernel, Kernel
from calibstat.monitoring._stored import ROUNDED_ONE, expect, stored, stored_ints
from calibstat.monitoring.base import UNKNOWN, Bets, Bettor

_FLOOR = 0.5
_STEP = 2 / (2 - log(3))


@final
@dataclass(frozen=True)
class KernelBets(Bets):
    """Bet on the labels that were more frequent than predicted where predictions were similar.

    The witness w_t = sum_{s<t} k(P_s, P_t) (e_{Y_s} - P_s) / sqrt(t - 1) is the gradient of the squared kernel
    calibration error. Label y pays f_t(y), which is w_t[y] - <P_t, w_t> divided by its largest absolute value or by
    1/2, whichever is larger; its mean under P_t is zero. A share of the capital in [0, 1/2] is staked, chosen by
    online Newton steps on the rows before (Cutkosky & Orabona 2018).

    Parameters
    ----------
    bandwidth : float
        Of the kernel, in units of its distance.
    kernel : Kernel
        `LaplaceKernel` or `GaussianKernel`.
    n_anchors : int
        Memory: the first `n_anchors` predictions are kept as anchors. A later row is added at the anchor nearest to its
        prediction, so that all rows count at a constant cost for each.

    Raises
    ------
    ValueError, TypeError
        If `kernel` is no kernel, `n_anchors` is not an integer of at least 1, or `bandwidth` not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> bettor = KernelBets().start(3)
    >>> log_e = bettor.bet(np.full((200, 3), 1 / 3), np.zeros(200, dtype=int))
    >>> int(np.argmax(log_e >= np.log(20)))
    9
    """

    bandwidth: Positive = 0.3
    kernel: Kernel = field(default_factory=GaussianKernel)
    n_anchors: Count = 1000

    def start(self, n_classes: int) -> Bettor:
        """Return a bettor with a capital of one."""
        return _KernelBettor(self, n_classes)

    @property
    def description(self) -> str:
        """What is bet on."""
        return f"labels too frequent where predictions are alike (kernel of bandwidth {self.bandwidth:g})"


class _KernelBettor(Bettor):
    def __init__(self, bets: KernelBets, n_classes: int) -> None:
        Bettor.__init__(self, n_classes)
        self.bets = bets
        self.anchors = np.empty((0, n_classes))
        self.residuals = np.empty((0, n_classes))
        self.n_learned = 0
        self.share, self.curvature, self.log_e = 0.0, 1.0, 0.0

    def stake(self, chances: Floats, outcomes: Ints) -> Floats:
        payoffs = self._payoffs(chances)
        known = outcomes != UNKNOWN
        paid = np.where(known, payoffs[np.arange(len(outcomes)), outcomes], payoffs.min(axis=1))
        gains = []
        for pay, learn in zip(paid.tolist(), known.tolist(), strict=True):
            gains.append(log1p(self.share * pay))
            if learn:
                slope = pay / (1 + self.share * pay)
                self.curvature += slope * slope
                self.share = min(max(self.share + _STEP * slope / self.curvature, 0.0), 0.5)
        path = np.cumsum([self.log_e, *gains])[1:]
        self.log_e = float(path[-1])
        return path

    def _payoffs(self, chances: Floats) -> Floats:
        """Return what each label pays: (n, k), between -1 and 1, with mean zero under the chances."""
        if not self.n_learned:
            return np.zeros_like(chances)
        bets = self.bets
        alike = bets.kernel.profile(bets.kernel.distance(chances, self.anchors) / bets.bandwidth)
        # Not a matrix product, which rounds differently for different numbers of rows.
        witness = np.stack([(alike * column).sum(axis=1) for column in self.residuals.T], axis=1)
        witness /= np.sqrt(self.n_learned)
        mean = sum(chances[:, k] * witness[:, k] for k in range(self.n_classes))
        centred = witness - np.asarray(mean)[:, None]
        return centred / np.maximum(np.abs(centred).max(axis=1), _FLOOR)[:, None]

    def learn(self, chances: Floats, outcomes: Ints) -> None:
        residuals = np.eye(self.n_classes)[outcomes] - chances
        room = self.bets.n_anchors - len(self.anchors)
        self.anchors = np.concatenate([self.anchors, chances[:room]])
        self.residuals = np.concatenate([self.residuals, residuals[:room]])
        later = chances[room:]
        if len(later):
            nearest = self.bets.kernel.distance(later, self.anchors).argmin(axis=1)
            np.add.at(self.residuals, nearest, residuals[room:])
        self.n_learned += len(outcomes)

    def learned(self) -> dict[str, Array]:
        numbers = np.array([self.share, self.curvature, self.log_e])
        return {
            "anchors": self.anchors,
            "residuals": self.residuals,
            "n_learned": np.array(self.n_learned),
            "numbers": numbers,
        }

    def relearn(self, state: Mapping[str, Array]) -> None:
        self.n_learned = int(stored_ints(state, "n_learned", ()))
        n_anchors = min(self.n_learned, self.bets.n_anchors)
        self.anchors = stored(state, "anchors", (n_anchors, self.n_classes), 0, ROUNDED_ONE)
        most = self.n_learned * ROUNDED_ONE
        self.residuals = stored(state, "residuals", (n_anchors, self.n_classes), -most, most).copy()
        self.share, self.curvature, self.log_e = stored(state, "numbers", (3,)).tolist()
        expect(0 <= self.share <= 0.5 and self.curvature >= 1, "at most half of the capital is staked")
