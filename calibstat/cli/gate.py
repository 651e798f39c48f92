"""Gates: what a pipeline asks of a model before it goes on, ``--fail-if`` and ``--require-within``."""

from __future__ import annotations

import argparse
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._screen import Screen
from calibstat._text import counted
from calibstat.cli import options
from calibstat.cli.questions import Question
from calibstat.cli.text import ProgressBar
from calibstat.inference.by_lens import TestsByLens
from calibstat.inference.equivalence import EquivalenceTest
from calibstat.inference.multiplicity import least_factor
from calibstat.inference.results import number, picked
from calibstat.testing import in_full, what_is_missing

FAILED = 3
"""The exit code of a gate that says no."""

Value: TypeAlias = Callable[[TestsByLens, int], float]


def _of_question(name: str) -> Value:
    return lambda found, place: found.tests[place].question.direction_numbers[name]


# What a condition may be about, of each test.
_QUANTITIES: dict[str, Value] = {
    "p": lambda found, place: found.tests[place].pvalue,
    "adjusted-p": lambda found, place: found.pvalues_adjusted[place],
    "error": lambda found, place: found.tests[place].statistic,
    "beyond-noise": lambda found, place: found.tests[place].statistic - found.tests[place].null_mean,
    "o/e": _of_question("observed_to_expected"),
    "slope": _of_question("slope"),
    "n": lambda found, place: found.tests[place].question.n,
}
_PVALUES = ("p", "adjusted-p")
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(r"\s*([a-z/-]+)\s*([<>]=?)\s*(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
    """A quantity of a test, a comparison and a number: "adjusted-p < 0.01"."""

    quantity: str
    comparison: str
    number: float

    def holds(self, value: float) -> bool:
        """Whether it holds of a value; of none that is not known."""
        return bool(_COMPARISONS[self.comparison](value, self.number))

    def values(self, found: TestsByLens) -> list[float]:
        """Return the quantity of each test."""
        return [float(_QUANTITIES[self.quantity](found, place)) for place in range(len(found.tests))]

    def __str__(self) -> str:
        return f"{self.quantity} {self.comparison} {self.number:g}"


def condition(text: str) -> Condition:
    """Read a condition.

    >>> condition("adjusted-p<1e-2")
    Condition(quantity='adjusted-p', comparison='<', number=0.01)
    """
    found = _CONDITION.fullmatch(text)
    if found is None or found[1].lower() not in _QUANTITIES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a quantity, a comparison and a number, such as 'adjusted-p < 0.01'; quantities are "
            f"{', '.join(_QUANTITIES)}, and comparisons {', '.join(_COMPARISONS)}"
        )
    read = Condition(found[1].lower(), found[2], float(found[3]))
    if read.quantity in _PVALUES and not (read.comparison in ("<", "<=") and 0 < read.number < 1):
        raise argparse.ArgumentTypeError(
            f"{text!r}: a small p-value is evidence that a model is off, but a large one none that it is not: "
            f"write '{read.quantity} < 0.01', or --require-within 0.02 to have it shown that the error is small"
        )
    return read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of gates."""
    parser.add_argument(
        "--require-within",
        action=options.Once,
        type=options.share,
        metavar="MARGIN",
        help="pass only if every error is shown to be at most this, such as 0.02 (the first line says yes or no; exit "
        "code 3 for no)",
    )
    parser.add_argument(
        "--fail-if",
        action=options.Once,
        type=condition,
        metavar="CONDITION",
        help=f"fail if this holds of any test, such as 'adjusted-p < 0.01' ({', '.join(_QUANTITIES)}); passing shows "
        "nothing",
    )


@dataclass(frozen=True, eq=False)
class Gate:
    """The answer of a gate: whether it passes, why, and what its record says of each question."""

    passed: bool
    answer: str
    records: Sequence[dict[str, Any]]


# ``--require-within``: each error is shown to be at most a margin.


def shown_within(sample: cs.Sample, questions: Sequence[Question], margin: float, asked: argparse.Namespace) -> Gate:
    """Ask whether every error is shown to be at most the margin.

    Each is tested at the level: that all of them are claimed needs no adjustment, since it is wrong only if the claim
    about one that is larger is: the intersection-union test of Berger (1982).
    """
    level = asked.level
    more: dict[str, Any] = {"n_resamples": asked.n_resamples or 999, "rng": asked.seed}

    def test(question: Question) -> EquivalenceTest:
        return cs.equivalence_test(sample, question.estimator, margin, level=level, confidence_level=1 - level, **more)

    with options.named_options({"equivalence_test: ": "--require-within: "}):
        found = ProgressBar().each(test, questions)
    missing = [each for each in found if not each.within]
    worst = max(missing or found, key=lambda each: each.upper_bound)
    several, told = len(found) > 1, in_full(worst)
    if missing:
        many = (
            f"Of {len(missing)} of {counted(len(found), 'error')} it is not shown that they are at most {margin:.4g}. "
        )
        worst_of = f"The largest bound: {_lowered(told)}" if several else _lowered(told)
        answer = (
            f"{_says(False)}{_lowered(many) if several else ''}{worst_of} {what_is_missing(sample, worst, asked.seed)}"
        )
    else:
        many = f"each of {len(found)} errors is shown to be at most {margin:.4g}. The largest bound: "
        answer = f"{_says(True)}{many if several else ''}{_lowered(told)}"
    names = "margin estimate upper_bound confidence_level pvalue within"
    return Gate(not missing, answer, [{"require_within": picked(each, names)} for each in found])


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _says(passed: bool) -> str:
    return "Yes, this passes: " if passed else "No, this fails: "


# ``--fail-if``: a condition on what was found.


def condition_met(found: TestsByLens, asked: Condition) -> Gate:
    """Ask whether a condition holds of no test."""
    values = asked.values(found)
    known = [place for place, value in enumerate(values) if not math.isnan(value)]
    if not known:
        raise ValueError(
            f"--fail-if '{asked}': {asked.quantity} is not known here: it is of two outcomes, given the prediction"
        )
    _refuse_out_of_reach(found, asked)
    met = [place for place in known if asked.holds(values[place])]
    worst = (max if ">" in asked.comparison else min)(known, key=values.__getitem__)
    test = found.tests[worst]
    question, error, mean = test.question, test.statistic, test.null_mean
    size = (
        f"{question.size_in_words(number(error, mean))}, {question.noise_gives} {number(mean, error)}"
        f"{question.which_way(test.pvalue <= found.level)}."
    )
    of = f" in {len(met)} of {counted(len(known), 'test')}" if len(known) > 1 else ""
    none = f"none of {len(known)} tests" if of else "no test"
    value = f"{values[worst]:.4g} of {question.what} (n = {question.n})"
    if met:
        answer = f"{_says(False)}{asked}{of}: {asked.quantity} is {value}. {size}"
    else:
        answer = f"{_says(True)}{asked} holds in {none}: {asked.quantity} is {value}. {size}"
        answer += " That does not show that the error is small: --require-within asks for this."
    held = [place in met for place in range(len(values))]
    records = [
        {"fail_if": {"condition": str(asked), "value": value, "holds": holds}}
        for value, holds in zip(values, held, strict=True)
    ]
    return Gate(not met, answer, records)


def _refuse_out_of_reach(found: TestsByLens, asked: Condition) -> None:
    """Refuse a p-value that no redraws as few as these can give, whatever the data: this gate would always pass."""
    drawn = [test.n_resamples for test in found.tests]
    if asked.quantity not in _PVALUES or None in drawn:
        return
    factor = least_factor(found.adjust, len(drawn)) if asked.quantity == "adjusted-p" else 1.0
    most = max(filter(None, drawn))
    least = factor / (1 + most)
    if not asked.holds(least):
        needed = math.floor(factor / asked.number) + 1
        raise ValueError(
            f"--fail-if '{asked}' holds for no data: with {counted(most, 'redraw')} the smallest {asked.quantity} is "
            f"{least:.2g}; add --n-resamples {needed}, or take a larger number"
        )


# Gates beside what a command prints.


def before(gates: Sequence[Gate], screen: Screen) -> Screen:
    """Put the answers of gates first, those that fail before those that pass."""
    answers = [gate.answer for gate in sorted(gates, key=lambda gate: gate.passed)]
    return replace(screen, answer="\n".join([*answers, screen.answer]))


def recorded(gates: Sequence[Gate], place: int) -> dict[str, Any]:
    """Return what gates say of a question, for its record; nothing where there are none."""
    if not gates:
        return {}
    answers = {"passed": all(gate.passed for gate in gates), "answers": [gate.answer for gate in gates]}
    return {"gate": {**answers, **{name: value for gate in gates for name, value in gate.records[place].items()}}}
