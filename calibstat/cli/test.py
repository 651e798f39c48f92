"""``calibstat test``: is the model calibrated?"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from calibstat.cli.cutting import Cutting
from calibstat.cli.names import estimator_name, split_list
from calibstat.cli.notices import notice, plain_warnings
from calibstat.cli.panel import CLASS_WISE_UP_TO, Names, Question, panel, read_given
from calibstat.cli.records import ask
from calibstat.cli.report import report
from calibstat.inference.words import LEVEL
from calibstat.reading import file_arguments
from calibstat.sample import Sample


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, ask the panel, print what was found."""
    cutting = Cutting(
        arguments.bins,
        arguments.binning == "equal-width",
        None if arguments.estimator is None else estimator_name(arguments.estimator),
    )
    given = read_given(arguments.given or ())
    with plain_warnings():
        sample = _read(arguments, given)
        questions = panel(sample.predictions, arguments.lens, given, cutting)
        _tell_folding(sample, questions)
        _tell_limits(arguments, len(sample.labels), len(questions))
        records = ask(sample, questions, arguments.n_resamples, arguments.seed)
    if arguments.format == "json":
        print(json.dumps([record.to_dict() for record in records], indent=2, allow_nan=False))
    else:
        print(report(records, arguments.seed))


def _read(arguments: argparse.Namespace, given: list[Names]) -> Sample:
    variables = list(dict.fromkeys(name for names in given for name in names if name is not ...))
    if arguments.label in variables:
        raise ValueError(
            f"--given {arguments.label}: this is the column of what happened; name something that was known before"
        )
    if arguments.confidence is not None:
        return _read_confidence(arguments, variables)
    return Sample.read(
        arguments.file,
        y_true=arguments.label,
        y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
        variables=variables or None,
        sample_weight=arguments.weights,
        labels=None if arguments.labels is None else _labels(arguments.labels),
        nan_policy=arguments.nan_policy,
    )


def _read_confidence(arguments: argparse.Namespace, variables: list[str]) -> Sample:
    """Read whether the predicted label was right, and the confidence in it: the top label is all there is to see."""
    if arguments.labels is not None:
        raise ValueError("--labels names the classes of --probs; --confidence has none")
    if arguments.lens is not None and {lens.lower() for lens in arguments.lens} != {"canonical"}:
        raise ValueError("--confidence is the top label already: leave --lens out")
    found = file_arguments(
        arguments.file,
        y_true=arguments.label,
        y_prob=arguments.confidence,
        variables=variables or None,
        sample_weight=arguments.weights,
    )
    return Sample.from_confidence(
        found["y_true"],
        found["y_prob"],
        variables=found["variables"],
        sample_weight=found["sample_weight"],
        nan_policy=arguments.nan_policy,
    )


def _tell_folding(sample: Sample, questions: Sequence[Question]) -> None:
    """Warn where the top label of one column of probabilities is often the other one."""
    one_column = "taken for P(label = " in sample.predictions.source
    if not one_column or not any(question.view.kind == "top-label" for question in questions):
        return
    below = int((sample.predictions.event < 0.5).sum())
    if below:
        notice(
            f"top-label folds a single column: {below} of {len(sample)} values below 1/2 count as confidence in the "
            "other label; for confidences in the predicted label, write --confidence instead of --probs, and as "
            "--label whether it was right"
        )


def _labels(text: str) -> list[str] | list[int] | list[bool]:
    """Read classes as integers or booleans where all of them are such, as the column of labels is read."""
    names = split_list(text)
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        return [int(name) for name in names]
    if all(name.lower() in ("true", "false") for name in names):
        return [name.lower() == "true" for name in names]
    return names


def _tell_limits(arguments: argparse.Namespace, n_classes: int, n_tests: int) -> None:
    """Say what the default panel leaves out, and where resamples are too few to reject anything."""
    if arguments.lens is None and n_classes > CLASS_WISE_UP_TO:
        notice(f"class-wise is left out, as there are {n_classes} classes; ask for it by --lens class-wise")
    floor = n_tests / (1 + arguments.n_resamples)
    if floor > LEVEL:
        enough = int(n_tests / LEVEL) * 5 - 1
        notice(
            f"after Holm's correction {n_tests} tests of {arguments.n_resamples} resamples cannot give a p-value below "
            f"{min(floor, 1):.2g}; take --n-resamples {enough} or ask less"
        )
