"""Summarise a model of an event as a clinical validation does.

Prints observed over expected events, calibration intercept and slope, the error
of a smooth calibration curve, C-index, Brier score and the test of the
calibration belt, each with its interval; with --by also a line for each group.
Use rows that neither the model nor its calibrator was fitted on.

example commands:
  calibstat clinical predictions.csv --label died --probs risk
  calibstat clinical predictions.csv --label died --probs risk --by age,sex
  calibstat clinical predictions.csv --label died --probs risk --plot curve.png
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import calibstat as cs
from calibstat._screen import Screen
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import Measure, one_question, read_sample
from calibstat.cli.text import VERBOSE, ProgressBar, plain_warnings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_lens(parser)
    options.add_one(parser, "--by", help=f"also a line for each group of these {options.SHARED['--by']['help']}")
    options.add(parser, "--confidence-level", "--n-resamples", "--seed", "--plot", "--format")


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, summarise it, print the summary."""
    with plain_warnings():
        sample = read_sample(arguments, arguments.by, "--by", in_parts=True)
        question = one_question(sample.known, arguments.lens, Measure(), two="a clinical summary")
        with ProgressBar("summarising"):
            found = cs.clinical_summary(
                sample,
                lens=question.view.lens,
                by=list(sample.known.variables) if arguments.by else (),
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
    show_and_draw(arguments, found.to_dict(), _screens(found), found.plot)


def _screens(found: cs.ClinicalSummary) -> list[Screen]:
    """Return the summary and the groups as one page: both answers first, then both tables, then the notes of both."""
    whole = replace(found, groups=None).screen(VERBOSE)
    if found.groups is None:
        return [whole]
    groups = found.groups.screen(VERBOSE)
    return [
        replace(whole, answer=f"{whole.answer} {groups.answer}", notes=(), details=(), spare=()),
        replace(groups, answer="", notes=[*groups.notes, *whole.notes], details=whole.details),
    ]
