"""Which rows are fitted on and which are tested on, and what calibrators say of the latter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibstat.arrays import Bools, Floats
from calibstat.comparisons.fitting import UNCALIBRATED, recalibrated, sample_of
from calibstat.comparisons.splits import Split, folds, random_split
from calibstat.progress import track
from calibstat.sample import Sample

FEWEST_TEST_ROWS = 20


def chosen_splits(
    sample: Sample,
    calibrators: Mapping[str, Any],
    test_size: float | None,
    cv: int | None,
    n_splits: int,
    fitted_rows: Mapping[str, Any] | None,
    rng: np.random.Generator,
) -> list[list[Split]]:
    """Choose rows: for each random split a list of one, or a single list of folds."""
    seen = _seen_already(sample, calibrators, fitted_rows)
    if cv is not None:
        return [_folds(sample, test_size, cv, n_splits, seen, rng)]
    share = 0.5 if test_size is None else test_size
    if not 0 < share < 1:
        raise ValueError(
            f"test_size is {share!r}, but it must lie between 0 and 1, such as 0.5: a test on rows that a calibrator "
            "was fitted on is not valid, and without rows to fit on there is no calibrator."
        )
    eligible = np.flatnonzero(~seen)
    n_test = round(share * len(sample))
    if n_test < FEWEST_TEST_ROWS:
        raise ValueError(
            f"test_size {share:g} of {len(sample)} rows leaves {n_test} to test on, but at least {FEWEST_TEST_ROWS} "
            "are needed; take a larger share, or more rows."
        )
    if len(eligible) < n_test:
        raise ValueError(
            f"test_size {share:g} asks for {n_test} test rows, but only {len(eligible)} of {len(sample)} are left that "
            "no calibrator was fitted on, and a test on the others is not valid; take a smaller share, or other rows."
        )
    prob = sample.predictions.probabilities
    return [[random_split(prob, n_test, stream, eligible)] for stream in rng.spawn(n_splits)]


def recalibrated_samples(
    calibrators: Mapping[str, Any], sample: Sample, plan: list[Split], fitted_rows: Mapping[str, Any]
) -> dict[str, Sample]:
    """Return the test rows of a plan, as given and by each calibrator, all in the same order."""
    rows = np.concatenate([split.test_rows for split in plan])
    found = {UNCALIBRATED: sample.take(rows)}
    for name, each in track(calibrators.items(), len(calibrators)):
        said: list[Floats] = [
            recalibrated(each, name, sample, split, name in fitted_rows) for split in track(plan, len(plan))
        ]
        found[name] = sample_of(sample, rows, np.concatenate(said), f"calibrated by {name}")
    return found


def _folds(
    sample: Sample, test_size: float | None, cv: int, n_splits: int, seen: Bools, rng: np.random.Generator
) -> list[Split]:
    if test_size is not None or n_splits != 1:
        raise ValueError("cv= tests on every row once: leave out test_size and n_splits.")
    if seen.any():
        raise ValueError(
            f"cv= tests on every row, but {np.count_nonzero(seen)} rows of fitted_rows= were fitted on already; use "
            "test_size= instead."
        )
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or not 2 <= cv <= len(sample) // 2:
        raise ValueError(f"cv is {cv!r}, but a number of folds from 2 to {len(sample) // 2} is expected, such as 5.")
    if len(sample) < FEWEST_TEST_ROWS:
        raise ValueError(f"there are {len(sample)} rows, but at least {FEWEST_TEST_ROWS} are needed to test on.")
    return list(folds(sample.predictions.probabilities, int(cv), rng))


def _seen_already(sample: Sample, calibrators: Mapping[str, Any], fitted_rows: Mapping[str, Any] | None) -> Bools:
    """(n,) whether a calibrator that comes fitted has been fitted on a row."""
    seen = np.zeros(len(sample), dtype=bool)
    for name, rows in (fitted_rows or {}).items():
        if name not in calibrators:
            raise ValueError(f"fitted_rows names {name!r}, but there are {list(calibrators)}.")
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(sample),):
            numbers = np.flatnonzero(numbers)
        whole = numbers.size == 0 or numbers.dtype.kind in "iu"
        if not whole or numbers.ndim != 1 or (numbers.size and not 0 <= numbers.min() <= numbers.max() < len(sample)):
            raise ValueError(f"fitted_rows of {name!r} must be row numbers from 0 to {len(sample) - 1}.")
        seen[numbers.astype(np.intp)] = True
    return seen
