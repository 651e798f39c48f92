"""Columns of a data frame, by name, a classifier, or confidences, as the arguments of a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, is_number, shown
from calibstat.data.arrays import Array, Floats
from calibstat.data.checks import all_of
from calibstat.data.columns import Column, as_array, as_text, column, names_of, refuse_lazy
from calibstat.data.repeats import hint_of_column, identifiers

Names: TypeAlias = str | Sequence[str]


@dataclass(frozen=True)
class Selection:
    """The columns of a sample, in the order asked for; columns matched by a glob keep the frame's order."""

    outcome: dict[str, list[str]]  # y_true, counts, or events and trials; of buckets, predicted and between too
    y_prob: list[str]
    variables: list[str]
    sample_weight: str | None
    groups: str | None = None
    identifier: str | None = None  # looked at only for whether its values repeat

    @property
    def names(self) -> list[str]:
        """The names of all columns, each once."""
        happened = [name for names in self.outcome.values() for name in names]
        single = [name for name in (self.sample_weight, self.groups, self.identifier) if name is not None]
        return list(dict.fromkeys([*happened, *self.y_prob, *self.variables, *single]))

    def looking_at(self, names: Sequence[str]) -> Selection:
        """Return the same columns and, where none says which rows belong together, the first that looks like that."""
        found = [] if self.groups is not None else identifiers(names, self.names)
        return replace(self, identifier=found[0]) if found else self


def select(
    names: Sequence[str],
    *,
    y_prob: Names | None = None,
    variables: Names | None = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    where: str,
    counts: Names | None = None,
    confidence: str | None = None,
    between: Sequence[str] | None = None,
    later: Sequence[str] = (),
    **outcome: str | None,
) -> Selection:
    """Find the requested columns among the `names` that exist.

    `outcome` names the column of `y_true`, or those of `events` and `trials`; `counts` are in its place. Of whether the
    top label was right it is `correct`, and `confidence` is in the place of `y_prob`. Of buckets it names their sums
    `predicted` too, in that place, and `between` are the columns of their ends. `counts`,
    `y_prob` and `variables` may be several names, and globs. A glob never matches the labels or the weights, and one
    for `variables` matches no probabilities either. `where` is what messages call the frame or the file. If a column
    does not exist, a ValueError lists those that do; it names all that do not exist, also of those needed `later`.
    """
    happened = {key: [name] for key, name in outcome.items() if name is not None}
    if between is not None:
        happened["between"] = list(between)
    y_prob = _check_asked({*happened, *(() if counts is None else ("counts",))}, y_prob, confidence)
    single = [name for columns in happened.values() for name in columns]
    single += [name for name in (sample_weight, groups) if name is not None]
    _refuse_several_absent(
        [*single, *_patterns(counts or ()), *later, *_patterns(y_prob), *_patterns(variables or ())], names, where
    )
    for name in single:
        _matches(name, names, (), where, globs=False)
    _refuse_twice(y_prob)
    if counts is not None:
        happened["counts"] = _all_matches(counts, names, single, where)
        single += happened["counts"]
    prob = [] if "predicted" in happened else _all_matches(y_prob, names, single, where)
    for key, columns in happened.items():
        twice = [name for name in columns if name in prob]
        if twice:
            raise ValueError(
                f"the column {twice[0]!r} of {where} is asked for as {key} and as y_prob: it can be only one"
            )
    others = [] if variables is None else _all_matches(variables, names, [*single, *prob], where)
    chosen = Selection(happened, prob, others, sample_weight, groups)
    repeated = set(_repeated(names))
    for name in chosen.names:
        if name in repeated:
            raise ValueError(f"{where} has more than one column {name!r}: rename one of them")
    return chosen


def _check_asked(given: set[str], y_prob: Names | None, confidence: str | None) -> Names:
    """Return what names the probabilities; raise unless what happened is named in one of the ways that go with it."""
    if confidence is not None or given == {"correct"}:
        if confidence is None or y_prob is not None or given != {"correct"}:
            raise TypeError(
                "confidence= names the column of confidences, and correct= that of whether they were in the right "
                "label: name both, without y_true= and y_prob="
            )
        return confidence
    if given & {"predicted", "between"}:
        if y_prob is not None or given - {"between"} != {"predicted", "events", "trials"}:
            raise TypeError(
                "predicted= names the column of sums of predictions, where a row is a bucket of several, and between= "
                "those of their ends: name events= and trials= beside predicted=, without y_true= and y_prob="
            )
        return ()
    if y_prob is None:
        raise TypeError("y_prob= names no column, but that of a probability, or one for each class, is expected")
    if given not in ({"y_true"}, {"counts"}, {"events", "trials"}):
        found = " and ".join(f"{name}=" for name in sorted(given)) or "none"
        raise TypeError(
            f"what happened is in the columns of {found}, but y_true= is expected; or, where a row stands for several, "
            "counts= of each class, or events= and trials="
        )
    return y_prob


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, in their order."""
    return [name for name, count in Counter(name for name in names if isinstance(name, Hashable)).items() if count > 1]


def _refuse_twice(y_prob: Names) -> None:
    """Raise if a column is named twice; globs may overlap."""
    listed = [] if isinstance(y_prob, str) or not isinstance(y_prob, Iterable) else list(y_prob)
    twice = [name for name in _repeated(listed) if not any(sign in str(name) for sign in "*?[")]
    if twice:
        raise ValueError(f"y_prob names the column {twice[0]!r} more than once: name each column once")


def _refuse_several_absent(patterns: Iterable[str], names: Sequence[str], where: str) -> None:
    """Raise one error if several of the columns asked for do not exist."""
    there = dict.fromkeys(names)
    absent = [
        each
        for each in dict.fromkeys(pattern for pattern in patterns if isinstance(pattern, Hashable))
        if each not in there and not any(fnmatchcase(as_text(name), str(each)) for name in there)
    ]
    if len(absent) > 1:
        raise ValueError(f"no columns {_listed(absent)} in {where}; the columns are {_listed(names)}")


def _patterns(asked: Names) -> list[str]:
    return list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]


def _all_matches(patterns: Names, names: Sequence[str], taken: Sequence[str], where: str) -> list[str]:
    there, left_out = dict.fromkeys(names), dict.fromkeys(taken)
    found = [name for pattern in _patterns(patterns) for name in _matches(pattern, there, left_out, where)]
    if not found:
        raise ValueError(f"no columns of {where} are asked for as y_prob or variables: name at least one")
    return list(dict.fromkeys(found))


def _matches(
    pattern: str, names: Collection[str], taken: Collection[str], where: str, *, globs: bool = True
) -> list[str]:
    # A name such as "p[1]" is first taken literally, then as a glob.
    if isinstance(pattern, Hashable) and pattern in names:
        return [pattern]
    found = [
        name
        for name in names
        if globs and isinstance(pattern, str) and fnmatchcase(as_text(name), pattern) and name not in taken
    ]
    if not found and pattern == "*" and taken:
        raise ValueError(f"{where} has no columns besides {_listed(taken)}, but further ones are asked for: add them")
    if not found:
        left = f" besides {_listed(taken)}" if taken and any(sign in str(pattern) for sign in "*?[") else ""
        raise ValueError(f"no column {pattern!r} in {where}{left}; the columns are {_listed(names)}")
    return found


def _listed(names: Collection[str]) -> str:
    listed = [shown(repr(name)) for name in names]
    if len(listed) > 20:
        listed = [*listed[:15], f"... ({len(listed) - 17} more)", *listed[-2:]]
    return ", ".join(listed)


def frame_arguments(frame: Any, **asked: Any) -> dict[str, Any]:
    """Take the arguments of `examine` from the columns of a frame.

    The frame is one of pandas, polars or pyarrow, an xarray Dataset, or a mapping of names to columns; columns are
    named as for `select`, and a single two-dimensional one may hold all probabilities. Raises a ValueError if a column
    is missing or probabilities are not numbers, and a TypeError if `frame` is no frame.
    """
    names = frame_names(frame)
    return arguments_from(frame, select(names, **asked, where="the frame").looking_at(names))


def frame_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns."""
    refuse_lazy("the frame", frame)
    if hasattr(frame, "data_vars"):
        # Coordinates are no columns, just as the index of a pandas frame is none.
        return [name for name in frame.variables if name not in frame.dims]
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if isinstance(frame, Mapping):
        return list(frame)
    if hasattr(frame, "columns"):
        return list(frame.columns)
    raise TypeError(
        f"the frame is of type {type(frame).__name__}, but a data frame or a mapping of names to columns is expected"
    )


def arguments_from(frame: Any, chosen: Selection) -> dict[str, Any]:
    """Take the arguments of `examine` from the chosen columns."""
    if hasattr(frame, "column_names"):
        # pyarrow tables are converted by pandas, which keeps categories.
        frame = frame.select(chosen.names).to_pandas(ignore_metadata=True)
    weights = chosen.sample_weight
    (prob, columns), sample_weight = all_of(
        lambda: _probabilities(frame, chosen.y_prob) if chosen.y_prob else (None, None),
        lambda: None if weights is None else numbers(weights, frame[weights]),
    )
    happened = {key: frame[names[0]] for key, names in chosen.outcome.items() if key not in ("counts", "between")}
    if "between" in chosen.outcome:
        happened["between"] = tuple(numbers(name, frame[name]) for name in chosen.outcome["between"])
    counted_in = chosen.outcome.get("counts")
    if counted_in:
        happened["counts"] = np.column_stack([numbers(name, frame[name]) for name in counted_in])
        happened["count_columns"] = [as_text(name) for name in counted_in]
    if prob is not None:
        happened["y_prob"] = prob
    return {
        **happened,
        "variables": {name: frame[name] for name in chosen.variables} or None,
        "sample_weight": sample_weight,
        "groups": None if chosen.groups is None else frame[chosen.groups],
        "groups_name": chosen.groups,
        "identifier": None
        if chosen.identifier is None
        else hint_of_column(chosen.identifier, frame[chosen.identifier]),
        "columns": columns,
    }


def _probabilities(frame: Any, names: Sequence[str]) -> tuple[Array, list[str] | None]:
    first = frame[names[0]]
    if len(names) == 1:
        array = as_array(f"column {names[0]!r}", first)
        return (array, names_of(first)) if array.ndim > 1 else (numbers(names[0], first), [as_text(names[0])])
    columns = _each_numbers(frame, names)
    start = next(columns)
    together = np.empty((len(start), len(names)), order="F")
    together[:, 0] = start
    for position, values in enumerate(columns, start=1):
        if len(values) != len(start):
            raise ValueError(
                f"column {names[position]!r} has {counted(len(values), 'row')} and {names[0]!r} has {len(start)}: "
                "probabilities must have the same length"
            )
        together[:, position] = values
    return together, [as_text(name) for name in names]


def _each_numbers(frame: Any, names: Sequence[str]) -> Iterator[Floats]:
    """Yield one column of numbers after the other; if several hold something else, one error tells all."""
    for place, name in enumerate(names):
        try:
            yield numbers(name, frame[name])
        except ValueError:
            all_of(*(partial(numbers, each, frame[each]) for each in names[place:]))
            raise


def numbers(name: str, values: Any) -> Floats:
    """Return (n,) floats, NaN where missing, from a column that must hold numbers."""
    called = f"column {name!r}"
    array = as_array(called, values)
    if array.dtype.kind == "O" and array.ndim == 1:
        _refuse_text(called, array.tolist())
    found = column(called, array)
    if found.names is not None:
        _refuse_text(called, array.tolist())
    return found.values.astype(np.float64, copy=False)


def _refuse_text(called: str, items: list[Any]) -> None:
    """Raise an error that names the first text that is not a number, or else the first text."""
    texts = [(row, item) for row, item in enumerate(items) if isinstance(item, str)]
    if texts:
        row, item = next((each for each in texts if not is_number(each[1])), texts[0])
        raise ValueError(f"{called} holds the text {item!r} in row {row} (rows count from 0): {_advice(item)}")


def _advice(text: str) -> str:
    """Say how to make a number of a text."""
    if not is_number(text.strip().removesuffix("%").replace(",", ".")):
        return "pass numbers"
    advice = ["these are percentages; pass shares, 0.15 and not 15 %"] if text.strip().endswith("%") else []
    advice += ["numbers have a decimal point, not a comma"] if "," in text else []
    return ", and ".join(advice) or "pass numbers"


def estimator_arguments(estimator: Any, X: Any) -> dict[str, Any]:
    """Predict rows X with a fitted classifier, whose ``classes_`` label the columns; raise if it cannot do so."""
    name = type(estimator).__name__
    wrap = f"sklearn.calibration.CalibratedClassifierCV({name}(...)) gives probabilities once fitted"
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{name} has no predict_proba: {wrap}")
    if not hasattr(estimator, "classes_"):
        raise ValueError(f"{name} has no classes_: fit it first; for a model that never has them, {wrap}")
    y_prob = _predicted(estimator, X)
    if isinstance(y_prob, list):
        raise ValueError(f"{name} predicts {len(y_prob)} outputs: pass one of them as Sample(y_true, y_prob)")
    return {"y_prob": y_prob, "labels": np.asarray(estimator.classes_).tolist()}


def _predicted(estimator: Any, X: Any) -> Any:
    try:
        return estimator.predict_proba(X)
    except Exception as error:
        # scikit-learn's own exception, recognised by name, so that scikit-learn need not be imported.
        if type(error).__name__ != "NotFittedError":
            raise
        raise ValueError(f"{type(estimator).__name__} is not fitted: call its fit first") from error


def confidence_arguments(correct: Any, confidence: Any) -> dict[str, Any]:
    """Take `correct` (n,), each 0 or 1, as the labels, and the confidences (n,) in [0, 1] as their probabilities."""
    levels = as_array("confidence", confidence)
    if levels.ndim != 1:
        raise ValueError(
            f"confidence has shape {levels.shape}, but one value for each row is expected: pass all probabilities "
            "as Sample(y_true, y_prob), and look through TopLabel()"
        )
    found = column("correct", correct)
    if found.names is not None:
        correct = _in_truth_values(found)
        found = column("correct", correct)
    present = found.values[~np.isnan(found.values)] if found.values.dtype.kind == "f" else found.values
    if not np.logical_or(present == 0, present == 1).all():
        raise ValueError("correct holds other values than 0 and 1: pass booleans, such as predicted == y_true")
    if len(found.values) != len(levels):
        raise ValueError(
            f"correct has {counted(len(found.values), 'row')} and confidence has {len(levels)}: pass one of each"
        )
    return {"y_true": correct, "y_prob": levels, "labels": (False, True)}


# Words of truth in logs; texts of CSV that are true or false have been read as such.
_TRUTHS = {"correct": 1.0, "incorrect": 0.0, "right": 1.0, "wrong": 0.0, "true": 1.0, "false": 0.0}


def _in_truth_values(found: Column) -> Floats:
    """Return 1 where a text says that the label was right and 0 where it says that it was not; NaN for no text."""
    meant = [_TRUTHS.get(name.strip().lower()) for name in found.names or ()]
    if None in meant:
        raise ValueError(
            "correct holds text, but booleans, or 0 and 1, or the words correct and incorrect, are expected: pass "
            "predicted == y_true"
        )
    return np.array([*meant, np.nan], dtype=np.float64)[found.values]
