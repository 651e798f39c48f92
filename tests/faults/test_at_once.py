"""Two runs on one file, state or store; a clock that goes backwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

import calibstat as cs
from calibstat.cli.main import main
from faults import victims
from sweeps.comparing import assert_same_bits


@pytest.mark.parametrize("kind", victims.WRITERS)
def test_of_two_writers_the_last_one_stays_whole(tmp_path, kind):
    path = tmp_path / kind
    writers = [victims.WRITERS[kind](which, tmp_path) for which in (0, 1)]
    states = []
    for write in writers:
        write(path)
        states.append(victims.READERS[kind](path))
    both = [victims.started(victims.write_for_ever, [write], path) for write in writers]
    end, seen = time.monotonic() + 300, set()
    while seen != {0, 1} and time.monotonic() < end:
        seen.add(states.index(victims.READERS[kind](path)))
    for process in both:
        process.terminate()
        process.join()
    assert states.index(victims.READERS[kind](path)) in (0, 1)
    assert seen == {0, 1}


@pytest.mark.slow
def test_of_two_monitors_on_a_state_none_is_lost(tmp_path):
    """Whichever comes first, the other one waits for it; one of two orders is refused, as rows that came too late."""
    command = [sys.executable, "-m", "calibstat", "monitor"]
    state, finished = tmp_path / "state.npz", 0
    for which in (0, 1):
        options = victims.file_of_rows(which, tmp_path / f"rows {which}.csv")
    both = [
        subprocess.Popen(
            [*command, str(tmp_path / f"rows {which}.csv"), *options, "--order", "t", "--state", str(state)]
        )
        for which in (0, 1)
    ]
    sizes = [len(victims.rows(which).outcomes) for which in (0, 1)]
    done = [process.wait(120) for process in both]
    finished = sum(size for size, code in zip(sizes, done, strict=True) if code in (0, 3))
    assert done[1] in (0, 3)
    assert cs.Monitor.load(state).n_rows == finished


def test_who_waits_says_so(tmp_path, capsys):
    from threading import Timer

    from calibstat._files import alone

    options = victims.file_of_rows(0, tmp_path / "rows.csv")
    held = alone(tmp_path)
    held.__enter__()
    Timer(0.3, held.__exit__, (None, None, None)).start()
    state = tmp_path / "state.npz"
    assert main(["monitor", str(tmp_path / "rows.csv"), *options, "--order", "t", "--state", str(state)]) in (0, 3)
    assert f"another process keeps a state in {tmp_path}: waiting until it has ended" in capsys.readouterr().err


def test_a_clock_that_goes_backwards_changes_no_bit(tmp_path, monkeypatch):
    def written(folder):
        folder.mkdir()
        found = {}
        for kind, writer in victims.WRITERS.items():
            if "report" not in kind:
                writer(0, folder)(folder / kind)
                found[kind] = (folder / kind).read_bytes()
        cs.report(victims.rows(0), calibrators={}, rng=0).save(folder / "report.json")
        found["report"] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        found["report"].pop("created", None)
        return found, victims.slow_study.make().run("threads", progress=False)

    first, sweep = written(tmp_path / "first")
    now = [2e9]

    def backwards():
        now[0] -= 1e6
        return now[0]

    monkeypatch.setattr("time.time", backwards)
    again, other = written(tmp_path / "again")
    assert now[0] < 2e9
    assert again == first
    assert_same_bits(sweep, other)
