"""``calibstat audit``: which groups of rows is the model off for?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibstat.auditing.audit import SubgroupAudit, subgroup_audit
from calibstat.auditing.curves import MIN_EXPECTED, EqualCurvesTest, equal_curves_test
from calibstat.auditing.groups import By
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass, EqualWidth
from calibstat.cli.options import named_options
from calibstat.cli.questions import Cutting, panel, read_labels
from calibstat.cli.text import ProgressBar, hang, notice, plain_warnings
from calibstat.data.files import file_arguments
from calibstat.data.sample import Predictions, Sample
from calibstat.inference.multiplicity import holm
from calibstat.inference.results import small_pvalue
from calibstat.lenses.base import Lens

CAUTION = (
    "p-values do not hold if the model or its calibration was fitted on these rows, or if rows come in clusters "
    "(several of one patient, one video)"
)
OPTIONS = {
    "n_resamples": "--n-resamples",
    "adjust='max-t', which": "--adjust max-t, which",
    "min_size or min_expected": "--min-size or --min-expected",
    "min_expected is ": "--min-expected is ",
    "min_size": "--min-size",
    "missing='level'": "--missing level",
    "by: ": "--by: ",
    "a smaller min_expected": "fewer --bins",
}


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, audit it, print what was found."""
    if arguments.min_expected is not None and not arguments.curves:
        raise ValueError("--min-expected is for --curves; without it groups are left out by --min-size alone")
    with plain_warnings(), named_options(OPTIONS):
        sample, by = read_audited(arguments, "--by", arguments.by)
        lens = read_lens(arguments.lens, sample.predictions)
        if arguments.curves:
            _print_curves(_curves(arguments, sample, by, lens), arguments.format)
            return
        audit = ProgressBar().each(lambda names: _audit(arguments, sample, names, lens), [by])[0]
    if arguments.format == "json":
        print(json.dumps(records(audit), indent=2, allow_nan=False))
        for each in audit.left_out:
            notice(f"left out: {each.name} (n = {each.n}) {each.reason}")
    else:
        print("\n".join([str(audit), *hang("caution", CAUTION)]))


def records(audit: SubgroupAudit) -> list[dict[str, Any]]:
    """Return one record for each group, with what is common to all in each."""
    whole = audit.to_dict()
    common = {key: whole[key] for key in ("lens", "estimator", "n_resamples", "adjust", "confidence_level")}
    last = {key: whole[key] for key in ("hypothesis", "source")}
    return [{**group, **common, **last} for group in whole["groups"]]


def _audit(arguments: argparse.Namespace, sample: Sample, by: By, lens: Lens) -> SubgroupAudit:
    return subgroup_audit(
        sample,
        by,
        lens=lens,
        binning=read_binning(arguments),
        depth=arguments.depth,
        min_size=arguments.min_size,
        missing=arguments.missing,
        adjust=arguments.adjust,
        confidence_level=arguments.confidence_level,
        n_resamples=arguments.n_resamples,
        rng=arguments.seed,
    )


def _curves(arguments: argparse.Namespace, sample: Sample, by: By, lens: Lens) -> list[EqualCurvesTest]:
    """Test each column by itself, on draws of its own."""

    def answer(name: str) -> EqualCurvesTest:
        return equal_curves_test(
            sample,
            {name: by[name]} if isinstance(by, dict) else name,
            lens=lens,
            binning=read_binning(arguments),
            min_size=arguments.min_size,
            min_expected=MIN_EXPECTED if arguments.min_expected is None else arguments.min_expected,
            missing=arguments.missing,
            n_resamples=arguments.n_resamples,
            rng=arguments.seed,
        )

    return ProgressBar().each(answer, list(by))


def _print_curves(found: list[EqualCurvesTest], form: str) -> None:
    """Print one test for each column, with p-values adjusted over all of them (Holm 1979)."""
    adjusted = [float(pvalue) for pvalue in holm([test.pvalue for test in found])]
    if form == "json":
        tests = zip(found, adjusted, strict=True)
        print(json.dumps([test.to_dict() | {"pvalue_adjusted": p} for test, p in tests], indent=2, allow_nan=False))
        return
    print("\n\n".join(map(str, found)))
    if len(found) > 1:
        each = ", ".join(f"{test.variable} p {small_pvalue(p)}" for test, p in zip(found, adjusted, strict=True))
        print("\n" + "\n".join(hang("adjusted", f"{each}: Holm's correction over the {len(found)} columns")))


# The sample that is audited or scanned, the columns it is audited by, and the lens.

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
