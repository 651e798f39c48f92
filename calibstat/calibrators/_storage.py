"""Fitted calibrators as JSON: nothing in a file is executed when it is read."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import calibstat.calibrators as calibrators
from calibstat._files import written_whole
from calibstat.binnings import intervals
from calibstat.binnings.base import Binning
from calibstat.calibrators.base import Calibrator

FORMAT = "calibstat calibrator 1"
# What may be made from a file, by name; Calibrated holds a classifier, which numbers and names cannot describe.
CALIBRATORS = tuple(name for name in dir(calibrators) if name not in ("Calibrated", "Calibrator", "load", "save"))
BINNINGS = ("EqualMass", "EqualWidth", "FixedEdges")


def save(calibrator: Calibrator, path: str | Path) -> None:
    """Write a fitted calibrator to a file.

    Parameters
    ----------
    calibrator : Calibrator
        Of this package; `Calibrated` holds a classifier and cannot be written.
    path : str or path

    Raises
    ------
    TypeError
        If it holds something that cannot be written.
    """
    content = {"format": FORMAT, "calibrator": _storable(calibrator)}
    with written_whole(path) as place:
        place.write_text(json.dumps(content) + "\n", encoding="utf-8")


def load(path: str | Path) -> Calibrator:
    """Read a fitted calibrator; files from elsewhere are safe to read, as they hold numbers and names only.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ValueError
        If the file does not hold a calibrator.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}, expected {FORMAT!r}")
        found = _restored(content["calibrator"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} does not hold a calibrator of this package: {error}") from None
    if not isinstance(found, Calibrator):
        raise ValueError(f"{path} does not hold a calibrator of this package")
    return found


def _storable(value: Any) -> Any:
    if isinstance(value, Calibrator):
        name = type(value).__name__
        if name not in CALIBRATORS:
            raise TypeError(f"{name} is not a calibrator of this package, and cannot be written")
        state = {key: _storable(each) for key, each in vars(value).items()}
        return {"is": "calibrator", "name": name, "state": state}
    if isinstance(value, Binning):
        return _storable_binning(value)
    if isinstance(value, np.ndarray):
        kind = "text" if value.dtype.kind in "OU" else value.dtype.str
        return {"is": "array", "type": kind, "values": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {"is": "dict", "items": {key: _storable(each) for key, each in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"is": type(value).__name__, "items": [_storable(each) for each in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{value!r} cannot be written")


def _storable_binning(binning: Any) -> Any:
    name = type(binning).__name__
    if name not in BINNINGS:
        raise TypeError(f"{binning!r} cannot be written")
    parameters = {each.name: _storable(getattr(binning, each.name)) for each in fields(binning) if each.init}
    return {"is": "binning", "name": name, "fields": parameters}


def _restored(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    kind = content["is"]
    if kind == "calibrator":
        made = _looked_up(CALIBRATORS, calibrators, content["name"])
        found = made.__new__(made)
        for key, value in content["state"].items():
            if not key.isidentifier() or key.startswith("__") or callable(getattr(made, key, None)):
                raise ValueError(f"{key!r} is not an attribute of {content['name']}")
            setattr(found, key, _restored(value))
        return found
    if kind == "binning":
        made = _looked_up(BINNINGS, intervals, content["name"])
        return made(**{key: _restored(value) for key, value in content["fields"].items()})
    if kind == "array":
        return _array(content)
    if kind == "dict":
        return {key: _restored(value) for key, value in content["items"].items()}
    items = [_restored(value) for value in content["items"]]
    return tuple(items) if kind == "tuple" else items


def _array(content: dict[str, Any]) -> Any:
    if content["type"] == "text":
        return np.array(content["values"], dtype=object)
    dtype = np.dtype(content["type"])
    if dtype.kind not in "biuf":
        raise ValueError(f"arrays of {dtype} are not read")
    return np.array(content["values"], dtype=dtype)


def _looked_up(known: tuple[str, ...], home: ModuleType, name: str) -> Any:
    if name not in known:
        raise ValueError(f"{name!r} is not among {', '.join(known)}")
    return getattr(home, name)
