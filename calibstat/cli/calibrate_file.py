"""The file that ``calibstat calibrate`` writes: CSV, compressed if the end of its name says so."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# What would be taken for something else when it is read again.
_NOT_WRITTEN = (".zip", ".zst", ".parquet", ".npz", ".nc", ".netcdf")


def check_out(path: str) -> None:
    """Refuse a name that ends like a file of another kind.

    Raises
    ------
    ValueError
        If it does; the message says which ends there are.
    """
    ends = [suffix.lower() for suffix in Path(path).suffixes]
    if ends and ends[-1] in _COMPRESSED:
        ends.pop()
    if ends and ends[-1] in _NOT_WRITTEN:
        names = ", ".join(f".csv{end}" for end in ("", *_COMPRESSED))
        raise ValueError(f"--out {path}: rows are written as CSV; end the name in one of {names}")


def opened_to_write(path: str) -> Any:
    """Open a text file to write, compressed if the end of its name says so."""
    opener = _COMPRESSED.get(Path(path).suffix.lower(), open)
    return opener(path, "wt", newline="", encoding="utf-8")
