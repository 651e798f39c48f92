"""Parameters: the kinds that they must have, what levels are by default, and how frozen objects keep them."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from math import isfinite
from numbers import Real
from types import EllipsisType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from calibstat.data.arrays import Floats
from calibstat.data.columns import as_array

LEVEL: Final = 0.05
"""The level of tests that are not told another one."""

CONFIDENCE_LEVEL: Final = 1 - LEVEL
"""The confidence level of intervals that are not told another one."""

MOST_DRAWS: Final = 10**8
"""The most replicates that are drawn: each is kept, as a number of eight bytes."""

MOST_ROWS: Final = 10**10
"""The most rows that are drawn at once: the numbers of more do not fit into the memory of any machine at hand."""

MOST_BINS: Final = 10**7
"""The most cells that predictions are cut into, or points at which a curve is found: nobody has rows for more."""


class SmallCellsWarning(UserWarning):
    """Warns that more cells were asked for than the rows can fill."""


def at_least_one(name: str, value: int) -> int:
    """Return an integer >= 1, called `name` in messages; raise a ValueError or a TypeError (True is no integer)."""
    check_kind(name, value, Count)
    return operator.index(value)


def repeats(name: str, value: int) -> int:
    """Return how often something is drawn or run, called `name` in messages; more than can be waited for is refused."""
    check_kind(name, value, Draws if name == "n_resamples" else Repeats)
    return operator.index(value)


def true_or_false(name: str, value: bool) -> bool:
    """Return a boolean, called `name` in messages; anything else is a TypeError, since the text "False" is truthy."""
    check_kind(name, value, bool)
    return bool(value)


def check_share(name: str, value: Any, example: float) -> None:
    """Refuse what is no number between 0 and 1, as levels and confidence levels are."""
    check_kind(name, value, Share, f"{example:g}")


def numbers(name: str, value: Any, n_dimensions: tuple[int, ...] | None = (1, 2)) -> Floats:
    """Return numbers as an array of one of these dimensions; raise a TypeError that says what else was found."""
    found = _as_numbers(value)
    if found is None or not (n_dimensions is None or found.ndim in n_dimensions):
        shape = " or ".join(("()", "(n,)", "(n, K)")[each] for each in n_dimensions or ())
        raise TypeError(f"{name} is {_found(value)}; it must be numbers{f' of shape {shape}' if shape else ''}")
    return found


def _as_numbers(value: Any) -> Floats | None:
    """Return an array of floats, NaN where entries are masked; None of what holds anything but real numbers."""
    try:
        masked = "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)
        array = np.asarray(as_array("value", value) if masked else value)
        return None if array.dtype.kind in "cmMV" else np.asarray(array, dtype=np.float64)
    except Exception:  # each library raises its own exception for what it cannot convert
        return None


def keep(instance: object, **parameters: Any) -> None:
    """Set fields of a frozen dataclass while it is made, for example a tuple in place of the list that was passed."""
    for name, value in parameters.items():
        object.__setattr__(instance, name, value)


def without_defaults(instance: Any) -> str:
    """Write an object with its first parameter, unless that is a flag, and with those that are not the default ones."""
    first, *_ = every = fields(instance)
    always = () if isinstance(first.default, bool) else (first,)
    shown = [each for each in every if each in always or getattr(instance, each.name) != each.default]
    return f"{type(instance).__name__}({', '.join(f'{each.name}={getattr(instance, each.name)!r}' for each in shown)})"


# The kind of a parameter is its annotation. Limits stand in the annotation too, beside the type.


class Limits(NamedTuple):
    """Which values a number may have: a test, and the same in words, with an example where that helps."""

    test: Callable[[Any], bool]
    words: str


Count: TypeAlias = Annotated[int, Limits(lambda value: value >= 1, "an integer of at least 1")]
Bins: TypeAlias = Annotated[
    int, Limits(lambda value: 1 <= value <= MOST_BINS, "an integer of at least 1 and at most 10 million")
]
Knots: TypeAlias = Annotated[
    int, Limits(lambda value: 1 <= value <= 10_000, "an integer of at least 1 and at most 10 000")
]
_UP_TO_MOST = "an integer of at least 1 and at most 100 million, since more would take days"
Repeats: TypeAlias = Annotated[int, Limits(lambda value: 1 <= value <= MOST_DRAWS, _UP_TO_MOST)]
Draws: TypeAlias = Annotated[
    int,
    Limits(
        lambda value: 1 <= value <= MOST_DRAWS,
        f"{_UP_TO_MOST}; p-values too small for that are computed by null='exact' or null='asymptotic'",
    ),
]
Share: TypeAlias = Annotated[float, Limits(lambda value: 0 < value < 1, "a number between 0 and 1")]
Proportion: TypeAlias = Annotated[float, Limits(lambda value: 0 <= value <= 1, "a number from 0 to 1")]
Tail: TypeAlias = Annotated[float, Limits(lambda value: 0 <= value < 0.5, "a number of at least 0 and below 0.5")]
Positive: TypeAlias = Annotated[float, Limits(lambda value: 0 < value < np.inf, "a finite number above 0")]
NotNegative: TypeAlias = Annotated[float, Limits(lambda value: 0 <= value < np.inf, "a finite number of at least 0")]
Finite: TypeAlias = Annotated[float, Limits(lambda value: isfinite(float(value)), "a finite number")]
# Higher powers of small errors are below the smallest float, and such a norm is nearly the maximum. Of powers without
# their root, small values would be within rounding of zero.
_HIGHEST, _HIGHEST_POWER = 50, 10
Order: TypeAlias = Annotated[
    float, Limits(lambda value: 1 <= value <= _HIGHEST_POWER, f"a number from 1 to {_HIGHEST_POWER}")
]
Norm: TypeAlias = Annotated[
    float,
    Limits(lambda value: 1 <= value <= _HIGHEST or value == np.inf, f"a number from 1 to {_HIGHEST}, or numpy.inf"),
]


class HasParameters:
    """Base of what users make from parameters; a dataclass among its subclasses has them checked when it is made.

    A parameter must be of the kind that its annotation says, or a TypeError or ValueError says what was found, what is
    expected, and an example. `in_messages` is how a message speaks of the objects of a class.
    """

    in_messages: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        own = cls.__dict__.get("__post_init__")
        if own is not None:  # kinds come first, so that what a class checks itself can rely on them

            @wraps(own)
            def checked_first(self: Any) -> None:
                check_fields(self)
                own(self)

            cls.__post_init__ = checked_first  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(instance: Any) -> None:
    """Refuse a dataclass with a field that is not of the kind of its annotation; keep plain numbers."""
    for name, kind in _kinds(instance.__class__):
        value = getattr(instance, name)
        if not kind.test(value):
            raise _refusal(name, value, kind, type(instance).__name__)
        plain = _plain(value)
        if plain is not value and kind.test(plain) and not kind.test(_NO_NUMBER):
            keep(instance, **{name: plain})


_NO_NUMBER: Final = object()


def _plain(value: Any) -> Any:
    """Return a fraction, or an integer beyond those of numpy, as a float; an array without dimensions as a number."""
    beyond = type(value) is int and abs(value) >= 2**63 and _in_range(value)
    if beyond or (_number(value) and not isinstance(value, (int, float, np.number))):
        return float(value)
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def check_arguments(function: Callable[..., Any], owner: str, **arguments: Any) -> None:
    """Refuse arguments of a function that are not of the kind of its annotations."""
    for name, kind in _kinds(function):
        if name in arguments and not kind.test(arguments[name]):
            raise _refusal(name, arguments[name], kind, owner)


def check_kind(name: str, value: Any, hint: Any, example: str = "") -> None:
    """Refuse a value, called `name` in messages, that is not of the kind of this annotation."""
    kind = _kind_of(hint)
    if not kind.test(value):
        raise _refusal(name, value, kind._replace(words=kind.words + (f", for example {example}" if example else "")))


class _Kind(NamedTuple):
    """What a parameter must be: a test, the same in words, and whether at least the type is right."""

    test: Callable[[Any], bool]
    words: str
    typed: Callable[[Any], bool]


def _refusal(name: str, value: Any, kind: _Kind, owner: str = "") -> Exception:
    typed = kind.typed(value)
    found = _shown(value) if typed else _found(value)
    error = ValueError if typed else TypeError
    return error(f"{owner + ': ' if owner else ''}{name} is {found}; it must be {kind.words}")


def _shown(value: Any) -> str:
    try:
        shown = repr(value)
    except Exception:  # numbers of more digits than Python writes, and objects that cannot show themselves
        return f"an object of type {type(value).__name__}"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _found(value: Any) -> str:
    """Return what was passed, and what that is."""
    if isinstance(value, type):
        return f"the class {value.__name__}, not an object of it"
    shown = _shown(value)
    if isinstance(value, HasParameters) and value.in_messages:
        return f"{shown}, {value.in_messages.partition(',')[0]}"
    named = ((bool, "a boolean"), (Real, "a number"), (str, "a text"), (Mapping, "a mapping"), (NoneType, ""))
    what = next((words for each, words in named if isinstance(value, each)), f"of type {type(value).__name__}")
    return f"{shown}, {what}" if what else shown


@cache
def _kinds(owner: Any) -> tuple[tuple[str, _Kind], ...]:
    """Return the kinds of the fields of a dataclass, or of the arguments of a function: once for each."""
    try:
        hints = _hints_of_fields(owner) if inspect.isclass(owner) else get_type_hints(owner, include_extras=True)
    except NameError:  # an annotation of somebody else's class that only type checkers can read
        return ()
    kinds = [(name, _kind_of(hint)) for name, hint in hints.items() if name != "return"]
    return tuple((name, kind) for name, kind in kinds if kind is not _ANYTHING)


def _hints_of_fields(owner: type) -> dict[str, Any]:
    """Evaluate the annotations of the fields alone: `get_type_hints` takes five times as long for all of a class."""
    found = {each.name: each.type for each in fields(owner) if each.init} if is_dataclass(owner) else {}
    for base in owner.__mro__:
        known = getattr(sys.modules.get(base.__module__), "__dict__", {})
        for name in found.keys() & vars(base).get("__annotations__", {}).keys():
            hint = found[name]
            if isinstance(hint, str):
                hint = eval(hint, known)
            found[name] = NoneType if hint is None else hint
    return found


def _whole(value: Any) -> bool:
    return type(value) is int or isinstance(value, np.integer) or _index(value)


def _index(value: Any) -> bool:
    """Whether an object other than True stands for an integer, as an array of one dimension less than one does."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, (bool, np.bool_))


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _in_range(value: Any) -> bool:
    """Whether a number is one as a float too: no NaN, and no integer or fraction beyond the range of floats."""
    try:
        return float(value) == float(value)
    except OverflowError:
        return False


def _kind(test: Callable[[Any], bool], words: str) -> _Kind:
    return _Kind(test, words, test)


_ANYTHING = _kind(lambda _: True, "anything")
_PLAIN = {
    int: _kind(_whole, "an integer"),
    float: _Kind(lambda value: _number(value) and _in_range(value), "a number", _number),
    bool: _kind(lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    str: _kind(lambda value: isinstance(value, str), "a text"),
    NoneType: _kind(lambda value: value is None, "None"),
    EllipsisType: _kind(lambda value: value is ..., "..."),
    Hashable: _kind(
        lambda value: isinstance(value, Hashable) and not isinstance(value, (type, NoneType, HasParameters)),
        "a label, such as 1 or 'cat'",
    ),
}


def _kind_of(hint: Any) -> _Kind:
    """Return the kind that an annotation describes; what it does not know may be anything."""
    if isinstance(hint, Hashable) and hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind = _kind_of(arguments[0])
        return kind._replace(words=arguments[1]) if isinstance(arguments[1], str) else _limited(kind, arguments[1])
    if origin is Literal:
        alike = _either([_PLAIN[kind] for kind in dict.fromkeys(map(type, arguments))])
        return _Kind(lambda value: alike.test(value) and value in arguments, _listed(arguments), alike.test)
    if origin in (Union, UnionType):
        return _either([_kind_of(each) for each in arguments])
    if origin is Callable or origin is get_origin(Callable[..., Any]):
        return _kind(_function, "a function")
    if origin in (tuple, get_origin(Sequence[Any])):
        return _several(origin, arguments)
    if origin is get_origin(Mapping[str, Any]):
        name, each = map(_kind_of, arguments)
        words = "a mapping of names" + ("" if each is _ANYTHING else f", each {each.words}")

        def test(value: Any) -> bool:
            return isinstance(value, Mapping) and all(map(name.test, value)) and all(map(each.test, value.values()))

        return _kind(test, words)
    if inspect.isclass(hint) and origin is None and hint is not Any and not _only_for_type_checkers(hint):
        words = getattr(hint, "in_messages", "") or f"a {hint.__name__}"
        return _kind(lambda value: isinstance(value, hint) and not isinstance(value, type), words)
    return _ANYTHING


def _only_for_type_checkers(hint: type) -> bool:
    return getattr(hint, "_is_protocol", False) and not getattr(hint, "_is_runtime_protocol", False)


def _listed(known: tuple[Any, ...]) -> str:
    *first, last = map(repr, known)
    return f"{', '.join(first)} or {last}" if first else last


def _function(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, HasParameters))


def _limited(kind: _Kind, limits: Limits) -> _Kind:
    return _Kind(lambda value: kind.test(value) and limits.test(value), limits.words, kind.typed)


def _either(kinds: list[_Kind]) -> _Kind:
    if _ANYTHING in kinds:
        return _ANYTHING
    return _Kind(
        lambda value: any(kind.test(value) for kind in kinds),
        " or ".join(kind.words for kind in kinds),
        lambda value: any(kind.typed(value) for kind in kinds),
    )


def _several(origin: Any, arguments: tuple[Any, ...]) -> _Kind:
    """Several values in order: a list, a tuple or an array will do; pairs have the length of their annotation."""
    length = len(arguments) if origin is tuple and arguments[-1:] != (...,) else None
    kinds = [_kind_of(hint) for hint in arguments if hint is not ...] or [_ANYTHING]
    each = kinds[0] if len(set(arguments) - {...}) < 2 else None

    def listed(value: Any) -> bool:
        has_items = hasattr(value, "__len__") and hasattr(value, "__getitem__") and getattr(value, "ndim", 1) != 0
        return has_items and not isinstance(value, (str, Mapping, type))

    def test(value: Any) -> bool:
        if not listed(value) or (length is not None and len(value) != length):
            return False
        if each is None:
            return all(kind.test(one) for kind, one in zip(kinds, value, strict=True))
        return each is _ANYTHING or all(map(each.test, value))

    if each is None:
        member = f"values: {', '.join(kind.words for kind in kinds)}"
    else:
        member = "values" if each is _ANYTHING else f"values, each {each.words}"
    return _Kind(test, f"a list of {length or ''}{' ' if length else ''}{member}", listed)
