"""The state of a monitor in a file of numbers and plain text: nothing in it is executed when it is read."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np

from calibstat._files import check_writable, expect_file, written_whole
from calibstat.data.arrays import Array
from calibstat.data.files import arrays_of
from calibstat.estimators.kernels import GaussianKernel, LaplaceKernel
from calibstat.estimators.scores import BrierScore, LogScore
from calibstat.lenses.relabel import Canonical, ClassWise, Partition, TopK, TopLabel
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets

STATE_FORMAT = "calibstat monitor 2"
# What may be changed on the way: it decides which rows are taken, not what is bet on those that are.
HANDLING = ("bad_rows", "max_waiting", "when_full")
_KNOWN: dict[str, Any] = {
    made.__name__: made
    for made in (
        Canonical,
        ClassWise,
        Partition,
        TopK,
        TopLabel,
        KernelBets,
        LikelihoodRatioBets,
        GaussianKernel,
        LaplaceKernel,
        BrierScore,
        LogScore,
    )
}


def write_state(path: str | Path, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write settings and arrays; the file is replaced at once, so that an interruption leaves the old one."""
    target = Path(path)
    check_writable(target)
    known = {"format": STATE_FORMAT} | dict(settings)
    described = np.array(json.dumps(known | {"checksum": _checksum(known, arrays)}))
    with written_whole(target) as place, place.open("wb") as file:
        np.savez(file, settings=described, **arrays)  # type: ignore[arg-type]


def _checksum(settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return a checksum of settings, without their own, and of the arrays with their names and types."""
    found = sha256(json.dumps(dict(settings)).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def no_state(path: str | Path) -> str:
    """Say that a file holds no state that can be used, and what to do."""
    return (
        f"{path} does not hold the state of a monitor, or is damaged: restore a copy of the file that was saved, or "
        "begin a new state with all rows"
    )


def read_state(path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read settings and arrays; a file that is not the state of a monitor is refused."""
    expect_file(path)
    if Path(path).is_file() and not is_zipfile(path):
        raise ValueError(no_state(path))
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = arrays_of(file, file.files)
        settings = json.loads(str(arrays.pop("settings")))
        checksum = settings.pop("checksum", None)  # earlier versions wrote none
        if checksum not in (None, _checksum(settings, arrays)):
            raise ValueError("its checksum is that of other content")
        found = settings.pop("format")
    except FileNotFoundError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, RuntimeError, BadZipFile):
        raise ValueError(no_state(path)) from None
    if found != STATE_FORMAT:
        raise ValueError(
            f"{path} has the format {found!r}, but {STATE_FORMAT!r} is expected: it is from another version"
        )
    if "alpha" in settings:  # what the level was called before
        settings["level"] = settings.pop("alpha")
    return settings, arrays


def expect_same(path: str | Path, stored: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse the state of a monitor that bets otherwise, naming all settings that differ."""
    differing = [
        f"{name} {stored.get(name)!r} (here {own[name]!r})"
        for name in own
        if name not in HANDLING and stored.get(name) != own[name]
    ]
    if differing:
        raise ValueError(f"{path} is the state of another monitor: it has {', '.join(differing)}")


def made_of(text: str) -> Any:
    """Make the lens, or the bets, that printed itself as `text`; only those of this package, with plain values.

    Anything else, such as a region given by a function, is a ValueError.

    >>> made_of("TopLabel()"), made_of("ClassWise(label=2)")
    (TopLabel(), ClassWise(label=2))
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"{text} cannot be made from a file: make the monitor as before, and call its restore(path)"
        ) from error


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _read(node.left) | _read(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KNOWN:
        named = {str(each.arg): _read(each.value) for each in node.keywords}
        return _KNOWN[node.func.id](*map(_read, node.args), **named)
    return ast.literal_eval(node)
