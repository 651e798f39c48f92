"""What a sweep saves over a loop, what it costs over plain calls, and what it gains from two cores.

Ratios of processor times, but for those about two cores, which are ratios of times on the clock and need two cores that
are free.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import fresh_process, interleaved
from calibstat.generators import BetaPredictions, GaussianMixture
from calibstat.sweeps._compute import work
from calibstat.sweeps._grid import all_units
from calibstat.sweeps.schedule import bundles, connected, measure_pace, on_threads, repeats_in_a_block
from calibstat.sweeps.store import in_zarr
from calibstat.sweeps.sweep import Sweep

MODEL = GaussianMixture(0, -2)
SIZES = [100, 200, 500, 1000, 3000, 6000, 12_000, 30_000]
BINS = [2, 5, 10, 15, 20, 30, 50, 100]
ESTIMATORS = {
    "ECE, equal width": lambda n_bins: cs.ECE(cs.EqualWidth(n_bins)),
    "ECE, equal mass": lambda n_bins: cs.ECE(cs.EqualMass(n_bins)),
    "debiased, equal width": lambda n_bins: cs.DebiasedCE(cs.EqualWidth(n_bins)),
    "debiased, equal mass": lambda n_bins: cs.DebiasedCE(cs.EqualMass(n_bins)),
}
REPEATS, REPEATS_OF_THE_LOOP = 200, 10


def study(repeats=REPEATS, sizes=SIZES, draws="rows", model=MODEL):
    return Sweep(model, n=sizes, n_bins=BINS, estimators=ESTIMATORS, n_repeats=repeats, rng=0, draws=draws)


def errors(borders, predicted, happened):
    """ECE and the debiased squared error of cells between borders, from sums over the rows below each rank."""
    size, events = np.diff(borders), np.diff(happened[borders])
    sums = events - np.diff(predicted[borders])
    several = size > 1
    size, mean, gap = size[several], events[several] / size[several], sums[several]
    return np.abs(sums).sum() / borders[-1], (gap**2 / size - size * mean * (1 - mean) / (size - 1)).sum() / borders[-1]


def mixture(n, rng):
    """Draw from `GaussianMixture(0, -2)`."""
    y = rng.random(n) < 0.5
    return 1 / (1 + np.exp(-2 * (rng.standard_normal(n) + np.where(y, 1.0, -1.0)))), y


def beta(n, rng):
    """Draw from `BetaPredictions(0.7, 0.7)`."""
    p = rng.beta(0.7, 0.7, n)
    return p, rng.random(n) < p


WORLDS = {"normal": (MODEL, mixture), "beta": (BetaPredictions(0.7, 0.7), beta)}


def loop(draw, repeats):
    """Plain numpy: a sample for each n and repeat, sorted once, serves all numbers of bins."""
    for n in SIZES:
        for seed in range(repeats):
            p, y = draw(n, np.random.default_rng(seed))
            order = np.argsort(p)
            p, y = p[order], y[order]
            predicted, happened = (np.concatenate([[0], np.cumsum(each)]) for each in (p, y))
            for n_bins in BINS:
                for inner in (np.searchsorted(p, np.arange(1, n_bins) / n_bins), np.arange(1, n_bins) * n // n_bins):
                    errors(np.concatenate([[0], inner, [n]]), predicted, happened)


def serial(sweep):
    """The same blocks, without Dask."""
    block = repeats_in_a_block(sweep.study, measure_pace(sweep.study))
    return [work(sweep.study, unit, block) for unit in all_units(sweep.study, block)]


def seconds(function, *arguments, clock=time.process_time):
    start = clock()
    function(*arguments)
    return clock() - start


@pytest.fixture(scope="module")
def looped():
    """Processor seconds of the plain loop in each world, scaled to all repeats."""
    share = REPEATS / REPEATS_OF_THE_LOOP
    return {
        name: share * min(seconds(loop, draw, REPEATS_OF_THE_LOOP) for _ in range(3))
        for name, (_, draw) in WORLDS.items()
    }


# The goals were 6 and 20. Random numbers alone would take a third and three fifths of that time for normal predictions,
# before a row is looked up and added up, or one of 51 200 estimates is evaluated.
GOALS = {
    "rows": ({"normal": 2, "beta": 2}, ""),
    "sorted": ({"normal": 3.5, "beta": 5}, "random numbers alone: 0.066 s"),
    "cells": ({"normal": 9, "beta": 12}, "random numbers alone: 0.038 s"),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("draws", GOALS)
def test_a_sweep_against_a_plain_loop(ratios, looped, draws, world):
    """On one thread; with the making of the sweep, of its tables and of the truths. The least of three."""
    model, (goals, note) = WORLDS[world][0], GOALS[draws]
    study(2, [100], draws, model).run(progress=False)
    with dask.config.set(num_workers=1):
        swept = min([seconds(lambda: study(draws=draws, model=model).run(progress=False)) for _ in range(3)])
    name = f"sweep ({draws}), {world} predictions, 8 n x 8 bins x 4 estimators x 200; sorted numpy loop"
    ratios.record(name, swept, looped[world], goals[world], "s", at_least=True, note=note)


def test_sums_over_cells_cost_the_same_whatever_n_is(ratios):
    small, large = study(sizes=[1000], draws="cells"), study(sizes=[10_000_000], draws="cells")
    ran, plain = interleaved([lambda: serial(large), lambda: serial(small)], rounds=3)
    ratios.record("sums over cells, n = 10 000 000 and n = 1000", ran, plain, 1.5, "s")


def test_overhead_of_scheduling_against_a_serial_run(ratios, tmp_path):
    """Blocks of the default size, computed by Dask on one thread and written into a store; the same blocks alone.

    One thread: what several lose to each other is not the cost of scheduling.
    """
    grid = study(4 * REPEATS).study
    pace = measure_pace(grid)
    block = repeats_in_a_block(grid, pace)
    units = all_units(grid, block)
    tasks = bundles(grid, units, block, pace)
    with dask.config.set(num_workers=1), in_zarr(grid, tmp_path / "study.zarr", lambda: block) as store:
        ran, plain = interleaved(
            [
                lambda: on_threads(grid, tasks, block, store.write),
                lambda: [work(grid, unit, block) for unit in units],
            ],
            rounds=3,
        )
    ratios.record("sweep on threads into a store, the same blocks without Dask", ran, plain, 1.10, "s")


def test_memory_is_bounded_by_blocks(ratios, tmp_path):
    """Ten times as many repeats (72 MB more of results) must not need half of that more memory."""
    small, large = (int(fresh_process(code_of_a_long_study(tmp_path, repeats))) / 1024 for repeats in (2000, 20_000))
    ratios.record("memory of 80 MB of results in a store over 8 MB", large - small, 72, 0.5, "MB")


def code_of_a_long_study(folder, repeats):
    return f"""
from pathlib import Path
import calibstat as cs
from calibstat.generators import BetaPredictions, GaussianMixture
from calibstat.sweeps.sweep import Sweep
sweep = Sweep(GaussianMixture(0, -2), n=[10], n_bins=range(1, 501), estimators={{"e": cs.ECE(cs.EqualWidth(2))}},
              n_repeats={repeats}, rng=0)
sweep.run(store={str(folder / f"{repeats}.zarr")!r}, progress=False, block=250)
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


LARGE = [20_000, 100_000, 300_000]


def lasting(wanted):
    """A study of large samples that takes about so many seconds on one core."""
    pace = measure_pace(study(8, LARGE).study)
    return study(max(8, round(wanted / sum(pace(n) for n in LARGE))), LARGE)


def need_two_free_cores():
    """Skip unless NumPy alone, sorting on two threads, shows that two cores are free."""
    values = np.random.default_rng(0).random(1_000_000)

    def sort(n_threads):
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda _: np.argsort(values, kind="stable"), range(8)))

    gain = seconds(sort, 1, clock=time.perf_counter) / seconds(sort, 2, clock=time.perf_counter)
    if gain < 1.75:
        pytest.skip(f"two cores are not free: sorting gains {gain:.2f} from two threads")


def test_threads_on_two_cores(ratios):
    """Taken in turns, three times, the least of each."""
    need_two_free_cores()
    sweep = lasting(5)
    plain, ran = [], []
    for _ in range(3):
        plain.append(seconds(serial, sweep, clock=time.perf_counter))
        with dask.config.set(num_workers=2):
            ran.append(seconds(lambda: sweep.run(progress=False), clock=time.perf_counter))
    ratios.record("sweep of large samples on threads, one core", min(ran), min(plain), 1.8, "s", at_least=True)


def test_two_processes_on_two_cores(ratios):
    need_two_free_cores()
    sweep = lasting(60)
    plain = seconds(serial, sweep, clock=time.perf_counter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with connected(2) as client:
            ran = seconds(lambda: sweep.run(client, progress=False), clock=time.perf_counter)
    ratios.record("a minute's sweep in two processes, one core", ran, plain, 1.6, "s", at_least=True)
