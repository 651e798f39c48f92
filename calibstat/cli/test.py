r"""Is the model calibrated?

Tests the predictions in a file against what happened, through several lenses,
and says by how much they are off. Use rows that neither the model nor its
calibrator was fitted on.

example commands:
  calibstat test predictions.csv --label actual --probs 'prob_*'
  calibstat test predictions.csv.gz --label actual --probs 'prob_*' --given age
  calibstat test 'part-*.parquet' --label actual --probs 'prob_*' --by region
  calibstat test predictions.csv --label correct --confidence conf
  calibstat test predictions.csv --label y --probs p \
    --estimator 'DebiasedL2(EqualWidth(10))' --format json
  calibstat test predictions.csv --label y --probs p --require-within 0.05
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import calibstat as cs
from calibstat._screen import Screen
from calibstat.cli import gate, options
from calibstat.cli.pictures import reliability, reliability_questions, show_and_draw
from calibstat.cli.questions import (
    OF_NULLS,
    Measure,
    NamedLens,
    Question,
    has_increment,
    increment_test,
    panel,
    read_given,
    read_null,
    read_sample,
    recalibrated,
    variables_asked,
)
from calibstat.cli.text import VERBOSE, ProgressBar, notice, plain_warnings
from calibstat.data.counted import CountedSample
from calibstat.data.parameters import LEVEL
from calibstat.inference.by_lens import CLASS_WISE_UP_TO, TestsByLens, tested_together
from calibstat.inference.multiplicity import (
    ADJUSTMENTS,
    adjust_pvalues,
    check_choices,
    enough_redraws,
    joint_only,
    least_factor,
    more_note,
)
from calibstat.inference.results import picked
from calibstat.inference.test import judged_by, recommended_test, size_of_error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_input(parser)
    options.add_questions(parser)
    parser.add_argument(
        "--omnibus",
        action="store_true",
        help="test with several statistics at once through each lens (default lens: canonical); gives one p-value for "
        "each lens, and the kind of miscalibration that the strongest statistic points to",
    )
    options.add_one(
        parser,
        "--adjust",
        default="holm",
        help="how p-values of several tests are adjusted: holm (the default), fdr_bh or fdr_by",
    )
    redraws = "redraws of the labels for each p-value (default: p-values are exact where possible, else 999)"
    options.add_one(parser, "--n-resamples", default=None, help=redraws)
    options.add(
        parser, "--costs", "--null", "--level", "--seed", "--plot", "--format", null="labels drawn from the predictions"
    )
    gate.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the sample, ask the panel, print what was found; a gate that says no has an exit code of its own."""
    with options.named_options({"adjust is ": "--adjust is "}):
        check_choices(arguments.adjust, missing=joint_only("each question is tested on draws of its own"))
    if arguments.omnibus:
        _run_omnibus(arguments)
        return 0
    measure, given = Measure.asked(arguments), read_given(arguments.given)
    null = read_null(arguments.null)
    with plain_warnings(), options.named_options(OF_NULLS):
        sample = read_sample(arguments, variables_asked(arguments.lens, given, measure), "--given", in_parts=True)
        questions = panel(sample.known, arguments.lens, given, measure)
        drawn = reliability_questions(arguments, questions) if measure.estimator is None else []
        _tell_folding(sample, questions)
        if arguments.lens is None and not measure.has_lens and len(sample.labels) > CLASS_WISE_UP_TO:
            notice(
                f"class-wise is left out, since there are {len(sample.labels)} classes; ask for it by --lens class-wise"
            )
        asked = (arguments.seed, null, arguments.n_resamples, arguments.adjust, arguments.level)
        margin, unwanted = arguments.require_within, arguments.fail_if
        gates = [] if margin is None else [gate.shown_within(sample, questions, margin, arguments)]
        found = ask(sample, questions, *asked, by_panel=measure.estimator is None)
        gates += [] if unwanted is None else [gate.condition_met(found, unwanted)]
        costs = what_it_costs(sample, questions, arguments, 1 - arguments.level)
    text = gate.before(gates, report(found, arguments.seed, tell(costs)))
    records = (
        record(each, found, place) | cost_of(each, costs) | gate.recorded(gates, place)
        for place, each in enumerate(questions)
    )
    first = next(k for k, each in enumerate(questions) if bool(each.given) == bool(arguments.given))
    picture = reliability(arguments, sample, drawn) if drawn else (found.tests[first].plot, questions[first].name)
    show_and_draw(arguments, records, text, *picture)
    return 0 if all(each.passed for each in gates) else gate.FAILED


def what_it_costs(
    sample: cs.Sample, questions: Sequence[Question], arguments: argparse.Namespace, level: float
) -> dict[Question, cs.Estimate]:
    """Estimate what ``--costs`` asks for, of each question on whose prediction one may act."""
    if arguments.costs is None:
        return {}
    about = [question for question in questions if question.decides]
    if not about:
        raise ValueError("--costs: no lens leaves two outcomes here; take --lens top-label or class-wise:LABEL")
    asked = {"confidence_level": level, "n_resamples": arguments.n_resamples or 999, "rng": arguments.seed}
    found = ProgressBar("estimating").each(lambda q: cs.estimate(sample, q.view.lens | arguments.costs, **asked), about)
    return dict(zip(about, found, strict=True))


def cost_of(question: Question, costs: Mapping[Question, cs.Estimate]) -> dict[str, Any]:
    """Return what a question's record says of costs."""
    return {"costs": costs[question].to_dict()} if question in costs else {}


def tell(costs: Mapping[Question, cs.Estimate]) -> list[str]:
    """Write what the decisions cost, a paragraph for each question."""
    return [
        f"Costs of {cost.question.what}{(cost.meaning or '').removeprefix('What it costs')}" for cost in costs.values()
    ]


def _tell_folding(sample: cs.Sample, questions: Sequence[Question]) -> None:
    """Warn where the top label of one column of probabilities is often the other one."""
    one_column = "taken for P(label = " in sample.known.source
    if not one_column or not any(question.view.lens == cs.TopLabel() for question in questions):
        return
    rows = sample.counts.sum(axis=1) if isinstance(sample, CountedSample) else 1
    below = int(((sample.known.event < 0.5) * rows).sum())
    if below:
        notice(
            f"{below} of {len(sample)} probabilities are below 1/2, which top-label takes for confidence in the other "
            "label; if the column holds confidences in the predicted label, write --confidence instead of --probs, and "
            "name as --label the column that says whether it was right"
        )


# ``calibstat test --omnibus``: a panel of statistics on the same redraws, one p-value for each lens.


# About so many statistics are in a panel: what further redraws cost.
_STATISTICS = 6


def _run_omnibus(arguments: argparse.Namespace) -> None:
    """Read the sample, test it through each lens, print what was found."""
    wrong = [f"--{name}" for name in ("given", "estimator", "bins", "costs") if getattr(arguments, name) is not None]
    wrong += ["--binning"] if arguments.binning != "equal-mass" else []
    asked_of_gates = {"--require-within": arguments.require_within, "--fail-if": arguments.fail_if}
    wrong += [option for option, value in asked_of_gates.items() if value is not None]
    if wrong:
        raise ValueError(f"--omnibus has statistics of its own: leave out {' and '.join(wrong)}")
    with plain_warnings(), options.named_options(OF_NULLS):
        names = arguments.lens or ["canonical"]
        sample = read_sample(arguments, variables_asked(names, (), Measure()), in_parts=True)
        questions = panel(sample.known, names, (), Measure())
        views = [each.view for each in questions]
        asked = {"null": read_null(arguments.null), "n_resamples": arguments.n_resamples, "rng": arguments.seed}
        often, least = arguments.n_resamples or 999, least_factor(arguments.adjust, len(views))
        taken = enough_redraws(often, least, arguments.level, len(views) * len(sample) * _STATISTICS)
        told: tuple[str, ...] = ()  # of one lens the test itself says that it took more
        if len(views) > 1 and not isinstance(asked["null"], cs.Null):
            told = more_note(taken, often, arguments.level)
            asked["n_resamples"] = taken if told else arguments.n_resamples

        def answer(view: NamedLens) -> cs.OmnibusTest:
            return cs.omnibus_test(sample, lens=view.lens, level=arguments.level, **asked)

        found = ProgressBar().each(answer, views)
        options_of_size: dict[str, Any] = {"level": arguments.level, "rng": arguments.seed}
        sizes = (size_of_error(sample, view.lens) for view in views)
        sized = [
            judged_by(test, cs.calibration_test(sample, size, lens=view.lens, **options_of_size))
            for test, size, view in zip(found, sizes, views, strict=True)
        ]
    records, texts = [], []
    pvalues = adjust_pvalues([each.pvalue for each in found], arguments.adjust)
    for view, whole, test, adjusted in zip(views, sized, found, pvalues, strict=True):
        over_lenses = {"pvalue_adjusted": float(adjusted), "pvalue_adjusted_by": arguments.adjust}
        records.append({"lens": None, "class": view.label} | over_lenses | test.to_dict())
        more = f"adjusted p = {adjusted:.3g} ({_method(arguments.adjust)} over {len(found)} lenses)"
        screen = test.screen(VERBOSE)
        texts.append(
            replace(
                screen,
                answer=whole.verdict.removesuffix(whole.direction) + _pointing(test),
                notes=[*([more] if found[1:] else []), *told, *screen.notes],
            )
        )
    show_and_draw(arguments, records, texts, found[0].plot, questions[0].name)


def _pointing(test: cs.OmnibusTest) -> str:
    """Say which statistic is the strongest, and to which kind of error it points, where the panel rejects."""
    return "" if test.kind is None else f" The strongest statistic, {test.strongest}, points to {test.kind}."


# The results of a panel of questions.


def record(question: Question, found: TestsByLens, place: int) -> dict[str, Any]:
    """Return a question with its test for JSON."""
    test = found.tests[place]
    return {
        **question.to_dict(),
        **picked(test.question, "n n_classes"),
        **test.question.counts._asdict(),
        **test.question.direction_numbers,
        **picked(test, "statistic null_mean pvalue"),
        "pvalue_adjusted": found.pvalues_adjusted[place],
        "adjust": found.adjust,
        "tail": found.tails[place],
        "hypothesis": test.hypothesis,
        "source": test.question.source,
        **picked(test, "n_resamples level"),
        "notes": test.to_dict()["notes"],
        "kind": test.panel and test.panel.kind,
        "panel": test.panel and dict(zip(test.panel.names, test.panel.pvalues, strict=True)),
    }


def ask(
    sample: cs.Sample,
    questions: Sequence[Question],
    seed: int,
    null: cs.Null | str | None = None,
    n_resamples: int | None = None,
    adjust: str = "holm",
    level: float = LEVEL,
    *,
    by_panel: bool = True,
) -> TestsByLens:
    """Test each question, and adjust the p-values over all of them.

    Given the prediction alone a panel is tested, if that is asked for. Otherwise, without a null, p-values are computed
    exactly where that is possible, and variables are tested beyond the prediction's own error. Each test has the stream
    that the same call in Python has, named by what is tested, so that draws are independent and a further question
    changes no other p-value.
    """
    looked = cache(lambda lens: recalibrated(lens(sample)))
    options: dict[str, Any] = {"level": level, "rng": seed}

    def test(question: Question, how: cs.Null | str | None, often: int | None) -> cs.CalibrationTest:
        if null is None and has_increment(question):
            return increment_test(question, looked(question.view.lens), often, **options)
        if by_panel and not question.given:
            drawn: dict[str, Any] = {"lens": question.view.lens, "null": how, "n_resamples": often}
            return recommended_test(sample, question.core, **drawn, **options)
        return cs.calibration_test(sample, question.estimator, null=how, n_resamples=often, **options)

    with ProgressBar():
        asked = [partial(test, question) for question in questions]
        return tested_together(asked, null, n_resamples, adjust, level)


def caution(these: str, clusters: object) -> str:
    """Say when numbers do not hold; it is not asked whether rows come in clusters where that is known, or told."""
    clustered = "" if clusters else " if rows come in clusters (several of one patient, one video),"
    return (
        f"{these} do not hold if the model or its calibration was fitted on these rows,{clustered} or if predictions "
        "are cross-validated"
    )


def report(found: TestsByLens, seed: int, costs: Sequence[str] = ()) -> Screen:
    """Write the answer, the table of all questions, and notes on what they mean; arguments are named as options."""
    several, first = len(found.tests) > 1, found.tests[0]
    screen = (found if several else first).screen(VERBOSE)
    notes = [re.sub(r"null=(\w+\(.*?\))", r"--null '\1'", note) for note in screen.notes]
    return replace(
        screen,
        answer="\n".join([screen.answer, *costs]),
        notes=[*notes, caution("p-values", first.question.clusters or first.question.hint)],
        details=[*screen.details, ("seed", str(seed))],
    )


def _method(adjust: str) -> str:
    """Return the name of a method of adjustment without what it controls: "by Holm's method"."""
    return ADJUSTMENTS[adjust].partition(" (")[0]
