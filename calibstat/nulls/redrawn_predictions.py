"""Replicates with the predictions drawn with replacement, labels drawn from them, and cells cut again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.nulls.labels import LabelLaw
from calibstat.predictions import Predictions
from calibstat.resampling.bin_level import draw_cells, has_few_rows, needs_squares, sums_suffice
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample


def redraw_predictions(
    estimator: Estimator,
    sample: Sample,
    n_resamples: int,
    rng: np.random.Generator,
    shortcuts: bool = True,
    evaluator: Evaluator | None = None,
) -> Floats:
    """Evaluate an estimator on resampled predictions with labels drawn from them: (R, ...).

    Parameters
    ----------
    estimator : Estimator
        Prepared anew on every resample, or once where cells are drawn whole.
    sample : Sample
    n_resamples : int
    rng : Generator
    shortcuts : bool
        Whether sums over cells may be drawn whole where they suffice and rows are many (see docs/engine.md).
    evaluator : Evaluator, optional
        The estimator, prepared on the sample's predictions, if the caller has it already.
    """
    if shortcuts and not has_few_rows(sample.predictions):
        whole = _whole_cells(evaluator or estimator.prepare(sample.predictions), sample.predictions, n_resamples, rng)
        if whole is not None:
            return whole
    return np.array(list(_row_by_row(estimator, sample, n_resamples, rng)))


def _whole_cells(
    evaluator: Evaluator, predictions: Predictions, n_resamples: int, rng: np.random.Generator
) -> Floats | None:
    """Draw the sums over cells; None where they do not suffice or cells move in another way than is known."""
    plan = evaluator.tally
    if plan is None or not sums_suffice(evaluator, squares=True):
        return None
    moves = plan.cells.ranks is None and (plan.cells.moves != "fixed" or plan.cells.edges is None)
    if moves:
        return None
    chance = None if predictions.is_law else np.ascontiguousarray(predictions.chances[:, 1])
    squares = needs_squares(evaluator)
    drawn = draw_cells(
        plan.cells,
        predictions,
        chance,
        n_resamples,
        rng,
        plan.cells.ranks,
        squares=squares,
        known=(plan.weight, plan.prediction[:, 0]),
    )
    if drawn is None:
        return None
    values = [evaluator.from_tallies(each.tally()) for each in drawn]
    return np.concatenate([each for each in values if each is not None])


def _row_by_row(estimator: Estimator, sample: Sample, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    n = len(sample)
    for stream, size, kept in blocks(n_resamples, n, rng):
        rows, uniforms = stream.integers(0, n, size=(size, n)), stream.random((size, n))
        for row, uniform in zip(rows[:kept], uniforms[:kept], strict=True):
            predictions = sample.predictions.take(row)
            outcomes = LabelLaw(predictions).invert(uniform)
            yield estimator.prepare(predictions)(outcomes)
