"""A scheduler is lost, or never there, or all workers, or who asked: finished blocks stay, the next run goes on."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time

import dask
import pytest
from distributed import Client, LocalCluster

from sweeps.comparing import assert_same_bits
from sweeps.slow_study import make
from sweeps.test_store import finished, wait_until

pytestmark = pytest.mark.filterwarnings("default")
_CLUSTER = """
import time
from distributed import LocalCluster
how = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": ":0"}
with LocalCluster(1, threads_per_worker=2, **how) as made:
    print(made.scheduler_address, flush=True)
    time.sleep(1000)
"""
_ASKING = """
import sys
from sweeps.slow_study import make
make().run(sys.argv[1], store=sys.argv[2], progress=False, block=2)
"""


@pytest.fixture
def cluster(whole, monkeypatch):
    """Return the process of a scheduler and its worker, and its address; samples take long from now on."""
    monkeypatch.setenv("SWEEP_SECONDS", "0.1")
    command = [sys.executable, "-W", "ignore", "-c", _CLUSTER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()
        process.kill()


@pytest.fixture(scope="module")
def whole():
    return make().run("threads", progress=False)


def killed_later(process, store):
    def kill():
        wait_until(lambda: finished(store) >= 2)
        process.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    return killer


@pytest.mark.slow
def test_a_lost_scheduler_is_told_and_loses_nothing(cluster, whole, tmp_path, monkeypatch):
    process, address = cluster
    store = tmp_path / "study.zarr"
    killer = killed_later(process, store)
    with pytest.raises(ConnectionError, match="the scheduler is gone, or has cancelled the work: run the sweep again"):
        make().run(address, store=store, progress=False, block=2)
    killer.join()
    kept = finished(store)
    assert 2 <= kept < 24
    monkeypatch.setenv("SWEEP_SECONDS", "0")
    assert_same_bits(whole, make().run("threads", store=store, progress=False))


@pytest.mark.slow
def test_a_killed_client_loses_nothing_and_frees_the_workers(cluster, whole, tmp_path):
    _, address = cluster
    store = tmp_path / "study.zarr"
    with subprocess.Popen([sys.executable, "-c", _ASKING, address, str(store)]) as asking:
        killed_later(asking, store).join()
    before = finished(store)
    assert 2 <= before < 24
    found = make().run(address, store=store, progress=False)
    assert (found["status"] == 1).all()
    assert_same_bits(whole, found)


@pytest.mark.slow
def test_a_sweep_without_workers_says_so_and_goes_on_when_one_comes(whole, tmp_path, monkeypatch):
    """First no worker is there yet, later all of them are lost."""
    monkeypatch.setenv("SWEEP_SECONDS", "0.02")
    monkeypatch.setattr("calibstat.sweeps.schedule._LOOKS_FOR_WORKERS", 0.3)
    said = []
    monkeypatch.setattr("calibstat.sweeps.schedule.warn", said.append)
    store = tmp_path / "study.zarr"
    how = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=0, **how) as cluster, Client(cluster) as client:

        def bring_and_take():
            wait_until(lambda: len(said) == 1)
            cluster.scale(1)
            wait_until(lambda: finished(store) >= 2)
            cluster.scale(0)
            wait_until(lambda: len(said) == 2)
            cluster.scale(1)

        thread = threading.Thread(target=bring_and_take)
        thread.start()
        found = make().run(client, store=store, progress=False, block=1)
        thread.join()
    assert all(
        "no worker is connected to the scheduler at" in each and "Start one, or interrupt the sweep" in each
        for each in said
    )
    assert_same_bits(whole, found)


@pytest.mark.parametrize("answers", [False, True], ids=["nobody listens", "somebody who is no scheduler"])
def test_a_scheduler_that_does_not_answer_is_told_in_bounded_time(tmp_path, answers):
    with socket.socket() as place, dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        place.bind(("127.0.0.1", 0))
        if answers:
            place.listen()
        address, began = f"tcp://127.0.0.1:{place.getsockname()[1]}", time.monotonic()
        with pytest.raises(ValueError, match=r"where no scheduler answers .*: the address of a scheduler is expected"):
            make().run(address, store=tmp_path / "study.zarr", progress=False, block=2)
        assert time.monotonic() - began < 120
    assert finished(tmp_path / "study.zarr") == 0
