"""The arguments of every command; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import NoReturn

from calibstat import __version__
from calibstat.cli.calibrate_options import add_parser as add_calibrate
from calibstat.cli.estimators import add_parser as add_estimators
from calibstat.cli.names import ESTIMATORS
from calibstat.cli.sweep_parser import add_summarise, add_sweep

_TEST = """\
Is the model calibrated? Tests predictions in a file against what happened, through several lenses, and says by how
much they are off. Test on rows that neither the model nor its calibrator was fitted on."""

_EXAMPLES = """\
examples:
  calibstat test predictions.csv --label actual --probs 'prob_*'
  calibstat test predictions.csv.gz --label actual --probs 'prob_*' --given age --given sex
  calibstat test predictions.csv --label correct --confidence conf
  calibstat test predictions.parquet --label y --probs p --lens canonical --format json

lenses:
  top-label         is the most probable class right as often as its confidence says?
  canonical         is the whole prediction right? (the strongest question)
  class-wise        does each class happen as often as predicted? one test for each class
  class-wise:LABEL  the same for one class
  top-k:K           are the probabilities of the K most probable classes right?
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
    add_estimators(commands)
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
    _add_input(test)
    _add_questions(test)
    test.add_argument(
        "--n-resamples", type=_positive, default=999, metavar="N", help="redraws of the labels (default: 999)"
    )
    _add_seed(test)
    test.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text to read (the default), or a list of JSON records",
    )


def _add_input(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "file", metavar="FILE", help="CSV (also compressed), Parquet, NPZ or NetCDF; - is CSV on standard input"
    )
    test.add_argument("--label", required=True, metavar="COL", help="the column of what happened")
    predictions = test.add_mutually_exclusive_group(required=True)
    predictions.add_argument(
        "--probs",
        action="append",
        metavar="COL",
        help="the columns of probabilities: a pattern such as 'prob_*', or --probs several times",
    )
    predictions.add_argument(
        "--confidence",
        metavar="COL",
        help="the column of confidences in the predicted label, where --label says whether that was right (true or "
        "false, 1 or 0)",
    )
    test.add_argument("--labels", metavar="A,B,C", help="the class of each column of probabilities, in order")
    test.add_argument("--weights", metavar="COL", help="a column of importance weights")
    test.add_argument(
        "--nan-policy",
        choices=("raise", "omit"),
        default="raise",
        help="what to do with rows in which something is missing (default: raise an error)",
    )


def _add_questions(test: argparse.ArgumentParser) -> None:
    test.add_argument("--lens", action="append", metavar="LENS", help="a question to ask (see below); may be repeated")
    test.add_argument(
        "--given",
        action="append",
        metavar="VAR",
        help="also test conditionally on this column (age, sex, site); may be repeated, each is tested alone; "
        "prediction,VAR conditions on both",
    )
    test.add_argument(
        "--estimator", metavar="NAME", help=f"how to measure miscalibration; one of {', '.join(ESTIMATORS)}"
    )
    test.add_argument(
        "--bins",
        type=_positive,
        metavar="N",
        help="cells of a probability or a variable (default: 15, or 10 for a variable); where more than two outcomes "
        "are seen at once, nodes of more than 1/N of the rows are split (default: 20)",
    )
    test.add_argument(
        "--binning",
        choices=("equal-mass", "equal-width"),
        default="equal-mass",
        help="how to cut a probability or a number (default: equal-mass)",
    )


def _add_demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="test a real classifier before and after recalibration",
        description="Trains a classifier on data that come with scikit-learn, tests it raw and recalibrated, says what "
        "to make of it, and draws calibration_demo.png. Takes seconds and needs no network.",
        allow_abbrev=False,
    )
    demo.add_argument("--out", default=".", metavar="DIR", help="where to put the picture (default: here)")
    _add_seed(demo)


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=_whole, default=0, metavar="S", help="the same seed gives the same numbers (default: 0)"
    )


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
