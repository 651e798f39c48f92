"""What must hold in the whole process while a sweep computes: no warnings of small cells, one BLAS thread."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import threadpoolctl

from calibstat.checks import SmallCellsWarning

# It has no types.
_threadpoolctl: Any = threadpoolctl


@dataclass
class WhileAnyone:
    """Enters a context when the first thread comes, and leaves it when the last one goes.

    Parameters
    ----------
    make : callable
        Returns the context.
    """

    make: Callable[[], AbstractContextManager[Any]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    entered: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.entered = self.make()
                self.entered.__enter__()
            self.inside += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.entered is not None:
                self.entered.__exit__(None, None, None)


@contextmanager
def _no_small_cells() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellsWarning)
        yield


def _one_thread() -> AbstractContextManager[Any]:
    limits: AbstractContextManager[Any] = _threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    return limits


quiet = WhileAnyone(_no_small_cells)
"""Thousands of cells are small, and on purpose; filters of warnings belong to the process, not to the thread."""

one_blas_thread = WhileAnyone(_one_thread)
"""Products of matrices round differently for other numbers of threads, and threads of ours keep all cores busy."""
