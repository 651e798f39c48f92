"""The stored tables of evidence: measure them, or repeat a tenth of their runs with another seed and compare.

``python -m validity.evidence docs/evidence`` measures (by hand; ``.ci/evidence``); with ``--repeat`` it compares, and
exits with 1 where a share differs by more than four combined standard errors.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType

import calibstat
from validity.tables import clusters, comparison, coverage, hostile, omnibus, several, size
from validity.tables.rows import Row, markdown, pooled, read, versions, write

TABLES: dict[str, ModuleType] = {
    "size": size,
    "coverage": coverage,
    "comparison": comparison,
    "omnibus": omnibus,
    "hostile": hostile,
    "clusters": clusters,
    "several": several,
}
SEED, OTHER_SEED = 20261121, 20261122
RUNS_AT_ONCE = 50


def measure_part(table: str, job: int, runs: int, seed: int) -> list[Row]:
    """Measure some runs of one job of a table; jobs are known by their number, so that processes can be told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calibstat.SmallCellsWarning)
        return list(TABLES[table].jobs())[job].measure(runs, seed)


def measure(table: str, runs: int, seed: int, pool: ProcessPoolExecutor) -> list[Row]:
    """Measure a table; the numbers do not depend on the number of workers."""
    parts = [pool.submit(measure_part, table, *part) for part in _parts(table, runs, seed)]
    return [_named(row, seed) for row in pooled(row for part in parts for row in part.result())]


def _parts(table: str, runs: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Yield job, runs and seed of each part; a whole table has more runs of its headline jobs, a repeated part not."""
    whole = runs >= TABLES[table].RUNS
    for job, each in enumerate(TABLES[table].jobs()):
        own = runs * getattr(each, "times", 1) if whole else runs
        for number, start in enumerate(range(0, own, RUNS_AT_ONCE)):
            yield job, min(RUNS_AT_ONCE, own - start), seed * 1000 + number


def _named(row: Row, seed: int) -> Row:
    return Row(row.world, row.n, row.subject, row.method, row.runs, row.count, row.at_most, row.at_least, seed)


def store(table: str, rows: list[Row], folder: Path) -> None:
    """Write a table for machines and for readers."""
    folder.mkdir(parents=True, exist_ok=True)
    write(rows, folder / f"{table}.csv")
    (folder / f"{table}.md").write_text(page(table, rows, versions()))


def page(table: str, rows: list[Row], made_with: str) -> str:
    """Return a table for readers, with how it was made."""
    least, most = (extreme(row.runs for row in rows) for extreme in (min, max))
    each = f"{least} runs each" + (f" (up to {most} of headline rows)" if most > least else "")
    made = f"{each}, seed {rows[0].seed}, made by `.ci/evidence` with {made_with}."
    text = f"{TABLES[table].TEXT}\n\n{made} The same numbers, machine-readable: `{table}.csv`."
    return markdown(TABLES[table].TITLE, text, rows)


def compare(table: str, stored: list[Row], again: list[Row]) -> list[str]:
    """Return what differs by more than chance."""
    by_key = {row.key: row for row in again}
    wrong = [f"{table}: {row.key} is not measured any more" for row in stored if row.key not in by_key]
    wrong += [f"{table}: {key} is not stored" for key in set(by_key) - {row.key for row in stored}]
    return wrong + [
        f"{table}: {row.key} was {row.share:.3f} in {row.runs} runs, now {by_key[row.key].share:.3f} "
        f"in {by_key[row.key].runs}"
        for row in stored
        if row.key in by_key and not row.compatible(by_key[row.key])
    ]


def main() -> int:
    """Measure, or repeat and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--runs", type=int, default=None, help="by default those that each table states")
    parser.add_argument("--repeat", action="store_true", help="a tenth of the runs, compared with what is stored")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    wrong: list[str] = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        for table in arguments.tables:
            runs = arguments.runs or TABLES[table].RUNS
            if arguments.repeat:
                stored = read(arguments.folder / f"{table}.csv")
                found = compare(table, stored, measure(table, runs // 10, OTHER_SEED, pool))
                print(f"{table}: {len(stored)} shares repeated, {len(found)} differ", flush=True)
                wrong += found
            else:
                store(table, measure(table, runs, SEED, pool), arguments.folder)
                print(f"{table}: stored", flush=True)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
