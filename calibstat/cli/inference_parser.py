"""The arguments of ``calibstat estimate`` and ``calibstat compare``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from calibstat.cli import options

_ESTIMATE = """\
By how much is the model off? Estimates miscalibration through several lenses, with an interval where one is known to
cover, beside what noise alone would give. Use rows that neither the model nor its calibrator was fitted on."""

_COMPARE = """\
Which model is better calibrated? Compares the squared calibration errors of two or more models on the same rows, in
pairs, adjusted for having looked at all of them, and says which may be the best."""

_COMPARE_EXAMPLES = """\
examples:
  calibstat compare predictions.csv --label actual --model raw='raw_*' --model scaled='scaled_*'
  calibstat compare predictions.csv --label y --model a=p_a --model b=p_b --model c=p_c --format json

"""


def add_estimate(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat estimate``."""
    parser = commands.add_parser(
        "estimate",
        help="estimate how much the predictions in a file are off",
        description=_ESTIMATE,
        epilog=f"{options.LENS_HELP}\nTwo classes are seen through canonical; more through top-label, canonical and "
        "class-wise.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_input(parser)
    options.add_questions(parser)
    options.add_level(parser)
    options.add_resamples(parser)
    options.add_seed(parser)
    options.add_format(parser, "a list of JSON records")


def add_compare(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat compare``."""
    parser = commands.add_parser(
        "compare",
        help="compare the calibration of models",
        description=_COMPARE,
        epilog=f"{_COMPARE_EXAMPLES}{options.LENS_HELP}\n"
        "Two classes are seen through canonical, more through top-label.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_file(parser)
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="NAME=COL",
        help="a model and its columns of probabilities: a pattern such as raw='raw_*', or columns with commas between; "
        "two times or more",
    )
    options.add_labels(parser)
    parser.add_argument("--lens", action=options.Once, metavar="LENS", help="the question to ask (see below)")
    options.add_cells(parser)
    parser.add_argument(
        "--adjust",
        choices=("holm", "max-t"),
        default="holm",
        help="how p-values of pairs are adjusted: Holm's method (the default), or by the largest difference",
    )
    options.add_level(parser)
    options.add_resamples(parser)
    options.add_seed(parser)
    options.add_format(parser, "one JSON record")
