r"""Along which columns is the model off?

Says once how far the model is off over all rows, ranks columns by how much the
error varies along them beyond that and beyond noise, and names the value at
which the error is largest. Use rows that the model was not fitted on.

example commands:
  calibstat scan predictions.csv --label actual --probs 'prob_*'
  calibstat scan predictions.csv --label actual --probs 'prob_*' \
    --variables age,income --null strong
"""

from __future__ import annotations

import argparse

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.audit import OPTIONS, add_shared, flat, read_audited, shared
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import Measure, one_question, read_null
from calibstat.cli.text import ProgressBar, notice, plain_warnings


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
        choices=("varying", "excess", "vece"),
        default="varying",
        help="varying: what the error varies by along a column, beyond the overall bias and noise (the default); "
        "excess: the whole error beyond noise; vece: the whole error, as in Kelly & Smyth (2023)",
    )
    options.add_one(
        parser,
        "--null",
        default="weak",
        help="weak: no error on average at any value (the default); strong: calibrated given prediction and column; "
        "or an expression: 'Weak(9999)'",
    )
    add_shared(parser, 10)


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, scan its columns, print what was found."""
    with plain_warnings(), options.named_options(OPTIONS):
        sample, variables = read_audited(arguments, "--variables", arguments.variables or ["*"], Measure())
        question = one_question(sample.known, arguments.lens, Measure(), two="a scan")
        with ProgressBar():
            scan = cs.scan_variables(
                sample,
                variables,
                lens=question.view.lens,
                null=read_null(arguments.null),
                rank_by=arguments.rank_by,
                **shared(arguments, 10),
            )
    common = ("mean_prediction", "mean_outcome", "pvalue_overall", "lens", "n", "n_resamples", "null", "rank_by")
    last = ("adjust", "level", "confidence_level", "hypothesis", "source")
    show_and_draw(arguments, flat(scan.to_dict(), "variables", (*common, *last)), scan, scan.plot)
    if arguments.format == "json":
        for each in scan.left_out:
            notice(f"left out: {each.name} {each.reason}")
