"""``calibstat calibrate``: fit a calibrator on some rows, apply it to others."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import calibstat as cs
from calibstat import calibrators
from calibstat.cli.calibrate_file import check_out
from calibstat.cli.calibrate_options import NAMES, NEEDS_VARIABLE, TAKES_VARIABLE
from calibstat.cli.calibrate_rows import FileRows, read_rows, write_rows
from calibstat.cli.notices import notice, plain_warnings
from calibstat.cli.progress_bar import ProgressBar


def run(arguments: argparse.Namespace) -> None:
    """Fit or load, apply, write."""
    check_out(arguments.out)
    _refuse_overwriting(arguments)
    with plain_warnings():
        start = _run_fitted(arguments) if arguments.load is None else _run_loaded(arguments)
    print(f"Test them: calibstat test {arguments.out} --label {arguments.label} --probs '{start}*'")


def _refuse_overwriting(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that is read or written besides."""
    read = [("FILE", arguments.file), ("--apply", arguments.apply), ("--load", arguments.load)]
    for option, path, others in (
        ("--out", arguments.out, [*read, ("--save", arguments.save)]),
        ("--save", arguments.save, read),
    ):
        for other, taken in others:
            if None not in (path, taken) and Path(path).resolve() == Path(taken).resolve():
                raise ValueError(f"{option} {path} is {other} too, and would be overwritten: name another file")


def _run_loaded(arguments: argparse.Namespace) -> str:
    if arguments.save is not None or arguments.apply is not None:
        raise ValueError("--load applies a calibrator to FILE as it is: leave out --save and --apply")
    rows = read_rows(arguments, arguments.file)
    fitted = calibrators.load(arguments.load)
    known, labels = getattr(fitted, "labels_", None), _names(rows.sample)
    if known is not None and known != labels:
        raise ValueError(f"{arguments.load} is for the classes {known}, but {arguments.file} has {labels}")
    start = _write(arguments, rows, np.arange(len(rows.sample)), fitted)
    print(f"Wrote {_rows(len(rows.sample))}, calibrated by {_text(fitted)} of {arguments.load}, to {arguments.out}.")
    return start


def _run_fitted(arguments: argparse.Namespace) -> str:
    given = read_rows(arguments, arguments.file)
    rows, rest = _parts(arguments, len(given.sample))
    applied = given if arguments.apply is None else read_rows(arguments, arguments.apply)
    labels, found = given.sample.labels, applied.sample.labels
    if found != labels:
        raise ValueError(f"{arguments.apply} has the classes {found}, but {arguments.file} has {labels}")
    if arguments.apply is not None:
        rest = np.arange(len(applied.sample))
    part = given.sample.take(rows)
    made = _made(arguments, len(labels))
    columns = _columns(arguments, part)
    with ProgressBar("fitting"):
        fitted = made.fit(columns, part.outcomes, part.predictions.weights)
    fitted.labels_ = _names(given.sample)
    start = _write(arguments, applied, rest, fitted)
    if arguments.save is not None:
        calibrators.save(fitted, arguments.save)
    source = "the other" if arguments.apply is None else f"all of {arguments.apply},"
    print(f"Fitted {_text(fitted)} on {len(rows)} of {_rows(len(given.sample))} of {arguments.file}.")
    print(f"Wrote {source} {_rows(len(rest))}, calibrated, to {arguments.out}.")
    return start


def _parts(arguments: argparse.Namespace, n_rows: int) -> tuple[Any, Any]:
    """Return the rows of the fit, and the others, both in order."""
    if arguments.apply is not None:
        return np.arange(n_rows), np.arange(0)
    if not 0 < arguments.share < 1:
        raise ValueError(f"--share {arguments.share:g}: pass a share between 0 and 1, such as 0.5")
    n_fit = round(arguments.share * n_rows)
    if n_fit in (0, n_rows):
        raise ValueError(
            f"--share {arguments.share:g} of {_rows(n_rows)} of {arguments.file} leaves {n_fit} to fit on and "
            f"{n_rows - n_fit} to write, but both need at least one: take another share or more rows, or --apply"
        )
    shuffled = cs.as_generator(arguments.seed).permutation(n_rows)
    return np.sort(shuffled[:n_fit]), np.sort(shuffled[n_fit:])


def _made(arguments: argparse.Namespace, n_classes: int) -> Any:
    name = arguments.calibrator.lower()
    if name not in NAMES:
        raise ValueError(f"--calibrator {arguments.calibrator}: there are {', '.join(NAMES)}")
    if name in NEEDS_VARIABLE and arguments.variable is None:
        raise ValueError(f"--calibrator {name} needs --variable COL")
    if arguments.variable is not None and name not in NEEDS_VARIABLE + TAKES_VARIABLE:
        raise ValueError(f"--calibrator {name} uses no variable; take {', '.join(NEEDS_VARIABLE + TAKES_VARIABLE)}")
    made = getattr(calibrators, NAMES[name])()
    if name in TAKES_VARIABLE and arguments.variable is not None:
        made.set_params(variables=[-1])
    if made.binary and n_classes > 2 and name not in NEEDS_VARIABLE:
        notice(f"{name} is for two classes: each of the {n_classes} gets one of its own, against the others")
        return calibrators.OneVsRest(made)
    return made


def _columns(arguments: argparse.Namespace, sample: Any) -> Any:
    """Return the probabilities, and the variable beside them."""
    if arguments.variable is None:
        return sample.y_prob
    variable = sample.predictions.variables[arguments.variable]
    if variable.categorical:
        raise ValueError(f"--variable {arguments.variable}: it holds names, but numbers are needed")
    return np.column_stack([sample.y_prob, variable.values])


def _write(arguments: argparse.Namespace, rows: FileRows, taken: Any, fitted: Any) -> str:
    columns = _columns(arguments, rows.sample.take(taken))
    with ProgressBar("writing"):
        return write_rows(arguments.out, rows, taken, fitted.predict_proba(columns), arguments.label)


def _names(sample: Any) -> list[str]:
    return [str(label) for label in sample.labels]


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _text(fitted: Any) -> str:
    return " ".join(repr(fitted).split())
