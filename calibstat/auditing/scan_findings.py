"""What a scan found for one variable, and in one of its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class CellFinding:
    """A cell of a variable.

    Parameters
    ----------
    level : str
    n : int
    mean_prediction, mean_outcome : float
        NaN for more than two outcomes.
    error : float
        Absolute difference of the two (total variation for more outcomes): VCE in the words of Kelly & Smyth (2023).
    """

    level: str
    n: int
    mean_prediction: float
    mean_outcome: float
    error: float


@final
@dataclass(frozen=True)
class VariableFinding:
    """What was found for one variable.

    Parameters
    ----------
    variable : str
    vece : float
        Mean error over the cells, each counted by its weight.
    null_mean : float
        The same on redrawn labels, on average: what noise alone gives.
    confidence_interval : (float, float), optional
        For the error in these cells; all variables' cover together.
    pvalue_weak, pvalue_strong : float
        Of this variable by itself.
    pvalue_adjusted : float
        Of the null that was chosen, adjusted for all variables.
    cells : tuple of CellFinding
    worst_expected : float
        The largest error of a cell on redrawn labels, on average.
    """

    variable: str
    vece: float
    null_mean: float
    confidence_interval: tuple[float, float] | None
    pvalue_weak: float
    pvalue_strong: float
    pvalue_adjusted: float
    cells: tuple[CellFinding, ...]
    worst_expected: float

    @property
    def excess(self) -> float:
        """VECE minus its null mean."""
        return self.vece - self.null_mean

    @property
    def worst(self) -> CellFinding:
        """The cell of the largest error: v* in the words of the authors."""
        return max(self.cells, key=lambda cell: cell.error)

    @property
    def too_low(self) -> int:
        """In how many cells more happened than was predicted."""
        return sum(cell.mean_outcome > cell.mean_prediction for cell in self.cells)

    @property
    def too_high(self) -> int:
        """In how many cells less happened than was predicted."""
        return sum(cell.mean_outcome < cell.mean_prediction for cell in self.cells)

    @property
    def consistency(self) -> str:
        """Whether all cells are off in the same direction (Kelly & Smyth 2023, Definition 5.3), as observed.

        "over" where the prediction is at least the outcome in every cell, "under" for the opposite, else "mixed"; ""
        for more than two outcomes. If it is not "mixed", VECE is the difference of the means over all rows.
        """
        if any(cell.mean_outcome != cell.mean_outcome for cell in self.cells):
            return ""
        if not self.too_low:
            return "over"
        return "mixed" if self.too_high else "under"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        two = bool(self.consistency)
        return {
            "variable": self.variable,
            "vece": self.vece,
            "null_mean": self.null_mean,
            "excess": self.excess,
            "low": low,
            "high": high,
            "pvalue_weak": self.pvalue_weak,
            "pvalue_strong": self.pvalue_strong,
            "pvalue_adjusted": self.pvalue_adjusted,
            "n_cells": len(self.cells),
            "worst": self.worst.level,
            "worst_n": self.worst.n,
            "worst_error": self.worst.error,
            "worst_expected": self.worst_expected,
            "worst_mean_prediction": self.worst.mean_prediction if two else None,
            "worst_mean_outcome": self.worst.mean_outcome if two else None,
            "consistency": self.consistency or None,
        }
