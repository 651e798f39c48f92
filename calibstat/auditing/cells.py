"""Levels of a variable as cells: neighbours merged until each expects enough."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.auditing.levels import MISSING, Levels, distinct_texts
from calibstat.nulls.merging import join
from calibstat.predictions import Predictions


def merge_levels(levels: Levels, predictions: Predictions, expected: float) -> Levels:
    """Merge neighbouring levels until each expects enough rows of every outcome; predictions decide, outcomes do not.

    Parameters
    ----------
    levels : Levels
    predictions : Predictions
    expected : float
        Sum of the predictions, and of one minus the predictions, in each level, for every class.
    """
    scarcest = np.concatenate([predictions.components, 1 - predictions.components], axis=1)
    sums: Floats = np.stack([np.bincount(levels.index, each, minlength=levels.size) for each in scarcest.T], axis=-1)
    joined = join(sums, expected)
    size = int(joined.max()) + 1
    if size == levels.size:
        return levels
    ends = None if levels.ends is None else _merged_ends(levels.ends, joined, size)
    names = tuple(_merged_name(levels, np.flatnonzero(joined == cell)) for cell in range(size))
    return Levels(levels.variable, names, joined[levels.index], ends)


def _merged_ends(ends: Floats, joined: Ints, size: int) -> Floats:
    first = np.array([np.flatnonzero(joined == cell)[0] for cell in range(size)])
    last = np.array([np.flatnonzero(joined == cell)[-1] for cell in range(size)])
    return np.column_stack([ends[first, 0], ends[last, 1]])


def _merged_name(levels: Levels, parts: Ints) -> str:
    if len(parts) == 1:
        return levels.names[parts[0]]
    known = [part for part in parts if levels.names[part] != MISSING]
    if levels.ends is not None and known:
        low, high = distinct_texts(np.array([levels.ends[known[0], 0], levels.ends[known[-1], 1]]))
        return f"{low} to {high}" + (f" or {MISSING}" if len(known) < len(parts) else "")
    names = [levels.names[part] for part in parts]
    return " / ".join(names) if len(names) <= 3 else f"{names[0]} / ... / {names[-1]} ({len(names)} levels)"
