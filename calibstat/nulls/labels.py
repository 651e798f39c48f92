"""Labels as a calibrated world would draw them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.compiled import has_twin
from calibstat.predictions import Predictions
from calibstat.resampling.streams import blocks

# Up to so many classes, comparing with all cumulative sums in turn is faster than bisection.
_FEW_CLASSES = 64
# Rows whose uniforms and sums stay in the cache while they are compared.
_ROWS_IN_A_TILE = 2048


class LabelLaw:
    """The law of outcomes given the predictions, were these calibrated; label i is Categorical(chances_i).

    Parameters
    ----------
    predictions : Predictions
    """

    def __init__(self, predictions: Predictions) -> None:
        self.chances = predictions.chances
        self.binary = predictions.n_classes == 2
        self.few = predictions.n_classes <= _FEW_CLASSES
        sums = self.chances[:, 1] if self.binary else _cumulative(self.chances)
        self.cumulative: Floats = np.ascontiguousarray(sums.T if self.few else sums)

    def invert(self, uniforms: Floats) -> Array:
        """Turn uniforms (..., n) into labels (..., n)."""
        if self.binary:
            return (uniforms < self.cumulative).view(np.int8)
        count = _count_reached if self.few else _bisect_reached
        return count(self.cumulative, uniforms)


def label_batches(
    law: LabelLaw, n_rows: int, n_resamples: int, rng: np.random.Generator, batch_size: int = 1
) -> Iterator[Array]:
    """Draw labels, several blocks of `blocks` at a time where an evaluator asks for them.

    Parameters
    ----------
    law : LabelLaw
    n_rows, n_resamples : int
    rng : Generator
    batch_size : int
        How many replicates to yield at once, at least (`Evaluator.batch_size`); the labels do not depend on it.

    Yields
    ------
    labels : (R, n) ints
        In all `n_resamples` replicates.
    """
    waiting: list[Array] = []
    for stream, size, kept in blocks(n_resamples, n_rows, rng):
        waiting.append(law.invert(stream.random((size, n_rows))[:kept]))
        if sum(map(len, waiting)) >= batch_size:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _cumulative(chances: Floats) -> Floats:
    """Cumulative sums that end in exactly one, so that rounding never draws a last class of chance zero."""
    sums = np.cumsum(chances, axis=1)
    return sums / sums[:, -1:]


@has_twin("calibstat.accel.labels:count_reached")
def _count_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Count how many of a row's cumulative sums (all but the last), (K, n), its uniform reaches, one by one."""
    found = np.empty(uniforms.shape, dtype=np.intp)
    for start in range(0, uniforms.shape[-1], _ROWS_IN_A_TILE):
        rows = slice(start, start + _ROWS_IN_A_TILE)
        some = uniforms[..., rows]
        reached = np.zeros(some.shape, dtype=np.int8)
        for sums in cumulative[:-1, rows]:
            reached += some >= sums
        found[..., rows] = reached
    return found


@has_twin("calibstat.accel.labels:bisect_reached")
def _bisect_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Count how many of a row's cumulative sums (all but the last), (n, K), its uniform reaches, by bisection."""
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
