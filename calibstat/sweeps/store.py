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

from calibstat.sweeps.damage import lost_blocks, refuse_garbled
from calibstat.sweeps.identity import UNTOLD
from calibstat.sweeps.skeleton import DONE, ERROR_WIDTH, FAILED, WAITING, own_version, skeleton
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
                # A block of NaN is written as well: a chunk that is not there was deleted.
                with zarr.config.set({"array.write_empty_chunks": True}):
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
    refuse_garbled(path, group)
    _refuse_another_study(json.loads(str(group.attrs["design"])), study.design(own_version()), path)
    blocks = Blocks(study, block, {name: group[name] for name in (*shapes(study), "status", "error")})
    for where in lost_blocks(path, blocks.status):
        blocks.status[where] = WAITING
    return blocks


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
        If it is none, or is damaged.
    """
    import xarray as xr

    if not path.exists():
        raise ValueError(f"there is no {path}.")
    try:
        dataset = lazily(path) if path.is_dir() else xr.open_dataset(path)
    except Exception as error:  # each format has its own
        raise ValueError(
            f"{path} is neither a Zarr store nor a NetCDF file ({type(error).__name__}); name the store of a sweep."
        ) from error
    if "design" not in dataset.attrs:
        raise ValueError(f"{path} holds no sweep.")
    if path.is_dir():
        _refuse_damage(path, dataset)
    return dataset


def _refuse_damage(path: Path, dataset: xr.Dataset) -> None:
    refuse_garbled(path, _opened(path))
    lost = lost_blocks(path, dataset["status"])
    if lost:
        raise ValueError(
            f"{path} lacks values of {len(lost)} blocks that it had, first of (model, n, block) {lost[0]}: run the "
            "sweep again with this store, which computes them anew."
        )


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


def expect_told(study: Study) -> None:
    """Refuse to store what cannot be told from another thing, whose numbers it would be given."""
    for slot in (*study.estimators.each, *study.tests.each):
        if UNTOLD in str(slot):
            raise TypeError(
                f"{slot.name!r} is {slot.thing!r}, which cannot be told from another one like it, so that a store "
                "might return wrong numbers: give its class a __repr__ with all that decides what it does, or run "
                "without a store."
            )


def _refuse_another_study(stored: dict[str, Any], asked: dict[str, Any], path: Path) -> None:
    for key in {**stored, **asked}:
        if key != "rng" and stored.get(key) != asked.get(key):
            seeds = key == "seed" and stored.get("rng") != asked.get("rng")
            was, now = (each.get("rng" if seeds else key) for each in (stored, asked))
            raise ValueError(
                f"{path} holds another study: {key} was {was!r}, and is {now!r} now. It is left as it is; name another "
                "store, or run the study that it holds."
            )
