"""``calibstat plan``: how many labels, or how small an error?"""

from __future__ import annotations

import argparse
import json
from typing import Any

import calibstat
from calibstat.binnings.intervals import EqualMass
from calibstat.cli.options import estimator_name, named_options
from calibstat.cli.questions import one_lens, read_labels
from calibstat.cli.text import ProgressBar, plain_warnings
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.cumulative import Kuiper
from calibstat.estimators.miscalibration import ECE
from calibstat.lenses.base import Lens
from calibstat.planning.families import ErrorFamily
from calibstat.planning.planning import MinimumDetectable, RequiredN, minimum_detectable, required_n

_OPTIONS = {
    "n is ": "--n is ",
    "n_runs is ": "--runs is ",
    "max_n is ": "--max-n is ",
    "(max_n)": "(--max-n)",
    "power is ": "--power is ",
    "level is ": "--level is ",
    "a wider family": "another --direction",
}


def run(arguments: argparse.Namespace) -> None:
    """Plan, and print the answer."""
    with plain_warnings():
        predictions = _predictions(arguments)
        with ProgressBar("simulating"):
            found = _plan(arguments, predictions)
    print(json.dumps(found.to_dict(), indent=2, allow_nan=False) if arguments.format == "json" else found)


def _plan(arguments: argparse.Namespace, predictions: Sample | None) -> RequiredN | MinimumDetectable:
    lens = _lens(arguments, predictions)
    test = lens | _statistic(arguments)
    direction: Any = arguments.direction.replace("-", " ")
    family = ErrorFamily(predictions, direction, lens | ECE())
    options = {"power": arguments.power, "level": arguments.level, "n_runs": arguments.runs, "rng": arguments.seed}
    with named_options(_OPTIONS):
        if arguments.n is not None:
            return minimum_detectable(family, arguments.n, test, **options)
        return required_n(family(arguments.ece), test, max_n=arguments.max_n, **options)


def _statistic(arguments: argparse.Namespace) -> Estimator:
    """Make the statistic of the test, on cells unless it has none."""
    if arguments.estimator.lower() == "kuiper":
        return Kuiper()
    statistic: Any = getattr(calibstat, estimator_name(arguments.estimator))
    made: Estimator = statistic(EqualMass(arguments.bins))
    return made


def _predictions(arguments: argparse.Namespace) -> Sample | None:
    if arguments.file is None:
        if arguments.label or arguments.probs or arguments.labels:
            raise ValueError("--label, --probs and --labels are about a FILE: name one, or leave them out")
        return None
    if arguments.label is None or arguments.probs is None:
        raise ValueError(f"{arguments.file}: say which columns to read, by --label COL --probs COL")
    with ProgressBar("reading"):
        return Sample.read(
            arguments.file,
            y_true=arguments.label,
            y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
            labels=None if arguments.labels is None else read_labels(arguments.labels),
            nan_policy="omit",
        )


def _lens(arguments: argparse.Namespace, predictions: Sample | None) -> Lens:
    """Look through what leaves two outcomes, because cells of one column are cut."""
    labels = (0, 1) if predictions is None else predictions.labels
    name = arguments.lens or ("canonical" if len(labels) == 2 else "top-label")
    kind = name.partition(":")[0].lower()
    if kind == "top-k" or (kind == "canonical" and len(labels) > 2):
        raise ValueError(f"--lens {name} leaves more than two outcomes, but a plan is for two: take top-label")
    return one_lens(name, labels)
