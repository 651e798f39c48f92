"""A cluster of workers, in the slow suite of real processes: same bits as threads, whoever is killed."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import pytest
from distributed import Client, LocalCluster

import calibstat as cs
from calibstat.cli.main import main
from calibstat.sweeps import sweep as sweep_module
from calibstat.sweeps.store import read
from suites import slow_but
from sweeps.comparing import assert_same_bits
from sweeps.slow_study import make
from sweeps.test_command_line import STUDY
from sweeps.test_store import finished, wait_until

# What Dask and its threads warn of when processes come and go is not about sweeps.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", params=slow_but([False], [False, True]), ids=["threads", "processes"])
def client(request):
    """Two workers, by default within this process, whose start costs less."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=request.param, dashboard_address=":0")
        with cluster, Client(cluster) as found:
            yield found


@pytest.fixture(scope="module")
def whole():
    return make().run("threads", progress=False)


@pytest.mark.parametrize("block", [2, 12])
def test_workers_give_the_same_bits(whole, client, block):
    assert_same_bits(whole, make().run(client, progress=False, block=block))


@pytest.mark.parametrize("draws", ["sorted", "cells"])
def test_other_ways_to_draw_give_the_same_bits(client, draws):
    estimators = {"ECE": lambda n_bins: cs.ECE(cs.EqualMass(n_bins)), "L2": lambda b: cs.DebiasedL2(cs.EqualWidth(b))}
    sweep = make(estimators=estimators, tests={}, n_repeats=40, draws=draws)
    assert_same_bits(sweep.run("threads", progress=False), sweep.run(client, progress=False, block=7))


def test_an_address_will_do(whole, client, capsys):
    assert_same_bits(whole, make().run(client.scheduler.address, block=4))
    assert "dashboard: http" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_on_the_command_line(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY)
    stores = [tmp_path / "threads.zarr", tmp_path / "processes.zarr"]
    assert main(["sweep", str(tmp_path / "study.toml"), "--store", str(stores[0])]) == 0
    assert main(["sweep", str(tmp_path / "study.toml"), "--store", str(stores[1]), "--workers", "2"]) == 0
    assert "dashboard" in capsys.readouterr().err
    assert_same_bits(read(stores[0]), read(stores[1]))


def test_the_active_client_is_used_unless_threads_are_asked_for(client, monkeypatch):
    used = []
    monkeypatch.setattr(sweep_module, "on_cluster", lambda workers, *_: used.append(workers))
    make().run(progress=False)
    assert used == [client]
    assert (make().run("threads", progress=False)["status"] == 1).all()
    assert used == [client]
    with pytest.raises(TypeError, match="a number of processes or 'threads' is expected"):
        make().run(3.5, progress=False)
    with pytest.raises(ValueError, match="client"):
        make().run(0, progress=False)


def test_errors_on_workers_are_recorded(client):
    def broken(y_true, y_prob):
        raise OSError("no luck")

    found = make(estimators={"e": lambda n_bins: broken}, tests={}).run(client, progress=False)
    assert (found["status"] == 2).all()
    assert "no luck" in found["error"].values[0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("client", [True], indirect=True, ids=["processes"])
def test_a_killed_worker_loses_nothing(whole, client, tmp_path):
    def sleepy():
        os.environ["SWEEP_SECONDS"] = "0.2"
        return os.getpid()

    victim = next(iter(client.run(sleepy).values()))
    store, at_the_kill = tmp_path / "study.zarr", []

    def kill():
        wait_until(lambda: finished(store) >= 2)
        at_the_kill.append(finished(store))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = make().run(client, store=store, progress=False, block=2)
    killer.join()
    assert at_the_kill[0] < found["status"].size
    assert victim not in client.run(os.getpid).values()
    assert (found["status"] == 1).all()
    assert_same_bits(whole, found)
