"""``calibstat calibrate``: fit a calibrator on some rows, apply it to others."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import calibstat as cs
from calibstat import calibrators
from calibstat.cli.calibrate_options import NAMES, NEEDS_VARIABLE, TAKES_VARIABLE
from calibstat.cli.names import split_list
from calibstat.cli.notices import notice, plain_warnings


def run(arguments: argparse.Namespace) -> None:
    """Fit or load, apply, write."""
    with plain_warnings():
        if arguments.load is not None:
            _run_loaded(arguments)
        else:
            _run_fitted(arguments)
    print(f"Test them: calibstat test {arguments.out} --label {arguments.label} --probs 'prob_*'")


def _run_loaded(arguments: argparse.Namespace) -> None:
    if arguments.save is not None or arguments.apply is not None:
        raise ValueError("--load applies a calibrator to FILE as it is: leave out --save and --apply")
    sample = _read(arguments, arguments.file)
    fitted = calibrators.load(arguments.load)
    known = getattr(fitted, "labels_", None)
    if known is not None and known != _names(sample):
        raise ValueError(f"{arguments.load} is for the classes {known}, but {arguments.file} has {_names(sample)}")
    _write(arguments, sample, fitted, np.arange(len(sample)))
    print(f"Wrote {len(sample)} rows, calibrated by {_text(fitted)} of {arguments.load}, to {arguments.out}.")


def _run_fitted(arguments: argparse.Namespace) -> None:
    given = _read(arguments, arguments.file)
    rows, rest = _parts(arguments, len(given))
    applied = given if arguments.apply is None else _read(arguments, arguments.apply)
    if applied.labels != given.labels:
        raise ValueError(f"{arguments.apply} has the classes {applied.labels}, but {arguments.file} has {given.labels}")
    if arguments.apply is not None:
        rest = np.arange(len(applied))
    part = given.take(rows)
    made = _made(arguments, len(given.labels))
    fitted = made.fit(_columns(arguments, part), part.outcomes, part.predictions.weights)
    fitted.labels_ = _names(given)
    _write(arguments, applied.take(rest), fitted, rest)
    if arguments.save is not None:
        calibrators.save(fitted, arguments.save)
    source = "the other" if arguments.apply is None else f"all of {arguments.apply},"
    print(f"Fitted {_text(fitted)} on {len(rows)} of {len(given)} rows of {arguments.file}.")
    print(f"Wrote {source} {len(rest)} rows, calibrated, to {arguments.out}.")


def _parts(arguments: argparse.Namespace, n_rows: int) -> tuple[Any, Any]:
    """Return the rows of the fit, and the others, both in order."""
    if arguments.apply is not None:
        return np.arange(n_rows), np.arange(0)
    if not 0 < arguments.share < 1:
        raise ValueError(f"--share {arguments.share:g}: pass a share between 0 and 1, such as 0.5")
    shuffled = cs.as_generator(arguments.seed).permutation(n_rows)
    n_fit = round(arguments.share * n_rows)
    return np.sort(shuffled[:n_fit]), np.sort(shuffled[n_fit:])


def _read(arguments: argparse.Namespace, path: str) -> Any:
    return cs.Sample.read(
        path,
        y_true=arguments.label,
        y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
        variables=arguments.variable,
        sample_weight=arguments.weights,
        labels=None if arguments.labels is None else _told(arguments.labels),
        nan_policy=arguments.nan_policy,
    )


def _told(text: str) -> Sequence[str] | Sequence[int]:
    names = split_list(text)
    return [int(name) for name in names] if all(re.fullmatch(r"-?\d+", name) for name in names) else names


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


def _names(sample: Any) -> list[str]:
    return [str(label) for label in sample.labels]


def _text(fitted: Any) -> str:
    return " ".join(repr(fitted).split())


def _write(arguments: argparse.Namespace, sample: Any, fitted: Any, rows: Any) -> None:
    """Write one line for each row: its number, its label, calibrated probabilities, and the variable."""
    said = fitted.predict_proba(_columns(arguments, sample))
    header = ["row", arguments.label, *(f"prob_{name}" for name in _names(sample))]
    columns = [rows.tolist(), sample.y_true.tolist(), *said.T.tolist()]
    if arguments.variable is not None:
        header.append(arguments.variable)
        columns.append(sample.predictions.variables[arguments.variable].values.tolist())
    if sample.predictions.weights is not None:
        header.append(arguments.weights)
        columns.append(sample.predictions.weights.tolist())
    with Path(arguments.out).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
