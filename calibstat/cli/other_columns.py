"""All columns of a file but those of probabilities, as they stand there."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calibstat.reading.compressed import opened
from calibstat.reading.delimited import DELIMITERS, read_delimited
from calibstat.reading.frames import Selection
from calibstat.reading.sources import COMPRESSIONS, READERS

Columns = list[tuple[str, list[Any]]]


def other_columns(path: Path, n: int, select: Callable[[list[str]], Selection]) -> Columns:
    """Return names and values of every column that holds no probabilities, in the order of the file.

    Values of text are those that are written there, so that 007 stays 007; arrays are left out unless they have one
    value for each row.

    Parameters
    ----------
    path : Path
        Of a file that could be read.
    n : int
        Its number of rows.
    select : callable
        From the names there are to those of labels, probabilities and weights.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    reader = READERS[suffixes[-1]]
    if reader is read_delimited:
        return _texts(path, n, select)

    def choose(names: list[str]) -> Selection:
        chosen = select(names)
        return replace(chosen, variables=[name for name in names if name not in chosen.y_prob])

    values = reader(path, choose)["variables"]
    return [(name, _plain(each)) for name, each in values.items() if np.shape(each) == (n,)]


def _plain(values: Any) -> list[Any]:
    array = np.asarray(values)
    found: list[Any] = (array.astype(str) if array.dtype.kind in "mM" else array).tolist()
    return found


def _texts(path: Path, n: int, select: Callable[[list[str]], Selection]) -> Columns:
    import pandas as pd

    names, delimiter = _header(path)
    frame = pd.read_csv(
        path,
        sep=delimiter,
        header=None,
        names=list(range(len(names))),
        index_col=False,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        encoding="utf-8-sig",
    )
    if len(frame) != n + 1:  # the first line is the header
        raise ValueError(f"{path} has {n} rows, but {len(frame) - 1} when read as text: remove lines that are no rows")
    prob = select(names).y_prob
    return [(name, frame[k][1:].fillna("").tolist()) for k, name in enumerate(names) if name not in prob]


def _header(path: Path) -> tuple[list[str], str]:
    """Return the names in the first line that is not blank, and what separates them."""
    with opened(path) as stream:
        first = next(line for line in stream if line.strip())
    line = re.split(r"[\r\n]", first.decode("utf-8-sig").lstrip("\r\n"))[0]
    delimiter = max(DELIMITERS, key=re.sub(r'"[^"]*"', "", line).count)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))], delimiter
