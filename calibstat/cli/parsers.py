"""The arguments of every command; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from calibstat import __version__
from calibstat.cli import options
from calibstat.cli.estimators import add_parser as add_estimators
from calibstat.cli.options import ESTIMATORS

_TEST = """\
Is the model calibrated? Tests predictions in a file against what happened, through several lenses, and says by how
much they are off. Test on rows that neither the model nor its calibrator was fitted on."""
_EXAMPLES = f"""\
examples:
  calibstat test predictions.csv --label actual --probs 'prob_*'
  calibstat test predictions.csv.gz --label actual --probs 'prob_*' --given age --given sex
  calibstat test predictions.csv --label correct --confidence conf
  calibstat test predictions.parquet --label y --probs p --lens canonical --format json

{options.LENS_HELP}
Two classes are tested through canonical; more through top-label, canonical and class-wise."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, so that `main` prints one line."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands; the name of the command is left in ``command``."""
    parser = _Parser(prog="calibstat", description="Statistical tests of classifier calibration.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"calibstat {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_test(commands)
    _add_demo(commands)
    add_calibrate(commands)
    add_compare_calibrators(commands)
    add_estimators(commands)
    add_monitor(commands)
    add_plan(commands)
    add_estimate(commands)
    add_compare(commands)
    add_audit(commands)
    add_scan(commands)
    add_sweep(commands)
    add_summarise(commands)
    return parser


def _add_test(commands: argparse._SubParsersAction[_Parser]) -> None:
    test = commands.add_parser(
        "test",
        help="test the predictions in a file",
        description=_TEST,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_input(test)
    options.add_questions(test)
    test.add_argument(
        "--omnibus",
        action="store_true",
        help="test with several statistics at once through each lens (default lens: canonical): one p-value for each, "
        "and the kind of miscalibration it points to",
    )
    test.add_argument(
        "--n-resamples",
        type=options.positive,
        metavar="N",
        help="draw p-values by so many redraws of the labels (default: computed exactly where that is possible, "
        "else 999)",
    )
    options.add_seed(test)
    options.add_format(test, "a list of JSON records")


def _add_demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="test a real classifier before and after recalibration",
        description="Trains a classifier on data that come with scikit-learn, tests it raw and recalibrated, says what "
        "to make of it, and draws calibration_demo.png. Takes seconds and needs no network.",
        allow_abbrev=False,
    )
    demo.add_argument("--out", default=".", metavar="DIR", help="where to put the picture (default: here)")
    options.add_seed(demo)


# Errors in the words of the command line: options instead of arguments.


def one_line(error: Exception) -> str:
    """Write an error in one line that names options.

    Examples
    --------
    >>> one_line(ValueError('fill them in, or pass nan_policy="omit"'))
    'fill them in, or pass --nan-policy omit'
    >>> one_line(ValueError("for example labels=['cat', 'dog']"))
    'for example --labels cat,dog'
    """
    text = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    text = text.replace('nan_policy="omit"', "--nan-policy omit")
    text = re.sub(r"labels=\[([^\]]*)\]", _labels_option, text)
    return " ".join(text.split()) or type(error).__name__


def _labels_option(found: re.Match[str]) -> str:
    return "--labels " + ",".join(label.strip().strip("'\"") for label in found[1].split(","))


# The arguments of ``calibstat estimate`` and ``calibstat compare``; nothing heavy is imported here.

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


# The arguments of ``calibstat audit`` and ``calibstat scan``; nothing heavy is imported here.

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


# The arguments of ``calibstat calibrate``; nothing heavy is imported here.

# The name on the command line, and the class.
NAMES = {
    "platt": "Platt",
    "beta": "Beta",
    "temperature": "Temperature",
    "vector": "VectorScaling",
    "matrix": "MatrixScaling",
    "dirichlet": "Dirichlet",
    "isotonic": "Isotonic",
    "centered-isotonic": "CenteredIsotonic",
    "histogram-binning": "HistogramBinning",
    "scaling-binning": "ScalingBinning",
    "spline": "Spline",
    "smooth": "Smooth",
    "bbq": "BBQ",
    "venn-abers": "VennAbers",
    "decision-tree": "DecisionTree",
    "calibration-tree": "CalibrationTree",
    "variable-based": "VariableBased",
    "augmented-beta": "AugmentedBeta",
}
NEEDS_VARIABLE = ("variable-based", "augmented-beta")
TAKES_VARIABLE = ("decision-tree", "calibration-tree")
_CALIBRATE = """\
Fits a calibrator on a share of the rows and writes the others, calibrated: rows that it was fitted on are never
written, so that what is written can be tested. With --apply all rows are for the fit, and those of the other file are
written. With --load nothing is fitted."""


def add_calibrate(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "calibrate", help="fit a calibrator and apply it", description=_CALIBRATE, allow_abbrev=False
    )
    parser.add_argument("file", metavar="FILE", help="CSV (also compressed), Parquet, NPZ or NetCDF")
    parser.add_argument("--label", required=True, metavar="COL", help="the column of what happened")
    parser.add_argument(
        "--probs", required=True, action="append", metavar="COL", help="the columns of probabilities, or a pattern"
    )
    parser.add_argument("--labels", metavar="A,B,C", help="the class of each column of probabilities, in order")
    parser.add_argument("--weights", metavar="COL", help="a column of importance weights")
    parser.add_argument("--variable", metavar="COL", help="a column of numbers for calibrators that use one")
    parser.add_argument(
        "--nan-policy", choices=("raise", "omit"), default="raise", help="what to do where some is missing"
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="where to write calibrated rows, as CSV (also .csv.gz)"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--calibrator", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    which.add_argument("--load", metavar="FILE", help="a calibrator that was saved: apply it to all rows")
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--share", type=float, default=0.5, metavar="S", help="share of rows for the fit (default: 0.5)")
    rows.add_argument("--apply", metavar="FILE", help="fit on all rows, and calibrate those of this file")
    parser.add_argument("--save", metavar="FILE", help="write the fitted calibrator, as JSON")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="chooses the rows of the fit (default: 0)")


# The arguments of ``calibstat compare-calibrators``; nothing heavy is imported here.

_COMPARE_CALIBRATORS = """\
Fits calibrators on a share of the rows, tests each of them and the predictions as given on the others, and says which
is better calibrated than which, by how much, and which cannot be told apart. No row is tested on that a calibrator was
fitted on."""


def add_compare_calibrators(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "compare-calibrators",
        help="fit several calibrators and compare them on other rows",
        description=_COMPARE_CALIBRATORS,
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


# The arguments of ``calibstat monitor``; nothing heavy is imported here.

_MONITOR = """\
Is the model still calibrated? Bets on the labels of a file row by row, in the order in which predictions were made. The
evidence E may be looked at after every row: a model that keeps its promises ever reaches 1/alpha with a chance of at
most alpha. With --state the next call goes on where this one stopped; rows that were seen before are passed over. A
row whose label is missing holds those after it until its label is there.

exit code: 3 if the alarm was raised, now or before; 0 if not; 2 for bad input, which changes no state."""


def add_monitor(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "monitor",
        help="watch a model while it runs",
        description=_MONITOR,
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


# The arguments of ``calibstat plan``; nothing heavy is imported here.

_PLAN = """\
How many labels does a test need to see a true calibration error of a given size? Or, with --n, how small an error does
it see in so many labels? Simulated on uniform probabilities of an event, or on the predictions in a file, which say
how often the model announces what; its labels are not used."""
_PLAN_EXAMPLES = """\
examples:
  calibstat plan --ece 0.02
  calibstat plan --ece 0.02 predictions.csv --label y --probs p --power 0.9
  calibstat plan --n 5000 --estimator DebiasedCE --bins 10"""


def add_plan(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "plan",
        help="how many labels a test needs",
        description=_PLAN,
        epilog=_PLAN_EXAMPLES,
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


# The arguments of ``calibstat sweep`` and ``calibstat summarise``; nothing heavy is imported here.

_SWEEP = """\
Draws many samples from models whose true calibration errors are known, and evaluates estimators and tests on each.
The study is described in a TOML file; its results go into a Zarr store, block by block."""
_EXAMPLE = """\
a study:
  seed = 0
  n_repeats = 200
  n = [100, 1000]
  n_bins = [5, 15]
  draws = "rows"
  [models]
  calibrated = "GaussianMixture(0, -2)"
  off = "GaussianMixture(1, 1)"
  [estimators]
  ECE = "ECE(EqualMass(n_bins))"
  [tests]
  PDE = "PDE(EqualMass(n_bins))"
  ECE = { statistic = "ECE(EqualMass(n_bins))", null = "Consistency(99)" }
What mentions n_bins is made anew for each of them. Names are those of calibstat and calibstat.generators."""


def add_sweep(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat sweep``."""
    sweep = commands.add_parser(
        "sweep",
        help="study estimators and tests on models with known truth",
        description=_SWEEP,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    sweep.add_argument("study", metavar="STUDY", help="a TOML file (see below)")
    sweep.add_argument(
        "--store", metavar="PATH", help="where the results go (default: the name of the study, with .zarr, here)"
    )
    engine = sweep.add_mutually_exclusive_group()
    engine.add_argument("--scheduler", metavar="ADDRESS", help="compute on this Dask cluster: tcp://host:8786")
    engine.add_argument(
        "--workers", type=int, metavar="N", help="compute in N processes of this machine (default: threads)"
    )
    sweep.add_argument("--resume", action="store_true", help="go on with a store that is there")


def add_summarise(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat summarise``."""
    summarise = commands.add_parser(
        "summarise",
        help="bias, variance, coverage, size and power from a sweep",
        description="Summarises the store of a sweep over its repeats, each number with its Monte Carlo standard "
        "error.",
        allow_abbrev=False,
    )
    summarise.add_argument("store", metavar="STORE", help="a Zarr store, or a NetCDF file")
    summarise.add_argument("--level", type=float, default=0.05, metavar="A", help="level of the tests (default: 0.05)")
    summarise.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print it (default: table)"
    )
