"""Numpy functions that have a compiled twin, which replaces them if the user calls `accelerate`.

The numpy function is the definition; the twin (in `calibstat._fast`, by numba) takes the same arguments and returns the
same numbers up to rounding. Random numbers are drawn before either is called, so that draws do not depend on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, ParamSpec, TypeVar

from calibstat._threads import use_threads

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class _Setting:
    """Whether this process uses twins."""

    on: bool = False


def _wanted(word: str) -> bool:
    """Read the environment variable."""
    if word.lower() not in ("", "0", "1", "false", "true", "no", "yes", "off", "on"):
        raise ValueError(f"the environment variable CALIBSTAT_ACCEL is {word!r}; it must be 1 or 0.")
    return word.lower() in ("1", "true", "yes", "on")


_setting: Final = _Setting(on=_wanted(os.environ.get("CALIBSTAT_ACCEL", "")))
_twins: Final[dict[Callable[..., Any], str]] = {}
"""The twin, as "module:name", of each numpy function that has one."""


def accelerate(on: bool = True, *, n_threads: int | None = None) -> None:
    """Switch compiled inner loops on or off in this process, and say how many threads a call may use.

    Numpy gives the same numbers: draws are the same, and values differ by rounding (1e-10 of the numbers that are added
    up), so that the same number of draws reaches the observed value. The environment variable ``CALIBSTAT_ACCEL=1``
    switches the loops on for a process and its workers. Each loop is compiled when it is first used, which takes
    seconds, and kept on disk for the next process.

    Parameters
    ----------
    on : bool
    n_threads : int, optional
        How many threads one call may use where its work can be split, as blocks of draws can, compiled or not; no value
        depends on it. By default as many as the process has cores, or the environment variable ``CALIBSTAT_THREADS``.

    Raises
    ------
    ValueError
        If an argument has the wrong type or range.
    ImportError
        If numba is not installed (the extra ``accel``).

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.accelerate(False)
    """
    if not isinstance(on, bool):
        raise ValueError(f"on is {on!r}; it must be True or False.")
    if n_threads is not None and (isinstance(n_threads, bool) or not hasattr(n_threads, "__index__") or n_threads < 1):
        raise ValueError(f"n_threads is {n_threads!r}; it must be a whole number of at least 1, or None.")
    if on:
        _expect_numba()
    _setting.on = on
    use_threads(None if n_threads is None else int(n_threads))
    for function, twin in _twins.items():
        *inside, name = function.__qualname__.split(".")
        home: Any = sys.modules[function.__module__]
        for each in inside:
            home = getattr(home, each)
        setattr(home, name, _by_twin(function, twin) if on else function)


def has_twin(twin: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let `accelerate` replace the decorated function by the compiled one at "module:name".

    It is replaced in its module or its class, so call it as an attribute of these: a name that another module has
    imported keeps the numpy function. The compiled function may return ``NotImplemented`` for arguments that it does
    not take.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _twins[function] = twin
        return _by_twin(function, twin) if _setting.on else function

    return decorate


def _by_twin(function: Callable[P, R], twin: str) -> Callable[P, R]:
    """Return a function that calls the twin, or the numpy function for arguments that the twin does not take."""

    @wraps(function)
    def either(*args: P.args, **kwargs: P.kwargs) -> R:
        _expect_numba()
        module, name = twin.split(":")
        result = getattr(import_module(module), name)(*args, **kwargs)
        return function(*args, **kwargs) if result is NotImplemented else result

    return either


def _expect_numba() -> None:
    if find_spec("numba") is None:
        raise ImportError(
            "acceleration needs numba, which is not installed; install the extra with "
            '`python -m pip install "calibstat[accel]"`, or leave it off (unset CALIBSTAT_ACCEL).'
        )
