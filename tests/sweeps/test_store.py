from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
import zlib
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import calibstat as cs
from calibstat._files import alone
from calibstat.generators import Empirical, GaussianMixture
from calibstat.sweeps import schedule as pacing
from calibstat.sweeps._grid import all_units
from calibstat.sweeps.schedule import on_threads
from calibstat.sweeps.store import read
from calibstat.sweeps.sweep import Sweep
from suites import slow_but
from sweeps import slow_study
from sweeps.comparing import assert_same_bits
from sweeps.slow_study import make


@pytest.fixture(scope="module")
def whole():
    return make().run(progress=False)


@pytest.fixture(scope="module")
def finished_store(tmp_path_factory):
    store = tmp_path_factory.mktemp("finished") / "study.zarr"
    make().run(store=store, progress=False, block=5)
    return store


@pytest.fixture
def stored(finished_store, tmp_path):
    """A finished study of one's own."""
    return Path(shutil.copytree(finished_store, tmp_path / "study.zarr"))


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    monkeypatch.setenv("SWEEP_LOG", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


def test_a_store_holds_what_is_computed_in_memory(whole, tmp_path):
    found = make().run(store=tmp_path / "study.zarr", progress=False, block=5)
    assert_same_bits(whole, found)
    opened = xr.open_zarr(tmp_path / "study.zarr")
    assert_same_bits(whole, opened)
    assert (opened["status"] == 1).all()
    assert opened["model"].values.tolist() == ["calibrated", "off"]


def test_a_store_is_read_as_it_is_used(stored):
    found = make().run(store=stored, progress=False, block=5)
    assert found["estimate"].chunks is not None


def test_netcdf_keeps_every_bit(whole, tmp_path):
    whole.to_netcdf(tmp_path / "study.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "study.nc", engine="h5netcdf") as opened:
        assert_same_bits(whole, opened)
        assert opened.attrs["design"] == whole.attrs["design"]


def test_a_finished_study_is_not_computed_again(whole, stored, log):
    assert_same_bits(whole, make().run(store=stored, progress=False, block=3))
    # Nothing is left to be timed, and nothing to be computed.
    assert not log()


def test_only_what_is_missing_is_computed(whole, tmp_path, log, monkeypatch):
    monkeypatch.setattr(pacing, "_QUICK", np.inf)  # as many are timed, however busy the machine
    make().run(store=tmp_path / "study.zarr", progress=False, block=4)
    group = zarr.open_group(str(tmp_path / "study.zarr"), mode="r+")
    group["status"][1, 0, 2] = 0
    group["estimate"][1, :, 0, :, 8:12] = np.nan
    before = len(log())
    found = make().run(store=tmp_path / "study.zarr", progress=False)
    assert_same_bits(whole, found)
    drawn = Counter(log()[before:])
    study = make().study
    wanted = [zlib.crc32(study.draw("off", 40, repeat).sample.predictions.event.tobytes()) for repeat in range(8, 12)]
    # Once for each number of bins; and at each of two n some repeats that tell how long one takes.
    assert all(drawn[str(each)] == 2 for each in wanted)
    assert drawn.total() == 2 * (4 + 2 * (3 + pacing._FEW))


def test_failed_blocks_are_tried_again(tmp_path, monkeypatch):
    def broken(y_true, y_prob):
        if "BROKEN" in os.environ:
            raise OSError("no luck")
        return 1.0

    def sweep():
        estimators = {"e": lambda n_bins: broken}
        return Sweep(GaussianMixture(1, 1), n=[10], estimators=estimators, n_repeats=4, rng=0)

    monkeypatch.setenv("BROKEN", "1")
    failed = sweep().run(store=tmp_path / "s", progress=False, block=2)
    assert (failed["status"] == 2).all()
    assert failed["error"].values[0, 0, 0] == "repeat 0: OSError: no luck"
    monkeypatch.delenv("BROKEN")
    found = sweep().run(store=tmp_path / "s", progress=False)
    assert (found["status"] == 1).all()
    assert (found["error"] == "").all()
    assert (found["estimate"] == 1).all()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seed": 6}, "seed was 5, and is 6 now"),
        ({"n": [40, 91]}, "n was"),
        ({"n_repeats": 13}, "n_repeats"),
        ({"estimators": {"ECE": lambda n_bins: cs.ECE(cs.EqualWidth(n_bins))}}, "estimators"),
        ({"estimators": {"ECE": lambda b: cs.ECE(cs.EqualMass(b)), "mean": lambda b: lambda y, p: 2}}, "estimators"),
        ({"tests": {"PDE": (cs.PDE(cs.EqualWidth(4)), cs.Consistency(39))}}, "tests"),
    ],
)
def test_a_store_of_another_study_is_refused(whole, stored, changes, what):
    with pytest.raises(ValueError, match=f"holds another study: {what}"):
        make(**changes).run(store=stored, progress=False, block=6)
    assert_same_bits(whole, xr.open_zarr(stored))


def test_models_with_equal_reprs_are_told_apart(tmp_path):
    def sweep(scores):
        return Sweep({"m": Empirical(scores)}, n=[10], estimators={"ECE": cs.ECE()}, n_repeats=2, rng=0)

    sweep([0.2, 0.5]).run(store=tmp_path / "s", progress=False, block=2)
    sweep([0.2, 0.5]).run(store=tmp_path / "s", progress=False, block=2)
    with pytest.raises(ValueError, match="another study: models"):
        sweep([0.2, 0.6]).run(store=tmp_path / "s", progress=False)


def test_what_is_no_store_is_left_alone(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "file").write_text("mine")
    with pytest.raises(ValueError, match="no store of a sweep"):
        make().run(store=tmp_path / "notes", progress=False, block=6)
    assert (tmp_path / "notes" / "file").read_text() == "mine"


@pytest.mark.parametrize("n_processes", slow_but([], [2, 3]))
def test_several_processes_make_one_store_one_after_the_other(whole, tmp_path, n_processes):
    """All end well with the same bits, whichever was first."""
    store = tmp_path / "study.zarr"
    environment = dict(os.environ, SWEEP_SECONDS="0.001")
    command = [sys.executable, slow_study.__file__, str(store)]
    processes = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(n_processes)
    ]
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * n_processes
    assert sum("another process is at work on" in each for each in said) < n_processes
    assert_same_bits(whole, read(store))
    assert [each.name for each in tmp_path.iterdir()] == ["study.zarr"]


def test_a_second_run_waits_and_says_so(tmp_path):
    (tmp_path / "s").mkdir()
    order, inside = [], threading.Event()

    def first():
        with alone(tmp_path / "s"):
            inside.set()
            time.sleep(0.3)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with pytest.warns(UserWarning, match="busy"), alone(tmp_path / "s", "busy"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_what_was_left_by_a_kill_while_creating_is_taken_away(tmp_path):
    """Killed where the store is half made: nothing is found, and the next run leaves no folder behind."""
    code = (
        "import os, sys, pathlib; import calibstat.sweeps.store as store; from sweeps import slow_study;"
        "path = pathlib.Path(sys.argv[1]); pathlib.Path.replace = lambda *two: os.kill(os.getpid(), 9);"
        "slow_study.make().run(store=path, progress=False)"
    )
    process = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")])
    assert process.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    assert not (tmp_path / "s").exists()
    make().run(store=tmp_path / "s", progress=False, block=6)
    assert [each.name for each in tmp_path.iterdir()] == ["s"]


def test_a_store_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="needs a seed"):
        make(seed=None).run(store=tmp_path / "s", progress=False)


def finished(store):
    try:
        return int((zarr.open_group(str(store), mode="r")["status"][:] == 1).sum())
    except (OSError, KeyError, ValueError, RuntimeError):  # not there yet, or half of it
        return 0


def wait_until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


def stopped(store, how):
    """Run the slow study in a process and stop it after some blocks; return which are done, and what it said."""
    command = [sys.executable, slow_study.__file__, str(store)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: finished(store) >= 3)
    finally:
        os.kill(process.pid, how)
        said = process.communicate(timeout=300)[1]
    return zarr.open_group(str(store), mode="r")["status"][:] == 1, said


@pytest.mark.parametrize("how", slow_but([signal.SIGKILL], [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
def test_a_stopped_run_goes_on_where_it_was(whole, tmp_path, log, monkeypatch, how):
    """Killed, told to end, or interrupted: finished blocks stay, the others are computed, with the same bits."""
    store = tmp_path / "study.zarr"
    monkeypatch.setenv("SWEEP_SECONDS", "0.05")
    done, said = stopped(store, how)
    assert ("KeyboardInterrupt" in said) == (how == signal.SIGINT)
    assert 3 <= done.sum() < done.size
    monkeypatch.setenv("SWEEP_SECONDS", "0")
    monkeypatch.setattr(pacing, "_QUICK", np.inf)
    before = len(log())
    found = make().run(store=store, progress=False)
    assert_same_bits(whole, found)
    assert (found["status"] == 1).all()
    # Two repeats for each block that was not finished, and those that tell how long a repeat takes.
    assert len(log()) - before == 2 * (2 * (done.size - done.sum()) + 2 * (3 + pacing._FEW))


def test_nothing_is_written_once_an_interrupted_call_has_ended(monkeypatch):
    """Threads of Dask go on with what they have begun; the next call may be writing by then."""
    monkeypatch.setenv("SWEEP_SECONDS", "0.05")
    study = make(estimators={"mean": lambda n_bins: slow_study.slow_mean}, tests={}).study
    units = all_units(study, 2)
    late, ended = [], []

    def take(found):
        late.append(bool(ended))
        if len(late) == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        on_threads(study, [units[first::4] for first in range(4)], 2, take)
    ended.append(True)
    taken = len(late)
    time.sleep(0.5)
    assert 3 <= taken < len(units)
    assert len(late) == taken
    assert not any(late)


@pytest.mark.parametrize("what", ["compute", "open", "summarise"])
def test_threads_end_with_a_call_that_is_interrupted_while_one_of_them_starts(stored, monkeypatch, what):
    """A pool of threads does not know such a one yet; as nobody else ends it, it would keep the process alive."""
    study = make(estimators={"mean": lambda n_bins: slow_study.slow_mean}, tests={}).study
    found, start, started = read(stored), threading.Thread.start, []
    calls = {
        "compute": partial(on_threads, study, [all_units(study, 2)], 2, lambda found: None),
        "open": partial(read, stored),
        "summarise": partial(cs.summarise, found),
    }

    def interrupted(thread):
        start(thread)
        if threading.current_thread() is threading.main_thread():  # Zarr has threads that start others
            started.append(thread)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        calls[what]()
    (thread,) = started
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("where", ["memory", "store"])
@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_what_is_handed_out_is_written_without_warnings(whole, stored, tmp_path, where, suffix):
    found = whole if where == "memory" else read(stored)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (found.to_zarr if suffix == ".zarr" else found.to_netcdf)(tmp_path / f"again{suffix}")
    assert not [each.message for each in caught if "FixedLength" in str(each.message)]
    pytest.importorskip(
        "xarray", minversion="2025.8", reason="earlier ones do not read what Zarr 3.1 writes in format 3"
    )
    again = (xr.open_zarr if suffix == ".zarr" else xr.open_dataset)(tmp_path / f"again{suffix}")
    xr.testing.assert_identical(again.load(), found.load())
