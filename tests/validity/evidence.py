"""The stored table of sizes: how often the test rejects calibrated worlds at level 5 %.

Run by hand (``.ci/evidence``); it writes ``size.csv`` and ``size.md`` into the folder that is named. The null that
keeps the predictions is exact; the published one, which redraws them, is not, and the table shows by how much.
"""

from __future__ import annotations

import argparse
import csv
import platform
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path

import numpy as np

import calibstat
from validity.sizes import CASES, KEPT, LEVEL, N_RESAMPLES, RESAMPLED, pvalues, standard_error

SEED = 20260704
NULLS = {"predictions kept": KEPT, "predictions redrawn": RESAMPLED}
SIZES = [50, 300, 2000]


@dataclass(frozen=True)
class Row:
    """One cell of the table."""

    world: str
    estimator: str
    n: int
    null: str
    runs: int
    rejections: int
    size: float
    standard_error: float
    n_resamples: int = N_RESAMPLES
    level: float = LEVEL
    seed: int = SEED

    @property
    def cell(self) -> tuple[str, int, str]:
        """What was asked."""
        return self.world, self.n, self.null


def cells(runs: int) -> Iterator[tuple[str, int, str, int]]:
    """Yield world, n, null and number of runs; the slowest cells get a quarter of the runs."""
    for world in CASES:
        for n in SIZES:
            for null in NULLS:
                slow = null == "predictions redrawn" and n == 2000
                yield world, n, null, runs // 4 if slow else runs


def measure(world: str, n: int, null: str, runs: int, seed: int = SEED) -> Row:
    """Test `runs` fresh samples of a calibrated world."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calibstat.SmallCellsWarning)
        found = pvalues(world, n, runs, seed, NULLS[null])
    rejections = int(np.count_nonzero(found <= LEVEL + 1e-12))
    size = rejections / runs
    # at the level itself where nothing (or everything) was rejected, so that the error is never zero
    error = standard_error(size if 0 < rejections < runs else LEVEL, runs)
    return Row(world, repr(CASES[world].estimator(n)), n, null, runs, rejections, size, float(error), seed=seed)


def read(path: Path) -> list[Row]:
    """Read a stored table."""
    types = {field.name: {"int": int, "float": float, "str": str}[field.type] for field in fields(Row)}
    with path.open(newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return [Row(**{name: types[name](text) for name, text in row.items()}) for row in rows]


def versions() -> str:
    """What the numbers were made with."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return f"calibstat {calibstat.__version__}, {packages}, Python {platform.python_version()}"


def write(rows: list[Row], folder: Path) -> None:
    """Write the table as CSV and as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "size.csv").open("w", newline="") as file:
        file.write(f"# {versions()}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(
            [round(value, 6) if isinstance(value, float) else value for value in astuple(row)] for row in rows
        )
    (folder / "size.md").write_text(markdown(rows))


def markdown(rows: list[Row]) -> str:
    """Return the table for readers: one line for each world and n, one column for each null."""
    by_cell = {row.cell: row for row in rows}
    lines = [
        "# Size of the test at level 5 %",
        "",
        "How often `calibration_test` rejects a model that is calibrated by construction, in percent, with its Monte",
        "Carlo standard error. *Predictions kept* is the default null, exact at every n (statistics with ties are",
        "rejected less often); *predictions redrawn* is `Consistency(resample_predictions=True)`, the null of",
        "Vaicenavicius et al. (2019), which is not exact. Numbers of runs are in brackets.",
        "",
        f"Made by `.ci/evidence` with {versions()}:",
        f"{N_RESAMPLES} resamples a test, seed {SEED}. The same numbers, machine-readable: `size.csv`.",
        "The tests repeat a part of the table with another seed.",
        "",
        "| world | estimator | n | " + " | ".join(NULLS) + " |",
        "|---|---|---:|" + "---:|" * len(NULLS),
    ]
    for world in CASES:
        for n in SIZES:
            entries = [by_cell[world, n, null] for null in NULLS]
            numbers = " | ".join(f"{100 * e.size:.1f} ± {100 * e.standard_error:.1f} ({e.runs})" for e in entries)
            estimator = entries[0].estimator.replace("|", "\\|")
            lines.append(f"| {world} | `{estimator}` | {n} | {numbers} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure every cell and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.workers) as pool:
        waiting = [pool.submit(measure, *cell) for cell in cells(arguments.runs)]
        rows = [future.result() for future in waiting]
    write(rows, arguments.folder)


if __name__ == "__main__":
    main()
