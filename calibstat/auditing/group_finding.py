"""What an audit found in one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class GroupFinding:
    """What was found in one group.

    Parameters
    ----------
    name : str
    levels : tuple of (variable, level)
        Empty for all rows.
    n : int
    mean_prediction, mean_outcome : float
        What was predicted and what happened, on average; NaN for more than two outcomes.
    statistic : float
        The estimator on the group's rows.
    null_mean : float
        What is expected of a calibrated model with the same predictions.
    standardized : float
        The statistic divided by its scale under calibration.
    pvalue : float
        Exact, of this group alone.
    pvalue_adjusted : float
        Adjusted for all groups.
    confidence_interval : (float, float), optional
        All of them cover together.
    direction : str
        In words, where there is evidence; else "".
    """

    name: str
    levels: tuple[tuple[str, str], ...]
    n: int
    mean_prediction: float
    mean_outcome: float
    statistic: float
    null_mean: float
    standardized: float
    pvalue: float
    pvalue_adjusted: float
    confidence_interval: tuple[float, float] | None
    direction: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        two = self.mean_outcome == self.mean_outcome
        return {
            "group": self.name,
            "levels": dict(self.levels),
            "n": self.n,
            "mean_prediction": self.mean_prediction if two else None,
            "mean_outcome": self.mean_outcome if two else None,
            "statistic": self.statistic,
            "null_mean": self.null_mean,
            "standardized": self.standardized,
            "low": low,
            "high": high,
            "pvalue": self.pvalue,
            "pvalue_adjusted": self.pvalue_adjusted,
            "direction": self.direction,
        }
