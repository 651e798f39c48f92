"""Isotonic calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from sklearn.isotonic import IsotonicRegression

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both


@final
class Isotonic(Calibrator):
    """Non-decreasing least squares by pooling adjacent violators (Zadrozny and Elkan 2002).

    It wraps scikit-learn's IsotonicRegression: linear between the scores that it has seen, constant beyond them.

    Attributes
    ----------
    scores_, values_ : (m,) floats
        Corners of the map.
    """

    binary: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        wrapped = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        wrapped.fit(probabilities[:, 1], targets.astype(np.float64), weights)
        # Plain arrays are kept: they can be written to a file and do not depend on scikit-learn's version.
        self.scores_, self.values_ = wrapped.X_thresholds_, wrapped.y_thresholds_

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(np.interp(probabilities[:, 1], self.scores_, self.values_))
