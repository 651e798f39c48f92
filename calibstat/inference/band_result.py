"""A band of the chance of the event, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from calibstat.arrays import Array, Floats, Ints
from calibstat.inference.arguments import check_number
from calibstat.inference.plain_values import plain
from calibstat.inference.results import frame
from calibstat.inference.spread import ConfidenceInterval
from calibstat.inference.words import interval_text, number, small_pvalue
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationBand:
    """What `calibration_band` found.

    Parameters
    ----------
    prediction : (L,) floats
        The distinct predictions, increasing.
    count : (L,) ints
        Number of rows of each.
    lower, upper : (L,) floats
        Bounds of the chance of the event at each, all at once.
    confidence_level : float
    pvalue : float
        Of the hypothesis that the model is calibrated: the smallest alpha at which the diagonal leaves the band.
    digits : int or None
        To how many decimals the predictions of a group agree; None if there are no groups.
    lens : Lens
    n : int
    source : str
    """

    prediction: Floats
    count: Ints
    lower: Floats
    upper: Floats
    confidence_level: float
    pvalue: float
    digits: int | None
    lens: Lens
    n: int
    source: str

    @property
    def rejects_calibration(self) -> bool:
        """Whether the diagonal leaves the band somewhere."""
        return bool(self._outside.any())

    @property
    def rejects_monotonicity(self) -> bool:
        """Whether a lower bound exceeds the upper bound somewhere: then no non-decreasing chance fits."""
        return bool((self.lower > self.upper).any())

    @property
    def maximum_error(self) -> float:
        """Largest distance of chance and prediction that the band allows; NaN if monotonicity is rejected."""
        return self.bounds(np.inf).high

    def bounds(self, q: float = 1) -> ConfidenceInterval:
        r"""Bound an unbinned calibration error, for all q at once with the confidence of the band.

        .. math:: \Big(\frac1n \sum_i |\eta(p_i) - p_i|^q\Big)^{1/q}, \qquad \eta(p) = P(Y = 1 \mid p)

        over the predictions of the sample.

        Parameters
        ----------
        q : float
            At least 1; inf is the largest error.

        Returns
        -------
        ConfidenceInterval
            In units of probability; NaN if monotonicity is rejected.
        """
        check_number("q", q, "1 (ECE), 2 (RMSCE) or inf (maximum)")
        if not q >= 1:
            raise ValueError(f"q is {q!r}, but it must be at least 1: 1 (ECE), 2 (RMSCE) or inf (maximum).")
        if self.rejects_monotonicity:
            return ConfidenceInterval(float("nan"), float("nan"))
        nearest = np.maximum(0.0, np.maximum(self.lower - self.prediction, self.prediction - self.upper))
        farthest = np.maximum(self.prediction - self.lower, self.upper - self.prediction)
        return ConfidenceInterval(self._mean(nearest, q), self._mean(farthest, q))

    def at(self, prediction: ArrayLike) -> tuple[Floats, Floats]:
        """Return the bounds at any predictions, also between those of the sample: the nearest outward ones."""
        asked = np.asarray(prediction, dtype=float)
        low = np.r_[0.0, self.lower][np.searchsorted(self.prediction, asked, side="right")]
        high = np.r_[self.upper, 1.0][np.searchsorted(self.prediction, asked, side="left")]
        return low, high

    @property
    def verdict(self) -> str:
        """One sentence: where the diagonal leaves the band, or no evidence of miscalibration."""
        where = f"through {self.lens!r} (n = {self.n}, p {small_pvalue(self.pvalue)})"
        level = f"{100 * self.confidence_level:g} % band"
        if not self.rejects_calibration:
            return f"No evidence of miscalibration {where}: the diagonal stays inside the {level}."
        found = self.prediction[self._outside]
        spot = f"at {len(found)} of {len(self.prediction)} predictions, {number(found[0])} to {number(found[-1])}"
        return f"Evidence of miscalibration {where}: the diagonal leaves the {level} {spot}."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each distinct prediction."""
        names = ("prediction", "count", "lower", "upper")
        columns = (self.prediction, self.count, self.lower, self.upper)
        return frame([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; errors are None where monotonicity is rejected."""
        rejected = self.rejects_monotonicity
        values: dict[str, Any] = plain(
            {
                "lens": repr(self.lens),
                "n": self.n,
                "source": self.source,
                "confidence_level": self.confidence_level,
                "digits": self.digits,
                "pvalue": self.pvalue,
                "rejects_calibration": self.rejects_calibration,
                "rejects_monotonicity": rejected,
                "maximum_error": None if rejected else self.maximum_error,
                "ece_bounds": None if rejected else list(self.bounds(1)),
                "rmsce_bounds": None if rejected else list(self.bounds(2)),
                "prediction": self.prediction.tolist(),
                "count": self.count.tolist(),
                "lower": self.lower.tolist(),
                "upper": self.upper.tolist(),
            }
        )
        return values

    def __str__(self) -> str:
        rounded = "" if self.digits is None else f"; predictions grouped to {self.digits} digits"
        return "\n".join(
            [
                self.verdict,
                f"  band      {100 * self.confidence_level:g} %, simultaneous, finite-sample, of P(event | prediction) "
                f"if that does not decrease{rounded}",
                *self._errors(),
                "  null      given the prediction, the outcome follows the prediction; all runs of neighbouring "
                "predictions, Bonferroni",
                f"  data      n = {self.n}, {len(self.prediction)} distinct predictions; {self.source}",
            ]
        )

    __repr__ = __str__

    @property
    def _outside(self) -> Array:
        return (self.lower > self.prediction) | (self.upper < self.prediction)

    def _mean(self, sizes: Floats, q: float) -> float:
        if np.isinf(q):
            return float(sizes.max())
        return float(np.average(sizes**q, weights=self.count) ** (1 / q))

    def _errors(self) -> list[str]:
        if self.rejects_monotonicity:
            worst = number(self.prediction[np.argmax(self.lower - self.upper)])
            return [
                "  monotone  evidence that the chance of the event does not increase with the prediction: bounds cross "
                f"at {worst}, so the band bounds no error"
            ]
        level = self.confidence_level
        return [
            f"  largest   the chance is nowhere further than {number(self.maximum_error)} from the prediction "
            f"({100 * level:g} %)",
            f"  ECE       {interval_text(self.bounds(1), level)} (unbinned, of these predictions)",
            f"  RMSCE     {interval_text(self.bounds(2), level)} (unbinned, of these predictions)",
        ]
