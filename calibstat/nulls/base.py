"""Nulls: what is assumed, and the distribution that a statistic has under it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TypeVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._text import counted
from calibstat.data.arrays import Array, Bools, Floats
from calibstat.data.groups import Groups
from calibstat.data.parameters import HasParameters
from calibstat.data.rounding import TIE_SHARE
from calibstat.data.sample import GivenNames, Sample
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens


class Null(HasParameters, ABC):
    """A null hypothesis, with a method that draws or computes the distribution of a statistic under it."""

    in_messages: ClassVar[str] = "a null, such as Consistency(999)"

    joint: ClassVar[bool] = True
    """Whether several numbers can be drawn on the same replicates; False for a null that judges a single number."""
    by_signs: ClassVar[bool] = False
    """Whether replicates are made by signs of the residuals."""
    n_resamples: int | None = None
    """How many replicates are drawn; None where nothing is drawn, or the number is not known before."""
    takes_counts: ClassVar[bool] = False
    """Whether rows may each stand for several, of equal predictions (`Predictions.counts`)."""
    takes_buckets: ClassVar[bool] = False
    """Whether rows may be buckets of rows (`Predictions.buckets`), for p-values that are then about right."""
    takes_clusters: ClassVar[bool] = False
    """Whether rows of a cluster (`Sample.groups`) may depend on each other."""

    @abstractmethod
    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> NullDistribution:
        """Return the distribution of the estimator under the null, on samples like this one.

        Parameters
        ----------
        estimator : Estimator
            Without a lens of its own: the caller has already looked through it.
        sample : Sample
            As seen through the lens.
        rng : Generator
            The source of all draws.
        evaluator : Evaluator, optional
            The estimator, prepared on the sample's predictions, if the caller has it already.
        """

    @abstractmethod
    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:
        """Return the sentence that says what was tested, of rows in such clusters; it is printed with every p-value."""


class Restating(Null):
    """A null that is tested with a version of the statistic that suits it."""

    @abstractmethod
    def restate(self, estimator: Estimator, sample: Sample) -> tuple[Estimator, str]:
        """Return the statistic to use and a note for the result, "" if it is the one that was asked for."""


def strong_hypothesis(lens: Lens, given: GivenNames, how: str) -> str:
    """Return the sentence of a null under which the outcome follows the prediction; `how` names the computation."""
    names = [repr(name) for name in given if name is not ...]
    beside = f" and {' and '.join(names)} (the strong null)" if names else ""
    return f"given the prediction{beside}, the outcome seen through {lens!r} follows the prediction; {how}"


# A law in closed form is shown by so many quantiles, in the middles of equal shares.
_QUANTILES = 500


class NullDistribution(ABC):
    """The distribution of a statistic under a null hypothesis."""

    pooled: PooledData | None = None
    """Where replicates are of pooled rows: what the data give, pooled alike."""
    whole_cells: bool = False
    """Whether sums over cells were drawn from laws that are nearly those of rows."""

    @abstractmethod
    def pvalue(self, value: float) -> float:
        """Return P(statistic at least as extreme as `value`) under the null."""

    @abstractmethod
    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return an interval for the p-value without Monte Carlo error (a point if there is no such error)."""

    @abstractmethod
    def quantile(self, q: float) -> Floats:
        """Return the q-quantile of the statistic under the null."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The mean of the statistic under the null."""

    @property
    @abstractmethod
    def floor(self) -> float:
        """The smallest p-value this distribution can give."""

    @property
    @abstractmethod
    def description(self) -> str:
        """How the distribution was computed, for texts: "999 resamples", "exact"."""

    def atoms(self) -> tuple[Floats, Floats]:
        """Return values (m,) and masses (m,) that stand for the law of one number in a picture."""
        shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        return np.array([self.quantile(q) for q in shares]), np.full(_QUANTILES, 1 / _QUANTILES)

    @property
    def replicates(self) -> tuple[EmpiricalNull, ...]:
        """The kinds of replicates, for joint tests of several numbers; none by default."""
        return ()

    @property
    def monte_carlo(self) -> bool:
        """Whether p-values have a Monte Carlo error, which they have if replicates were drawn."""
        return True


@final
@dataclass(frozen=True, eq=False)
class PooledData:
    """The value of the data with rows pooled to cells, as replicates have them, and the value of all rows.

    A test compares replicates with the former; a value of rows that is not the data's is moved by the difference. It is
    `exact` if rows of a cell have equal predictions, so that the two values are the same.
    """

    n_cells: int
    value: Floats
    of_rows: Floats
    exact: bool = False

    def counterpart(self, value: Any) -> Floats:
        """Return what a value of rows is compared by."""
        with np.errstate(invalid="ignore"):  # infinite values
            moved = value + (self.value - self.of_rows)
        return np.where(value == self.of_rows, self.value, np.where(np.isfinite(moved), moved, value))

    @property
    def note(self) -> str:
        """What replicates compare, in words; nothing where that is the value of all rows."""
        if self.exact:
            return ""
        several = np.ndim(self.value) > 0
        compare = "p-values compare" if several else "the p-value compares"
        return (
            f"{compare} rows pooled to {counted(self.n_cells, 'cell')} of nearly equal predictions, the data and the "
            f"redrawn labels alike, and {'are' if several else 'is'} exact for them; the value is of all rows"
        )


@final
@dataclass(frozen=True, eq=False)
class EmpiricalNull(NullDistribution):
    """Replicates drawn under the null.

    Parameters
    ----------
    samples : (R, ...) floats
        Value of the statistic in each replicate.
    evidence : callable
        Orders values: larger is stronger evidence against the null.
    typical : float, optional
        A typical size of evidence under the null, which sets the tolerance for ties; by default from these replicates.
    pooled : PooledData, optional
        Where replicates are of pooled rows: what the data give, pooled alike.
    whole_cells : bool
        Whether sums over cells were drawn from laws that are nearly those of rows, which the description then says.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> cs.EmpiricalNull(np.array([0.1, 0.3, 0.2]), np.abs).pvalue(0.25)
    0.5
    """

    samples: Floats
    evidence: Callable[[Floats], Floats]
    typical: float | None = None
    pooled: PooledData | None = None
    whole_cells: bool = False

    def atoms(self) -> tuple[Floats, Floats]:
        """Return the replicates, which are equally likely."""
        return self.samples, np.full(len(self.samples), 1 / len(self.samples))

    @property
    def replicates(self) -> tuple[EmpiricalNull, ...]:
        """The replicates themselves, as the only kind."""
        return (self,)

    def exceedances(self, value: float) -> int:
        """Count the replicates at least as extreme as `value`, ties included; NaN counts as extreme, to be safe."""
        return int(np.count_nonzero(self.exceeds(value)))

    def exceeds(self, value: float) -> Bools:
        """Return which replicates are at least as extreme as `value`: (R,)."""
        compared = value if self.pooled is None else self.pooled.counterpart(value)
        observed = float(self.evidence(np.asarray(compared, dtype=float)))
        return ~(self._ordered < observed - tie_slack(observed, self.typical_evidence))

    @cached_property
    def typical_evidence(self) -> float:
        """A typical size of evidence under the null."""
        return typical_size(self._ordered) if self.typical is None else self.typical

    @cached_property
    def _ordered(self) -> Floats:
        return np.asarray(self.evidence(self.samples))

    def pvalue(self, value: float) -> float:
        """Return the share of replicates at least as extreme, the data among them: `monte_carlo_pvalue`."""
        return monte_carlo_pvalue(self.exceedances(value), len(self.samples))

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the exceedance probability."""
        count, n_resamples, tail = self.exceedances(value), len(self.samples), (1 - confidence_level) / 2
        low = float(special.betaincinv(count, n_resamples - count + 1, tail)) if count > 0 else 0.0
        high = float(special.betaincinv(count + 1, n_resamples - count, 1 - tail)) if count < n_resamples else 1.0
        return low, high

    def quantile(self, q: float) -> Floats:
        """Return the empirical quantile over the replicates, ignoring NaN (empty cells)."""
        columns = self.samples.reshape(len(self.samples), -1)
        quantiles = np.full(columns.shape[1], np.nan)
        known = ~np.isnan(columns).all(axis=0)
        quantiles[known] = np.nanquantile(columns[:, known], q, axis=0)
        return quantiles.reshape(self.samples.shape[1:])

    @property
    def mean(self) -> Floats:
        """The mean over the replicates, ignoring NaN as quantiles do."""
        return mean_of_known(self.samples)

    @property
    def floor(self) -> float:
        """One over the number of replicates plus one."""
        return monte_carlo_pvalue(0, len(self.samples))

    @property
    def description(self) -> str:
        """The number of resamples, and whether they are of whole cells."""
        return counted(len(self.samples), "resample") + (" of whole cells" if self.whole_cells else "")


def mean_of_known(samples: Floats) -> Floats:
    """Return the mean over replicates (R, ...), ignoring NaN; NaN where no replicate has a value."""
    known = ~np.isnan(samples)
    total = np.where(known, samples, 0.0).sum(axis=0)
    return np.divide(total, known.sum(axis=0), out=np.full(total.shape, np.nan), where=known.any(axis=0))


# Ties (values that differ only by rounding), and the p-values of draws.

# Most replicates are at most this large; the largest ones may exceed it by any factor.
_SHARE_OF_MOST = 0.75
_Value = TypeVar("_Value", float, Floats)


def tie_slack(values: _Value, typical: float) -> _Value:
    """Return how far below evidence another value may lie and still count as tied: 1e-9 of the larger of the two sizes.

    The typical size of evidence under the null, `typical`, matters because a value near zero may be the difference of
    numbers of that size. The tolerance scales with the statistic, and ties never make a p-value too small.

    >>> tie_slack(3.0, 0.5), tie_slack(0.0, 0.5), tie_slack(float("inf"), 0.5)
    (3.0000000000000004e-09, 5e-10, 0.0)
    """
    finite = np.isfinite(values)
    found = np.where(finite, TIE_SHARE * np.maximum(np.abs(np.where(finite, values, 0.0)), typical), 0.0)
    return found if isinstance(values, np.ndarray) else float(found)


def typical_size(values: Array, masses: Array | None = None) -> float:
    """Return the upper quartile of absolute values (m,), of equal masses by default; 0 if none is finite.

    >>> typical_size(np.array([0.0, -1.0, 2.0, np.nan])), typical_size(np.array([0.0, 9.0]), np.array([0.8, 0.2]))
    (2.0, 0.0)
    """
    kept = np.isfinite(values)
    sizes = np.abs(values[kept])
    if not len(sizes):
        return 0.0
    order = np.argsort(sizes)
    reached = np.cumsum(np.ones(len(sizes)) if masses is None else masses[kept][order])
    return float(sizes[order][np.searchsorted(reached, _SHARE_OF_MOST * reached[-1])])


def monte_carlo_pvalue(exceedances: _Value, n_resamples: int) -> _Value:
    """Return the p-value of data whose evidence that many of R draws reach: (1 + exceedances) / (1 + R), never zero.

    Counting the data as one of the R + 1 equally likely sets makes the test exact (Barnard 1963; Davison & Hinkley
    1997, Section 4.2; Phipson & Smyth 2010).

    >>> monte_carlo_pvalue(0, 999), monte_carlo_pvalue(49, 999)
    (0.001, 0.05)
    """
    return (1 + exceedances) / (1 + n_resamples)
