"""Files that may be compressed, opened as bytes."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file to read its bytes, decompressed if the end of its name says so."""
    with OPENERS.get(path.suffix.lower(), _plain)(path) as stream:
        yield stream


def _plain(path: Path) -> Any:
    return path.open("rb")


def _zstandard(path: Path) -> Any:
    if importlib.util.find_spec("zstandard") is None:
        raise ModuleNotFoundError("reading .zst needs zstandard: pip install zstandard")
    return import_module("zstandard").open(path, "rb")


@contextmanager
def _zipped(path: Path) -> Iterator[Any]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(f"it holds {len(names)} files, but one is expected")
        with archive.open(names[0]) as stream:
            yield stream


OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zstandard,
    ".zip": _zipped,
}
