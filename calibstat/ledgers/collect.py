"""Collects a ledger from rows that are never in memory at once: each batch is a sample, checked as any other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial, reduce
from pathlib import Path
from typing import Any

from calibstat._text import rows_moved
from calibstat.data.files import in_file
from calibstat.data.frames import Selection, arguments_from, select
from calibstat.data.sample import Sample
from calibstat.ledgers import batches
from calibstat.ledgers.batches import Batch, batches_of
from calibstat.ledgers.engines import counted_by_engine, engine_of
from calibstat.ledgers.ledger import Ledger
from calibstat.lenses.base import Lens


def collect(
    source: Any,
    *,
    y_true: str,
    y_prob: str | Sequence[str],
    by: Sequence[str],
    lenses: Sequence[Lens] | None,
    labels: Sequence[Hashable] | None,
    nan_policy: str,
) -> Ledger:
    """Count the rows of a source, a batch at a time; the first batch fixes the classes where `labels` does not."""

    def choose(names: list[str], where: str) -> Selection:
        return select(names, y_true=y_true, y_prob=y_prob, variables=by or None, where=where)

    counting = partial(_count, by=by, lenses=lenses, nan_policy=nan_policy)
    if hasattr(source, "to_delayed"):
        return _on_workers(source, choose, counting, labels)
    if engine_of(source):
        start = batches_of(source.limit(batches.ROWS), choose)
        first = added_up(counting(batch, labels, first=True)[0] for batch in start)
        found = counted_by_engine(source, first, y_true=y_true, y_prob=y_prob, by=by)
        if found is not None:
            return found

    def ledgers() -> Iterable[Ledger]:
        known = labels
        for batch in batches_of(source, choose):
            ledger, known = counting(batch, known, first=known is labels)
            yield ledger

    with in_file(source) if isinstance(source, (str, Path)) else nullcontext():
        return added_up(ledgers())


def added_up(ledgers: Iterable[Ledger]) -> Ledger:
    """Add up ledgers in pairs of those that hold as many of them, so that few are kept and none is added often."""
    waiting: list[tuple[int, Ledger]] = []
    for each in ledgers:
        size, ledger = 1, each
        while waiting and waiting[-1][0] == size:
            size, ledger = 2 * size, waiting.pop()[1] + ledger
        waiting.append((size, ledger))
    if not waiting:
        raise ValueError("the source has no rows: pass one that has")
    return reduce(lambda whole, part: part[1] + whole, reversed(waiting[:-1]), waiting[-1][1])


def _count(
    batch: Batch,
    labels: Sequence[Hashable] | None,
    *,
    first: bool,
    by: Sequence[str],
    lenses: Sequence[Lens] | None,
    nan_policy: str,
) -> tuple[Ledger, Sequence[Hashable]]:
    """Check and count a batch; return the ledger, and the classes."""
    try:
        with warnings.catch_warnings():
            if not first:  # the first one has said it
                warnings.simplefilter("ignore")
            sample = Sample._examined(**batch.taken, labels=labels, nan_policy=nan_policy)
        return Ledger.count(sample, by=by, lenses=lenses), sample.labels
    except ValueError as error:
        raise ValueError(f"{batch.where}: {rows_moved(str(error), batch.first)}") from error


# Frames of dask: each partition is counted where it is, and only ledgers travel.


def _on_workers(
    frame: Any, choose: Callable[[list[str], str], Selection], counting: Any, labels: Sequence[Hashable] | None
) -> Ledger:
    from dask.base import compute
    from dask.delayed import delayed

    from calibstat._dask import computed

    chosen = choose(list(frame.columns), "the frame")
    parts = frame[chosen.names].to_delayed()

    def count(part: Any, place: int, known: Sequence[Hashable] | None) -> tuple[Ledger, Sequence[Hashable]] | None:
        if not len(part):
            return None
        batch = Batch(arguments_from(part, chosen), f"partition {place} (partitions count from 0)", 0)
        return counting(batch, known, first=known is None)

    known = labels
    for place, part in enumerate(parts):
        if known is not None:
            break
        found = count(computed(part.compute), place, None)
        known = None if found is None else found[1]
    waiting = [delayed(count)(part, place, known) for place, part in enumerate(parts)]
    while len(waiting) > 1:
        waiting = [delayed(_together)(*waiting[k : k + 2]) for k in range(0, len(waiting), 2)]
    (found,) = computed(partial(compute, *waiting))
    return added_up([] if found is None else [found[0]])


def _together(*found: tuple[Ledger, Sequence[Hashable]] | None) -> tuple[Ledger, Sequence[Hashable]] | None:
    """Add the ledgers of two partitions, of which either may have no rows."""
    there = [each for each in found if each is not None]
    return (added_up(each[0] for each in there), there[0][1]) if there else None
