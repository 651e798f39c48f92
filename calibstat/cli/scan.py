r"""Along which columns is the model off?

Ranks columns by their variable-based calibration error (VECE) beyond what noise
alone gives, and names the value where the error is largest. Use rows that the
model was not fitted on.

example commands:
  calibstat scan predictions.csv --label actual --probs 'prob_*'
  calibstat scan predictions.csv --label actual --probs 'prob_*' \
    --variables age,income --null strong
"""

from __future__ import annotations

import argparse

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.audit import CAUTION, OPTIONS, add_shared, flat, read_audited, shared
from calibstat.cli.questions import Measure, one_question
from calibstat.cli.text import ProgressBar, hang, notice, plain_warnings, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_lens(parser)
    options.add_one(
        parser,
        "--variables",
        "--variable",
        help="columns, or patterns, with commas between, or the option several times (default: all but labels, "
        "probabilities and weights)",
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
    add_shared(parser, 10)


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, scan its columns, print what was found."""
    with plain_warnings(), options.named_options(OPTIONS):
        sample, variables = read_audited(arguments, "--variables", arguments.variables or ["*"], Measure())
        question = one_question(sample.predictions, arguments.lens, Measure(), two="a scan")
        with ProgressBar():
            scan = cs.scan_variables(
                sample,
                variables,
                lens=question.view.lens,
                null=arguments.null,
                rank_by=arguments.rank_by,
                **shared(arguments, 10),
            )
    if arguments.format == "json":
        common = ("lens", "n", "n_resamples", "null", "rank_by", "adjust", "confidence_level", "hypothesis", "source")
        print_json(flat(scan.to_dict(), "variables", common))
        for each in scan.left_out:
            notice(f"left out: {each.name} {each.reason}")
    else:
        print("\n".join([str(scan), *hang("caution", CAUTION)]))
