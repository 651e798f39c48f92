r"""Fit a calibrator on some rows, and write calibrated probabilities of others.

The calibrator is fitted on a share of the rows of FILE, and the other rows are
written, so that you can test it on them. With --apply it is fitted on all rows
of FILE, and the rows of the other file are written. With --load nothing is
fitted: a saved calibrator is applied to all rows of FILE.

example commands:
  calibstat calibrate predictions.csv --label actual --probs 'prob_*' \
    --calibrator beta --out calibrated.csv
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._files import check_writable, unchanged, written_whole
from calibstat._text import counted, guarded, unguarded
from calibstat.cli import options
from calibstat.cli.questions import ROW_OF_FILE, examined_with_rows, sample_columns
from calibstat.cli.text import ProgressBar, advise, notice, plain_warnings, tell
from calibstat.data.arrays import Ints
from calibstat.data.columns import shortened
from calibstat.data.files import COMPRESSIONS, READERS, file_arguments, header, opened, read_delimited, reading
from calibstat.data.frames import Selection, select
from calibstat.draws.whole_clusters import part_of_clusters

# The name on the command line, and the class: every calibrator that can be made without arguments.
NAMES = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.removesuffix("Scaling")).lower(): name
    for name in vars(cs.calibrators)["__all__"]
    if name not in ("Binned", "Calibrated", "Calibrator", "OneVsRest", "load", "save")
}
_NEED_ONE = ("variable-based", "augmented-beta")
_TAKE_SEVERAL = ("decision-tree", "calibration-tree")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(confidence=None)
    options.add_file(parser, counts=False)
    options.add_one(parser, "--probs", required=True)
    options.add(parser, "--weights", "--groups", "--nan-policy")
    options.add_one(parser, "--variables", "--variable")
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="where to write calibrated rows, as CSV (also .csv.gz)"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--calibrator", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    which.add_argument("--load", metavar="FILE", help="apply this saved calibrator to all rows, and fit none")
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--share", type=float, default=0.5, metavar="S", help="share of rows for the fit (default: 0.5)")
    rows.add_argument("--apply", metavar="FILE", help="fit on all rows, and calibrate those of this file")
    parser.add_argument("--save", metavar="FILE", help="write the fitted calibrator, as JSON")
    options.add(parser, "--seed")


def run(arguments: argparse.Namespace) -> None:
    """Fit or load, apply, write."""
    _refuse_overwriting(arguments)
    check_out(arguments.out)
    if arguments.save is not None:
        check_writable(arguments.save)
    if arguments.groups is not None and (arguments.load or arguments.apply):
        raise ValueError(
            f"--groups {arguments.groups} keeps rows together where those of FILE are split, but --load and --apply "
            "split nothing: leave it out"
        )
    with plain_warnings():
        start = _run_fitted(arguments) if arguments.load is None else _run_loaded(arguments)
    more = "" if arguments.groups is None else f" --groups {quote(arguments.groups)}"
    asked = f"{quote(arguments.out)} --label {quote(arguments.label)} --probs '{start}*'{more}"
    advise("Test them", f"calibstat test {asked}")


def _refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Refuse an output that is also an input or the other output."""
    read = [("FILE", arguments.file), ("--apply", arguments.apply), ("--load", arguments.load)]
    for option, path, others in (
        ("--out", arguments.out, [*read, ("--save", arguments.save)]),
        ("--save", arguments.save, read),
    ):
        for other, taken in others:
            if None not in (path, taken) and Path(path).resolve() == Path(taken).resolve():
                raise ValueError(f"{option} {path} is also {other}, which would be overwritten: name another file")


def _run_loaded(arguments: argparse.Namespace) -> str:
    if arguments.save is not None or arguments.apply is not None:
        raise ValueError("--load applies a saved calibrator to all rows of FILE: leave out --save and --apply")
    rows = read_rows(arguments, arguments.file)
    fitted = cs.calibrators.load(arguments.load)
    known, labels = getattr(fitted, "labels_", None), [str(label) for label in rows.sample.labels]
    if known is not None and known != labels:
        raise ValueError(
            f"{arguments.load} was fitted for the classes {shortened(known)}, but {arguments.file} has "
            f"{shortened(labels)}"
        )
    start = _write(arguments, rows, np.arange(len(rows.sample)), fitted)
    n = counted(len(rows.sample), "row")
    tell(f"Wrote {n}, calibrated by the {_name(fitted)} of {arguments.load}, to {arguments.out}.")
    return start


def _run_fitted(arguments: argparse.Namespace) -> str:
    given = read_rows(arguments, arguments.file)
    rows, rest = _rows_of_parts(arguments, given.sample)
    applied = given if arguments.apply is None else read_rows(arguments, arguments.apply)
    labels, found = given.sample.labels, applied.sample.labels
    if found != labels:
        raise ValueError(
            f"{arguments.apply} has the classes {shortened(found)}, but {arguments.file} has {shortened(labels)}"
        )
    if arguments.apply is not None:
        rest = np.arange(len(applied.sample))
    part = given.sample.take(rows)
    positions = range(-len(numeric_variables(part)), 0)
    refuse_unused("--calibrator", [arguments.calibrator.lower()], arguments.variables or ())
    made = make_calibrator("--calibrator", arguments.calibrator, positions, len(labels))
    columns = _all_columns(part)
    with ProgressBar("fitting"):
        fitted = made.fit(columns, part.outcomes, part.predictions.weights)
    fitted.labels_ = [str(label) for label in labels]
    start = _write(arguments, applied, rest, fitted)
    if arguments.save is not None:
        cs.calibrators.save(fitted, arguments.save)
    source = "the other" if arguments.apply is None else f"all of {arguments.apply},"
    n = counted(len(given.sample), "row")
    tell(f"Fitted {arguments.calibrator.lower()} on {len(rows)} of {n} of {arguments.file}.")
    tell(f"Wrote {source} {counted(len(rest), 'row')}, calibrated, to {arguments.out}.")
    return start


def _rows_of_parts(arguments: argparse.Namespace, sample: cs.Sample) -> tuple[Any, Any]:
    """Return the rows to fit on, and the others, both in order; rows of a cluster are in the same part."""
    n_rows, rng = len(sample), cs.as_generator(arguments.seed)
    if arguments.apply is not None:
        return np.arange(n_rows), np.arange(0)
    if not 0 < arguments.share < 1:
        raise ValueError(f"--share {arguments.share:g}: pass a share between 0 and 1, such as 0.5")
    n_fit = round(arguments.share * n_rows)
    if n_fit in (0, n_rows):
        raise ValueError(
            f"--share {arguments.share:g} of {counted(n_rows, 'row')} of {arguments.file} leaves {n_fit} to fit on and "
            f"{n_rows - n_fit} to write, but both need at least one: take another share or more rows, or --apply"
        )
    if sample.groups is not None:
        fit = part_of_clusters(sample.groups, n_fit, rng)
        return fit, np.setdiff1d(np.arange(n_rows), fit)
    shuffled = rng.permutation(n_rows)
    return np.sort(shuffled[:n_fit]), np.sort(shuffled[n_fit:])


def make_calibrator(option: str, text: str, variables: Sequence[int | str], n_classes: int) -> Any:
    """Make the named calibrator, and one for each class if it is for two classes; messages name `option`."""
    name = text.lower()
    if name not in NAMES:
        raise ValueError(f"there is no {option} {text!r}; choose one of {', '.join(NAMES)}")
    made = getattr(cs.calibrators, NAMES[name])()
    if name in _NEED_ONE:
        if not variables:
            raise ValueError(f"{option} {name} needs --variables COL")
        if len(variables) > 1:
            raise ValueError(f"{option} {name} uses one variable, but --variables names {len(variables)}")
        return made.set_params(variable=variables[0])
    if name in _TAKE_SEVERAL and variables:
        made.set_params(variables=list(variables))
    if made.binary and n_classes > 2:
        notice(f"{name} is for two classes: each of the {n_classes} gets one of its own, against the others")
        return cs.calibrators.OneVsRest(made)
    return made


def refuse_unused(option: str, names: Sequence[str], variables: Sequence[str]) -> None:
    """Refuse variables that none of these calibrators uses."""
    users = _NEED_ONE + _TAKE_SEVERAL
    if variables and not set(names) & {*users}:
        if not names:
            raise ValueError(f"the usual calibrators use no variable: name some by {option}, from {', '.join(users)}")
        raise ValueError(f"{option} {', '.join(names)} uses no variable; {', '.join(users)} do")


def numeric_variables(sample: cs.Sample) -> dict[str, Any]:
    """Return the variables of a sample, all of which must be numbers."""
    for name, variable in sample.predictions.variables.items():
        if variable.categorical and name != ROW_OF_FILE:
            raise ValueError(f"--variables {name}: it holds names, but numbers are needed")
    return {name: each.values for name, each in sample.predictions.variables.items() if name != ROW_OF_FILE}


def _all_columns(sample: cs.Sample) -> Any:
    """Return the probabilities, and the variables beside them."""
    return np.column_stack([sample.y_prob, *numeric_variables(sample).values()])


def _as_fitted(fitted: Any, sample: cs.Sample) -> Any:
    """Return the columns that a calibrator was fitted on; some know the probability of the event alone."""
    columns = _all_columns(sample)
    if fitted.n_features_in_ == 1 and columns.shape[1] == 2:
        return columns[:, 1]
    if fitted.n_features_in_ != columns.shape[1]:
        raise ValueError(
            f"the calibrator was fitted on {counted(fitted.n_features_in_, 'column')}, but {columns.shape[1]} of "
            "probabilities and --variables are given: name those that it was fitted on, in their order"
        )
    return columns


def _write(arguments: argparse.Namespace, rows: FileRows, taken: Any, fitted: Any) -> str:
    columns = _as_fitted(fitted, rows.sample.take(taken))
    with ProgressBar("writing"):
        return write_rows(arguments.out, rows, taken, fitted.predict_proba(columns), arguments.label)


def _name(fitted: Any) -> str:
    """Return the name of a calibrator on the command line."""
    return next((name for name, each in NAMES.items() if each == type(fitted).__name__), "calibrator")


# The rows of ``calibstat calibrate`` are read with all their columns, and written with other probabilities.


@dataclass(frozen=True, eq=False)
class FileRows:
    """The complete rows of a file, their numbers in it, and all columns but those of probabilities."""

    sample: cs.Sample
    numbers: Ints
    others: Columns


def read_rows(arguments: argparse.Namespace, path: str) -> FileRows:
    """Read a file: check what a calibrator needs, and keep all other columns as they are."""
    if path == "-" or Path(path).is_fifo():
        what = "standard input" if path == "-" else path
        raise ValueError(f"{what} can be read only once, but calibrate reads its columns twice: name a file")
    columns = sample_columns(arguments, arguments.variables)
    with unchanged(path):
        found = file_arguments(path, **columns)
        sample, rows = examined_with_rows(arguments, found, found["variables"] or {})
        named = partial(select, where=path, **columns | {"variables": None})
        others = other_columns(Path(path), len(found["y_true"]), named)
    return FileRows(sample, rows, others)


def write_rows(path: str, rows: FileRows, taken: Ints, said: Any, label: str) -> str:
    """Write rows as CSV: number (from 1), label, probabilities, other columns; return the probabilities' prefix."""
    names = [name for name, _ in rows.others]
    start = probability_prefix(names)
    numbers = rows.numbers[taken].tolist()
    table = [(free_name("row", names), [number + 1 for number in numbers])]
    kept = [(name, [values[number] for number in numbers]) for name, values in rows.others]
    table += [each for each in kept if each[0] == label]
    table += [(f"{start}{each}", column) for each, column in zip(rows.sample.labels, said.T.tolist(), strict=True)]
    table += [each for each in kept if each[0] != label]
    compressed = _COMPRESSED.get(Path(path).suffix.lower(), nullcontext)
    with (
        written_whole(path) as place,
        place.open("wb") as raw,
        compressed(raw) as stream,
        io.TextIOWrapper(stream, newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([guarded(name) for name, _ in table])
        writer.writerows(zip(*(map(guarded, column) for _, column in table), strict=True))
    return start


def probability_prefix(names: Collection[str]) -> str:
    """Return a prefix for the names of calibrated probabilities that no other name begins with.

    >>> probability_prefix(["age"]), probability_prefix(["prob_raw"]), probability_prefix(["prob_raw", "calibrated_by"])
    ('prob_', 'calibrated_', 'calibrated_2_')
    """
    starts = chain(("prob_", "calibrated_"), (f"calibrated_{number}_" for number in count(2)))
    return next(start for start in starts if not any(name.startswith(start) for name in names))


def free_name(name: str, names: Collection[str]) -> str:
    """Return the name, or the name with a number if it is taken.

    >>> free_name("row", ["age"]), free_name("row", ["row", "age"])
    ('row', 'row_2')
    """
    return next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in names)


# The file that ``calibstat calibrate`` writes: CSV, compressed if its suffix says so.

_COMPRESSED: dict[str, Callable[[Any], Any]] = {
    # Neither a name nor a time is stored, so that the same rows give the same file.
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),
    ".bz2": partial(bz2.open, mode="wb"),
    ".xz": partial(lzma.open, mode="wb"),
}


def check_out(path: str) -> None:
    """Refuse a name that does not end as that of a CSV file, unless it is of no file, such as ``/dev/stdout``."""
    place, names = Path(path), [f".csv{end}" for end in ("", *_COMPRESSED)]
    if not (path.lower().endswith(tuple(names)) or (place.exists() and not place.is_file())):
        raise ValueError(f"--out {path}: rows are written as CSV; let the name end in one of {', '.join(names)}")
    check_writable(place)


Columns = list[tuple[str, list[Any]]]


def other_columns(path: Path, n: int, select: Callable[[list[str]], Selection]) -> Columns:
    """Return names and values of every column that holds no probabilities, in the order of the file.

    Text files keep every value as it is written, so that 007 stays 007. Arrays are left out if they do not have one
    value for each of the `n` rows.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    reader = READERS[suffixes[-1]]
    if reader is read_delimited:
        return _texts(path, n, select)

    def choose(names: list[str]) -> Selection:
        chosen = select(names)
        return replace(chosen, variables=[name for name in names if name not in chosen.y_prob])

    with reading(str(path)):
        found = reader(path, choose)["variables"].items()
    values = {name: np.asarray(each, dtype=object if isinstance(each, list) else None) for name, each in found}
    return [
        (name, (each.astype(str) if each.dtype.kind in "mM" else each).tolist())
        for name, each in values.items()
        if each.shape == (n,)
    ]


def _texts(path: Path, n: int, select: Callable[[list[str]], Selection]) -> Columns:
    import pandas as pd

    with opened(path) as stream:
        first = next(line for line in stream if line.strip())
    names, delimiter = header(re.split(r"[\r\n]", first.decode("utf-8-sig").lstrip("\r\n"))[0])
    prob = select(names).y_prob
    kept = [k for k, name in enumerate(names) if name not in prob]
    frame = pd.read_csv(
        path,
        sep=delimiter,
        header=None,
        names=list(range(len(names))),
        usecols=kept,
        index_col=False,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        encoding="utf-8-sig",
    )
    if len(frame) != n + 1:  # the first line is the header
        raise ValueError(
            f"{path} has {counted(n, 'row')}, but {len(frame) - 1} when read as text: remove lines that are not rows"
        )
    return [(names[k], [unguarded(each) for each in frame[k][1:].fillna("")]) for k in kept]
