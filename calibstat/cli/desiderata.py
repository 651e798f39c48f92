r"""Is the model calibrated, accurate, monotone, and how many cells has it?

Five measures of a predictor that people read (Torabian & Urner 2024), each
beside what noise alone gives, with an interval and a sentence. Use rows that
the model was not fitted on.

example commands:
  calibstat desiderata predictions.csv --label actual --probs 'prob_*'
  calibstat desiderata predictions.csv --label actual --probs 'prob_*' \
    --lens top-label --format json
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import Measure, cells, one_question, read_binning, read_sample, variables_asked
from calibstat.cli.test import caution
from calibstat.cli.text import VERBOSE, ProgressBar, plain_warnings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_lens(parser)
    options.add_one(
        parser,
        "--bins",
        help="cells of the calibration error (default: the distinct predictions if there are ten rows for each, "
        "else 15)",
    )
    options.add(parser, "--binning")
    parser.add_argument(
        "--threshold",
        type=options.share,
        default=0.5,
        metavar="A",
        help="from this prediction on, the decision is for the event (default: 0.5)",
    )
    options.add(parser, "--confidence-level", "--n-resamples", "--seed", "--plot")
    options.add_table_format(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, measure what is wanted, print it."""
    measure = Measure(None, arguments.bins, read_binning(arguments.binning))
    chosen = arguments.bins is not None or arguments.binning != "equal-mass"
    with plain_warnings():
        sample = read_sample(arguments, variables_asked(arguments.lens, (), measure), "--lens", in_parts=True)
        question = one_question(sample.known, arguments.lens, measure, two="calibstat desiderata")
        with ProgressBar("measuring"):
            found = cs.desiderata(
                sample,
                lens=question.view.lens,
                binning=cells(measure.binning, arguments.bins or 15) if chosen else None,
                threshold=arguments.threshold,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
    record, screen = found.to_dict(), found.screen(VERBOSE)
    limits = caution("intervals", sample.groups)
    screen = replace(screen, details=[*screen.details, ("caution", limits)])
    show_and_draw(arguments, record, screen, found.plot, rows=record["measures"])
