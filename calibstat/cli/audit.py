"""``calibstat audit``: which groups of rows is the model off for?"""

from __future__ import annotations

import argparse
import json
from typing import Any

from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.audit_result import SubgroupAudit
from calibstat.auditing.curves import MIN_EXPECTED, equal_curves_test
from calibstat.auditing.curves_result import EqualCurvesTest
from calibstat.auditing.levels import By
from calibstat.cli.audit_input import read_audited, read_binning, read_lens
from calibstat.cli.notices import notice, plain_warnings
from calibstat.cli.option_names import named_options
from calibstat.cli.progress_bar import ProgressBar
from calibstat.cli.text import hang
from calibstat.inference.multiplicity import holm
from calibstat.inference.words import small_pvalue
from calibstat.lenses.base import Lens
from calibstat.sample import Sample

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
