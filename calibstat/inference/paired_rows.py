"""Whether two samples hold the same rows: what pairing needs."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Ints
from calibstat.estimators.base import Estimator
from calibstat.sample import Sample


def same_labels(a: Sample, b: Sample) -> None:
    """Refuse to compare models of different labels."""
    if a.labels != b.labels:
        raise ValueError(
            f"the models have different labels, {a.labels!r} and {b.labels!r}; give both samples the same labels=, in "
            "the same order."
        )


def same_rows(a: Sample, b: Sample, estimator: Estimator, advice: str) -> None:
    """Refuse to pair rows that are not the same, and say what to do instead."""
    if len(a) != len(b):
        found = f"the samples have {len(a)} and {len(b)} rows"
    elif not np.array_equal(a.outcomes, b.outcomes):
        found = f"y_true differs in {np.count_nonzero(a.outcomes != b.outcomes)} of {len(a)} rows"
    elif not np.array_equal(kept_rows(a, estimator), kept_rows(b, estimator)):
        found = f"through {estimator.lens!r} different rows of the two samples are kept"
    elif not _same_weights(a, b):
        found = "their weights differ"
    else:
        return
    raise ValueError(f"a paired comparison needs the same rows in the same order, but {found}; {advice}.")


def kept_rows(sample: Sample, estimator: Estimator) -> Ints:
    """Return the rows that the lens keeps, as numbers."""
    rows = estimator.lens.look(sample.predictions).rows
    return np.arange(len(sample)) if rows is None else rows


def _same_weights(a: Sample, b: Sample) -> bool:
    first, second = a.predictions.weights, b.predictions.weights
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)
