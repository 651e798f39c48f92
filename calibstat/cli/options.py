"""Arguments that several commands share; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

LENS_HELP = """\
lenses:
  top-label         is the most probable class right as often as its confidence says?
  canonical         is the whole prediction right? (the strongest question)
  class-wise        does each class happen as often as predicted? one test for each class
  class-wise:LABEL  the same for one class
  top-k:K           are the probabilities of the K most probable classes right?"""


def add_file(parser: argparse.ArgumentParser, label: str = "the column of what happened") -> None:
    """Where the rows are, and what happened."""
    parser.add_argument(
        "file", metavar="FILE", help="CSV (also compressed), Parquet, NPZ or NetCDF; - is CSV on standard input"
    )
    parser.add_argument("--label", required=True, metavar="COL", help=label)


def add_input(parser: argparse.ArgumentParser) -> None:
    """Where the sample of one model is."""
    add_file(parser)
    predictions = parser.add_mutually_exclusive_group(required=True)
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
    add_labels(parser)
    parser.add_argument("--weights", metavar="COL", help="a column of importance weights")
    parser.add_argument(
        "--nan-policy",
        choices=("raise", "omit"),
        default="raise",
        help="what to do with rows in which something is missing (default: raise an error)",
    )


def add_probs(parser: argparse.ArgumentParser) -> None:
    """The probabilities of one model, where nothing else can be given for them."""
    parser.add_argument(
        "--probs", required=True, action="append", metavar="COL", help="the columns of probabilities, or a pattern"
    )


def add_labels(parser: argparse.ArgumentParser) -> None:
    """The classes of the columns."""
    parser.add_argument("--labels", metavar="A,B,C", help="the class of each column of probabilities, in order")


def add_questions(parser: argparse.ArgumentParser) -> None:
    """What to ask of the sample, and in which cells."""
    parser.add_argument(
        "--lens", action="append", metavar="LENS", help="a question to ask (see below); may be repeated"
    )
    parser.add_argument(
        "--given",
        action="append",
        metavar="VAR",
        help="also ask conditionally on this column (age, sex, site); may be repeated, each is asked alone; "
        "prediction,VAR conditions on both; not with an estimator that conditions on nothing",
    )
    parser.add_argument("--estimator", metavar="NAME", help=f"how to measure miscalibration; one of {', '.join(EVERY)}")
    add_cells(parser)


def add_cells(parser: argparse.ArgumentParser) -> None:
    """How to cut."""
    parser.add_argument(
        "--bins",
        type=positive,
        metavar="N",
        help="cells of a probability or a variable (default: 15, or 10 for a variable); where more than two outcomes "
        "are seen at once, nodes of more than 1/N of the rows are split (default: 20)",
    )
    parser.add_argument(
        "--binning",
        choices=("equal-mass", "equal-width"),
        default="equal-mass",
        help="how to cut a probability or a number (default: equal-mass)",
    )


def add_level(parser: argparse.ArgumentParser) -> None:
    """The level of intervals."""
    parser.add_argument(
        "--confidence-level", type=level, default=0.95, metavar="C", help="level of intervals (default: 0.95)"
    )


def add_resamples(parser: argparse.ArgumentParser) -> None:
    """How many redraws."""
    parser.add_argument(
        "--n-resamples", type=positive, default=999, metavar="N", help="redraws of the labels (default: 999)"
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Where randomness begins."""
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="S", help="the same seed gives the same numbers (default: 0)"
    )


def add_format(parser: argparse.ArgumentParser, json: str) -> None:
    """Text or JSON."""
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help=f"text to read (the default), or {json}"
    )


class Once(argparse.Action):
    """Stores a value as usual, and refuses a second one instead of forgetting the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Store the value."""
        given = vars(namespace).setdefault("given_once", set())
        if self.dest in given:
            parser.error(f"{option_string} is there more than once, but {parser.prog} asks one question: give it once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def whole(text: str) -> int:
    """Read a whole number of at least 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def level(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.95")
    return found


# Errors of functions in the words of a command: its options in place of their parameters.


@contextmanager
def named_options(options: Mapping[str, str]) -> Iterator[None]:
    """Write errors of the ``with`` block anew, with what stands for a parameter replaced.

    Parameters
    ----------
    options : mapping
        Of texts to what they are called on the command line; what ends in " is " is replaced where an error begins.

    Examples
    --------
    >>> try:
    ...     with named_options({"n_bins is ": "--bins is "}):
    ...         raise ValueError("n_bins is 0")
    ... except ValueError as error:
    ...     print(error)
    --bins is 0
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        for parameter, option in options.items():
            if not parameter.endswith(" is ") or text.startswith(parameter):
                text = re.sub(rf"(?<![-\w]){re.escape(parameter)}", option, text)
        if text == str(error):
            raise
        raise ValueError(text) from error


# Names on the command line, looked up in tables and never evaluated; nothing heavy is imported here.

# Those of cells that give a single number.
ESTIMATORS = (
    "ECE",
    "RMSCE",
    "SquaredCE",
    "DebiasedCE",
    "DebiasedL2",
    "MaximumMiscalibration",
    "ExpectedMiscalibration",
    "PDE",
    "AUCV",
    "LpCE",
    "PearsonCE",
    "StandardizedL2",
    "TCE",
)
# All others that need nothing but the sample and have one number that a test is about, with their default parameters:
# for any number of outcomes, and for two only.
FOR_ANY = (
    "BrierDecomposition",
    "BrierScore",
    "BrierZ",
    "CME",
    "FerroFricker",
    "KCE",
    "LogLossZ",
    "LogScore",
    "MCE",
    "RMSE",
    "SKCE",
    "ScoreExcess",
    "SphericalScore",
    "UCME",
    "VectorScalingScore",
    "ZeroOneLoss",
)
FOR_TWO = (
    "ACE",
    "AUC",
    "AndersonDarling",
    "AverageTwoBin",
    "BrownianBridge",
    "CORP",
    "CalibrationBelt",
    "Cox",
    "CramerVonMises",
    "CubicScore",
    "ECESweep",
    "HosmerLemeshow",
    "ICI",
    "KS",
    "KolmogorovSmirnov",
    "Kuiper",
    "LOESS",
    "LogitScore",
    "MeanCalibration",
    "MultiscaleL2",
    "ObservedToExpected",
    "PigeonHeyse",
    "SmoothCE",
    "SmoothECE",
    "Spiegelhalter",
    "WorstInterval",
)
EVERY = tuple(sorted((*ESTIMATORS, *FOR_ANY, *FOR_TWO), key=str.lower))
TWO_OUTCOMES = frozenset({"TCE", *FOR_TWO})
# Those whose number is the same whatever is conditioned on.
UNCONDITIONAL = frozenset(
    {
        "AUC",
        "BrierScore",
        "BrierZ",
        "CalibrationBelt",
        "Cox",
        "CubicScore",
        "LogLossZ",
        "LogScore",
        "LogitScore",
        "MeanCalibration",
        "ObservedToExpected",
        "RMSE",
        "ScoreExcess",
        "SphericalScore",
        "Spiegelhalter",
        "VectorScalingScore",
        "ZeroOneLoss",
    }
)
LENSES = ("top-label", "canonical", "class-wise", "class-wise:LABEL", "top-k:K")


def estimator_name(name: str, choices: Sequence[str] = ESTIMATORS) -> str:
    """Return the public name of an estimator, whatever its case and hyphens.

    Parameters
    ----------
    name : str
    choices : sequence of str
        The public names there are.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.

    Examples
    --------
    >>> estimator_name("debiased-ce")
    'DebiasedCE'
    >>> estimator_name("smooth_ece", EVERY)
    'SmoothECE'
    """
    known = {_plain(each): each for each in choices}
    if _plain(name) not in known:
        raise ValueError(f"there is no estimator {name!r}; choose one of {', '.join(choices)}")
    return known[_plain(name)]


def lens_name(name: str) -> tuple[str, str]:
    """Split the name of a lens into its kind and what follows the colon.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.

    Examples
    --------
    >>> lens_name("top-k:2")
    ('top-k', '2')
    >>> lens_name("Canonical")
    ('canonical', '')
    """
    kind, colon, detail = name.partition(":")
    kind = kind.lower().replace("_", "-")
    forms = [form for form in LENSES if form.partition(":")[0] == kind]
    if not any(bool(form.partition(":")[2]) == bool(detail) for form in forms) or (colon and not detail):
        advice = f"write {' or '.join(forms)}" if forms else f"choose one of {', '.join(LENSES)}"
        raise ValueError(f"there is no lens {name!r}; {advice}")
    return kind, detail


def split_list(text: str) -> list[str]:
    """Split at commas; a name that holds one goes in double quotes.

    Examples
    --------
    >>> split_list('cat, "dog, small"')
    ['cat', 'dog, small']
    """
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
