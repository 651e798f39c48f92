"""``calibstat test``: is the model calibrated?"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from textwrap import fill
from typing import Any

from calibstat.cli.estimate import plain_label
from calibstat.cli.options import EVERY, estimator_name
from calibstat.cli.questions import CLASS_WISE_UP_TO, Cutting, Question, View, panel, read_given, read_sample
from calibstat.cli.text import WIDTH, ProgressBar, hang, narrow, notice, plain_warnings
from calibstat.data.sample import Sample
from calibstat.inference.multiple import OmnibusTest, omnibus_test
from calibstat.inference.multiplicity import holm
from calibstat.inference.results import LEVEL, CalibrationTest, at_floor, counted, number
from calibstat.inference.test import calibration_test
from calibstat.nulls.consistency import Consistency


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, ask the panel, print what was found."""
    if arguments.omnibus:
        run_omnibus(arguments)
        return
    cutting = Cutting(
        arguments.bins,
        arguments.binning == "equal-width",
        None if arguments.estimator is None else estimator_name(arguments.estimator, EVERY),
    )
    given = read_given(arguments.given or ())
    with plain_warnings():
        sample = read_sample(arguments, given)
        questions = panel(sample.predictions, arguments.lens, given, cutting)
        _tell_folding(sample, questions)
        _tell_limits(arguments, len(sample.labels))
        records = ask(sample, questions, arguments.n_resamples, arguments.seed)
        _tell_floors(records)
    if arguments.format == "json":
        print(json.dumps([record.to_dict() for record in records], indent=2, allow_nan=False))
    else:
        print(report(records, arguments.seed))


def _tell_folding(sample: Sample, questions: Sequence[Question]) -> None:
    """Warn where the top label of one column of probabilities is often the other one."""
    one_column = "taken for P(label = " in sample.predictions.source
    if not one_column or not any(question.view.kind == "top-label" for question in questions):
        return
    below = int((sample.predictions.event < 0.5).sum())
    if below:
        notice(
            f"top-label folds a single column: {below} of {len(sample)} values below 1/2 count as confidence in the "
            "other label; for confidences in the predicted label, write --confidence instead of --probs, and as "
            "--label whether it was right"
        )


def _tell_limits(arguments: argparse.Namespace, n_classes: int) -> None:
    """Say what the default panel leaves out."""
    if arguments.lens is None and n_classes > CLASS_WISE_UP_TO:
        notice(f"class-wise is left out, as there are {n_classes} classes; ask for it by --lens class-wise")


def _tell_floors(records: Sequence[Record]) -> None:
    """Say where resamples are too few to reject anything."""
    n_tests = len(records)
    highest = max((record.test.null_distribution for record in records), key=lambda each: each.floor)
    floor = n_tests * highest.floor
    if floor > LEVEL:
        enough = int(n_tests / LEVEL) * 5 - 1
        adjusted = "" if n_tests == 1 else "after Holm's correction "
        notice(
            f"{adjusted}{counted(n_tests, 'test')} of {highest.description} cannot give a p-value below "
            f"{min(floor, 1):.2g}; take --n-resamples {enough} or ask less"
        )


# ``calibstat test --omnibus``: a panel of statistics on the same redraws, one p-value for each lens.

N_RESAMPLES = 999


def run_omnibus(arguments: argparse.Namespace) -> None:
    """Read the sample, test it through each lens, print what was found."""
    wrong = [f"--{name}" for name in ("given", "estimator", "bins") if getattr(arguments, name) is not None]
    wrong += ["--binning"] if arguments.binning != "equal-mass" else []
    if wrong:
        raise ValueError(f"--omnibus has statistics of its own: leave out {' and '.join(wrong)}")
    n_resamples = arguments.n_resamples or N_RESAMPLES
    with plain_warnings():
        sample = read_sample(arguments, [])
        views = [each.view for each in panel(sample.predictions, arguments.lens or ["canonical"], (), Cutting())]

        def answer(view: View) -> OmnibusTest:
            return omnibus_test(sample, lens=view.lens, n_resamples=n_resamples, rng=arguments.seed)

        found = ProgressBar().each(answer, views)
    adjusted = [float(pvalue) for pvalue in holm([each.pvalue for each in found])]
    if arguments.format == "json":
        records = [_record(*each) for each in zip(views, found, adjusted, strict=True)]
        print(json.dumps(records, indent=2, allow_nan=False))
        return
    for position, (each, pvalue) in enumerate(zip(found, adjusted, strict=True)):
        print(("\n" if position else "") + narrow(str(each), 8))
        if len(found) > 1:
            print(f"  adjusted p = {pvalue:.3g} (Holm's correction over {len(found)} lenses)")


def _record(view: View, found: OmnibusTest, adjusted: float) -> dict[str, Any]:
    record = found.to_dict()
    return {"lens": record.pop("lens"), "class": plain_label(view.label), "pvalue_adjusted": adjusted} | record


# What a panel found: one record for each question, with p-values adjusted over all of them.


@dataclass(frozen=True, eq=False)
class Record:
    """A question, what its test found, and the p-value adjusted over the whole panel."""

    question: Question
    test: CalibrationTest
    pvalue_adjusted: float

    @property
    def rejects(self) -> bool:
        """Whether the null is rejected at the level that texts use, after adjustment."""
        return self.pvalue_adjusted <= LEVEL

    @property
    def at_floor(self) -> bool:
        """Whether the p-value is only known to be smaller."""
        return at_floor(self.test.pvalue, self.test.null_distribution)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a number that is not finite becomes null."""
        view = self.question.view
        return {
            "lens": repr(view.lens),
            "class": view.label,
            "given": self.question.condition,
            "estimator": repr(self.question.core),
            "n": self.test.asked.n,
            "n_classes": self.test.asked.n_classes,
            "statistic": _finite(self.test.statistic),
            "null_mean": _finite(self.test.null_mean),
            "pvalue": _finite(self.test.pvalue),
            "pvalue_adjusted": _finite(self.pvalue_adjusted),
            "hypothesis": self.test.hypothesis,
            "source": self.test.asked.source,
        }


def ask(sample: Sample, questions: Sequence[Question], n_resamples: int | None, seed: int) -> list[Record]:
    """Test each question, and adjust the p-values over all of them (Holm 1979).

    Without a number of resamples p-values are computed where they can be. Each question begins at the seed, as
    the same call in Python does, so that asking more does not change what the others answer (Holm's method holds
    however the tests depend on each other).
    """
    null = None if n_resamples is None else Consistency(n_resamples)

    def answer(question: Question) -> CalibrationTest:
        return calibration_test(sample, question.estimator, null=null, rng=seed)

    tests = ProgressBar().each(answer, questions)
    adjusted = holm([test.pvalue for test in tests])
    return [
        Record(question, test, float(pvalue)) for question, test, pvalue in zip(questions, tests, adjusted, strict=True)
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# What a panel found, as text to read. Words never accept a null hypothesis.

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
