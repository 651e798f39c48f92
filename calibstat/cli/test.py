r"""Is the model calibrated?

Tests the predictions in a file against what happened, through several lenses,
and says by how much they are off. Use rows that neither the model nor its
calibrator was fitted on.

example commands:
  calibstat test predictions.csv --label actual --probs 'prob_*'
  calibstat test predictions.csv.gz --label actual --probs 'prob_*' --given age
  calibstat test predictions.csv --label correct --confidence conf
  calibstat test predictions.csv --label y --probs p \
    --estimator 'DebiasedL2(EqualWidth(10))' --format json
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._screen import Screen
from calibstat._text import counted, percent
from calibstat.cli import options
from calibstat.cli.pictures import reliability, reliability_questions, show_and_draw
from calibstat.cli.questions import (
    CLASS_WISE_UP_TO,
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
from calibstat.cli.text import (
    VERBOSE,
    ProgressBar,
    each_beside,
    notice,
    plain_warnings,
)
from calibstat.data.parameters import LEVEL
from calibstat.inference.direction import NO_DIRECTION
from calibstat.inference.multiplicity import (
    ADJUSTMENTS,
    adjust_pvalues,
    cannot_reject,
    check_choices,
    enough_redraws,
    joint_only,
    least_factor,
    more_note,
)
from calibstat.inference.results import (
    EXPECTED,
    at_floor,
    less_pressing_last,
    not_rejected,
    number,
    picked,
    small_pvalue,
)
from calibstat.inference.tails import (
    BESIDE,
    about_cells,
    about_detail,
    adjusted_tails,
    beyond,
    of_labels,
    tail_note,
    tail_of,
)
from calibstat.inference.test import recommended_test


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


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, ask the panel, print what was found."""
    with options.named_options({"adjust is ": "--adjust is "}):
        check_choices(arguments.adjust, missing=joint_only("each question is tested on draws of its own"))
    if arguments.omnibus:
        _run_omnibus(arguments)
        return
    measure, given = Measure.asked(arguments), read_given(arguments.given)
    null = read_null(arguments.null)
    with plain_warnings(), options.named_options(OF_NULLS):
        sample = read_sample(arguments, variables_asked(arguments.lens, given, measure), "--given")
        questions = panel(sample.predictions, arguments.lens, given, measure)
        drawn = reliability_questions(arguments, questions) if measure.estimator is None else []
        _tell_folding(sample, questions)
        if arguments.lens is None and not measure.has_lens and len(sample.labels) > CLASS_WISE_UP_TO:
            notice(
                f"class-wise is left out, since there are {len(sample.labels)} classes; ask for it by --lens class-wise"
            )
        asked = (arguments.seed, null, arguments.n_resamples, arguments.adjust, arguments.level)
        records = ask(sample, questions, *asked, by_panel=measure.estimator is None)
        costs = what_it_costs(sample, questions, arguments, 1 - arguments.level)
    text = report(records, arguments.level, arguments.seed, tell(costs), named_null=arguments.null is not None)
    records_with_costs = (record.to_dict() | cost_of(record.question, costs) for record in records)
    first = next(each for each in records if bool(each.question.given) == bool(arguments.given))
    picture = reliability(arguments, sample, drawn) if drawn else (first.test.plot, first.question.name)
    show_and_draw(arguments, records_with_costs, text, *picture)


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
    return [f"Costs of {cost.question.what}: {cost.meaning}" for cost in costs.values()]


def _tell_folding(sample: cs.Sample, questions: Sequence[Question]) -> None:
    """Warn where the top label of one column of probabilities is often the other one."""
    one_column = "taken for P(label = " in sample.predictions.source
    if not one_column or not any(question.view.lens == cs.TopLabel() for question in questions):
        return
    below = int((sample.predictions.event < 0.5).sum())
    if below:
        notice(
            f"{below} of {len(sample)} probabilities are below 1/2, which top-label takes for confidence in the other "
            "label; if the column holds confidences in the predicted label, write --confidence instead of --probs, and "
            "name as --label the column that says whether it was right"
        )


def _none_could(records: Sequence[Record], level: float) -> str:
    """Say so where no data could be rejected, with so few redraws and so many tests; otherwise return ""."""
    drawn = [each.test.n_resamples for each in records]
    if None in drawn:
        return ""
    return cannot_reject(max(filter(None, drawn)), least_factor(records[0].adjust, len(records)), level)


# ``calibstat test --omnibus``: a panel of statistics on the same redraws, one p-value for each lens.


# About so many statistics are in a panel: what further redraws cost.
_STATISTICS = 6


def _run_omnibus(arguments: argparse.Namespace) -> None:
    """Read the sample, test it through each lens, print what was found."""
    wrong = [f"--{name}" for name in ("given", "estimator", "bins") if getattr(arguments, name) is not None]
    wrong += ["--binning"] if arguments.binning != "equal-mass" else []
    wrong += ["--costs"] if arguments.costs is not None else []
    if wrong:
        raise ValueError(f"--omnibus has statistics of its own: leave out {' and '.join(wrong)}")
    with plain_warnings(), options.named_options(OF_NULLS):
        names = arguments.lens or ["canonical"]
        sample = read_sample(arguments, variables_asked(names, (), Measure()))
        questions = panel(sample.predictions, names, (), Measure())
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
    records, texts = [], []
    pvalues = adjust_pvalues([each.pvalue for each in found], arguments.adjust)
    for view, test, adjusted in zip(views, found, pvalues, strict=True):
        over_lenses = {"pvalue_adjusted": float(adjusted), "pvalue_adjusted_by": arguments.adjust}
        records.append({"lens": None, "class": view.label} | over_lenses | test.to_dict())
        more = f"adjusted p = {adjusted:.3g} ({_method(arguments.adjust)} over {len(found)} lenses)"
        screen = test.screen(VERBOSE)
        texts.append(replace(screen, notes=[*([more] if found[1:] else []), *told, *screen.notes]))
    show_and_draw(arguments, records, texts, found[0].plot, questions[0].name)


# The results of a panel: one record for each question, with p-values adjusted over all of them.


@dataclass(frozen=True, eq=False)
class Record:
    """A question, its test, and the p-value adjusted over the whole panel."""

    question: Question
    test: cs.CalibrationTest
    pvalue_adjusted: float
    adjust: str = "holm"
    tail: float | None = None  # about how small the adjusted p-value is, where no redraw reaches the value

    @property
    def at_floor(self) -> bool:
        """Whether the p-value is only a bound."""
        return at_floor(self.test.pvalue, self.test.null_distribution)

    def equation(self, level: float) -> str:
        """Return the adjusted p-value as "p = 0.01", or as "p < 0.01" if it is a bound below 1."""
        bound = self.at_floor and self.pvalue_adjusted < 1
        written = small_pvalue(self.pvalue_adjusted, level=level)
        return f"p {written.replace('=', '<') if bound else written}"

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        test = self.test
        return {
            **self.question.to_dict(),
            **picked(test.question, "n n_classes"),
            **test.question.counts._asdict(),
            **(test.question.direction or NO_DIRECTION).to_dict(),
            **picked(test, "statistic null_mean pvalue"),
            **picked(self, "pvalue_adjusted adjust tail"),
            "hypothesis": test.hypothesis,
            "source": test.question.source,
            **picked(test, "n_resamples level notes"),
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
) -> list[Record]:
    """Test each question, and adjust the p-values over all of them.

    Given the prediction alone a panel is tested, if that is asked for. Otherwise, without a null, p-values are computed
    exactly where that is possible, and variables are tested beyond the prediction's own error. Each test has the stream
    that the same call in Python has, named by what is tested, so that draws are independent and a further question
    changes no other p-value. Where no p-value that is drawn could reject after the adjustment, more are drawn if that
    costs little (`enough_redraws`).
    """
    m = len(questions)
    looked = cache(lambda lens: recalibrated(lens(sample)))
    options: dict[str, Any] = {"level": level, "rng": seed}

    def once(question: Question, how: cs.Null | str | None, often: int | None) -> cs.CalibrationTest:
        if null is None and has_increment(question):
            return increment_test(question, looked(question.view.lens), often, **options)
        if by_panel and not question.given:
            drawn: dict[str, Any] = {"lens": question.view.lens, "null": how, "n_resamples": often}
            return recommended_test(sample, question.core, **drawn, **options)
        return cs.calibration_test(sample, question.estimator, null=how, n_resamples=often, **options)

    def answer(question: Question) -> cs.CalibrationTest:
        test = once(question, null, n_resamples)
        asked = test.n_resamples
        if isinstance(null, cs.Null) or asked is None:
            return test
        taken = enough_redraws(asked, least_factor(adjust, m), level, m * len(sample))
        if taken == asked:
            return test
        again = once(question, null or "strong", taken)
        return replace(again, notes=again.notes + more_note(taken, asked, level))

    tests = ProgressBar().each(answer, questions)
    pvalues = [test.pvalue for test in tests]
    adjusted = adjust_pvalues(pvalues, adjust)
    tails = [_tail(sample, question, test) for question, test in zip(questions, tests, strict=True)]
    about = adjusted_tails(tails, pvalues, adjusted, adjust)
    return [
        Record(question, test, float(pvalue), adjust, tail)
        for question, test, pvalue, tail in zip(questions, tests, adjusted, about, strict=True)
    ]


def _tail(sample: cs.Sample, question: Question, test: cs.CalibrationTest) -> float | None:
    """Return about how small a p-value is that is the smallest of its redraws, where theory says it."""
    if test.panel is not None:
        return test.panel.tail
    if test.n_resamples is None or not of_labels(test.null):
        return None
    value = float(test.statistic)
    return beyond([test.pvalue], test.n_resamples, lambda _: tail_of(question.estimator, sample, value))[0]


# The results of a panel as text. Words never accept a null hypothesis.

# Numbers that need more decimals are written with an exponent.
_MOST_DECIMALS = 8
_NULL = (
    "given the prediction{beside}, the outcome seen through the lens follows the prediction; labels drawn from the "
    "predictions, which are kept (exact)"
)
_STRONG = " and, where one is named, the variable (the strong null)"
CAUTION = (
    "{these} do not hold if the model or its calibration was fitted on these rows, if rows come in clusters (several "
    "of one patient, one video), or if predictions are cross-validated"
)


def report(
    records: Sequence[Record], level: float, seed: int, costs: Sequence[str] = (), *, named_null: bool = False
) -> Screen:
    """Write the answer, the table of all questions, and notes on what they mean."""
    first = records[0].test
    answer = first.verdict if len(records) == 1 else headline(records, level)
    return Screen(
        "\n".join([answer, *costs]),
        table(records, level) if len(records) > 1 else (),
        less_pressing_last([*_beyond(records), *_notes(records), CAUTION.format(these="p-values")]),
        [*_methods(records, level, seed, named_null), ("data", f"{first.question.rows}; {first.question.source}")],
        text_columns=TEXT_COLUMNS,
        spare=SPARE_COLUMNS,
        more=VERBOSE,
    )


def _methods(records: Sequence[Record], level: float, seed: int, named_null: bool) -> list[tuple[str, str]]:
    """Say how the numbers of a table were computed: each text once, with the names of its questions."""
    questions = [record.question for record in records]
    beyond = [not named_null and has_increment(question) for question in questions]
    strong = any(question.given and not each for question, each in zip(questions, beyond, strict=True))
    plain = _NULL.format(beside=_STRONG if strong else "")
    nulls = [
        record.test.hypothesis if each or named_null else plain for record, each in zip(records, beyond, strict=True)
    ]
    values = [
        f"{each.core.quantity}, {each.core!r}{', of recalibrated predictions' if own else ''}"
        for each, own in zip(questions, beyond, strict=True)
    ]
    laws = [record.test.null_distribution for record in records]
    means = [
        f"{EXPECTED} ({f'{law.description}, seed {seed}' if law.monte_carlo else 'computed, no Monte Carlo error'})"
        for law in laws
    ]
    panels = [_of_panel(record.test.panel, seed) for record in records if any(each.test.panel for each in records)]
    adjusted = f"{ADJUSTMENTS[records[0].adjust]} over the tests above; * at most {percent(level)}"
    places = [each.place for each in questions]
    lines = [
        *each_beside("value", zip(places, values, strict=True)),
        *each_beside("noise alone", zip(places, means, strict=True)),
        *each_beside("p", zip(places, panels, strict=False)),
        *each_beside("null", zip(places, nulls, strict=True)),
    ]
    about = about_detail([record.tail for record in records])
    return [*lines, *([("adjusted p", adjusted), *about] if len(records) > 1 else [])]


def _notes(records: Sequence[Record]) -> list[str]:
    """Return each note once, with the names of its questions unless all have it; arguments are named as options."""
    about: dict[str, list[str]] = {}
    for record in records:
        for note in record.test.notes:
            about.setdefault(re.sub(r"null=(\w+\(.*?\))", r"--null '\1'", note), []).append(record.question.name)
    return [note if len(which) == len(records) else f"{', '.join(which)}: {note}" for note, which in about.items()]


def _beyond(records: Sequence[Record]) -> tuple[str, ...]:
    """Say that p-values are the smallest of so many redraws, and how small they are by theory."""
    tests = [record.test for record in records]
    most = max((each.n_resamples or 0 for each in tests), default=0)
    pvalues = [each.pvalue for each in tests if each.n_resamples]
    return tail_note(most, pvalues, [record.tail for record in records], BESIDE if len(records) > 1 else "")


def _of_panel(panel: cs.OmnibusTest | None, seed: int) -> str:
    if panel is None:
        return "of the value"
    return f"{panel.method} ({panel.description.partition(',')[0]}, seed {seed})"


def headline(records: Sequence[Record], level: float) -> str:
    """Say, by adjusted p-values, whether there is evidence of miscalibration, and which error is the largest."""
    rejected = [record for record in records if record.pvalue_adjusted <= level]
    n = records[0].test.question.n
    if not rejected:
        smallest = min(records, key=lambda record: record.pvalue_adjusted).equation(level)
        none = not_rejected(level, _none_could(records, level))
        return f"{none} in {counted(len(records), 'test')} (n = {n}, smallest adjusted {smallest})."
    largest = max(rejected, key=lambda record: abs(record.test.statistic - record.test.null_mean))
    test = largest.test
    value, mean = test.statistic, test.null_mean
    return (
        f"Evidence of miscalibration at {percent(level)} in {len(rejected)} of {len(records)} tests (n = {n}, adjusted "
        f"{_method(records[0].adjust)}). The largest beyond noise, of {test.question.what}: {number(value, mean)}, "
        f"{test.question.noise_gives} {number(mean, value)} (adjusted {largest.equation(level)})"
        f"{test.question.which_way(rejected=True)}.{'' if test.question.stands_out else test.direction}"
    )


def _method(adjust: str) -> str:
    """Return the name of a method of adjustment without what it controls: "by Holm's method"."""
    return ADJUSTMENTS[adjust].partition(" (")[0]


TEXT_COLUMNS, SPARE_COLUMNS = (0, 5), (3,)


def table(records: Sequence[Record], level: float) -> list[list[str]]:
    """Return the cells of the table: a row for each question."""
    digits = _n_decimals(record.test for record in records)
    errors = all(record.test.question.estimator.core.extreme == "large" for record in records)
    heading = ["calibration of", "error" if errors else "value", "noise alone", "p", "adjusted p", "", "about"]
    about = about_cells([record.tail for record in records])
    rows = (_cells_of_record(record, digits, level) for record in records)
    return [heading, *([*row, tail] for row, tail in zip(rows, about, strict=True))]


def _cells_of_record(record: Record, digits: int, level: float) -> list[str]:
    test = record.test
    beyond = ", beyond overall" if test.hypothesis.startswith("beyond the error of the prediction") else ""
    return [
        test.question.what + beyond,
        _rounded(test.statistic, test.null_mean, digits),
        _rounded(test.null_mean, test.statistic, digits),
        f"< {test.pvalue:.3g}" if record.at_floor else f"{test.pvalue:.3g}",
        record.equation(level).removeprefix("p ").removeprefix("= "),
        "*" if record.pvalue_adjusted <= level else "",
    ]


def _rounded(value: float, beside: float, digits: int) -> str:
    """Write a number with so many decimals; a zero has no sign."""
    if digits == _MOST_DECIMALS and abs(value) < 10.0**-digits:
        return number(value, beside)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _n_decimals(tests: Iterable[cs.CalibrationTest]) -> int:
    """Return how many decimals show two digits of the smallest null mean; at least four."""
    noise = [test.null_mean for test in tests if number(test.null_mean, test.statistic) != "0"]
    sizes = [abs(mean) for mean in noise if math.isfinite(mean)]
    return min(_MOST_DECIMALS, max(4, 1 - math.floor(math.log10(min(sizes))))) if sizes else 4
