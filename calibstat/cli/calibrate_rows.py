"""The rows of ``calibstat calibrate``: read with all that stands beside them, written with other probabilities."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibstat.arrays import Ints
from calibstat.cli.calibrate_file import opened_to_write
from calibstat.cli.names import split_list
from calibstat.cli.other_columns import Columns, other_columns
from calibstat.reading.frames import select
from calibstat.reading.sources import file_arguments
from calibstat.sample import Sample
from calibstat.whole_files import written_whole

_ROW = "row of the file"


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file in which nothing that is needed is missing.

    Parameters
    ----------
    sample : Sample
    numbers : (n,) ints
        Of these rows in the file, from 0.
    others : list of (name, values)
        Every column but those of probabilities; a value for each row of the file.
    """

    sample: Sample
    numbers: Ints
    others: Columns


def read_rows(arguments: argparse.Namespace, path: str) -> FileRows:
    """Read a file: what a calibrator needs is examined, all else is kept as it stands there.

    Parameters
    ----------
    arguments : Namespace
    path : str

    Raises
    ------
    ValueError
        If it cannot be read, or does not hold what is asked for.
    """
    if path == "-" or Path(path).is_fifo():
        what = "standard input" if path == "-" else path
        raise ValueError(f"{what} can be read once only, but calibrate keeps all columns: name a file")
    columns: dict[str, Any] = {
        "y_true": arguments.label,
        "y_prob": arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
        "sample_weight": arguments.weights,
    }
    found = file_arguments(path, variables=arguments.variable, **columns)
    n = len(found["y_true"])
    sample = Sample._examined(
        **found | {"variables": {**(found["variables"] or {}), _ROW: np.arange(n)}},
        labels=None if arguments.labels is None else _told(arguments.labels),
        nan_policy=arguments.nan_policy,
    )
    numbers = sample.predictions.variables[_ROW].values.astype(np.intp)
    others = other_columns(Path(path), n, partial(select, variables=None, where=path, **columns))
    return FileRows(sample, numbers, others)


def write_rows(path: str, rows: FileRows, taken: Ints, said: Any, label: str) -> str:
    """Write rows as CSV: number in the file, label, calibrated probabilities, all other columns as they were.

    Parameters
    ----------
    path : str
        The rows are compressed if its end says so.
    rows : FileRows
    taken : (m,) ints
        Which of them.
    said : (m, K) floats
        Calibrated probabilities.
    label : str
        The column of what happened.

    Returns
    -------
    start : str
        What the names of the probabilities begin with.
    """
    names = [name for name, _ in rows.others]
    start = probability_prefix(names)
    numbers = rows.numbers[taken].tolist()
    table = [(free_name("row", names), numbers)]
    kept = [(name, [values[number] for number in numbers]) for name, values in rows.others]
    table += [each for each in kept if each[0] == label]
    table += [(f"{start}{each}", column) for each, column in zip(rows.sample.labels, said.T.tolist(), strict=True)]
    table += [each for each in kept if each[0] != label]
    with written_whole(path) as place, opened_to_write(str(place)) as file:
        writer = csv.writer(file)
        writer.writerow([name for name, _ in table])
        writer.writerows(zip(*(column for _, column in table), strict=True))
    return start


def probability_prefix(names: Collection[str]) -> str:
    """Return what the names of calibrated probabilities begin with, and no other name does.

    Examples
    --------
    >>> probability_prefix(["age", "site"]), probability_prefix(["prob_raw"])
    ('prob_', 'calibrated_')
    >>> probability_prefix(["prob_raw", "calibrated_by"])
    'calibrated_2_'
    """
    start, number = "prob_", 0
    while any(name.startswith(start) for name in names):
        number += 1
        start = "calibrated_" if number == 1 else f"calibrated_{number}_"
    return start


def free_name(name: str, names: Collection[str]) -> str:
    """Return the name, with a number behind it if it is taken.

    Examples
    --------
    >>> free_name("row", ["age"]), free_name("row", ["row", "age"])
    ('row', 'row_2')
    """
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}_{number}"
    return found


def _told(text: str) -> Sequence[str] | Sequence[int]:
    names = split_list(text)
    return [int(name) for name in names] if all(re.fullmatch(r"-?\d+", name) for name in names) else names
