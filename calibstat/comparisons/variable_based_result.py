"""What the comparison of Kelly & Smyth (2023) found: errors over the prediction and over a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from calibstat.comparisons.splits import Split
from calibstat.inference.results import frame

if TYPE_CHECKING:
    import pandas as pd

_AS_USED = (
    "  cells  of equal mass: of the confidence that is judged, and of the variable",
    "  noise  what a calibrated model with as many rows is expected to show; p: exact, of ECE and of VECE",
)
_AS_PUBLISHED = (
    "  cells  between quantiles: of the uncalibrated confidence, and of the variable",
    "  note   mistakes are those of the uncalibrated label, as in the tables of Kelly & Smyth (2023)",
)


class VariableBasedErrors(NamedTuple):
    """Errors of one calibrator on the test rows, for the top label, binned.

    Parameters
    ----------
    name : str
    ece, vece : float
        Over the prediction, and over the variable.
    ece_null_mean, vece_null_mean : float or None
        What noise alone gives; None for the paper's convention.
    ece_pvalue, vece_pvalue : float or None
        Exact, of calibration given the prediction, and given prediction and variable (the strong null).
    """

    name: str
    ece: float
    vece: float
    ece_null_mean: float | None = None
    vece_null_mean: float | None = None
    ece_pvalue: float | None = None
    vece_pvalue: float | None = None


@final
@dataclass(frozen=True, eq=False, repr=False)
class VariableBasedComparison:
    """What `variable_based_protocol` found.

    Parameters
    ----------
    errors : tuple of VariableBasedErrors
        "uncalibrated" first.
    variable : str
    split : Split
    n_bins : int
    convention : str
    """

    errors: tuple[VariableBasedErrors, ...]
    variable: str
    split: Split
    n_bins: int
    convention: str

    def __getitem__(self, name: str) -> VariableBasedErrors:
        for each in self.errors:
            if each.name == name:
                return each
        raise KeyError(f"there is no {name!r}; there are {[each.name for each in self.errors]}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "variable": self.variable,
            "n_fit": len(self.split.fit_rows),
            "n_test": len(self.split.test_rows),
            "n_bins": self.n_bins,
            "convention": self.convention,
            "errors": [each._asdict() for each in self.errors],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each calibrator."""
        return frame([each._asdict() for each in self.errors])

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.errors)
        tested = self.errors[0].ece_pvalue is not None
        head = ["ECE %", "VECE %"] + (["noise", "noise", "p", "p"] if tested else [])
        lines = [
            f"  {each.name:{width}}  " + "  ".join(f"{text:>7}" for text in _cells(each, tested))
            for each in self.errors
        ]
        return "\n".join(
            [
                f"Errors for the top label over the confidence (ECE) and over {self.variable!r} (VECE), binned in "
                f"{self.n_bins} cells",
                f"  {'':{width}}  " + "  ".join(f"{text:>7}" for text in head),
                *lines,
                f"  rows   tested on {len(self.split.test_rows)}, fitted on {len(self.split.fit_rows)} others",
                *(_AS_USED if tested else _AS_PUBLISHED),
            ]
        )

    __repr__ = __str__


def _cells(errors: VariableBasedErrors, tested: bool) -> list[str]:
    shares = [errors.ece, errors.vece] + ([errors.ece_null_mean, errors.vece_null_mean] if tested else [])
    pvalues = [errors.ece_pvalue, errors.vece_pvalue] if tested else []
    return [f"{100 * each:.2f}" for each in shares if each is not None] + [
        f"{each:.3g}" for each in pvalues if each is not None
    ]
