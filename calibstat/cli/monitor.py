r"""Is the model still calibrated?

Bets on the labels of a file row by row, in the order in which predictions were
made. You may look at the evidence E after every row: if the labels follow the
predictions, the chance that E ever reaches 1/level is at most level. With
--state the next call continues where this one stopped, and skips the rows that
were seen. If the label of a row is missing, this row and those after it wait
for the next call.

With two options --model in place of --probs, it watches which of two models has
the smaller Brier score on the same rows: the interval that is printed for the
difference holds however often you look.

The exit code is 3 if the alarm was raised, now or before, 0 if it was not, and
2 for bad input, which changes no state.

example commands:
  calibstat monitor predictions.csv --label y --probs p --order time \
    --state model.state
  calibstat monitor predictions.csv --label y --model old=p_old \
    --model new=p_new --order time
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Hashable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import calibstat as cs
from calibstat._files import alone, check_writable
from calibstat._progress import track
from calibstat._text import counted
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import columns_of_models, names_of_columns, one_lens, sample_columns
from calibstat.cli.text import VERBOSE, ProgressBar, notice, plain_warnings
from calibstat.data.arrays import Array, Floats
from calibstat.data.checks import examine, warn_of_order
from calibstat.data.files import file_arguments
from calibstat.data.parameters import LEVEL
from calibstat.monitoring.intake import WAITING, OtherPredictionsError, codes_of_labels, read_predictions
from calibstat.monitoring.state import read_state

_OPTIONS = {
    "make the monitor with bad_rows='omit'": "add --bad-rows omit",
    "make the monitor as before, and call its restore(path)": "its state cannot be used here",
    "level is ": "--level is ",
}
# Row numbers within a call say nothing where rows were sorted or skipped.
_ROW_OF_CALL = re.compile(r"row \d+ of this call \(id (.*?), row \d+ of all; rows count from 0\):")
_ALARM = 3
_CHUNK = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(confidence=None, weights=None)
    options.add(parser, "file")
    options.add_one(
        parser, "--label", required=True, help="the column of what happened; empty where it is not known yet"
    )
    columns = parser.add_mutually_exclusive_group(required=True)
    options.add_one(columns, "--probs")
    columns.add_argument(
        "--model",
        action="append",
        metavar="NAME=COL",
        help="compare two models in place of watching one: a name and its columns of probabilities, twice",
    )
    options.add(parser, "--labels")
    options.add_lens(parser, "canonical")
    parser.add_argument(
        "--order",
        required=True,
        type=options.column_name,
        metavar="COL",
        help="the column that says when a prediction was made: numbers, or texts that sort, each once",
    )
    parser.add_argument(
        "--state", metavar="FILE", help="keep the state in this file, and continue from it if it exists"
    )
    parser.add_argument(
        "--name", default="", metavar="MODEL", help="the name of the model; the state of another model is refused"
    )
    options.add_one(parser, "--level", help=f"chance of a false alarm, ever (default: {LEVEL})")
    parser.add_argument("--sort", action="store_true", help="sort the rows by --order first")
    parser.add_argument(
        "--unlabelled",
        choices=("wait", "worst"),
        default="wait",
        help="rows without a label: they and the rows after them wait for the next call (the default); or, if their "
        "labels will never come, they count with the label that makes E smallest",
    )
    parser.add_argument(
        "--bad-rows",
        choices=("raise", "omit"),
        default="raise",
        help="rows with bad predictions or unknown labels: an error (the default); or leave out bad predictions, and "
        "count unknown labels as the label that makes E smallest",
    )
    options.add(parser, "--plot", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Feed the file to the monitor, save its state, print what was found, and return the exit code."""
    if arguments.state is None:
        return _watch(arguments)
    check_writable(arguments.state)
    folder = Path(arguments.state).parent
    with plain_warnings(), alone(folder, f"another process keeps a state in {folder}: waiting until it has ended"):
        return _watch(arguments)


def _watch(arguments: argparse.Namespace) -> int:
    with plain_warnings(), options.named_options(_OPTIONS):
        with ProgressBar("reading"):
            found, rows = _read(arguments)
        if arguments.order not in found["variables"]:
            raise ValueError(f"--order {arguments.order} is a pattern, but the name of one column is expected")
        truth = np.asarray(found["y_true"])
        times = _times(found["variables"][arguments.order], arguments)
        with options.named_options(names_of_columns(arguments, found)):
            monitor = _monitor(arguments, truth, rows, found["columns"])
            order = np.argsort(np.array(times), kind="stable") if arguments.sort else np.arange(len(times))
            times = [times[row] for row in order.tolist()]
            truth, rows = truth[order], {name: each[order] for name, each in rows.items()}
            begin = _seen_before(monitor, truth, rows, times, arguments)
            with ProgressBar("watching"):
                held = _feed(monitor, truth, rows, times, begin, arguments)
    if arguments.state is not None:
        monitor.save(arguments.state)
    screen = monitor.screen(VERBOSE)
    if held:
        waiting = f"{counted(held, 'row')} held, from the first without a label on: call again when its label is known"
        screen = replace(screen, notes=[waiting, *screen.notes])
    if found["identifier"]:
        seen = found["identifier"].partition(":")[0]
        advice = "if these belong together, watch one of them alone: the evidence does not hold for rows in clusters"
        screen = replace(screen, notes=[*screen.notes, f"{seen}: {advice}"])
    show_and_draw(arguments, monitor.to_dict() | {"n_held": held}, screen, monitor.plot)
    return _ALARM if monitor.alarm else 0


def _read(arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Read labels and times, and the predictions of each model by its name; that of the only model is empty."""
    if not arguments.model:
        found = file_arguments(arguments.file, **sample_columns(arguments, [arguments.order]))
        return found, {"": np.asarray(found["y_prob"])}
    if arguments.file == "-":
        raise ValueError("standard input can be read only once, but each model has its own columns: name a file")
    if arguments.lens is not None:
        raise ValueError("--lens: models are compared by the score of their whole predictions; leave it out")
    columns = columns_of_models(arguments.model)
    if len(columns) != 2:
        raise ValueError(f"--model is given {counted(len(columns), 'time')}, but two models are compared")
    rows: dict[str, Floats] = {}
    for name, arguments.probs in columns.items():
        found = file_arguments(arguments.file, **sample_columns(arguments, [arguments.order]))
        rows[name] = np.asarray(found["y_prob"])
    return found, rows


def _fed(rows: dict[str, Floats], part: slice) -> Any:
    """Return the rows of a part as a monitor takes them: of the only model, or by the names of models."""
    return rows[""][part] if "" in rows else {name: each[part] for name, each in rows.items()}


def _times(given: Any, arguments: argparse.Namespace) -> list[Any]:
    """Return the order as numbers or texts, and refuse one that does not increase unless rows are sorted by it."""
    times: list[Any] = np.asarray(given).tolist()
    missing = [row for row, time in enumerate(times) if time is None or time == "" or time != time]
    if missing:
        raise ValueError(f"--order {arguments.order}: row {missing[0]} is empty (rows count from 0): fill it in")
    if len({isinstance(time, str) for time in times}) > 1:
        raise ValueError(f"--order {arguments.order}: it mixes numbers and texts; write all values alike")
    rows = sorted(range(len(times)), key=times.__getitem__) if arguments.sort else range(len(times))
    for before, after in pairwise(rows):
        if times[before] == times[after]:
            raise ValueError(
                f"--order {arguments.order}: {times[after]!r} stands in rows {before} and {after} (rows count from 0): "
                "name a column in which each value occurs once"
            )
        if times[before] > times[after]:
            raise ValueError(
                f"--order {arguments.order}: {times[after]!r} in row {after} comes after {times[before]!r} (rows count "
                "from 0): sort the rows by when predictions were made, or add --sort"
            )
    return times


def _monitor(
    arguments: argparse.Namespace, truth: Array, rows: dict[str, Floats], columns: list[str] | None
) -> cs.Monitor | cs.DifferenceMonitor:
    """Make the monitor, and continue from its state if there is one."""
    state = None if arguments.state is None or not Path(arguments.state).exists() else arguments.state
    some = next(iter(rows.values()))
    if arguments.labels is not None:
        labels = options.read_labels(arguments.labels)
    elif state is not None:
        known = read_state(state)[0].get("labels")
        labels = known if isinstance(known, list) else []
        if len(labels) != (2 if some.ndim == 1 else some.shape[1]):
            told = ", ".join(map(str, labels)) or "not known"
            raise ValueError(f"{state} is the state of another monitor: its classes are {told}")
    else:
        labels = _found(truth, some, columns, arguments.bad_rows)
    settings = {name: getattr(arguments, name) for name in ("level", "bad_rows", "name")} | {"labels": labels}
    monitor: cs.Monitor | cs.DifferenceMonitor
    if "" in rows:
        monitor = cs.Monitor(one_lens(arguments.lens or "canonical", labels).lens, **settings)
    else:
        monitor = cs.DifferenceMonitor(list(rows), **settings)
    if state is not None:
        monitor.restore(state)
    return monitor


def _found(truth: Array, rows: Floats, columns: list[str] | None, bad_rows: str) -> list[Hashable]:
    """Return the classes of the columns, found as `Sample` does on the sound rows that have labels."""
    n_classes = 2 if rows.ndim == 1 else rows.shape[1]
    sound = np.ones(len(rows), dtype=bool)
    sound[[complaint.row for complaint in read_predictions(rows, n_classes)[1]]] = False
    labelled = codes_of_labels(truth, {})[0] != WAITING
    if (sound & labelled).any():
        sound &= labelled
    else:  # of bad rows alone, `examine` says what is wrong
        sound = labelled
    if not sound.any():
        raise ValueError("no row has a label yet: name the classes, for example by --labels 0,1")
    try:
        found = examine(truth[sound], rows[sound], columns=columns, ask=True)
        warn_of_order(found)
        return list(found.classes)
    except ValueError as error:
        if bad_rows == "raise":
            raise
        names = ",".join(map(str, list(dict.fromkeys(truth[sound].tolist()))[:n_classes]))
        raise ValueError(
            f"{error} To let --bad-rows omit tell unknown labels, name those that are known, in the order of the "
            f"probabilities: for example --labels {names}"
        ) from None


def _feed(
    monitor: cs.Monitor | cs.DifferenceMonitor,
    truth: Array,
    rows: dict[str, Floats],
    times: list[Any],
    begin: int,
    arguments: argparse.Namespace,
) -> int:
    """Feed the rows that were not seen before, and return how many wait for a missing label."""
    codes, _ = codes_of_labels(truth, {label: column for column, label in enumerate(monitor.labels)})
    absent = np.flatnonzero(codes[begin:] == WAITING)
    end = len(times) if arguments.unlabelled == "worst" or not len(absent) else begin + int(absent[0])
    starts = range(begin, end, _CHUNK)
    for start in track(starts, len(starts)):
        part = slice(start, min(end, start + _CHUNK))
        try:
            monitor.update(_fed(rows, part), truth[part], id=times[part])
        except ValueError as error:
            raise ValueError(_ROW_OF_CALL.sub(lambda row: f"{arguments.order} {row[1]}:", str(error))) from None
        open_rows = np.flatnonzero(codes[part] == WAITING)
        waiting = [time for time in (times[start + row] for row in open_rows.tolist()) if monitor.awaits(time)]
        if waiting:
            monitor.write_off(waiting)
    return len(times) - end


def _seen_before(
    monitor: cs.Monitor | cs.DifferenceMonitor,
    truth: Array,
    rows: dict[str, Floats],
    times: list[Any],
    arguments: argparse.Namespace,
) -> int:
    """Return how many of the first rows were fed before."""
    last = monitor.to_dict()["last_id"]
    if last is not None and isinstance(last, str) != isinstance(times[0], str):
        raise ValueError(f"--order {arguments.order}: the state stopped at {last!r}, which is of another kind")
    try:
        begin = monitor.seen_before(times, _fed(rows, slice(None)), truth)
    except OtherPredictionsError as error:
        named = [f"--model {each}" for each in arguments.model or ()] or [f"--probs {','.join(arguments.probs)}"]
        raise ValueError(f"{' '.join(named)} --state {arguments.state}: {error}") from None
    except ValueError as error:
        raise ValueError(f"--order {arguments.order}: {error}") from None
    if begin:
        were = "was seen before and is" if begin == 1 else "were seen before and are"
        notice(f"{counted(begin, 'row')} up to {times[begin - 1]!r} in {arguments.order} {were} skipped")
    return begin
