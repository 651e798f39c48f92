"""Compares calibstat with other packages on ten data sets: ``python docs/peers.py`` writes the tables of peers.md.

The other packages are needed to write the page, and only there: they are named in `PACKAGES`. Where a package gives
another number, `Comparison.rule` computes that number from the package's own rule, which says where it departs.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from peers_calls import Comparison
from peers_data import MANY, Array, Data, data_sets
from peers_errors import ERRORS, FIFTEEN, TEN
from peers_scores import SCORES
from peers_tests import TESTS

import calibstat as cs

PAGE = Path(__file__).resolve().parent / "peers.md"
PACKAGES = (
    "betacal",
    "calibstats",
    "calzone-tool",
    "classifier-calibration",
    "mapie",
    "mcgrad",
    "model-diagnostics",
    "netcal",
    "probcal",
    "probmetrics",
    "properscoring",
    "pycaleva",
    "pycalib",
    "relplot",
    "scikit-learn",
    "scores",
    "scoringrules",
    "statsmodels",
    "torchmetrics",
    "uncertainty-calibration",
    "venn-abers",
)
TABLES = {"errors": ERRORS, "tests": TESTS, "scores": SCORES}


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, tuple("---" for _ in header), *rows))


def own_numbers() -> str:
    """Return the data sets with the ECE and the Brier score, which need no other package."""
    rows = []
    for data in data_sets():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cs.SmallCellsWarning)
            error = (FIFTEEN if data.kind == MANY else TEN)(data.sample)
        classes = 2 if data.p.ndim == 1 else data.p.shape[1]
        rows.append((data.name, str(len(data.y)), str(classes), f"{error:.6f}", f"{cs.BrierScore()(data.sample):.6f}"))
    return table(("Data set", "Rows", "Classes", "ECE", "Brier score"), rows)


def numbers(found: Any) -> Array:
    """Return a number, a record with a headline or several numbers in one row."""
    several = isinstance(found, tuple | list | np.ndarray) and not hasattr(found, "headline")
    return np.asarray(found if several else float(found), dtype=float).ravel()


def agree(found: Array, expected: Array, within: float) -> bool:
    """Whether numbers differ by less, or those above one by less than this share of them."""
    if found.shape != expected.shape:
        return False
    size = np.maximum(1.0, np.where(np.isfinite(expected), np.abs(expected), 1.0))
    return bool(np.isclose(found, expected, rtol=0, atol=within * size, equal_nan=True).all())


def shown(differences: list[float], within: float) -> str:
    """Return the largest of some differences as the page shows it."""
    if not differences:
        return f"below {within:g}"
    if np.isnan(differences).any():
        return "not a number"
    return "infinite" if np.inf in differences else f"{max(differences):.1e}"


def difference(comparison: Comparison, data: Data) -> float | None:
    """Return how far the numbers are apart, nothing where they are equal; raise an error if that is not explained."""
    theirs = numbers(comparison.theirs(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.SmallCellsWarning)
        ours = numbers(comparison.ours(data.sample))
    if agree(theirs, ours, comparison.within):
        return None
    by_rule = np.full(1, np.nan) if comparison.rule is None else numbers(comparison.rule(data))
    if comparison.rule is None or not agree(by_rule, theirs, comparison.rule_within):
        raise SystemExit(
            f"{comparison.quantity} of {comparison.package} on {data.name!r} is {listed(theirs)}, here {listed(ours)}, "
            f"and {listed(by_rule)} by its rule"
        )
    return float(np.abs(theirs - ours)[~((theirs == ours) | (np.isnan(theirs) & np.isnan(ours)))].max())


def listed(values: Array) -> str:
    """Return the first few numbers."""
    return ", ".join(f"{value:.12g}" for value in values[:5])


def compared(comparison: Comparison) -> tuple[str, ...]:
    """Return the row of a comparison, or raise an error where a difference is not explained."""
    sets = [data for data in data_sets() if data.kind in comparison.kinds and data.name not in comparison.without]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {data.name: difference(comparison, data) for data in sets}
    apart = {name: value for name, value in found.items() if value is not None}
    names = "everywhere" if len(apart) == len(sets) > 2 else named(apart)
    remarks = [f"{names}: {comparison.why}"] if apart else []
    if comparison.without:
        remarks.append(f"not compared on {named(comparison.without)}: {comparison.because}")
    return (
        comparison.quantity,
        comparison.package,
        f"{len(sets) - len(apart)} of {len(sets)}",
        shown(list(apart.values()), comparison.within),
        "; ".join(remarks),
    )


def named(names: Iterable[str]) -> str:
    """Return the names of data sets, in italics."""
    return ", ".join(f"*{name}*" for name in names)


def summary(rows: list[tuple[str, ...]]) -> str:
    """Return how many comparisons and data sets agree, from rows of the tables."""
    counts = [tuple(map(int, row[2].split(" of "))) for row in rows]
    everywhere, equal, compared_on = (
        sum(each) for each in zip(*((found == asked, found, asked) for found, asked in counts), strict=True)
    )
    return (
        f"Of {len(rows)} comparisons {everywhere} are equal on every data set that is compared, and of {compared_on} "
        f"numbers or curves {equal}. All others are explained."
    )


def written(text: str, mark: str, content: str) -> str:
    """Return the page with new content between two marks."""
    found, n = re.subn(
        rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)",
        lambda each: f"{each[1]}\n{content}\n\n{each[2]}",
        text,
        flags=re.DOTALL,
    )
    if n != 1:
        raise SystemExit(f"{PAGE.name} has {n} places <!-- {mark} -->; it must have one")
    return found


def main() -> int:
    """Write the tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    text = written(text, "data sets", own_numbers())
    header = ("Quantity", "Package", "Equal on", "Largest difference", "Where it differs, and why")
    every = []
    for mark, comparisons in TABLES.items():
        rows = [compared(each) for each in comparisons]
        text = written(text, mark, table(header, rows))
        every += rows
    text = written(text, "summary", summary(every))
    text = written(text, "versions", ", ".join(f"{name} {version(name)}" for name in PACKAGES) + ".")
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
