"""Clusters: rows that are drawn together."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.predictions import Predictions


def clusters(predictions: Predictions, groups: str | None) -> Ints:
    """Return the cluster of each row, 0, 1, ...; every row is its own without `groups`.

    Parameters
    ----------
    predictions : Predictions
    groups : str, optional
        The name of a variable; rows of equal value form a cluster.

    Raises
    ------
    ValueError
        If there is no such variable, or fewer than two clusters.
    """
    if groups is None:
        return np.arange(len(predictions))
    if groups not in predictions.variables:
        known = ", ".join(map(repr, predictions.variables)) or "none"
        raise ValueError(
            f"groups={groups!r}: the sample has no such variable; its variables are: {known}. "
            "Pass it as Sample(..., variables={name: values})."
        )
    codes = np.unique(predictions.variables[groups].values, return_inverse=True)[1]
    if len(codes) and codes.max() < 1:
        raise ValueError(f"groups={groups!r}: all rows are in one cluster; at least two are needed (better 50).")
    return codes.astype(np.intp, copy=False)


def spread(drawn: Floats, codes: Ints) -> Floats:
    """Give every row (..., n) what was drawn for its cluster (..., n_clusters)."""
    return np.take(drawn, codes, axis=-1)


def how_many(codes: Ints) -> int:
    """Return the number of clusters."""
    return int(codes.max()) + 1 if len(codes) else 0
