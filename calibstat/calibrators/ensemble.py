"""Ensemble temperature scaling: a mixture of what temperature scaling says, of predictions, and of equal chances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from calibstat.calibrators.softmax import Softmax, fit_factor, goals
from calibstat.data.arrays import Floats, Ints
from calibstat.data.rounding import SAME

FACTORS = 0.2, 20.0  # the range of 1 / T


@final
class EnsembleTemperature(Softmax):
    r"""A mixture of temperature scaling, the prediction and equal chances (ETS, Zhang et al. 2020).

    .. math:: w_1 \operatorname{softmax}(\log p / T) + w_2 p + w_3 / K, \qquad w_1 + w_2 + w_3 = 1

    The temperature, between 1/20 and 5, is fitted alone, then the shares, which are at least 0.

    Parameters
    ----------
    loss : {"squared", "log"}
        What both fits minimise.
    input, smallest
        As for `Temperature`.

    Attributes
    ----------
    inverse_temperature_ : float
        1 / T.
    shares_ : (3,) floats
        The shares of temperature scaling, of the prediction, and of equal chances.
    """

    def __init__(
        self,
        loss: Literal["squared", "log"] = "squared",
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
    ) -> None:
        self.loss = loss
        self.input = input
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs, mass = self._fitted_logs(probabilities), weights / weights.sum()
        aims, hot = goals(logs, targets, weights), np.eye(logs.shape[1])[targets]
        factor = float(np.clip(fit_factor(logs, aims, weights), *FACTORS))
        self.inverse_temperature_ = _squared_factor(logs, aims, mass, factor) if self.loss == "squared" else factor
        mixed = self._mixed(logs)
        self.shares_ = _squared_shares(mixed, hot, mass) if self.loss == "squared" else _log_shares(mixed, hot, mass)

    def _mixed(self, logs: Floats) -> Floats:
        """Return what the three parts say: (3, n, K)."""
        scaled, given = softmax(self.inverse_temperature_ * logs, axis=1), softmax(logs, axis=1)
        return np.stack([scaled, given, np.full_like(logs, 1 / logs.shape[1])])

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return np.tensordot(self.shares_, self._mixed(self._logs(probabilities)), axes=1)


def _squared_factor(logs: Floats, aims: Floats, mass: Floats, start: float) -> float:
    """Return the factor of the logarithms of least squared error that is reached from that of least log loss."""

    def error(factor: Floats) -> tuple[float, Floats]:
        said = softmax(factor * logs, axis=1)
        apart, mean = said - aims, (said * logs).sum(axis=1, keepdims=True)
        slope = 2 * ((apart * said) * (logs - mean)).sum(axis=1)
        return float(mass @ (apart**2).sum(axis=1)), np.array([mass @ slope])

    found = minimize(error, [start], jac=True, method="L-BFGS-B", bounds=[FACTORS], options={"gtol": 1e-9})
    return float(found.x[0])


def _squared_shares(mixed: Floats, hot: Floats, mass: Floats) -> Floats:
    """Return the shares of least squared error: a quadratic form in the shares."""
    weighted = mixed * mass[:, None]
    products, agreement = (np.tensordot(weighted, each, axes=([1, 2], [-2, -1])) for each in (mixed, hot))
    return _on_simplex(lambda w: (float(w @ products @ w - 2 * agreement @ w), 2 * (products @ w - agreement)))


def _log_shares(mixed: Floats, hot: Floats, mass: Floats) -> Floats:
    """Return the shares of least log loss."""
    true = np.einsum("aik,ik->ai", mixed, hot)

    def loss(w: Floats) -> tuple[float, Floats]:
        total = w @ true
        return -float(mass @ np.log(total)), -(true @ (mass / total))

    return _on_simplex(loss)


def _on_simplex(loss: Callable[[Floats], tuple[float, Floats]]) -> Floats:
    """Return the shares (3,) where a convex loss, which comes with its gradient, is least.

    What rounding leaves of a share of zero is none, so that a mixture that is constant is exactly so.
    """
    whole = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    options = {"method": "SLSQP", "bounds": [(0, 1)] * 3, "constraints": whole, "options": {"ftol": 1e-12}}
    found = np.clip(minimize(loss, np.full(3, 1 / 3), jac=True, **options).x, 0, 1)
    found[found < SAME] = 0.0
    return found / found.sum()
