"""Temperature scaling."""

from __future__ import annotations

from typing import final

from scipy.special import softmax

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.logits import logarithms
from calibstat.calibrators.softmax import OneFactor, fit_softmax


@final
class Temperature(Calibrator):
    """Probabilities to the power 1 / T, normalised: softmax(log p / T) (Guo et al. 2017).

    Attributes
    ----------
    temperature_ : float
        T; infinite or negative where the probabilities mislead.
    """

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        design = OneFactor(logarithms(probabilities))
        self.inverse_temperature_ = float(fit_softmax(design, 1, targets, weights)[0])

    @property
    def temperature_(self) -> float:
        """The temperature."""
        return 1 / self.inverse_temperature_ if self.inverse_temperature_ else float("inf")

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.inverse_temperature_ * logarithms(probabilities), axis=1)
