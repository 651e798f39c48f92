r"""Intervals that hold at every n: the noise of the labels at all chances that the sample leaves possible.

The chances of the outcomes are unknown, and so is the noise about them. With all but a small share of confidence the
mean chance of each cell lies in its Clopper-Pearson interval (valid for unequal chances too: Hoeffding 1956). Labels
are drawn there at the most variable point, nearest to equal chances (Berger & Boos 1994). A cell with few or no events
thus keeps the noise that it may have, though the sample does not show it. Weights are known and fixed: rows of a cell
are taken together where their weights differ by less than a factor of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._text import counted
from calibstat.data.arrays import NUMBERS_IN_CACHE, ROWS_IN_CACHE, Array, Floats, Ints, effective_number, numbered_codes
from calibstat.data.rounding import ROUNDING, SAME, above_rounding, rounded_up
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.labels import CountsLaw, LabelLaw
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Estimator, Evaluator, Expansion, PairsInCells, all_weights
from calibstat.inference.intervals import SPENT, ConfidenceInterval, Interval, NoInterval
from calibstat.nulls.base import monte_carlo_pvalue, tie_slack, typical_size
from calibstat.nulls.multiplier import join

# With fewer rows in effect (Kish 1965) nothing is known: by enumeration of all labels of one cell, bounds from fewer
# rows miss the truth with up to 12 % probability, those from as many or more with at most 5 %.
FEWEST_ROWS = 7
# How far labels are drawn from the shares that were seen towards the most variable chances; bounds hold for all of
# these. The noise of few rows takes few values, and may be larger at less variable chances, as that of a small group.
_WAY, _SMALL_GROUPS, _FEW_ROWS = (1.0,), (1.0, 0.5, 0.2), (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.2)
_SMALL, _FEW = 5, 30
# The noise of a stretch of similar predictions is seen if so many of its rows do not have its commonest outcome.
SEEN = 10
# After so many halvings a bound is as exact as floats are.
_HALVINGS = 50
# Pieces of pooled rows with a variance of less than this are drawn from the binomial law, others from the normal one.
_FEW_EVENTS = 5
# Ends of stretches of similar predictions.
_ENDS = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 0.9, 0.97, 0.99, 0.997])
ORDERS = len(_ENDS) + 1


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows of a common cell with nearly the same weight: G groups, K outcomes.

    `index` (n,) is the group of each row, and `seen` (G, K) how often each outcome was seen in it; `effective` is the
    number of equally weighted rows that would be as good as all (Kish 1965).
    """

    index: Ints
    seen: Ints
    effective: float

    @classmethod
    def of(cls, cells: Ints, weights: Floats, outcomes: Ints, n_classes: int, several: Floats | None = None) -> Groups:
        """Split cells (n,) by the octave of the weights (n,); each row may stand for `several`, of its weight each."""
        # A share of the largest weight, which would be alone in its octave if it were not a little less.
        share = weights / (weights.max(initial=0.0) or 1.0) * (1 - SAME)
        octave = np.where(weights > 0, np.frexp(share)[1] + 2**12, 0)
        octave -= octave.min()
        found, index = numbered_codes(cells * (octave.max() + 1) + octave)
        size = len(found)
        seen = np.bincount(index * n_classes + outcomes, several, size * n_classes).astype(np.intp)
        times = 1.0 if several is None else several
        effective = effective_number((times * weights).sum(), (times * weights**2).sum())
        return cls(index, seen.reshape(size, n_classes), float(effective))

    @property
    def hidden(self) -> Array:
        """(G,) whether too few rows differ from the commonest outcome for their noise to be seen."""
        return self.seen.sum(axis=1) - self.seen.max(axis=1) < SEEN

    def may_matter(self, squares: Array) -> bool:
        """Whether hidden noise may be more than a fiftieth of the variance of all; `squares` (G,) are of weights."""
        hidden = self.hidden
        if not hidden.any():
            return False
        variance = squares * (1 - (next(self.possible(hidden)) ** 2).sum(axis=1))
        return bool(variance[hidden].sum() > variance.sum() / 50)

    def possible(self, hidden: Array | None = None, spent: float = SPENT) -> Iterator[Floats]:
        """Yield chances (G, K) that the labels leave possible, the most variable ones first.

        With `hidden` (G,) only those groups get such chances; all others the shares that were seen. With probability
        `spent` the chances lie farther out.
        """
        rows = self.seen.sum(axis=1, keepdims=True)
        some = np.ones(len(rows), dtype=bool) if hidden is None else hidden
        share = self.seen / rows
        low, high = self.bounds(some, spent)
        most, start = most_variable(low, high), np.clip(share[some], low, high)
        ways = _FEW_ROWS if self.effective < _FEW else _SMALL_GROUPS if rows.min() < _SMALL else _WAY
        for step in ways:
            share[some] = start + step * (most - start)
            yield share / share.sum(axis=1, keepdims=True)

    def bounds(self, some: Array, spent: float = SPENT) -> tuple[Floats, Floats]:
        """Bound the chances (g, K) of some groups (G,); all bounds hold together with probability 1 - `spent`."""
        seen, n_classes = self.seen[some], self.seen.shape[1]
        rows = np.broadcast_to(seen.sum(axis=1, keepdims=True), seen.shape)
        tail = (1 - (1 - spent) ** (1 / max(len(seen), 1))) / (2 if n_classes == 2 else 2 * n_classes)
        return clopper_pearson(rows, seen, tail), 1 - clopper_pearson(rows, rows - seen, tail)


@dataclass(frozen=True, eq=False)
class Pieces:
    """The rows of each group in each cell of an estimator: P pieces in the order of cells.

    Each has its cell, its group and its number of rows (P,), and the root mean square of their weights.
    """

    cell: Ints
    group: Ints
    rows: Ints
    scale: Floats

    @classmethod
    def of(cls, cells: Ints, groups: Groups, weights: Floats, several: Floats | None = None) -> Pieces:
        """Cut the groups by cells (n,)."""
        pairs, index = numbered_codes(cells * len(groups.seen) + groups.index)
        rows = np.bincount(index, several).astype(np.intp)
        squares = np.bincount(index, weights**2 if several is None else several * weights**2)
        return cls(*np.divmod(pairs, len(groups.seen)), rows, np.sqrt(squares / rows))

    def noises(self, chances: Floats) -> Callable[[np.random.Generator, int, int], Floats]:
        """Return a function that draws counts of outcomes less their means: (R, P, K), or the event alone (R, P, 1)."""
        each = chances[self.group]

        def draw(stream: np.random.Generator, _size: int, kept: int) -> Floats:
            if each.shape[1] == 2:
                drawn = stream.binomial(self.rows, each[:, 1], size=(kept, len(each)))
                return (drawn - self.rows * each[:, 1])[..., None]
            drawn = stream.multinomial(self.rows, each, size=(kept, len(each)))
            return drawn - self.rows[:, None] * each

        return draw

    def near_normal(self, chances: Floats) -> Callable[[np.random.Generator, int, int], Floats]:
        """Return a function as `noises` does, for two outcomes; large pieces are drawn from the normal law."""
        each = chances[self.group]
        spread = np.sqrt(self.rows * each * (1 - each))
        few = np.flatnonzero(spread**2 < _FEW_EVENTS)

        def draw(stream: np.random.Generator, size: int, kept: int) -> Floats:
            drawn = spread * stream.standard_normal((size, len(each)))
            drawn[:, few] = stream.binomial(self.rows[few], each[few], size=(size, len(few))) - (self.rows * each)[few]
            return drawn[:kept, :, None]

        return draw

    def in_cells(self, noise: Floats, power: int = 1) -> Floats:
        """Add up noise (R, P, c) by cells, times a power of the weights: (R, L, c), of cells with rows."""
        starts = np.flatnonzero(np.diff(self.cell, prepend=-1))
        return np.add.reduceat(noise * self.scale[:, None] ** power, starts, axis=1)


def clopper_pearson(n: Ints, events: Ints, tail: float) -> Floats:
    """Return lower bounds of the mean chance of n rows with these events; each misses with probability `tail`."""
    bounds = np.zeros(n.shape)
    some = events > 0
    bounds[some] = special.betaincinv(events[some], n[some] - events[some] + 1, tail)
    return bounds


def chance_bounds(sample: Sample, mean: float, tail: float) -> tuple[float, float]:
    """Bound the weighted mean chance of the event in independent rows or clusters of any chances, at every n.

    Without weights by Clopper & Pearson, since counts of unequal chances are less spread than binomial ones (Hoeffding
    1956; he excludes a single event, where -log(1 - tail') of n chances sums to the tail). With weights or clusters by
    `chance_below`, of the largest share in all weight.
    """
    predictions, n = sample.predictions, sample.predictions.n_rows
    weights, groups = predictions.importance, predictions.groups
    if weights is None and groups is None:
        happened = round(float(all_weights(predictions, None) @ sample.outcomes))
        events, less = np.array([happened, n - happened]), -float(np.expm1(-tail))
        low, high = clopper_pearson(np.full(2, n), events, less)
        return float(low), float(1 - high)
    masses = None if groups is None else groups.sums(predictions.weights)
    largest = predictions.largest_share if masses is None else masses.max() / masses.sum()
    means = np.clip([mean, 1 - mean], 0, 1)  # weighted means may be above one by rounding
    low, high = chance_below(means, np.full(2, 1 / largest), tail)
    return float(low), float(1 - high)


def chance_below(mean: Floats, shares: Floats, tail: float) -> Floats:
    """Return lower bounds of expected means; each misses with probability `tail` at most.

    Means are of independent numbers from 0 to 1, such as the share of events in a cluster, whatever its rows have to do
    with each other. The largest share in a mean is 1 / `shares`. Chernoff's bound holds for so many equal shares
    (Hoeffding 1963, Theorem 1), and for unequal ones too, since E Z^w is at most (E Z)^w for w up to 1.
    """
    budget = -np.log(tail) / shares
    low, high = np.zeros(mean.shape), mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = divergence(mean, middle) > budget
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return low


def divergence(mean: Floats, chance: Floats) -> Floats:
    """Return how much one event of a chance says against another one: the relative entropy."""
    return special.rel_entr(mean, chance) + special.rel_entr(1 - mean, 1 - chance)


def most_variable(low: Floats, high: Floats) -> Floats:
    """Return the chances (G, K) between the bounds that are nearest to equal ones: a common level, cut at the bounds.

    >>> most_variable(np.array([[0.6, 0.0, 0.0]]), np.array([[1.0, 0.1, 0.4]])).round(3)
    array([[0.6, 0.1, 0.3]])
    """
    if low.shape[1] == 2:
        event = np.clip(0.5, np.maximum(low[:, 1], 1 - high[:, 0]), np.minimum(high[:, 1], 1 - low[:, 0]))
        return np.stack([1 - event, event], axis=1)
    below, above = np.zeros((len(low), 1)), np.ones((len(low), 1))
    for _ in range(50):
        level = (below + above) / 2
        short = np.clip(level, low, high).sum(axis=1, keepdims=True) < 1
        below, above = np.where(short, level, below), np.where(short, above, level)
    return np.clip(above, low, high)


def stretches(predictions: Predictions) -> Ints:
    """Number the rows (n,) by their likeliest outcome and the order of magnitude of the chance that it fails.

    Neighbouring stretches are joined until each has so many rows that they can show its noise.
    """
    if predictions.n_classes == 2:
        found = orders(predictions.event)
    else:
        rows = predictions.probabilities
        found = rows.argmax(axis=1) * ORDERS + orders(rows.max(axis=1))
    return _enough_rows(np.bincount(found, predictions.counts).astype(np.intp))[found]


def orders(chances: Floats) -> Ints:
    """Return the order of magnitude of chances (n,), or of what is left of them to 1: 0 to `ORDERS` - 1."""
    return np.searchsorted(_ENDS, chances, side="right")


def _seen_in_orders(chances: Floats, outcomes: Ints) -> Ints:
    """Return how often each of two outcomes was seen in each of `orders`: (`ORDERS`, 2), in one pass over the rows."""
    found = np.zeros(2 * ORDERS, dtype=np.intp)
    for start in range(0, len(chances), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        some, codes = chances[rows], outcomes[rows].astype(np.uint8)
        for end in _ENDS:
            codes += np.multiply(some >= end, 2, dtype=np.uint8)
        found += np.bincount(codes, minlength=2 * ORDERS)
    return found.reshape(ORDERS, 2)


def _enough_rows(counts: Ints) -> Ints:
    """Number neighbours alike until they have so many rows that they can show noise."""
    return join(counts[:, None], lambda sums: bool(sums[0] >= SEEN))


def possible_noise(
    seen: Sample,
    evaluator: Evaluator,
    n_resamples: int,
    rng: np.random.Generator,
    all_cells: bool,
    spent: float = SPENT,
) -> list[Floats]:
    """Draw a seminorm of the noise at possible chances, in one way or more: values (n_resamples,) of each.

    With `all_cells` each cell has its most variable chances, for an interval that holds at every n. Otherwise only
    those stretches of similar predictions have them whose noise is hidden, and nothing is drawn where it is little.
    """
    predictions, offers = seen.predictions, evaluator.capabilities
    maximum = offers.terms is not None and offers.terms.combine == "max"
    binary = predictions.n_classes == 2 and predictions.weights is None
    if not (all_cells or maximum) and binary and not hides_noise(_seen_in_orders(predictions.event, seen.outcomes)):
        return []
    weights, several = _of_single_rows(seen, all_weights(predictions, None))
    plan = offers.tally if offers.from_tally and offers.tally and offers.tally.predictions is predictions else None
    cells = plan.cells.index if plan and all_cells else stretches(predictions)
    groups = Groups.of(cells, weights, seen.outcomes, predictions.n_classes, several)
    if groups.effective < FEWEST_ROWS:
        return [np.full(n_resamples, np.inf)]
    hidden = None if all_cells else groups.hidden
    if hidden is not None and not (
        hidden.any() if maximum else groups.may_matter(np.bincount(groups.index, weights**2 * predictions.multiplicity))
    ):
        return []
    draw = _by_rows if plan is None else _by_cells
    return [draw(seen, evaluator, groups, chances, n_resamples, rng) for chances in groups.possible(hidden, spent)]


def _of_single_rows(seen: Sample, scale: Floats) -> tuple[Floats, Floats | None]:
    """Return how much each of the rows counts that a row is or stands for (n,), and how many it stands for."""
    several = seen.predictions.counts
    return scale / seen.predictions.multiplicity, several


def hides_noise(seen: Ints) -> bool:
    """Whether rows of equal weight may hide noise, from how often each outcome was seen in `ORDERS` of chances (S, K).

    Where they do not, `possible_noise` draws nothing.
    """
    joined = _enough_rows(seen.sum(axis=1))
    counts = np.stack([np.bincount(joined, each) for each in seen.T], axis=1).astype(np.intp)
    counts = counts[counts.any(axis=1)]
    groups = Groups(np.empty(0, dtype=np.intp), counts, float(counts.sum()))
    return groups.effective < FEWEST_ROWS or groups.may_matter(counts.sum(axis=1))


def _by_cells(
    seen: Sample, evaluator: Evaluator, groups: Groups, chances: Floats, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Draw the counts of each piece of a cell; the value of the seminorm depends on the sum of the noise in cells."""
    offers = evaluator.capabilities
    plan, from_tally = offers.tally, offers.from_tally
    assert plan is not None
    assert from_tally is not None
    pieces = Pieces.of(plan.cells.index, groups, *_of_single_rows(seen, all_weights(seen.predictions, None)))
    filled = np.unique(pieces.cell)

    def evaluate(noise: Floats) -> Floats:
        outcome = np.repeat(plan.prediction[None], len(noise), axis=0)
        outcome[:, filled] += pieces.in_cells(noise)
        return from_tally(outcome)

    return replicate(evaluate, pieces.noises(chances), n_resamples, pieces.rows.size * chances.shape[1], rng)


def _by_rows(
    seen: Sample, evaluator: Evaluator, groups: Groups, chances: Floats, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Draw the label of each row at the chances of its group, and evaluate with their noise for residuals."""
    predicted, signed = seen.predictions.probabilities, evaluator.capabilities.signed
    each = chances[groups.index]
    several, opposite = seen.predictions.counts, (predicted[:, 1] < 0.5).astype(np.intp)
    law = LabelLaw(each) if several is None else CountsLaw(each, several)

    def evaluate(labels: Array) -> Floats:
        if several is not None and (signed is None or each.shape[1] > 2):
            return evaluator(predicted + (labels - each))
        labels = labels if several is None else labels[..., 1]
        if signed is not None and each.shape[1] == 2:  # signs that turn the residuals of far labels into the noise
            return signed(opposite, (labels - each[:, 1]) / (opposite - predicted[:, 1]))
        size = max(1, NUMBERS_IN_CACHE // each.size)
        parts = [labels[start : start + size] for start in range(0, len(labels), size)]
        return np.concatenate([evaluator(predicted + (np.eye(each.shape[1])[part] - each)) for part in parts])

    return replicate(evaluate, law.draw, n_resamples, len(seen), rng, evaluator.capabilities.batch_size)


@final
@dataclass(frozen=True, eq=False)
class SquaredInterval(Interval):
    r"""A debiased squared error: all true values at which the observed one is not surprising (test inversion).

    With true mean residuals :math:`\delta_b` of the cells, the value is
    :math:`\theta + \sum_b \ell_b^\top \delta_b + D`: its noise grows with the root of the true value
    :math:`\theta`, which a standard error at the estimate leaves out (Wilson's idea). The direction of the true
    residuals is unknown: all the error in one cell, in its most variable direction, and the observed direction are
    tried, and the least favourable counts. Noise is drawn at the most variable possible chances.

    `ways` has for each way to draw it the linear part (R, m), for :math:`\theta = 1` in m directions, and the
    degenerate part (R,); `redraws` are values under redrawn labels, which is the law at zero error.
    """

    value: float
    ways: Sequence[tuple[Floats, Floats]]
    redraws: Floats
    method: str
    largest: float

    @classmethod
    def of(
        cls, core: Estimator, seen: Sample, expansion: Expansion, redraws: Floats, rng: np.random.Generator
    ) -> SquaredInterval:
        """Draw the noise of a debiased square, given its expansion, as often as labels were redrawn."""
        pairs = expansion.degenerate
        assert pairs is not None
        scale, several = _of_single_rows(seen, pairs.scale)
        groups = Groups.of(pairs.index, scale, seen.outcomes, seen.predictions.n_classes, several)
        if groups.effective < FEWEST_ROWS:
            raise NoInterval(f"{core!r} needs at least {FEWEST_ROWS} rows (in effect, by weights) for an interval")
        pieces = Pieces.of(pairs.index, groups, scale, several)
        residual = seen.predictions.happened(seen.outcomes) - seen.predictions.components
        return cls(
            expansion.value,
            [_square_noise(pieces, chances, residual, pairs, len(redraws), rng) for chances in groups.possible()],
            redraws,
            "for the squared *binned* error, in these cells (a lower bound of the unbinned one): all values that are "
            "not rejected, whatever the direction of the error",
            core.value_range(seen.predictions.n_classes)[1],
        )

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Return the values that neither side rejects; zero is rejected only if redrawn labels reject it too."""
        tail = (1 - confidence_level) / 2
        return ConfidenceInterval(self._lower(tail), self._upper(tail))

    def upper(self, confidence_level: float) -> float:
        """Return the largest value that is not rejected as too large."""
        return self._upper(1 - confidence_level)

    def pvalue_above(self, margin: float) -> float:
        """Return the largest Monte Carlo p-value of all directions, and what is spent on the chances."""
        most = max(int(np.count_nonzero(_at(margin, way) <= self._counted, axis=0).max()) for way in self.ways)
        return min(1.0, SPENT + monte_carlo_pvalue(most, len(self.ways[0][1])))

    @property
    def _counted(self) -> float:
        """The value; one below zero counts as zero."""
        return max(self.value, 0.0)

    def _upper(self, tail: float) -> float:
        """Return the largest value that is kept: in some way and direction, `rank` draws or more are at most ours."""
        rank = _rank(tail - SPENT, len(self.ways[0][1]))

        def kept(theta: float) -> bool:
            return any((np.count_nonzero(_at(theta, way) <= self._counted, axis=0) >= rank).any() for way in self.ways)

        return _turning_point(kept, self.largest)

    def _lower(self, tail: float) -> float:
        """Return the smallest value that is kept: in some way and direction, `rank` draws or more are at least ours."""
        rank = _rank(tail - SPENT, len(self.ways[0][1]))

        def rejected(theta: float) -> bool:
            return all((np.count_nonzero(_at(theta, way) >= self.value, axis=0) < rank).all() for way in self.ways)

        if self.value <= 0 or not rejected(0.0) or self._zero_pvalue() > tail:
            return 0.0
        return _turning_point(rejected, self.value)

    def _zero_pvalue(self) -> float:
        """Return the p-value of an error of zero, from redrawn labels."""
        slack = tie_slack(self.value, typical_size(self.redraws))
        return monte_carlo_pvalue(int(np.count_nonzero(self.redraws >= self.value - slack)), len(self.redraws))


def _square_noise(
    pieces: Pieces, chances: Floats, residual: Floats, pairs: PairsInCells, n_resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the linear part for a true value of one, (R, m), in m directions, and the degenerate part (R,)."""
    cells, starts = np.unique(pieces.cell, return_index=True)
    single, double = (np.add.reduceat(pieces.rows * pieces.scale**power, starts) for power in (1, 2))
    mass = above_rounding(single**2 - double, single**2)  # of the pairs of different rows of each cell
    per_mass = np.sqrt(np.divide(1, mass, out=np.zeros_like(mass), where=mass > 0))
    each, binary = chances[pieces.group], chances.shape[1] == 2
    square = pieces.scale**2
    axes = np.ones((len(cells), 1)) if binary else _most_variable_axes(each, square * pieces.rows, starts)
    mean: Floats = np.stack([np.bincount(pairs.index, pairs.scale * column)[cells] for column in residual.T], axis=-1)
    mean = mean / single[:, None]
    size = np.sqrt(mass @ (mean**2).sum(axis=1))
    # the squared norm of the noise of a row: its mean, and how it moves with the counts
    spread = each[:, 1] * (1 - each[:, 1]) if binary else 1 - (each**2).sum(axis=1)
    rate = 1 - 2 * each[:, 1:] if binary else -2 * each
    own_mean, own_rate = (square * pieces.rows) @ spread, square[:, None] * rate

    def parts(noise: Floats) -> Floats:
        """Take noise (r, P, c) to the linear parts and, last, the degenerate part: (r, m + 1)."""
        first = pieces.in_cells(noise)
        moved = 2 * (single[:, None] * first - pieces.in_cells(noise, 2))
        along = (moved * axes).sum(axis=-1) * per_mass
        observed = (moved * mean).sum(axis=(1, 2)) / size if size > 0 else np.zeros(len(noise))
        degenerate = (first**2).sum(axis=(1, 2)) - (noise * own_rate).sum(axis=(1, 2)) - own_mean
        return np.column_stack([along, -along, observed, degenerate])

    drawn = replicate(parts, pieces.noises(chances), n_resamples, each.size, rng)
    return drawn[:, :-1], drawn[:, -1]


def _most_variable_axes(chances: Floats, mass: Floats, starts: Ints) -> Floats:
    """Return the direction (L, K) in which the noise of each cell varies most."""
    weighted = mass[:, None] * chances
    covariance = -np.add.reduceat(weighted[:, :, None] * chances[:, None, :], starts)
    diagonal = np.arange(chances.shape[1])
    covariance[:, diagonal, diagonal] += np.add.reduceat(weighted, starts)
    return np.linalg.eigh(covariance)[1][:, :, -1]


def _at(theta: float, way: tuple[Floats, Floats]) -> Floats:
    """Return what is observed if the true value is theta: (R, m)."""
    linear, degenerate = way
    return theta + np.sqrt(theta) * linear + degenerate[:, None]


def _turning_point(holds: Callable[[float], bool], largest: float) -> float:
    """Return where a condition that holds at zero ends to hold, or the largest value if it always holds."""
    low, high = 0.0, largest
    if holds(high):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def _rank(share: float, n_resamples: int) -> int:
    """Return how many draws are a share of all draws and the data; refuse if it is not even one."""
    if share <= 0:
        raise NoInterval(f"a bound from labels at possible chances needs a level below {1 - SPENT:g} for each side")
    rank = int(share * (n_resamples + 1) + ROUNDING)
    if rank < 1:
        raise NoInterval(
            f"{counted(n_resamples, 'resample', 'is', 'are')} too few for this level; take at least "
            f"{rounded_up(1 / share)}"
        )
    return rank
