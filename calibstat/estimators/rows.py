"""What estimators on rows share: one event, its residuals and the weights, whatever moves."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator
from calibstat.predictions import Predictions


def two_classes(estimator: Estimator, predictions: Predictions) -> None:
    """Refuse, naming the lenses that would help, unless there are two classes."""
    if predictions.n_classes != 2:
        raise ValueError(
            f"{estimator!r}: this estimator needs 2 classes, got {predictions.n_classes}: look through a lens first, "
            "for example TopLabel() or ClassWise(label)."
        )


def unweighted(estimator: Estimator, predictions: Predictions, weights: Array | None = None) -> None:
    """Refuse weights, for an estimator without a weighted theory."""
    if predictions.weights is not None or weights is not None:
        raise ValueError(
            f"{estimator!r} has no weighted version: there is no theory for one. Leave the weights out, or use an "
            "estimator on cells, for example ECE(EqualMass(15))."
        )


def happened(outcomes: Array) -> Floats:
    """Return the indicator of the event, (..., n), or its known chance where chances (..., n, 2) are given."""
    return outcomes[..., 1] if is_chances(outcomes) else outcomes.astype(float)


def is_chances(outcomes: Array) -> bool:
    """Tell known chances (..., n, K) from labels (..., n)."""
    return bool(np.issubdtype(outcomes.dtype, np.floating))


def all_weights(predictions: Predictions, weights: Array | None) -> Floats:
    """Return the product of the sample's weights and those that move, (..., n) or (n,); ones if there are none."""
    own = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    return own if weights is None else own * weights
