"""Labels as a calibrated world would draw them."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.predictions import Predictions


class LabelLaw:
    """The law of outcomes given the predictions, were these calibrated; label i is Categorical(chances_i).

    Parameters
    ----------
    predictions : Predictions
    """

    def __init__(self, predictions: Predictions) -> None:
        self.chances = predictions.chances
        self.binary = predictions.n_classes == 2
        self.cumulative: Floats = np.ascontiguousarray(self.chances[:, 1]) if self.binary else _cumulative(self.chances)

    def invert(self, uniforms: Floats) -> Array:
        """Turn uniforms (..., n) into labels (..., n)."""
        if self.binary:
            return (uniforms < self.cumulative).view(np.int8)
        return _count_reached(self.cumulative, uniforms)


def _cumulative(chances: Floats) -> Floats:
    """Cumulative sums that end in exactly one, so that rounding never draws a last class of chance zero."""
    sums = np.cumsum(chances, axis=1)
    return sums / sums[:, -1:]


def _count_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Count how many of a row's cumulative sums (all but the last) its uniform reaches, by bisection."""
    n_classes = cumulative.shape[1]
    rows = np.arange(len(cumulative)) * n_classes
    flat = cumulative.ravel()
    found = np.zeros(uniforms.shape, dtype=np.intp)
    step = 1 << ((n_classes - 1).bit_length() - 1)
    while step:
        probe = np.minimum(found + step, n_classes - 1)
        reached = (flat[rows + probe - 1] <= uniforms) & (found + step < n_classes)
        found += step * reached
        step >>= 1
    return found
