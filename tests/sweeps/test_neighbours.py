"""A repeat has the same bits whatever is computed beside it, on a machine that is busy too."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.tally import Tally
from calibstat.generators import GaussianMixture
from calibstat.sweeps.sweep import Sweep
from suites import slow_but
from sweeps.comparing import assert_same_bits

N, BINS, REPEATS = 500, (3, 10, 20), 110
KINDS = (cs.ECE, cs.SquaredCE, cs.RMSCE, cs.DebiasedCE, cs.DebiasedL2)


def make(draws):
    swept = {
        f"{kind.__name__} {cut.__name__}": lambda b, kind=kind, cut=cut: kind(cut(b))
        for kind in KINDS
        for cut in (cs.EqualMass, cs.EqualWidth)
    }
    return Sweep(GaussianMixture(1, 1), n=[N], n_bins=BINS, estimators=swept, n_repeats=REPEATS, rng=5, draws=draws)


@contextmanager
def busy():
    """Keep one core busy, and the interpreter too."""
    done = Event()

    def work():
        numbers = np.arange(1e4)
        while not done.is_set():
            np.sort(numbers[::-1]).sum()
            sum(range(1000))

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("draws", slow_but(["sorted"], ["rows", "sorted", "cells"]))
def test_bits_do_not_depend_on_empty_and_full_neighbours(draws):
    """Of the groups that are evaluated together some have empty cells, others have none, and blocks mix them anew."""
    sweep = make(draws)
    whole = sweep.run(progress=False, block=REPEATS)
    assert np.isfinite(whole["estimate"]).all()
    with busy():
        for block in (1, 7, 100):
            assert_same_bits(whole, sweep.run(progress=False, block=block))
        assert_same_bits(whole, sweep.run(progress=False))  # whatever the measured pace makes of it


@pytest.mark.parametrize("draws", ["rows", "sorted"])
def test_some_blocks_have_empty_cells_and_others_have_none(draws):
    """What makes the test above one: both occur at ten cells in blocks of 7, and in single repeats at 20."""
    study = make(draws).study
    scores = [study.draw(study.names[0], N, repeat).sample.predictions for repeat in range(REPEATS)]
    for bins, block in ((10, 7), (20, 1)):
        full = np.array(
            [(np.bincount(cs.EqualWidth(bins).cut(each).index, minlength=bins) > 0).all() for each in scores]
        )
        blocks = [full[start : start + block].all() for start in range(0, REPEATS, block)]
        assert 0 < sum(blocks) < len(blocks)


@pytest.mark.parametrize("name", ["share", "mean_prediction", "mean_outcome", "residual"])
@pytest.mark.parametrize("empty", [False, True])
def test_tallies_lie_in_memory_row_by_row(name, empty):
    """However the sums lay that they are made from: numpy adds up scattered numbers in another order."""
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 9, (7, 5)).astype(float)
    weight[3, 2] *= not empty
    sums = weight, *(rng.random((7, 5, 3)) * weight[..., None] for _ in range(2))
    straight = Tally(*sums)
    turned = Tally(*(np.asfortranarray(each) for each in sums))
    assert getattr(turned, name).flags.c_contiguous
    assert np.array_equal(getattr(turned, name), getattr(straight, name))
