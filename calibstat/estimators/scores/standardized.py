"""Scores in units of their exact standard deviation under calibration: one-degree-of-freedom tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.rows import two_classes
from calibstat.estimators.scores.residuals import ScoreExcess, TableEvaluator, excess
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Spiegelhalter(Estimator):
    r"""Spiegelhalter's Z (1986): the Brier score against what the predictions promise, for two classes.

    .. math:: Z = \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}

    Under calibration mean 0 and variance 1 given the predictions, asymptotically normal. Positive for over-,
    negative for under-confidence, and both are evidence: the test is two-sided (one-sided versions, as in some
    packages, have no power against under-confidence). With weights w and w^2 enter the two sums. O(n).

    Weaknesses: one direction only; blind to errors that are symmetric about 1/2 (a shift of the logits of symmetric
    predictions: 5 % power at level 5 %) and to oscillation. A test statistic, not a size: that is `ScoreExcess`.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.Spiegelhalter()(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.085555
    """

    quantity: ClassVar[str] = "Brier score minus what the predictions promise (signed, in standard deviations)"

    @property
    def estimand(self) -> ScoreExcess:
        """The excess of the mean Brier score, whose size decides how large this grows."""
        return ScoreExcess("brier")

    @property
    def residual_form(self) -> ResidualForm:
        """A linear function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Score both labels of each row."""
        two_classes(self, predictions)
        return TableEvaluator(predictions, excess(predictions, "brier"), standardize=True)

    def evidence(self, values: Floats) -> Floats:
        """Either sign is evidence."""
        return np.abs(values)


@final
@dataclass(frozen=True)
class BrierZ(Estimator):
    r"""Spiegelhalter's Z (1986) for any number of classes: the Brier score against what the predictions promise.

    .. math:: Z = \frac{2 \sum_i \big(\sum_k p_{ik}^2 - p_{i y_i}\big)}
              {\sqrt{4 \sum_i \big(\sum_k p_{ik}^3 - (\sum_k p_{ik}^2)^2\big)}}

    Equal to `Spiegelhalter` for two classes. Canonical: labels are those of all classes. Two-sided; positive for
    over-confidence. Under calibration mean 0 and variance 1 given the predictions. O(n K). Weaknesses: one direction
    only; blind to swaps of probability between classes. A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.BrierZ()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 5)
    0.38062
    """

    quantity: ClassVar[str] = "Brier score minus what the predictions promise (signed, in standard deviations)"

    @property
    def estimand(self) -> ScoreExcess:
        """The excess of the mean Brier score, whose size decides how large this grows."""
        return ScoreExcess("brier")

    @property
    def residual_form(self) -> ResidualForm:
        """A linear function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Score all labels of each row."""
        return TableEvaluator(predictions, excess(predictions, "brier"), standardize=True)

    def evidence(self, values: Floats) -> Floats:
        """Either sign is evidence."""
        return np.abs(values)


@final
@dataclass(frozen=True)
class LogLossZ(Estimator):
    r"""The score test of temperature scaling: the log-likelihood against what the predictions promise.

    .. math:: Z = \frac{\sum_i \big(\log p_{i y_i} - \sum_k p_{ik} \log p_{ik}\big)}
              {\sqrt{\sum_i \mathrm{Var}_{p_i}(\log p_{iK})}}

    The derivative of the likelihood of :math:`q_k \propto p_k^{1/T}` at T = 1, so the efficient test of over- and
    under-confidence with one degree of freedom (Rao's score test; the temperature of Guo et al. 2017). Two-sided;
    positive for under-confidence, the opposite sign of `BrierZ`. Any number of classes. Under calibration mean 0 and
    variance 1 given the predictions; the normal p-value is slightly liberal (8 % at level 5 % for n = 250), a redraw
    of labels is not. Probabilities are clipped to [1e-9, 1 - 1e-9]. O(n K). Weaknesses: one direction only; dominated
    by rows that gave the label hardly any chance. A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.LogLossZ()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 5)
    -0.21429
    """

    quantity: ClassVar[str] = "log-likelihood minus what the predictions promise (signed, in standard deviations)"

    @property
    def estimand(self) -> ScoreExcess:
        """The excess of the mean logarithmic score, whose size decides how large this grows; of opposite sign."""
        return ScoreExcess("log")

    @property
    def residual_form(self) -> ResidualForm:
        """A linear function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Score all labels of each row."""
        return TableEvaluator(predictions, -excess(predictions, "log"), standardize=True)

    def evidence(self, values: Floats) -> Floats:
        """Either sign is evidence."""
        return np.abs(values)
