"""What a comparison of calibrators found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.comparisons.records import CalibratorResult, PairResult
from calibstat.comparisons.splits import Split
from calibstat.comparisons.words import apart_lines, pair_text, table, where
from calibstat.estimators.base import Estimator
from calibstat.estimators.scores.means import LogScore
from calibstat.inference.comparison_result import ENOUGH_ROWS
from calibstat.inference.results import frame
from calibstat.inference.words import counted

if TYPE_CHECKING:
    import pandas as pd

_CROSS_FITTED = (
    "cross-fitted: each row is predicted by a calibrator that has not seen it, but the fits share rows, so that for "
    "calibrators the null of redrawn labels, and every p-value made of it, is only approximate"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibratorComparison:
    """What `compare_calibrators` found.

    Parameters
    ----------
    models : tuple of CalibratorResult
        The predictions as given ("uncalibrated") first, then the calibrators in their order.
    pairs : tuple of PairResult
        Each two of them.
    splits : tuple of Split
        Which rows were fitted on, and which were tested on.
    estimator : Estimator
        With its lens.
    confidence_level : float
    n_resamples : int
    cross_fitted : bool
        Whether every row was tested on, with the prediction of a calibrator fitted on other folds.
    notes : tuple of str
        What limits the result.
    """

    models: tuple[CalibratorResult, ...]
    pairs: tuple[PairResult, ...]
    splits: tuple[Split, ...]
    estimator: Estimator
    confidence_level: float
    n_resamples: int
    cross_fitted: bool
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> CalibratorResult:
        for each in self.models:
            if each.name == name:
                return each
        raise KeyError(f"there is no {name!r}; there are {[each.name for each in self.models]}")

    @property
    def verdict(self) -> str:
        """Which calibrators are better calibrated than which, or that none can be told apart."""
        lens, told = self.estimator.lens, [pair for pair in self.pairs if pair.rejects]
        if not told:
            smallest = min(pair.pvalue_adjusted for pair in self.pairs)
            names = ", ".join(each.name for each in self.models)
            return (
                f"No two of {names} can be told apart by their binned errors {where(lens)} (smallest adjusted p = "
                f"{smallest:.3g})."
            )
        return "\n".join(pair_text(pair, lens, self.confidence_level) for pair in told)

    @property
    def hypotheses(self) -> tuple[str, str]:
        """The null of each single test, and of each comparison of two."""
        pair = f"two have the same squared calibration error {where(self.estimator.lens)}, each binned by its own cells"
        own = self.models[0].tests[0].hypothesis
        if self.cross_fitted:
            own = own.replace("(exact)", "(exact for the predictions as given, approximate for cross-fitted ones)")
        return own, f"{pair} (both may be zero)"

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each pair."""
        return frame([pair.to_dict() for pair in self.pairs])

    def models_to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each calibrator."""
        return frame([each.to_dict() for each in self.models])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        own, pair = self.hypotheses
        return {
            "lens": repr(self.estimator.lens),
            "estimator": repr(self.estimator.core),
            "n_fit": len(self.splits[0].fit_rows),
            "n_test": self._n_test,
            "n_splits": 1 if self.cross_fitted else len(self.splits),
            "cross_fitted": self.cross_fitted,
            "confidence_level": self.confidence_level,
            "n_resamples": self.n_resamples,
            "models": [each.to_dict() for each in self.models],
            "pairs": [each.to_dict() for each in self.pairs],
            "hypothesis": own,
            "pair_hypothesis": pair,
            "notes": list(self.all_notes),
        }

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What limits the result, with what follows from the way rows were split."""
        found = list(self.notes)
        if self.cross_fitted:
            found.append(_CROSS_FITTED)
        clipped = [each for each in self.models if each.scores.n_clipped]
        if clipped:
            rows = ", ".join(f"{each.name} in {counted(each.scores.n_clipped, 'row')}" for each in clipped)
            found.append(
                f"log counts probabilities below {LogScore().clip:g} as this much, or it would be infinite; what "
                f"happened had been called that improbable by {rows}"
            )
        if self._n_test < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} test rows: the normal approximation is for at least as many")
        return tuple(found)

    def __str__(self) -> str:
        own, pair = self.hypotheses
        exact = "only approximate for calibrators, see the note" if self.cross_fitted else "exact"
        return "\n".join(
            [
                self.verdict,
                *apart_lines(self.pairs),
                f"  {self._rows_text()}",
                *table(self.models),
                "  squared    calibration error of cell means, in each one's own cells, unbiased; root: its root",
                f"  p          of each one's calibration by itself ({exact})",
                "  scores     seen through the lens; Brier = squared calibration error + refinement, which grows where "
                "sharpness is lost",
                f"  null       {own}",
                f"  pairs      {pair}; {self._pair_text()}",
                f"  estimator  {self.estimator!r}",
                *(f"  note       {note}" for note in self.all_notes),
            ]
        )

    __repr__ = __str__

    @property
    def _n_test(self) -> int:
        parts = self.splits if self.cross_fitted else self.splits[:1]
        return sum(len(each.test_rows) for each in parts)

    def _rows_text(self) -> str:
        if self.cross_fitted:
            return f"tested on all {self._n_test} rows, cross-fitted in {counted(len(self.splits), 'fold')}"
        one = f"tested on {self._n_test} rows, fitted on {len(self.splits[0].fit_rows)} others"
        return one if len(self.splits) == 1 else f"{one}, in {len(self.splits)} random splits of the same rows"

    def _pair_text(self) -> str:
        several = len(self.splits) > 1 and not self.cross_fitted
        twice = "twice the median over splits, then " if several else ""
        return (
            "p is the larger of a normal one and of twice the smaller p of the two by themselves, "
            f"{twice}adjusted by Holm's method over {len(self.pairs)}"
        )
