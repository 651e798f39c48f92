"""Text that comes from data, as a terminal may show it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

MOST_OF_A_NAME, MOST_OF_A_LINE = 200, 10_000
_LONG_WORD = re.compile(rf"\S{{{MOST_OF_A_NAME + 1},}}")


def shown(value: object, most: int = MOST_OF_A_NAME) -> str:
    r"""Escape what is not printable, such as control characters, and cut a longer text in its middle.

    >>> shown("\x1b[2Jred"), shown("a" * 100, 8)
    ('\\x1b[2Jred', 'aaaa...(100 characters)...aaaa')
    """
    text = str(value)
    if len(text) > most:
        text = f"{text[: most // 2]}...({len(text)} characters)...{text[-(most // 2) :]}"
    return text if text.isprintable() else "".join(map(_escaped, text))


def counted(n: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """Write a number with its noun, and the verb that agrees with it.

    >>> counted(1, "pair"), counted(3, "class"), counted(1, "row", "waits", "wait")
    ('1 pair', '3 classes', '1 row waits')
    """
    if n == 1:
        return f"{n} {noun} {verb}".rstrip()
    return f"{n} {noun}{'es' if noun.endswith('s') else 's'} {verbs}".rstrip()


def some_of(names: Sequence[str], most: int = 4) -> str:
    """List names, all or the first and how many more.

    >>> some_of(["a", "b"]), some_of(["a", "b", "c", "d"], most=3)
    ('a and b', 'a, b and 2 more')
    """
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def level_of(variable: str, level: str) -> str:
    """Name the rows of a level by the variable and the level, unless that begins with the name of the variable.

    >>> level_of("sex", "f"), level_of("city", "city 19"), level_of("city", "citywide")
    ('sex f', 'city 19', 'city citywide')
    """
    return level if re.match(rf"{re.escape(variable)}\b", level, re.IGNORECASE) else f"{variable} {level}"


def short(value: float, unless: float = math.nan) -> str:
    """Write three digits, or more where they would read as another number; rounding errors do not decide the last one.

    >>> short(1.075), short(1.0749999999999997), short(1.0042, unless=1.0)
    ('1.07', '1.07', '1.004')
    """
    exact = float(f"{value:.12g}")
    written = (f"{exact:.{digits}g}" for digits in range(3, 13))
    return next((each for each in written if float(each) != unless or exact == unless), f"{exact:g}")


def percent(level: float) -> str:
    """Write a level in percent; one below 1 is never written as 100 %.

    >>> percent(0.05), percent(0.975), percent(1 - 1e-9)
    ('5 %', '97.5 %', '99.9999999 %')
    """
    written = (f"{100 * level:.{digits}g}" for digits in range(6, 18))
    return f"{next(each for each in written if (float(each) < 100) == (level < 1))} %"


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def safe(text: object) -> str:
    """Make our own lines, which hold names from data, safe: no control character but ends of lines, no endless word."""
    lines = (_LONG_WORD.sub(lambda word: shown(word[0], MOST_OF_A_NAME), line) for line in str(text).split("\n"))
    return "\n".join(shown(line, MOST_OF_A_LINE) for line in lines)


# Cells of CSV: spreadsheets take a text that begins with one of these for a formula.

_GUARD = "'"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(cell: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would execute; numbers, also those in a text, stay.

    >>> [guarded(cell) for cell in ("=1+1", "-a", "-1.5", -1.5, "a=b")]
    ["'=1+1", "'-a", '-1.5', -1.5, 'a=b']
    """
    risky = isinstance(cell, str) and _FORMULA.match(cell) and not is_number(cell)
    return f"{_GUARD}{cell}" if risky else cell


def unguarded(cell: Any) -> Any:
    """Return the cell that `guarded` was given."""
    return cell[1:] if isinstance(cell, str) and cell.startswith(_GUARD) and _FORMULA.match(cell) else cell


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


_NUMBERS_OF_ROWS = re.compile(r"\brows? (?:is )?\d+(?: and \d+)?")


def rows_moved(text: str, by: int) -> str:
    """Add to the numbers of rows in a message that counts them from 0; quoted text stays as it is.

    >>> rows_moved("column 'row 3' holds the text 'x' in row 3 (rows count from 0)", 100)
    "column 'row 3' holds the text 'x' in row 103 (rows count from 0)"
    """
    if "rows count from 0" not in text:
        return text

    def moved(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda row: str(int(row[0]) + by), found[0])

    parts = re.split(r"('[^']*')", text)
    parts[::2] = [_NUMBERS_OF_ROWS.sub(moved, part) for part in parts[::2]]
    return "".join(parts)
