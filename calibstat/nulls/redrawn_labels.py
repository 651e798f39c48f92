"""Replicates with the predictions kept: labels drawn anew, row by row or whole cells at a time."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Evaluator
from calibstat.estimators.tally import TallyPlan
from calibstat.nulls.label_counts import draw_label_counts
from calibstat.nulls.labels import LabelLaw, label_batches
from calibstat.nulls.poisson_binomial import CellCounts
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample


def redraw_labels(
    evaluator: Evaluator, sample: Sample, n_resamples: int, rng: np.random.Generator, shortcuts: bool = True
) -> Floats:
    """Evaluate a prepared statistic on labels drawn from the predictions: (R, ...).

    Parameters
    ----------
    evaluator : Evaluator
        Prepared on the predictions of `sample`.
    sample : Sample
    n_resamples : int
    rng : Generator
    shortcuts : bool
        Whether counts of events in cells are drawn whole where they suffice.
    """
    plan = evaluator.tally if shortcuts else None
    if plan is not None and plan.from_counts:
        if sample.predictions.n_classes == 2:
            return evaluator.from_tally(_counts(plan, n_resamples, rng))
        return np.concatenate([evaluator.from_tally(counts) for counts in draw_label_counts(plan, n_resamples, rng)])
    law, n = LabelLaw(sample.predictions), len(sample)
    return np.concatenate(
        [evaluator(labels) for labels in label_batches(law, n, n_resamples, rng, evaluator.batch_size)]
    )


def _counts(plan: TallyPlan, n_resamples: int, rng: np.random.Generator) -> Array:
    """Draw the number of events in each cell: (R, L, 1)."""
    law, n_cells = CellCounts(plan.predictions.chances[:, 1], plan.cells), plan.cells.size
    drawn = [
        law.invert(stream.random((size, n_cells))[:kept]) for stream, size, kept in blocks(n_resamples, n_cells, rng)
    ]
    return np.concatenate(drawn)[..., None]
