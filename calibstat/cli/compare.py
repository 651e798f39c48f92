r"""Which model is better calibrated?

Compares the squared calibration errors of two or more models on the same rows,
pair by pair, with p-values adjusted for the number of pairs, and says which
models may be the best.

example commands:
  calibstat compare predictions.csv --label actual \
    --model raw='raw_*' --model scaled='scaled_*'
  calibstat compare predictions.csv --label y --model a=p_a --model b=p_b \
    --model c=p_c --format json
"""

from __future__ import annotations

import argparse

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import Measure, one_question, read_models, variables_asked
from calibstat.cli.text import ProgressBar, noted, plain_warnings
from calibstat.estimators.panels import default_comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_file(parser)
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="NAME=COL",
        help="a model and its columns of probabilities: a pattern such as raw='raw_*', or columns with commas between; "
        "give it for each of two or more models",
    )
    options.add(parser, "--groups")
    options.add_lens(parser)
    options.add(parser, "--estimator", "--bins", "--binning", estimator="DebiasedL2")
    options.add_one(
        parser,
        "--adjust",
        default="holm",
        help="how p-values of pairs are adjusted: holm (the default), max-t (by the largest difference) or fdr_by",
    )
    options.add(parser, "--level", "--confidence-level", "--n-resamples", "--seed", "--plot", "--format")


def run(arguments: argparse.Namespace) -> None:
    """Read the models, compare them, print what was found."""
    measure = Measure.asked(arguments, type(default_comparison()).__name__)
    with plain_warnings(), options.named_options({"adjust is ": "--adjust is "}):
        models = read_models(arguments, variables_asked(arguments.lens, (), measure))
        predictions = next(iter(models.values())).predictions
        question = one_question(predictions, arguments.lens, measure)
        with ProgressBar("comparing"):
            found = cs.compare_models(
                models,
                question.estimator,
                adjust=arguments.adjust,
                level=arguments.level,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
    usual = arguments.estimator is None
    text = noted(found, "error: root mean square over cells, noise removed") if usual else found
    show_and_draw(arguments, found.to_dict(), text, found.plot)
