"""Files that hold columns, read no further than needed."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibstat.reading.frames import Selection, arguments_from, frame_names

Choose = Callable[[list[str]], Selection]


def read_npz(path: Path, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from a file of numpy arrays; nothing in it is executed (no pickles)."""
    with _opened(path) as arrays:
        if not hasattr(arrays, "files"):
            raise ValueError("it holds a single array without a name; save it with numpy.savez")
        chosen = choose(list(arrays.files))
        return arguments_from({name: arrays[name] for name in chosen.names}, chosen)


def _opened(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError("it is damaged, or no NPZ file; write one with numpy.savez") from error


def read_parquet(path: Path, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from a Parquet file."""
    _need("pyarrow", "Parquet")
    from pyarrow import parquet

    chosen = choose(list(parquet.read_schema(path).names))
    return arguments_from(parquet.read_table(path, columns=chosen.names), chosen)


def read_netcdf(path: Path, choose: Choose) -> dict[str, Any]:
    """The arguments of `examine` from a NetCDF file, of version 4 (which is HDF5) or 3."""
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    if not classic:
        # h5netcdf no longer brings h5py along.
        _need("h5netcdf", "NetCDF")
        _need("h5py", "NetCDF")
    import xarray

    with xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf") as dataset:
        chosen = choose(frame_names(dataset))
        return arguments_from(dataset[chosen.names].load(), chosen)


def _need(module: str, kind: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(f'reading {kind} needs {module}: pip install "calibstat[files]"')
