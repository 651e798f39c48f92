"""The arguments of ``calibstat calibrate``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

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

_ABOUT = """\
Fits a calibrator on a share of the rows and writes the others, calibrated: rows that it was fitted on are never
written, so that what is written can be tested. With --apply all rows are for the fit, and those of the other file are
written. With --load nothing is fitted."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "calibrate", help="fit a calibrator and apply it", description=_ABOUT, allow_abbrev=False
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
