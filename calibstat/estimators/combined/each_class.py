"""One estimator through every class-wise lens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm, common_form
from calibstat.estimators.combined.named_values import SeveralEvaluator
from calibstat.estimators.headline import Headline
from calibstat.lenses.class_wise import ClassWise
from calibstat.predictions import Predictions

_NORMS = {1: "mean", 2: "root mean square", np.inf: "maximum"}


@final
@dataclass(frozen=True)
class EachClass(Estimator):
    r"""An estimator through every class-wise lens, on the same draws of whole labels.

    .. math:: \Big(\frac1K \sum_k v_k^p\Big)^{1/p}, \qquad v_k = \text{ClassWise}(k) \mid e

    Norm 1 is the mean (class-wise ECE; Nixon et al. 2019, Kull et al. 2019), 2 the root mean square (with `RMSCE` the
    marginal calibration error of Kumar et al. 2019, Definition 2.4, equal weights), inf the maximum. The mean is of
    the values as they are, signs kept, so it is unbiased where the estimator is; other norms are of the evidence (the
    absolute value of a z) and take negative values as zero. An estimator of *squared* errors keeps its units: norm 1
    of `DebiasedCE` is the debiased squared marginal error, while norm 2 would be the root mean square of squared
    errors, which is no marginal error. The value is a record with the number of each class; the headline is the norm.

    A test redraws whole labels from the predictions, so its null is *canonical* calibration, which is more than
    class-wise calibration: the latter does not fix the joint law of the labels.

    Cost: K times that of the estimator, O(n K) for sums over cells. Bias at calibration: that of the estimator; the
    maximum adds to it.

    Parameters
    ----------
    estimator : Estimator
        Evaluated with two outcomes, "the class" and "any other".
    norm : float
        1 <= norm <= inf.

    Examples
    --------
    >>> import calibstat as cs
    >>> y_prob = [[0.6, 0.3, 0.1]] * 6 + [[0.1, 0.8, 0.1]] * 4 + [[0.1, 0.0, 0.9]] * 4
    >>> sample = cs.Sample([0] * 5 + [1] * 4 + [2] * 5, y_prob)
    >>> found = cs.EachClass(cs.RMSCE(cs.UniqueValues()), norm=2)(sample)
    >>> round(float(found), 10), round(found[0], 4)
    (0.1158132048, 0.1704)
    """

    estimator: Estimator
    norm: float = 1

    def __post_init__(self) -> None:
        if not self.norm >= 1:
            raise ValueError(f"norm is {self.norm!r}, but it must be at least 1: 1 (mean), 2 (RMS) or inf (maximum).")

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words, and what its test is about."""
        how = _NORMS.get(self.norm, f"l{self.norm:g} mean")
        nulls = "redrawn labels test canonical calibration, Multiplier() class-wise calibration"
        return f"{how} over classes of the {self.estimator.quantity} ({nulls})"

    @property
    def estimand(self) -> EachClass:
        """The estimand of each class."""
        return EachClass(self.estimator.estimand, self.norm)

    @property
    def residual_form(self) -> ResidualForm:
        """What holds of a norm of such values."""
        return common_form([self.estimator.residual_form])

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the estimator through the lens of each class."""
        members = [Headline(ClassWise(label) | self.estimator).prepare(predictions) for label in predictions.classes]
        return SeveralEvaluator(predictions.classes, members, self)

    def headline(self, values: Floats) -> Floats:
        """Take the norm over classes (..., K)."""
        if self.norm == 1:
            return values.mean(axis=-1)
        size = np.maximum(self.estimator.evidence(values), 0.0)
        if np.isinf(self.norm):
            return size.max(axis=-1)
        return (size**self.norm).mean(axis=-1) ** (1 / self.norm)

    def evidence(self, values: Floats) -> Floats:
        """Order means as the estimator orders its values; a norm is its own evidence."""
        return self.estimator.evidence(values) if self.norm == 1 else values

    def evidences(self, values: Floats) -> Floats:
        """Order the number of each class (..., K) as the estimator does."""
        return self.estimator.evidence(values)
