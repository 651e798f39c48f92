"""``calibstat compare-calibrators``: which calibrator is best?"""

from __future__ import annotations

import argparse
import json
from typing import Any

import calibstat as cs
from calibstat import calibrators
from calibstat.cli.options import split_list
from calibstat.cli.parsers import NAMES, NEEDS_VARIABLE, TAKES_VARIABLE
from calibstat.cli.questions import one_lens, read_labels
from calibstat.cli.text import ProgressBar, notice, plain_warnings
from calibstat.comparisons.compare import compare_calibrators
from calibstat.comparisons.results import CalibratorComparison
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.lenses.base import Lens


def run(arguments: argparse.Namespace) -> None:
    """Read, fit, test, compare, print."""
    with plain_warnings():
        sample = _read(arguments)
        found = _compared(arguments, sample, _made(arguments, len(sample.labels)))
    if arguments.format == "json":
        print(json.dumps(found.to_dict() | {"source": sample.predictions.source}, indent=2, allow_nan=False))
    else:
        print(found)


def _read(arguments: argparse.Namespace) -> Sample:
    with ProgressBar("reading"):
        return Sample.read(
            arguments.file,
            y_true=arguments.label,
            y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
            variables=arguments.variable,
            sample_weight=arguments.weights,
            labels=None if arguments.labels is None else read_labels(arguments.labels),
            nan_policy=arguments.nan_policy,
        )


def _compared(arguments: argparse.Namespace, sample: Sample, made: dict[str, Any]) -> CalibratorComparison:
    variables = {name: variable.values for name, variable in _numbers(sample).items()}
    lens, estimator = _lens(arguments.lens, sample), _estimator(arguments.bins)
    with ProgressBar("comparing"):
        return compare_calibrators(
            made,
            sample.y_true,
            sample.y_prob,
            variables=variables,
            sample_weight=sample.predictions.weights,
            labels=sample.labels,
            lens=lens,
            estimator=estimator,
            test_size=arguments.test_size,
            cv=arguments.cv,
            n_splits=arguments.n_splits,
            n_resamples=arguments.n_resamples,
            rng=arguments.seed,
        )


def _numbers(sample: Sample) -> dict[str, Any]:
    for name, variable in sample.predictions.variables.items():
        if variable.categorical:
            raise ValueError(f"--variable {name}: it holds names, but numbers are needed")
    return dict(sample.predictions.variables)


def _made(arguments: argparse.Namespace, n_classes: int) -> dict[str, Any]:
    """Make the calibrators that are named, one for each class where they are for two."""
    names = [name.lower() for name in split_list(arguments.calibrators)]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"--calibrators {arguments.calibrators}: name each once, such as platt,beta,isotonic")
    if arguments.variable is not None and not set(names) & {*NEEDS_VARIABLE, *TAKES_VARIABLE}:
        raise ValueError(
            f"--variable {arguments.variable}: none of {', '.join(names)} uses one; "
            f"{', '.join(NEEDS_VARIABLE + TAKES_VARIABLE)} do"
        )
    return {name: _one(name, arguments.variable, n_classes) for name in names}


def _one(name: str, variable: str | None, n_classes: int) -> Any:
    if name not in NAMES:
        raise ValueError(f"--calibrators {name}: there are {', '.join(NAMES)}")
    if name in NEEDS_VARIABLE and variable is None:
        raise ValueError(f"--calibrators {name} needs --variable COL")
    made = getattr(calibrators, NAMES[name])()
    if variable is not None and name in NEEDS_VARIABLE:
        made.set_params(variable=variable)
    if variable is not None and name in TAKES_VARIABLE:
        made.set_params(variables=[variable])
    if made.binary and n_classes > 2 and name not in NEEDS_VARIABLE:
        notice(f"{name} is for two classes: each of the {n_classes} gets one of its own, against the others")
        return calibrators.OneVsRest(made)
    return made


def _lens(named: str | None, sample: Sample) -> Lens | None:
    return None if named is None else one_lens(named, sample.labels)


def _estimator(n_bins: int | None) -> Estimator | None:
    if n_bins is None:
        return None
    if n_bins < 1:
        raise ValueError(f"--bins {n_bins}: pass a whole number of at least 1")
    return cs.DebiasedL2(cs.EqualMass(n_bins))
