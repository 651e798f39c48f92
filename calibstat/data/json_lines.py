"""JSON lines: a JSON object in each line, such as the log of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias

from calibstat._text import is_number
from calibstat.data._line_counts import LONGEST, TOO_LONG
from calibstat.data.frames import Selection, arguments_from

Path: TypeAlias = tuple[str, ...]

# The fields of so many lines are the columns.
_LOOKED_AT = 1000


def read_json_stream(stream: Any, choose: Callable[[list[str]], Selection]) -> dict[str, Any]:
    """Read the arguments of `examine` from an open file of bytes that holds one JSON object in each line.

    The fields of objects are columns; a field of a field has the names of both, with a dot between. What a line does
    not have is missing there. A probability may be a number in quotation marks.
    """
    objects = _objects(stream)
    start = list(islice(objects, _LOOKED_AT))
    if not start:
        raise ValueError("it is empty; each line must hold one JSON object")
    paths: dict[str, Path] = {}
    for each in start:
        _name_fields(each, (), paths)
    chosen = choose(list(paths))
    columns: dict[str, list[Any]] = {name: [] for name in chosen.names}
    asked = [(paths[name], values.append) for name, values in columns.items()]
    for each in chain(start, objects):
        for path, append in asked:
            append(_field(each, path))
    numbers = {name: list(map(_unquoted, columns[name])) for name in chosen.y_prob}
    return arguments_from(columns | numbers, chosen)


def _objects(stream: Any) -> Iterator[dict[str, Any]]:
    """Yield the object of each line that is not blank."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
        if len(line) == LONGEST:
            raise ValueError(TOO_LONG.format(number))
        text = line.decode("utf-8-sig").strip()
        if text:
            yield _object(text, number, whole=line.endswith(b"\n"))


def _object(text: str, number: int, *, whole: bool) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = (getattr(error, "msg", "") or str(error)).removesuffix(" at")
        where = f" at character {error.colno}" if hasattr(error, "colno") else ""
        cut = "" if whole else "; the last line may have been cut off: leave it out"
        raise ValueError(
            f"line {number} is damaged ({reason}{where}), but each line must hold one JSON object{cut}"
        ) from error
    if not isinstance(found, dict):
        raise ValueError(f"line {number} holds {_KINDS[type(found)]}, but each line must hold one JSON object")
    return found


_KINDS = {
    list: "a list",
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    type(None): "nothing (null)",
}


def _name_fields(found: Mapping[str, Any], above: Path, paths: dict[str, Path]) -> None:
    """Add the name of each field, and of the fields in it, with the way to it."""
    for name, value in found.items():
        path = (*above, name)
        if isinstance(value, dict):
            _name_fields(value, path, paths)
            continue
        called = ".".join(path)
        if paths.setdefault(called, path) != path:
            raise ValueError(f"two fields are called {called!r}, one of them inside of another: rename one of them")


def _field(found: Any, path: Sequence[str]) -> Any:
    """Return the value at the end of a path; None where there is none."""
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def _unquoted(value: Any) -> Any:
    return float(value) if isinstance(value, str) and is_number(value) else value
