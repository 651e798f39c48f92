"""Which cells, and which measure on them, fit a question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from inspect import signature
from operator import mul
from types import EllipsisType
from typing import Any

import calibstat
from calibstat.binnings.base import Binning
from calibstat.binnings.categories import Categories
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.equal_width import EqualWidth
from calibstat.binnings.variance_tree import VarianceTree
from calibstat.cli.names import TWO_OUTCOMES, UNCONDITIONAL
from calibstat.estimators.base import Estimator
from calibstat.predictions import Predictions


@dataclass(frozen=True)
class Cutting:
    """What the user said about cells and measure.

    Parameters
    ----------
    n_bins : int, optional
        None leaves it to the question.
    equal_width : bool
    estimator : str, optional
        The public name of an estimator; None leaves it to the question.

    Raises
    ------
    ValueError
        If cells are asked for of an estimator that has none.
    """

    n_bins: int | None = None
    equal_width: bool = False
    estimator: str | None = None

    def __post_init__(self) -> None:
        if self.n_bins is not None and not self._takes("binning", "n_bins"):
            raise ValueError(f"--bins {self.n_bins}: {self.estimator} has no cells; leave out --bins")
        if self.equal_width and not self._takes("binning"):
            raise ValueError(f"--binning equal-width: {self.estimator} has no cells to choose; leave it out")

    @property
    def two_outcomes(self) -> bool:
        """Whether the estimator is for two outcomes only."""
        return self.estimator in TWO_OUTCOMES

    def measure(self, n_outcomes: int, n: int) -> Estimator:
        """Measure miscalibration given the prediction, of which `n_outcomes` are seen at once in `n` rows."""
        if n_outcomes == 2:
            return self._build("ECE", self._interval(15))
        return self._build("ExpectedMiscalibration", self._simplex(n))

    def measure_given(
        self, names: tuple[str | EllipsisType, ...], n_outcomes: int, predictions: Predictions
    ) -> Estimator:
        """Measure miscalibration given variables (Kelly & Smyth 2023), and the prediction where ``...`` is named."""
        if self.estimator in UNCONDITIONAL:
            asked = ",".join("prediction" if name is ... else name for name in names)
            raise ValueError(
                f"--given {asked}: {self.estimator} is the same whatever is conditioned on; leave out --given, or take "
                "an estimator that conditions on it, such as ECE"
            )
        factors = [self._factor(name, n_outcomes, predictions) for name in names]
        return self._build("ECE", reduce(mul, factors))

    def _factor(self, name: str | EllipsisType, n_outcomes: int, predictions: Predictions) -> Binning:
        if name is ... and n_outcomes > 2:
            return self._simplex(len(predictions))
        if name is not ... and name in predictions.variables and predictions.column(name).categorical:
            return Categories()
        return self._interval(10)

    def _interval(self, default: int) -> Binning:
        n_bins = default if self.n_bins is None else self.n_bins
        return EqualWidth(n_bins) if self.equal_width else EqualMass(n_bins)

    def _simplex(self, n: int) -> Binning:
        return VarianceTree(max(20, n // 20) if self.n_bins is None else max(2, n // self.n_bins))

    def _build(self, default: str, binning: Binning) -> Estimator:
        """Make the estimator, on these cells if it takes any; by its own defaults otherwise."""
        chosen: Any = getattr(calibstat, self.estimator or default)
        made: Estimator
        if self._takes("binning"):
            made = chosen(binning)
        else:
            made = chosen() if self.n_bins is None else chosen(n_bins=self.n_bins)
        return made

    def _takes(self, *arguments: str) -> bool:
        """Whether the estimator has one of these arguments; that of the question has cells."""
        if self.estimator is None:
            return "binning" in arguments
        return not set(arguments).isdisjoint(signature(getattr(calibstat, self.estimator)).parameters)
