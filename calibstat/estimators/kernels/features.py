"""What kernels compare: the conditioned columns as vectors, and the median heuristic for their bandwidth."""

from __future__ import annotations

from types import EllipsisType

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.kernels.functions import Kernel
from calibstat.predictions import Predictions

# The median of the distances is taken over the pairs of at most this many rows, evenly spaced in sorted order.
_ROWS_FOR_MEDIAN = 1000


def on_a_line(predictions: Predictions) -> bool:
    """Whether what is conditioned on is one column of numbers."""
    return len(predictions.keys) == 1 and not predictions.column(predictions.keys[0]).categorical


def features(predictions: Predictions) -> Floats:
    """Write what is conditioned on as rows that kernels compare.

    Beside other columns, a numeric variable is divided by its standard deviation; alone it keeps its units.

    Returns
    -------
    rows : (n, d) floats
    """
    return np.concatenate([_block(predictions, key) for key in predictions.keys], axis=1)


def _block(predictions: Predictions, key: str | int | EllipsisType) -> Floats:
    variable = predictions.column(key)
    if not isinstance(key, str):
        event = variable.values
        return np.stack([1 - event, event], axis=1) if predictions.n_classes == 2 else event[:, None]
    if variable.levels is not None:
        return (variable.values[:, None] == np.arange(len(variable.levels))).astype(float)
    values = variable.values
    if len(predictions.keys) > 1 and len(values):
        values = values / (values.std() or 1.0)
    return np.stack([-values, values], axis=1)


def median_distance(predictions: Predictions, rows: Floats, kernel: Kernel) -> float:
    """Return the median distance of pairs of rows (of different ones if more than half are equal; else one)."""
    order = sorted_rows(predictions, rows)
    n = len(rows)
    if n > _ROWS_FOR_MEDIAN:
        order = order[np.linspace(0, n - 1, _ROWS_FOR_MEDIAN).round().astype(np.intp)]
    some = rows[order]
    distances = kernel.distance(some, some)[np.tri(len(some), k=-1, dtype=bool)]
    if not len(distances):
        return 1.0
    median = float(np.median(distances))
    if median == 0 and distances.any():
        median = float(np.median(distances[distances > 0]))
    return median or 1.0


def sorted_rows(predictions: Predictions, rows: Floats) -> Ints:
    """Sort rows by their last column, and where it has ties by those before it: (n,)."""
    if on_a_line(predictions):
        return predictions.order
    order = np.argsort(rows[:, -1], kind="stable")
    placed = rows[order, -1]
    return np.lexsort(rows.T) if (placed[1:] == placed[:-1]).any() else order
