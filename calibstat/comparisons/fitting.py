"""Calibrators fitted on some rows of a sample, and what they say of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.checks.probabilities import check_range, check_sums
from calibstat.comparisons.splits import Split
from calibstat.predictions import Predictions
from calibstat.sample import Sample

UNCALIBRATED = "uncalibrated"


def check_calibrators(calibrators: Any) -> Mapping[str, Any]:
    """Return calibrators by name, or say what is missing.

    Raises
    ------
    TypeError, ValueError
        If it is no mapping of names to objects with ``fit`` and ``predict_proba``, or a name is taken.
    """
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
            raise ValueError(f"the name {UNCALIBRATED!r} is that of the predictions as given; take another.")
    return calibrators


def recalibrated(calibrator: Any, name: str, sample: Sample, split: Split, fitted: bool) -> Floats:
    """(m, K) what a calibrator says of the test rows; it is fitted on the others unless it is already.

    Parameters
    ----------
    calibrator : estimator
        Left as it is: a copy is fitted.
    name : str
        For messages.
    sample : Sample
    split : Split
    fitted : bool
        Whether it has been fitted already.
    """
    model, table = prepared(calibrator, name, sample.predictions, fitted)
    if not fitted:
        weights = sample.predictions.weights
        more = {} if weights is None else {"sample_weight": weights[split.fit_rows]}
        try:
            model.fit(table[split.fit_rows], sample.outcomes[split.fit_rows], **more)
        except ValueError as error:
            raise ValueError(f"calibrator {name!r} cannot be fitted on {len(split.fit_rows)} rows: {error}") from error
    return checked(model.predict_proba(table[split.test_rows]), name, len(sample.labels))


def prepared(calibrator: Any, name: str, predictions: Predictions, fitted: bool) -> tuple[Any, Array]:
    """Return a copy of a calibrator that names its variables by position, and the table that it takes.

    The table holds the probabilities (of the last class alone where there are two, unless it was fitted on both) and,
    beside them, the variables that the calibrator asks for: by name, or by position as if all stood there in order.
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
    columns = [_column(predictions, each, prob.shape[1], name) for each in asked]
    table = np.column_stack([prob, *(_numbers(predictions, each, name) for each in columns)])
    places = list(range(prob.shape[1], table.shape[1]))
    if "variables" in model.get_params(deep=False):
        model.set_params(variables=places)
    else:
        model.set_params(variable=places[0])
    return model, table


def checked(said: Any, name: str, n_classes: int) -> Floats:
    """Return probabilities (m, K), or say what a calibrator has returned instead."""
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
    """Return the sample at these rows with other probabilities, and say in its source how they were made."""
    kept = sample.predictions.take(rows)
    source = "; ".join(part for part in (kept.source, how) if part)
    return Sample.of(replace(kept, probabilities=prob, source=source), sample.outcomes[rows])


def _asked(model: Any) -> Sequence[str | int]:
    """Return the variables that a calibrator asks for, by name or position."""
    known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if "variables" in known:
        return list(known["variables"])
    return [known["variable"]] if "variable" in known else []


def _column(predictions: Predictions, asked: str | int, n_columns: int, name: str) -> str:
    """Return the name of a variable that is asked for by name or position."""
    if isinstance(asked, str):
        return asked
    names = [None] * n_columns + list(predictions.variables)
    found = names[asked] if -len(names) <= asked < len(names) else None
    if found is None:
        raise ValueError(
            f"calibrator {name!r} asks for column {asked}, but beside {n_columns} of probabilities there are the "
            f"variables {list(predictions.variables) or 'none'}; name one of them."
        )
    return found


def _numbers(predictions: Predictions, variable: str, name: str) -> Floats:
    if variable not in predictions.variables:
        raise ValueError(
            f"calibrator {name!r} needs the variable {variable!r}, but variables= has "
            f"{sorted(predictions.variables) or 'none'}."
        )
    found = predictions.variables[variable]
    if found.categorical:
        raise ValueError(f"calibrator {name!r} needs numbers, but the variable {variable!r} holds names.")
    return found.values
