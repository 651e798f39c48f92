"""Work in pieces that do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from calibstat.compiled import threads

T = TypeVar("T")

# Rows of one piece: enough work for a thread to be worth its start.
ROWS_IN_A_PIECE = 2**18


def pieces(n: int, size: int = ROWS_IN_A_PIECE) -> list[tuple[int, int]]:
    """Cut 0..n into pieces [start, stop) of this size; there is at least one."""
    return [(start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def shares(n: int) -> list[tuple[int, int]]:
    """Cut 0..n into a piece for each thread, for work that gives the same numbers however it is cut."""
    return pieces(n, max(ROWS_IN_A_PIECE, -(-n // threads())))


def in_threads(work: Callable[..., T], tasks: Iterable[tuple[int, ...]]) -> list[T]:
    """Return ``work(*task)`` for all tasks, in their order; kernels that release the GIL then run side by side."""
    waiting = list(tasks)
    if threads() == 1 or len(waiting) == 1:
        return [work(*task) for task in waiting]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(lambda task: work(*task), waiting))
