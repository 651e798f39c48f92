"""The scheduler of a cluster is lost, or who asked it: finished blocks stay, and the next run has the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from sweeps.comparing import assert_same_bits
from sweeps.slow_study import make
from sweeps.test_store import finished, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
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
