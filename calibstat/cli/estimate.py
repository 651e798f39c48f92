"""By how much is the model off?

Estimates miscalibration through several lenses, beside the value that noise
alone would give, with an interval where one is known to cover. Use rows that
neither the model nor its calibrator was fitted on.

example commands:
  calibstat estimate predictions.csv --label actual --probs 'prob_*'
  calibstat estimate predictions.csv --label y --probs p --estimator smooth-ece
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._screen import Screen
from calibstat._text import counted, percent
from calibstat.cli import options
from calibstat.cli.pictures import reliability, reliability_questions, show_and_draw
from calibstat.cli.questions import Measure, Question, panel, read_given, read_sample, variables_asked
from calibstat.cli.test import CAUTION, cost_of, tell, what_it_costs
from calibstat.cli.text import VERBOSE, ProgressBar, each_beside, each_once, plain_warnings
from calibstat.inference.direction import NO_DIRECTION
from calibstat.inference.results import EXPECTED, ends_text, number, picked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_questions(parser)
    options.add(parser, "--costs", "--confidence-level", "--n-resamples", "--seed", "--plot", "--format")


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, and what was estimated."""

    question: Question
    found: cs.Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        found = self.found
        return {
            **self.question.to_dict(),
            **picked(found.question, "n n_classes"),
            **found.question.counts._asdict(),
            **(found.question.direction or NO_DIRECTION).to_dict(),
            "estimate": found.headline,
            "null_mean": found.headline_null_mean,
            **picked(found, "confidence_interval confidence_level interval_note notes"),
            "source": found.question.source,
        }


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, estimate each number, print them."""
    measure, given = Measure.asked(arguments), read_given(arguments.given)
    with plain_warnings():
        sample = read_sample(arguments, variables_asked(arguments.lens, given, measure), "--given")
        questions = panel(sample.predictions, arguments.lens, given, measure)
        drawn = reliability_questions(arguments, questions) if measure.estimator is None else []

        def answer(question: Question) -> Answer:
            found = cs.estimate(
                sample,
                question.estimator,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
            return Answer(question, found)

        answers = ProgressBar("estimating").each(answer, questions)
        costs = what_it_costs(sample, questions, arguments, arguments.confidence_level)
    text = _report(answers, arguments.n_resamples, arguments.seed, tell(costs))
    records = [each.to_dict() | cost_of(each.question, costs) for each in answers]
    first = next(each for each in answers if bool(each.question.given) == bool(arguments.given))
    picture = reliability(arguments, sample, drawn) if drawn else (first.found.plot, first.question.name)
    show_and_draw(arguments, records, text, *picture)


def _report(answers: Sequence[Answer], n_resamples: int, seed: int, costs: Sequence[str]) -> Screen:
    """Write the largest value, the table of all, and what the numbers mean."""
    first = answers[0].found
    several = len(answers) > 1 or bool(first.numbers_beside())
    heading = ["calibration of", "value", "noise alone", f"{percent(first.confidence_level)} interval"]
    drawn = f"{EXPECTED}; computed where that is possible, else from {counted(n_resamples, 'redraw')}, seed {seed}"
    names = [each.question.name for each in answers]
    values = [f"{each.question.core.quantity}, {each.question.core!r}" for each in answers]
    methods = [
        *each_beside("value", zip(names, values, strict=True)),
        ("noise alone", drawn),
        *each_beside("interval", [(each.question.name, each.found.interval_note) for each in answers]),
    ]
    notes = each_once((each.question.name, note) for each in answers for note in each.found.notes)
    return Screen(
        "\n".join([_answer(answers), *costs]),
        [heading, *(row for each in answers for row in _rows_of_answer(each))] if several else (),
        [*notes, CAUTION.format(these="intervals")],
        [*methods, ("data", f"{first.question.rows}; {first.question.source}")],
        more=VERBOSE,
    )


def _answer(answers: Sequence[Answer]) -> str:
    """Say the value that exceeds what noise gives by most."""
    if len(answers) == 1:
        return answers[0].found.verdict
    known = [
        (each.found.headline - each.found.headline_null_mean, each.found)
        for each in answers
        if each.found.headline is not None and each.found.headline_null_mean is not None
    ]
    largest = max(known, key=lambda each: abs(each[0]))[1] if known else answers[0].found
    return f"{largest.verdict} Of {len(answers)} values it exceeds noise by most."


def _rows_of_answer(answer: Answer) -> list[list[str]]:
    """Return the cells of the headline, and below it those of the numbers that are beside it in a record."""
    found = answer.found
    interval = found.confidence_interval
    first = [
        found.question.what,
        _number_or_none(found.headline, found.headline_null_mean),
        _number_or_none(found.headline_null_mean, found.headline),
        "none" if interval is None else ends_text(interval),
    ]
    return [first, *([f"  {name}", value, "", ends] for name, value, ends in found.numbers_beside())]


def _number_or_none(value: float | None, beside: float | None) -> str:
    return "none" if value is None or beside is None else number(value, beside)
