"""Threads of Dask that end with what they compute.

Dask never ends a pool of its own: a thread that Ctrl-C has met when it started would keep the process alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import dask
import dask.threaded
from dask.base import get_scheduler
from dask.system import CPU_COUNT

_dask: Any = dask  # it has no types
T = TypeVar("T")


@contextmanager
def threads_that_end() -> Iterator[Any]:
    """Yield a pool that ends with this block, or the one of Dask's configuration, which stays."""
    given = _dask.config.get("pool", None)
    pool = given or ThreadPoolExecutor(_dask.config.get("num_workers", None) or CPU_COUNT)
    try:
        yield pool
    finally:
        if given is None:
            pool.shutdown(wait=False, cancel_futures=True)


def computed(compute: Callable[..., T]) -> T:
    """Compute where Dask is told to, by a client or its configuration; else on threads that end with this call."""
    if get_scheduler() not in (None, _dask.threaded.get):  # type: ignore[no-untyped-call]
        return compute()
    with threads_that_end() as pool:
        return compute(scheduler="threads", pool=pool)
