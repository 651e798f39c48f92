"""What is run in a process of its own, to be killed: sweeps into a store, commands, files that are written for ever."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from functools import cache, partial
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd

import calibstat as cs
from calibstat._files import Interrupts
from calibstat.cli.calibrate import FileRows, write_rows
from calibstat.cli.main import build_parser, main
from calibstat.cli.report import _made_before
from sweeps import slow_study

# Copies of a process that has no threads, for tasks that start some.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([
    "calibstat.sweeps.store", "xarray.backends.zarr", "calibstat.cli.sweep", "calibstat.cli.monitor", "faults.victims",
    "calibstat.reports.page", "calibstat.displays", "sklearn.isotonic", "matplotlib.pyplot",
])  # fmt: skip
# Copies of this process, with all that it has made.
_COPIES = multiprocessing.get_context("fork")


def started(task, *arguments):
    """Start a task in a process of its own, and return it when it begins; one that Ctrl-C interrupts exits with 130."""
    kind = _SERVER if task in (sweep, command) else _COPIES
    begins = kind.Event()
    process = kind.Process(target=_run, args=(begins, task, *arguments), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the task begins, which hears it
    process.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert begins.wait(120), "it does not begin"
    return process


def _run(begins, task, *arguments):
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        begins.set()
        task(*arguments)
    except KeyboardInterrupt:
        sys.exit(130)


def sweep(store, block):
    slow_study.make().run(store=store, progress=False, block=block)


def command(arguments, folder):
    """Run a command in a folder; what it prints is not shown."""
    os.chdir(folder)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    code = main(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is over
    sys.exit(code)


def command_ended_at_random(rng, how, seconds, arguments, folder):
    """Run a command, and end it after a random time, below so many seconds, from when it has begun; return its code."""
    process = started(command, arguments, folder)
    process.join(float(rng.uniform(0, seconds)))
    if process.is_alive():
        os.kill(process.pid, how)
    process.join(120)
    return process.exitcode


def write_for_ever(writers, path):
    """Write one state after the other, until somebody stops it; Python loses a Ctrl-C where it clears a file away."""
    with Interrupts() as interrupts:
        for write in cycle(writers):
            write(path)
            if interrupts.came:
                raise KeyboardInterrupt


def rows(which):
    rng = np.random.default_rng(which)
    p = rng.random(300 + 40 * which)
    return cs.Sample(rng.random(len(p)) < p, p)


def monitor(which):
    found = cs.Monitor()
    found.update(rows(which).predictions.event, rows(which).outcomes)
    return found


def ledger(which):
    seen = rows(which)
    return cs.Ledger.collect(pd.DataFrame({"y": seen.outcomes, "p": seen.predictions.event}), y_true="y", y_prob="p")


def calibrator(which):
    fitted = cs.calibrators.Isotonic().fit(rows(which).predictions.event, rows(which).outcomes)
    return partial(cs.calibrators.save, fitted)


@cache
def _document():
    return cs.report(rows(0), calibrators={}, rng=0).document


def report(which):
    """Return one of two reports, of which only the titles differ."""
    return cs.Report({**_document(), "title": f"Report {which}"})


_parser = cache(partial(build_parser, ["report"]))


def report_of(path):
    """Return the content of a report as the command reads it."""
    return _made_before(_parser().parse_args(["report", str(path), "-o", "x.html"])).document


def calibrated(which):
    """Return what writes calibrated rows, as the command does."""
    seen = rows(which)
    n, said = len(seen.outcomes), np.column_stack([1 - seen.predictions.event, seen.predictions.event])
    given = FileRows(seen, np.arange(n), [("y", seen.outcomes.tolist())])
    return lambda path: write_rows(str(path), given, np.arange(n), said, "y")


def calibrated_of(path):
    read = cs.Sample.read(path, y_true="y", y_prob="prob_True")
    return read.outcomes.tolist(), read.predictions.event.tolist()


# What writes the first state (0) or the second one (1) to a path.
WRITERS = {
    "monitor.npz": lambda which, _: monitor(which).save,
    "ledger.parquet": lambda which, _: ledger(which).save,
    "calibrator.json": lambda which, _: calibrator(which),
    "calibrated.csv.gz": lambda which, _: calibrated(which),
    "report.json": lambda which, _: report(which).save,
    "report.html": lambda which, _: report(which).save,
}
# What reads it again, as bytes or numbers that can be compared.
READERS = {
    "monitor.npz": lambda path: cs.Monitor.load(path).to_dict(),
    "ledger.parquet": lambda path: repr(cs.Ledger.load(path).sample().outcomes.tolist()),
    "calibrator.json": lambda path: cs.calibrators.load(path).predict_proba(np.linspace(0, 1, 40)).tolist(),
    "calibrated.csv.gz": calibrated_of,
    "report.json": report_of,
    "report.html": lambda path: Path(path).read_text(encoding="utf-8"),
}


def removed(store):
    shutil.rmtree(store)


def file_of_rows(which, path):
    """Write rows as CSV with times, those of the second state after those of the first."""
    seen = rows(which)
    times = 1000 * which + np.arange(len(seen.outcomes))
    pd.DataFrame({"t": times, "y": seen.outcomes.astype(int), "p": seen.predictions.event}).to_csv(path, index=False)
    return ["--label", "y", "--probs", "p"]
