"""Delimited text: comma-separated values and their relatives."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

from calibstat.reading.files import Choose
from calibstat.reading.frames import Selection, arguments_from

DELIMITERS = ",\t;|"

# Labels may well be called "None" or "NA" (Namibia): only these are missing labels. Elsewhere, as pandas has it.
MISSING_LABELS = ["", "nan", "NaN"]
MISSING = ["", "nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"]


def read_delimited(path: Path, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from a text file, which may be compressed."""
    import pandas as pd

    if not path.is_file():  # a pipe can be read only once
        with path.open("rb") as stream:
            return read_stream(stream, choose)
    # A separator that no text contains: whole lines, decompressed by pandas.
    lines = pd.read_csv(path, sep="\x1f", nrows=1, quoting=csv.QUOTE_NONE, dtype=str)
    header, delimiter = _header(str(lines.columns[0]))
    if len(lines):
        _refuse_longer(header, str(lines.iloc[0, 0]), delimiter)
    return _body(path, header, delimiter, choose(header), header_row=0)


def read_standard_input(choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from text on standard input."""
    return read_stream(getattr(sys.stdin, "buffer", sys.stdin), choose)


def read_stream(stream: Any, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from an open file of bytes or text, read once from here to its end."""
    line = stream.readline()
    text = line.decode("utf-8-sig") if isinstance(line, bytes) else line
    if not text.strip():
        raise ValueError("it is empty; the first line must name the columns")
    header, delimiter = _header(text.rstrip("\r\n"))
    return _body(stream, header, delimiter, choose(header), header_row=None)


def _header(line: str) -> tuple[list[str], str]:
    """The names in the first line, and what separates them."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    delimiter = max(DELIMITERS, key=unquoted.count)
    return _fields(line, delimiter), delimiter


def _fields(line: str, delimiter: str) -> list[str]:
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return [field.strip() for field in fields]


def _refuse_longer(header: list[str], line: str, delimiter: str) -> None:
    """A first column without a name (row names of R) would move every value to its neighbour."""
    fields = _fields(line, delimiter)
    if any(fields[len(header) :]):
        raise ValueError(
            f"the first line names {len(header)} columns, but the next has {len(fields)} values; name every column"
        )


def _body(source: Any, header: list[str], delimiter: str, chosen: Selection, header_row: int | None) -> dict[str, Any]:
    import pandas as pd

    positions = {name: header.index(name) for name in chosen.names}
    missing: dict[Any, list[str]] = dict.fromkeys(positions.values(), MISSING)
    missing[positions[chosen.y_true]] = MISSING_LABELS
    frame = pd.read_csv(
        source,
        sep=delimiter,
        header=header_row,
        # Positions for names: pandas would rename two equal names.
        names=list(range(len(header))),
        usecols=list(positions.values()),
        na_values=missing,
        keep_default_na=False,
        skipinitialspace=True,
        # The values of a column are interpreted together: never "1" in one part of the file and 1 in another.
        low_memory=False,
    )
    if not len(frame):
        raise ValueError("it has a line of names, but no rows")
    return arguments_from({name: frame[position] for name, position in positions.items()}, chosen)
