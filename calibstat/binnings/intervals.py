"""What cuts into intervals share: the borders of a column, and the side on which cells are closed."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.predictions import Predictions


def is_probability(predictions: Predictions) -> bool:
    """Whether the one conditioned column is a probability (and not a variable)."""
    return not isinstance(predictions.keys[0], str)


def borders(predictions: Predictions) -> tuple[float, float]:
    """Return where the one conditioned column begins and ends: [0, 1] for a probability, else its range."""
    if is_probability(predictions):
        return 0.0, 1.0
    return predictions.column(predictions.keys[0]).range


def closed_left(values: Floats, edges: Floats) -> Ints:
    """Return the cell [edge_i, edge_i+1) of each value, the last one closed; what lies outside joins the end cells."""
    return np.searchsorted(edges[1:-1], values, side="right")


def closed_right(values: Floats, edges: Floats) -> Ints:
    """Return the cell (edge_i, edge_i+1] of each value, the first one closed; what lies outside joins the end cells."""
    return np.searchsorted(edges[1:-1], values, side="left")
