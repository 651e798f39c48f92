"""Centered isotonic regression."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.pooling import isotonic_blocks, pool_ties


@final
class CenteredIsotonic(Calibrator):
    """Isotonic regression whose flat pieces shrink to their weighted centres, linear between (Oron and Flournoy 2017).

    It increases strictly between the centres; pieces at exactly 0 or 1 stay flat.

    Attributes
    ----------
    scores_, values_ : (m,) floats
        Corners of the map.
    """

    binary: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        starts, means = isotonic_blocks(mass, events)
        # Neighbouring blocks never have equal means, but rounding may say so.
        first, last = scores[starts[:-1]], scores[starts[1:] - 1]
        centre = np.add.reduceat(mass * scores, starts[:-1]) / np.add.reduceat(mass, starts[:-1])
        centre = np.clip(centre, first, last)
        sure = (means <= 0) | (means >= 1)
        low, high = np.where(sure, first, centre), np.where(sure, last, centre)
        # A certain piece keeps both its ends; one of a single score has them equal.
        corners = np.column_stack([low, high]).ravel()
        kept = np.concatenate([[True], np.diff(corners) > 0])
        self.scores_, self.values_ = corners[kept], np.repeat(np.clip(means, 0, 1), 2)[kept]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(np.interp(probabilities[:, 1], self.scores_, self.values_))
