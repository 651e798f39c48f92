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
from dataclasses import replace
from typing import Any

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._screen import Screen
from calibstat._text import counted
from calibstat.cli import options
from calibstat.cli.pictures import reliability, reliability_questions, show_and_draw
from calibstat.cli.questions import Measure, Question, panel, read_given, read_sample, variables_asked
from calibstat.cli.test import caution, cost_of, tell, what_it_costs
from calibstat.cli.text import VERBOSE, ProgressBar, plain_warnings
from calibstat.inference.by_lens import EstimatesByLens
from calibstat.inference.results import picked


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
            **found.question.direction_numbers,
            "estimate": found.headline,
            "null_mean": found.headline_null_mean,
            **picked(found, "confidence_interval confidence_level interval_note notes"),
            **{name: parts for name, parts in found.to_dict().items() if name == "parts"},
            "source": found.question.source,
        }


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, estimate each number, print them."""
    measure, given = Measure.asked(arguments), read_given(arguments.given)
    with plain_warnings():
        sample = read_sample(arguments, variables_asked(arguments.lens, given, measure), "--given", in_parts=True)
        questions = panel(sample.known, arguments.lens, given, measure)
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
    text = _report([each.found for each in answers], arguments.n_resamples, arguments.seed, tell(costs))
    records = [each.to_dict() | cost_of(each.question, costs) for each in answers]
    first = next(each for each in answers if bool(each.question.given) == bool(arguments.given))
    picture = reliability(arguments, sample, drawn) if drawn else (first.found.plot, first.question.name)
    show_and_draw(arguments, records, text, *picture)


def _report(found: Sequence[cs.Estimate], n_resamples: int, seed: int, costs: Sequence[str]) -> Screen:
    """Write the largest value, the table of all, and what the numbers mean."""
    screen = (EstimatesByLens(tuple(found)) if len(found) > 1 else found[0]).screen(VERBOSE)
    drawn = f"{counted(n_resamples, 'redraw')} where nothing can be computed, seed {seed}"
    return replace(
        screen,
        answer="\n".join([screen.answer, *costs]),
        notes=[*screen.notes, caution("intervals", found[0].question.clusters or found[0].question.hint)],
        details=[*screen.details, ("redraws", drawn)],
    )
