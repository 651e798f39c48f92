"""What was found of one calibrator, and of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.comparisons.combining import corrected_standard_error, twice_median
from calibstat.inference.comparison_result import ComparisonTest
from calibstat.inference.results import CalibrationTest
from calibstat.inference.spread import ConfidenceInterval
from calibstat.inference.words import LEVEL


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Proper scores of the test rows, seen through the lens; smaller is better.

    Parameters
    ----------
    brier, log : float
    calibration : float
        The part of the Brier score that adding its mean residual to each cell would take off (unbiased, binned).
    refinement : float
        The rest of the Brier score: it grows where sharpness is lost.
    n_clipped : int
        Rows whose outcome had been called so improbable that the log score counts a larger probability, lest it be
        infinite; of all splits.
    """

    brier: float
    log: float
    calibration: float
    refinement: float
    n_clipped: int


@final
@dataclass(frozen=True, eq=False)
class CalibratorResult:
    """What was found of one calibrator on rows that it was not fitted on; means over splits where there are several.

    Parameters
    ----------
    name : str
    calibrator : str
        Its repr; "" for the predictions as given.
    tests : tuple of CalibrationTest
        One for each split: the debiased squared error under its own null.
    scores : Scores
    root_interval : ConfidenceInterval or None
        Of the root error, for a single split.
    """

    name: str
    calibrator: str
    tests: tuple[CalibrationTest, ...]
    scores: Scores
    root_interval: ConfidenceInterval | None

    @property
    def value(self) -> float:
        """The debiased squared error."""
        return float(np.mean([test.statistic for test in self.tests]))

    @property
    def root(self) -> float:
        """The root of the squared error, 0 if that is negative."""
        return float(np.sqrt(max(0.0, self.value)))

    @property
    def pvalue(self) -> float:
        """Of "this model is calibrated", exact; twice the median over several splits."""
        return twice_median([test.pvalue for test in self.tests])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "name": self.name,
            "calibrator": self.calibrator,
            "value": self.value,
            "root": self.root,
            "root_interval": None if self.root_interval is None else list(self.root_interval),
            "pvalue": self.pvalue,
            "pvalues": [test.pvalue for test in self.tests],
            "null_mean": float(np.mean([test.null_mean for test in self.tests])),
            "brier": self.scores.brier,
            "log": self.scores.log,
            "calibration": self.scores.calibration,
            "refinement": self.scores.refinement,
            "log_clipped_rows": self.scores.n_clipped,
        }


@final
@dataclass(frozen=True, eq=False)
class PairResult:
    """Two calibrators on the same test rows.

    Parameters
    ----------
    first, second : CalibratorResult
    tests : tuple of ComparisonTest
        One for each split.
    pvalue_adjusted : float
        Over all pairs (Holm).
    n_fit, n_test : int
    """

    first: CalibratorResult
    second: CalibratorResult
    tests: tuple[ComparisonTest, ...]
    pvalue_adjusted: float
    n_fit: int
    n_test: int

    @property
    def difference(self) -> float:
        """Squared error of the first minus that of the second; the mean over splits."""
        return float(np.mean([test.difference for test in self.tests]))

    @property
    def pvalue(self) -> float:
        """Wrapped, of this pair by itself; twice the median over several splits."""
        return pair_pvalue(self.tests)

    @property
    def rejects(self) -> bool:
        """Whether the two are told apart, after adjustment."""
        return self.pvalue_adjusted <= LEVEL

    @property
    def confidence_interval(self) -> ConfidenceInterval | None:
        """Of the difference, not wrapped; for a single split."""
        return self.tests[0].confidence_interval if len(self.tests) == 1 else None

    @property
    def split_standard_error(self) -> float | None:
        """Of the mean difference over several splits (Nadeau & Bengio 2003): a description, not for p-values."""
        return corrected_standard_error([test.difference for test in self.tests], self.n_fit, self.n_test)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        interval = self.confidence_interval
        return {
            "first": self.first.name,
            "second": self.second.name,
            "difference": self.difference,
            "confidence_interval": None if interval is None else list(interval),
            "split_standard_error": self.split_standard_error,
            "pvalue": self.pvalue,
            "pvalue_adjusted": self.pvalue_adjusted,
            "differences": [test.difference for test in self.tests],
            "pvalues": [test.pvalue for test in self.tests],
            "brier_difference": self.first.scores.brier - self.second.scores.brier,
            "refinement_difference": self.first.scores.refinement - self.second.scores.refinement,
        }


def pair_pvalue(tests: Sequence[ComparisonTest]) -> float:
    """Combine the wrapped p-values of the splits."""
    return twice_median([test.pvalue for test in tests])
