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


def expect_file(path: str | Path) -> None:
    """Raise a FileNotFoundError in words where there is no file to read."""
    if not Path(path).exists():
        raise FileNotFoundError(f"cannot read {path}: there is no such file")


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a place beside `path` to write to; what was written is moved to `path` at once when the ``with`` block ends.

    If the block ends by an error or Ctrl-C, `path` is as it was before, and nothing is left beside it; what a process
    leaves that is killed is taken away by the next one that writes into the folder. A file that is replaced keeps its
    mode, and of two that write at a time, the last one stays, whole. What is no file, such as ``/dev/stdout``, is
    written to directly.
    """
    if Path(path).exists() and not Path(path).is_file():
        try:
            yield Path(path)
        except OSError as error:  # a stream does not know its name
            raise OSError(error.errno, error.strerror, str(path)) from error
        return
    target = _followed(path)
    mode = _mode_of(target)
    with _new_beside(target, mode) as place:
        _clear_what_was_left(target.parent)
        yield place
        if mode is not None:
            place.chmod(mode)
        place.replace(target)


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
            with _new_beside(place, _mode_of(place)):
                pass
    except OSError as error:
        raise ValueError(f"{str(path)!r} may not be written ({error.strerror}); name another file") from error


def _mode_of(place: Path) -> int | None:
    """Return the mode of a file, None where there is none; a name that no file can have is an OSError."""
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):  # a link in a circle is replaced
            return None
        raise


def _followed(path: str | os.PathLike[str]) -> Path:
    """Return the place that a path leads to: of a link, the file."""
    return Path(os.path.realpath(path))


@contextmanager
def _new_beside(target: Path, mode: int | None) -> Iterator[Path]:
    """Make an empty file in the folder of `target`, under a name that nobody else has, or ever had; remove it later.

    It is locked while it is used, so that another process can tell that nobody has left it. Unlike one of `tempfile`,
    a new file is as readable as the user's other new files are.
    """
    if mode is not None:
        with suppress(FileNotFoundError):  # removed meanwhile
            os.close(os.open(target, os.O_WRONLY))  # raises the reason why it may not be written
    allowed = 0o666 if mode is None else mode | stat.S_IWUSR
    place, handle = None, -1
    try:
        while handle < 0:
            place = target.with_name(f"{_UNFINISHED}{secrets.token_hex(8)}{target.suffix}")
            try:  # Ctrl-C may come as soon as the file is there, before its number is known
                handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, allowed)
            except OSError as error:
                place = None
                raise OSError(error.errno, error.strerror, str(target)) from None
            if sys.platform == "win32":  # where a file that is open can be neither moved nor removed
                os.close(handle)
            elif not _locked(handle):
                handle, lost = -1, handle
                os.close(lost)
        assert place is not None
        yield place
    finally:
        if place is not None:
            place.unlink(missing_ok=True)
        if handle >= 0 and sys.platform != "win32":
            os.close(handle)


_UNFINISHED = ".calibstat-"


def _locked(handle: int) -> bool:
    """Lock a new file; False if another process was faster, and has taken it away as one that was left."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return bool(os.fstat(handle).st_nlink)


def _clear_what_was_left(folder: Path) -> None:
    """Remove unfinished files of processes that were killed: those that are not locked."""
    if sys.platform == "win32":
        return
    for place in folder.glob(f"{_UNFINISHED}{'[0-9a-f]' * 16}*"):
        with suppress(OSError):
            handle = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place.unlink()
            finally:
                os.close(handle)


@contextmanager
def unchanged(path: str | Path) -> Iterator[None]:
    """Refuse a file that is read more than once in the ``with`` block, and that is another one at its end."""

    def seen() -> tuple[int, ...]:
        found = Path(path).stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    before = seen() if Path(path).exists() else ()
    yield
    if before != seen():
        raise ValueError(f"{path} was changed while it was read: try again when it stays as it is")


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


# Ctrl-C, also where a library takes it for an error of its own, and SIGTERM.


class Interrupts:
    """Takes note of which signal `came` inside a ``with`` block: Ctrl-C, which raises KeyboardInterrupt as ever.

    A parser written in C, for one, calls a file damaged when reading it is interrupted. A program that has `more` of
    them, such as SIGTERM, is interrupted by these too, so that it takes its unfinished files away; a second one ends
    it at once. Handlers of others are left alone, and so are threads, to which no signal comes.
    """

    def __init__(self, *more: signal.Signals) -> None:
        self.came = 0
        self.usual = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(more, signal.SIG_DFL)}
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number, usual in self.usual.items():
                if signal.getsignal(number) is usual:
                    self.before[number] = usual  # known before the first one can come
                    signal.signal(number, self._take)
        return self

    def __exit__(self, *raised: object) -> None:
        self.no_more()

    def no_more(self) -> None:
        """Give signals back to those who heard them before; again, if this was interrupted itself."""
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: FrameType | None) -> None:
        self.came = number
        signal.signal(number, self.before[number])
        raise KeyboardInterrupt
