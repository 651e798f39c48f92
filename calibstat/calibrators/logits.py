"""Logarithms of probabilities, finite also for exact 0 and 1."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats

# Below it a probability counts as this one (Kumar et al. 2019 use the same bound in their code).
SMALLEST = 1e-12


def logarithms(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """Natural logarithms, not below that of the smallest probability that is told from 0.

    Raises
    ------
    ValueError
        If `smallest` does not lie between 0 and 0.5.
    """
    if not 0 < smallest < 0.5:
        raise ValueError(f"smallest is {smallest}, but it must lie between 0 and 0.5, such as 1e-4")
    return np.log(np.maximum(probabilities, smallest))


def logits(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """(n,) log-odds of the last of two classes."""
    return logarithms(probabilities[:, 1], smallest) - logarithms(probabilities[:, 0], smallest)
