"""What is swept, by name, worked out for each number of bins; what does not depend on it is there once."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import threadpoolctl

from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import SmallCellsWarning
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency

Plain: TypeAlias = Callable[[Ints, Floats], Any]
Swept: TypeAlias = Estimator | Plain
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A test: a statistic and the null that it is judged by."""

    estimator: Estimator
    null: Null

    def __repr__(self) -> str:
        return f"{self.estimator!r} tested by {self.null!r}"


@dataclass(frozen=True)
class Slot:
    """One thing to evaluate on each sample; `n_bins` is 0 if it is the same for all of them."""

    name: str
    n_bins: int
    thing: Any

    def __str__(self) -> str:
        return f"{self.name}, n_bins = {self.n_bins}: {described(self.thing)}"


@dataclass(frozen=True, eq=False)
class Slots:
    """All things to evaluate, and where their values belong.

    Parameters
    ----------
    names : tuple of str
    each : tuple of Slot
    where : (names, bins) ints
        The slot of each name at each number of bins.
    """

    names: tuple[str, ...]
    each: tuple[Slot, ...]
    where: Ints

    def __len__(self) -> int:
        return len(self.each)


def slots_of(argument: str, given: Mapping[str, Any], n_bins: Sequence[int], kind: Callable[[str, Any], Any]) -> Slots:
    """Work out what each name stands for at each number of bins.

    Parameters
    ----------
    argument : str
        Its name, for messages.
    given : mapping
        Of names to things, or to functions of the number of bins that return things.
    n_bins : sequence of int
    kind : callable
        Checks a thing; takes its name and the thing.
    """
    expect_names(argument, given)
    found: list[Slot] = []
    where = np.zeros((len(given), len(n_bins)), dtype=np.intp)
    for row, (name, thing) in enumerate(given.items()):
        for column, count in enumerate(n_bins):
            slot = _slot(argument, name, thing, count, kind)
            if slot not in found:
                found.append(slot)
            where[row, column] = found.index(slot)
    return Slots(tuple(given), tuple(found), where)


def expect_names(argument: str, given: Any) -> None:
    """Refuse anything but a mapping of names."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(
            f"{argument} is {given!r}, but a dict of names is expected: {argument}={{'ECE': lambda n_bins: "
            "ECE(EqualMass(n_bins))}; leave it out if there are none."
        )


def _slot(argument: str, name: str, thing: Any, n_bins: int, kind: Callable[[str, Any], Any]) -> Slot:
    if callable(thing) and not isinstance(thing, Estimator):
        _expect_function_of_bins(argument, name, thing)
        return Slot(name, n_bins, kind(name, thing(n_bins)))
    return Slot(name, 0, kind(name, thing))


def _expect_function_of_bins(argument: str, name: str, thing: Any) -> None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):  # it has none that can be seen
        return
    try:
        signature.bind(1)
    except TypeError:
        raise TypeError(
            f"{argument}[{name!r}] is a function of {signature}, but one of the number of bins is expected, which "
            "returns an estimator or a function of labels and probabilities: put 'lambda n_bins: ' in front of it."
        ) from None


def as_swept(name: str, thing: Any) -> Swept:
    """Check an estimator, or a plain function of labels and probabilities."""
    if isinstance(thing, Estimator) or callable(thing):
        return thing
    raise TypeError(
        f"estimators[{name!r}] is {thing!r}, but an estimator is expected, or a function of n_bins that returns an "
        "estimator or a function of labels and probabilities: lambda n_bins: ECE(EqualMass(n_bins))."
    )


def as_asked(name: str, thing: Any) -> Asked | Plain:
    """Check a test: an estimator, a pair (estimator, null), or a plain function that returns a p-value."""
    if isinstance(thing, Estimator):
        return Asked(thing, Consistency())
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], Estimator) and isinstance(thing[1], Null):
        return Asked(*thing)
    if callable(thing):
        return thing
    raise TypeError(
        f"tests[{name!r}] is {thing!r}, but an estimator is expected, a pair (estimator, null), or a function of "
        "n_bins that returns one of these or a function of labels and probabilities that returns a p-value."
    )


def call_plain(function: Plain, sample: Sample) -> float:
    """Call a function of labels (as column numbers) and probabilities (of the event alone, for two classes)."""
    predictions = sample.predictions
    two = predictions.n_classes == 2
    return float(function(sample.outcomes, predictions.event if two else predictions.probabilities))


# What tells one estimator, test or function from another, so that a store never returns the numbers of another one.

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


# What must hold in the whole process while a sweep computes: no warnings of small cells, one BLAS thread.

# It has no types.
_threadpoolctl: Any = threadpoolctl


@dataclass
class WhileAnyone:
    """Enters a context when the first thread comes, and leaves it when the last one goes.

    Parameters
    ----------
    make : callable
        Returns the context.
    """

    make: Callable[[], AbstractContextManager[Any]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    entered: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.entered = self.make()
                self.entered.__enter__()
            self.inside += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.entered is not None:
                self.entered.__exit__(None, None, None)


@contextmanager
def _no_small_cells() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellsWarning)
        yield


def _one_thread() -> AbstractContextManager[Any]:
    limits: AbstractContextManager[Any] = _threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    return limits


quiet = WhileAnyone(_no_small_cells)
"""Thousands of cells are small, and on purpose; filters of warnings belong to the process, not to the thread."""
one_blas_thread = WhileAnyone(_one_thread)
"""Products of matrices round differently for other numbers of threads, and threads of ours keep all cores busy."""
