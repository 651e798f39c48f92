r"""Which calibrator should be used, or is none better than the model itself?

Fits calibrators on a share of the rows, and compares each of them with the
predictions as they are on the other rows: by calibration error, Brier score and
log loss. Recommends one only if it is shown to be better, although it was
chosen among several. Without --calibrators the usual ones are tried.

example commands:
  calibstat compare-calibrators predictions.csv --label actual --probs 'prob_*'
"""

from __future__ import annotations

import argparse

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.calibrate import NAMES, make_calibrator, numeric_variables, refuse_unused
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import Measure, one_question, read_sample
from calibstat.cli.text import ProgressBar, advise, plain_warnings, say
from calibstat.comparisons.recommend import OTHER_SPLITS, usual_calibrators
from calibstat.comparisons.splits import TEST_SIZE, UNCALIBRATED

_OPTIONS = {
    "adjust is ": "--adjust is ",
    "test_size ": "--test-size ",
    "n_splits": "--n-splits",
    "cv is ": "--cv is ",
    "cv= ": "--cv ",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(confidence=None)
    options.add_file(parser)
    options.add_one(parser, "--probs", required=True)
    parser.add_argument(
        "--calibrators",
        action="extend",
        type=options.column_names,
        metavar="A,B,C",
        help=f"the calibrators to compare, from {', '.join(NAMES)} (default: usual ones, by classes and rows)",
    )
    options.add(parser, "--weights", "--groups", "--nan-policy")
    options.add_one(parser, "--variables", "--variable")
    options.add_lens(parser)
    options.add(parser, "--estimator", "--binning", estimator="DebiasedL2")
    options.add_one(parser, "--bins", help="cells (default: 15, fewer for few rows)")
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--test-size", type=float, metavar="S", help="share of the rows to test on (default: 0.5)")
    rows.add_argument(
        "--cv", type=int, metavar="N", help="cross-fit in N folds, test on all rows; p-values are then approximate"
    )
    parser.add_argument(
        "--n-splits",
        type=int,
        default=1,
        metavar="N",
        help="random splits; p is twice the median of theirs (default: 1)",
    )
    redraws = "redraws of the labels (default: 999, or more for many pairs)"
    options.add_one(parser, "--n-resamples", default=None, help=redraws)
    options.add_one(
        parser, "--adjust", default="holm", help="how p-values of pairs are adjusted: holm (the default) or fdr_by"
    )
    options.add(parser, "--level", "--confidence-level", "--seed", "--plot", "--format")


def run(arguments: argparse.Namespace) -> None:
    """Read, fit, test, compare, print."""
    names = [name.lower() for name in arguments.calibrators or ()]
    if len(set(names)) < len(names):
        raise ValueError(f"--calibrators {','.join(names)}: name each only once, such as platt,beta,isotonic")
    variables = arguments.variables or ()
    refuse_unused("--calibrators", names, variables)
    with plain_warnings(), options.named_options(_OPTIONS):
        sample = read_sample(arguments, variables, "--variables")
        made = {name: make_calibrator("--calibrators", name, variables, len(sample.labels)) for name in names}
        tried = made or usual_calibrators(sample, _share_of_tests(arguments))
        numeric_variables(sample)  # raises an error for text
        measure = Measure.asked(arguments, "DebiasedL2")
        question = one_question(sample.predictions, arguments.lens, measure)
        with ProgressBar("comparing"):
            found = cs.compare_calibrators(
                tried,
                sample,
                lens=None if arguments.lens is None and not measure.has_lens else question.view.lens,
                # By default there are fewer cells for few rows.
                estimator=None if measure == Measure("DebiasedL2") else question.core,
                test_size=arguments.test_size,
                cv=arguments.cv,
                n_splits=arguments.n_splits,
                n_other_splits=OTHER_SPLITS if arguments.cv is None and arguments.n_splits == 1 else 0,
                adjust=arguments.adjust,
                level=arguments.level,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
    show_and_draw(arguments, found.to_dict() | {"source": sample.predictions.source}, found, found.plot)
    if arguments.format == "text" and found.calibrator != UNCALIBRATED:
        say()
        advise("Apply it", f"calibstat calibrate FILE ... --calibrator {found.calibrator} --out NEW_FILE")


def _share_of_tests(arguments: argparse.Namespace) -> float:
    if arguments.cv is not None:
        return 1 / max(arguments.cv, 2)
    return TEST_SIZE if arguments.test_size is None else float(arguments.test_size)
