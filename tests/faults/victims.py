"""What is run in a process of its own, to be killed: a sweep into a store, and files that are written for ever."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sys
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd

import calibstat as cs
from sweeps import slow_study

# Copies of a process that has no threads, for tasks that start some.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["calibstat.sweeps.store", "xarray.backends.zarr"])
# Copies of this process, with all that it has made.
_COPIES = multiprocessing.get_context("fork")


def started(task, *arguments):
    """Start a task in a process of its own, and return it; one that is interrupted by Ctrl-C exits with 130."""
    process = (_SERVER if task is sweep else _COPIES).Process(target=_run, args=(task, *arguments), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the task begins, which hears it
    process.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def _run(task, *arguments):
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        task(*arguments)
    except KeyboardInterrupt:
        sys.exit(130)


def sweep(store, block):
    slow_study.make().run(store=store, progress=False, block=block)


def write_for_ever(writers, path):
    """Write one state after the other, until somebody stops it."""
    for write in cycle(writers):
        write(path)


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


def report(which, folder):
    """Return one of two reports, made from the JSON of one that lies in the folder."""
    kept = folder / "report.json"
    if not kept.exists():
        cs.report(rows(0), calibrators={}, rng=0).save(kept)
    document = json.loads(kept.read_text(encoding="utf-8"))
    return cs.Report({**document, "title": f"Report {which}"})


# What writes the first state (0) or the second one (1) to a path.
WRITERS = {
    "monitor.npz": lambda which, _: monitor(which).save,
    "ledger.parquet": lambda which, _: ledger(which).save,
    "calibrator.json": lambda which, _: calibrator(which),
    "report.html": lambda which, folder: report(which, folder).save,
}
# What reads it again, as bytes or numbers that can be compared.
READERS = {
    "monitor.npz": lambda path: cs.Monitor.load(path).to_dict(),
    "ledger.parquet": lambda path: repr(cs.Ledger.load(path).sample().outcomes.tolist()),
    "calibrator.json": lambda path: cs.calibrators.load(path).predict_proba(np.linspace(0, 1, 40)).tolist(),
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
