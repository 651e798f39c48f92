"""The exact null: the distribution of a statistic of cells, computed instead of drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Floats
from calibstat.data.groups import Groups
from calibstat.data.parameters import Share
from calibstat.data.rounding import ROUNDING, SMALLEST_PVALUE, TIE_SHARE
from calibstat.data.sample import GivenNames, Sample
from calibstat.draws.poisson_binomial import counts_of
from calibstat.estimators.base import CellTerms, Estimator, Evaluator
from calibstat.estimators.tally import TallyPlan
from calibstat.lenses.base import Lens
from calibstat.nulls._exact_sums import (
    CERTAINLY_ZERO,
    Atoms,
    enumerate_sum,
    grid_sum,
    lattice_halves,
    maximum,
    pooled_each,
    sum_of_two,
)
from calibstat.nulls.base import Null, NullDistribution, strong_hypothesis, tie_slack, typical_size

# Each half of the cells is enumerated if it has at most this many combinations of counts.
_COMBINATIONS = 2**17
# Samples with more cells or counts than these are refused; a maximum costs less for each cell.
_CELLS_OF_SUM = 200
_CELLS_OF_MAXIMUM = 5000
_COUNTS = 2**22
# Counts in the tails are left out if together they are rarer than this.
_RARE_COUNT = 1e-15


class NotExact(ValueError):  # noqa: N818 (the name says what cannot be computed)
    """The exact distribution cannot be computed, for a reason that the message gives."""


@final
@dataclass(frozen=True)
class Exact(Null):
    r"""Compute the distribution of the statistic over all labels that could be drawn from the predictions.

    Given the predictions, the numbers of events in cells are independent and Poisson-binomial (Hong 2013). If the
    statistic is a sum, or the maximum, of one term for each cell, its whole distribution can therefore be computed. The
    p-value is that of infinitely many draws of `Consistency`, without Monte Carlo error, and can be as small as 1e-12:

    .. math:: p = P\Big(\sum_b t_b(Y_b) \ge v\Big)

    If there are few combinations of counts, all are enumerated. The absolute differences of `ECE` lie on a lattice once
    the sign of each cell is given, so that all signs are enumerated. Other sums (`RMSCE`, `PearsonCE`) are computed on
    a grid with all mass rounded up, which gives rigorous bounds of the p-value, at most `tolerance` apart; the upper
    bound is reported. For a maximum, the distribution functions of the cells are multiplied.

    A statistic that is a sum of one number for each row, such as `BrierScore` or `Spiegelhalter`, has an exact law
    where it counts events, where few rows are left to chance, and where its numbers lie on a lattice; if events are
    rare, so that it is not smooth, it is rounded to a fine lattice, which gives bounds. Elsewhere see `Saddlepoint`.

    For all others the lens must leave two outcomes, the rows must have no weights, the statistic must depend only on
    the counts of events in its cells, and there must be few enough cells and counts for about half a second. These
    conditions depend on the predictions alone, never on a label. So a test that falls back on draws, as
    `calibration_test` does, is as valid as its two parts: given the predictions it is one of them.

    Parameters
    ----------
    tolerance : float
        The largest distance between the bounds of a p-value that is not computed exactly.

    Raises
    ------
    NotExact
        A ValueError from `draw`, if the exact distribution cannot be computed; the message says why.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.nulls.exact import Exact
    >>> sample = cs.Sample([1, 1, 1, 0], [0.25, 0.25, 0.25, 0.25])
    >>> result = cs.calibration_test(sample, cs.ECE(cs.FixedEdges([0, 1])), null=Exact())
    >>> round(result.pvalue, 10) == 13 / 256
    True
    """

    tolerance: Share = 1e-4
    joint: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True
    takes_buckets: ClassVar[bool] = True

    def draw(
        self,
        estimator: Estimator,
        sample: Sample,
        rng: np.random.Generator | None = None,  # noqa: ARG002
        evaluator: Evaluator | None = None,
    ) -> NullDistribution:
        """Compute the distribution; nothing is drawn."""
        evaluator = evaluator or estimator.prepare(sample.predictions)
        if evaluator.capabilities.linear is not None:
            return _of_rows(estimator, sample, evaluator)
        plan, parts = _cells_and_terms(estimator, evaluator)
        limit = _CELLS_OF_SUM if parts.combine == "sum" else _CELLS_OF_MAXIMUM
        if np.count_nonzero(plan.fixed.weight) > limit:
            raise _not_exact(f"it has more than {limit} cells")
        cells, largest_step = _cell_laws(plan, parts)
        if parts.combine == "max":
            return ExactNull(maximum(cells), CERTAINLY_ZERO, parts.link)
        fixed = sum(float(cell.values[0]) for cell in cells if len(cell.values) == 1)
        found = self._sum([cell for cell in cells if len(cell.values) > 1], largest_step, parts.link, fixed)
        if found is None:
            raise _not_exact("its counts of events have too many combinations")
        return found

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:  # noqa: ARG002
        """Return the hypothesis: labels are drawn from the predictions."""
        how = "labels drawn from the predictions, which are kept (exact, no Monte Carlo error)"
        return strong_hypothesis(lens, given, how)

    def _sum(
        self, cells: list[Atoms], largest_step: float, link: Callable[[Floats], Floats], fixed: float
    ) -> ExactNull | None:
        """Enumerate if possible, and otherwise use the grid."""
        halves = _enumerated(cells) or lattice_halves(cells, largest_step)
        if halves is not None:
            smaller, larger = sorted(halves, key=lambda half: len(half.values))
            return ExactNull(larger, Atoms(smaller.values + fixed, smaller.masses), link)
        rounded = grid_sum(cells, self.tolerance)
        if rounded is None:
            return None
        law, rounding = rounded
        return ExactNull(Atoms(law.values + fixed, law.masses), CERTAINLY_ZERO, link, rounding, floor=1e-10)


def _of_rows(estimator: Estimator, sample: Sample, evaluator: Evaluator) -> NullDistribution:
    """Return the law of a sum of one number for each row, or raise `NotExact`."""
    from calibstat.nulls.linear import linear_null  # only where it is needed

    found = linear_null(estimator, sample, evaluator)
    if found is None or found[0] is not None:
        raise _not_exact("too many rows are left to chance")
    return found[1]


def _cells_and_terms(estimator: Estimator, evaluator: Evaluator) -> tuple[TallyPlan, CellTerms]:
    """Return the cells and their terms, or raise `NotExact`."""
    offers = evaluator.capabilities
    plan, parts = offers.tally, offers.terms
    if plan is None or parts is None:
        raise _not_exact("its value is not a sum or a maximum of one term for each cell")
    if plan.predictions.n_classes != 2:
        raise _not_exact(f"there are {plan.predictions.n_classes} outcomes and not two")
    if not plan.predictions.unweighted:
        raise _not_exact("the sample has weights")
    if not plan.from_counts:
        raise _not_exact("the counts of events in its cells do not suffice")
    some = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])
    if not np.array_equal(estimator.evidence(some), some):
        raise _not_exact("small values, too, are evidence")
    return plan, parts


def _not_exact(reason: str) -> NotExact:
    return NotExact(
        f"Exact() cannot compute the distribution of this statistic: {reason}; draw labels instead, with "
        "null=Consistency(9999)."
    )


def _cell_laws(plan: TallyPlan, parts: CellTerms) -> tuple[list[Atoms], float]:
    """Return the law of each cell's term, and the largest difference between terms of consecutive counts."""
    laws = [_trimmed(*law) for law in counts_of(plan).laws]
    sizes = np.array([len(masses) for _, masses in laws])
    first = np.array([count for count, _ in laws])
    if sizes.max() * len(sizes) > _COUNTS:
        raise _not_exact("its cells have too many counts")
    counts = first + np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
    terms = parts.terms(counts[..., None].astype(float))
    if not np.isfinite(terms).all():
        raise _not_exact("some of its terms are not finite")
    step = float(np.abs(np.diff(terms, axis=0)).max(initial=0.0))
    return pooled_each(terms, [masses for _, masses in laws]), step


def _trimmed(first: int, masses: Floats) -> tuple[int, Floats]:
    """Leave out counts at both ends that are almost impossible."""
    below, above = (int(np.searchsorted(np.cumsum(end), _RARE_COUNT, side="right")) for end in (masses, masses[::-1]))
    inside = masses[below : len(masses) - above]
    return first + below, inside / inside.sum()


def _enumerated(cells: list[Atoms]) -> tuple[Atoms, Atoms] | None:
    """Enumerate two halves of the cells if each has few enough combinations; otherwise return None."""
    halves: tuple[list[Atoms], list[Atoms]] = ([], [])
    products = [1, 1]
    for cell in sorted(cells, key=lambda each: -len(each.values)):
        smaller = int(products[1] < products[0])
        halves[smaller].append(cell)
        products[smaller] *= len(cell.values)
    if max(products) > _COMBINATIONS:
        return None
    return enumerate_sum(halves[0]), enumerate_sum(halves[1])


_ATOMS_FOR_MEAN = 1024
_ATOMS_FOR_SIZE = 64
# A quantile is searched with few atoms of one part up to a share of the whole range, then with more, to where about so
# many sums lie. There, or some times as far, all sums are looked at. No search comes closer to its ends than a share.
_ATOMS_FOR_START, _START, _ATOMS_FOR_QUANTILE = 256, 1e-4, 4096
_SUMS, _PIECES, _NEAR, _WIDER, _CLOSEST = 2**14, 256, 1e-3, 6, 0.003


@final
@dataclass(frozen=True, eq=False)
class ExactNull(NullDistribution):
    """The law of an increasing function (the link) of the sum of two independent parts."""

    first: Atoms  # the part with more atoms
    second: Atoms
    link: Callable[[Floats], Floats]
    rounding: float = 0.0  # the sum was rounded up by at most this much; p-values are exact if it is 0
    floor: float = SMALLEST_PVALUE  # no smaller p-value is accurate in floating point
    monte_carlo: ClassVar[bool] = False

    def pvalue(self, value: float) -> float:
        """Return P(statistic >= value), ties included; if the sum was rounded up, its upper bound."""
        return max(self.floor, self._tail(self._threshold(value)))

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:  # noqa: ARG002
        """Return bounds of P(statistic >= value); they hold for certain, whatever the level."""
        threshold = self._threshold(value)
        upper = self._tail(threshold)
        return (upper if self.rounding == 0 else self._tail(threshold + self.rounding)), max(upper, self.floor)

    def quantile(self, q: float) -> Floats:
        """Return the smallest value v with P(statistic <= v) >= q (of the law that was rounded up)."""
        if len(self.second.values) == 1:
            reached = np.cumsum(self.first.masses) >= q - ROUNDING
            at = int(np.argmax(reached)) if reached.any() else len(reached) - 1
            return np.asarray(self.link(self.first.values[[at]] + self.second.values)[0])
        return np.asarray(self.link(np.array([self._total(q)]))[0])

    def _total(self, q: float) -> float:
        """Return the smallest sum with P(sum <= it) >= q: near that of a law of fewer atoms, all sums are looked at."""
        (lowest, highest), first, second = self._ends, self.first, self.second
        if first.masses[0] * second.masses[0] >= q:
            return lowest
        if q >= 1 or lowest == highest:
            return highest
        low, high, few = lowest, highest, second.compressed(_ATOMS_FOR_QUANTILE)
        same = TIE_SHARE * max(abs(lowest), abs(highest))  # no search comes closer than rounding
        near = max((highest - lowest) * min(_NEAR, _SUMS / (len(first.values) * len(second.values))), same)
        for each, close in ((few.compressed(_ATOMS_FOR_START), max(near, _START * (highest - lowest))), (few, near)):
            low, high = _bracket(q, first, each, low - close, high + close, close)
        for reach in (near, _WIDER * near):
            found = self._between(q, low - reach, high + reach)
            if found is not None:
                return found
        return _bracket(q, first, second, lowest, highest, same)[1]

    def _between(self, q: float, low: float, high: float) -> float | None:
        """Return the smallest sum that reaches q; None if it is not above `low` and up to `high`, or sums are many."""
        first, second = self.first, self.second
        start, top = np.searchsorted(first.values, low - second.values, side="right"), high - second.values
        below = 1 - float(second.masses @ first.tails[start])
        some = np.flatnonzero((first.values.take(start, mode="clip") <= top) & (start < len(first.values)))
        counts = np.searchsorted(first.values, top[some], side="right") - start[some]
        if below >= q or counts.sum() > _WIDER**2 * _SUMS:
            return None
        other = np.repeat(some, counts)
        one = np.arange(len(other)) + np.repeat(start[some] - (np.cumsum(counts) - counts), counts)
        sums, masses = first.values[one] + second.values[other], first.masses[one] * second.masses[other]
        place = np.minimum((sums - low) * (_PIECES / (high - low)), _PIECES - 1).astype(np.intp)
        reached = below + np.cumsum(np.bincount(place, masses, _PIECES))
        piece = int(np.searchsorted(reached, q))
        if piece == _PIECES:
            return None
        inside = np.flatnonzero(place == piece)
        inside = inside[np.argsort(sums[inside], kind="stable")]
        start_of_piece = reached[piece - 1] if piece else below
        at = int(np.searchsorted(start_of_piece + np.cumsum(masses[inside]), q))
        return float(sums[inside[min(at, len(inside) - 1)]])

    @cached_property
    def mean(self) -> Floats:
        """The mean: exact for a sum, and accurate to about six digits for a function of a sum with many values."""
        zero = np.zeros(1)
        if self.link(zero) is zero and not self.rounding:  # the link is the identity
            return np.asarray(self.first.mean + self.second.mean)
        sums, masses = sum_of_two(self.first, self.second, _ATOMS_FOR_MEAN)
        if self.rounding:
            sums = np.maximum(sums - self.rounding / 2, self._ends[0])
        return np.asarray(masses[0] @ self.link(sums) @ masses[1])

    def atoms(self, n_atoms: int = 512) -> tuple[Floats, Floats]:
        """Return values and masses of the law; where it has many values, neighbours are merged."""
        sums, masses = sum_of_two(self.first, self.second, n_atoms)
        return self.link(sums).ravel(), np.outer(*masses).ravel()

    @cached_property
    def typical(self) -> float:
        """An approximate size of the statistic under the null, which sets the tolerance for ties."""
        return typical_size(*self.atoms(_ATOMS_FOR_SIZE))

    @property
    def description(self) -> str:
        """Whether p-values are exact or upper bounds."""
        return "exact bound" if self.rounding else "exact"

    @property
    def samples(self) -> Floats:
        """Raise an error: a computed distribution has no samples."""
        raise AttributeError(
            "this null distribution was computed, so it has no samples; for replicates pass null=Consistency(999)."
        )

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = (float(self.first.values[end] + self.second.values[end]) for end in (0, -1))
        return low, high

    def _tail(self, threshold: float) -> float:
        """Return P(sum >= threshold)."""
        if threshold <= self._ends[0]:
            return 1.0
        return min(1.0, float(self.second.masses @ self.first.tail(threshold - self.second.values)))

    def _reached(self, total: float) -> float:
        """Return P(sum <= total)."""
        return 1 - self._tail(np.nextafter(total, np.inf))

    def _threshold(self, value: float) -> float:
        """Return the smallest sum whose value is at least as extreme, up to the tolerance for ties."""
        target = value - tie_slack(value, self.typical)
        low, high = self._ends
        sums = np.array([low, high])
        ends = self.link(sums)
        if not ends[0] < target:
            return low
        if ends[1] < target:
            return np.inf
        if ends is sums:  # the link is the identity
            return target
        # the end high is always reached, low never
        while True:
            between = np.linspace(low, high, 65)
            at = int(np.argmax(~(self.link(between[1:]) < target)))
            if (between[at], between[at + 1]) == (low, high) or not between[at] < between[at + 1]:
                return high
            low, high = float(between[at]), float(between[at + 1])


def _bracket(q: float, first: Atoms, second: Atoms, low: float, high: float, close: float) -> tuple[float, float]:
    """Return two numbers, close to each other, where the distribution of the sum of two parts has not, and has, q."""

    def reached(total: float) -> float:
        return 1 - float(second.masses @ first.tail(np.nextafter(total - second.values, np.inf))) - q

    below, above, turn = reached(low), reached(high), 0
    while below < 0 <= above and high - low > close:
        turn += 1  # along a straight line, and every fifth time to the middle
        share = 0.5 if turn % 5 == 0 else min(max(below / (below - above), _CLOSEST), 1 - _CLOSEST)
        middle = low + share * (high - low)
        found = reached(middle)
        if found < 0:  # an end that stays counts half
            low, below, above = middle, found, above / 2
        else:
            high, above, below = middle, found, below / 2
    return (low, low) if below >= 0 else (high, high) if above < 0 else (low, high)
