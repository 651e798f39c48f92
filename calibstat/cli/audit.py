r"""For which groups of rows is the model off?

Tests every level of the named columns, and all rows, on the same redraws of the
labels, so that the chance of any false alarm is at most 5 %. Use rows that the
model was not fitted on.

example commands:
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by age,sex
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by age,sex \
    --depth 2 --min-size 200
  calibstat audit predictions.csv --label actual --probs 'prob_*' --by sex \
    --curves
  calibstat audit predictions.csv --label actual --probs 'prob_*' --learn
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import calibstat as cs
from calibstat._screen import Screen
from calibstat.auditing.groups import By
from calibstat.cli import options
from calibstat.cli.pictures import show_and_draw
from calibstat.cli.questions import (
    Measure,
    cells,
    counted_in_parts,
    examined,
    examined_with_rows,
    one_question,
    read_binning,
    read_estimator,
    read_null,
    refuse_label,
    sample_columns,
    variables_asked,
)
from calibstat.cli.text import ProgressBar, noted, notice, plain_warnings
from calibstat.data.files import file_arguments
from calibstat.inference.multiplicity import ADJUSTMENTS, adjust_pvalues, check_choices, joint_only
from calibstat.inference.results import small_pvalue
from calibstat.ledgers.batches import is_large

OPTIONS = {
    "n_resamples": "--n-resamples",
    "adjust is ": "--adjust is ",
    "adjust='max-t', which": "--adjust max-t, which",
    "null=": "--null ",
    "null is ": "--null is ",
    "min_size or min_expected": "--min-size or --min-expected",
    "min_expected is ": "--min-expected is ",
    " (n_blocks)": "",
    "take fewer blocks or a smaller min_size": "take a smaller --min-size",
    "min_size": "--min-size",
    "missing='level'": "--missing level",
    "by: ": "--by: ",
    "a smaller min_expected": "fewer --bins",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_lens(parser)
    options.add_one(
        parser,
        "--by",
        help=f"{options.SHARED['--by']['help']} (default: all but labels, probabilities and weights)",
    )
    parser.add_argument(
        "--depth",
        type=options.positive,
        metavar="D",
        help="cross up to D columns (default: 1); with --learn, describe rows by up to D conditions (default: 3)",
    )
    parser.add_argument(
        "--min-size",
        type=options.positive,
        default=50,
        metavar="N",
        help="leave out groups with fewer rows (default: 50)",
    )
    options.add(parser, "--estimator", estimator="Kuiper")
    parser.add_argument(
        "--curves",
        action="store_true",
        help="test instead whether, at the same prediction, the event is equally frequent in all groups of a column",
    )
    parser.add_argument(
        "--learn",
        action="store_true",
        help="ask instead whether the model is off for rows that nobody named: learn errors from some rows by gradient "
        "boosting, and test what was learned on others",
    )
    parser.add_argument(
        "--min-expected",
        type=float,
        metavar="N",
        help="leave out groups in which fewer events, or non-events, are expected (default: 5, or 10 with --curves)",
    )
    options.add(parser, "--null", null="labels drawn from the predictions")
    add_shared(parser, 4, adjust="max-t, or holm with --curves")


def add_shared(parser: argparse.ArgumentParser, n_bins: int, adjust: str = "max-t") -> None:
    """Add the options of audits and scans."""
    options.add_one(
        parser, "--bins", help=f"cells of a column of numbers with more than ten values (default: {n_bins})"
    )
    options.add(parser, "--binning")
    options.add(parser, "--missing")
    options.add(parser, "--adjust", adjust=adjust)
    options.add_one(parser, "--n-resamples", default=None, help="redraws of the labels (default: 999)")
    options.add(parser, "--level", "--confidence-level", "--seed", "--plot", "--format")


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, audit it, print what was found."""
    if arguments.min_expected is not None and arguments.learn:
        raise ValueError("--min-expected leaves groups out, but --learn forms none: leave it out")
    wrong = [f"--{name}" for name in ("estimator", "null") if getattr(arguments, name) is not None]
    if wrong and arguments.curves:
        raise ValueError(f"--curves compares curves by a statistic of its own: leave out {' and '.join(wrong)}")
    if arguments.learn:
        _refuse_with_learn(arguments)
    measure = Measure(read_estimator(arguments.estimator))
    with plain_warnings(), options.named_options(OPTIONS):
        sample, by = read_audited(arguments, "--by", arguments.by or ["*"], measure)
        question = one_question(sample.known, arguments.lens, measure, two="an audit")
        if arguments.curves:
            _audit_curves(arguments, sample, by, question.view.lens)
            return
        if arguments.learn:
            _learn(arguments, sample, by, question.view.lens)
            return
        with ProgressBar():
            audit = cs.subgroup_audit(
                sample,
                by,
                lens=question.view.lens,
                estimator=None if measure.estimator is None else question.core,
                depth=arguments.depth or 1,
                min_size=arguments.min_size,
                null=read_null(arguments.null),
                **shared(arguments, 4),
                **_expected(arguments),
            )
    last = ("lens", "estimator", "n_resamples", "adjust", "level", "confidence_level", "hypothesis", "source")
    usual = "largest mean difference over a range of predictions"
    what = usual if measure.estimator is None else question.core.quantity
    told = noted(audit, f"error: {what}, noise included")
    show_and_draw(arguments, flat(audit.to_dict(), "groups", last), told, audit.plot)
    if arguments.format == "json":
        for each in audit.left_out:
            notice(f"left out: {each.name} (n = {each.n}) {each.reason}")


def shared(arguments: argparse.Namespace, n_bins: int) -> dict[str, Any]:
    """Return the arguments that the options of `add_shared` stand for."""
    binning = read_binning(arguments.binning)
    if arguments.bins is not None and not isinstance(binning, str):
        raise ValueError(f"--bins {arguments.bins}: --binning says how many cells; leave out --bins")
    return {
        "binning": cells(binning, arguments.bins or n_bins),
        "missing": arguments.missing,
        "adjust": arguments.adjust or "max-t",
        "level": arguments.level,
        "confidence_level": arguments.confidence_level,
        "n_resamples": arguments.n_resamples,
        "rng": arguments.seed,
    }


def _expected(arguments: argparse.Namespace) -> dict[str, Any]:
    return {} if arguments.min_expected is None else {"min_expected": arguments.min_expected}


def flat(found: dict[str, Any], records: str, common: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of a result, each with the entries that all share."""
    return [each | {key: found[key] for key in common} for each in found[records]]


def _audit_curves(arguments: argparse.Namespace, sample: cs.Sample, by: By, lens: cs.Lens) -> None:
    """Test each column on draws of its own, and adjust the p-values over all columns, by default by Holm's method."""
    adjust = arguments.adjust or "holm"
    check_choices(adjust, missing=joint_only("--curves tests each column on draws of its own"))
    names = list(by)
    if arguments.plot is not None and len(names) > 1:
        raise ValueError(
            f"--plot: --curves has one picture for each column, but there are {len(names)}; name one of them as --by"
        )
    more = shared(arguments, 4)
    more["n_resamples"] = more["n_resamples"] or 999
    del more["adjust"], more["confidence_level"]

    def answer(name: str) -> cs.EqualCurvesTest:
        one = {name: by[name]} if isinstance(by, dict) else name
        return cs.equal_curves_test(sample, one, lens=lens, min_size=arguments.min_size, **more, **_expected(arguments))

    found = ProgressBar().each(answer, names)
    adjusted = [float(pvalue) for pvalue in adjust_pvalues([test.pvalue for test in found], adjust)]
    texts: list[object] = [*found]
    if len(found) > 1:
        each = ", ".join(f"{test.variable} p {small_pvalue(p)}" for test, p in zip(found, adjusted, strict=True))
        texts.append(Screen(f"Adjusted {ADJUSTMENTS[adjust]} over {len(found)} columns: {each}."))
    records = [test.to_dict() | {"pvalue_adjusted": p} for test, p in zip(found, adjusted, strict=True)]
    show_and_draw(arguments, records, texts, found[0].plot)


def _refuse_with_learn(arguments: argparse.Namespace) -> None:
    """Refuse options of audits by groups, which are not learned."""
    given = vars(arguments)
    named = ["--curves"] * arguments.curves + ["--binning"] * (arguments.binning != "equal-mass")
    named += [f"--{name}" for name in ("estimator", "bins", "adjust") if given[name] is not None]
    if named:
        raise ValueError(f"--learn forms no groups and adjusts no p-values: leave out {' and '.join(named)}")


def _learn(arguments: argparse.Namespace, sample: cs.Sample, by: By, lens: cs.Lens) -> None:
    """Learn errors from some rows, and test what was learned on others."""
    more = shared(arguments, 4)
    del more["adjust"], more["binning"]
    with ProgressBar():
        audit = cs.learner_audit(
            sample,
            by,
            lens=lens,
            max_depth=arguments.depth or 3,
            min_size=arguments.min_size,
            null=read_null(arguments.null),
            **more,
        )
    show_and_draw(arguments, audit.to_dict(), audit, audit.plot)


# The sample that is audited or scanned, and the columns it is audited by.


def read_audited(
    arguments: argparse.Namespace, option: str, names: Sequence[str], measure: Measure
) -> tuple[cs.Sample, By]:
    """Read the rows of one model, with the columns that an option names and those that the estimator looks at."""
    refuse_label(arguments, names, option)
    further = variables_asked(arguments.lens, (), measure)
    columns = sample_columns(arguments, [*names, *further])
    with ProgressBar("reading"):
        if is_large(arguments.file) and arguments.missing == "raise":
            if "*" in names:
                raise ValueError(
                    f"{arguments.file} is counted in parts, by columns of few values: name these as {option}"
                )
            sample = counted_in_parts(arguments, columns)
            return sample, [name for name in sample.known.variables if name not in further or name in names]
        found = file_arguments(arguments.file, **columns)
    variables = dict(found["variables"])
    audited = [name for name in variables if name not in further or name in names]
    if arguments.missing == "raise":
        return examined(arguments, found), audited
    sample, rows = examined_with_rows(arguments, found, {name: variables[name] for name in further})
    return sample, {name: np.asarray(variables[name])[rows] for name in audited}
