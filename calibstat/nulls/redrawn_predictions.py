"""Replicates with the predictions drawn with replacement, labels drawn from them, and cells cut again."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.nulls.labels import LabelLaw
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample


def redraw_predictions(estimator: Estimator, sample: Sample, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Evaluate an estimator on resampled predictions with labels drawn from them: (R, ...).

    Parameters
    ----------
    estimator : Estimator
        Prepared anew on every resample.
    sample : Sample
    n_resamples : int
    rng : Generator
    """
    n, values = len(sample), []
    for stream, size, kept in blocks(n_resamples, n, rng):
        rows, uniforms = stream.integers(0, n, size=(size, n)), stream.random((size, n))
        for row, uniform in zip(rows[:kept], uniforms[:kept], strict=True):
            predictions = sample.predictions.take(row)
            outcomes = LabelLaw(predictions).invert(uniform)
            values.append(estimator.prepare(predictions)(outcomes))
    return np.array(values)
