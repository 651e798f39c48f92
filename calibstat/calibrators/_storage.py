"""Fitted calibrators as JSON files, which are read without executing anything in them."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import calibstat.calibrators as calibrators
from calibstat._files import expect_file, written_whole
from calibstat._text import counted
from calibstat.binnings import intervals
from calibstat.binnings.base import Binning
from calibstat.binnings.tree_leaves import check_nodes
from calibstat.calibrators.base import Calibrator, position_of

FORMAT = "calibstat calibrator 2"
# The classes that a file may name; Calibrated holds a classifier, which numbers and names cannot describe.
CALIBRATORS = tuple(name for name in dir(calibrators) if name not in ("Calibrated", "Calibrator", "load", "save"))
LARGEST = 1e150  # a fit gives no larger numbers
BINNINGS = ("EqualMass", "EqualWidth", "FixedEdges")


def save(calibrator: Calibrator, path: str | Path) -> None:
    """Write a fitted calibrator to a file.

    Parameters
    ----------
    calibrator : Calibrator
        A calibrator of this package, but not `Calibrated`, which holds a classifier.
    path : str or path

    Raises
    ------
    TypeError
        If the calibrator holds something that cannot be written.
    """
    found = _storable(calibrator)
    content = {"format": FORMAT, "checksum": _checksum(found), "calibrator": found}
    with written_whole(path) as place:
        place.write_text(json.dumps(content) + "\n", encoding="utf-8")


def load(path: str | Path) -> Calibrator:
    """Read a fitted calibrator; it is safe to read files of others, since they hold only numbers and names.

    A checksum shows whether the file was changed after it was written. The calibrator must also be complete and
    finite, and must return probabilities for a few rows.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file does not hold a calibrator.
    """
    try:
        expect_file(path)
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or {"format", "checksum", "calibrator"} - set(content):
            raise ValueError("it is not what save() writes: an object with format, checksum and calibrator")
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}, expected {FORMAT!r}")
        if content["checksum"] != _checksum(content["calibrator"]):
            raise ValueError("its checksum is that of other content: it was changed or damaged after it was saved")
        found = _restored(content["calibrator"])
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise _no_calibrator(path, ": it is not JSON") from None
    except RecursionError:
        raise _no_calibrator(path, ": it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _no_calibrator(path, f": {error}") from None
    if not isinstance(found, Calibrator) or not hasattr(found, "classes_"):
        raise _no_calibrator(path, " that is fitted")
    return found


def _no_calibrator(path: str | Path, why: str) -> ValueError:
    return ValueError(
        f"{path} does not hold a calibrator of this package{why}; fit the calibrator and save it again, or restore a "
        "copy of the file"
    )


def _checksum(content: Any) -> str:
    return sha256(json.dumps(content).encode()).hexdigest()


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
    raise TypeError(f"{value!r} cannot be written: a file holds numbers, text, arrays and calibrators of this package")


def _storable_binning(binning: Any) -> Any:
    name = type(binning).__name__
    if name not in BINNINGS:
        raise TypeError(f"{binning!r} cannot be written: a file holds binnings of the kinds {', '.join(BINNINGS)}")
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
                raise ValueError(f"{key!r} is no attribute of a {content['name']}")
            setattr(found, key, _restored(value))
        _check(found)
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
    found = np.array(content["values"], dtype=dtype)
    if not (np.abs(found) < LARGEST).all():
        raise ValueError(f"an array holds a number that is not finite, or not below {LARGEST:g} in size")
    return found


def _looked_up(known: tuple[str, ...], home: ModuleType, name: str) -> Any:
    if name not in known:
        raise ValueError(f"{name!r} is not among {', '.join(known)}")
    return getattr(home, name)


# Checks of what was read.


def _check(found: Any) -> None:
    """Refuse a calibrator that is incomplete, or that is fitted but returns no probabilities for a few rows."""
    state, name = vars(found), type(found).__name__
    fitted = {key for key in state if key.endswith("_")}
    missing = {*found._get_param_names(), *(("classes_", "n_features_in_") if fitted else ())} - set(state)
    strange = set(state) - fitted - set(found._get_param_names())
    if missing or strange:
        wrong = {"lacks": missing, "holds the unknown": strange}
        raise ValueError(" and ".join(f"its {name} {verb} {', '.join(sorted(w))}" for verb, w in wrong.items() if w))
    for key, value in state.items():
        if isinstance(value, float) and not (abs(value) < LARGEST or value == np.inf):
            raise ValueError(f"{key} of its {name} is {value}, but a finite number is expected")
        if key in ("edges_", "cuts_", "scores_", "knots_") and (np.ndim(value) != 1 or (np.diff(value) < 0).any()):
            raise ValueError(f"{key} of its {name} are not in increasing order")
    parts = state.get("calibrators_", [])
    if not all(isinstance(each, Calibrator) for each in (parts.values() if isinstance(parts, dict) else parts)):
        raise ValueError(f"calibrators_ of its {name} holds something else than calibrators")
    if "tree_" in state:
        check_nodes(found.tree_, found.n_features_in_)
        if len(state.get("values_", found.tree_["left"])) != len(found.tree_["left"]):
            raise ValueError("its tree_ has not one of values_ for each node")
    if "predictions_" in state and np.shape(found.predictions_) != np.shape(found.values_):
        raise ValueError("its predictions_ have not one row of values_ each")
    if fitted:
        if not isinstance(found.classes_, np.ndarray) or found.classes_.shape != np.unique(found.classes_).shape:
            raise ValueError("its classes_ are not an array of distinct labels")
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            said = found._said(_few_rows(found))
        if said.shape[1] != len(found.classes_):
            raise ValueError(
                f"it is for {counted(len(found.classes_), 'class')}, but gives {said.shape[1]} probabilities"
            )


def _few_rows(found: Any) -> Any:
    """Return rows at the corners of the simplex and between them, with variables at 0 and 1."""
    variables = getattr(found, "variables", [found.variable] if hasattr(found, "variable") else [])
    n_columns, n_classes = int(found.n_features_in_), len(found.classes_)
    shown = n_columns - len(variables)
    if n_columns != found.n_features_in_ or not (shown == n_classes or (n_classes == 2 and 1 <= shown <= 10**6)):
        raise ValueError(
            f"it is for {counted(n_classes, 'class')}, but takes {counted(found.n_features_in_, 'column')}"
        )
    rows = np.linspace(0, 1, 101)[:, None] if shown == 1 else np.vstack([np.eye(shown), np.full((1, shown), 1 / shown)])
    places = sorted({position_of(found, n_columns, each) for each in variables})
    whole = np.empty((2, len(rows), n_columns))
    whole[:, :, np.delete(np.arange(n_columns), places)] = rows
    whole[:, :, places] = np.arange(2)[:, None, None]
    return whole.reshape(-1, n_columns)
