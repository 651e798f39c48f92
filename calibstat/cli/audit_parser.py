"""The arguments of ``calibstat audit`` and ``calibstat scan``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from calibstat.cli import options

ADJUSTMENTS = ("max-t", "step-down", "holm", "fdr_bh")

_AUDIT = """\
Which groups of rows is the model off for? Tests every level of the named columns, and all rows, on the same redraws of
the labels, so that the chance of any false alarm is at most 5 %. Use rows that the model was not fitted on."""

_AUDIT_EXAMPLES = """\
examples:
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by age --by sex
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by age --by sex --depth 2 --min-size 200
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by sex --curves

"""

_SCAN = """\
Along which columns is the model off? Ranks columns by their variable-based calibration error (VECE) beyond what noise
alone gives, and names the value where the error is largest. Use rows that the model was not fitted on."""

_LENS = "Two classes are seen through canonical (the last class); more through top-label."


def add_audit(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat audit``."""
    parser = _command(commands, "audit", "find the groups of rows for which the model is off", _AUDIT, _AUDIT_EXAMPLES)
    parser.add_argument(
        "--by",
        action="append",
        required=True,
        metavar="VAR",
        help="a column of groups, or of numbers that are cut into groups; a pattern, or --by several times",
    )
    parser.add_argument(
        "--depth", type=options.positive, default=1, metavar="D", help="cross up to D columns (default: 1)"
    )
    parser.add_argument(
        "--min-size",
        type=options.positive,
        default=50,
        metavar="N",
        help="leave out groups with fewer rows (default: 50)",
    )
    parser.add_argument(
        "--curves",
        action="store_true",
        help="ask instead, for each column, whether as much happens in all its groups at the same prediction",
    )
    parser.add_argument(
        "--min-expected",
        type=float,
        metavar="N",
        help="with --curves: leave out groups in which fewer events, or non-events, are expected (default: 10)",
    )
    _shared(parser, 4)


def add_scan(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat scan``."""
    parser = _command(commands, "scan", "rank columns by how much the model is off along them", _SCAN, "")
    parser.add_argument(
        "--variable",
        action="append",
        metavar="VAR",
        help="a column, or a pattern; may be repeated (default: all but labels, probabilities and weights)",
    )
    parser.add_argument(
        "--rank-by",
        choices=("excess", "vece"),
        default="excess",
        help="VECE beyond noise (the default), or raw as in Kelly & Smyth (2023)",
    )
    parser.add_argument(
        "--null",
        choices=("weak", "strong"),
        default="weak",
        help="no error on average at any value (weak, the default), or calibrated given prediction and column (strong)",
    )
    _shared(parser, 10)


def _command(
    commands: argparse._SubParsersAction[Any], name: str, short: str, about: str, examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=about,
        epilog=f"{examples}{options.LENS_HELP}\n{_LENS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_input(parser)
    parser.add_argument("--lens", action=options.Once, metavar="LENS", help="the question to ask (see below)")
    return parser


def _shared(parser: argparse.ArgumentParser, n_bins: int) -> None:
    parser.add_argument(
        "--bins",
        type=options.positive,
        default=n_bins,
        metavar="N",
        help=f"cells of a column of numbers with more than ten values (default: {n_bins})",
    )
    parser.add_argument(
        "--binning", choices=("equal-mass", "equal-width"), default="equal-mass", help="how numbers are cut"
    )
    parser.add_argument(
        "--missing",
        choices=("raise", "level"),
        default="raise",
        help="missing values of these columns: an error (the default), or a level of their own",
    )
    parser.add_argument(
        "--adjust", choices=ADJUSTMENTS, default="max-t", help="how p-values are adjusted (default: max-t)"
    )
    options.add_level(parser)
    options.add_resamples(parser)
    options.add_seed(parser)
    options.add_format(parser, "a list of JSON records")
