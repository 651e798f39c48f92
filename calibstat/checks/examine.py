"""The one place where arrays from outside are examined; whatever has passed is trusted everywhere else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.checks.arguments import gather, without_missing
from calibstat.checks.classes import classes_of_columns
from calibstat.checks.columns import Column, names_of
from calibstat.checks.labels import as_labels
from calibstat.checks.probabilities import check_range, check_sums, own
from calibstat.checks.variables import as_variable
from calibstat.variable import Variable


@dataclass(frozen=True, eq=False)
class Examined:
    """Input that has passed every check.

    Parameters
    ----------
    probabilities : (n, K) floats
        In memory of their own and not writeable; columns lie together for two classes, rows otherwise. Rows of more
        than two classes that were given in single precision still are.
    outcomes : (n,) ints
        The column of each row's label.
    classes : tuple
        The label of each column: integers, booleans or strings.
    weights : (n,) floats, optional
        None if not given or all equal.
    variables : dict of str to Variable
        What else is known of each row.
    source : str
        What was taken for what, in one line.
    """

    probabilities: Array
    outcomes: Ints
    classes: tuple[Hashable, ...]
    weights: Floats | None
    variables: dict[str, Variable]
    source: str


def examine(
    y_true: Any,
    y_prob: Any,
    *,
    variables: Any = None,
    sample_weight: Any = None,
    labels: Sequence[Hashable] | None = None,
    nan_policy: str = "raise",
    columns: Sequence[str] | None = None,
) -> Examined:
    """Check everything that a sample is made of, and take it over.

    Parameters
    ----------
    y_true : (n,) integers, booleans or strings
        The labels.
    y_prob : (n,) or (n, K) numbers
        Probabilities of the last class, or of every class.
    variables : mapping or data frame, optional
        What else is known of each row, by name.
    sample_weight : (n,) numbers, optional
        Importance weights.
    labels : sequence, optional
        The class of each column.
    nan_policy : {"raise", "omit"}
        What to do with rows in which something is missing.
    columns : sequence of str, optional
        The names of the columns of `y_prob`; without them, a data frame's own.

    Returns
    -------
    Examined
        Arrays that share no memory with the arguments, which are never changed.

    Raises
    ------
    ValueError, TypeError
        If anything is wrong: the message says what was found, what was expected and what to do.
    """
    raw, omitted = without_missing(gather(y_true, y_prob, variables, sample_weight), nan_policy)
    check_range(raw.rows)
    probabilities = own(raw.rows, single=True)
    names = names_of(y_prob) if columns is None and raw.rows.ndim == 2 else columns
    check_sums(probabilities, names)
    found = as_labels(raw.truth)
    classes, source = classes_of_columns(
        found,
        probabilities.shape[1],
        vector=raw.rows.ndim == 1,
        labels=labels,
        columns=names,
    )
    return Examined(
        probabilities,
        _locked(found.columns(classes)),
        classes,
        _weights(raw.weights),
        {name: as_variable(each) for name, each in raw.variables.items()},
        source + omitted,
    )


def _weights(found: Column | None) -> Floats | None:
    """Importance weights in memory of their own; None if they are all equal."""
    if found is None:
        return None
    if found.names is not None:
        raise ValueError(f"sample_weight holds text (such as {found.names[0]!r}), but numbers are expected")
    weights = np.array(found.values, dtype=np.float64)
    low, high = weights.min(), weights.max()
    if low < 0 or np.isinf(high):
        row = int(np.argmax((weights < 0) | np.isinf(weights)))
        raise ValueError(
            f"sample_weight is {weights[row]:.6g} in row {row} (rows count from 0): "
            "weights must be finite and not negative"
        )
    if high == 0:
        raise ValueError("sample_weight is zero in every row: at least one weight must be positive")
    return None if low == high else _locked(weights)


def _locked(array: Array) -> Array:
    array.setflags(write=False)
    return array
