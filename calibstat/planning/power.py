"""How often a test rejects a model: the simulation behind every plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from calibstat.estimators.base import Estimator
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import without_warnings
from calibstat.inference.testing import calibration_test
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.progress import track
from calibstat.sample import Sample

PValue: TypeAlias = Callable[[Sample, np.random.Generator], float]

# So many of the redraws may exceed the data where the test still rejects.
_EXCEEDANCES = 10


@dataclass(frozen=True)
class PlannedTest:
    """A test at a level, as it will be done.

    Parameters
    ----------
    test : Estimator or callable
        The statistic of `calibration_test`, or a function (sample, rng) that returns a p-value.
    level : float
    null : Null, optional
        Of `calibration_test`; by default labels are redrawn as often as the level needs (199 times for 0.05).
    """

    test: Estimator | PValue
    level: float
    null: Null | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level is {self.level!r}, but it must lie between 0 and 1: for example 0.05")
        if not isinstance(self.test, Estimator) and not callable(self.test):
            raise TypeError(f"test is {self.test!r}, but an estimator, or a function of (sample, rng), is expected")

    @property
    def redraws(self) -> Null:
        """The null that p-values are had from."""
        return Consistency(ceil(_EXCEEDANCES / self.level) - 1) if self.null is None else self.null

    def pvalue(self, sample: Sample, rng: np.random.Generator) -> float:
        """Test a sample."""
        if isinstance(self.test, Estimator):
            return calibration_test(sample, self.test, null=self.redraws, rng=rng).pvalue
        found: Any = self.test(sample, rng)
        if not isinstance(found, Real) or not 0 <= float(found) <= 1:
            raise ValueError(
                f"the test {self} returned {found!r} for a sample of {len(sample)} rows, but a p-value between 0 and 1 "
                "is expected: return 1.0 where the test cannot be done"
            )
        return float(found)

    def rejections(self, model: SyntheticModel, n: int, runs: int, rng: np.random.Generator) -> int:
        """Count rejections in fresh samples of n rows; where the search begins, cells may hold few of them."""
        with without_warnings():
            found = [self.pvalue(model.sample(n, rng), rng) <= self.level + 1e-12 for _ in track(range(runs), runs)]
        return int(np.count_nonzero(found))

    def __str__(self) -> str:
        if isinstance(self.test, Estimator):
            return f"calibration_test of {self.test!r}"
        return getattr(self.test, "__name__", repr(self.test))
