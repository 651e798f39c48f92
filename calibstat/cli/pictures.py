"""The option ``--plot``: the picture of what a command found, written whole or not at all."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import calibstat as cs
from calibstat._files import written_whole
from calibstat.cli.questions import NamedLens
from calibstat.cli.text import show


def show_and_draw(arguments: argparse.Namespace, record: Any, text: object, draw: Callable[[], Any]) -> None:
    """Print what was found, and write its picture to the file of ``--plot``, if that was asked for.

    The picture comes first: a reader such as ``head`` may close the output before its end. If the picture fails, what
    was found is printed all the same.
    """
    try:
        if arguments.plot is not None:
            with written_whole(arguments.plot) as place:
                draw().save(place).close()
    finally:
        show(arguments.format, record, text)


def reliability_lens(arguments: argparse.Namespace, views: Iterable[NamedLens]) -> cs.Lens:
    """Return the first lens that leaves two outcomes, through which a reliability diagram can be drawn.

    There must be one if ``--plot`` was given.
    """
    found = [view.lens for view in views if view.n_outcomes == 2]
    if not found and arguments.plot is not None:
        raise ValueError(
            "--plot: the picture is a reliability diagram of two outcomes, but every lens here leaves more; add --lens "
            "top-label or class-wise:LABEL"
        )
    return found[0] if found else cs.Canonical()


def reliability(arguments: argparse.Namespace, sample: cs.Sample, lens: cs.Lens) -> Callable[[], Any]:
    """Return what draws the reliability diagram of a sample."""
    return lambda: cs.ReliabilityDisplay.from_sample(sample, lens=lens, rng=arguments.seed)
