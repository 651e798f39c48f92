"""The scaling-binning calibrator."""

from __future__ import annotations

from typing import ClassVar, final

from sklearn.base import clone

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.binned import Binned
from calibstat.calibrators.platt import Platt


@final
class ScalingBinning(Calibrator):
    """A scaling method, then the mean of what it says in each cell (Kumar et al. 2019, Section 4).

    The same rows fit the scaling, the cells and the means, as in the paper's experiments.

    Parameters
    ----------
    calibrator : Calibrator, optional
        The scaling, of two classes; by default Platt(smoothing=False), the authors' choice.
    binning : Binning, optional
        Intervals of what it says; by default EqualMass(10).

    Attributes
    ----------
    scaling_ : Calibrator
    binned_ : Binned
    """

    binary: ClassVar[bool] = True

    def __init__(self, calibrator: Calibrator | None = None, binning: Binning | None = None) -> None:
        self.calibrator = calibrator
        self.binning = binning

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scaling = Platt(smoothing=False) if self.calibrator is None else self.calibrator
        self.scaling_ = clone(scaling).fit(probabilities, targets, weights)
        scaled = self.scaling_.predict_proba(probabilities)
        self.binned_ = Binned(self.binning).fit(scaled, targets, weights)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return self.binned_.predict_proba(self.scaling_.predict_proba(probabilities))
