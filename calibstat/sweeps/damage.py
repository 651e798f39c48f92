"""What is missing in a store, or cannot be read: a chunk that was deleted, or garbled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from calibstat.sweeps.skeleton import DONE

_PIECES = ("estimate", "pvalue", "interval_low", "interval_high")
_COMPUTED = (*_PIECES, "status", "error")


def lost_blocks(path: Path, status: Any) -> list[tuple[int, int, int]]:
    """Return the blocks (model, n, block) that are marked as done and lack a chunk; each is written with all of them.

    Parameters
    ----------
    path : Path
        Of the store.
    status : (models, n, blocks) ints
    """
    names = [name for name in _PIECES if (path / name).is_dir()]
    done = [tuple(int(place) for place in where) for where in np.argwhere(np.asarray(status) == DONE)]
    return [
        (model, n, block)
        for model, n, block in done
        if not all((path / name / f"{model}.0.{n}.0.{block}").exists() for name in names)
    ]


def refuse_garbled(path: Path, group: Any) -> None:
    """Read every chunk once.

    Raises
    ------
    ValueError
        If one cannot be read; it names the file and says what to do.
    """
    for name, file, place in _chunks(path, group.array_keys()):
        try:
            group[name].blocks[place]
        except Exception as error:  # each compressor has its own
            advice = (
                "delete this file and run the sweep again, which computes what was in it anew"
                if name in _COMPUTED
                else f"delete {path} and run the sweep again"
            )
            raise ValueError(f"{file} is damaged ({type(error).__name__}): {advice}.") from error


def _chunks(path: Path, names: Iterable[str]) -> Iterator[tuple[str, Path, tuple[int, ...]]]:
    for name in names:
        for file in sorted((path / name).iterdir()):
            if not file.name.startswith("."):
                yield name, file, tuple(map(int, file.name.split(".")))
