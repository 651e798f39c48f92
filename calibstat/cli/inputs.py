"""The sample that a command is about."""

from __future__ import annotations

import argparse
import re
from typing import Any

from calibstat.cli.names import split_list
from calibstat.cli.panel import Names
from calibstat.cli.progress_bar import ProgressBar
from calibstat.reading import file_arguments
from calibstat.sample import Sample

# The advice of `Sample` where values are missing.
_OMIT = 'or pass nan_policy="omit" to leave these rows out'


def read_sample(arguments: argparse.Namespace, given: list[Names]) -> Sample:
    """Read the rows of one model, with the variables that are conditioned on."""
    variables = list(dict.fromkeys(name for names in given for name in names if name is not ...))
    if arguments.label in variables:
        raise ValueError(
            f"--given {arguments.label}: this is the column of what happened; name something that was known before"
        )
    if arguments.confidence is not None:
        return _read_confidence(arguments, variables)
    with ProgressBar("reading"):
        return Sample.read(
            arguments.file,
            y_true=arguments.label,
            y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
            variables=variables or None,
            sample_weight=arguments.weights,
            labels=None if arguments.labels is None else read_labels(arguments.labels),
            nan_policy=arguments.nan_policy,
        )


def read_models(arguments: argparse.Namespace) -> dict[str, Sample]:
    """Read what each model says about the rows of one file."""
    if arguments.file == "-":
        raise ValueError("standard input can be read once only, but each model has its own columns: name a file")
    if len(arguments.model) < 2:
        raise ValueError("--model is there once, but a comparison needs two: --model raw='raw_*' --model new='new_*'")
    labels = None if arguments.labels is None else read_labels(arguments.labels)
    models: dict[str, Sample] = {}
    for option in arguments.model:
        name, equals, columns = option.partition("=")
        if not equals or not name or not columns:
            raise ValueError(f"--model {option}: write a name and its columns, such as --model raw='raw_*'")
        if name in models:
            raise ValueError(f"--model {name}: there are two models of this name; give each its own")
        found = split_list(columns)
        models[name] = _complete(arguments, found if len(found) > 1 else found[0], labels)
    return models


def _complete(arguments: argparse.Namespace, columns: str | list[str], labels: Any) -> Sample:
    """Read the rows of one of several models; nothing may be missing, or the models would not have the same rows."""
    try:
        with ProgressBar("reading"):
            return Sample.read(arguments.file, y_true=arguments.label, y_prob=columns, labels=labels)
    except ValueError as error:
        raise ValueError(str(error).replace(_OMIT, "or leave these rows out of the file")) from error


def _read_confidence(arguments: argparse.Namespace, variables: list[str]) -> Sample:
    """Read whether the predicted label was right, and the confidence in it: the top label is all there is to see."""
    if arguments.labels is not None:
        raise ValueError("--labels names the classes of --probs; --confidence has none")
    if arguments.lens is not None and {lens.lower() for lens in arguments.lens} != {"canonical"}:
        raise ValueError("--confidence is the top label already: leave --lens out")
    with ProgressBar("reading"):
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


def read_labels(text: str) -> list[str] | list[int] | list[bool]:
    """Read classes as integers or booleans where all of them are such, as the column of labels is read."""
    names = split_list(text)
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        return [int(name) for name in names]
    if all(name.lower() in ("true", "false") for name in names):
        return [name.lower() == "true" for name in names]
    return names
