"""Sweeps by Dask: on the threads of this process, or on a cluster."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import lru_cache, partial
from multiprocessing import resource_tracker
from typing import Any, TypeAlias

import dask
import distributed
import numpy as np
from dask.utils import parse_timedelta
from distributed import Client

from calibstat._dask import threads_that_end
from calibstat._dataclass import dataclass
from calibstat._warn import warn
from calibstat.data.parameters import at_least_one
from calibstat.sweeps._compute import LANES, BlockValues, Estimates, compute, one_blas_thread, small_cells_ignored, work
from calibstat.sweeps._grid import Study, Unit, repeats_of

# Dask has no types.
_dask: Any = dask
_distributed: Any = distributed
# By default Dask's workers return the memory of every freed array to the system (MALLOC_TRIM_THRESHOLD_), and page
# faults then take as long as the work. With these settings they keep arrays of up to 256 MiB.
_KEEP_MEMORY = {f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 2**28 for name in ("TRIM", "MMAP")}
_PATIENCE = 30.0  # seconds to wait for tasks to be cancelled; an idle machine needs hundredths of one
_LOOKS_FOR_WORKERS = 5.0  # seconds without a finished task until, and between, looks whether any worker is there
Take: TypeAlias = Callable[[BlockValues], None]


def on_threads(study: Study, bundles: Sequence[Sequence[Unit]], block: int, take: Take) -> None:
    """Compute on threads; `take` receives each block as soon as it is finished, and none after this call ends."""
    ended = threading.Event()

    def run(bundle: Sequence[Unit]) -> None:
        for unit in bundle:
            if ended.is_set():
                return
            found = work(study, unit, block)
            if not ended.is_set():
                take(found)

    tasks = [_dask.delayed(partial(copy_context().run, run, bundle), pure=False)() for bundle in bundles]
    try:
        with threads_that_end() as pool, one_blas_thread:
            _dask.compute(*tasks, scheduler="threads", pool=pool, optimize_graph=False)
    finally:
        ended.set()


def on_cluster(client: Any, study: Study, bundles: Sequence[Sequence[Unit]], block: int, take: Take) -> None:
    """Compute on the workers of a client; the study is a task, which Dask runs again if its workers are lost."""
    shared = client.submit(_itself, study, pure=False)
    futures = {client.submit(_work_all, shared, bundle, block, pure=False): bundle for bundle in bundles}
    try:
        finished = _distributed.as_completed(list(futures))
        while futures:
            _await_one(client, finished)
            future = next(finished)
            bundle = futures.pop(future)
            for found in _results(future, bundle):
                take(found)
    finally:
        client.cancel([*futures, shared])


def _await_one(client: Any, finished: Any) -> None:
    """Wait until a task is finished; if there is no worker that could finish one, say so once, and go on waiting."""
    look, told = time.monotonic() + _LOOKS_FOR_WORKERS, False
    while not finished.has_ready():
        time.sleep(0.01)
        if told or time.monotonic() < look:
            continue
        look = time.monotonic() + _LOOKS_FOR_WORKERS
        if client.status == "running" and not client.scheduler_info()["workers"]:
            told = True
            warn(
                f"no worker is connected to the scheduler at {client.scheduler.address}: the sweep goes on when one "
                "comes. Start one, or interrupt the sweep and run it again with threads; blocks that were written to a "
                "store are not computed again"
            )


def _results(future: Any, bundle: Sequence[Unit]) -> list[BlockValues]:
    """Return the values of a task, or the error of each of its units if its worker died repeatedly."""
    if future.status == "finished":
        return future.result()
    if future.cancelled():
        raise ConnectionError(
            "the scheduler is gone, or has cancelled the work: run the sweep again where one answers, or with threads; "
            "blocks that were written to a store are not computed again"
        )
    error = future.exception()
    return [BlockValues(unit, {}, f"{type(error).__name__}: {error}") for unit in bundle]


def _itself(study: Study) -> Study:
    return study


def _work_all(study: Study, bundle: Sequence[Unit], block: int) -> list[BlockValues]:
    with one_blas_thread:
        return [work(study, unit, block) for unit in bundle]


@contextmanager
def connected(client: Client | str | int | None = None) -> Iterator[Client | None]:
    """Yield a client for a client, an address, or a number of local processes (one thread each); None for "threads".

    For None, yield the active client, or None where there is none. Only a client that was there is left open.
    """
    if isinstance(client, str) and client.isdecimal():
        client = int(client)
    if isinstance(client, int) and not isinstance(client, bool):
        n_workers = at_least_one("client", client)
        with _dask.config.set(_KEEP_MEMORY), _interrupts_held():
            local = _distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            )
        with _level_kept("distributed.nanny") as nannies, local as cluster, _distributed.Client(cluster) as own:
            own.run(_quiet_at_the_end)
            try:
                yield own
            finally:
                nannies.setLevel(logging.ERROR)  # a busy machine is slow to end a worker, which a nanny warns of
                own.run_on_scheduler(_all_forgotten)
    elif client == "threads":
        yield None
    elif isinstance(client, str):
        with _client_at(client) as own:
            yield own
    elif client is None:
        yield _active_client()
    elif isinstance(client, Client):
        yield client
    else:
        raise TypeError(
            f"client is of type {type(client).__name__}, but a Client, the address of a scheduler, a number of "
            "processes or 'threads' is expected: for example distributed.Client(cluster)"
        )


def _client_at(address: str) -> Any:
    """Connect to a scheduler; say what is expected of what is no address, or where none answers."""
    expected = "the address of a scheduler is expected, such as 'tcp://host:8786', a number of processes, or 'threads'"
    if not re.fullmatch(r"(\w+://)?\S+[:/]\d+/?", address):
        raise ValueError(f"client is {address!r}, but {expected}")
    try:
        with ThreadPoolExecutor(1) as other:  # this thread may have a loop of its own, as in a notebook
            other.submit(asyncio.run, _greeted(address)).result()
        return _distributed.Client(address)
    except (OSError, TimeoutError) as error:
        raise ValueError(f"client is {address!r}, where no scheduler answers ({error}): {expected}") from error


async def _greeted(address: str) -> None:
    """Say hello to a scheduler: a client would wait for ever where somebody listens who does not answer."""
    if not address.startswith("inproc:"):
        seconds = parse_timedelta(_dask.config.get("distributed.comm.timeouts.connect"))
        how = _distributed.security.Security().get_connection_args("client")
        try:
            comm = await asyncio.wait_for(_distributed.comm.connect(address, **how), 2 * seconds)
        except TimeoutError as error:
            raise TimeoutError(f"nobody answered in {2 * seconds:g} seconds") from error
        await comm.close()


def _active_client() -> Any:
    """Return the client that Dask would compute with; None without one, and in a task of a worker."""
    with suppress(ValueError):
        _distributed.get_worker()
        return None
    with suppress(ValueError):
        return _distributed.default_client()
    return None


@contextmanager
def _level_kept(name: str) -> Iterator[logging.Logger]:
    """Yield the logger of this name, and give it back the level that it had."""
    logger = logging.getLogger(name)
    before = logger.level
    try:
        yield logger
    finally:
        logger.setLevel(before)


def _quiet_at_the_end() -> None:
    """Silence the warning of a worker that is stopped while it computes."""
    logging.getLogger("distributed.worker.state_machine").setLevel(logging.ERROR)


async def _all_forgotten(dask_scheduler: Any) -> None:
    """Wait until the scheduler has released all cancelled tasks.

    It reports each of them to the client, and logs a traceback or a warning if the client or the workers are gone.
    """
    end = time.monotonic() + _PATIENCE
    while dask_scheduler.tasks and time.monotonic() < end:
        await asyncio.sleep(0.01)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C while worker processes start: a terminal sends it to all of them, but only this one handles it.

    Threads and processes that start here inherit the block, and so do the workers that replace lost ones.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # when it starts later, it lifts the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# The time of a repeat is measured, and work is cut into blocks and bundles of about half a second.

_SECONDS = 0.5
_ROWS_OF_THE_TRIAL = 2000
_SHORTEST = 0.25
_LONGEST = 2.0
_QUICK, _FEW = 0.05, 4
_BUNDLES = 32


@dataclass(frozen=True)
class Pace:
    """Seconds of one repeat, linear in n."""

    constant: float
    per_row: float

    def __call__(self, n: int) -> float:
        """Return the seconds of a repeat with n rows."""
        return self.constant + self.per_row * n


@lru_cache(maxsize=1)
def measure_pace(study: Study) -> Pace:
    """Time a repeat of few rows and one of more; the times affect how work is cut, never the values."""
    if study.draws == "cells":  # the time does not depend on n
        return Pace(_seconds(study, min(study.n)), 0.0)
    sizes = sorted({min(study.n), min(max(study.n), _ROWS_OF_THE_TRIAL)})
    seconds = [_seconds(study, n) for n in sizes]
    if len(sizes) == 1:
        return Pace(0.0, seconds[0] / sizes[0])
    slope = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return Pace(max(1e-4, seconds[0] - slope * sizes[0]), slope)


def _seconds(study: Study, n: int) -> float:
    """Return the seconds of a repeat, with its share in what a group takes that is evaluated at once."""
    estimates = Estimates(study.estimators, n)

    def took(repeats: range) -> float:
        start = time.perf_counter()
        with suppress(Exception), small_cells_ignored:  # the sweep itself records errors
            compute(study, study.names[0], n, repeats, estimates)
        return time.perf_counter() - start

    whole = range(estimates.lanes)
    if study.draws == "cells":
        return max(took(whole) / len(whole), 1e-6)
    took(range(1))  # fills caches
    alone = took(range(1))
    if alone > _QUICK:
        return alone
    each = max(took(range(1 + _FEW)) - alone, 0.0) / _FEW
    return max(each + (alone - each) / len(whole), 1e-6)


def repeats_in_a_block(study: Study, pace: Pace) -> int:
    """Return the number of repeats of the largest samples that take about half a second.

    They are whole groups, since part of a group is evaluated at the cost of a whole one, unless a group takes seconds.
    """
    total = sum(map(pace, study.n)) * len(study.models) * study.n_repeats
    found, longest = round(_goal(total) / pace(max(study.n))), _LONGEST / pace(max(study.n))
    groups = max(1, found // LANES) * LANES
    return int(np.clip(groups if groups <= max(found, longest) else found, 1, study.n_repeats))


def _goal(total: float) -> float:
    """Return the seconds that a task should take in a study of `total` seconds."""
    return float(np.clip(total / _BUNDLES, _SHORTEST, _SECONDS))


def bundles(study: Study, units: Sequence[Unit], block: int, pace: Pace) -> list[list[Unit]]:
    """Put units together until they take half a second, or a quarter if the study is short."""
    costs = [pace(study.n[unit.n]) * len(repeats_of(study, unit, block)) for unit in units]
    goal = _goal(sum(costs))
    found: list[list[Unit]] = []
    filled = goal
    for unit, cost in zip(units, costs, strict=True):
        if filled + cost > goal * 1.5 or filled >= goal:
            found.append([])
            filled = 0.0
        found[-1].append(unit)
        filled += cost
    return found
