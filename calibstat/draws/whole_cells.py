"""Rows drawn with replacement, and labels drawn anew, seen by cells: which way of drawing whole cells serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Cells
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints, numbered_codes
from calibstat.data.sample import Predictions, Sample
from calibstat.draws._recut_cells import draw_recut
from calibstat.draws.labels import LabelLaw
from calibstat.draws.moments import (
    DrawnCells,
    Moments,
    SquaresOfLabels,
    add_up_cells,
    degree_for,
    draw_fixed,
    numbers_for_cells,
    sum_of_squares,
    sums_are_near_normal,
)
from calibstat.draws.poisson_binomial import Powers, counts_of
from calibstat.draws.streams import draw_blocks, random_signs, replicate
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import Tally, TallyPlan, ratio

# Up to this many rows are drawn one by one: a thousand replicates of them take at most a second.
FEW_ROWS = 3000
# Cells of fewer rows than this on average are not drawn whole: rows cost no more.
ROWS_FOR_A_CELL = 8.0
_KNOWN = frozenset({"weight", "prediction", "outcome", "weight2"})
_SQUARES = "square"


def has_few_rows(predictions: Predictions) -> bool:
    """Whether rows are so few that they are drawn one by one; never a matter of how many replicates are drawn."""
    return len(predictions) <= FEW_ROWS


def sums_suffice(evaluator: Evaluator, squares: bool = False) -> bool:
    """Whether counts of two outcomes and sums of predictions, without weights, in few cells are all that is needed.

    With `squares`, sums of squared residuals can be drawn too: of rows that each count once.
    """
    plan = evaluator.capabilities.tally
    if plan is None or plan.predictions.n_classes != 2 or plan.predictions.weights is not None:
        return False
    if plan.cells.size * ROWS_FOR_A_CELL > len(plan.predictions):
        return False
    known = _KNOWN | {_SQUARES} if squares else _KNOWN
    return plan.needs <= known and evaluator.capabilities.from_tallies is not None


def draw_cells(
    cells: Cells,
    predictions: Predictions,
    chance: Array | None,  # (n,), of the event; ints are labels, 0 or 1; None if it is the prediction
    n_resamples: int,
    rng: np.random.Generator,
    ranks: Ints | None = None,  # (L - 1,), where the one conditioned column is cut anew each time; None if cells stay
    *,
    repeats: bool = False,  # as in `moments.draw_fixed`, where cells stay
    squares: bool = False,  # whether to draw sums of squared residuals
    known: tuple[Floats, Floats] | None = None,  # (L,) each, rows and sum of predictions of these cells
) -> Iterator[DrawnCells] | None:
    """Draw as many rows as there are, with replacement, and add them up in cells, some replicates at a time.

    None where the law of a sum of predictions is too far from a normal one. Predictions are of two classes, unweighted.
    """
    event = np.ascontiguousarray(predictions.event)
    chance = event if chance is None else chance
    cut_by_event = ranks is None or predictions.keys == (1,)
    column = event if cut_by_event else predictions.conditioned[:, 0]
    few = FewValues.of(cells, column, event, chance)
    by_prediction = predictions.keys == (1,)
    if ranks is None:
        if few is not None:
            return few.draw_fixed(n_resamples, rng, repeats=repeats, squares=squares)
        moments = Moments.of_cells(cells.index, cells.size, event, chance, degree_for(squares))
        if not sums_are_near_normal(cells, moments.rows, moments.events, event, chance, by_prediction=by_prediction):
            return None
        return draw_fixed(moments, n_resamples, rng, repeats=repeats, squares=squares)
    if few is not None:
        return few.draw_recut(ranks, n_resamples, rng, squares=squares)
    rows, sums = known or (_sums_in_cells(cells, np.ones(len(event))), _sums_in_cells(cells, event))
    events = sums if chance is event else _sums_in_cells(cells, chance)
    if not sums_are_near_normal(cells, rows, events, event, chance, by_prediction=by_prediction):
        return None
    return draw_recut(column, event, chance, ranks, n_resamples, rng, cells, squares=squares, prediction_sums=sums)


def _sums_in_cells(cells: Cells, values: Array) -> Floats:
    return np.bincount(cells.index, values, minlength=cells.size).astype(float, copy=False)


# Two models on the same rows drawn with replacement: how many rows of each pair of cells and labels, whole.

# More pairs of cells and labels than this are not drawn whole, nor more than one for four rows.
_AT_MOST, _PAIRS_FOR_A_ROW = 4096, 1 / 4


def paired_cells(
    estimator: Estimator, samples: tuple[Sample, Sample], n_resamples: int, rng: np.random.Generator
) -> Floats | None:
    """Evaluate two samples of the same rows, seen through the lens: (2, R, ...); None where rows must be weighted."""
    evaluators = [estimator.prepare(sample.predictions) for sample in samples]
    if not all(sums_suffice(evaluator) for evaluator in evaluators):
        return None
    offers = [evaluator.capabilities for evaluator in evaluators]
    plans = [each.tally for each in offers if each.tally is not None]
    if not all(_near_normal(plan, sample) for plan, sample in zip(plans, samples, strict=True)):
        return None
    pairs = Pairs.of(plans, samples)
    if len(pairs.rows) > min(_AT_MOST, _PAIRS_FOR_A_ROW * len(samples[0])):
        return None
    repeats = "weight2" in plans[0].needs
    values: list[list[Floats]] = [[], []]
    for both in pairs.draw(n_resamples, rng, repeats):
        for kept, each, drawn in zip(values, offers, both, strict=True):
            kept.extend([each.from_tallies(drawn.tally())] if each.from_tallies else [])
    return np.stack([np.concatenate(each) for each in values])


def _near_normal(plan: TallyPlan, sample: Sample) -> bool:
    """Whether sums of predictions of one model may be drawn from the normal law."""
    tally, predictions = plan(sample.outcomes), plan.predictions
    by_prediction = predictions.keys == (1,)
    counts = tally.weight, tally.outcome[:, 0]
    return sums_are_near_normal(plan.cells, *counts, predictions.event, sample.outcomes, by_prediction=by_prediction)


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows by their cells and labels in both models (G groups that occur)."""

    rows: Floats  # (G,), their number
    home: tuple[Ints, Ints]  # (G,) each, the cell in either model
    event: tuple[Ints, Ints]  # (G,) each, the label in either model
    size: tuple[int, int]  # number of cells of either model
    mean: Floats  # (2, G), of the predictions of either model
    deviation: Floats  # (2, G), the same
    correlation: Floats  # (G,), of the predictions of both

    @classmethod
    def of(cls, plans: list[TallyPlan], samples: tuple[Sample, Sample]) -> Pairs:
        """Count rows and add up predictions."""
        one, other = (plan.cells.index * 2 + sample.outcomes for plan, sample in zip(plans, samples, strict=True))
        found, group = numbered_codes(one * (2 * plans[1].cells.size) + other)
        rows = np.bincount(group).astype(float)
        codes = np.divmod(found, 2 * plans[1].cells.size)
        p, q = (np.ascontiguousarray(sample.predictions.event) for sample in samples)
        mean = np.stack([np.bincount(group, each) for each in (p, q)]) / rows
        p, q = p - mean[0][group], q - mean[1][group]
        variance = np.stack([np.bincount(group, each * each) for each in (p, q)]) / rows
        deviation = np.sqrt(variance)
        correlation = ratio(np.bincount(group, p * q) / rows, deviation[0] * deviation[1]).clip(-1, 1)
        first, second = (code // 2 for code in codes), (code % 2 for code in codes)
        sizes = (plans[0].cells.size, plans[1].cells.size)
        return cls(rows, tuple(first), tuple(second), sizes, mean, deviation, correlation)  # type: ignore[arg-type]

    def draw(
        self, n_resamples: int, rng: np.random.Generator, repeats: bool
    ) -> Iterator[tuple[DrawnCells, DrawnCells]]:
        """Draw as many rows as there are, with replacement, some replicates at a time."""
        n = int(self.rows.sum())

        def both(stream: np.random.Generator, size: int, kept: int) -> tuple[DrawnCells, DrawnCells]:
            counts = stream.multinomial(n, self.rows / n, size=size).astype(float)
            noise = stream.standard_normal((2, *counts.shape))
            noise[1] = self.correlation * noise[0] + np.sqrt(1 - self.correlation**2) * noise[1]
            weight2 = sum_of_squares(counts[:, None], self.rows[None], stream) if repeats else counts
            sums = counts * self.mean[:, None] + np.sqrt(counts) * self.deviation[:, None] * noise
            one, other = (
                DrawnCells(counts, counts * event, sums[model].clip(0, counts), weight2)
                .first(kept)
                .added(home, n_cells)
                for model, (home, n_cells, event) in enumerate(zip(self.home, self.size, self.event, strict=True))
            )
            return one, other

        return draw_blocks(both, n_resamples, numbers_for_cells(len(self.rows)), rng)


# Rows drawn with replacement where there are few different rows: how often each occurs, exactly.

# Few values are at most four for each cell, up to 4096, or one for eight rows, up to 512.
_FOR_A_CELL, _FOR_A_ROW = (4, 4096), (1 / 8, 512)


@final
@dataclass(frozen=True, eq=False)
class FewValues:
    """The different rows (U of them), cell after cell and from small to large."""

    moments: Moments  # of each different row
    home: Ints  # (U,), its cell
    run_end: Ints  # (U,), the last different row with the same value of what is cut
    size: int  # number of cells

    @classmethod
    def of(cls, cells: Cells, column: Floats, prediction: Floats, chance: Array) -> FewValues | None:
        """Find the different rows; None if they are not few. `column` (n,) is cut: `prediction` itself, where it is."""
        wanted = (cells.size * _FOR_A_CELL[0], _FOR_A_CELL[1]), (len(column) * _FOR_A_ROW[0], _FOR_A_ROW[1])
        few = int(max(min(each) for each in wanted))
        glimpse = prediction[:: max(1, len(prediction) // (4 * few))]
        if len(np.unique(glimpse)) > few:
            return None
        values, place = np.unique(prediction, return_inverse=True)
        cuts, order = (values, place) if column is prediction else np.unique(column, return_inverse=True)
        if len(values) > few or len(cuts) > few:
            return None
        key = (cells.index * len(cuts) + order) * len(values) + place
        found, index = np.unique(key, return_inverse=True)
        if len(found) > few:
            return None
        moments = Moments.of_values(index, values[found % len(values)], chance)
        run = found // len(values)
        return cls(moments, run // len(cuts), np.searchsorted(run, run, side="right") - 1, cells.size)

    def draw_fixed(
        self, n_resamples: int, rng: np.random.Generator, *, repeats: bool = False, squares: bool = False
    ) -> Iterator[DrawnCells]:
        """Draw rows with replacement and count them in the cells as they are."""
        for drawn in draw_fixed(self.moments, n_resamples, rng, repeats=repeats, squares=squares):
            yield drawn.added(self.home, self.size)

    def draw_recut(
        self, ranks: Ints, n_resamples: int, rng: np.random.Generator, *, squares: bool = False
    ) -> Iterator[DrawnCells]:
        """Draw rows with replacement and cut them anew at `ranks`, as ``EqualMass`` cuts a sample."""
        for drawn in draw_fixed(self.moments, n_resamples, rng, squares=squares):
            reached = np.cumsum(drawn.rows, axis=1)
            last = [(reached < rank).sum(axis=1) for rank in ranks]
            ends = np.stack([*(self.run_end[each] for each in last), np.full(len(reached), len(self.home) - 1)], axis=1)
            yield drawn.each(partial(_sums_between, ends=ends))


def _sums_between(values: Floats, ends: Ints) -> Floats:
    """Add up (R, U) from each end (R, L) to the next."""
    return np.diff(np.take_along_axis(np.cumsum(values, axis=1), ends, axis=1), axis=1, prepend=0.0)


def redraw_predictions(
    estimator: Estimator,
    sample: Sample,
    n_resamples: int,
    rng: np.random.Generator,
    shortcuts: bool = True,  # whether these may be, where rows are many (docs/engine.md)
    evaluator: Evaluator | None = None,  # the estimator, prepared on the sample's predictions, if there is one already
) -> Floats:
    """Evaluate an estimator on resampled predictions with labels drawn from them: (R, ...).

    It is prepared anew on every resample, or, where sums over cells suffice, once, and cells are drawn whole.
    """
    if shortcuts and not has_few_rows(sample.predictions):
        whole = _whole_cells(evaluator or estimator.prepare(sample.predictions), sample.predictions, n_resamples, rng)
        if whole is not None:
            return whole
    n = len(sample)

    def rows_and_uniforms(stream: np.random.Generator, size: int, kept: int) -> tuple[Ints, Floats]:
        return stream.integers(0, n, size=(size, n))[:kept], stream.random((size, n))[:kept]

    drawn = draw_blocks(rows_and_uniforms, n_resamples, n, rng)
    return np.array([_drawn_anew(estimator, sample, *each) for both in drawn for each in zip(*both, strict=True)])


def _whole_cells(
    evaluator: Evaluator, predictions: Predictions, n_resamples: int, rng: np.random.Generator
) -> Floats | None:
    """Draw the sums over cells; None where they do not suffice or cells move in another way than is known."""
    plan, from_tallies = evaluator.capabilities.tally, evaluator.capabilities.from_tallies
    if plan is None or from_tallies is None or plan.predictions is not predictions:
        return None
    moves = plan.cells.ranks is None and (plan.cells.moves != "fixed" or plan.cells.edges is None)
    if moves or not sums_suffice(evaluator, squares=True):
        return None
    chance = None if predictions.is_law else np.ascontiguousarray(predictions.chances[:, 1])
    squares, known = _SQUARES in plan.needs, (plan.weight, plan.prediction[:, 0])
    ranks = plan.cells.ranks
    drawn = draw_cells(plan.cells, predictions, chance, n_resamples, rng, ranks, squares=squares, known=known)
    return None if drawn is None else np.concatenate([from_tallies(each.tally()) for each in drawn])


def _drawn_anew(estimator: Estimator, sample: Sample, rows: Ints, uniforms: Floats) -> Floats:
    """Prepare the estimator on these rows, and evaluate it on labels drawn from their predictions."""
    predictions = sample.predictions.take(rows)
    return estimator.prepare(predictions)(LabelLaw(predictions.chances).invert(uniforms))


def redraw_squares(
    evaluator: Evaluator,
    n_resamples: int,
    rng: np.random.Generator,
    evaluate: Callable[[Tally], Floats] | None = None,  # of what is drawn; by default the value, if squares are needed
) -> Floats | None:
    """Evaluate on labels drawn from the predictions where sums of squared residuals are needed: (R, ...).

    Counts of events are drawn exactly, and the squares from their law given the counts. None where counts are all that
    is needed, where rows are few, and where the law is not near enough to a normal one.
    """
    plan, of_tallies = evaluator.capabilities.tally, evaluate or evaluator.capabilities.from_tallies
    if plan is None or of_tallies is None or has_few_rows(plan.predictions):
        return None
    if evaluate is None and _SQUARES not in plan.needs:
        return None
    if not sums_suffice(evaluator, squares=True):
        return None
    counts = counts_of(plan)
    squares = _squares_of(plan, counts.powers)
    if squares is None:
        return None
    size, fixed = plan.cells.size, plan.fixed

    def draw(stream: np.random.Generator, drawn: int, kept: int) -> Floats:
        events = counts.invert(stream.random((drawn, size)))
        return np.stack([events, squares.draw(events, stream)], axis=1)[:kept]

    def values(sums: Floats) -> Floats:
        return of_tallies(Tally(fixed.weight, fixed.prediction, sums[:, 0, :, None], fixed.weight2, sums[:, 1]))

    return replicate(values, draw, n_resamples, numbers_for_cells(size), rng)


def _squares_of(plan: TallyPlan, powers: Powers | None) -> SquaresOfLabels | None:
    """Add up what squares of labels need, unless powers of the predictions are; None where no normal law serves."""
    predictions, by_prediction = plan.predictions, plan.predictions.keys == (1,)
    event, chance = predictions.event, predictions.event_chance
    if powers is None or not predictions.is_exact_law:
        return SquaresOfLabels.of(plan.cells, event, chance, by_prediction)
    rows, events = powers.count, powers.count * powers.mean
    if not sums_are_near_normal(plan.cells, rows, events, event, chance, by_prediction=by_prediction):
        return None
    return SquaresOfLabels.of_powers(rows, powers.mean, powers.sums)


# Signs multiplied into residuals: their sums over cells, whole, but for rows that stand out in their cell.

# A row with more than this share of the squares of its cell keeps a sign of its own. The sum of the others is so near
# to a normal one that its excess kurtosis is at most twice this share.
_STANDS_OUT = 1 / 30


@final
@dataclass(frozen=True, eq=False)
class SignedCells:
    r"""Sums over cells of residuals times random signs, and of weights times the same signs.

    In each cell the two are nearly normal, with a known covariance (of :math:`\sum \xi_i r_i` and :math:`\sum \xi_i`
    it is :math:`\sum r_i^2`, :math:`\sum r_i` and n), after rows that stand out were set aside (H of them): so cells
    of fewer than 30 rows, or with few events, keep the signs that they have.
    """

    plan: TallyPlan
    root: Floats  # (L, c + 1, c + 1), a root of the covariance of the sums of all other rows
    apart: Floats  # (H, c + 1), weighted residuals and weights of rows that stand out
    home: Ints  # (H,), their cells
    moved: Floats  # (L, c), sums of weighted residuals over that of all weights, which the mean sign moves; or zeros

    @classmethod
    def of(cls, evaluator: Evaluator, sample: Sample, centred: bool) -> SignedCells | None:
        """Add up residuals; None where rows are few, or the value needs more than sums of residuals."""
        offers, predictions = evaluator.capabilities, sample.predictions
        plan, width = offers.tally, 1 + predictions.components.shape[1]
        if plan is None or plan.predictions is not predictions or _SQUARES in plan.needs or has_few_rows(predictions):
            return None
        if (
            predictions.counts is not None
            or not (offers.signed and offers.from_tally)
            or plan.cells.size * width * ROWS_FOR_A_CELL > len(sample)
        ):
            return None
        total = float(np.sum(plan.weight)) if centred else np.inf
        index, size = plan.cells.index, plan.cells.size
        starts = range(0, len(sample), ROWS_IN_CACHE)
        parts = [slice(start, start + ROWS_IN_CACHE) for start in starts]
        squares = np.sum([_products(index[part], _signed(sample, part, total), size) for part in parts], axis=0)
        least = _STANDS_OUT * np.diagonal(squares, axis1=1, axis2=2)
        may = np.any(least < _largest(sample, total), axis=1)
        found = np.flatnonzero(may[index]) if may.any() else np.empty(0, dtype=np.intp)
        found = found[(_signed(sample, found, total) ** 2 > least[index[found]]).any(axis=1)]
        if len(found) * ROWS_FOR_A_CELL > len(sample):
            return None
        apart, home = _signed(sample, found, total), index[found]
        root = _root(squares - _products(home, apart, size))
        return cls(plan, root, apart, home, plan(sample.outcomes).residual / total)

    def draw(self, stream: np.random.Generator, size: int, kept: int) -> Floats:
        """Draw sums of outcomes (kept, L, c) whose residuals have the signs of a replicate."""
        n_cells, width, _ = self.root.shape
        sums = (self.root @ stream.standard_normal((size, n_cells, width, 1)))[:kept, ..., 0]
        signs = random_signs(len(self.home))(stream, size, size)[:kept]
        if len(self.home):
            parts = [add_up_cells(signs * column, self.home, n_cells) for column in self.apart.T]
            sums += np.stack(parts, axis=-1)
        mean = sums[..., -1].sum(axis=-1)[:, None, None]
        return np.ascontiguousarray(self.plan.prediction + sums[..., :-1] - mean * self.moved)

    @property
    def numbers(self) -> int:
        """How many numbers a replicate takes."""
        return numbers_for_cells(self.root[..., 0].size + len(self.home))


def _signed(sample: Sample, rows: Ints | slice, total: float) -> Floats:
    """Return what signs multiply, of some rows: weighted residuals, less their part in the mean sign, and weights."""
    predictions, outcomes = sample.predictions, sample.outcomes[rows]
    weights = np.ones((len(outcomes), 1)) if predictions.weights is None else predictions.weights[rows, None]
    residuals = predictions.happened(outcomes) - predictions.components[rows]
    return np.concatenate([weights * residuals * (1 + weights / total), weights], axis=1)


def _largest(sample: Sample, total: float) -> float:
    """Return what no square of `_signed` exceeds."""
    weights = sample.predictions.weights
    most = 1.0 if weights is None else float(weights.max(initial=0))
    return (most * (1 + most / total)) ** 2


def _products(index: Ints, columns: Floats, size: int) -> Floats:
    """Add up the products of any two columns of the rows (m, k) in cells: (L, k, k)."""
    found = np.empty((size, columns.shape[1], columns.shape[1]))
    for one, first in enumerate(columns.T):
        for other, second in enumerate(columns.T[: one + 1]):
            found[:, one, other] = found[:, other, one] = np.bincount(index, first * second, size)
    return found


def _root(covariance: Floats) -> Floats:
    """Return roots of covariances (L, k, k), whose directions of no variance may be negative by rounding."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))[:, None])
