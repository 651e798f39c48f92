"""``calibstat estimate``: by how much is the model off?"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibstat.cli.options import EVERY, estimator_name
from calibstat.cli.questions import Cutting, Question, panel, read_given, read_sample
from calibstat.cli.text import ProgressBar, columns, hang, plain_warnings
from calibstat.inference.estimate import estimate
from calibstat.inference.results import Estimate, counted, number

_EXPECTED = "mean of the value over redrawn labels: what noise alone gives a calibrated model with as many rows"
_CAUTION = (
    "intervals do not hold if the model or its calibration was fitted on these rows, if rows come in clusters "
    "(several of one patient, one video), or if predictions are cross-validated"
)


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, and what was estimated."""

    question: Question
    found: Estimate

    @property
    def name(self) -> str:
        """What the question is called in texts."""
        view, condition = self.question.view, self.question.condition
        label = "" if view.label is None else f" {view.label}"
        return f"{view.kind}{label}" + (f" given {condition}" if condition else "")

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a number that is not finite becomes null."""
        view, found = self.question.view, self.found
        interval = found.confidence_interval
        return {
            "lens": repr(view.lens),
            "class": plain_label(view.label),
            "given": self.question.condition,
            "estimator": repr(self.question.core),
            "n": found.asked.n,
            "n_classes": found.asked.n_classes,
            "estimate": _finite(found.headline),
            "null_mean": _finite(found.headline_null_mean),
            "confidence_interval": None if interval is None else [_finite(end) for end in interval],
            "confidence_level": found.confidence_level,
            "interval_note": found.interval_note,
            "notes": list(found.notes),
            "source": found.asked.source,
        }


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, estimate each number, print them."""
    name = None if arguments.estimator is None else estimator_name(arguments.estimator, EVERY)
    cutting = Cutting(arguments.bins, arguments.binning == "equal-width", name)
    given = read_given(arguments.given or ())
    with plain_warnings():
        sample = read_sample(arguments, given)
        questions = panel(sample.predictions, arguments.lens, given, cutting)

        def answer(question: Question) -> Answer:
            found = estimate(
                sample,
                question.estimator,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
            return Answer(question, found)

        answers = ProgressBar("estimating").each(answer, questions)
    if arguments.format == "json":
        print(json.dumps([each.to_dict() for each in answers], indent=2, allow_nan=False))
    else:
        print(report(answers, arguments.n_resamples, arguments.seed))


def report(answers: Sequence[Answer], n_resamples: int, seed: int) -> str:
    """Write the table, and what its numbers mean."""
    first = answers[0].found
    level = f"{100 * first.confidence_level:g} % interval"
    rows = [["lens", "class", "given", "value", "expected", level], *map(_row, answers)]
    notes = [
        *_said_of("value", answers, [f"{each.question.core.quantity}, {each.question.core!r}" for each in answers]),
        *hang(
            "expected",
            f"{_EXPECTED} (computed where that is possible, else {counted(n_resamples, 'resample')}, seed {seed})",
        ),
        *_said_of("interval", answers, [each.found.interval_note for each in answers]),
        *(line for each in answers for note in each.found.notes for line in hang("note", f"{each.name}: {note}")),
        *hang("data", f"n = {first.asked.n}; {first.asked.source}"),
        *hang("caution", _CAUTION),
    ]
    return "\n".join([*columns(rows, right={3, 4}), "", *notes])


def _row(answer: Answer) -> list[str]:
    view, found = answer.question.view, answer.found
    interval = found.confidence_interval
    return [
        view.kind,
        "" if view.label is None else str(view.label),
        answer.question.condition or "",
        _shown(found.headline, found.headline_null_mean),
        _shown(found.headline_null_mean, found.headline),
        "none" if interval is None else f"{number(*interval)} to {number(*reversed(interval))}",
    ]


def _said_of(name: str, answers: Sequence[Answer], texts: Sequence[str]) -> list[str]:
    """Write each different text once, with the questions it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for answer, text in zip(answers, texts, strict=True):
        about.setdefault(text, []).append(answer.name)
    lines = []
    for k, (text, names) in enumerate(about.items()):
        lines += hang(name if k == 0 else "", text if len(about) == 1 else f"{', '.join(names)}: {text}")
    return lines


def plain_label(label: Hashable) -> Any:
    """Return a class as JSON can hold it."""
    return label.item() if isinstance(label, np.generic) else label


def _shown(value: float | None, beside: float | None) -> str:
    return "none" if value is None or beside is None else number(value, beside)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
