"""The same question through several lenses: tests, with p-values adjusted over them, or estimates, in one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

from calibstat._dataclass import dataclass
from calibstat._progress import bar_on_terminal, track
from calibstat._text import counted, percent, some_of
from calibstat.data.sample import Sample
from calibstat.inference.multiplicity import (
    ADJUSTMENTS,
    adjust_pvalues,
    cannot_reject,
    enough_redraws,
    least_factor,
    more_note,
)
from calibstat.inference.results import (
    EXPECTED,
    CalibrationTest,
    Estimate,
    Inquiry,
    Result,
    RowCounts,
    at_floor,
    not_rejected,
    number,
    small_pvalue,
)
from calibstat.inference.tails import (
    BESIDE,
    about_cells,
    about_detail,
    adjusted_tails,
    tail_note,
)
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL, ClassWise, TopLabel
from calibstat.nulls.base import Null

# With more classes, adjusting for so many class-wise tests would hide what the others find.
CLASS_WISE_UP_TO = 30


def recommended_lenses(labels: Sequence[Hashable]) -> tuple[Lens, ...]:
    """Return the lenses that are looked through where none is named, in Python as by commands.

    With more than two classes these are the top label, all classes together, and each class by itself (of at most 30).

    >>> recommended_lenses(["no", "yes"]), recommended_lenses("abc")[:3]
    ((Canonical(),), (TopLabel(), Canonical(), ClassWise(label='a')))
    """
    if len(labels) <= 2:
        return (CANONICAL,)
    each = map(ClassWise, labels) if len(labels) <= CLASS_WISE_UP_TO else ()
    return (TopLabel(), CANONICAL, *each)


def one_lens(sample: Sample, lens: Lens | None) -> Lens:
    """Return the lens of a question that is asked once: where none is named, the first of those of several."""
    return recommended_lenses(sample.labels)[0] if lens is None else lens


# Tests.


def tested_together(
    asked: Sequence[Callable[[Null | str | None, int | None], CalibrationTest]],
    null: Null | str | None,
    n_resamples: int | None,
    adjust: str,
    level: float,
) -> TestsByLens:
    """Ask each question, of a null and a number of redraws, and adjust the p-values over all of them.

    Where no p-value that is drawn could reject after the adjustment, more are drawn if that costs little
    (`enough_redraws`).
    """

    def answer(ask: Callable[[Null | str | None, int | None], CalibrationTest]) -> CalibrationTest:
        test = ask(null, n_resamples)
        drawn = test.n_resamples
        if isinstance(null, Null) or drawn is None:
            return test
        least = least_factor(adjust, len(asked))
        taken = enough_redraws(drawn, least, level, len(asked) * test.question.n)
        if taken == drawn:
            return test
        again = ask(null or "strong", taken)
        return replace(again, notes=again.notes + more_note(taken, drawn, level))

    with bar_on_terminal():
        tests = tuple(answer(ask) for ask in track(asked, len(asked)))
    pvalues = [test.pvalue for test in tests]
    adjusted = adjust_pvalues(pvalues, adjust)
    tails = adjusted_tails([test.tail for test in tests], pvalues, adjusted, adjust)
    return TestsByLens(tests, tuple(map(float, adjusted)), adjust, level, tuple(tails))


def _beyond_overall(test: CalibrationTest) -> bool:
    """Whether predictions were recalibrated, so that variables show what is beyond the prediction's own error."""
    return test.hypothesis.startswith("beyond the error of the prediction")


@final
@dataclass(frozen=True, eq=False, repr=False)
class TestsByLens(Result):
    """Tests through several lenses, with p-values adjusted over them: ``calibration_test(sample).by_lens``.

    Parameters
    ----------
    tests : tuple of CalibrationTest
    pvalues_adjusted : tuple of float
        The p-value of each, adjusted for their number.
    adjust : str
        The method of adjustment.
    level : float
        The largest adjusted p-value that counts as evidence.
    tails : tuple of float or None
        About how small adjusted p-values are that no redraw reaches, where theory says it.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(200, rng=0)
    >>> found = cs.calibration_test(sample, rng=0)
    >>> [test.question.what for test in found.by_lens.tests]
    ['P(predicted class)', 'all 3 probabilities together', 'P(0)', 'P(1)', 'P(2)']
    >>> found.pvalue == min(found.by_lens.pvalues_adjusted)
    True
    """

    __test__: ClassVar[bool] = False  # no test of pytest
    _row: ClassVar[str] = "calibration_of"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 5)
    _spare_columns: ClassVar[tuple[int, ...]] = (3,)
    _no_display: ClassVar[str] = "draw one of them, as in .tests[0].plot()"

    tests: tuple[CalibrationTest, ...]
    pvalues_adjusted: tuple[float, ...]
    adjust: str
    level: float
    tails: tuple[float | None, ...]

    @property
    def largest(self) -> CalibrationTest:
        """The test whose error exceeds that of noise by most, among those that reject if there are any."""
        rejected = [test for test, p in zip(self.tests, self.pvalues_adjusted, strict=True) if p <= self.level]
        return max(rejected or self.tests, key=lambda test: abs(test.statistic - test.null_mean))

    @property
    def verdict(self) -> str:
        """Whether there is evidence of miscalibration, by adjusted p-values, and which error is the largest."""
        n, largest = self.tests[0].question.n_in_words, self.largest
        n_rejected = sum(p <= self.level for p in self.pvalues_adjusted)
        if not n_rejected:
            smallest = min(range(len(self.tests)), key=self.pvalues_adjusted.__getitem__)
            none = not_rejected(self.level, self._none_could)
            tests = counted(len(self.tests), "test")
            return f"{none} in {tests} ({n}, smallest adjusted {self.equation(smallest)}).{self._cost}"
        value, mean, asked = largest.statistic, largest.null_mean, largest.question
        return (
            f"Evidence of miscalibration at {percent(self.level)} in {n_rejected} of {len(self.tests)} tests ({n}, "
            f"adjusted {ADJUSTMENTS[self.adjust].partition(' (')[0]}). The largest beyond noise, of {asked.what}: "
            f"{number(value, mean)}, {asked.noise_gives} {number(mean, value)} (adjusted "
            f"{self.equation(self.tests.index(largest))}){asked.which_way(rejected=True)}."
            f"{'' if asked.stands_out else largest.direction}{self._cost}"
        )

    @property
    def _cost(self) -> str:
        """What acting on the largest of the errors costs, or else on the first, where that was asked for."""
        cost = next((test.decision for test in (self.largest, *self.tests) if test.decision), None)
        return f" {cost.meaning}" if cost else ""

    @property
    def _none_could(self) -> str:
        """Say so where no data could be rejected, with so few redraws and so many tests; otherwise return ""."""
        drawn = [each.n_resamples for each in self.tests]
        if None in drawn:
            return ""
        return cannot_reject(max(filter(None, drawn)), least_factor(self.adjust, len(drawn)), self.level)

    @property
    def pvalue_interval(self) -> tuple[float, float]:
        """99 % interval for the smallest adjusted p-value of infinitely many redraws."""
        least = min(self.tests, key=lambda test: test.pvalue)
        low, high = (min(1.0, len(self.tests) * end) for end in least.pvalue_interval)
        return low, high

    def at_floor(self, place: int) -> bool:
        """Whether the p-value of a test is only a bound."""
        return at_floor(self.tests[place].pvalue, self.tests[place].null_distribution)

    def equation(self, place: int) -> str:
        """Return an adjusted p-value as "p = 0.01", or as "p < 0.01" if it is a bound below 1."""
        adjusted = self.pvalues_adjusted[place]
        written = small_pvalue(adjusted, level=self.level)
        return f"p {written.replace('=', '<') if self.at_floor(place) and adjusted < 1 else written}"

    def _counted(self) -> dict[str, Any]:
        return _least_counts(self._questions)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"calibration_of": test.question.what}
            | {key: value for key, value in test.to_dict().items() if not isinstance(value, (dict, list))}
            | {"pvalue_adjusted": adjusted, "tail": tail}
            for test, adjusted, tail in zip(self.tests, self.pvalues_adjusted, self.tails, strict=True)
        ]

    def _values(self) -> dict[str, Any]:
        return {
            "adjust": self.adjust,
            "level": self.level,
            "pvalue": min(self.pvalues_adjusted),
            "tests": [
                test.to_dict() | {"pvalue_adjusted": adjusted, "tail": tail}
                for test, adjusted, tail in zip(self.tests, self.pvalues_adjusted, self.tails, strict=True)
            ],
        }

    def _table(self) -> list[list[str]]:
        digits = n_decimals(self.tests)
        errors = all(asked.estimator.core.is_error for asked in self._questions)
        heading = ["calibration of", "error" if errors else "value", "noise alone", "p", "adjusted p", "", "about"]
        about = about_cells(self.tails)
        return [heading, *([*self._cells(place, digits), tail] for place, tail in enumerate(about))]

    def _cells(self, place: int, digits: int) -> list[str]:
        test = self.tests[place]
        return [
            test.question.what + (", beyond overall" if _beyond_overall(test) else ""),
            _rounded(test.statistic, test.null_mean, digits),
            _rounded(test.null_mean, test.statistic, digits),
            f"< {test.pvalue:.3g}" if self.at_floor(place) else f"{test.pvalue:.3g}",
            self.equation(place).removeprefix("p ").removeprefix("= "),
            "*" if self.pvalues_adjusted[place] <= self.level else "",
        ]

    def _notes(self) -> list[str]:
        return [*self.beyond, *_each_once(self._questions, (test.notes for test in self.tests))]

    @property
    def beyond(self) -> tuple[str, ...]:
        """Say that p-values are the smallest of so many redraws, and how small they are by theory."""
        drawn = {test.pvalue: test.n_resamples for test in self.tests if test.n_resamples}
        return tail_note(max(drawn.values(), default=0), [*drawn], self.tails, BESIDE if self.tails[1:] else "")

    @property
    def _questions(self) -> list[Inquiry]:
        return [test.question for test in self.tests]

    def _details(self) -> list[tuple[str, str]]:
        asked, tests = self._questions, self.tests
        return [
            *_beside("value", asked, map(_of_value, asked)),
            *_beside("noise alone", asked, (f"{EXPECTED} ({each.how_expected})" for each in tests)),
            *_beside("p", asked, map(_of_panel, tests)),
            *_beside("null", asked, (each.hypothesis.replace(repr(each.question.lens), "the lens") for each in tests)),
            *_beside("pooled", asked, (test.pooling for test in tests)),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]} over the tests above; * at most {percent(self.level)}"),
            *about_detail(self.tails),
            ("data", f"{asked[0].rows}; {asked[0].source}"),
        ]


def _of_value(asked: Inquiry) -> str:
    return f"{asked.estimator.quantity}, {asked.estimator.core!r}"


def _of_panel(test: CalibrationTest) -> str:
    return "of the value" if test.panel is None else f"{test.panel.method} ({test.panel.description.split(',')[0]})"


# Numbers that need more decimals are written with an exponent.
_MOST_DECIMALS = 8


def _rounded(value: float, beside: float, digits: int) -> str:
    """Write a number with so many decimals; a zero has no sign."""
    if digits == _MOST_DECIMALS and abs(value) < 10.0**-digits:
        return number(value, beside)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def n_decimals(tests: Iterable[CalibrationTest]) -> int:
    """Return how many decimals show two digits of the smallest null mean; at least four."""
    noise = [test.null_mean for test in tests if number(test.null_mean, test.statistic) != "0"]
    sizes = [abs(mean) for mean in noise if math.isfinite(mean)]
    return min(_MOST_DECIMALS, max(4, 1 - math.floor(math.log10(min(sizes))))) if sizes else 4


# Estimates.


def _beyond_noise(each: Estimate) -> float | None:
    """Return how much more it is than what noise gives; what is no error may be off in both directions."""
    if each.headline is None or each.headline_null_mean is None:
        return None
    beyond = each.headline - each.headline_null_mean
    return beyond if each.question.estimator.core.is_error else abs(beyond)


@final
@dataclass(frozen=True, eq=False, repr=False)
class EstimatesByLens(Result):
    """Estimates through several lenses: ``estimate(sample).by_lens``.

    Parameters
    ----------
    estimates : tuple of Estimate

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(200, rng=0)
    >>> found = cs.estimate(sample, rng=0)
    >>> found.by_lens.to_frame()["calibration_of"].tolist()
    ['P(predicted class)', 'all 3 probabilities together', 'P(0)', 'P(1)', 'P(2)']
    """

    _row: ClassVar[str] = "calibration_of"
    _no_display: ClassVar[str] = "draw one of them, as in .estimates[0].plot()"

    estimates: tuple[Estimate, ...]

    @property
    def largest(self) -> Estimate:
        """The estimate that exceeds noise by most; the first one if none has a number."""
        return max(self.estimates, key=lambda each: -math.inf if (beyond := _beyond_noise(each)) is None else beyond)

    @property
    def verdict(self) -> str:
        """The value that exceeds what noise gives by most."""
        largest, of = self.largest, counted(len(self.estimates), "value")
        beyond = _beyond_noise(largest)
        if beyond is None:
            return largest.verdict
        most = f"Of {of} it exceeds noise by most." if beyond > 0 else f"None of {of} exceeds what noise gives."
        return f"{largest.verdict} {most}"

    def _counted(self) -> dict[str, Any]:
        return _least_counts(self._questions)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"calibration_of": each.question.what}
            | {key: value for key, value in each.to_dict().items() if not isinstance(value, (dict, list))}
            | dict(zip(("low", "high"), each.confidence_interval or (None, None), strict=True))
            for each in self.estimates
        ]

    def _values(self) -> dict[str, Any]:
        return {"estimates": [each.to_dict() for each in self.estimates]}

    def _table(self) -> list[list[str]]:
        level = percent(self.estimates[0].level_of_parts)
        errors = not self.estimates[0].parts and all(asked.estimator.core.is_error for asked in self._questions)
        columns = ("error", "noise alone") if errors else ("value", "if calibrated")
        return [
            ["calibration of", *columns, f"{level} interval"],
            *(row for each in self.estimates for row in each.cells()),
        ]

    def _notes(self) -> list[str]:
        return _each_once(self._questions, (each.notes for each in self.estimates))

    @property
    def _questions(self) -> list[Inquiry]:
        return [each.question for each in self.estimates]

    def _details(self) -> list[tuple[str, str]]:
        asked = self._questions
        return [
            *_beside("value", asked, map(_of_value, asked)),
            ("noise alone", EXPECTED),
            *_beside("interval", asked, (each.interval_note for each in self.estimates)),
            ("", f"each holds by itself with {percent(self.estimates[0].confidence_level)}"),
            ("data", f"{asked[0].rows}; {asked[0].source}"),
        ]


# What several questions share.


def _least_counts(questions: Sequence[Inquiry]) -> dict[str, Any]:
    return RowCounts.least(each.counts for each in questions)._asdict()


def _each_once(questions: Sequence[Inquiry], texts: Iterable[Iterable[str]]) -> list[str]:
    """Return each different text once, with what it is about unless all questions share it."""
    about: dict[str, list[str]] = {}
    for question, told in zip(questions, texts, strict=True):
        for text in told:
            about.setdefault(text, []).append(question.what)
    return [text if len(which) == len(questions) else f"{some_of(which)}: {text}" for text, which in about.items()]


def _beside(name: str, questions: Sequence[Inquiry], texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return texts, one of each question, as details of a screen, the first with this name."""
    told = _each_once(questions, ([text] * bool(text) for text in texts))
    return [("" if k else name, text) for k, text in enumerate(told)]
