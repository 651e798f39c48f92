"""What Dask computes for us is computed where the user has told it to; else on threads that end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import dask
import pytest

from calibstat._dask import computed


def its_thread():
    return threading.current_thread()


def where_computed():
    (found,) = computed(partial(dask.compute, dask.delayed(its_thread, pure=False)()))
    return found


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_threads_end_with_the_call(scheduler):
    with dask.config.set(scheduler=scheduler):
        thread = where_computed()
    assert thread is not threading.current_thread()
    thread.join(60)
    assert not thread.is_alive()


def test_a_scheduler_of_the_configuration_computes():
    with dask.config.set(scheduler="synchronous"):
        assert where_computed() is threading.current_thread()


def test_a_pool_of_the_configuration_computes_and_stays():
    with ThreadPoolExecutor(1, "theirs") as pool, dask.config.set(pool=pool):
        assert where_computed().name.startswith("theirs")
        assert where_computed().is_alive()


def test_threads_are_as_many_as_configured():
    meeting = threading.Barrier(3)
    tasks = [dask.delayed(meeting.wait, pure=False)(60) for _ in range(3)]
    with dask.config.set(num_workers=3):
        assert sorted(computed(partial(dask.compute, *tasks))) == [0, 1, 2]
    with dask.config.set(num_workers=1):
        names = computed(partial(dask.compute, *(dask.delayed(its_thread, pure=False)() for _ in range(4))))
    assert len(set(names)) == 1


def test_what_a_task_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        computed(partial(dask.compute, dask.delayed(divmod)(1, 0)))
