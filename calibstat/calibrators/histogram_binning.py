"""Histogram binning."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.intervals import cell_means, edges_of, place


@final
class HistogramBinning(Calibrator):
    """The share of events in each cell of the predictions (Zadrozny and Elkan 2001).

    Parameters
    ----------
    binning : Binning, optional
        Intervals; by default EqualMass(10). A cell without rows answers with its middle.

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

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        binning = EqualMass(10) if self.binning is None else self.binning
        self.edges_, self.closed_right_ = edges_of(binning, probabilities, weights)
        index = place(probabilities[:, 1], self.edges_, self.closed_right_)
        self.values_ = cell_means(targets.astype(np.float64), index, weights, self.edges_)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(self.values_[place(probabilities[:, 1], self.edges_, self.closed_right_)])
