"""Processes are killed at random moments: what was finished stays, and what is computed again has the same bits."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from faults import victims
from suites import slow_but
from sweeps.comparing import assert_same_bits

KILLED, TOLD, INTERRUPTED = signal.SIGKILL, signal.SIGTERM, signal.SIGINT


def ended_at_random(rng, how, seconds, *task):
    """Run a task, and end it after a random time, below so many seconds; whether it was still at work."""
    process = victims.started(*task)
    process.join(float(rng.uniform(0, seconds)))
    if process.is_alive():
        os.kill(process.pid, how[int(rng.integers(len(how)))])
    process.join(60)
    assert process.exitcode is not None, "it does not end"
    return process.exitcode != 0


@pytest.mark.parametrize("n_kills", slow_but([3], [3, 200]))
def test_a_sweep_that_is_killed_again_and_again_has_the_same_bits(tmp_path, n_kills):
    """Most runs are killed several times before their sweep is finished; another one begins then."""
    whole = victims.slow_study.make().run(progress=False)
    rng = np.random.default_rng(20261124)
    began = time.perf_counter()
    victims.sweep(tmp_path / "first", 2)
    seconds = time.perf_counter() - began
    kills, studies = 0, 0
    while kills < n_kills:
        store = tmp_path / f"study {studies}"
        for _ in range(6):
            kills += ended_at_random(rng, (KILLED, TOLD, INTERRUPTED), seconds, victims.sweep, store, 2)
        found = victims.slow_study.make().run(store=store, progress=False)
        assert_same_bits(whole, found)
        assert (found["status"] == 1).all()
        studies += 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["first", *sorted(f"study {k}" for k in range(studies))]


@pytest.mark.parametrize(
    ("kind", "n_kills"),
    slow_but(
        lambda case: case[1] == 2, [(kind, n) for kind in victims.WRITERS for n in (2, 20 if "report" in kind else 50)]
    ),
)
def test_a_file_whose_writer_is_killed_is_whole(tmp_path, kind, n_kills):
    """It is one of the two states that are written in turns, never a half of one, nor none once there was one."""
    rng = np.random.default_rng(20261124)
    path = tmp_path / kind
    writers = [victims.WRITERS[kind](which, tmp_path) for which in (0, 1)]
    states = []
    for write in writers:
        write(path)
        states.append(victims.READERS[kind](path))
    began = time.perf_counter()
    for write in writers:  # again, when all that is made once is there
        write(path)
    seconds = 3 * (time.perf_counter() - began)
    assert states[0] != states[1]
    seen = set()
    for k in range(n_kills):
        in_turns = writers if k % 2 else writers[::-1]
        assert ended_at_random(rng, (KILLED, TOLD, INTERRUPTED), seconds, victims.write_for_ever, in_turns, path)
        seen.add(states.index(victims.READERS[kind](path)))
    assert seen == {0, 1} or n_kills < 10
    writers[0](path)
    assert victims.READERS[kind](path) == states[0]
    assert [each.name for each in tmp_path.iterdir()] == [kind], "what the killed have left is still there"
