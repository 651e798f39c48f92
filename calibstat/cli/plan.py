"""How many labels does a test need to detect a true calibration error?

With --n: how small an error does it detect with so many labels? The answer is
simulated, with uniform probabilities of an event or with the predictions in a
file; the labels of the file are not used. With --precision: how many rows give
narrow intervals of O/E, calibration slope and C-index (Riley et al. 2021)?

example commands:
  calibstat plan --ece 0.02
  calibstat plan --ece 0.02 predictions.csv --label y --probs p --power 0.9
  calibstat plan --ece 0.05 --cluster-size 8 --correlation 0.3
  calibstat plan --n 5000 --estimator 'DebiasedCE(EqualWidth(10))'
  calibstat plan --precision predictions.csv --label y --probs p
"""

from __future__ import annotations

import argparse
from typing import Any

import calibstat as cs
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import OF_NULLS, Measure, default_lenses, one_lens, read_null, read_sample
from calibstat.cli.text import ProgressBar, plain_warnings, show

_OPTIONS = {
    "n is ": "--n is ",
    "n_repeats is ": "--n-repeats is ",
    "max_n is ": "--max-n is ",
    "(max_n)": "(--max-n)",
    "power is ": "--power is ",
    "level is ": "--level is ",
    **OF_NULLS,
    "a wider family": "another --direction",
    "cluster_size is given": "--cluster-size is given",
    "correlation is given": "--correlation is given",
    "add cluster_size=8": "add --cluster-size 8",
    "add correlation=0.3": "add --correlation 0.3",
    "Clustered: size is": "--cluster-size is",
    "Clustered: correlation is": "--correlation is",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(weights=None, confidence=None, nan_policy="omit")
    options.add_one(parser, "file", nargs="?", help="predictions of the model (default: uniform ones)")
    options.add_one(parser, "--label", help="the column of what happened (only its classes matter)")
    options.add(parser, "--probs", "--labels")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--ece", type=float, metavar="E", help="the true error to detect (unbinned)")
    asked.add_argument("--n", type=int, metavar="N", help="the number of labels")
    asked.add_argument("--precision", action="store_true", help="rows for intervals of the widths below")
    for name, width, what in (("oe", 0.2, "O/E"), ("slope", 0.2, "calibration slope"), ("c-index", 0.1, "C-index")):
        words = f"--precision: width of the 95 %% interval of the {what} (default: {width:g})"
        parser.add_argument(f"--{name}-width", type=float, default=width, metavar="W", help=words)
    parser.add_argument(
        "--direction",
        choices=("overconfident", "underconfident", "too-low", "too-high"),
        default="overconfident",
        metavar="D",
        help="how predictions are wrong: overconfident (the default), underconfident, too-low or too-high",
    )
    parser.add_argument(
        "--cluster-size",
        type=int,
        metavar="M",
        help="rows that belong together, as those of one patient (with --correlation)",
    )
    parser.add_argument(
        "--correlation", type=float, metavar="R", help="how much outcomes of a cluster correlate, from 0 to 1"
    )
    options.add_lens(parser)
    options.add(parser, "--estimator", estimator="ECE")
    options.add_one(parser, "--bins", help="cells of the statistic, if it has any (default: 15)")
    options.add(parser, "--binning", "--null", "--level", null="that of calibstat test")
    parser.add_argument(
        "--power", type=float, default=0.8, metavar="P", help="probability of detecting the error (default: 0.8)"
    )
    parser.add_argument(
        "--max-n",
        type=int,
        default=1_000_000,
        metavar="N",
        help="the largest number of labels to try (default: 1000000)",
    )
    parser.add_argument("--n-repeats", type=int, default=1000, metavar="R", help="simulated samples (default: 1000)")
    redraws = "redraws of the labels in each test (default: as many as the level needs)"
    options.add_one(parser, "--n-resamples", default=None, help=redraws)
    options.add(parser, "--seed", "--plot", "--format")


def run(arguments: argparse.Namespace) -> None:
    """Plan, and print the answer."""
    with plain_warnings():
        predictions = _predictions(arguments)
        if arguments.precision:
            precise = _precise(arguments, predictions)
            show(arguments.format, precise.to_dict(), precise, verbose=arguments.verbose)
            return
        with ProgressBar("simulating"):
            found = _plan(arguments, predictions)
    show_and_draw(arguments, found.to_dict(), found, found.plot)


def _plan(arguments: argparse.Namespace, predictions: cs.Sample | None) -> cs.RequiredN | cs.MinimumDetectable:
    measure = Measure.asked(arguments, "ECE")
    lens = _lens(arguments, predictions, measure)
    n = 0 if predictions is None else len(predictions)
    test = lens | measure.of(2, n)
    direction: Any = arguments.direction.replace("-", " ")
    family = cs.ErrorFamily(predictions, direction, lens | cs.ECE())
    more = {"power": arguments.power, "level": arguments.level, "n_repeats": arguments.n_repeats, "rng": arguments.seed}
    more |= {"null": read_null(arguments.null), "n_resamples": arguments.n_resamples}
    more |= {"cluster_size": arguments.cluster_size, "correlation": arguments.correlation}
    with options.named_options(_OPTIONS):
        if arguments.n is not None:
            return cs.minimum_detectable(family, arguments.n, test, **more)
        return cs.required_n(family(arguments.ece), test, max_n=arguments.max_n, **more)


def _precise(arguments: argparse.Namespace, predictions: cs.Sample | None) -> cs.PrecisionPlan:
    """Plan for widths, of the predictions in the file through the lens, or of uniform ones."""
    if arguments.plot:
        raise ValueError("--precision has no picture: leave out --plot")
    if arguments.cluster_size is not None or arguments.correlation is not None:
        raise ValueError(
            "--precision is for independent rows: leave out --cluster-size and --correlation, and multiply the number "
            "of rows by the design effect, 1 + (cluster size - 1) * correlation"
        )
    spread: Any = [(k + 0.5) / 1000 for k in range(1000)]
    if predictions is not None:
        spread = _lens(arguments, predictions, Measure.asked(arguments, "ECE"))(predictions)
    widths = {name: getattr(arguments, name) for name in ("oe_width", "slope_width", "c_index_width")}
    with options.named_options({name: f"--{name.replace('_', '-')}" for name in widths}):
        return cs.precision_n(spread, **widths)


def _predictions(arguments: argparse.Namespace) -> cs.Sample | None:
    if arguments.file is None:
        if arguments.label or arguments.probs or arguments.labels:
            raise ValueError("--label, --probs and --labels name columns of a FILE: name the file, or leave them out")
        return None
    if arguments.label is None or arguments.probs is None:
        raise ValueError(f"{arguments.file}: say which columns to read, by --label COL --probs COL")
    return read_sample(arguments)


def _lens(arguments: argparse.Namespace, predictions: cs.Sample | None, measure: Measure) -> cs.Lens:
    """Return a lens that leaves two outcomes, so that one column is cut."""
    labels = (0, 1) if predictions is None else predictions.labels
    name = arguments.lens or ("canonical" if measure.has_lens else default_lenses(labels)[0])
    view = one_lens(name, labels)
    if name.startswith("top-k") or (view.n_outcomes > 2 and not measure.has_lens):
        raise ValueError(f"--lens {name} leaves more than two outcomes, but a plan is for two: take top-label")
    return view.lens | measure.lens
