"""Vector scaling."""

from __future__ import annotations

from typing import ClassVar, final

from scipy.special import softmax

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.logits import logarithms
from calibstat.calibrators.softmax import Factors, fit_softmax


@final
class VectorScaling(Calibrator):
    """softmax(w * log p + b), a factor and a shift for each class (Guo et al. 2017).

    Attributes
    ----------
    coef_, intercept_ : (K,) floats
    """

    needs_every_class: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = logarithms(probabilities)
        # Centred columns change the shifts only, and make the equations easier to solve.
        centre = weights @ logs / weights.sum()
        self.coef_, shifts = fit_softmax(Factors(logs - centre), 2 * len(centre), targets, weights).reshape(2, -1)
        self.intercept_ = shifts - self.coef_ * centre

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.coef_ * logarithms(probabilities) + self.intercept_, axis=1)
