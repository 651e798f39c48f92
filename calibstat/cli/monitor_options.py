"""The arguments of ``calibstat monitor``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from calibstat.cli import options

_ABOUT = """\
Is the model still calibrated? Bets on the labels of a file row by row, in the order in which predictions were made. The
evidence E may be looked at after every row: a model that keeps its promises ever reaches 1/alpha with a chance of at
most alpha. With --state the next call goes on where this one stopped; rows that were seen before are passed over. A
row whose label is missing holds those after it until its label is there.

exit code: 3 if the alarm was raised, now or before; 0 if not; 2 for bad input, which changes no state."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "monitor",
        help="watch a model while it runs",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_file(parser, "the column of what happened; empty: not yet")
    options.add_probs(parser)
    parser.add_argument(
        "--order",
        required=True,
        metavar="COL",
        help="the column that says when a prediction was made: numbers, or texts that sort, each once",
    )
    options.add_labels(parser)
    parser.add_argument(
        "--lens",
        action=options.Once,
        default="canonical",
        metavar="LENS",
        help="canonical (the default), top-label, class-wise:LABEL or top-k:K",
    )
    parser.add_argument("--state", metavar="FILE", help="go on from this file if it is there, and keep the state in it")
    parser.add_argument("--name", default="", metavar="MODEL", help="of the model; a state of another one is refused")
    parser.add_argument(
        "--alpha", type=float, default=0.05, metavar="A", help="chance of a false alarm (default: 0.05)"
    )
    parser.add_argument("--sort", action="store_true", help="sort the rows by --order first")
    parser.add_argument(
        "--missing",
        choices=("wait", "worst"),
        default="wait",
        help="rows without a label: they, and those after them, wait for the next call (the default); or they count "
        "with the label that is worst for E, because theirs will never come",
    )
    parser.add_argument(
        "--bad-rows",
        choices=("raise", "skip"),
        default="raise",
        help="an error (the default), or leave out rows with bad predictions, and count unknown labels as the worst",
    )
    options.add_format(parser, "JSON")
