"""Labels of many classes, drawn from the predictions and counted in cells at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.tally import TallyPlan
from calibstat.nulls.labels import LabelLaw
from calibstat.resampling.streams import blocks


def draw_label_counts(plan: TallyPlan, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw the number of labels of each class in each cell, for statistics that need no more (`TallyPlan.from_counts`).

    The labels are those that row by row drawing gives with the same `rng`; what is saved is everything but drawing and
    counting them. Some blocks at a time, so that memory does not grow with the number of replicates.

    Parameters
    ----------
    plan : TallyPlan
        Without weights.
    n_resamples : int
    rng : Generator

    Yields
    ------
    counts : (R, L, K) floats
        Of some replicates; of two classes only the event, (R, L, 1), as `Evaluator.from_tally` expects.
    """
    if not plan.from_counts:
        raise ValueError(
            "counts of labels do not suffice here: weights, or squares of single rows, enter the statistic; "
            "evaluate it on labels instead."
        )
    law, n = LabelLaw(plan.predictions), len(plan.predictions)
    for stream, size, kept in blocks(n_resamples, n, rng):
        yield plan(law.invert(stream.random((size, n))[:kept])).outcome
