"""Small tables of what a file may hold, good and bad, and how each format writes them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np

# What is written where a number is expected.
ODD_NUMBERS = [
    "", "nan", "NaN", "-nan", "NA", "null", "None", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "0x1p-3",
    "0x10", "１", "٣", "0,5", "1,000", "1.000,5", "1_000", "50%", "50 %", "  0.5", "0.5 ", "+0.5", "-0.0", ".", "e",
    "1e", "--1", "1.5", "-0.1", "1e300", "5e-324", "0.30000000000000004", "12345678901234567890", "true", "x", "'0.5",
    '"0.5"', "0.5;0.5", "(0.5)", "$1", "2020-01-01", "\x00", "\x1b[31m", "=1+1", "🙂", "0.5\ufeff", "1" * 400,
    "0." + "3" * 400,
]  # fmt: skip
ODD_NAMES = ["", " ", "y", "p", "é", "a,b", 'a"b', "a\nb", "\x1b[2J", "*", "p[1]", "x" * 300, "row", "nul\x00l", "１"]
ODD_JSON: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.5, 1e+308, float("nan"), float("inf"), -float("inf"), 10**30, -(10**400), "",
    "0.5", "x", "nan", "\ud800", "\x00", [], [[]], [0.5], [0.5, 'x'], {}, {'a': 1}, {'': {}}, [None], "9" * 500,
]  # fmt: skip


def table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Draw the columns of a table that is right, or hard: few rows, constants, edges."""
    n = int(rng.choice([0, 1, 2, 5, 12, 40, 60], p=[0.02, 0.08, 0.08, 0.12, 0.2, 0.3, 0.2]))
    p = rng.random(n) if rng.random() < 0.8 else rng.choice([0.0, 1.0, 0.5, 1e-300, 1 - 1e-16], n)
    y = (rng.random(n) < p).astype(int) if rng.random() < 0.9 else np.full(n, rng.integers(2))
    shares = rng.dirichlet([1, 1, 1], n) if n else np.empty((0, 3))
    trials = rng.integers(1, 9, n)
    sums = trials * p
    return {
        "y": y.tolist(),
        "p": p.tolist(),
        "q": np.sqrt(p).tolist(),
        "pet": rng.choice(["cat", "dog", "eel"], n).tolist(),
        "p_cat": shares[:, 0].tolist(),
        "p_dog": shares[:, 1].tolist(),
        "p_eel": shares[:, 2].tolist(),
        "age": rng.integers(20, 80, n).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "w": rng.choice([[1.0, 2.0], [0.0, 1.0], [1e300, 1e-300], [1.0, 1.0]][rng.integers(4)], n).tolist(),
        "g": rng.integers(0, max(1, n // 3), n).tolist(),
        "t": np.arange(n).tolist(),
        "events": rng.binomial(trials, p).tolist(),
        "trials": trials.tolist(),
        "sums": sums.tolist(),
        "low": np.floor(5 * p.clip(0, 0.999)).tolist(),
        "right": (rng.random(n) < 0.7).tolist(),
    }


def spoiled(rng: np.random.Generator, columns: dict[str, list[Any]], odd: list[Any]) -> dict[str, list[Any]]:
    """Put something odd in some places of some columns, and perhaps rename, drop or shorten one."""
    found = {name: list(values) for name, values in columns.items()}
    for _ in range(rng.integers(1, 4)):
        values = found[str(rng.choice(list(found)))]
        often = rng.random() if rng.random() < 0.2 else 0.0
        for row in range(len(values)):
            if rng.random() < often:
                values[row] = odd[rng.integers(len(odd))]
        if values:
            values[rng.integers(len(values))] = odd[rng.integers(len(odd))]
    if rng.random() < 0.15:
        found.pop(str(rng.choice(list(found))))
    if rng.random() < 0.15:
        found[ODD_NAMES[rng.integers(len(ODD_NAMES))]] = found.pop(str(rng.choice(list(found))))
    return found


def as_csv(rng: np.random.Generator, columns: dict[str, list[Any]], *, odd: bool) -> bytes:
    """Write delimited text; an odd one has other delimiters, quotes, line ends, lengths of lines and encodings."""
    stream = io.StringIO()
    delimiter = ",\t;|:"[rng.integers(5)] if odd and rng.random() < 0.3 else ","
    quoting = int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])) if odd else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=False)])
    text = stream.getvalue()
    if odd:
        lines = text.split("\n")
        for _ in range(rng.integers(0, 3)):
            _spoil_line(rng, lines, delimiter)
        ends = [["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r", "\n\n", "\n\r"]][rng.integers(4)]
        text = "".join(line + str(rng.choice(ends)) for line in lines)
    codec = (
        str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-32"])) if odd and rng.random() < 0.15 else ""
    )
    return text.encode(codec or "utf-8", errors="replace")


def _spoil_line(rng: np.random.Generator, lines: list[str], delimiter: str) -> None:
    place = int(rng.integers(len(lines)))
    line = lines[place]
    at = int(rng.integers(len(line) + 1))
    lines[place] = [
        line[:at] + '"' + line[at:],
        line[:at],
        line + delimiter,
        line + delimiter * 40,
        line + delimiter + "1",
        line + "\x00",
        "#" + line,
        "",
        " \t ",
        line[:at] + "\ufeff" + line[at:],
        line[:at] + "\r" + line[at:],
        line[:at] + ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))] + line[at:],
        line + "\n" + line,
        delimiter * line.count(delimiter),
        lines[0],
    ][rng.integers(15)]


def as_json_lines(rng: np.random.Generator, columns: dict[str, list[Any]], *, odd: bool) -> bytes:
    """Write an object in each line; odd ones lack fields, are nested, or are no objects."""
    lines = []
    for row in zip(*columns.values(), strict=False):
        found = dict(zip(columns, row, strict=True))
        text = json.dumps(_odd_object(rng, found) if odd and rng.random() < 0.1 else found)
        if odd and rng.random() < 0.04:
            text = [
                text[: rng.integers(len(text))],
                text + text,
                "[" * 100_000,
                '{"a":' * 5000 + "1" + "}" * 5000,
                text.replace('"p"', '"y"'),
                "null",
                "NaN",
                '"p"',
                "",
                "{}",
                text.replace("0.", "."),
                text.replace("0.", "00."),
                "// note",
            ][rng.integers(13)]
        lines.append(text)
    return "\n".join(lines).encode() + b"\n" * int(rng.integers(0, 3))


def _odd_object(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    name = str(rng.choice(list(found)))
    value = ODD_JSON[rng.integers(len(ODD_JSON))]
    return [
        found | {name: value},
        {key: each for key, each in found.items() if key != name},
        found | {name: {name: value}},
        found | {f"{name}.{name}": value, name: {name: value}},
        {name: found},
    ][rng.integers(5)]


def odd_array(rng: np.random.Generator, values: list[Any]) -> Any:
    """Make another array of a column: other types, shapes and orders."""
    plain = np.array(values)
    numbers = plain if plain.dtype.kind in "biuf" else np.arange(len(plain))
    return [
        lambda: numbers.astype(np.float16),
        lambda: numbers.astype(complex),
        lambda: numbers.astype(object),
        lambda: numbers.astype("M8[s]"),
        lambda: numbers.astype("m8[D]"),
        lambda: numbers.astype("S5"),
        lambda: numbers.astype(str),
        lambda: numbers.astype(">f8"),
        lambda: numbers.astype(np.uint64) - np.uint64(1),
        lambda: numbers.astype(np.longdouble),
        lambda: np.asfortranarray(np.column_stack([numbers, numbers, numbers])),
        lambda: np.column_stack([1 - numbers, numbers]),
        lambda: numbers[:, None],
        lambda: numbers[:, None, None],
        lambda: numbers[: len(numbers) // 2],
        lambda: np.array(0.5),
        lambda: np.array([(1, 0.5)] * len(plain), dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array([], dtype=float),
        lambda: np.zeros((len(plain), 0)),
        lambda: np.array([None] * len(plain), dtype=object),
        lambda: np.array(["\x00é"] * len(plain)),
        lambda: numbers.astype(bool),
        lambda: numbers[::-1],
        lambda: np.ma.masked_less(numbers, 0.3),
    ][rng.integers(24)]()
