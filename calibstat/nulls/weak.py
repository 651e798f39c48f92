"""The weak null of a variable: no error on average at any value of the variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.distributions import EmpiricalNull, NullDistribution
from calibstat.nulls.merging import Restating, merge_cells
from calibstat.nulls.multiplier import Multiplier
from calibstat.predictions import Given
from calibstat.sample import Sample


@final
@dataclass(frozen=True, eq=False)
class LargerPValue(NullDistribution):
    """Two distributions of a statistic; the p-value is the larger of theirs.

    Parameters
    ----------
    redraw : EmpiricalNull
        Under labels drawn anew.
    multiplier : EmpiricalNull
        Under signs multiplied into residuals.
    """

    redraw: EmpiricalNull
    multiplier: EmpiricalNull

    @property
    def samples(self) -> Floats:
        """The values under redrawn labels: (R, ...)."""
        return self.redraw.samples

    def pvalue(self, value: float) -> float:
        """Return the larger p-value."""
        return self._larger(value).pvalue(value)

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return the Monte Carlo interval of the larger p-value."""
        return self._larger(value).pvalue_interval(value, confidence_level)

    def quantile(self, q: float) -> Floats:
        """Return the larger quantile."""
        return np.maximum(self.redraw.quantile(q), self.multiplier.quantile(q))

    @property
    def mean(self) -> Floats:
        """The mean under redrawn labels: what noise alone gives."""
        return self.redraw.mean

    @property
    def floor(self) -> float:
        """One over the number of replicates plus one."""
        return self.redraw.floor

    @property
    def description(self) -> str:
        """The number of resamples, twice."""
        return f"{self.redraw.description} of each kind"

    def _larger(self, value: float) -> EmpiricalNull:
        first = self.redraw.pvalue(value) >= self.multiplier.pvalue(value)
        return self.redraw if first else self.multiplier


@final
@dataclass(frozen=True)
class Weak(Restating):
    r"""The weak null of a lens that conditions on a variable: E[outcome - prediction | variable] = 0.

    The strong null, `Consistency`, says that the outcome follows the prediction at every value of the variable *and*
    of the prediction; its redraws of labels reject 35 to 46 % of worlds that satisfy only the weak null. The
    multiplier needs no more than the weak null but rejects too often for rare events and small n. The p-value here is
    the larger of that of redrawn labels and that of centred signs (`Multiplier`, centred over all rows, never cell by
    cell). Asymptotic; measured size 1 to 7.5 % at level 5 % in worlds that satisfy the weak null.

    Neighbouring cells are merged until each expects `min_expected` events and as many non-events; the result says how
    many remain.

    Parameters
    ----------
    n_resamples : int
        Of each kind.
    groups : str, optional
        The name of the variable of clusters: one sign for each; labels are then not redrawn.
    min_expected : float

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.nulls.weak import Weak
    >>> rng = np.random.default_rng(0)
    >>> age, chance = rng.random(2000), rng.random(2000)
    >>> happened = rng.random(2000) < 0.5 + 0.5 * (chance - 0.5)  # too bold at every age, right on average
    >>> sample = cs.Sample(happened, chance, variables={"age": age})
    >>> cs.calibration_test(sample, cs.VECE("age"), null=Weak(), rng=0).pvalue > 0.05
    True
    """

    n_resamples: int = 999
    groups: str | None = None
    min_expected: float = 10

    def __post_init__(self) -> None:
        at_least_one("n_resamples", self.n_resamples)
        if not self.min_expected >= 0:
            raise ValueError(f"min_expected is {self.min_expected!r}; it must be at least 0, for example 10.")

    def restate(self, estimator: Estimator, sample: Sample) -> tuple[Estimator, str]:
        """Merge cells that expect too few events or non-events."""
        if ... in sample.predictions.given:
            raise ValueError(
                "Weak() is about the mean residual given a variable alone, but this lens conditions on the prediction, "
                "where there is one null: use Consistency(), or look through Given('a variable')."
            )
        return merge_cells(estimator, sample, self.min_expected)

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> NullDistribution:
        """Redraw labels, and multiply centred signs into residuals."""
        multiplier = Multiplier(self.n_resamples, self.groups, centred=True)
        if self.groups is not None:
            return multiplier.draw(estimator, sample, rng, evaluator)
        evaluator = evaluator or estimator.prepare(sample.predictions)
        redraw = Consistency(self.n_resamples).draw(estimator, sample, rng, evaluator)
        return LargerPValue(redraw, multiplier.draw(estimator, sample, rng, evaluator))

    def hypothesis(self, lens: Lens, given: Given) -> str:
        """Say what was assumed: no error on average at any value."""
        names = " and ".join(map(repr, given))
        how = (
            "p is the larger of that of redrawn labels and that of centred random signs (asymptotic)"
            if self.groups is None
            else f"one centred random sign for each value of {self.groups!r} (asymptotic: at least 500 rows; the exact "
            "null draws rows independently: not available for clusters)"
        )
        return f"given {names} alone, the mean of outcome - prediction seen through {lens!r} is zero (weak null); {how}"
