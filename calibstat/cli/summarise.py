"""Bias, variance, coverage, size and power of a sweep, with Monte Carlo errors."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calibstat as cs
from calibstat._screen import hang, layout, prose_width, terminal_width
from calibstat._text import counted, percent
from calibstat.cli.options import add
from calibstat.cli.text import ProgressBar, notice, show
from calibstat.inference.results import plain

_MEASURES = ("mean", "bias", "variance", "mse", "coverage", "rejection", "size", "power")
# A true error below this is rounding.
_ZERO = 1e-15
_KEYS = ("model", "estimator", "test", "n", "n_bins")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("store", metavar="STORE", help="a Zarr store, or a NetCDF file")
    add(parser, "--level")
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print it (default: table)"
    )
    parser.add_argument("--verbose", action="store_true", help="also show what each name stands for")


def run(arguments: argparse.Namespace) -> None:
    """Print the summary of a store."""
    from calibstat.sweeps.store import read

    with ProgressBar("summarising"):
        found = cs.summarise(read(Path(arguments.store)), arguments.level)
    show_summary(found, arguments.format, verbose=arguments.verbose)


def show_summary(summary: Any, form: str, *, verbose: bool = False) -> None:
    """Print a summary, and say on standard error what is missing in it."""
    rows = records(summary)
    width = prose_width()
    legend = [line for text in _legend(summary, verbose) for line in hang("", text, 0, width)]
    answer = hang("", _answer(summary, rows), 0, width)
    show(form, rows, "\n\n".join("\n".join(part) for part in (answer, *_tables(rows), legend)), rows)
    told = summary.attrs
    if told.get("n_failed"):
        notice(f"{told['n_failed']} of {told['n_blocks']} blocks failed: {told['errors']}")
    if told.get("n_waiting"):
        notice(f"{told['n_waiting']} of {told['n_blocks']} blocks are not computed yet")


def records(summary: Any) -> list[dict[str, Any]]:
    """Return one record for each estimator, and each test, of each model, n and number of bins."""
    found = []
    for kind, other in (("estimator", "test"), ("test", "estimator")):
        if kind in summary.dims:
            frame = summary.drop_dims(other, errors="ignore").to_dataframe(dim_order=["model", kind, "n", "n_bins"])
            for row in frame.reset_index().to_dict("records"):
                values = {str(key): plain(value) for key, value in row.items() if key not in _KEYS}
                found.append({key: row[key] for key in _KEYS if key in row} | values)
    return found


def _answer(summary: Any, rows: list[dict[str, Any]]) -> str:
    """Say how large the largest bias is, how often intervals cover, and how often tests reject."""
    shares = {
        "coverage": "intervals cover the true value in",
        "size": f"at {percent(summary.attrs['level'])} tests reject a true null in",
        "power": f"at {percent(summary.attrs['level'])} tests reject a false null in",
    }
    said = []
    biased = [row for row in rows if row.get("bias") is not None]
    if biased:
        most = max(biased, key=lambda row: abs(row["bias"]))
        several = len({row["n_bins"] for row in biased}) > 1
        cells = f", {counted(most['n_bins'], 'cell')}" if several else ""
        of = f"{most['estimator']} of {most['model']}, n = {most['n']}{cells}"
        said.append(f"the largest bias is {most['bias']:.4g} ({of})")
    for key, words in shares.items():
        values = [row[key] for row in rows if row.get(key) is not None]
        if values:
            ends = dict.fromkeys(percent(float(f"{end(values):.3g}")) for end in (min, max))
            said.append(f"{words} {' to '.join(ends)} of the samples")
    text = "; ".join(said) or "no true value is known, so that there are means and variances alone"
    return f"{text[0].upper()}{text[1:]}."


def _tables(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Lay out a table of estimators and one of tests, with the measures that some row has."""
    for kind in ("estimator", "test"):
        own = [row for row in rows if kind in row]
        if not own:
            continue
        keys = [key for key in _KEYS if key in own[0]]
        measures = [key for key in ("truth", "limit", *_MEASURES) if any(row.get(key) is not None for row in own)]
        lines = [[*keys, *measures]]
        lines += [[*(str(row[key]) for key in keys), *(_cell(row, key) for key in measures)] for row in own]
        yield layout(lines, (), terminal_width())


def _legend(summary: Any, verbose: bool) -> list[str]:
    """Say what the columns mean and, if that is asked for, what each name stands for."""
    design = json.loads(summary.attrs.get("design", "{}"))
    lines = [*_stand_for(summary, "estimator", design), *_stand_for(summary, "test", design)] if verbose else []
    if lines:
        lines.append(
            "An estimator without a lens in front (such as TopLabel() | ...) looks at the whole prediction (canonical)."
        )
    if "truth" in summary:
        lines.append(
            "truth: the true value of the estimand, not binned; limit: the value that the estimator converges to with "
            "fixed cells (binned)."
        )
        lines.append("mean: of the estimates, binned where the estimator has cells; bias: mean - truth.")
    bounds = {name: summary[name].attrs.get("upper_bound") for name in ("truth", "miscalibration") if name in summary}
    if bounds.get("truth"):
        lines.append(f"Upper bounds, not known exactly: the truth of {bounds['truth']}.")
    if bounds.get("miscalibration"):
        lines.append(f"Power if the null is false, which is not known: {bounds['miscalibration']}.")
    more = [] if verbose else ["What each name stands for: --verbose"]
    return [*lines, "In brackets: Monte Carlo standard errors.", *more]


def _stand_for(summary: Any, kind: str, design: dict[str, Any]) -> list[str]:
    """Write each name with its repr at the first number of bins."""
    found = []
    for name in summary[kind].values.tolist() if kind in summary.coords else []:
        told = [text for text in design.get(f"{kind}s", []) if text.startswith(f"{name}, n_bins = ")]
        if told:
            bins, _, text = told[0].removeprefix(f"{name}, n_bins = ").partition(": ")
            text = re.sub(r", code [0-9a-f]{12}", "", text)
            found.append(f"{kind} {name}: {text}" + (f" at n_bins = {bins}" if len(told) > 1 else ""))
    return found


def _cell(row: dict[str, Any], key: str) -> str:
    value, error = row.get(key), row.get(f"{key}_se")
    if value is None:
        return "-"
    if key in ("truth", "limit") and abs(value) < _ZERO:
        return "0"
    return f"{value:.4g}" if error is None else f"{value:.4g} ({error:.1g})"
