"""The arguments of ``calibstat plan``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from calibstat.cli import options
from calibstat.cli.names import ESTIMATORS

_ABOUT = """\
How many labels does a test need to see a true calibration error of a given size? Or, with --n, how small an error does
it see in so many labels? Simulated on uniform probabilities of an event, or on the predictions in a file, which say
how often the model announces what; its labels are not used."""

_EXAMPLES = """\
examples:
  calibstat plan --ece 0.02
  calibstat plan --ece 0.02 predictions.csv --label y --probs p --power 0.9
  calibstat plan --n 5000 --estimator DebiasedCE --bins 10"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "plan",
        help="how many labels a test needs",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="predictions of the model (default: uniform ones)")
    parser.add_argument("--label", metavar="COL", help="the column of what happened (only its classes matter)")
    parser.add_argument("--probs", action="append", metavar="COL", help="the columns of probabilities, or a pattern")
    options.add_labels(parser)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--ece", type=float, metavar="E", help="the true error that is to be seen (unbinned)")
    asked.add_argument("--n", type=int, metavar="N", help="the number of labels there will be")
    parser.add_argument(
        "--direction",
        choices=("overconfident", "underconfident", "too-low", "too-high"),
        default="overconfident",
        help="how predictions are wrong (default: overconfident)",
    )
    parser.add_argument(
        "--lens",
        action=options.Once,
        metavar="LENS",
        help="canonical (two classes), top-label (more) or class-wise:LABEL",
    )
    parser.add_argument(
        "--estimator",
        default="ECE",
        metavar="NAME",
        help=f"the statistic of the test (default: ECE); one of {', '.join((*ESTIMATORS, 'Kuiper'))}",
    )
    parser.add_argument(
        "--bins", type=int, default=15, metavar="N", help="its cells of equal mass; Kuiper has none (default: 15)"
    )
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="chance of seeing it (default: 0.8)")
    parser.add_argument("--level", type=float, default=0.05, metavar="A", help="level of the test (default: 0.05)")
    parser.add_argument("--max-n", type=int, default=1_000_000, metavar="N", help="no more labels (default: 1000000)")
    parser.add_argument("--runs", type=int, default=1000, metavar="R", help="simulated samples (default: 1000)")
    options.add_seed(parser)
    options.add_format(parser, "JSON")
