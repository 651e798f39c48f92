"""A logistic regression on a restricted cubic spline of the logit: a smooth calibration curve."""

from __future__ import annotations

from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import clipped_logit, expit, fit_logistic, linear_predictor, made_orthonormal, natural_spline
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import HasParameters
from calibstat.data.sample import Predictions
from calibstat.estimators.base import all_weights, happened
from calibstat.estimators.combined import leading_shape
from calibstat.estimators.tally import ratio

# Harrell (2015), "Regression modeling strategies", Table 2.3: quantiles at which knots stand.
_KNOTS = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}


@final
@dataclass(frozen=True)
class LogisticSpline(HasParameters):
    r"""The curve of a logistic regression on a restricted cubic spline of logit(p), for `ICI`.

    .. math:: \operatorname{logit} P(Y = 1 \mid p) = \text{rcs}(\operatorname{logit} p)

    linear beyond the outer knots, which stand at the quantiles of Harrell (2015); Austin & Steyerberg (2019) use it
    beside LOESS. p is clipped to [1e-9, 1 - 1e-9]; knots that coincide are dropped. O(n) for each step of Newton's
    method. Weights are importance weights; the knots ignore them.

    Parameters
    ----------
    n_knots : {3, 4, 5, 6, 7}
        Number of knots.

    Raises
    ------
    ValueError
        If `n_knots` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> found = cs.ICI(cs.LogisticSpline())(cs.Sample(rng.random(2000) < p**2, p))
    >>> round(found.ici, 2)
    0.17
    """

    n_knots: int = 5

    def __post_init__(self) -> None:
        if self.n_knots not in _KNOTS:
            raise ValueError(f"n_knots is {self.n_knots!r}; it must be one of {', '.join(map(str, _KNOTS))}.")

    def gaps(self, predictions: Predictions) -> LogisticGaps:
        """Prepare the absolute difference of curve and prediction in each row, which `ICI` averages."""
        linear = clipped_logit(over_the_prediction(self, predictions))
        columns = [np.ones(len(linear)), linear]
        if len(linear):
            columns += [*natural_spline(linear, np.unique(np.quantile(linear, _KNOTS[self.n_knots]))).T]
        return LogisticGaps(predictions, made_orthonormal(np.stack(columns)).T)


def over_the_prediction(curve: object, predictions: Predictions) -> Floats:
    """Return the predictions (n,) of the event, or refuse a variable that is conditioned on."""
    if predictions.keys != (1,):
        raise ValueError(
            f"{curve!r} is a curve over the prediction, but {predictions.condition} is conditioned on; "
            "look through Given(...), or smooth along the variable with LOESS(0.75)."
        )
    return predictions.event


@final
@dataclass(frozen=True, eq=False)
class LogisticGaps:
    """Absolute differences of a logistic regression on the columns (n, d) and the prediction, with weights of rows."""

    predictions: Predictions
    design: Floats

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., n) and weights (..., n)."""
        shape = (*leading_shape(outcomes, weights), len(self.predictions))
        target = np.broadcast_to(happened(outcomes), shape)
        mass = np.broadcast_to(all_weights(self.predictions, weights), shape)
        n = shape[-1]
        if not n:
            return np.zeros(shape), mass
        # The mean weight is 1, so that weights are relative.
        relative = ratio(mass, mass.mean(axis=-1, keepdims=True), empty=1.0)
        fits = fit_logistic(self.design, target.reshape(-1, n), relative.reshape(-1, n))
        chance = expit(linear_predictor(self.design, fits.coefficients)).reshape(shape)
        return np.abs(chance - self.predictions.event), mass
