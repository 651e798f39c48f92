"""Rows of stored tables: a count of runs in which something happened, and what it must not exceed or fall below."""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

import calibstat


@dataclass(frozen=True)
class Row:
    """One cell of a table.

    `at_most` and `at_least` bound the share, up to four standard errors; NaN where it is only reported.
    """

    world: str
    n: int
    subject: str
    method: str
    runs: int
    count: int
    at_most: float = np.nan
    at_least: float = np.nan
    seed: int = 0

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What was asked."""
        return self.world, self.n, self.subject, self.method

    @property
    def share(self) -> float:
        """The share of runs."""
        return self.count / self.runs

    @property
    def error(self) -> float:
        """Its standard error, of (count + 1) / (runs + 2), which is never zero."""
        share = (self.count + 1) / (self.runs + 2)
        return float(np.sqrt(share * (1 - share) / self.runs))

    @property
    def holds(self) -> bool:
        """Whether the share is within its bounds, up to four standard errors at the bound."""
        return all(
            np.isnan(bound) or sign * (self.share - bound) <= 4 * np.sqrt(bound * (1 - bound) / self.runs)
            for bound, sign in ((self.at_most, 1), (self.at_least, -1))
        )

    def compatible(self, other: Row) -> bool:
        """Whether another measurement of the same differs by at most four combined standard errors."""
        return abs(self.share - other.share) <= 4 * np.hypot(self.error, other.error)


def count(key: tuple[str, int, str, str], happened: Iterable[bool], seed: int, **bounds: float) -> Row:
    """Make the row of what happened in each run."""
    each = list(happened)
    return Row(*key, runs=len(each), count=int(np.count_nonzero(each)), seed=seed, **bounds)


def pooled(rows: Iterable[Row]) -> list[Row]:
    """Add up the runs of rows about the same."""
    found: dict[tuple[str, int, str, str], Row] = {}
    for row in rows:
        before = found.get(row.key)
        found[row.key] = (
            row if before is None else replace(before, runs=before.runs + row.runs, count=before.count + row.count)
        )
    return list(found.values())


def versions() -> str:
    """What numbers were made with."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return f"calibstat {calibstat.__version__}, {packages}, Python {platform.python_version()}"


def write(rows: list[Row], path: Path) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        file.write(f"# {versions()}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(astuple(row) for row in rows)


def read(path: Path) -> list[Row]:
    """Read rows again."""
    types = {field.name: {"int": int, "float": float, "str": str}[str(field.type)] for field in fields(Row)}
    with path.open(newline="") as lines:
        found = csv.DictReader(line for line in lines if not line.startswith("#"))
        return [Row(**{name: types[name](text) for name, text in row.items()}) for row in found]


MOST_COLUMNS = 5


def markdown(title: str, text: str, rows: list[Row]) -> str:
    """Return tables for readers: a line for each world, n and subject, and a column for each of some methods."""
    methods = list(dict.fromkeys(row.method for row in rows))
    by_key = {row.key: row for row in rows}
    lines = [f"# {title}", "", text]
    for some in np.array_split(methods, -(-len(methods) // (MOST_COLUMNS - 1))):
        lines += ["", f"## {', '.join(some)}", "", f"| {' | '.join(['world, n, subject', *some])} |"]
        lines += ["|---|" + "---:|" * len(some)]
        for key in dict.fromkeys(row.key[:3] for row in rows if row.method in some):
            found = [_text(by_key.get((*key, method))) for method in some]
            lines.append(f"| {' | '.join([f'{key[0]}, {key[1]}, `{key[2]}`', *found])} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def _text(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{100 * row.share:.1f} ± {100 * row.error:.1f}" + ("" if row.holds else " (outside)")
