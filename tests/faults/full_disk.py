"""Run on a disk of its own (a small tmpfs): python -m faults.full_disk FOLDER; see `test_full_disk`.

Each kind of file, and a sweep, is written where some room is left, from none to more than enough.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from faults import victims
from sweeps.comparing import assert_same_bits

PAGE = 4096


def refused_for_room(write: Callable[[], object]) -> bool:
    """Write; whether there was no room for it, and nothing else was wrong."""
    try:
        write()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return True
    return False


def leave(room: int, filler: Path) -> None:
    """Fill the disk but for so many bytes."""
    with filler.open("wb", buffering=0) as file:
        while not refused_for_room(partial(file.write, bytes(PAGE))):
            pass
        file.truncate(max(0, file.tell() - room))


def files(folder: Path) -> int:
    """Write the second state over the first one; return how often there was no room for it."""
    refused = 0
    for kind, writer in victims.WRITERS.items():
        path, filler = folder / kind, folder / "filler"
        write_first, write_second = (writer(which, folder) for which in (0, 1))
        write_first(path)
        before, names = path.read_bytes(), sorted(each.name for each in folder.iterdir())
        for pages in sorted({0, 1, len(before) // PAGE // 2, len(before) // PAGE + 60}):
            leave(pages * PAGE, filler)
            if refused_for_room(partial(write_second, path)):
                assert path.read_bytes() == before
                refused += 1
            else:
                assert pages * PAGE > len(before) / 2, f"{kind} was written into {pages} pages"
            filler.unlink()
            assert sorted(each.name for each in folder.iterdir()) == names
    return refused


def sweeps(folder: Path) -> int:
    """Run a sweep into what room is left, then make room and continue; return how often it was stopped."""
    whole = victims.slow_study.make().run("threads", progress=False)
    stopped = 0
    for pages in (0, 20, 90, 120, 150, 200):
        store, filler = folder / f"study {pages}", folder / "filler"
        leave(pages * PAGE, filler)
        into = partial(victims.slow_study.make().run, "threads", store=store, progress=False, block=1)
        stopped += refused_for_room(into)
        filler.unlink()
        found = into()
        assert_same_bits(whole, found)
        assert (found["status"] == 1).all()
        assert sorted(each.name for each in folder.iterdir() if "study" in each.name) == [store.name]
        found.close()
        victims.removed(store)
    return stopped


if __name__ == "__main__":
    disk = Path(sys.argv[1])
    print(files(disk), sweeps(disk))
