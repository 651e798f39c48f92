"""Sums of one number for each row: their law under redrawn labels, computed without drawing any."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Cells
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints
from calibstat.data.groups import Groups
from calibstat.data.rounding import ROUNDING, SMALLEST_PVALUE
from calibstat.data.sample import GivenNames, Sample
from calibstat.draws.poisson_binomial import CellCounts, fast_length, reach_of_sum, three_chances
from calibstat.estimators.base import Estimator, Evaluator, Extreme
from calibstat.lenses.base import Lens
from calibstat.nulls._exact_sums import CERTAINLY_ZERO, NOISE, Atoms, common_divisor, enumerate_sum, pooled
from calibstat.nulls.base import Null, NullDistribution, strong_hypothesis, tie_slack

# Few rows are enumerated: two halves of them with at most so many combinations each.
_COMBINATIONS, _ROWS_TO_ENUMERATE = 2**17, 64
# More rows of two classes are pooled to cells by their chance (its root, so that cells are finer near 0 and 1) and by
# their number; each cell keeps its variance.
_ROWS_TO_POOL, _CHANCES, _SIZES = 4096, 192, 32
# A saddlepoint is used up to this relative error, the largest of those so many standard deviations from the mean: the
# terms of second order may cancel at any one of them, and where few rows have most of the variance they do.
_LARGEST_ERROR, _LOOKED_AT = 0.01, (0.5, 1.0, 2.0)
# Below so many standard deviations digits of the formula cancel, and it is straight between both ends.
_CENTRE = 0.03
_STEPS_OF_NEWTON, _SOLVED = 60, 1e-7
# The law is tabulated at so many tilts, up to about so many standard deviations.
_TILTS, _FARTHEST = 40, 6.0
# The waves of a sum: so many numbers and frequencies, and how many turns of the largest number are looked at.
_WAVE_NUMBERS, _WAVES, _TURNS, _WAVE_PAIRS = 2**10, 2**14, 128, 2**18
# A lattice has at most so many points, and so many different rows.
_LATTICE, _DIFFERENT = 2**14, 256
# A sum of rare events is rounded to so many points; where more rows than these are not rare, or the variance of their
# number is larger, it is not.
_POINTS, _ODDS, _NOT_RARE, _EVENTS = 2**18, 1 / 3, 16, 200.0
# Roundings reach so many of their standard deviations.
_ROUNDED, _SMALLEST_OF_ROUNDED = 4.0, 1e-10
# Powers of odds up to 1/3 are added until they are negligible.
_TERMS, _NEGLIGIBLE = 40, 1e-19


class Tail(NamedTuple):
    """A probability between two bounds."""

    low: float
    value: float
    high: float

    def plus(self, other: Tail) -> Tail:
        """Add the probability of the other end."""
        return Tail(*(min(1.0, one + another) for one, another in zip(self, other, strict=True)))


class SumLaw(ABC):
    """The law of a sum: `mean`, standard `deviation`, and the probabilities of both ends."""

    mean: float
    deviation: float
    floor: float
    description: str

    @abstractmethod
    def at_least(self, total: float) -> Tail:
        """Return P(sum >= total)."""

    @abstractmethod
    def at_most(self, total: float) -> Tail:
        """Return P(sum <= total)."""

    @abstractmethod
    def points(self) -> tuple[Floats, Floats]:
        """Return values and masses that stand for the law."""


@final
@dataclass(frozen=True, eq=False)
class LinearNull(NullDistribution):
    """The law of a statistic that is a sum of one number for each row; `extreme` says which values are evidence."""

    law: SumLaw
    extreme: Extreme
    monte_carlo: ClassVar[bool] = False

    def pvalue(self, value: float) -> float:
        """Return P(statistic at least as extreme as `value`), ties included."""
        return max(self.floor, self._beyond(value).value)

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:  # noqa: ARG002
        """Return the p-value with its relative error to either side, or rigorous bounds; a point where it is exact."""
        found = self._beyond(value)
        return found.low, max(self.floor, found.high)

    def quantile(self, q: float) -> Floats:
        """Return the smallest value v with P(statistic <= v) >= q."""
        values, masses = self._points
        reached = np.cumsum(masses)
        return np.asarray(values[min(int(np.searchsorted(reached, q * reached[-1] - ROUNDING)), len(values) - 1)])

    @property
    def mean(self) -> Floats:
        """The mean, which is exact."""
        return np.asarray(self.law.mean)

    @property
    def floor(self) -> float:
        """The smallest p-value that the law gives accurately."""
        return self.law.floor

    @property
    def description(self) -> str:
        """How the law was computed."""
        return self.law.description

    def atoms(self) -> tuple[Floats, Floats]:
        """Return values and masses that stand for the law."""
        return self._points

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        return self.law.points()

    def _beyond(self, value: float) -> Tail:
        """Return P(statistic at least as extreme)."""
        mean, gap = self.law.mean, value - self.law.mean
        slack = tie_slack(gap, self.law.deviation)
        if self.extreme == "large":
            return self.law.at_least(value - slack)
        if self.extreme == "small":
            return self.law.at_most(value + slack)
        reach = abs(gap) - slack
        if not reach > 0:
            return Tail(1.0, 1.0, 1.0)
        return self.law.at_least(mean + reach).plus(self.law.at_most(mean - reach))


@final
@dataclass(frozen=True, eq=False)
class AtomSum(SumLaw):
    """A sum of two independent parts with finitely many values, both rounded together by at most `rounding`."""

    first: Atoms
    second: Atoms
    mean: float
    rounding: float = 0.0
    floor: float = SMALLEST_PVALUE

    @property
    def description(self) -> str:  # type: ignore[override]
        """Whether p-values are exact or upper bounds."""
        return "exact bound" if self.rounding else "exact"

    @cached_property
    def deviation(self) -> float:  # type: ignore[override]
        """The standard deviation."""
        return math.sqrt(self.first.variance + self.second.variance)

    def at_least(self, total: float) -> Tail:
        """Add up what the larger part must reach for each value of the smaller one."""
        return self._tail(self.first, self.second, total)

    def at_most(self, total: float) -> Tail:
        """Mirror the law, so that small probabilities keep their digits."""
        return self._tail(*self._mirrored, -total)

    def points(self, n_atoms: int = 512) -> tuple[Floats, Floats]:
        """Return values and masses in increasing order; where there are many, neighbours are merged."""
        parts = [each.compressed(n_atoms) for each in (self.first, self.second)]
        both = (
            enumerate_sum(parts)
            if len(self.second.values) > 1
            else self.first.map(lambda values: values + self.second.values[0])
        )
        return both.values, both.masses

    @cached_property
    def _mirrored(self) -> tuple[Atoms, Atoms]:
        one, other = (Atoms(-each.values[::-1], each.masses[::-1]) for each in (self.first, self.second))
        return one, other

    def _tail(self, first: Atoms, second: Atoms, total: float) -> Tail:
        def at(threshold: float) -> float:
            return min(1.0, float(second.masses @ first.tail(threshold - second.values)))

        if not self.rounding:
            return Tail(at(total), at(total), at(total))
        return Tail(at(total + self.rounding), at(total - self.rounding), at(total - self.rounding))


class Cumulants(NamedTuple):
    """The logarithm of the moment generating function at a point, and its first four derivatives."""

    value: float
    slope: float
    bend: float
    third: float
    fourth: float


@final
@dataclass(frozen=True, eq=False)
class LinearSum:
    """Independent numbers whose sum, with its mean, is the statistic: one of each row that leaves something to chance.

    Of two outcomes, `two` has what the second adds to the first (m,), and its chance (m,); of more, `several` has all.
    `counts` (m,) of `two` say how many rows each stands for, if they do.
    """

    mean: float
    two: tuple[Floats, Floats] | None = None
    several: RowSums | None = None
    counts: Floats | None = None

    @classmethod
    def of(
        cls, table: Floats, chances: Floats, counts: Floats | None = None, powers: Floats | None = None
    ) -> LinearSum | None:
        """Take what each outcome of a row adds (K, n), and its chances (n, K); None where something may be infinite.

        Rows may stand for several each, `counts` (n,), which add that together; of two outcomes they may have different
        chances, of which `powers` tell (`Predictions.powers`).
        """
        masses, counts = chances.T, np.ones(len(chances)) if counts is None else counts
        if len(table) == 2 and (counts == 1).all():
            return cls._of_two(table, masses[1])
        table = table / counts
        values = np.where(masses > 0, table, 0.0)
        means = (masses * values).sum(axis=0)
        if not np.isfinite(means).all():
            return None
        values = np.where(masses > 0, values - means, 0.0)
        moves = (masses * np.abs(values)).sum(axis=0) > 0
        values, masses = values[:, moves], np.ascontiguousarray(masses[:, moves])
        mean, counts = float(counts @ means), counts[moves]
        if len(table) > 2:
            return cls(mean, several=RowSums(values, masses, counts))
        size, chance = values[1] - values[0], masses[1]
        if powers is not None and _alike(np.abs(size)):
            chance, counts = three_chances(chance, counts, powers[moves])
            size = np.tile(size, 3)
        return cls(mean, (size, chance), counts=counts)

    @classmethod
    def of_residuals(cls, event: Floats, weights: Floats, counts: Floats | None = None) -> LinearSum:
        """Return the sum of weighted residuals (n,): of outcomes, with these chances, minus their chances.

        Rows may stand for several each, `counts` (n,), which have their weight together.
        """
        moves = (event > 0) & (event < 1) & (weights > 0)
        if counts is None:
            return cls(0.0, (weights[moves], event[moves]))
        return cls(0.0, (weights[moves] / counts[moves], event[moves]), counts=counts[moves])

    @classmethod
    def _of_two(cls, table: Floats, chance: Floats) -> LinearSum | None:
        size, chance = table[1] - table[0], np.ascontiguousarray(chance)
        open_ = (chance > 0) & (chance < 1)
        if open_.all():
            mean = float(table[0].sum() + chance @ size)
        else:
            sure = float(np.where(chance > 0, table[1], table[0])[~open_].sum())
            size, chance = size[open_], chance[open_]
            mean = sure + float(table[0][open_].sum() + chance @ size)
        if not np.isfinite(mean):
            return None
        moves = size != 0
        return cls(mean, (size, chance) if moves.all() else (size[moves], chance[moves]))

    @property
    def rows(self) -> int:
        """How many rows leave something to chance."""
        counted = self.two is None or self.counts is not None
        return round(self.numbers.counts.sum()) if counted else len(self.two[0])  # type: ignore[index]

    @cached_property
    def numbers(self) -> RowSums:
        """The numbers of all rows; many rows of two outcomes are pooled to cells."""
        if self.several is not None:
            return self.several
        size, chance = self.two  # type: ignore[misc]
        if self.counts is not None:
            return RowSums.of_residuals(size, chance, self.counts)
        found = _pooled(size, chance) if len(size) > _ROWS_TO_POOL else (size, chance, np.ones(len(size)))
        return RowSums.of_residuals(*found)


@final
@dataclass(frozen=True, eq=False)
class RowSums:
    """Independent numbers of mean zero: K values (K, m), of some masses (K, m), each `counts` (m,) times."""

    values: Floats
    masses: Floats
    counts: Floats

    @classmethod
    def of_residuals(cls, size: Floats, chance: Floats, counts: Floats) -> RowSums:
        """Return numbers of a size (m,) times an outcome minus its chance (m,)."""
        return cls(np.stack([-chance * size, (1 - chance) * size]), np.stack([1 - chance, chance]), counts)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(float(self.counts @ (self.masses * self.values**2).sum(axis=0)))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value of the sum, minus its mean."""
        return float(self.counts @ self.values.min(axis=0)), float(self.counts @ self.values.max(axis=0))

    def cumulants(self, at: float) -> Cumulants:
        """Return the cumulants of the sum minus its mean, tilted by exp(at * sum)."""
        exponent = at * self.values
        top = exponent.max(axis=0)
        tilted = self.masses * np.exp(exponent - top)
        whole = tilted.sum(axis=0)
        tilted /= whole
        mean = (tilted * self.values).sum(axis=0)
        gap = self.values - mean
        tilted *= gap
        powers = []
        for _ in range(3):
            tilted *= gap
            powers.append(tilted.sum(axis=0))
        second, third, fourth = powers
        each = (np.log(whole) + top, mean, second, third, fourth - 3 * second**2)
        return Cumulants(*(float(self.counts @ one) for one in each))

    def waves(self) -> float:
        r"""Return about how far the law is from a smooth one, in probability.

        The error of a saddlepoint that takes a sum for continuous comes from the frequencies t other than zero at which
        its characteristic function is large, at each of about :math:`\sqrt{2/\pi}\, |\varphi(t)| / (t \sigma)`. There
        :math:`\log |\varphi(t)| \le -\sum_i \sum_{k<l} p_{ik} p_{il} (1 - \cos t (v_{ik} - v_{il}))`, which one
        Fourier transform of the differences gives for all t.
        """
        n_values, n_rows = self.values.shape
        pairs = list(combinations(range(n_values), 2))
        some = slice(None, None, max(1, n_rows * len(pairs) // _WAVE_PAIRS))
        gaps = np.concatenate([np.abs(self.values[i, some] - self.values[j, some]) for i, j in pairs])
        weight = np.concatenate([(self.counts * self.masses[i] * self.masses[j])[some] for i, j in pairs])
        weight *= n_rows / max(1, len(self.counts[some]))
        largest = float(gaps.max())
        place = np.rint(gaps * (_WAVE_NUMBERS / largest)).astype(np.intp)
        wave = np.fft.rfft(np.bincount(place, weight), _WAVES)
        turns = np.arange(len(wave)) * (_WAVE_NUMBERS / _WAVES)
        wave, turns = wave[turns <= _TURNS], turns[turns <= _TURNS]
        height = wave.real
        tops = 1 + np.flatnonzero((height[1:-1] >= height[:-2]) & (height[1:-1] >= height[2:]))
        left = np.exp(np.abs(wave[tops]) - height[0])
        return float(math.sqrt(2 / math.pi) * (left / (2 * math.pi * turns[tops] / largest * self.deviation)).sum())


def _pooled(size: Floats, chance: Floats) -> tuple[Floats, Floats, Floats]:
    """Pool rows of nearly equal numbers and chances (n,) to cells (m,), with the variance and the count of each."""
    longest = float(max(size.max(), -size.min()))
    sums = np.zeros((4, 2 * (_CHANCES + 1) * (_SIZES + 1)))
    for start in range(0, len(size), ROWS_IN_CACHE):
        some, event = size[start : start + ROWS_IN_CACHE], chance[start : start + ROWS_IN_CACHE]
        other = 1 - event
        key = (np.sqrt(np.minimum(event, other)) * (_CHANCES / math.sqrt(0.5))).astype(np.intp)
        key *= 2
        key += event > 0.5
        key *= _SIZES + 1
        key += (np.abs(some) * (_SIZES / longest)).astype(np.intp)
        for total, each in zip(sums, (None, event, some * some * event * other, some), strict=True):
            total += np.bincount(key, each, len(total))
    count, total, spread, sizes = sums[:, sums[2] > 0]
    mean = total / count
    return np.copysign(np.sqrt(spread / (count * mean * (1 - mean))), sizes), mean, count


@final
@dataclass(frozen=True, eq=False)
class SaddlepointSum(SumLaw):
    r"""The saddlepoint law of a sum (Lugannani & Rice 1980), with the term of second order (Daniels 1987).

    With x = K'(t), w = sign(t) sqrt(2 (t x - K(t))), u = t sqrt(K''(t)) and the cumulants :math:`\lambda` of unit
    variance at t,

    .. math:: P(S \ge x) \approx \bar\Phi(w) + \phi(w) \Big(\frac1u - \frac1w + \frac1u\Big(\frac{\lambda_4}{8} -
              \frac{5 \lambda_3^2}{24}\Big) - \frac{\lambda_3}{2 u^2} - \frac1{u^3} + \frac1{w^3}\Big)
    """

    sums: RowSums
    mean: float
    floor: float = 1e-300

    @property
    def deviation(self) -> float:  # type: ignore[override]
        """The standard deviation."""
        return self.sums.deviation

    @cached_property
    def error(self) -> float:
        """The relative error up to two standard deviations from the mean: of the second order, and of a lattice."""
        low, high = self.sums.ends
        reach = max(_LOOKED_AT) * self.deviation
        if not low < -reach or not reach < high:
            return math.inf
        orders = []
        for tail, second in (self._tail(sign * each * self.deviation) for each in _LOOKED_AT for sign in (-1, 1)):
            if not 0 < tail < 1:  # the formula fails, as where one row has most of the weight
                return math.inf
            orders.append(abs(second) / min(tail, 1 - tail))
        return max(orders) + 2 * math.sqrt(2 * math.pi) * self.sums.waves()

    @property
    def description(self) -> str:  # type: ignore[override]
        """The formula, and how large its error is."""
        return f"saddlepoint, relative error about {max(self.error, 1e-6):.0e}".replace("e-0", "e-")

    def at_least(self, total: float) -> Tail:
        """Return P(sum >= total)."""
        return self._with_error(*self._tail(total - self.mean))

    def at_most(self, total: float) -> Tail:
        """Return P(sum <= total), by the sum mirrored."""
        return self._with_error(*self._mirrored._tail(self.mean - total))

    def reach(self, x: float) -> float:
        r"""Return about minus the logarithm of the probability of a sum so far from its mean, to the likelier side.

        It is the exponent of Chernoff (1952), the supremum over t of t x - K(t), which bounds that probability; of a
        normal sum it is x^2 / 2 in variances.
        """
        found = []
        for law in (self, self._mirrored):
            if x < law.sums.ends[1]:
                t, at = law._solved(x)
                found.append(max(t * x - at.value, 0.0))  # a bound whatever t
        return min(found, default=math.inf)

    def points(self, n_points: int = 400) -> tuple[Floats, Floats]:
        """Return values and masses, interpolated on the scale of normal quantiles between some tilts."""
        tilts = np.linspace(-1, 1, _TILTS) * _FARTHEST / self.deviation
        found = [(at.slope, *self._at(float(t), at)) for t, at in ((t, self.sums.cumulants(float(t))) for t in tilts)]
        x, above = np.array([(slope, tail) for slope, tail, _ in found if 0 < tail < 1]).T
        inverse = NormalDist().inv_cdf
        scores = np.maximum.accumulate([-inverse(each) for each in above])
        fine = np.linspace(scores[0], scores[-1], n_points + 1)
        values = self.mean + np.interp(fine, scores, x)
        below = np.array([NormalDist().cdf(each) for each in fine])
        return (values[1:] + values[:-1]) / 2, np.diff(below) / (below[-1] - below[0])

    @cached_property
    def _mirrored(self) -> SaddlepointSum:
        return SaddlepointSum(RowSums(-self.sums.values, self.sums.masses, self.sums.counts), -self.mean)

    def _with_error(self, tail: float, second: float) -> Tail:
        factor = 1 + max(self.error, abs(second) / tail if tail > 0 else 0.0)
        return Tail(tail / factor, tail, min(1.0, tail * factor))

    def _tail(self, x: float) -> tuple[float, float]:
        """Return P(sum - mean >= x), and the part of the second order in it."""
        low, high = self.sums.ends
        if x <= low or x >= high:
            return float(x <= low), 0.0
        edge = _CENTRE * self.deviation
        if abs(x) < edge:
            (below, one), (above, other) = self._tail(-edge), self._tail(edge)
            share = (x / edge + 1) / 2
            return below + share * (above - below), one + share * (other - one)
        return self._at(*self._solved(x))

    def _at(self, t: float, at: Cumulants) -> tuple[float, float]:
        """Return P(sum - mean >= K'(t)), and the part of the second order in it."""
        w = math.copysign(math.sqrt(max(2 * (t * at.slope - at.value), 0.0)), t)
        u = t * math.sqrt(at.bend)
        if abs(w) < _CENTRE / 2 or not u:  # digits cancel
            return (1 - math.erf(w / math.sqrt(2))) / 2, 0.0
        skewness, kurtosis = at.third / at.bend**1.5, at.fourth / at.bend**2
        second = (kurtosis / 8 - 5 * skewness**2 / 24) / u - skewness / (2 * u**2) - u**-3 + w**-3
        density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
        found = math.erfc(w / math.sqrt(2)) / 2 + density * (1 / u - 1 / w + second)
        return min(max(found, 0.0), 1.0), density * second

    def _solved(self, x: float) -> tuple[float, Cumulants]:
        """Return the t at which the tilted mean is x, by Newton's method between bounds, and the cumulants there."""
        t = x / self.deviation**2
        low, high = (0.0, math.inf) if x > 0 else (-math.inf, 0.0)
        for _ in range(_STEPS_OF_NEWTON):
            at = self.sums.cumulants(t)
            if abs(at.slope - x) < _SOLVED * self.deviation:
                break
            low, high = (t, high) if at.slope < x else (low, t)
            step = t - (at.slope - x) / at.bend if at.bend > 0 else math.nan
            t = step if low < step < high else (low + high) / 2 if math.isfinite(low + high) else 2 * t
        return t, at


@final
@dataclass(frozen=True)
class Saddlepoint(Null):
    r"""The law of a statistic that is linear in the labels, computed by a saddlepoint (Lugannani & Rice 1980).

    Given the predictions such a statistic, :math:`\sum_i a_i(Y_i)`, is a sum of independent numbers, whose cumulants
    are known. No labels are drawn, so that p-values may be arbitrarily small. The result states the relative error,
    which is estimated from the predictions alone. `calibration_test` takes this law by itself where the statistic is
    linear, too many rows leave no exact law (`Exact`), and the relative error is below one percent: the Brier and other
    mean scores, `Spiegelhalter`, `BrierZ`, `LogLossZ`, `ScoreExcess`, `MeanCalibration` and `ObservedToExpected`, with
    weights too.

    With more than 4096 rows of two classes, those of nearly equal chance and weight are pooled to cells that keep their
    variance, so that the cost of the law does not grow with n.

    Raises
    ------
    ValueError
        From `draw`, if the statistic is not linear, or the estimated error is larger.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> result = cs.calibration_test(cs.Sample(rng.random(1000) < p**1.5, p), cs.Spiegelhalter())
    >>> result.null_distribution.description
    'saddlepoint, relative error about 8e-6'
    """

    joint: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True

    def draw(
        self,
        estimator: Estimator,
        sample: Sample,
        rng: np.random.Generator | None = None,  # noqa: ARG002
        evaluator: Evaluator | None = None,
    ) -> LinearNull:
        """Compute the law; nothing is drawn."""
        found = linear_sum(estimator, sample, evaluator or estimator.prepare(sample.predictions))
        if found is None:
            raise ValueError(
                f"Saddlepoint() cannot compute the law of {estimator!r}: it is not a sum of one finite number for each "
                "row. Leave `null` out, or use Consistency()."
            )
        law = SaddlepointSum(found.numbers, found.mean)
        if not law.error <= _LARGEST_ERROR:
            raise ValueError(
                f"Saddlepoint() is not accurate here: its relative error is about {law.error:.2g}, above "
                f"{_LARGEST_ERROR} (too few rows, or too rare events). Leave `null` out, or use Consistency()."
            )
        return LinearNull(law, extreme_of(estimator, found.mean) or "large")

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:  # noqa: ARG002
        """Return the hypothesis: labels are drawn from the predictions."""
        how = "labels drawn from the predictions, which are kept (by a saddlepoint, no Monte Carlo error)"
        return strong_hypothesis(lens, given, how)


def linear_sum(estimator: Estimator, sample: Sample, evaluator: Evaluator) -> LinearSum | None:
    """Return the numbers of rows of a linear statistic; None if it is not linear, or its evidence of no known kind."""
    terms = evaluator.capabilities.linear
    predictions = sample.predictions
    found = (
        None if terms is None else LinearSum.of(terms(), predictions.chances, predictions.counts, predictions.powers)
    )
    return None if found is None or extreme_of(estimator, found.mean) is None else found


def extreme_of(estimator: Estimator, mean: float) -> Extreme | None:
    """Return whether large or small values are evidence, or those far from the mean; None if others are."""
    values = mean + np.array([-2.0, -0.5, 0.25, 1.0, 3.0])
    found = estimator.evidence(values)
    ways: dict[Extreme, Floats] = {"large": values, "small": -values, "either": np.abs(values - mean)}
    return next((way for way, expected in ways.items() if np.allclose(found, expected)), None)


def linear_null(estimator: Estimator, sample: Sample, evaluator: Evaluator) -> tuple[Null | None, LinearNull] | None:
    """Return the law of a linear statistic, exact or by a saddlepoint that is accurate, and the null if it is that.

    Which it is depends on the predictions alone. None where labels must be drawn.
    """
    found = linear_sum(estimator, sample, evaluator)
    if found is None:
        return None
    extreme = extreme_of(estimator, found.mean) or "large"
    exact = exact_sum(found)
    if exact is not None:
        return None, LinearNull(exact, extreme)
    smooth = SaddlepointSum(found.numbers, found.mean)
    if smooth.error <= _LARGEST_ERROR:
        return Saddlepoint(), LinearNull(smooth, extreme)
    rough = _lattice_sum(found) or _rounded_sum(found)
    return None if rough is None else (None, LinearNull(rough, extreme))


def exact_sum(found: LinearSum) -> AtomSum | None:
    """Return the exact law where it is that of a count, or few rows are left to chance; None elsewhere."""
    if found.rows == 0:
        return _around(found.mean, CERTAINLY_ZERO)
    if found.two is not None and _alike(np.abs(found.two[0])):
        return _count_law(found.mean, *found.two, found.counts)
    return _enumerated(found) if found.rows <= _ROWS_TO_ENUMERATE else None


def _around(mean: float, first: Atoms, second: Atoms = CERTAINLY_ZERO, rounding: float = 0.0) -> AtomSum:
    """Return the law of a sum of mean zero, moved to its mean."""
    floor = SMALLEST_PVALUE if not rounding else _SMALLEST_OF_ROUNDED
    return AtomSum(first, Atoms(second.values + mean, second.masses), mean, rounding, floor)


def _alike(lengths: Floats) -> bool:
    return len(lengths) > 0 and bool(np.ptp(lengths) <= ROUNDING * lengths.max())


def _count_law(mean: float, size: Floats, chance: Floats, counts: Floats | None) -> AtomSum:
    """Return the law of a number times a count: the Poisson-binomial one, of events where the number is positive."""
    chances = chance if size.min() > 0 else np.where(size > 0, chance, 1 - chance)
    cells = Cells(1, np.zeros(len(size), dtype=np.intp), "fixed")
    ((first, masses),) = CellCounts(chances, cells, several=counts).laws
    kept = np.flatnonzero(masses)
    expected = float(chances.sum() if counts is None else counts @ chances)
    values = np.asarray(np.median(np.abs(size)) * (first + kept - expected), dtype=float)
    return _around(mean, Atoms(values, masses[kept] / masses.sum()))


def _enumerated(found: LinearSum) -> AtomSum | None:
    """Enumerate two halves of the rows, of which equal ones are taken together; None if they are too many."""
    columns = np.concatenate([found.numbers.values, found.numbers.masses])
    rows, place = np.unique(columns, axis=1, return_inverse=True)
    counts = np.bincount(place.ravel(), found.numbers.counts)
    n_values = len(found.numbers.values)
    laws = [
        enumerate_sum([pooled(row[:n_values], row[n_values:])] * int(count))
        for row, count in zip(rows.T, counts, strict=True)
    ]
    halves: tuple[list[Atoms], list[Atoms]] = ([], [])
    products = [1, 1]
    for law in sorted(laws, key=lambda each: -len(each.values)):
        smaller = int(products[1] < products[0])
        halves[smaller].append(law)
        products[smaller] *= len(law.values)
    if max(products) > _COMBINATIONS:
        return None
    larger, smaller_half = sorted(map(enumerate_sum, halves), key=lambda each: -len(each.values))
    return _around(found.mean, larger, smaller_half)


def _lattice_sum(found: LinearSum) -> AtomSum | None:
    """Return the exact law where few different numbers lie on one lattice, by its transform; None elsewhere."""
    if found.two is None:
        return None
    (size, chance), each = np.unique(found.two, axis=1, return_inverse=True)
    counts = np.bincount(each.ravel(), found.counts)
    lengths = np.unique(np.abs(size))
    if len(size) > _DIFFERENT:
        return None
    step = common_divisor([Atoms(np.array([0.0, length]), np.full(2, 0.5)) for length in lengths])
    spread = float(counts @ (size**2 * chance * (1 - chance)))
    n_points = float(reach_of_sum(float(lengths[-1]), spread)) * 2 / step if step else math.inf
    if n_points > _LATTICE:
        return None
    place = np.rint(size / step).astype(np.intp)
    if np.abs(size / step - place).max() > NOISE:
        return None
    length = fast_length(math.ceil(n_points))
    angles = 2 * np.pi / length * np.arange(length // 2 + 1)
    waves = 1 - chance + chance * np.exp(-1j * np.outer(angles, place))
    return _moved(found.mean, np.prod(waves**counts, axis=1), length, step, float(counts @ (place * chance)))


def _moved(mean: float, wave: Array, length: int, step: float, middle: float, rounding: float = 0.0) -> AtomSum:
    """Return the law on a lattice from its transform, about its mean place, `middle`."""
    first = math.floor(middle) - length // 2
    masses = np.maximum(np.roll(np.fft.irfft(wave, length), -first), 0.0)
    kept = np.flatnonzero(masses)
    values = np.asarray(step * (first + kept - middle), dtype=float)
    law = Atoms(values, masses[kept] / masses.sum())
    return _around(mean, law, rounding=rounding)


def _rounded_sum(found: LinearSum) -> AtomSum | None:
    r"""Return bounds of the law of a sum of two outcomes for each row, most of them rare; None for another.

    Numbers are rounded to a lattice. Its transform is a product, whose logarithm is, with odds r = q / (1 - q) of the
    rarer outcome and its place j of M, :math:`\sum_i \log(1 - q_i) + \sum_k (-1)^{k+1} r_i^k / k\; e^{-2 \pi i k j_i m
    / M}` (De Pril 1986 has the recursion): one Fourier transform of the powers at k j_i. Rows that are not rare are
    convolved one by one. Roundings are independent of mean zero, and reach four of their standard deviations.
    """
    if found.two is None:
        return None
    size, chance = found.two
    several = np.ones(len(size)) if found.counts is None else found.counts
    rarer, size = np.minimum(chance, 1 - chance), np.where(chance > 0.5, -size, size)
    often = rarer > _ODDS / (1 + _ODDS)
    variance = rarer * (1 - rarer)
    if several[often].sum() > _NOT_RARE or several @ variance > _EVENTS:
        return None
    largest, spread = float(np.abs(size).max()), float(size**2 @ (several * variance))
    step = 2 * float(reach_of_sum(largest, spread)) / _POINTS
    place = np.rint(size / step).astype(np.intp)
    rounding = _ROUNDED * math.sqrt(float((size - place * step) ** 2 @ (several * variance)))
    wave = _wave_of_rare(place[~often], rarer[~often], several[~often])
    (moves, shares), each = np.unique([place[often], rarer[often]], axis=1, return_inverse=True)
    counts = np.bincount(each.ravel(), several[often])
    for move, share, count in zip(moves, shares, counts, strict=True):
        turn = np.exp(-2j * np.pi / _POINTS * (np.arange(len(wave)) * move % _POINTS))
        wave *= (1 - share + share * turn) ** count
    return _moved(found.mean, wave, _POINTS, step, float(place @ (several * rarer)), rounding)


def _wave_of_rare(place: Ints, chance: Floats, counts: Floats) -> Array:
    """Return the transform of the law of a sum of places that occur with some chance, each `counts` times."""
    powers, odds = np.zeros(_POINTS), chance / (1 - chance)
    power, kept = odds.copy(), np.arange(len(odds))
    for k in range(1, _TERMS + 1):
        np.add.at(powers, k * place[kept] % _POINTS, counts[kept] * power * ((-1) ** (k + 1) / k))
        power *= odds[kept]
        some = power > _NEGLIGIBLE
        if not some.any():
            break
        power, kept = power[some], kept[some]
    return np.exp(np.fft.rfft(powers) + counts @ np.log1p(-chance))
