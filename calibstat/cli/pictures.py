"""The option ``--plot``: the picture of what a command found, written whole or not at all."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import calibstat as cs
from calibstat._files import written_whole
from calibstat.cli.questions import Question
from calibstat.cli.text import ProgressBar, plain_warnings, show

Draw: TypeAlias = Callable[..., Any]
"""What draws a display or a figure under the title ``name``."""

_MOST_CLASSES = 20


def show_and_draw(
    arguments: argparse.Namespace,
    record: Any,
    text: object,
    draw: Draw,
    what: str = "",
    rows: Sequence[dict[str, Any]] = (),
) -> None:
    """Print what was found, and write its picture to the file of ``--plot``, if that was asked for.

    The picture comes first: a reader such as ``head`` may close the output before its end. If the picture fails, what
    was found is printed all the same. Its title says from which file the rows are, and `what` is the name of the
    question that it answers; `rows` are the table as CSV.
    """
    try:
        if arguments.plot is not None:
            file = "" if arguments.file in (None, "-") else Path(arguments.file).name
            named = getattr(arguments, "name", "") or file, what.removeprefix("canonical").strip()
            with plain_warnings(), ProgressBar("drawing"), written_whole(arguments.plot) as place:
                warnings.simplefilter("ignore", cs.SmallCellsWarning)  # the work has said so
                drawn = draw(name=", ".join(filter(None, named)))
                if hasattr(drawn, "save"):
                    drawn.save(place).close()
                else:
                    drawn.savefig(place, dpi=200)
    finally:
        show(arguments.format, record, text, rows, verbose=arguments.verbose)


def reliability_questions(arguments: argparse.Namespace, questions: Sequence[Question]) -> list[Question]:
    """Return the questions whose reliability diagrams ``--plot`` shows.

    These are the first one about two outcomes, given one variable if ``--given`` names any, and the same question about
    other classes. There must be one if ``--plot`` was given.
    """
    n_given = 1 if arguments.given else 0
    found = [each for each in questions if each.view.n_outcomes == 2 and len(each.given) == n_given]
    found = [each for each in found if each.place == found[0].place]
    if arguments.plot is None or 1 <= len(found) <= _MOST_CLASSES:
        return found
    if found:
        raise ValueError(f"--plot: {len(found)} classes are too many for one picture; name one, as in class-wise:LABEL")
    raise ValueError(
        "--plot: the picture is a reliability diagram of two outcomes, given the prediction or one variable, but every "
        "question here is about more; add --lens top-label or class-wise:LABEL, or a --given of one variable"
    )


def reliability(arguments: argparse.Namespace, sample: cs.Sample, questions: Sequence[Question]) -> tuple[Draw, str]:
    """Return what draws the reliability diagrams of these questions in their cells, and their name."""

    def draw(name: str) -> Any:
        displays = [
            cs.ReliabilityDisplay.compute(
                sample,
                cast(cs.ECE, each.core).binning,
                lens=each.estimator.lens,
                rng=arguments.seed,
                name=name if len(questions) == 1 else str(each.view.label),
            )
            for each in questions
        ]
        return displays[0].plot() if len(displays) == 1 else cs.side_by_side(displays, name)

    return draw, questions[0].name if len(questions) == 1 else questions[0].place
