"""Where finished blocks go: arrays in memory, or a Zarr store that a killed sweep goes on from."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from calibstat.sweeps.skeleton import DONE, ERROR_WIDTH, FAILED, own_version, skeleton
from calibstat.sweeps.study import Study
from calibstat.sweeps.units import Found, Unit, repeats_of, shapes

if TYPE_CHECKING:
    import xarray as xr


class Blocks:
    """The arrays that blocks are written into; one process writes, from any of its threads.

    Parameters
    ----------
    study : Study
    block : int
    arrays : mapping of str to array
        By variable, numpy or Zarr.
    """

    def __init__(self, study: Study, block: int, arrays: Mapping[str, Any]) -> None:
        self.study = study
        self.block = block
        self.arrays = arrays
        self.status = np.asarray(arrays["status"][:])
        self.lock = threading.Lock()

    def finished(self, unit: Unit) -> bool:
        """Whether a block was computed without an error."""
        return bool(self.status[unit.model, unit.n, unit.block] == DONE)

    def write(self, found: Found) -> None:
        """Write the values of a block, then that it is finished; an interruption in between only repeats the block."""
        unit = found.unit
        repeats = repeats_of(self.study, unit, self.block)
        where = (unit.model, unit.n, unit.block)
        with self.lock:
            for name, values in found.values.items():
                position = (unit.model, slice(None), unit.n, slice(None), slice(repeats.start, repeats.stop))
                self.arrays[name][position] = values
            if found.error or self.status[where] == FAILED:
                self.arrays["error"][where] = found.error[:ERROR_WIDTH]
            self.status[where] = FAILED if found.error else DONE
            self.arrays["status"][...] = self.status  # one chunk: written whole, nothing is read


def in_memory(study: Study, block: int) -> tuple[Blocks, xr.Dataset]:
    """Make a dataset in memory, and the blocks that fill it."""
    # Equal lazy arrays are loaded as one: each variable needs its own.
    dataset = skeleton(study, block).load().copy(deep=True)
    return Blocks(study, block, {name: dataset[name].values for name in (*shapes(study), "status", "error")}), dataset


def in_zarr(study: Study, path: Path, block: int) -> Blocks:
    """Open a store of this study, or make one.

    Parameters
    ----------
    study : Study
    path : Path
    block : int
        Repeats in a block; that of the store, if there is one.
    """
    if not path.exists():
        _create(study, block, path)
    group = _opened(path)
    _refuse_another_study(json.loads(str(group.attrs["design"])), study.design(own_version()), path)
    return Blocks(study, block, {name: group[name] for name in (*shapes(study), "status", "error")})


def stored_block(path: Path) -> int | None:
    """Return the number of repeats in a block of a store, None without one."""
    return int(str(_opened(path).attrs["block"])) if path.exists() else None


def lazily(path: Path) -> xr.Dataset:
    """Open a store; values are read when they are used."""
    import xarray as xr

    return xr.open_zarr(path)


def read(path: Path) -> xr.Dataset:
    """Open the results of a sweep: a Zarr store, or a NetCDF file made from one.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ValueError
        If it is none.
    """
    import xarray as xr

    if not path.exists():
        raise ValueError(f"there is no {path}.")
    dataset = lazily(path) if path.is_dir() else xr.open_dataset(path)
    if "design" not in dataset.attrs:
        raise ValueError(f"{path} holds no sweep.")
    return dataset


def _create(study: Study, block: int, path: Path) -> None:
    """Write the skeleton beside its place and move it there whole, so that a half-made store is never found."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        # Format 2 knows strings of fixed width, and is read by every version of Zarr.
        skeleton(study, block).to_zarr(folder / "store", compute=False, zarr_format=2, consolidated=True)
        (folder / "store").replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _opened(path: Path) -> Any:
    try:
        group = zarr.open_group(str(path), mode="r+")
        group.attrs["design"]
    except Exception as error:
        raise ValueError(
            f"{path} is there, but it is no store of a sweep ({type(error).__name__}); name another place."
        ) from error
    return group


def _refuse_another_study(stored: dict[str, Any], asked: dict[str, Any], path: Path) -> None:
    for key in {**stored, **asked}:
        if stored.get(key) != asked.get(key):
            raise ValueError(
                f"{path} holds another study: {key} was {stored.get(key)!r}, and is {asked.get(key)!r} now. It is left "
                "as it is; name another store, or run the study that it holds."
            )
