"""What tells one estimator, test or function from another, so that a store never returns the numbers of another one."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

UNTOLD = "of which nothing can be told"
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_DEEPEST = 20
_CODE, _ARRAY = "<code>", "<array>"


def described(thing: Any) -> str:
    """Write what a thing is so that two processes write the same, and two different things differ.

    That is its repr without addresses and, where there is more to it, a digest: of the code of functions, what they
    enclose, their defaults, the functions of their module that they name and its plain constants; of the attributes of
    an object that can be called. `UNTOLD` stands where an object has neither attributes nor a repr of its own.
    """
    told = _told(thing, 0)
    if _is_ours(thing) and _CODE not in told and _ARRAY not in told:
        return _written(thing)
    text = f"{_written(thing)}, code {hashlib.sha256(told.encode()).hexdigest()[:12]}"
    return f"{text}, {UNTOLD}" if UNTOLD in told else text


def _is_ours(thing: Any) -> bool:
    """Whether a thing is of this package, whose version is part of every study, and whose reprs tell all but arrays."""
    return type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]


def _written(thing: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(thing))


def _told(thing: Any, depth: int) -> str:
    """Tell a thing with all that is in it."""
    if isinstance(thing, _PLAIN) or depth > _DEEPEST:
        return _written(thing) if isinstance(thing, _PLAIN) else "..."
    if isinstance(thing, np.ndarray):
        contents = _all(thing.tolist(), depth) if thing.dtype.hasobject else np.ascontiguousarray(thing).tobytes().hex()
        return f"{_ARRAY} {thing.shape} {thing.dtype} {contents}"
    if isinstance(thing, (list, tuple)):
        return _all(thing, depth)
    if isinstance(thing, Mapping):
        return _all([each for pair in thing.items() for each in pair], depth)
    if isinstance(thing, (set, frozenset)):
        return _all(sorted(_told(each, depth + 1) for each in thing), depth)
    if isinstance(thing, FunctionType):
        return _function(thing, depth)
    if isinstance(thing, MethodType):
        return _all([thing.__func__, thing.__self__], depth)
    if isinstance(thing, functools.partial):
        return _all([thing.func, thing.args, thing.keywords], depth)
    return _object(thing, depth)


def _all(things: Any, depth: int) -> str:
    return f"({', '.join(_told(each, depth + 1) for each in things)})"


def _function(function: FunctionType, depth: int) -> str:
    """Tell the code of a function, and what decides what it does as far as that can be seen."""
    cells = [_content(cell) for cell in function.__closure__ or ()]
    named = {name: function.__globals__[name] for name in sorted(_names(function.__code__) & {*function.__globals__})}
    helpers = {name: each for name, each in named.items() if _is_own(each, function)}
    given = [function.__defaults__, function.__kwdefaults__, cells, helpers]
    return f"{_code(function.__code__)} {_all(given, depth)}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _is_own(thing: Any, function: FunctionType) -> bool:
    """Whether it is a function of the same module or a plain constant."""
    if isinstance(thing, FunctionType):
        return thing.__globals__ is function.__globals__
    return isinstance(thing, _PLAIN)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names}.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _code(code: CodeType) -> str:
    """Tell byte code with that of the functions in it; not where it stands."""
    constants = [_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return _CODE + repr((code.co_code.hex(), constants, code.co_names, code.co_varnames))


def _object(thing: Any, depth: int) -> str:
    """Tell an object by its class, its repr and its attributes."""
    kind = type(thing)
    call = None if _is_ours(thing) else inspect.getattr_static(kind, "__call__", None)
    name = f"{kind.__module__}.{kind.__qualname__} {_code(call.__code__) if isinstance(call, FunctionType) else ''}"
    written: Any = kind.__repr__
    state, mute = _state(thing), written is object.__repr__
    if state is None:
        return f"{name} {UNTOLD if mute and _CODE not in name else _written(thing)}"
    return f"{name} {'' if mute else _written(thing)} {_told(state, depth + 1)}"


def _state(thing: Any) -> Any:
    """Return the parameters of an object, None where they cannot be seen."""
    if isinstance(thing, type) or not hasattr(thing, "__reduce_ex__"):
        return None
    if is_dataclass(thing):
        return {each.name: getattr(thing, each.name, None) for each in fields(thing)}
    if hasattr(thing, "__dict__"):
        return dict(vars(thing))
    slots = [
        name for kind in type(thing).__mro__ for name in kind.__dict__.get("__slots__", ()) if name != "__weakref__"
    ]
    return {name: getattr(thing, name, None) for name in slots} if slots else None
