"""``calibstat compare``: which model is better calibrated?"""

from __future__ import annotations

import argparse
import json

from calibstat.cli.questions import Cutting, panel, read_models
from calibstat.cli.text import ProgressBar, narrow, plain_warnings
from calibstat.data.sample import Predictions
from calibstat.inference.compare_models import compare_models


def run(arguments: argparse.Namespace) -> None:
    """Read the models, compare them, print what was found."""
    with plain_warnings():
        models = read_models(arguments)
        predictions = next(iter(models.values())).predictions
        cutting = Cutting(arguments.bins, arguments.binning == "equal-width", "DebiasedL2")
        (question,) = panel(predictions, [_lens(arguments.lens, predictions)], (), cutting)
        with ProgressBar("comparing"):
            found = compare_models(
                models,
                question.estimator,
                adjust=arguments.adjust,
                confidence_level=arguments.confidence_level,
                n_resamples=arguments.n_resamples,
                rng=arguments.seed,
            )
    if arguments.format == "json":
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        print(narrow(str(found), 12))


def _lens(name: str | None, predictions: Predictions) -> str:
    """Return the one lens to look through."""
    if name is None:
        return "canonical" if predictions.n_classes == 2 else "top-label"
    if name.lower().replace("_", "-") == "class-wise":
        raise ValueError(f"--lens {name}: a comparison asks one question; name the class, as in class-wise:LABEL")
    return name
