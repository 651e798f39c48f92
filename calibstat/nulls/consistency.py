"""Consistency resampling: labels drawn anew from the predictions."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Floats
from calibstat.data.groups import Groups
from calibstat.data.parameters import Count, Draws
from calibstat.data.sample import GivenNames, Sample
from calibstat.draws.labels import redraw_labels
from calibstat.draws.pooled import pool_rows
from calibstat.draws.streams import Streams
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens
from calibstat.nulls.base import EmpiricalNull, Null, NullDistribution, PooledData, strong_hypothesis


@final
@dataclass(frozen=True)
class Consistency(Null):
    """Draw every label anew from its prediction.

    With the predictions kept (the default) the test is exact for every statistic and every n: under calibration the
    labels are independent draws from the predictions (Barnard 1963; Besag & Clifford 1989). With
    ``resample_predictions=True`` the predictions are first drawn with replacement, and cells are cut again on every
    resample (Broecker & Smith 2007; Vaicenavicius et al. 2019, Section 4.2): the published version, which is not exact
    (measured size 4 to 8 % at level 5 % for n = 30 to 100).

    Parameters
    ----------
    n_resamples : int
        The p-value is at least 1 / (1 + n_resamples).
    resample_predictions : bool
        Whether the predictions are drawn anew too.
    shortcuts : bool
        Whether sums over cells may be drawn directly, at a cost that does not grow with n, for estimators that depend
        on nothing else: exactly, except for the squared residuals of `DebiasedL2` with more than 3000 rows, which are
        normal given the counts of events. With 20 000 rows or more, statistics along one column of two classes are
        drawn of rows pooled to 256 to 1024 cells of nearly equal predictions, and compared with the data pooled alike:
        the test is exact, and the result says so. False always draws labels.

    Raises
    ------
    ValueError, TypeError
        If `n_resamples` is not an integer of at least 1, or another argument is not a boolean.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([1, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    >>> null = cs.Consistency(9999).draw(cs.ECE(cs.FixedEdges([0, 1])), sample, cs.as_generator(0))
    >>> abs(null.pvalue(0.5) - 1 / 8) < 0.02
    True
    """

    n_resamples: Draws = 999
    resample_predictions: bool = False
    shortcuts: bool = True

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether predictions are kept."""
        return not self.resample_predictions

    @property
    def takes_buckets(self) -> bool:  # type: ignore[override]
        """Whether predictions are kept."""
        return not self.resample_predictions

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> EmpiricalNull:
        """Evaluate the estimator on each set of drawn labels."""
        from calibstat.draws.whole_cells import (
            redraw_predictions,
            redraw_squares,
        )  # tests that compute their law need none of this

        if self.resample_predictions:
            values = redraw_predictions(estimator, sample, self.n_resamples, rng, self.shortcuts, evaluator)
            return EmpiricalNull(values, estimator.evidence)
        evaluator = evaluator or estimator.prepare(sample.predictions)
        whole = redraw_squares(evaluator, self.n_resamples, rng) if self.shortcuts else None
        if whole is not None:
            return EmpiricalNull(whole, estimator.evidence, whole_cells=True)
        cells = pool_rows(estimator, sample.predictions) if self.shortcuts else None
        values = redraw_labels(cells or evaluator, sample, self.n_resamples, rng, self.shortcuts)
        if cells is None:
            return EmpiricalNull(values, estimator.evidence)
        data = PooledData(cells.n_cells, cells(sample.outcomes), evaluator.of(sample), cells.exact)
        return EmpiricalNull(values, estimator.evidence, pooled=data)

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:  # noqa: ARG002
        """Say what was assumed: labels drawn from the predictions."""
        how = "labels drawn from the predictions, which are kept (exact)"
        if self.resample_predictions:
            how = "predictions drawn with replacement, labels drawn from them (not exact)"
        return strong_hypothesis(lens, given, how)


_FIRST = 63
_FACTOR = 4


@final
@dataclass(frozen=True, eq=False)
class StoppedNull(NullDistribution):
    """Replicates drawn until `exceedances` of them were as extreme as the data: the last drawn is the last of these."""

    drawn: EmpiricalNull
    exceedances: int

    @property
    def samples(self) -> Floats:
        """The values drawn: (R, ...)."""
        return self.drawn.samples

    @property
    def whole_cells(self) -> bool:  # type: ignore[override]
        """Whether sums over cells were drawn."""
        return self.drawn.whole_cells

    @property
    def pooled(self) -> PooledData | None:  # type: ignore[override]
        """What the data give, pooled as the replicates."""
        return self.drawn.pooled

    def pvalue(self, value: float) -> float:
        """Return h / l if the h-th exceedance came at draw l, the last, else (1 + exceedances) / (1 + draws)."""
        return self.exceedances / len(self.samples) if self._stopped(value) else self.drawn.pvalue(value)

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return the exact interval under inverse binomial sampling, or Clopper-Pearson if all were drawn."""
        if not self._stopped(value):
            return self.drawn.pvalue_interval(value, confidence_level)
        low, _ = self.drawn.pvalue_interval(value, confidence_level)
        # the last draw is known to be an exceedance, so the upper end is that of one exceedance and one draw fewer
        if len(self.samples) == self.exceedances:
            return low, 1.0
        fewer = replace(self.drawn, samples=self.samples[:-1], typical=self.drawn.typical_evidence)
        return low, fewer.pvalue_interval(value, confidence_level)[1]

    def atoms(self) -> tuple[Floats, Floats]:
        """Return what was drawn."""
        return self.drawn.atoms()

    def quantile(self, q: float) -> Floats:
        """Return the empirical quantile of what was drawn."""
        return self.drawn.quantile(q)

    @property
    def mean(self) -> Floats:
        """The mean of what was drawn."""
        return self.drawn.mean

    @property
    def floor(self) -> float:
        """One over the number of draws plus one."""
        return self.drawn.floor

    @property
    def description(self) -> str:
        """The number of resamples, and that drawing may have stopped early."""
        return f"{self.drawn.description}, stopping at {self.exceedances} exceedances"

    def _stopped(self, value: float) -> bool:
        return self.drawn.exceedances(value) >= self.exceedances


@final
@dataclass(frozen=True)
class Sequential(Null):
    """Redraw labels until `exceedances` of the values are as extreme as the observed one (Besag & Clifford 1991).

    Exact like `Consistency`, with the same draws. It stops after some tens of draws if there is little evidence against
    the model, and takes as many draws as a small p-value needs.

    Parameters
    ----------
    n_resamples : int
        The largest number of draws.
    exceedances : int
        10 to 20; the relative error of a large p-value is about one over its root.

    Raises
    ------
    ValueError, TypeError
        If one of the two is not an integer of at least 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.nulls.consistency import Sequential
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> sample = cs.Sample(rng.random(500) < p, p)
    >>> result = cs.calibration_test(sample, cs.ECE(), null=Sequential(99_999), rng=0)
    >>> len(result.null_distribution.samples) < 1000
    True
    """

    n_resamples: Draws = 9999
    exceedances: Count = 20
    joint: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True
    takes_buckets: ClassVar[bool] = True

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> StoppedNull:
        """Draw four times as many replicates each time, from the same streams, until there are enough exceedances."""
        evaluator = evaluator or estimator.prepare(sample.predictions)
        value = float(evaluator.of(sample))
        most, size = self.n_resamples, min(_FIRST, self.n_resamples)
        start = deepcopy(rng)
        Streams(rng)  # moves the caller's generator on, as a single draw would
        typical: float | None = None  # from the first draws: ties must not depend on the number of later draws
        while True:
            drawn = replace(Consistency(size).draw(estimator, sample, deepcopy(start), evaluator), typical=typical)
            typical = drawn.typical_evidence
            exceeds = drawn.exceeds(value)
            if size == most or np.count_nonzero(exceeds) >= self.exceedances:
                # all draws up to the last exceedance that counts
                reached = np.flatnonzero(np.cumsum(exceeds) >= self.exceedances)
                kept = drawn.samples[: reached[0] + 1] if len(reached) else drawn.samples
                return StoppedNull(replace(drawn, samples=kept, typical=typical), self.exceedances)
            size = min(_FACTOR * (size + 1) - 1, most)

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:  # noqa: ARG002
        """Say what was assumed, and that drawing stops."""
        return f"{Consistency(self.n_resamples).hypothesis(lens, given)}; stopped at {self.exceedances} exceedances"
