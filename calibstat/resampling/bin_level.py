"""Rows drawn with replacement, seen by cells: which way of drawing whole cells serves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.estimators.base import Evaluator
from calibstat.estimators.tally import Tally
from calibstat.predictions import Predictions
from calibstat.resampling.few_values import FewValues
from calibstat.resampling.fixed_cells import Drawn, draw_fixed
from calibstat.resampling.moments import Moments
from calibstat.resampling.near_normal import sums_are_near_normal
from calibstat.resampling.power_sums import degree_for
from calibstat.resampling.recut_cells import draw_recut

# Up to so many rows are drawn one by one: a thousand replicates of them take a second at most.
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

    Parameters
    ----------
    evaluator : Evaluator
    squares : bool
        Whether sums of squared residuals can be drawn too: of rows that each count once.
    """
    plan = evaluator.tally
    if plan is None or plan.predictions.n_classes != 2 or plan.predictions.weights is not None:
        return False
    if plan.cells.size * ROWS_FOR_A_CELL > len(plan.predictions):
        return False
    if not plan.needs <= (_KNOWN | {_SQUARES} if squares else _KNOWN):
        return False
    one, half = np.ones(plan.cells.size), np.full((plan.cells.size, 1), 0.5)
    return evaluator.from_tallies(Tally(one, half, half, one, one)) is not None  # any tally tells


def needs_squares(evaluator: Evaluator) -> bool:
    """Whether sums of squared residuals are among those that a statistic needs."""
    return evaluator.tally is not None and _SQUARES in evaluator.tally.needs


def draw_cells(
    cells: Cells,
    predictions: Predictions,
    chance: Array | None,
    n_resamples: int,
    rng: np.random.Generator,
    ranks: Ints | None = None,
    *,
    repeats: bool = False,
    squares: bool = False,
    known: tuple[Floats, Floats] | None = None,
) -> Iterator[Drawn] | None:
    """Draw as many rows as there are, with replacement, and add them up in cells, some replicates at a time.

    None where the law of a sum of predictions is too far from a normal one.

    Parameters
    ----------
    cells : Cells
    predictions : Predictions
        Of two classes, without weights.
    chance : (n,) floats or ints, optional
        Of the event in each row; ints are labels, 0 or 1; None if it is the prediction.
    n_resamples : int
    rng : Generator
    ranks : (L - 1,) ints, optional
        Where cells are cut anew in every replicate, in order of the one conditioned column; None if they stay.
    repeats : bool
        Whether rows that were drawn several times count as one of more weight, where cells stay.
    squares : bool
        Whether to draw sums of squared residuals.
    known : two (L,) floats, optional
        The number of rows, and the sum of predictions, of each of these cells.
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
    rows, sums = known or (_sums(cells, np.ones(len(event))), _sums(cells, event))
    events = sums if chance is event else _sums(cells, chance)
    if not sums_are_near_normal(cells, rows, events, event, chance, by_prediction=by_prediction):
        return None
    return draw_recut(column, event, chance, ranks, n_resamples, rng, cells, squares=squares, prediction_sums=sums)


def _sums(cells: Cells, values: Array) -> Floats:
    return np.bincount(cells.index, values, minlength=cells.size).astype(float, copy=False)
