"""What a panel found, as text to read. Words never accept a null hypothesis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from textwrap import fill

from calibstat.cli.records import Record
from calibstat.cli.text import WIDTH, hang
from calibstat.inference.results import CalibrationTest
from calibstat.inference.words import LEVEL, counted, number

# Smaller numbers than so many decimals can show are written with an exponent.
_MOST_DECIMALS = 8

_EXPECTED = "mean of the value over redrawn labels: what noise alone gives a calibrated model with as many rows"
_NULL = (
    "given the prediction{beside}, the outcome seen through the lens follows the prediction; labels drawn from the "
    "predictions, which are kept (exact)"
)
_STRONG = " and, where one is named, the variable (the strong null)"
_CAUTION = (
    "p-values do not hold if the model or its calibration was fitted on these rows, if rows come in clusters "
    "(several of one patient, one video), or if predictions are cross-validated"
)


def report(records: Sequence[Record], seed: int) -> str:
    """Write the headline, the table, and what they mean."""
    return "\n".join([fill(headline(records), WIDTH), "", *table(records), "", *_notes(records, seed)])


def headline(records: Sequence[Record]) -> str:
    """Say what was found, by adjusted p-values: evidence with its size, or no evidence."""
    rejected = [record for record in records if record.rejects]
    n = records[0].test.asked.n
    if not rejected:
        smallest = min(records, key=lambda record: record.pvalue_adjusted)
        tests = counted(len(records), "test")
        which = "" if len(records) == 1 else "smallest adjusted "
        return f"No evidence of miscalibration in {tests} (n = {n}, {which}{_equation(smallest)})."
    largest = max(rejected, key=lambda record: abs(record.test.statistic - record.test.null_mean))
    value, mean = largest.test.statistic, largest.test.null_mean
    found = f"{number(value, mean)}, where {number(mean, value)} is expected of a calibrated model with as many rows"
    if len(records) == 1:
        return f"Evidence of miscalibration (n = {n}, {_equation(largest)}). Its size, {_named(largest)}: {found}."
    return (
        f"Evidence of miscalibration: {len(rejected)} of {len(records)} tests reject at {100 * LEVEL:g} % after Holm's "
        f"correction (n = {n}). The largest excess over noise, {_named(largest)}: {found} (adjusted "
        f"{_equation(largest)})."
    )


def table(records: Sequence[Record]) -> list[str]:
    """Lay the records out in columns; those that say nothing are left out."""
    digits = _decimals(record.test for record in records)
    rows = [["lens", "class", "given", "value", "expected", "p", "adjusted p", ""]]
    rows += [_row(record, digits) for record in records]
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    if len(records) == 1:
        filled = [column for column in filled if rows[0][column] not in ("adjusted p", "")]
    widths = {column: max(len(row[column]) for row in rows) for column in filled}
    return ["  ".join(_pad(row[column], widths[column], column) for column in filled).rstrip() for row in rows]


def _row(record: Record, digits: int) -> list[str]:
    view, test = record.question.view, record.test
    return [
        view.kind,
        "" if view.label is None else str(view.label),
        record.question.condition or "",
        _written(test.statistic, test.null_mean, digits),
        _written(test.null_mean, test.statistic, digits),
        f"< {test.pvalue:.3g}" if record.at_floor else f"{test.pvalue:.3g}",
        f"< {record.pvalue_adjusted:.3g}" if _bounded(record) else f"{record.pvalue_adjusted:.3g}",
        "*" if record.rejects else "",
    ]


def _written(value: float, beside: float, digits: int) -> str:
    tiny = digits == _MOST_DECIMALS and abs(value) < 10.0**-digits
    return number(value, beside) if tiny else decimal(value, digits)


def decimal(value: float, digits: int) -> str:
    """Write a number with so many decimals; what is rounded to zero has no sign.

    Examples
    --------
    >>> decimal(0.12345, 4), decimal(-1.7e-15, 4)
    ('0.1235', '0.0000')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _pad(text: str, width: int, column: int) -> str:
    return text.rjust(width) if 3 <= column <= 6 else text.ljust(width)


def _decimals(tests: Iterable[CalibrationTest]) -> int:
    """Enough for two digits of the smallest number that noise gives, at least four."""
    noise = [test.null_mean for test in tests if number(test.null_mean, test.statistic) != "0"]
    sizes = [abs(mean) for mean in noise if math.isfinite(mean)]
    return min(_MOST_DECIMALS, max(4, 1 - math.floor(math.log10(min(sizes))))) if sizes else 4


def _bounded(record: Record) -> bool:
    """Whether the adjusted p-value is only known to be smaller than its value; one is no such bound."""
    return record.at_floor and record.pvalue_adjusted < 1


def _equation(record: Record) -> str:
    return f"p {'<' if _bounded(record) else '='} {record.pvalue_adjusted:.3g}"


def _named(record: Record) -> str:
    question = record.question
    label = "" if question.view.label is None else f" {question.view.label}"
    return f"{question.view.kind}{label}" + (f" given {question.condition}" if question.condition else "")


def _notes(records: Sequence[Record], seed: int) -> list[str]:
    first = records[0].test
    strong = any(record.question.given for record in records)
    several = len(records) > 1
    notes = list(zip(chain(["value"], repeat("")), _measures(records), strict=False))
    notes += [
        ("expected", f"{_EXPECTED} ({_how_had(records, seed)})"),
        ("adjusted p", f"Holm's correction over the tests above; * rejects at {100 * LEVEL:g} %")
        if several
        else ("", ""),
        ("null", _NULL.format(beside=_STRONG if strong else "")),
        ("data", f"n = {first.asked.n}; {first.asked.source}"),
        ("caution", _CAUTION),
    ]
    return [line for name, text in notes if text for line in hang(name, text)]


def _how_had(records: Sequence[Record], seed: int) -> str:
    """Say how null distributions were had: "exact; given age: 999 resamples, seed 0"."""
    served: dict[str, list[str]] = {}
    for record in records:
        null = record.test.null_distribution
        how = f"{null.description}, seed {seed}" if null.monte_carlo else "computed, no Monte Carlo error"
        names = served.setdefault(how, [])
        if _place(record) not in names:
            names.append(_place(record))
    if len(served) == 1:
        return next(iter(served))
    return "; ".join(f"{', '.join(names)}: {how}" for how, names in served.items())


def _place(record: Record) -> str:
    condition = record.question.condition
    return record.question.view.kind + (f" given {condition}" if condition else "")


def _measures(records: Sequence[Record]) -> list[str]:
    """Say which estimators gave the values, each once, with the lenses it served."""
    served: dict[str, list[str]] = {}
    for record in records:
        core = record.question.core
        names = served.setdefault(f"{core.quantity}, {core!r}", [])
        if _place(record) not in names:
            names.append(_place(record))
    if len(served) == 1:
        return list(served)
    return [f"{', '.join(names)}: {measure}" for measure, names in served.items()]
