"""Files that are either written whole or left as they were."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from calibstat._warn import warn

if sys.platform != "win32":
    import fcntl


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a place beside `path` to write to; what was written is moved to `path` at once when the ``with`` block ends.

    If the block ends by an error or Ctrl-C, `path` is as it was before, and nothing is left beside it. A file that is
    replaced keeps its mode, and of two that write at a time, the last one stays, whole. What is no file, such as
    ``/dev/stdout``, is written to directly.
    """
    if Path(path).exists() and not Path(path).is_file():
        try:
            yield Path(path)
        except OSError as error:  # a stream does not know its name
            raise OSError(error.errno, error.strerror, str(path)) from error
        return
    target = _followed(path)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    place = _new_beside(target, mode)
    try:
        yield place
        if mode is not None:
            place.chmod(mode)
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no file can be written, before the work that is to be written begins."""
    place = _followed(path)
    try:
        if place.is_dir() or not place.parent.is_dir():
            folder = str(Path(path).parent if place == Path(path).absolute() else place.parent)
            found = "is a folder" if place.is_dir() else f"lies in {folder!r}, which is no folder"
            raise ValueError(f"{str(path)!r} {found}; name a file in a folder that is there")
        if place.exists() and not place.is_file():
            os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))
        else:
            _new_beside(place, stat.S_IMODE(place.stat().st_mode) if place.exists() else None).unlink()
    except OSError as error:
        raise ValueError(f"{str(path)!r} may not be written ({error.strerror}); name another file") from error


def _followed(path: str | os.PathLike[str]) -> Path:
    """Return the place that a path leads to: of a link, the file."""
    return Path(os.path.realpath(path))


def _new_beside(target: Path, mode: int | None) -> Path:
    """Make an empty file in the folder of `target`, under a name that nobody else has, or ever had.

    Unlike one of `tempfile`, a new file is as readable as the user's other new files are.
    """
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    place = target.with_name(f".calibstat-{secrets.token_hex(8)}{target.suffix}")
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode | stat.S_IWUSR))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    return place


@contextmanager
def alone(folder: Path, notice: str = "") -> Iterator[None]:
    """Let one process at a time into the ``with`` block; who must wait for another one gives `notice` as a warning.

    The system lets go of the folder if the process is killed. On Windows, and where the file system has no locks, all
    are let in.
    """
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            _lock(handle, notice)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, notice: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if notice:
            warn(notice)
        fcntl.flock(handle, fcntl.LOCK_EX)


# Ctrl-C, also where a library takes it for an error of its own.


class Interrupts:
    """Takes note of whether Ctrl-C `came` inside a ``with`` block, which raises KeyboardInterrupt as ever.

    A parser written in C, for one, calls a file damaged when reading it is interrupted. Handlers of others are left
    alone, and so are threads, to which no signal comes.
    """

    def __init__(self) -> None:
        self.came = False
        self.before: Any = None

    def __enter__(self) -> Interrupts:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *raised: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)
