"""Structured scaling: temperature scaling, and departures from it with penalties of a fixed number of rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, final

import numpy as np
from scipy.special import softmax

from calibstat.calibrators.softmax import Design, Softmax, factors, fit_factor, fit_softmax, goals, matrix
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import Positive


def _departures(logs: Floats, crossed: bool) -> Design:
    """Return the design of K factors, or a matrix if `crossed`, and K shifts, without one factor of all logarithms."""
    n_classes = logs.shape[1]
    nothing = np.zeros(n_classes)
    whole = matrix(logs, np.eye(n_classes), nothing) if crossed else factors(logs, np.ones(n_classes), nothing)
    return Design(
        lambda theta: whole.logits(np.append(0.0, theta)),
        lambda rows: whole.pullback(rows)[1:],
        lambda rows: whole.squares(rows)[1:],
    )


class Structured(Softmax):
    """Temperature scaling, then a map of its logarithms whose departures from them are penalised."""

    crossed: ClassVar[bool]

    @abstractmethod
    def _ridge(self, n_classes: int) -> Floats:
        """Return the factors of the squares of departures and shifts in the sum of losses."""

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs, n_rows = self._fitted_logs(probabilities), float(weights.sum())
        n_classes = logs.shape[1]
        self.inverse_temperature_ = fit_factor(logs, goals(logs, targets, weights), weights)
        self.uniform_share_ = 1 / (n_rows + 1)
        scaled, ridge, hot = self._scaled(logs), self._ridge(n_classes) / n_rows, np.eye(n_classes)[targets]
        design = _departures(scaled, self.crossed)
        theta = fit_softmax(design, hot, weights, np.zeros(len(ridge)), ridge, offset=scaled)
        departs, self.intercept_ = theta[:-n_classes], theta[-n_classes:]
        self.coef_ = np.eye(n_classes) + departs.reshape(n_classes, n_classes) if self.crossed else 1 + departs

    def _scaled(self, logs: Floats) -> Floats:
        """Return logarithms of what temperature scaling says, mixed with one uniform row: none is below -ln(K n)."""
        said = softmax(self.inverse_temperature_ * logs, axis=1)
        return np.log((1 - self.uniform_share_) * said + self.uniform_share_ / logs.shape[1])


@final
class StructuredVectorScaling(Structured):
    r"""softmax(w * z + b) of the logarithms z that temperature scaling gives (SVS, Berta et al. 2025).

    For n rows and K classes, w and b minimise the mean log loss plus

    .. math:: \frac{K}{n} \Bigl( \lambda_1 \sum_j (w_j - 1)^2 + \lambda_2 \sum_j b_j^2 \Bigr)

    Before logarithms are taken, what temperature scaling says is mixed with one row in n + 1 of equal chances. Nothing
    is chosen by cross-validation, so that a fit takes a fraction of the time of `VectorScaling`.

    Parameters
    ----------
    diagonal, intercept : float
        The penalties lambda_1 and lambda_2.
    input, smallest
        As for `Temperature`.

    Attributes
    ----------
    inverse_temperature_ : float
    uniform_share_ : float
        1 / (n + 1).
    coef_, intercept_ : (K,) floats
        w and b.
    """

    crossed: ClassVar[bool] = False

    def __init__(
        self,
        diagonal: Positive = 1.0,
        intercept: Positive = 1.0,
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
    ) -> None:
        self.diagonal = diagonal
        self.intercept = intercept
        self.input = input
        self.smallest = smallest

    def _ridge(self, n_classes: int) -> Floats:
        return n_classes * np.repeat([self.diagonal, self.intercept], n_classes)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.coef_ * self._scaled(self._logs(probabilities)) + self.intercept_, axis=1)


@final
class StructuredMatrixScaling(Structured):
    r"""softmax(z @ W + b) of the logarithms z that temperature scaling gives (SMS, Berta et al. 2025).

    It is `StructuredVectorScaling` with a matrix W whose entries off the diagonal have the further penalty

    .. math:: \frac{K (K - 1)}{n} \lambda_3 \sum_{j \ne k} W_{jk}^2

    In the comparison of Berta et al. (2026) it has the first rank of nineteen calibrators for many classes.

    Parameters
    ----------
    diagonal, intercept, off_diagonal : float
        The penalties lambda_1, lambda_2 and lambda_3.
    input, smallest
        As for `Temperature`.

    Attributes
    ----------
    inverse_temperature_, uniform_share_ : float
        As for `StructuredVectorScaling`.
    coef_ : (K, K) floats
        W; row j has the effects of z_j.
    intercept_ : (K,) floats
    """

    crossed: ClassVar[bool] = True

    def __init__(
        self,
        diagonal: Positive = 1.0,
        intercept: Positive = 1.0,
        off_diagonal: Positive = 1.0,
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
    ) -> None:
        self.diagonal = diagonal
        self.intercept = intercept
        self.off_diagonal = off_diagonal
        self.input = input
        self.smallest = smallest

    def _ridge(self, n_classes: int) -> Floats:
        off = (n_classes - 1) * self.off_diagonal
        table = np.where(np.eye(n_classes, dtype=bool), self.diagonal, off)
        return n_classes * np.append(table.ravel(), np.full(n_classes, self.intercept))

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self._scaled(self._logs(probabilities)) @ self.coef_ + self.intercept_, axis=1)
