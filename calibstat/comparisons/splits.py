"""Rows to fit on and rows to test on, chosen without the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat._text import counted
from calibstat.data.arrays import Array, Bools, Floats, Ints
from calibstat.data.checks import check_range, check_sums
from calibstat.data.groups import Groups
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.whole_clusters import folds_of_clusters, part_of_clusters

UNCALIBRATED = "uncalibrated"
TEST_SIZE = 0.5
ROWS_OF_A_STRATUM = 20
# Where clusters are kept whole, rows are spread over so many strata.
_STRATA = 10
FEWEST_TEST_ROWS = 20


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Increasing numbers (m,) of the rows to fit on, and of the rows to test on; no row is in both."""

    fit_rows: Ints
    test_rows: Ints


def random_split(
    prob: Floats, n_test: int, rng: np.random.Generator, eligible: Ints, groups: Groups | None = None
) -> Split:
    """Draw test rows from the eligible ones, evenly over the predictions (n, K); all other rows are for the fit.

    Strata come from the predictions, never from the labels. Strata of labels would fix the number of events among the
    test rows beforehand, and redrawn labels would not have the same law. Rows of a cluster stay together, so that the
    number of test rows is about `n_test`; no row of a cluster with one that is not eligible is tested on.
    """
    if groups is not None:
        able = np.isin(np.arange(len(prob)), eligible)
        test_rows = part_of_clusters(groups, n_test, rng, _strata(prob, rng), able)
        return Split(np.setdiff1d(np.arange(len(prob)), test_rows), test_rows)
    ordered = eligible[_order(prob[eligible], rng)]
    strata = np.split(ordered, _borders(len(ordered))[1:-1])
    sizes = _shares(len(ordered), n_test, rng)
    chosen = [rng.choice(each, size=size, replace=False) for each, size in zip(strata, sizes, strict=True)]
    test_rows = np.sort(np.concatenate(chosen))
    return Split(np.setdiff1d(np.arange(len(prob)), test_rows), test_rows)


def spread_folds(prob: Floats, n_folds: int, rng: np.random.Generator, groups: Groups | None = None) -> Iterator[Split]:
    """Deal the rows out into folds, each spread evenly over the predictions (n, K); each fold is tested on once.

    Rows of a cluster stay together.
    """
    if groups is None:
        fold = _dealt(_order(prob, rng), n_folds, rng)
    else:
        fold = folds_of_clusters(groups, n_folds, rng, _strata(prob, rng, len(prob) // n_folds))
    for number in range(n_folds):
        yield Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number))


def _dealt(ordered: Ints, n_folds: int, rng: np.random.Generator) -> Ints:
    """Return the fold of each row: neighbours in the order (n,) are in different ones."""
    fold = np.empty(len(ordered), dtype=np.intp)
    for start in range(0, len(ordered), n_folds):
        block = ordered[start : start + n_folds]
        fold[block] = rng.permutation(n_folds)[: len(block)]
    return fold


def _strata(prob: Floats, rng: np.random.Generator, most: int = _STRATA) -> Ints:
    """Return a number for each row (n,): the same for neighbours in the order of the predictions (n, K)."""
    strata = np.empty(len(prob), dtype=np.intp)
    strata[_order(prob, rng)] = np.arange(len(prob)) * min(_STRATA, most) // len(prob)
    return strata


def _order(prob: Floats, rng: np.random.Generator) -> Ints:
    """Return the order by the most probable class and its probability, with ties in random order.

    Of two classes it is the order by the probability of the one that is rarer by the predictions. Classes are taken
    from the most to the least frequent one, so that another order of the columns chooses the same rows.
    """
    prob = prob[:, np.argsort(-prob.sum(axis=0), kind="stable")]
    top = prob.argmax(axis=1) if prob.shape[1] > 2 else np.zeros(len(prob), dtype=np.intp)
    height = prob.max(axis=1) if prob.shape[1] > 2 else prob[:, -1]
    return np.lexsort((rng.random(len(prob)), height, top))


def _borders(n: int) -> Ints:
    return np.append(np.arange(0, n, ROWS_OF_A_STRATUM), n)


def _shares(n: int, n_test: int, rng: np.random.Generator) -> Ints:
    """Return the number of test rows of each stratum (s,), rounded at random so that all rows are equally likely."""
    reached: Ints = (_borders(n) * n_test + int(rng.integers(n))) // n
    return reached[1:] - reached[:-1]


def chosen_splits(
    sample: Sample,
    calibrators: Mapping[str, Any],
    test_size: float | None,
    cv: int | None,
    n_splits: int,
    fitted_rows: Mapping[str, Any] | None,
    rng: np.random.Generator,
) -> list[list[Split]]:
    """Choose the rows: a list of one split for each random split, or a single list of folds."""
    seen = _seen_already(sample, calibrators, fitted_rows)
    if cv is not None:
        return [_folds(sample, test_size, cv, n_splits, seen, rng)]
    share = TEST_SIZE if test_size is None else test_size
    if not 0 < share < 1:
        raise ValueError(
            f"test_size is {share!r}, but it must lie between 0 and 1, such as 0.5: calibrators need rows to be fitted "
            "on, and other rows to be tested on."
        )
    groups = sample.groups
    eligible = np.flatnonzero(~seen if groups is None else groups.spread(groups.sums(seen.astype(float)) == 0))
    n_test = round(share * len(sample))
    if n_test < FEWEST_TEST_ROWS:
        raise ValueError(
            f"test_size {share:g} of {counted(len(sample), 'row')} leaves {n_test} to test on, but at least "
            f"{FEWEST_TEST_ROWS} are needed; take a larger share, or more rows."
        )
    if len(eligible) < n_test:
        raise ValueError(
            f"test_size {share:g} asks for {n_test} test rows, but calibrators were fitted on all but {len(eligible)} "
            f"of {counted(len(sample), 'row')}{'' if groups is None else ', or on rows of the same clusters'}, and a "
            "test on those is not valid; take a smaller share, or other rows."
        )
    prob = sample.predictions.probabilities
    return [[random_split(prob, n_test, stream, eligible, groups)] for stream in rng.spawn(n_splits)]


def recalibrated_samples(
    calibrators: Mapping[str, Any], sample: Sample, plan: list[Split], fitted_rows: Mapping[str, Any]
) -> dict[str, Sample]:
    """Return the test rows of a plan, with the original predictions and with those of each calibrator."""
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
        raise ValueError("cv= tests each row once: leave out test_size and n_splits.")
    if seen.any():
        raise ValueError(
            f"cv= tests every row, but calibrators of fitted_rows= were fitted on {np.count_nonzero(seen)} of them; "
            "use test_size= instead."
        )
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or not 2 <= cv <= len(sample) // 2:
        raise ValueError(f"cv is {cv!r}, but a number of folds from 2 to {len(sample) // 2} is expected, such as 5.")
    if len(sample) < FEWEST_TEST_ROWS:
        raise ValueError(
            f"there are {counted(len(sample), 'row')}, but at least {FEWEST_TEST_ROWS} are needed to test on."
        )
    return list(spread_folds(sample.predictions.probabilities, int(cv), rng, sample.groups))


def _seen_already(sample: Sample, calibrators: Mapping[str, Any], fitted_rows: Mapping[str, Any] | None) -> Bools:
    """Return for each row (n,) whether one of the fitted calibrators was fitted on it."""
    seen = np.zeros(len(sample), dtype=bool)
    for name, rows in (fitted_rows or {}).items():
        if name not in calibrators:
            raise ValueError(f"fitted_rows names {name!r}, but the calibrators are {list(calibrators)}.")
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(sample),):
            numbers = np.flatnonzero(numbers)
        whole = numbers.size == 0 or numbers.dtype.kind in "iu"
        if not whole or numbers.ndim != 1 or (numbers.size and not 0 <= numbers.min() <= numbers.max() < len(sample)):
            raise ValueError(f"fitted_rows of {name!r} must be row numbers from 0 to {len(sample) - 1}.")
        seen[numbers.astype(np.intp)] = True
    return seen


def sample_from(sample: Any, y_true: Any, y_prob: Any, more: Mapping[str, Any]) -> Sample:
    """Return the sample, or make one from labels (in place of the sample or by name) and the other arrays."""
    arrays = [name for name, each in {"y_prob": y_prob, "y_true": y_true, **more}.items() if each is not None]
    if isinstance(sample, Sample):
        if arrays:
            raise TypeError(f"a Sample is passed together with {', '.join(arrays)}: put these into the sample.")
        return sample
    if (sample is None) == (y_true is None) or y_prob is None:
        raise TypeError("a Sample is expected, or labels and probabilities: for example Sample(y_true, y_prob).")
    return Sample(y_true if sample is None else sample, y_prob, **more)


def check_calibrators(calibrators: Any) -> Mapping[str, Any]:
    """Return the calibrators, after checking that each has ``fit``, ``predict_proba`` and a free name."""
    if isinstance(calibrators, Mapping) and not calibrators:
        raise ValueError('calibrators is empty: name at least one, for example {"platt": Platt(), "beta": Beta()}.')
    if not isinstance(calibrators, Mapping):
        raise TypeError(
            f"calibrators is of type {type(calibrators).__name__}, but a mapping of names to calibrators is expected: "
            'for example {"platt": Platt(), "beta": Beta()}.'
        )
    for name, each in calibrators.items():
        if isinstance(each, type) or not (hasattr(each, "fit") and hasattr(each, "predict_proba")):
            raise TypeError(
                f"calibrator {name!r} is {each!r}, but an object with fit and predict_proba is expected: for example "
                "Beta()."
            )
        if name == UNCALIBRATED:
            raise ValueError(f"the name {UNCALIBRATED!r} is reserved for the original predictions; take another.")
    return calibrators


def recalibrated(calibrator: Any, name: str, sample: Sample, split: Split, fitted: bool) -> Floats:
    """Return a calibrator's probabilities (m, K) of the test rows; a copy is fitted first unless it is `fitted`."""
    model, table = prepared(calibrator, name, sample.predictions, fitted)
    if not fitted:
        _fit(model, name, table, sample, split.fit_rows)
    return checked_probabilities(model.predict_proba(table[split.test_rows]), name, len(sample.labels))


def fitted_on(calibrator: Any, name: str, sample: Sample) -> Any:
    """Return a copy of a calibrator, fitted on all rows."""
    model, table = prepared(calibrator, name, sample.predictions, fitted=False)
    return _fit(model, name, table, sample, np.arange(len(sample)))


def _fit(model: Any, name: str, table: Array, sample: Sample, rows: Ints) -> Any:
    weights = sample.predictions.weights
    more = {}
    if weights is not None:  # calibrators take them for numbers of rows, but of a sample only their ratios count
        more = {"sample_weight": weights[rows] / (weights[rows].mean() or 1.0)}
    try:
        model.fit(table[rows], sample.outcomes[rows], **more)
    except ValueError as error:
        raise ValueError(f"calibrator {name!r} cannot be fitted on {counted(len(rows), 'row')}: {error}") from error
    return model


def prepared(calibrator: Any, name: str, predictions: Predictions, fitted: bool) -> tuple[Any, Array]:
    """Return a copy of a calibrator that names its variables by position, and the table that it takes.

    The table holds the probabilities (of two classes only the last, unless the calibrator was fitted on both) and then
    the variables that the calibrator asks for, by name or by position among all variables.
    """
    model = deepcopy(calibrator)
    asked = _asked(model)
    both = fitted and getattr(model, "n_features_in_", None) == predictions.n_classes + len(asked)
    prob = predictions.probabilities if both else predictions.components
    if not asked:
        return model, prob
    if fitted and any(isinstance(each, str) for each in asked):
        raise ValueError(
            f"calibrator {name!r} is fitted already and names its variables {list(asked)}; fit it on an array, with "
            "its variables by position, such as variable=-1."
        )
    columns = [_variable_name(predictions, each, prob.shape[1], name) for each in asked]
    table = np.column_stack([prob, *(_numeric_variable(predictions, each, name) for each in columns)])
    places = list(range(prob.shape[1], table.shape[1]))
    if "variables" in model.get_params(deep=False):
        model.set_params(variables=places)
    else:
        model.set_params(variable=places[0])
    return model, table


def checked_probabilities(said: Any, name: str, n_classes: int) -> Floats:
    """Return probabilities (m, K), and refuse anything else that a calibrator returns."""
    rows = np.asarray(said, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != n_classes:
        raise ValueError(
            f"calibrator {name!r} returns probabilities of shape {rows.shape}, but one column for each of {n_classes} "
            "classes is expected; does every class occur in the rows of the fit?"
        )
    try:
        check_range(rows)
        check_sums(rows)
    except ValueError as error:
        raise ValueError(f"calibrator {name!r}: {error}") from error
    return rows


def sample_of(sample: Sample, rows: Ints, prob: Floats, how: str) -> Sample:
    """Return these rows of the sample with other probabilities; its source says how they were made."""
    kept = sample.predictions.take(rows)
    source = "; ".join(part for part in (kept.source, how) if part)
    return Sample.of(replace(kept, rows=prob, source=source), sample.outcomes[rows])


def _asked(model: Any) -> Sequence[str | int]:
    """Return the variables that a calibrator asks for, by name or position."""
    known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if "variables" in known:
        return list(known["variables"])
    return [known["variable"]] if "variable" in known else []


def _variable_name(predictions: Predictions, asked: str | int, n_columns: int, name: str) -> str:
    """Return the name of a variable that is asked for by name or position."""
    if isinstance(asked, str):
        return asked
    names = [None] * n_columns + list(predictions.variables)
    found = names[asked] if -len(names) <= asked < len(names) else None
    if found is None:
        raise ValueError(
            f"calibrator {name!r} asks for column {asked}, but after {n_columns} of probabilities there are the "
            f"variables {list(predictions.variables) or 'none'}; name one of them."
        )
    return found


def _numeric_variable(predictions: Predictions, variable: str, name: str) -> Floats:
    if variable not in predictions.variables:
        raise ValueError(
            f"calibrator {name!r} needs the variable {variable!r}, but variables= has "
            f"{sorted(predictions.variables) or 'none'}."
        )
    found = predictions.variables[variable]
    if found.categorical:
        raise ValueError(f"calibrator {name!r} needs numbers, but the variable {variable!r} holds text.")
    return found.values
