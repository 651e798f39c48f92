"""Delimited text: comma-separated values and their relatives."""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from calibstat.reading.compressed import opened
from calibstat.reading.files import Choose
from calibstat.reading.frames import Selection, arguments_from
from calibstat.reading.line_counts import CountedLines

DELIMITERS = ",\t;|"

# Labels may well be called "None" or "NA" (Namibia): only these are missing labels. Elsewhere, as pandas has it.
MISSING_LABELS = ["", "nan", "NaN"]
MISSING = ["", "nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"]


def read_delimited(path: Path, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from a text file, which may be compressed."""
    with opened(path) as stream:
        return read_stream(stream, choose)


def read_standard_input(choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from text on standard input."""
    if sys.stdin is None or sys.stdin.closed:
        raise ValueError("it is closed; name a file instead of -, or send one in: < FILE")
    stream = getattr(sys.stdin, "buffer", None)
    return read_stream(io.BytesIO(sys.stdin.read().encode()) if stream is None else stream, choose)


def read_stream(stream: Any, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from an open file of bytes, read once from here to its end."""
    number, first = 1, stream.readline()
    while first and not first.strip():
        number, first = number + 1, stream.readline()
    if not first:
        raise ValueError("it is empty; the first line must name the columns")
    # Lines that end in carriage returns alone are one line to `readline`.
    line, _, rest = first.rstrip(b"\r\n").partition(b"\r")
    header, delimiter = _header(line.decode("utf-8-sig"))
    chosen = choose(header)
    rows = CountedLines(stream, delimiter, len(header), number + 1, rest + b"\r" if rest else b"")
    taken = _body(rows, header, delimiter, chosen)
    if rows.counter.short:
        warnings.warn(rows.counter.short, stacklevel=2)
    return taken


def _header(line: str) -> tuple[list[str], str]:
    """The names in the first line, and what separates them."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    delimiter = max(DELIMITERS, key=unquoted.count)
    return _fields(line, delimiter), delimiter


def _fields(line: str, delimiter: str) -> list[str]:
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return [field.strip() for field in fields]


def _body(rows: CountedLines, header: list[str], delimiter: str, chosen: Selection) -> dict[str, Any]:
    positions = {name: header.index(name) for name in chosen.names}
    missing: dict[Any, list[str]] = dict.fromkeys(positions.values(), MISSING)
    missing[positions[chosen.y_true]] = MISSING_LABELS
    frame = _frame(rows, sep=delimiter, names=list(range(len(header))), usecols=list(positions.values()), na=missing)
    return arguments_from({name: frame[position] for name, position in positions.items()}, chosen)


def _frame(rows: CountedLines, *, sep: str, names: list[int], usecols: list[int], na: dict[Any, list[str]]) -> Any:
    import pandas as pd

    options: dict[str, Any] = {
        "sep": sep,
        "header": None,
        # Positions for names: pandas would rename two equal names.
        "names": names,
        "usecols": usecols,
        "index_col": False,
        "na_values": na,
        "keep_default_na": False,
        "skipinitialspace": True,
        # The values of a column are interpreted together: never "1" in one part of the file and 1 in another.
        "low_memory": False,
    }
    try:
        frame = pd.read_csv(rows, **options)
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    if not len(frame):
        raise ValueError("it has a line of names, but no rows")
    return frame
