"""How well do predictions of an event agree with what happened? The summary of a clinical validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import nan
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat._text import counted, percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, check_share
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, why_undefined
from calibstat.estimators.panels import ClinicalPanel
from calibstat.inference.arguments import look_through, with_counts
from calibstat.inference.estimate import HIDDEN, interval_of, redrawn
from calibstat.inference.intervals import NoInterval
from calibstat.inference.results import Inquiry, Result, ends_text, noted, number, pvalue_cell
from calibstat.inference.test import calibration_test, events_note, fewest_rows
from calibstat.lenses.base import Lens
from calibstat.nulls.multiplier import Multiplier

# With so much information in all predictions together, sum p (1 - p), the law of the belt's statistic is computed, as
# large samples have it, and no longer drawn.
_ENOUGH_INFORMATION = 500.0


def clinical_summary(
    sample: Sample,
    *,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ClinicalSummary:
    """Summarise calibration, discrimination and accuracy of predictions of an event, each with its interval.

    What a clinical validation reports (Van Calster et al. 2019; ``val.prob`` of Harrell's ``rms``): observed over
    expected events, calibration intercept in the large and slope, the error of a smooth calibration curve (`ICI`, E50,
    E90, Emax), the C-index (`AUC`), the Brier score with its reliability, resolution and uncertainty, and the test of
    the calibration belt.

    Intervals of O/E, C-index and Brier score are those of `estimate`; those of intercept and slope are Wald intervals
    of `Cox`, as of a logistic regression in R, which hold with few events too; those of errors are uniform, and hold at
    zero. Each interval holds by itself with `confidence_level`, in rows that neither the model nor its calibration was
    fitted on.

    Parameters
    ----------
    sample : Sample
        Of two classes, the second of which is the event; or a `lens` leaves two.
    lens : Lens, optional
        Looked through before, for example ``ClassWise(2)``.
    confidence_level : float
    n_resamples : int
        Number of redraws of the labels, for intervals of errors and for the belt.
    rng : int, Generator or None

    Returns
    -------
    ClinicalSummary
        Prints itself in words; ``summary["slope"]`` has ``value``, ``low``, ``high`` and ``expected``.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or more than two outcomes are seen.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 500)
    >>> found = cs.clinical_summary(cs.Sample(rng.random(500) < 0.6 * p, p), n_resamples=99, rng=0)
    >>> print(found.verdict)
    Predictions are too high: 19.8 % predicted, 13.8 % happened, O/E 0.696 (95 %: 0.564 to 0.859), slope 0.821 (0.537 \
to 1.1).
    >>> round(found["c_index"].value, 3)
    0.731
    """
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    question, seen = look_through(sample, ClinicalPanel.of(confidence_level).cox, lens)
    panel = ClinicalPanel.of(confidence_level, len(seen))
    generator = as_generator(rng)
    notes: list[str] = []
    measures = {each.name: each for each in _measures(panel, seen, confidence_level, n_resamples, generator, notes)}
    belt, pvalue = _belt(panel.belt, seen, n_resamples, generator)
    if belt is None:
        notes.append("the calibration belt has no weights, so that its test is left out")
    event, weights = seen.predictions.event, seen.predictions.weights
    return ClinicalSummary(
        predicted=float(np.average(event, weights=weights)),
        happened=float(np.average(seen.outcomes, weights=weights)),
        n_events=int(seen.outcomes.sum()),
        measures=measures,
        average_pvalue=calibration_test(seen, panel.mean, rng=generator).pvalue,
        belt=belt,
        belt_pvalue=pvalue,
        curve=panel.curve(seen),
        confidence_level=confidence_level,
        question=with_counts(question, seen, panel.parts.prepare(seen.predictions).capabilities),
        notes=events_note(fewest_rows(seen), of_error=False) + tuple(notes),
    )


class ClinicalMeasure(NamedTuple):
    """A number of a summary, with its interval (NaN where there is none), and what a calibrated model has on average.

    `expected` is NaN where that depends on the model's discrimination.
    """

    name: str
    words: str
    value: float
    low: float
    high: float
    expected: float = nan

    @classmethod
    def of(
        cls, name: str, words: str, value: float, ends: tuple[float, float], expected: float = nan
    ) -> ClinicalMeasure:
        """Take both ends of the interval as one."""
        return cls(name, words, value, *ends, expected)

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def excludes(self, value: float) -> bool:
        """Whether the interval lies on one side of the value."""
        return self.low > value or self.high < value


def _measures(
    panel: ClinicalPanel, seen: Sample, level: float, n_resamples: int, rng: np.random.Generator, notes: list[str]
) -> Iterator[ClinicalMeasure]:
    """Yield the rows of the table, and add to the notes why one is not defined."""
    multiplier, none = Multiplier(n_resamples), (nan, nan)
    fit: Any = panel.cox(seen)

    def interval(estimator: Estimator) -> tuple[float, float]:
        try:
            return interval_of(estimator, seen, multiplier, None, rng).interval(level)
        except NoInterval as reason:
            if np.isfinite(value(estimator)):
                notes.append(str(reason))
            return none

    def value(estimator: Estimator) -> float:
        return float(estimator.headline(estimator.prepare(seen.predictions)(seen.outcomes)))

    yield ClinicalMeasure.of("oe", "observed / expected (O/E)", value(panel.oe), interval(panel.oe), 1.0)
    large, slope = fit.intercept_in_the_large_interval, fit.slope_interval
    yield ClinicalMeasure.of("intercept", "intercept in the large", fit.intercept_in_the_large, large, 0.0)
    yield ClinicalMeasure.of("slope", "calibration slope", fit.slope, slope, 1.0)
    if not np.isfinite(fit.slope):
        notes.append(f"no calibration slope: {why_undefined(panel.cox)}")
    yield from _errors(panel, seen, level, multiplier, rng, notes)
    area = value(panel.area)
    yield ClinicalMeasure.of("c_index", "C-index (AUC)", area, interval(panel.area))
    if not np.isfinite(area):
        notes.append(f"no C-index: {why_undefined(panel.area)}")
    yield ClinicalMeasure.of("brier", "Brier score", value(panel.brier), interval(panel.brier))
    parts: Any = panel.parts(seen)
    yield ClinicalMeasure.of("reliability", "  reliability", parts.calibration, interval(panel.parts))
    yield ClinicalMeasure.of("resolution", "  resolution", parts.sharpness, none)
    yield ClinicalMeasure.of("uncertainty", "  uncertainty", parts.uncertainty, none)


_ERRORS = {
    "ici": "mean error (ICI)",
    "e50": "median error (E50)",
    "e90": "0.9 quantile (E90)",
    "emax": "largest error (Emax)",
}


def _errors(
    panel: ClinicalPanel, seen: Sample, level: float, multiplier: Multiplier, rng: np.random.Generator, notes: list[str]
) -> Iterator[ClinicalMeasure]:
    """Yield the errors of the smooth curve beside what noise alone gives; labels are redrawn once for all of them."""
    prepared = {name: each.prepare(seen.predictions) for name, each in panel.errors.items()}
    noise = redrawn(panel.errors["ici"], seen, prepared["ici"], multiplier.n_resamples, None, rng).samples
    values = dict(zip(panel.errors, prepared["ici"](seen.outcomes).tolist(), strict=True))
    means = dict(zip(panel.errors, noise.mean(axis=0).tolist(), strict=True))
    found: dict[str, Any] = {}
    ends: dict[str, tuple[float, float]] = {}
    try:
        for name in track(("ici", "e90", "emax"), 3):
            drawn = noise[:, list(panel.errors).index(name)]
            found[name] = interval_of(panel.errors[name], seen, multiplier, drawn, rng)
        nearby = prepared["e50"].capabilities.nearby
        # noise of the same rows bounds both quantiles
        found["e50"] = replace(found["e90"], value=values["e50"], nearby=nearby and nearby(seen.outcomes))
        ends = {name: each.interval(level) for name, each in found.items()}
    except NoInterval as reason:
        notes.append(str(reason))
    if any(each.hidden for each in found.values()):
        notes.extend(HIDDEN)
    for name, value in values.items():
        yield ClinicalMeasure.of(name, _ERRORS[name], value, ends.get(name, (nan, nan)), means[name])


def _belt(estimator: Estimator, seen: Sample, n_resamples: int, rng: np.random.Generator) -> tuple[Any, float | None]:
    """Return the belt and the p-value of its test, by redrawn labels or, for much information, as computed."""
    if seen.predictions.weights is not None:
        return None, None
    chances = seen.predictions.event
    many = float((chances * (1 - chances)).sum()) >= _ENOUGH_INFORMATION
    drawn: dict[str, Any] = {"null": "asymptotic"} if many else {"n_resamples": n_resamples}
    return estimator(seen), calibration_test(seen, estimator, rng=rng, **drawn).pvalue


@final
@dataclass(frozen=True, eq=False, repr=False)
class ClinicalSummary(Result):
    """The result of `clinical_summary`; ``summary["slope"]`` is one of its measures.

    Parameters
    ----------
    predicted, happened : float
        Mean prediction, and share of events; with weights, weighted.
    n_events : int
    measures : dict of ClinicalMeasure
        With ``value``, ``low``, ``high`` and ``expected``.
        By name: oe, intercept, slope, ici, e50, e90, emax, c_index, brier, reliability, resolution, uncertainty.
    average_pvalue : float
        The p-value of the mean error (`MeanCalibration`), which holds with any number of events.
    belt : Belt or None
        The calibration belt; None with weights.
    belt_pvalue : float or None
        The p-value of its test.
    curve : LocalCurve
        The smooth calibration curve whose errors are the ICI, E50, E90 and Emax.
    confidence_level : float
        Of each interval by itself.
    question : Inquiry
        Lens and number of rows.
    notes : tuple of str
        What limits the summary; the first two are printed.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> found = cs.clinical_summary(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p), n_resamples=99, rng=0)
    >>> round(found["c_index"].value, 4), found["oe"].excludes(1.0)
    (0.8333, False)
    """

    _display: ClassVar[str] = "ClinicalDisplay"
    _row: ClassVar[str] = "measure"
    _width: ClassVar[int] = 80

    predicted: float
    happened: float
    n_events: int
    measures: Mapping[str, ClinicalMeasure]
    average_pvalue: float
    belt: Any
    belt_pvalue: float | None
    curve: Any
    confidence_level: float
    question: Inquiry
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ClinicalMeasure:
        if name not in self.measures:
            raise KeyError(f"there is no measure {name!r}; the names are {', '.join(self.measures)}")
        return self.measures[name]

    @property
    def verdict(self) -> str:
        """One sentence: in which direction predictions err, with what was predicted, what happened, and the slope."""
        ratio, slope = self["oe"], self["slope"]
        inclined = f"slope {_short(slope)}" if np.isfinite(slope.value) else "no slope"
        return (
            f"{self.direction}: {_share(self.predicted)} predicted, {_share(self.happened)} happened, "
            f"O/E {_short(ratio, percent(self.confidence_level) + ': ')}, {inclined}."
        )

    @property
    def direction(self) -> str:
        """What the intervals of O/E (or else of the intercept in the large) and of the slope say, or else the belt.

        With few events intervals of O/E hold less often, so that the test of the mean error must reject too.
        """
        average, slope = self["oe"], self["slope"]
        if np.isnan(average.low):  # without expected events the ratio has no interval
            average = self["intercept"]
        found = []
        if average.excludes(average.expected) and self.average_pvalue <= 1 - self.confidence_level:
            found.append("too high" if average.value < average.expected else "too low")
        if slope.excludes(1.0):
            found.append("too extreme" if slope.value < 1 else "not extreme enough")
        if found:
            return f"Predictions are {' and '.join(found)}"
        none = "no evidence of an error on average" + (" or in slope" if np.isfinite(slope.value) else "")
        if self.belt_pvalue is not None and self.belt_pvalue <= 1 - self.confidence_level:
            return f"Predictions are off (calibration belt: p {pvalue_cell(self.belt_pvalue)}), with {none}"
        return none.capitalize() + ("" if self.belt is None else ", or by the belt")

    def _values(self) -> dict[str, Any]:
        belt = self.belt
        return {
            **{key: value for key, value in self.question.to_dict().items() if key != "estimator"},
            "predicted": self.predicted,
            "happened": self.happened,
            "n_events": self.n_events,
            "measures": {row.pop("measure"): row for row in self._rows()},
            "average_pvalue": self.average_pvalue,
            "belt": None if belt is None else {"statistic": belt.statistic, "degree": belt.degree},
            "belt_pvalue": self.belt_pvalue,
            "confidence_level": self.confidence_level,
            "notes": self.notes,
        }

    def _rows(self) -> list[dict[str, Any]]:
        names = ("value", "low", "high", "expected")
        return [
            {"measure": each.name} | {name: getattr(each, name) for name in names} for each in self.measures.values()
        ]

    def _table(self) -> list[list[str]]:
        rows = [["measure", "value", f"{percent(self.confidence_level)} interval", "if calibrated"]]
        rows += [
            [
                each.words,
                _defined(each.value),
                _ends(each),
                "" if each.expected != each.expected else number(each.expected),
            ]
            for each in self.measures.values()
        ]
        if self.belt_pvalue is not None:
            rows.insert(
                8, ["calibration belt", f"p {pvalue_cell(self.belt_pvalue, 1 - self.confidence_level)}", "", ""]
            )
        return rows

    def _details(self) -> list[tuple[str, str]]:
        lens = self.question.lens
        through = f" seen through {lens!r}" if lens.parts else ""
        data = f"{self.question.rows}, {counted(self.n_events, 'event')}{through}; {self.question.source}"
        return [("data", data), *noted(self.notes[:2])]


def _share(value: float) -> str:
    """Write a probability in percent, three digits of it."""
    return percent(float(f"{value:.3g}"))


def _short(measure: ClinicalMeasure, level: str = "") -> str:
    """Write a ratio with its interval in three digits."""
    ends = f" ({level}{measure.low:.3g} to {measure.high:.3g})" if np.isfinite(measure.interval).all() else ""
    return f"{measure.value:.3g}{ends}"


def _defined(value: float) -> str:
    return "not defined" if value != value else number(value)


def _ends(measure: ClinicalMeasure) -> str:
    return "" if measure.low != measure.low else ends_text(measure.interval)
