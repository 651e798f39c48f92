"""The arguments of ``calibstat compare-calibrators``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from calibstat.cli import options
from calibstat.cli.calibrate_options import NAMES

_ABOUT = """\
Fits calibrators on a share of the rows, tests each of them and the predictions as given on the others, and says which
is better calibrated than which, by how much, and which cannot be told apart. No row is tested on that a calibrator was
fitted on."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "compare-calibrators",
        help="fit several calibrators and compare them on other rows",
        description=_ABOUT,
        allow_abbrev=False,
    )
    # The module of the command has no hyphen in its name.
    parser.set_defaults(command="compare_calibrators")
    options.add_file(parser)
    options.add_probs(parser)
    parser.add_argument(
        "--calibrators", required=True, metavar="A,B,C", help=f"which to compare; of {', '.join(NAMES)}"
    )
    options.add_labels(parser)
    parser.add_argument("--weights", metavar="COL", help="a column of importance weights")
    parser.add_argument("--variable", metavar="COL", help="a column of numbers for calibrators that use one")
    parser.add_argument(
        "--nan-policy", choices=("raise", "omit"), default="raise", help="what to do where some is missing"
    )
    parser.add_argument(
        "--lens",
        action=options.Once,
        metavar="LENS",
        help="canonical, top-label, class-wise:LABEL or top-k:K (default: canonical for two classes, else top-label)",
    )
    parser.add_argument("--bins", type=int, metavar="N", help="cells of equal mass (default: 15, fewer for few rows)")
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--test-size", type=float, metavar="S", help="share of the rows to test on (default: 0.5)")
    rows.add_argument(
        "--cv", type=int, metavar="N", help="cross-fit in N folds, test on all rows; p-values are then approximate"
    )
    parser.add_argument(
        "--n-splits", type=int, default=1, metavar="N", help="random splits; p is twice their median (default: 1)"
    )
    parser.add_argument(
        "--n-resamples", type=int, metavar="N", help="redraws of the labels (default: 999, or as many as pairs need)"
    )
    options.add_seed(parser)
    options.add_format(parser, "a JSON record")
