"""Bias, variance, coverage, size and power of a sweep, with Monte Carlo errors."""

from __future__ import annotations

import argparse
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import calibstat as cs
from calibstat._screen import Screen
from calibstat._text import counted, percent, some_of
from calibstat.cli.options import add
from calibstat.cli.text import VERBOSE, ProgressBar, notice, show
from calibstat.inference.results import plain

_MEASURES = ("mean", "bias", "variance", "mse", "coverage", "rejection", "size", "power")
# A narrow terminal does without these, the first one first.
_SPARE = ("mse", "variance", "limit", "mean", "rejection", "truth")
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
    show(form, rows, _screens(summary, rows), rows, verbose=verbose)
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


def _screens(summary: Any, rows: list[dict[str, Any]]) -> list[Screen]:
    """Return the answer with the table of estimators, and that of tests with what limits both."""
    design = json.loads(summary.attrs.get("design", "{}"))
    own = ([row for row in rows if kind in row] for kind in ("estimator", "test"))
    pages = [_table(each) for each in own if each] or [Screen("", more=VERBOSE)]
    pages[0] = replace(pages[0], answer=_answer(summary, rows, design))
    details = [*_stand_for(summary, "estimator", design), *_stand_for(summary, "test", design)]
    pages[-1] = replace(pages[-1], notes=_notes(summary), details=details)
    return pages


def _answer(summary: Any, rows: list[dict[str, Any]], design: dict[str, Any]) -> str:
    """Say which estimator is the least biased, how often intervals cover and tests reject, and what was swept."""
    level = percent(summary.attrs["level"])
    shares = {
        "coverage": "intervals cover the true value in",
        "size": f"at {level} tests reject a true null in",
        "power": f"at {level} tests reject a false null in",
    }
    said = _biases([row for row in rows if row.get("bias") is not None])
    for key, words in shares.items():
        values = [row[key] for row in rows if row.get(key) is not None]
        if values:
            ends = dict.fromkeys(percent(float(f"{end(values):.3g}")) for end in (min, max))
            said.append(f"{words} {' to '.join(ends)} of the samples")
    swept = [f"{counted(len(summary['model']), 'model')}, n = {some_of(list(map(str, summary['n'].values)))}"]
    swept += [_samples(summary.attrs, design["n_repeats"])] if "n_repeats" in design else []
    nothing = "n_done" in summary.attrs and not max(summary.attrs["n_done"])
    unknown = "no sample is there" if nothing else "no true value is known, so that there are means and variances alone"
    text = "; ".join(said) or unknown
    return f"{text[0].upper()}{text[1:]} ({', '.join(swept)})."


def _samples(told: dict[str, Any], n_repeats: int) -> str:
    """Say how many samples of each model and n there are, and whether more are to come."""
    if "n_done" not in told:
        return f"{n_repeats} samples of each"
    done = " to ".join(dict.fromkeys(map(str, told["n_done"])))
    end = ": the study is not finished" if told["n_waiting"] else ""
    return f"{done} of {n_repeats} samples of each{end}"


def _biases(rows: list[dict[str, Any]]) -> list[str]:
    """Say which estimator is the least biased where it is most biased, and how large the largest bias of others is."""
    worst: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=_size_of_bias):
        worst[row["estimator"]] = row
    if not worst:
        return []
    best, *others = sorted(worst.values(), key=_size_of_bias)
    cells = f", {counted(best['n_bins'], 'cell')}" if len({row["n_bins"] for row in rows}) > 1 else ""
    place = f"{best['bias']:+.3g} (Monte Carlo error {best['bias_se']:.1g}; {best['model']}, n = {best['n']}{cells})"
    if not others:
        return [f"the largest bias of {best['estimator']} is {place}"]
    near = [
        each["estimator"]
        for each in others
        if _size_of_bias(each) - _size_of_bias(best) <= 2 * math.hypot(each["bias_se"], best["bias_se"])
    ]
    ends = dict.fromkeys(f"{each['bias']:+.3g} ({each['estimator']})" for each in (others[0], others[-1]))
    return [
        f"the least biased of {counted(len(worst), 'estimator')} is {best['estimator']}"
        + (f", not told apart from {some_of(near)}" if near else "")
        + f": its largest bias is {place}, of {'others' if others[1:] else 'the other'} {' to '.join(ends)}"
    ]


def _size_of_bias(row: dict[str, Any]) -> float:
    return abs(float(row["bias"]))


def _table(rows: list[dict[str, Any]]) -> Screen:
    """Return the table of these estimators or tests, with the measures that some of them have."""
    keys = [key for key in _KEYS if key in rows[0]]
    measures = [key for key in ("truth", "limit", *_MEASURES) if any(row.get(key) is not None for row in rows)]
    columns = [*keys, *measures]
    lines = [[*(str(row[key]) for key in keys), *(_cell(row, key) for key in measures)] for row in rows]
    spare = tuple(columns.index(key) for key in _SPARE if key in columns)
    named = ["cells" if key == "n_bins" else key for key in columns]
    return Screen("", [named, *lines], text_columns=tuple(range(len(columns))), spare=spare, more=VERBOSE)


def _notes(summary: Any) -> list[str]:
    """Say what the columns mean, and what is not known exactly."""
    notes = ["in brackets are Monte Carlo standard errors"]
    if "truth" in summary:
        notes[0] += "; bias: mean of the estimates minus the true value, which is not binned"
    bounds = {name: summary[name].attrs.get("upper_bound") for name in ("truth", "miscalibration") if name in summary}
    if bounds.get("truth"):
        notes.append(f"upper bounds, not known exactly: the truth of {bounds['truth']}")
    if bounds.get("miscalibration"):
        notes.append(f"power if the null is false, which is not known: {bounds['miscalibration']}")
    if "limit" in summary:
        notes.append("limit: the value that the estimator converges to with fixed cells")
    return notes


def _stand_for(summary: Any, kind: str, design: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each name with its repr at the first number of bins."""
    found = []
    for name in summary[kind].values.tolist() if kind in summary.coords else []:
        told = [text for text in design.get(f"{kind}s", []) if text.startswith(f"{name}, n_bins = ")]
        if told:
            bins, _, text = told[0].removeprefix(f"{name}, n_bins = ").partition(": ")
            text = re.sub(r", code [0-9a-f]{12}", "", text)
            found.append((f"{kind} {name}", text + (f" at n_bins = {bins}" if len(told) > 1 else "")))
    return found


def _cell(row: dict[str, Any], key: str) -> str:
    value, error = row.get(key), row.get(f"{key}_se")
    if value is None:
        return "-"
    if key in ("truth", "limit") and abs(value) < _ZERO:
        return "0"
    return f"{value:.4g}" if error is None else f"{value:.4g} ({error:.1g})"
