"""Predictions replaced by their cell means."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.intervals import cell_means, edges_of, place


@final
class Binned(Calibrator):
    """Each prediction replaced by the mean prediction of its cell; labels are not used (Kumar et al. 2019).

    It calibrates nothing: it makes the calibration error one that can be estimated. Its error is at most that of the
    predictions themselves, and may be far smaller.

    Parameters
    ----------
    binning : Binning, optional
        Intervals; by default EqualMass(10).

    Attributes
    ----------
    edges_ : (L + 1,) floats
    closed_right_ : bool
    values_ : (L,) floats
        What is said in each cell.
    """

    binary: ClassVar[bool] = True

    def __init__(self, binning: Binning | None = None) -> None:
        self.binning = binning

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:  # noqa: ARG002
        binning = EqualMass(10) if self.binning is None else self.binning
        self.edges_, self.closed_right_ = edges_of(binning, probabilities, weights)
        event = probabilities[:, 1]
        means = cell_means(event, place(event, self.edges_, self.closed_right_), weights, self.edges_)
        self.values_ = np.clip(means, 0, 1)  # inputs may leave [0, 1] by rounding

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(self.values_[place(probabilities[:, 1], self.edges_, self.closed_right_)])
