"""``calibstat test``: is the model calibrated?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from calibstat.cli.cutting import Cutting
from calibstat.cli.inputs import read_sample
from calibstat.cli.names import EVERY, estimator_name
from calibstat.cli.notices import notice, plain_warnings
from calibstat.cli.omnibus import run as run_omnibus
from calibstat.cli.panel import CLASS_WISE_UP_TO, Question, panel, read_given
from calibstat.cli.records import Record, ask
from calibstat.cli.report import report
from calibstat.inference.words import LEVEL, counted
from calibstat.sample import Sample


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, ask the panel, print what was found."""
    if arguments.omnibus:
        run_omnibus(arguments)
        return
    cutting = Cutting(
        arguments.bins,
        arguments.binning == "equal-width",
        None if arguments.estimator is None else estimator_name(arguments.estimator, EVERY),
    )
    given = read_given(arguments.given or ())
    with plain_warnings():
        sample = read_sample(arguments, given)
        questions = panel(sample.predictions, arguments.lens, given, cutting)
        _tell_folding(sample, questions)
        _tell_limits(arguments, len(sample.labels))
        records = ask(sample, questions, arguments.n_resamples, arguments.seed)
        _tell_floors(records)
    if arguments.format == "json":
        print(json.dumps([record.to_dict() for record in records], indent=2, allow_nan=False))
    else:
        print(report(records, arguments.seed))


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


def _tell_limits(arguments: argparse.Namespace, n_classes: int) -> None:
    """Say what the default panel leaves out."""
    if arguments.lens is None and n_classes > CLASS_WISE_UP_TO:
        notice(f"class-wise is left out, as there are {n_classes} classes; ask for it by --lens class-wise")


def _tell_floors(records: Sequence[Record]) -> None:
    """Say where resamples are too few to reject anything."""
    n_tests = len(records)
    highest = max((record.test.null_distribution for record in records), key=lambda each: each.floor)
    floor = n_tests * highest.floor
    if floor > LEVEL:
        enough = int(n_tests / LEVEL) * 5 - 1
        adjusted = "" if n_tests == 1 else "after Holm's correction "
        notice(
            f"{adjusted}{counted(n_tests, 'test')} of {highest.description} cannot give a p-value below "
            f"{min(floor, 1):.2g}; take --n-resamples {enough} or ask less"
        )
