r"""What is predicted, and what happens, in the leaves of a shallow tree?

Grows a tree of the outcome on the named columns, on some of the rows, and
judges its leaves on the others. A table says in words which rows are in each
leaf, and how far off the predictions are there on average. Use rows that the
model was not fitted on.

example commands:
  calibstat leaves predictions.csv --label actual --probs 'prob_*' \
    --variables age,weight
  calibstat leaves predictions.csv --label actual --probs 'prob_*' \
    --variables 'lab_*' --max-depth 2 --missing level
"""

from __future__ import annotations

import argparse

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.audit import OPTIONS, read_audited
from calibstat.cli.questions import Measure, one_question
from calibstat.cli.text import ProgressBar, plain_warnings, show

_OPTIONS = OPTIONS | {"share is ": "--share is "}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_lens(parser)
    options.add_one(
        parser,
        "--variables",
        "--variable",
        help="columns to split, or patterns, with commas between (default: all but labels, probabilities and weights)",
    )
    parser.add_argument(
        "--max-depth",
        type=options.positive,
        default=3,
        metavar="D",
        help="how many conditions lead to a leaf at most (default: 3)",
    )
    parser.add_argument(
        "--share", type=float, default=0.5, metavar="S", help="share of rows on which the tree grows (default: 0.5)"
    )
    parser.add_argument(
        "--min-size",
        type=options.positive,
        default=50,
        metavar="N",
        help="about how many rows judge each leaf, at least (default: 50)",
    )
    options.add(parser, "--missing", "--confidence-level", "--seed")
    options.add_table_format(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, grow the tree, print the table of its leaves."""
    with plain_warnings(), options.named_options(_OPTIONS):
        sample, variables = read_audited(arguments, "--variables", arguments.variables or ["*"], Measure())
        question = one_question(sample.predictions, arguments.lens, Measure(), two="a table of leaves")
        with ProgressBar():
            found = cs.grow_leaf_table(
                sample,
                variables,
                lens=question.view.lens,
                max_depth=arguments.max_depth,
                share=arguments.share,
                min_size=arguments.min_size,
                missing=arguments.missing,
                confidence_level=arguments.confidence_level,
                rng=arguments.seed,
            )
    record = found.to_dict()
    show(arguments.format, record, found, record["leaves"], verbose=arguments.verbose)
