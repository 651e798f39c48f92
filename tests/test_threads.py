"""Work on threads: the same results in the same order, errors, and who may start threads."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import calibstat as cs
from calibstat import _threads
from calibstat._progress import listening
from calibstat._threads import in_order, threads
from calibstat.draws import streams


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(_threads._setting, "n_threads", 3)
    monkeypatch.setattr(_threads, "_NO_GAIN", np.inf)  # threads go on, however long an item takes


def test_threads_stop_where_they_gain_nothing(three, monkeypatch):
    monkeypatch.setattr(_threads, "_NO_GAIN", 0)
    names = list(in_order(lambda _: threading.current_thread().name, range(40)))
    here = [name == threading.current_thread().name for name in names]
    assert here[:2] == [True, True]
    assert not any(here[2:8])
    assert all(here[-20:])


def test_few_items_are_computed_here(three):
    assert set(in_order(lambda _: threading.current_thread().name, range(11))) == {threading.current_thread().name}


def test_results_come_in_the_order_of_their_items(three):
    waiting = threading.Barrier(3, timeout=20)  # passed by three at once alone

    def work(number):
        if number > 1:
            waiting.wait()
        return number, threading.current_thread().name

    found = list(in_order(work, range(14)))
    assert [number for number, _ in found] == list(range(14))
    assert len({name for _, name in found[2:]}) == 3


def test_no_item_is_taken_long_before_it_is_needed(three):
    taken = []
    results = in_order(lambda item: item, (taken.append(item) or item for item in range(100)))
    assert next(results) == 0
    assert len(taken) <= 12
    results.close()
    assert len(taken) <= 12


def test_an_error_comes_out_and_ends_the_work(three):
    done = []

    def work(number):
        if number == 4:
            raise ZeroDivisionError("in the middle")
        done.append(number)

    with pytest.raises(ZeroDivisionError, match="in the middle"):
        list(in_order(work, range(1000)))
    assert len(done) < 100


def test_threads_start_no_threads_and_say_nothing_of_progress(three):
    heard = []
    with listening(heard.append):
        assert set(in_order(lambda _: threads(), range(20))) == {1, 3}
        cs.calibration_test(worlds_sample(3000), cs.Kuiper(), null=cs.Consistency(99), rng=0)
    assert heard == sorted(heard)
    assert heard


def test_the_environment_says_how_many(monkeypatch):
    monkeypatch.setenv("CALIBSTAT_THREADS", "5")
    assert _threads._allowed() == 5
    monkeypatch.setenv("CALIBSTAT_THREADS", "none")
    with pytest.raises(ValueError, match="CALIBSTAT_THREADS is 'none'"):
        _threads._allowed()
    monkeypatch.delenv("CALIBSTAT_THREADS")
    assert 1 <= _threads._allowed() <= (os.cpu_count() or 1)


def worlds_sample(n, n_classes=2):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(n_classes), n)
    return cs.Sample((rng.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1), p, labels=range(n_classes))


def slope(sample):
    return float(abs(np.mean((sample.outcomes - 0.5) * sample.predictions.probabilities[:, 0])))


@pytest.mark.parametrize(
    ("estimator", "null", "n_classes"),
    [
        (cs.Kuiper(), cs.Consistency(199), 2),
        (cs.ECE(cs.EqualMass(10)), cs.Multiplier(199), 2),
        (cs.ECE(cs.EqualMass(10)), cs.Consistency(99, resample_predictions=True), 2),
        (cs.Generic(slope), cs.Consistency(99), 3),
        (cs.SKCE(), cs.Consistency(99), 3),
        (cs.ECE(cs.SimplexGrid(2)), cs.Consistency(199), 3),
    ],
    ids=repr,
)
def test_any_number_of_threads_gives_the_same_bits(estimator, null, n_classes, monkeypatch):
    monkeypatch.setattr(streams, "_DRAWS_IN_A_BLOCK", 2**14)  # many blocks
    sample, draws = worlds_sample(3001, n_classes), []
    for n_threads in (1, 4):
        cs.accelerate(False, n_threads=n_threads)
        try:
            draws.append(null.draw(estimator, sample, np.random.default_rng(0)).samples)
        finally:
            cs.accelerate(False)
    np.testing.assert_array_equal(*draws)
