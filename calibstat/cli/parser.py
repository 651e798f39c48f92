"""The arguments of every command; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import NoReturn

from calibstat import __version__
from calibstat.cli import options
from calibstat.cli.audit_parser import add_audit, add_scan
from calibstat.cli.calibrate_options import add_parser as add_calibrate
from calibstat.cli.compare_calibrators_options import add_parser as add_compare_calibrators
from calibstat.cli.estimators import add_parser as add_estimators
from calibstat.cli.inference_parser import add_compare, add_estimate
from calibstat.cli.monitor_options import add_parser as add_monitor
from calibstat.cli.plan_options import add_parser as add_plan
from calibstat.cli.sweep_parser import add_summarise, add_sweep

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
