"""Which class each column of probabilities belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from calibstat.checks.class_names import Classes, event_by_name, labels_by_names
from calibstat.checks.columns import as_text
from calibstat.checks.contradictions import refuse_contradiction
from calibstat.checks.labels import Labels


def classes_of_columns(
    found: Labels,
    n_classes: int,
    *,
    vector: bool = False,
    labels: Sequence[Hashable] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Classes, str]:
    """The class of each column of probabilities, by the first rule that applies.

    These are: `labels`; the names of the columns; integers (or booleans) as positions; the sorted labels, if exactly
    as many occur as there are columns.

    Parameters
    ----------
    found : Labels
        The labels of the rows.
    n_classes : int
        How many classes there are probabilities for.
    vector : bool
        Whether there is a single column, P(the last class).
    labels : sequence, optional
        The class of each column in order, as the user says.
    columns : sequence of str, optional
        The names of the columns (of the one column for a vector).

    Returns
    -------
    classes : tuple
        Python scalars in the order of the columns.
    source : str
        What was taken for what, and why.

    Raises
    ------
    ValueError
        If no rule applies; the message proposes `labels`.
    """
    classes, reason = _by_rule(found, n_classes, vector, labels, columns)
    return classes, _sentence(classes, reason, vector, columns)


def _by_rule(
    found: Labels, n_classes: int, vector: bool, labels: Sequence[Hashable] | None, columns: Sequence[str] | None
) -> tuple[Classes, str]:
    if labels is not None:
        return _as_told(found, n_classes, labels), "labels="
    if columns is not None:
        named = event_by_name(found, columns[0]) if vector else labels_by_names(found, columns)
        if named is not None:
            return named, "column name" if vector else "column names"
    if found.within(n_classes) and (n_classes == 2 or not found.boolean):
        classes = (False, True) if found.boolean else tuple(range(n_classes))
        return classes, "by position" + ("" if vector else _no_zero(found, n_classes))
    if len(found.distinct) == n_classes:
        if columns is not None:
            refuse_contradiction(found.distinct, [as_text(name) for name in columns])
        return found.distinct, "sorted labels"
    raise ValueError(_undecided(found, n_classes, vector, columns))


def _no_zero(found: Labels, n_classes: int) -> str:
    """Point out labels that may start at one, of which the last does not occur."""
    if found.boolean or found.span[0] == 0 or found.span[1] < n_classes - 1:
        return ""
    proposed = ", ".join(map(str, range(1, n_classes + 1))) if n_classes <= 4 else f"1, ..., {n_classes}"
    return f"; label 0 does not occur: if labels start at 1, pass labels=[{proposed}]"


def _as_told(found: Labels, n_classes: int, labels: Sequence[Hashable]) -> Classes:
    """The user's own order, when it fits the columns and the labels that occur."""
    told = told_labels(labels)
    if len(told) != n_classes:
        raise ValueError(f"labels={list(told)} names {len(told)} classes, but y_prob is for {n_classes}")
    strange = [label for label in found.distinct if label not in set(told)]
    if strange:
        raise ValueError(
            f"y_true holds {_few(strange)}, not among labels={_few(told)}: "
            f"name every class, in the order of the columns{_other_type(strange, told)}"
        )
    return told


def told_labels(labels: Sequence[Hashable]) -> Classes:
    """The `labels` argument as a tuple of integers, booleans or strings, no two of them equal."""
    if isinstance(labels, (str, bytes, set, frozenset)) or not isinstance(labels, Iterable):
        raise TypeError(f"labels is {labels!r}, but a list is expected: the class of each column, in order")
    told = tuple(_scalar(label) for label in labels)
    if len({type(label) for label in told}) > 1:
        raise ValueError(f"labels={list(told)} mixes types: pass integers, booleans or strings")
    twice = [label for label in told if told.count(label) > 1] if len(set(told)) < len(told) else []
    if twice:
        raise ValueError(f"labels={list(told)} names {twice[0]!r} more than once: name each class once")
    return told


def _scalar(label: Any) -> Hashable:
    plain: Any = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if not isinstance(plain, (int, str)):
        raise TypeError(f"labels holds {label!r}, but integers, booleans or strings are expected")
    return str(plain) if isinstance(plain, str) else plain


def _other_type(strange: Sequence[Hashable], told: Sequence[Hashable]) -> str:
    """Point out labels that differ by their type alone."""
    if {str(label) for label in strange} <= {str(label) for label in told}:
        return f" (y_true holds {type(strange[0]).__name__}, labels= {type(told[0]).__name__})"
    return ""


def _sentence(classes: Classes, reason: str, vector: bool, columns: Sequence[str] | None) -> str:
    """What was taken for what, in one line."""
    why = reason if reason.startswith("by position") else f"({reason})"
    if vector:
        what = f"y_prob: column {columns[0]}" if columns is not None else "y_prob"
        return f"{what} taken for P(label = {classes[-1]}); classes {_span(classes)} {why}"
    names = f" {_span([as_text(name) for name in columns])}" if columns is not None else ""
    return f"y_prob: {len(classes)} columns{names} taken for classes {_span(classes)} {why}"


def _span(values: Sequence[Hashable]) -> str:
    if len(values) <= 4:
        return ", ".join(map(str, values))
    return f"{values[0]} ... {values[-1]}"


def _few(values: Sequence[Hashable]) -> str:
    shown = ", ".join(map(repr, values[:12]))
    return f"[{shown}, ...]" if len(values) > 12 else f"[{shown}]"


def _undecided(found: Labels, n_classes: int, vector: bool, columns: Sequence[str] | None) -> str:
    what = "y_prob has one dimension and so is for 2 classes" if vector else f"y_prob has {n_classes} columns"
    names = "" if columns is None else f" ({_few([as_text(name) for name in columns])})"
    advice = "pass the class of each column in order, for example"
    if len(found.distinct) > n_classes:
        advice = "there are more labels than that: pass one column for each, in an order such as"
    elif found.boolean and n_classes > 2:
        advice = "booleans are for two classes: pass two columns, in an order such as"
    return (
        f"{what}{names}, but which class each belongs to is not clear: y_true holds {len(found.distinct)} labels, "
        f"{_few(found.distinct)}; {advice} labels={_proposal(found, n_classes)}"
    )


def _proposal(found: Labels, n_classes: int) -> str:
    """The labels that occur, filled up to the number of columns."""
    labels = list(found.distinct)
    if found.boolean:
        return _few([False, True])
    if found.text:
        return _few(labels + [f"class_{column}" for column in range(len(labels), n_classes)])
    missing = (label for label in range(n_classes + len(labels)) if label not in set(labels))
    while len(labels) < n_classes:
        labels.append(next(missing))
    return _few(sorted(labels, key=lambda label: int(str(label))))
