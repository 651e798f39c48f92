"""Values by their expansion: the noise that rows show, and that of the difference of two models.

The variance of a value is the sum of the squared influences of rows. A squared error of cells is a U-statistic: its
variance is of order 1 / n where cells are off (the linear part), and of order 1 / n^2 where they are not (the
degenerate part); Sun et al. (2024) adjust intervals for both. With in-sample cell means the plain variance of the
linear part holds the degenerate part too, twice, so it is enough for one sample, except where outcomes show too little
noise (few or no events in a cell); floors are for that.

Weights of rows are taken as known and fixed. The debiased squared error is sum_b (W_b / W) sum_{i != j in b}
w_i w_j <r_i, r_j> / P_b with P_b = W_b^2 - sum w^2, so that row i counts w_i / W in the linear part and the pair i, j
counts w_i w_j W_b / (W P_b) in the degenerate part: the same sums, with weights for counts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.binnings.base import Binning, Cells
from calibstat.data.arrays import Array, Floats, Ints, effective_number, effective_rows
from calibstat.data.columns import shortened
from calibstat.data.groups import Groups
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, Evaluator, Expansion, Headline
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.inference.intervals import NO_NOISE, NoInterval, NormalInterval, cluster_error, student_quantile
from calibstat.nulls.multiplier import join

# Fewest rows in a cell; with weights, the fewest rows in effect (Kish 1965).
MINIMUM_ROWS = 8
# The largest share of one row, or of one cluster, in the weight behind a normal interval.
_MOST = 0.5


@dataclass(frozen=True, eq=False)
class Expanded:
    """A value with its expansion, and the rows that show its noise.

    `slope`, `happened` and `prediction` have one column (n, 1), of the event alone, for two classes, else (n, c): the
    slope is how the value moves with the chance of each row's outcome. `index` (n,) are the cells in which outcomes are
    compared: those of the estimator, or rows of which the same outcome is best. `weights` (n,) are ones where there are
    none. Influences and slopes of rows that stand for m others are divided by the root of m, so that squares add up.
    """

    expansion: Expansion
    seen: Sample

    @classmethod
    def of(cls, core: Estimator, seen: Sample, found: Expansion | None = None) -> Expanded:
        """Expand the headline of an estimator, if it is not found yet; refuse one without, and small cells."""
        if found is None:
            expand = Headline(core).prepare(seen.predictions).capabilities.expansion
            found = None if expand is None else expand(seen.outcomes)
        if found is None or (found.degenerate is None and found.slope is None):
            raise NoInterval(
                f"{as_asked(core)!r} has no expansion in the influence of rows; use DebiasedL2(EqualMass(15))"
            )
        if not (np.isfinite(found.value) and np.isfinite(found.linear)):
            raise NoInterval(
                f"{core.quantity.split(' (')[0]}: this is {found.value:g} here, and rows show no noise to measure"
            )
        made = cls(found, seen)
        if made.squared:
            made._refuse_small_cells(core, seen)
        return made

    def _refuse_small_cells(self, core: Estimator, seen: Sample) -> None:
        smallest = float(self.rows[self.mass > 0].min())
        if smallest < MINIMUM_ROWS:
            fewer = min(len(seen) // 20, len(self.mass) // 2)
            if seen.predictions.weights is not None:
                found = f"a cell has {smallest:.3g} rows in effect (by weights)"
                advice = "few rows have most of the weight; add rows like these, or limit the weights"
            elif isinstance(core.cut_by, LargeCells) or fewer < 2:
                found, advice = f"a cell has {counted(round(smallest), 'row')}", "add rows"
            else:
                found, advice = f"a cell has {counted(round(smallest), 'row')}", f"take EqualMass({fewer}), for example"
            raise NoInterval(
                f"{as_asked(core)!r}: {found} of {len(seen)}, too few for its variance (at least {MINIMUM_ROWS}): "
                f"{advice}"
            )

    @property
    def slope(self) -> Floats:
        """(n, c) how the value moves with the chance of each row's outcome."""
        slope = self.expansion.slope
        assert slope is not None  # or it would have been refused
        return slope if self._root is None else slope / self._root[:, None]

    @cached_property
    def index(self) -> Ints:
        """(n,) the cells in which outcomes are compared."""
        pairs = self.expansion.degenerate
        return _best(self.slope) if pairs is None else pairs.index

    @cached_property
    def weights(self) -> Floats:
        """(n,) the weights of rows, or ones."""
        importance = self.seen.predictions.importance
        return np.ones(len(self.seen)) if importance is None else importance

    @cached_property
    def _root(self) -> Floats | None:
        several = self.seen.predictions.counts
        return None if several is None else np.sqrt(several)

    @cached_property
    def happened(self) -> Floats:
        """(n, c) one in the column of what happened."""
        return self.seen.predictions.happened(self.seen.outcomes)

    @property
    def prediction(self) -> Floats:
        """(n, c) the predictions."""
        return self.seen.predictions.components

    @property
    def value(self) -> float:
        """The value."""
        return self.expansion.value

    @property
    def influence(self) -> Floats:
        """(n,) the first-order contribution of each row to the value."""
        found = self.expansion.influence
        return found if self._root is None else found / self._root

    @cached_property
    def compared(self) -> Ints:
        """(n,) numbers of the rows from whose mean each row deviates: of its outcome for AUC, else of all."""
        event = self.happened[:, -1].astype(np.intp)
        found = self.expansion.influence
        sums, sizes = (np.bincount(event, each, minlength=2) for each in (found, np.abs(found)))
        within = bool((sizes > 0).all() and (np.abs(sums) <= ROUNDING * sizes).all())
        return event if within else np.zeros_like(event)

    @property
    def squared(self) -> bool:
        """Whether it is a sum over pairs of rows, as squared errors are: all influences vanish where it is zero."""
        return self.expansion.degenerate is not None

    @cached_property
    def mass(self) -> Floats:
        """(L,) sum of weights of each cell."""
        return self._sums(self.seen.predictions.weights)

    @cached_property
    def share(self) -> Floats:
        """(n,) the share of each row in the total weight."""
        return self.weights / self.weights.sum()

    @cached_property
    def rows(self) -> Floats:
        """(L,) number of rows of each cell; with weights, of equally weighted ones that would be as good."""
        weights = self.seen.predictions.importance
        return self.mass if weights is None else effective_number(self.mass, self._sums(weights**2))

    @property
    def linear(self) -> float:
        """The variance of the linear part; with in-sample means of cells it holds the degenerate part twice."""
        return self.expansion.linear

    @property
    def size(self) -> float:
        """The size of the value, or that of its noise if larger, against which rounding is judged."""
        return max(abs(self.value), float(np.sqrt(self.linear)))

    @cached_property
    def others(self) -> Ints:
        """(L,) number of rows of each cell that have weight, and another outcome than the commonest one."""
        some = self.weights > 0
        several = self.seen.predictions.counts
        return other_rows(self.index[some], self.happened[some], len(self.mass), several)

    @property
    def unseen(self) -> float:
        """The variance that cells with equal outcomes do not show, by the rule of three."""
        uniform = (self.others == 0) & (self.mass > 0)
        chance = possible_chance(self.rows)
        linear = unseen_variance(self.slope, np.where(uniform, chance, 0.0)[self.index])
        if not self.squared:
            return linear
        noise = chance * (1 - chance) / np.maximum(self.rows, 1.0)
        return linear + float((2 * (self.mass / self.mass.sum() * noise) ** 2)[uniform].sum())

    @property
    def drawn(self) -> float:
        """The variance that outcomes drawn from the predictions give, with as many of each outcome as were seen.

        Where few rows have most of the weight, and none of these has the rare outcome by chance, rows do not show it.
        """
        rows, seen = (_with_first(each, 1 - each) for each in (self.prediction, self.happened))
        slope = _with_first(self.slope, np.zeros_like(self.slope))
        chance = rows * ratio(seen.sum(axis=0), rows.sum(axis=0))
        chance = ratio(chance, chance.sum(axis=1, keepdims=True))
        slope = np.where(chance > 0, slope, 0.0)
        mean = (chance * slope).sum(axis=1, keepdims=True)
        return float((chance * (slope - mean) ** 2).sum())

    def _sums(self, values: Floats | None) -> Floats:
        """Sum over the rows of each cell; without values, count them."""
        return np.bincount(self.index, values).astype(float)


def _with_first(columns: Floats, first: Floats) -> Floats:
    """Put the column of the first of two classes, which is left out of one (n, 1), before it."""
    return np.hstack([first, columns]) if columns.shape[1] == 1 else columns


def _best(slope: Floats) -> Ints:
    """Return the outcome (n,) that makes the value of each row smallest."""
    return (slope[:, 0] < 0).astype(np.intp) if slope.shape[1] == 1 else slope.argmin(axis=1)


def difference_error(first: Expanded, second: Expanded, paired: bool) -> tuple[float, float]:
    """Return the standard error of a difference, with the noise that few other outcomes hide, and its freedom.

    The values are no squared errors. For the same rows, those of cells with few other outcomes add at least the
    variance of outcomes drawn midway between the two models; for different rows, cells of equal outcomes add what the
    rule of three leaves possible.
    """
    if not paired:
        rows = [(each.influence, each.weights, each.compared, each.seen.groups) for each in (first, second)]
        return apart(*zip(rows, (first.unseen, second.unseen), strict=True))
    influence = first.influence - second.influence
    few = (first.others[first.index] < FEW_OTHERS) | (second.others[second.index] < FEW_OTHERS)
    slope = np.where(few[:, None], first.slope - second.slope, 0.0)
    midway = midway_variance(np.ones(len(few)), slope, first.prediction, second.prediction)
    error, freedom = error_of_rows(influence, first.weights, first.compared, first.seen.groups)
    return math.hypot(error, math.sqrt(max(0.0, midway - float((influence[few] ** 2).sum())))), freedom


_Shown: TypeAlias = tuple[Floats, Floats | None, Array | None, Groups | None]


def apart(*values: tuple[_Shown, float]) -> tuple[float, float]:
    """Return the standard error and the degrees of freedom of a difference of values of different rows.

    Each has what `error_of_rows` takes, and the variance that its rows hide.
    """
    error, freedom = joined([error_of_rows(*rows) for rows, _ in values])
    return math.sqrt(error**2 + sum(hidden for _, hidden in values)), freedom


def error_of_rows(
    influence: Floats, weights: Floats | None, compared: Array | None = None, groups: Groups | None = None
) -> tuple[float, float]:
    """Return the standard error of a value and its degrees of freedom, by the influence and the weights of rows (n,).

    Rows in clusters count as these (`groups`). A row with a weight of its own is like a cluster of one row
    (`cluster_error`), among those of the same number in `compared` (n,), from whose mean it deviates; without numbers,
    among all.
    """
    if groups is not None:
        return error_of_clusters(groups.sums(influence), groups.sums(weights), groups.name)
    if weights is None or weights.min() == weights.max():
        return math.sqrt(float(influence @ influence)), np.inf
    compared = np.zeros(len(weights)) if compared is None else compared
    parts = [compared == number for number in np.unique(compared)]
    for rows in parts:
        _refuse_one_heavy(weights[rows], "row" if len(parts) == 1 else "row of an outcome")
    return joined([cluster_error(influence[rows], weights[rows]) for rows in parts])


def error_of_clusters(influence: Floats, masses: Floats, name: str) -> tuple[float, float]:
    """Return the standard error of a value and its degrees of freedom, of the clusters (G,); refuse one heavy cluster.

    They are those of `cluster_error`, or as many as the squared influences show by their own variance, if these are
    fewer (Pan & Wall 2002): a few clusters with an event may have most of the noise.
    """
    _refuse_one_heavy(masses, f"value of {name!r}")
    error, freedom = cluster_error(influence, masses)
    squares = influence**2
    spread = len(squares) * float(np.var(squares))
    return error, min(freedom, 2 * float(squares.sum()) ** 2 / spread) if spread > 0 else freedom


def at_least(error: float, freedom: float, drawn: float) -> tuple[float, float]:
    """Return a standard error and its degrees of freedom, or that of labels that are drawn, if it reaches farther."""
    farther = drawn * student_quantile(np.inf, 0.975) > error * student_quantile(freedom, 0.975)
    return (drawn, np.inf) if farther else (error, freedom)


def joined(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error of a sum of independent values, and its degrees of freedom (Welch 1947)."""
    variance = sum(error**2 for error, _ in parts)
    lost = sum(error**4 / freedom for error, freedom in parts)
    return math.sqrt(variance), variance**2 / lost if lost > 0 else np.inf


def normal_interval(core: Estimator, seen: Sample, expansion: Expansion | None = None) -> NormalInterval:
    """Return a value with its standard error, by the influence of rows.

    `core` is without its lens, `seen` what that shows, and `expansion` that of its headline, if it is known.
    """
    found = Expanded.of(core, seen, expansion)
    each, many, drawn, groups = "row", "", 0.0, seen.groups
    if groups is None:  # a row with a weight is like a cluster of one row
        error, freedom = error_of_rows(found.influence, found.weights, found.compared)
        drawn = 0.0 if seen.predictions.unweighted else math.sqrt(found.drawn)
    else:
        each = f"value of {groups.name!r}"
        influence, masses = groups.sums(found.influence), groups.sums(found.weights)
        _refuse_one_heavy(masses, each)
        error, freedom = cluster_error(influence, masses)
    shown, (error, freedom) = error, at_least(error, freedom, drawn)
    if error != shown:
        each = "row, if outcomes are drawn from the predictions"
    if freedom < np.inf:
        many = f", with Student's law of {freedom:.3g} degrees of freedom"
    if not (error or found.unseen) and found.slope.any():
        raise NoInterval(NO_NOISE)
    unseen = found.unseen  # where rows show no noise, the rule of three bounds the value, not its logarithm
    return NormalInterval(
        found.value,
        math.hypot(error, math.sqrt(unseen)),
        f"normal, by the influence of each {each}{many} (for many of them)",
        *core.value_range(seen.predictions.n_classes),
        on_range=core.extreme != "either" and unseen == 0,
        freedom=freedom,
    )


def _refuse_one_heavy(masses: Floats, what: str) -> None:
    """Refuse a normal law where one row or cluster has most of the weight (G,): nothing shows its noise."""
    largest = float(masses.max() / masses.sum())
    if largest > _MOST:
        raise NoInterval(
            f"one {what} has {100 * largest:.3g} % of the weight, and nothing shows its noise: a normal law needs "
            "weights of which none is more than half of all"
        )


# Noise that the residuals of a sample do not show: floors of the variances of errors and of their differences.
#
# Residuals of a cell whose outcomes are all equal show no noise, though other labels might have been drawn. So a cell
# of n equal outcomes gets the variance of the largest chance of another outcome that n rows leave possible, 3 / n
# ("rule of three", Hanley & Lippman-Hand 1983). Where few outcomes differ from the others, a difference of two models
# of the same rows has at least the variance of outcomes drawn midway between the two.

RULE_OF_THREE = 3.0
# With fewer rows of other outcomes than the commonest, the noise that they show may be far too small.
FEW_OTHERS = 4


def unseen_variance(slope: Floats, chance: Floats) -> float:
    """Return the variance of sum_i <slope_i, outcome_i> if each row may have another outcome with such a chance (n,).

    `slope` (n, c) is how much one more of each outcome adds. Chances are those of the rule of three
    (`possible_chance`); zero for rows whose cell shows its noise.
    """
    possible = chance > 0
    return float((chance * (1 - chance))[possible] @ largest_move(slope[possible]) ** 2)


def unseen_rows_variance(share: Floats, slope: Floats, uniform: bool) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> by the rule of three where outcomes are `uniform`."""
    chance = possible_chance(np.asarray(effective_rows(share))) if uniform else 0.0
    return unseen_variance(share[:, None] * slope, np.full(len(share), chance))


def midway_variance(share: Floats | float, slope: Floats, first: Floats, second: Floats) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> for chances midway between two predictions (n, c).

    Of all chances, these are nearest to both predictions while both models have the same squared error in each row. So
    the variance of a difference of two errors under this hypothesis is known even where no outcome shows noise: it is
    the variance of a score test.
    """
    chances = np.clip((first + second) / 2, 0, 1)
    moments = [(chances * slope**power).sum(axis=1) for power in (1, 2)]
    return float((share**2 * np.maximum(moments[1] - moments[0] ** 2, 0.0)).sum())


def other_rows(index: Ints, happened: Floats, n_cells: int, several: Floats | None = None) -> Ints:
    """Count the rows of each cell (L,) whose outcome, 1 in its column of (n, c), is not its commonest one.

    Each row may stand for `several`.
    """
    rows = np.bincount(index, several, n_cells)
    times = 1.0 if several is None else several
    counts = [np.bincount(index, times * each, n_cells) for each in happened.T]
    if len(counts) == 1:
        counts.append(rows - counts[0])
    return np.rint(rows - np.max(counts, axis=0)).astype(np.intp)


def possible_chance(rows: Floats) -> Floats:
    """Return the largest chance of another outcome that this number of rows with equal outcomes leaves possible."""
    return RULE_OF_THREE / np.maximum(rows, 2 * RULE_OF_THREE)


def largest_move(slope: Floats) -> Floats:
    """(m,) how much another label adds, of (m, c): it moves one component by one, or two in opposite directions."""
    return np.abs(slope[:, 0]) if slope.shape[1] == 1 else np.ptp(slope, axis=1)


def with_labels(labels: tuple[Hashable, ...], sample: Sample) -> Sample:
    """Return a sample with its columns in the order of these labels, by their names; refuse other labels."""
    if sample.labels == labels:
        return sample
    if len(sample.labels) != len(labels) or set(sample.labels) != set(labels):
        raise ValueError(
            f"the models have different labels, {shortened(labels)} and {shortened(sample.labels)}; give both samples "
            "the same labels="
        )
    order = [sample.labels.index(label) for label in labels]
    known = replace(sample.predictions, rows=sample.predictions.probabilities[:, order], classes=labels)
    return Sample.of(known, np.argsort(order)[sample.outcomes])


def same_rows(a: Sample, b: Sample, estimator: Estimator, advice: str) -> None:
    """Refuse to pair rows that are not the same, and say what to do instead."""
    if len(a) != len(b):
        found = f"the samples have {len(a)} and {counted(len(b), 'row')}"
    elif not np.array_equal(a.outcomes, b.outcomes):
        found = f"y_true differs in {np.count_nonzero(a.outcomes != b.outcomes)} of {counted(len(a), 'row')}"
    elif not _same(kept_rows(a, estimator), kept_rows(b, estimator)):
        found = f"through {estimator.lens!r} different rows of the two samples are kept"
    elif not _same(a.predictions.weights, b.predictions.weights):
        found = "their weights differ"
    elif not _same(*(None if each.groups is None else each.groups.codes for each in (a, b))):
        found = "their groups differ"
    else:
        return
    raise ValueError(f"a paired comparison needs the same rows in the same order, but {found}; {advice}.")


def kept_rows(sample: Sample, estimator: Estimator) -> Ints | None:
    """Return the numbers of the rows that the lens keeps; None if it keeps all."""
    return estimator.lens.look(sample.predictions).rows


def taken(sample: Sample, rows: Ints | None) -> Sample:
    """Return these rows of a sample, or all of them."""
    return sample if rows is None else sample.take(rows)


def _same(first: Array | None, second: Array | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


def wrapped_pvalue(normal: float, own: Sequence[float]) -> float:
    r"""Return the larger of a normal p-value and of twice the smallest exact one of the models by themselves.

    .. math:: p = \max\big(p_\text{normal},\; \min(1,\, 2 \min(p_A, p_B))\big)

    The null "equal errors" is a union: both errors are zero, where a difference is noise of a smaller order and the
    normal p-value says nothing, or both are equal and positive, where it holds. The first part is tested by "at least
    one of the two is off" (a union of two hypotheses, hence the 2), and both parts must be rejected (their
    intersection): intersection-union of union-intersection tests, IUUI (Dimitriadis & Puke 2026).

    >>> wrapped_pvalue(0.001, (0.4, 0.02)), wrapped_pvalue(0.3, (0.001, 0.001))
    (0.04, 0.3)
    """
    return max(normal, min(1.0, 2 * min(own)))


# Cells that are large enough for a variance: neighbours are merged until they are.


@final
@dataclass(frozen=True)
class LargeCells(Binning):
    """Cells of another binning; neighbours are merged, without labels, until each has enough rows for a variance.

    Where rows come in clusters, until it has as many of these.
    """

    binning: Binning
    rows: float = MINIMUM_ROWS
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Cut, then go through the cells in order and close one when it holds enough."""
        cells = self.binning.cut(predictions)
        joined = join(_weight_sums(cells, predictions), lambda sums: bool(effective_number(*sums) >= self.rows))
        return Cells(int(joined.max()) + 1, joined[cells.index], "data")


def with_large_cells(estimator: Estimator, samples: Iterable[Sample]) -> tuple[Estimator, str]:
    """Return the estimator and a note; cells are merged where a cell of a sample is too small for a variance."""
    core = estimator.core
    binning = core.cut_by
    seen = (estimator.lens.look(each.predictions).predictions for each in samples)
    if binning is None or all(_fewest(TallyPlan(each, binning.cut(each), ())) >= MINIMUM_ROWS for each in seen):
        return estimator, ""
    merged = estimator.lens | core.recut(LargeCells(binning))
    return merged, merging_note(merged)


def prepared(estimator: Estimator, seen: Sequence[Sample]) -> tuple[Estimator, list[Evaluator]]:
    """Prepare an estimator on what its lens shows, with merged cells where a cell is too small for a variance."""
    evaluators = [Headline(estimator.core).prepare(each.predictions) for each in seen]
    binning, plans = estimator.core.cut_by, [each.capabilities.tally for each in evaluators]
    if binning is None or all(plan is None or _fewest(plan) >= MINIMUM_ROWS for plan in plans):
        return estimator, evaluators
    merged = estimator.lens | estimator.core.recut(LargeCells(binning))
    return merged, [Headline(merged.core).prepare(each.predictions) for each in seen]


def as_asked(core: Estimator) -> Estimator:
    """Return an estimator with the cells that the user asked for, as errors name it."""
    return core.recut(core.cut_by.binning) if isinstance(core.cut_by, LargeCells) else core


def merging_note(estimator: Estimator, clusters: bool = False) -> str:
    """Say that cells are merged, where they are, until they hold enough rows, or clusters; else nothing."""
    if not isinstance(estimator.core.cut_by, LargeCells):
        return ""
    return f"neighbouring cells are merged until each holds {counted(MINIMUM_ROWS, 'cluster' if clusters else 'row')}"


def _weight_sums(cells: Cells, predictions: Predictions) -> Floats:
    """(L, 2) sums of weights and of their squares; of rows in clusters, of the weights of these in a cell."""
    mass = predictions.weights
    if predictions.groups is not None:
        return _cluster_sums(cells.index, cells.size, predictions.groups, mass)
    if mass is None:
        return np.repeat(np.bincount(cells.index, minlength=cells.size)[:, None].astype(float), 2, axis=1)
    return np.stack([np.bincount(cells.index, each, minlength=cells.size) for each in (mass, mass**2)], axis=-1)


def _cluster_sums(index: Ints, size: int, groups: Groups, weights: Floats | None) -> Floats:
    """(L, 2) sums of the weights that clusters have in each cell, and of their squares."""
    both, place = np.unique(index * groups.number + groups.codes, return_inverse=True)
    mass, cell = np.bincount(place, weights).astype(float), both // groups.number
    return np.stack([np.bincount(cell, each, size) for each in (mass, mass**2)], axis=-1)


def _fewest(plan: TallyPlan) -> float:
    """Return the number of rows of the smallest cell, but at most as many as are enough."""
    weights, rows = plan.predictions.weights, plan.weight
    if weights is not None or plan.predictions.groups is not None:
        rows = effective_number(*_weight_sums(plan.cells, plan.predictions).T)
    return float(rows[rows > 0].min(initial=MINIMUM_ROWS))
