"""The sample that is audited or scanned, the columns it is audited by, and the lens."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibstat.auditing.levels import By
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.equal_width import EqualWidth
from calibstat.cli.cutting import Cutting
from calibstat.cli.inputs import read_labels
from calibstat.cli.panel import panel
from calibstat.lenses.base import Lens
from calibstat.predictions import Predictions
from calibstat.reading import file_arguments
from calibstat.sample import Sample

_ROW = "row of the file"


def read_audited(arguments: argparse.Namespace, option: str, names: Sequence[str]) -> tuple[Sample, By]:
    """Read the rows of one model, and the columns to look at.

    Parameters
    ----------
    arguments : Namespace
    option : str
        What named the columns, for messages.
    names : sequence of str
        Columns, or patterns.
    """
    if arguments.label in names:
        raise ValueError(
            f"{option} {arguments.label}: this is the column of what happened; name something that was known before"
        )
    if arguments.confidence is not None and (arguments.labels is not None or arguments.lens is not None):
        raise ValueError("--confidence is the top label already: leave --labels and --lens out")
    probs = arguments.probs or [arguments.confidence]
    found = file_arguments(
        arguments.file,
        y_true=arguments.label,
        y_prob=probs if len(probs) > 1 else probs[0],
        variables=names,
        sample_weight=arguments.weights,
    )
    columns = dict(found["variables"])
    if arguments.missing == "raise":
        return _sample(arguments, found), list(columns)
    n = len(found["y_true"])
    sample = _sample(arguments, found | {"variables": {_ROW: np.arange(n)}})
    kept = sample.predictions.variables[_ROW].values.astype(np.intp)
    return sample, {name: np.asarray(values)[kept] for name, values in columns.items()}


def _sample(arguments: argparse.Namespace, found: dict[str, Any]) -> Sample:
    if arguments.confidence is not None:
        return Sample.from_confidence(
            found["y_true"],
            found["y_prob"],
            variables=found["variables"],
            sample_weight=found["sample_weight"],
            nan_policy=arguments.nan_policy,
        )
    labels = None if arguments.labels is None else read_labels(arguments.labels)
    return Sample._examined(**found, labels=labels, nan_policy=arguments.nan_policy)


def read_lens(name: str | None, predictions: Predictions) -> Lens:
    """Return the lens of that name; by default canonical for two classes and top-label for more."""
    name = name or ("canonical" if predictions.n_classes == 2 else "top-label")
    questions = panel(predictions, [name], [], Cutting())
    if len(questions) > 1:
        raise ValueError(f"--lens {name} is one question for each class; name the class: class-wise:LABEL")
    view = questions[0].view
    if view.n_outcomes > 2:
        raise ValueError(f"--lens {name} sees {view.n_outcomes} outcomes at once; choose top-label or class-wise:LABEL")
    return view.lens


def read_binning(arguments: argparse.Namespace) -> Binning:
    """Return how numbers are cut."""
    return EqualWidth(arguments.bins) if arguments.binning == "equal-width" else EqualMass(arguments.bins)
