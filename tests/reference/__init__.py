"""Naive references: lenses, binnings and estimators transcribed from their formulas, with plain loops.

Slow, and written without looking at how the package does it; nothing here is vectorised.
"""

from __future__ import annotations

from typing import Any

import calibstat as cs
from reference import cells, cells_tested, combined, isotonic, kernels, logistic, scores, smooth, walks
from reference.binnings import BINNINGS, equal_mass_edges, keys, left_closed, right_closed
from reference.cells import distance
from reference.cells_tested import blocks_of_pava
from reference.lenses import LENSES, look
from reference.rows import UnclearError, rows_of
from reference.table import NAIVE, evaluate

__all__ = [
    "BINNINGS",
    "FAMILIES",
    "LENSES",
    "NAIVE",
    "UnclearError",
    "blocks_of_pava",
    "distance",
    "equal_mass_edges",
    "keys",
    "left_closed",
    "look",
    "right_closed",
    "rows_of",
    "value",
]

# Each fills the table with its estimators.
FAMILIES = [cells, cells_tested, walks, kernels, smooth, isotonic, scores, logistic, combined]


def value(estimator: cs.Estimator, sample: cs.Sample) -> Any:
    """Evaluate any estimator on a sample."""
    return evaluate(estimator, rows_of(sample))
