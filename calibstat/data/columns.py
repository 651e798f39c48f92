"""Turns whatever holds one value for each row into a numpy column, without copying where that can be avoided."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from numbers import Real
from typing import Any

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import shown
from calibstat.data.arrays import Array, Bools, Ints

# pandas' missing values, recognised by the names of their types, so that pandas need not be imported.
ABSENT = ("NoneType", "NAType", "NaTType", "MaskedConstant")


@dataclass(frozen=True, eq=False)
class Column:
    """One value for each row."""

    values: Array  # (n,), the numbers, NaN where missing; for text the position in `names`, -1 where missing
    names: tuple[str, ...] | None = None  # the distinct values
    boolean: bool = False  # whether the numbers came as booleans

    def missing(self) -> Bools | None:
        """Return which rows are missing; None if none is."""
        return absent(self.values) if self.names is None else _any(np.less(self.values, 0))

    def take(self, kept: Bools | Ints) -> Column:
        """Return the same column at the rows that are kept."""
        return replace(self, values=self.values[kept])


def absent(values: Array) -> Bools | None:
    """Return which rows of an array of numbers hold a NaN; None if none does."""
    # The minimum is NaN if any number is, so one fast pass replaces a mask.
    if values.dtype.kind != "f" or not values.size or not np.isnan(values.min()):
        return None
    holes: Bools = np.isnan(values)
    return holes if holes.ndim == 1 else np.logical_or.reduce(holes, axis=1)


def _any(mask: Bools) -> Bools | None:
    return mask if bool(mask.any()) else None


def refuse_lazy(name: str, given: Any) -> None:
    """Raise if a frame of polars has no values yet."""
    if type(given).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a LazyFrame, which has no values yet: pass its .collect()")


def as_array(name: str, given: Any) -> Array:
    """Return anything that numpy can read as an array of at least one dimension; masked entries become None."""
    if type(given) is np.ndarray and given.ndim:
        return given
    refuse_lazy(name, given)
    if "numpy.ma" in sys.modules and isinstance(given, np.ma.MaskedArray):  # numpy imports it when it is used
        return _unmasked(given)
    if isinstance(given, (list, tuple)) and set(map(type, given)) == {str}:
        return np.array(given, dtype=object)
    try:
        array: Array = np.asarray(given)
    except Exception as error:  # each library raises its own exception for what it cannot convert
        raise ValueError(_refusal(name, given, error)) from error
    if array.ndim == 0:
        raise TypeError(
            f"{name} is of type {type(given).__name__}, but one value for each row is expected: "
            "pass a list, an array or a column"
        )
    if isinstance(given, (list, tuple)) and array.ndim == 1 and len(set(map(type, given))) > 1:
        # numpy would silently turn [1, "a"] into text and [True, 2] into integers.
        return np.array(given, dtype=object)
    return array


def _unmasked(given: np.ma.MaskedArray[Any, Any]) -> Array:
    data: Array = np.asarray(given.data)
    if not np.ma.is_masked(given):
        return data
    objects = data.astype(object)
    objects[np.ma.getmaskarray(given)] = None
    return objects


def _refusal(name: str, given: Any, error: Exception) -> str:
    if hasattr(given, "detach"):
        return f"{name} is a tensor that numpy cannot read ({error}): pass {name}.detach().cpu()"
    return f"{name} cannot be read as an array ({error}): pass rows of equal length that hold plain values"


def column(name: str, given: Any) -> Column:
    """Read anything with one dimension as one value for each row: numbers, booleans or strings.

    None, NaN, NA and NaT count as missing. For anything else a ValueError names the column `name`.
    """
    array = as_array(name, given)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, but one value for each row is expected, shape (n,)")
    kind = array.dtype.kind
    if kind in "biuf":
        return Column(array, boolean=kind == "b")
    if kind == "S":
        array = _decoded(name, array)
    if kind in "OSTU":
        return _few_texts(array) or _of_objects(name, array.tolist())
    raise ValueError(f"{name} holds {array.dtype} values{_advice(kind)}")


def _decoded(name: str, array: Array) -> Array:
    try:
        return np.asarray(np.char.decode(array, "utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} holds bytes that are no text in UTF-8 ({error}): decode them first") from error


def _advice(kind: str) -> str:
    if kind in "mM":
        return ": convert dates and times to numbers first, for example days since a fixed day"
    return ", but numbers, booleans or strings are expected"


# Up to so many distinct texts are compared with all texts in turn, letter by letter up to this length.
_FEW, _SHORT = 5, 8
_LOOKED_AT = 100


def _few_texts(array: Array) -> Column | None:
    """Read texts that have few distinct values, several times faster than by a dictionary; None for anything else."""
    start = array[:_LOOKED_AT].tolist()
    if set(map(type, start)) != {str} or len(set(start)) > _FEW:
        return None
    masks: dict[str, Bools] = {}
    left = np.ones(len(array), dtype=bool)
    while left.any():
        text = array[int(left.argmax())]
        if not isinstance(text, str) or text in masks or len(masks) == _FEW:
            return None
        try:
            masks[str(text)] = _equal_to(text, array)
        except (TypeError, ValueError):  # an object that cannot be compared, such as pandas' missing value
            return None
        left &= ~masks[str(text)]
    names = tuple(sorted(masks))
    positions = np.zeros(len(array), dtype=np.intp)
    for place, name in enumerate(names[1:], start=1):  # a product is faster than an assignment by a mask
        positions += place * masks[name]
    return Column(positions, names)


def _equal_to(text: str, array: Array) -> Bools:
    """Return which texts (n,) are this one of them."""
    length = array.itemsize // 4
    if array.dtype.kind != "U" or length > _SHORT or not (array.dtype.isnative and array.flags.c_contiguous):
        return np.asarray(array == text)
    letters, wanted = (each.view(np.uint32).reshape(-1, length) for each in (array, np.array([text], array.dtype)))
    return np.logical_and.reduce([letters[:, place] == wanted[0, place] for place in range(length)])


def _of_objects(name: str, items: list[Any]) -> Column:
    if set(map(type, items)) == {str}:
        texts = tuple(sorted(set(items)))
        return Column(_positions(items, texts, None), texts)
    holes = _holes(items)
    present = items if holes is None else list(compress(items, ~holes))
    kinds = {_kind(each) for each in set(map(type, present))}
    if kinds <= {"number"}:
        return Column(_numbers(items, holes))
    if kinds == {"boolean"}:
        return Column(np.array(items, dtype=bool) if holes is None else _numbers(items, holes), boolean=True)
    if kinds == {"text"}:
        names = tuple(sorted(set(map(str, present))))
        return Column(_positions(items, names, holes), names)
    raise ValueError(
        f"{name} holds a mixture of types ({', '.join(sorted(kinds))}), "
        "but either numbers, booleans or strings are expected"
        if len(kinds) > 1
        else f"{name} holds {kinds.pop()} objects: convert them to numbers (dates: days since a fixed day) or strings"
    )


def _holes(items: list[Any]) -> Bools | None:
    if not any(each.__name__ in ABSENT or _kind(each) == "number" for each in set(map(type, items))):
        return None
    return _any(np.fromiter(map(_is_missing, items), bool, len(items)))


def _is_missing(item: Any) -> bool:
    if type(item).__name__ in ABSENT:
        return True
    if isinstance(item, (float, np.floating)):
        return bool(np.isnan(item))
    return hasattr(item, "is_nan") and bool(item.is_nan())  # a Decimal, whose library need not be imported to ask


def _is_decimal(each: type) -> bool:
    """Whether this is `decimal.Decimal`, which is not imported for the question."""
    return any(base.__name__ == "Decimal" and base.__module__ in ("decimal", "_pydecimal") for base in each.__mro__)


def _kind(each: type) -> str:
    if issubclass(each, str):
        return "text"
    if issubclass(each, (bool, np.bool_)):
        return "boolean"
    # numpy counts time differences among integers; here they are refused.
    if not issubclass(each, np.timedelta64) and (issubclass(each, Real) or _is_decimal(each)):
        return "number"
    return each.__name__


def _numbers(items: list[Any], holes: Bools | None) -> Array:
    if holes is not None:
        return np.array([np.nan if hole else _as_float(item) for item, hole in zip(items, holes, strict=True)])
    numbers = np.array(items)
    return numbers if numbers.dtype.kind in "iuf" else np.array(list(map(_as_float, items)))


def _as_float(number: Any) -> float:
    """Return the nearest float, which is infinite for an integer that no float can hold, as for the text 1e400."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _positions(items: list[Any], names: Sequence[str], holes: Bools | None) -> Ints:
    lookup = {name: position for position, name in enumerate(names)}
    if holes is None:
        return np.fromiter(map(lookup.__getitem__, items), np.intp, len(items))
    positions = np.full(len(items), -1, dtype=np.intp)
    positions[~holes] = [lookup[item] for item in compress(items, ~holes)]
    return positions


def occurring(positions: Ints, names: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the same column of text without the names that no row has."""
    counts = np.bincount(positions, minlength=len(names))
    if counts.all():
        return positions, tuple(names)
    moved = np.cumsum(counts > 0) - 1
    return moved[positions], tuple(compress(names, counts > 0))


def names_of(given: Any) -> list[str] | None:
    """Return the column names of a two-dimensional object that has them: a data frame or a labelled array."""
    if len(getattr(given, "dims", ())) == 2 and given.dims[1] in getattr(given, "coords", {}):
        return [as_text(name) for name in np.asarray(given.coords[given.dims[1]]).tolist()]
    # A pyarrow table keeps its names here; its `columns` are the columns themselves.
    names = getattr(given, "column_names", getattr(given, "columns", None))
    return None if names is None else [as_text(name) for name in names]


def shortened(names: Sequence[Any]) -> str:
    """List names; of more than twelve, the first ten and the last."""
    listed = [shown(as_text(name)) for name in names]
    if len(listed) > 12:
        listed = [*listed[:10], f"... ({len(listed) - 11} more)", listed[-1]]
    return ", ".join(listed)


def as_text(name: Any) -> str:
    """Return a column's name as text; 3.0 becomes "3"."""
    if isinstance(name, (float, np.floating)) and float(name).is_integer():
        return str(int(name))
    return str(name)
