"""True values of functions of your own, from a large sample of each model, with their errors."""

from __future__ import annotations

from math import hypot, sqrt

import numpy as np

from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.sweeps._grid import TRUTH, Plain, Study, call_plain

ROWS, FEWEST_ROWS = 10**6, 10**4
_SECTIONS = 16


def with_large_samples(study: Study, truth: Floats) -> tuple[Floats, Floats, str]:
    """Fill the true values (models, estimators, bins) of functions that have none, and return their errors too.

    The error of a true value that is known is zero. Where a function fails on so many rows, its true value stays
    unknown, and the text says why.
    """
    reasons: dict[str, None] = {}
    rows, truth = study.truth_rows or ROWS, truth.copy()
    error = np.where(np.isnan(truth), np.nan, 0.0)
    for place, (name, model) in enumerate(study.models.items()):
        sample = model.sample(rows, study.stream(name, rows, 0, TRUTH))
        for number, item in enumerate(study.estimators.each):
            wanted = (study.estimators.where == number) & np.isnan(truth[place])
            if wanted.any() and not isinstance(item.thing, Estimator):
                try:
                    truth[place, wanted], error[place, wanted] = value_and_error(item.thing, sample)
                except Exception as failed:  # a function of the user's own may raise anything
                    reasons[f"{item.name} on {rows} rows of {name}: {type(failed).__name__}: {failed}"] = None
    return truth, error, "; ".join(reasons)


def value_and_error(function: Plain, sample: Sample) -> tuple[float, float]:
    """Return the value on all rows, and its error from the values on sections of the rows.

    The error has two parts: the standard error by the spread of the sections, which hold whole clusters of rows, and
    what is left of the bias if that falls with the root of the number of rows, as that of a plug-in calibration error
    without error does.
    """
    whole = call_plain(function, sample)
    places = np.arange(len(sample)) if sample.groups is None else sample.groups.codes
    each = [call_plain(function, sample.take(places % _SECTIONS == start)) for start in range(_SECTIONS)]
    spread = float(np.std(each, ddof=1)) / sqrt(_SECTIONS)
    return whole, hypot(spread, (float(np.mean(each)) - whole) / (sqrt(_SECTIONS) - 1))
