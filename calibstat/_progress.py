"""Progress of long work, told to a listener: commands set one, and Python shows a bar on a terminal.

Where standard error is no terminal, a command says in one line how long it takes, and Python nothing. The environment
variable ``CALIBSTAT_PROGRESS=off`` turns that, and bars in Python, off. Loops inside a loop fill its share of the
whole. A listener belongs to the thread that set it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")
Rows = TypeVar("Rows", bound=Sized)
Listener = Callable[[float], None]
Counter = Callable[[int], None]
_listener: ContextVar[Listener | None] = ContextVar("calibstat_progress", default=None)
_counter: ContextVar[Counter | None] = ContextVar("calibstat_rows_so_far", default=None)


@contextmanager
def listening(listener: Listener, counter: Counter | None = None) -> Iterator[None]:
    """Have `listener` called with the fraction done (0 to 1) of what runs inside the ``with`` block.

    Where several loops follow each other, each may begin again at 0. What the listener raises stops the work. The
    `counter` is told the rows so far where nobody knows how many there will be.
    """
    before = _listener.get(), _counter.get()
    _listener.set(listener)
    _counter.set(counter)
    try:
        yield
    finally:
        _listener.set(before[0])
        _counter.set(before[1])


def silent(work: Callable[[Item], T], item: Item) -> T:
    """Return ``work(item)`` without a word to the listener, for one piece among several that run side by side."""
    _listener.set(_nobody)
    return work(item)


def _nobody(fraction: float) -> None:
    """Hear nothing, so that no loop inside shows a bar of its own."""


def listener_of_this_thread() -> Listener | None:
    """Return who listens, for work that goes on in other threads."""
    return _listener.get()


@contextmanager
def part(begin: float, end: float) -> Iterator[None]:
    """Have what runs inside the ``with`` block fill the stretch from `begin` to `end`, fractions of the whole.

    Where several loops follow each other in it, those after the first say nothing new until they are further.
    """
    before = _listener.get()
    if before is None:
        yield
        return
    before(begin)
    furthest = 0.0

    def tell(fraction: float) -> None:
        nonlocal furthest
        furthest = max(furthest, fraction)
        before(begin + furthest * (end - begin))

    _listener.set(tell)
    try:
        yield
    finally:
        if _listener.get() is tell:  # not where a loop that was left ends long afterwards
            _listener.set(before)


def track(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the `total` items and report progress to the listener; inner loops fill the share of their item.

    Where nobody listens, a bar is shown on a terminal, and nothing elsewhere.
    """
    if _listener.get() is None:
        with bar_on_terminal():
            yield from items if _listener.get() is None else track(items, total)
        return
    for done, item in enumerate(items):
        with part(done / max(total, 1), (done + 1) / max(total, 1)):
            yield item


def track_rows(parts: Iterable[Rows]) -> Iterator[Rows]:
    """Yield parts of a table of which nobody knows how many there are, and tell how many rows came so far."""
    with bar_on_terminal():
        rows = 0
        for each in parts:
            rows += len(each)
            counter = _counter.get()
            if counter is not None:
                counter(rows)
            yield each


@contextmanager
def bar_on_terminal() -> Iterator[None]:
    """Show one bar for what runs inside the ``with`` block, where nobody listens yet."""
    if _listener.get() is None and _somebody_waits():
        with TerminalBar("calibstat", patience=PATIENCE) as bar, listening(bar.hear, bar.count):
            yield
    else:
        yield


def one_bar(work: Callable[P, T]) -> Callable[P, T]:
    """Have all loops of a function share one bar, which is shown if they take long together."""

    @wraps(work)
    def with_bar(*arguments: P.args, **named: P.kwargs) -> T:
        with bar_on_terminal():
            return work(*arguments, **named)

    return with_bar


def tell(fraction: float) -> None:
    """Tell whoever listens which fraction is done, for work that is no loop."""
    listener = _listener.get()
    if listener is not None:
        listener(fraction)


def _wanted() -> bool:
    """Whether progress is not turned off."""
    return os.environ.get("CALIBSTAT_PROGRESS", "") != "off"


def _somebody_waits() -> bool:
    """Whether somebody at a terminal may wait for what this thread does; others, and other processes, work for it."""
    if not _wanted() or sys.stderr is None or not sys.stderr.isatty():
        return False
    processes = sys.modules.get("multiprocessing")  # a process that another one started has it
    started = processes is not None and processes.parent_process() is not None
    return threading.current_thread() is threading.main_thread() and not started


# One line on a terminal, drawn by tqdm while work goes on.

PATIENCE = 2.0  # seconds
REDRAW = 0.2
LEFT = ", about {remaining} left"
UNCOUNTED = "{desc}: {elapsed}{postfix}"
EARLY = 0.25  # of the patience, after which the share that is done tells how long the whole will take
LONG = 10.0  # seconds: work that takes longer is announced where there is no terminal
_TOLD = 0.05  # once this share is done, it tells how long the whole takes


class TerminalBar:
    """A bar that a thread of its own draws again and again inside a ``with`` block.

    Where there is no terminal it is silent or, if it `announces`, says once how long the work takes, of more than ten
    seconds.

    So its seconds go on even where the work says nothing for a while. Change `done`, `total` (None while it is not
    known) and `note` at any time. It is first drawn after `patience` seconds, as shorter work has none, or before, once
    the share that is done says that the whole will take longer. It `stays` or goes when the block has ended well;
    `layout` is as tqdm's ``bar_format``; the stream is by default standard error.
    """

    def __init__(
        self,
        doing: str,
        total: float | None = 1.0,
        *,
        patience: float,
        stays: bool = False,
        visible: bool = True,
        announces: bool = False,
        stream: TextIO | None = None,
        layout: str = "{desc}: {percentage:3.0f}%|{bar:30}| {elapsed}" + LEFT + "{postfix}",
    ) -> None:
        self.doing, self.layout = doing, layout
        self.done: float = 0
        self.total, self.note = total, ""
        self.patience, self.stays, self.visible, self.announces = patience, stays, visible, announces
        self.stream = sys.stderr if stream is None else stream
        self._started = 0.0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> TerminalBar:
        work = None
        if self.visible and self.stream is not None:
            work = self._draw if self.stream.isatty() else self._announce if self.announces and _wanted() else None
        if work is not None:
            self._started = time.monotonic()
            self._thread = threading.Thread(target=work, name="calibstat progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, raised: object, *rest: object) -> None:
        self.stays = self.stays and raised is None
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def say(self, line: str) -> None:
        """Print a line of its own, above the one that is drawn."""
        if self._thread is not None:
            from tqdm import tqdm

            tqdm.write(line, file=self.stream)
        elif self.visible:
            print(line, file=self.stream, flush=True)

    def hear(self, fraction: float) -> None:
        """Note the share of the work that is done; a step back by half or more is the beginning of the next loop."""
        if fraction > self.done or fraction < self.done / 2:
            self.done = fraction

    def count(self, rows: int) -> None:
        """Show the rows so far in place of a share, which nobody knows."""
        self.total, self.note = None, f"{rows:,} rows so far"

    def _due(self) -> bool:
        """Whether the work takes longer than the patience lasts, or will by what is done so far."""
        passed = time.monotonic() - self._started
        return passed >= self.patience or (passed >= EARLY * self.patience and self._foreseen() > self.patience)

    def _foreseen(self) -> float:
        """Return how many seconds the work takes in all by what is done so far; zero while nothing tells."""
        return (time.monotonic() - self._started) * self.total / self.done if self.total and self.done else 0.0

    def _announce(self) -> None:
        """Print one line, where nobody sees a bar, as soon as it is known that the work takes long."""
        while not self._ended.wait(min(REDRAW, self.patience)):
            passed = time.monotonic() - self._started
            told = passed >= self.patience and self.done >= _TOLD * (self.total or 1)
            seconds = self._foreseen() if told or passed >= LONG else 0.0
            if max(seconds, passed) >= LONG:
                takes = f"about {_in_words(seconds)}" if seconds > passed else f"more than {_in_words(passed)}"
                print(f"calibstat: {self.doing} takes {takes}", file=self.stream, flush=True)
                return

    def _draw(self) -> None:
        while not self._due():
            if self._ended.wait(min(REDRAW, self.patience)):
                return
        from tqdm import tqdm

        size = {} if _knows_its_size(self.stream) else {"ncols": 80, "nrows": 20}
        bar = tqdm(desc=self.doing, total=self.total, file=self.stream, bar_format=self._form(), **size)
        bar.start_t -= time.monotonic() - self._started
        while not self._ended.wait(REDRAW):
            self._refresh(bar)
        self._refresh(bar)
        bar.leave = self.stays
        bar.close()

    def _refresh(self, bar: Any) -> None:
        bar.n, bar.total, bar.postfix = self.done, self.total, self.note
        bar.bar_format = self._form()
        bar.refresh()

    def _form(self) -> str:
        """Return the layout, without an estimate while nothing tells how long the work takes."""
        if self.total is None:
            return UNCOUNTED
        return self.layout if self.done else self.layout.replace(LEFT, "")


def _in_words(seconds: float) -> str:
    """Write a time as one remembers it.

    >>> _in_words(27), _in_words(95), _in_words(7300)
    ('30 s', '2 min', '2 h')
    """
    if seconds < 90:
        return f"{float(f'{seconds:.1g}'):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _knows_its_size(stream: TextIO) -> bool:
    """Whether a terminal says how wide it is: tqdm draws nothing on one of no columns."""
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError):  # no terminal of the system: tqdm decides
        return True
