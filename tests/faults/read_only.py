"""Run on a disk of its own, which becomes read-only: python -m faults.read_only FOLDER; see `test_full_disk`."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from calibstat.cli.main import main
from calibstat.sweeps.store import read
from faults import victims
from sweeps.comparing import assert_same_bits

REASON = "Read-only file system"


def refused(write):
    """Write; return why that is refused."""
    try:
        write()
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files, by name."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


if __name__ == "__main__":
    disk = Path(sys.argv[1])
    for kind, writer in victims.WRITERS.items():
        writer(0, disk)(disk / kind)
    whole = victims.slow_study.make().run("threads", store=disk / "study", progress=False, block=6).load()
    writing = {kind: partial(writer(1, disk), disk / kind) for kind, writer in victims.WRITERS.items()}
    states = {kind: victims.READERS[kind](disk / kind) for kind in victims.WRITERS}
    before = everything(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    for kind, write in writing.items():
        assert REASON in (said := refused(write)), f"{kind}: {said}"
        assert kind in said
        assert victims.READERS[kind](disk / kind) == states[kind]
    assert_same_bits(whole, read(disk / "study").load())
    assert_same_bits(whole, victims.slow_study.make().run("threads", store=disk / "study", progress=False).load())
    assert REASON in refused(lambda: victims.slow_study.make().run("threads", store=disk / "new", progress=False))
    assert main(["report", str(disk / "report.json"), "-o", str(disk / "page.html")]) == 2
    assert everything(disk) == before
    print("all refused")
