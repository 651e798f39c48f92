"""How well do predictions of an event agree with what happened? The summary of a clinical validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import NormalDist
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import bar_on_terminal, part
from calibstat._text import counted, percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.counted import MOST_WRITTEN_OUT
from calibstat.data.parameters import CONFIDENCE_LEVEL, check_share
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.panels import ClinicalPanel
from calibstat.inference._clinical_measures import Clinic, events_of
from calibstat.inference.arguments import check_sample, look_through, with_counts
from calibstat.inference.by_lens import one_lens
from calibstat.inference.clinical_groups import ClinicalGroups
from calibstat.inference.intervals import Measure
from calibstat.inference.results import Inquiry, Result, ends_text, number, pvalue_cell, small_pvalue
from calibstat.inference.test import calibration_test, events_note, fewest_rows, one_count
from calibstat.lenses.base import Lens

# With so much information in all predictions together, sum p (1 - p), the law of the belt's statistic is computed, as
# large samples have it, and no longer drawn.
_ENOUGH_INFORMATION = 500.0
# The belt is of rows one by one, of two columns: of more counted rows there is none.
_MOST_IN_BELT = MOST_WRITTEN_OUT // 2
# The share of the time in which models are fitted, and noise is drawn.
_FITTED, _DRAWN = 0.1, 0.8


def clinical_summary(
    sample: Sample,
    *,
    lens: Lens | None = None,
    by: str | Sequence[str] = (),
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ClinicalSummary:
    """Summarise calibration, discrimination and accuracy of predictions of an event, each with its interval.

    What a clinical validation reports (Van Calster et al. 2019; ``val.prob`` of Harrell's ``rms``): observed over
    expected events, calibration intercept in the large and slope, the error of a smooth calibration curve (`ICI`, E50,
    E90, Emax), the C-index (`AUC`), the Brier score with its reliability, resolution and uncertainty, the scaled Brier
    score (one minus the Brier score over the uncertainty: Kattan & Gerds 2018), and the test of the calibration belt.

    Intervals of O/E, C-index and Brier score are those of `estimate`; those of intercept and slope are Wald intervals
    of `Cox`, as of a logistic regression in R, which hold with few events too; those of errors are uniform, and hold at
    zero; that of the scaled Brier score is by the influence of each row, with Student's law. The test of the belt has a
    p-value and no interval: its statistic has no true value, and of the belt itself none is known to cover every curve.
    Each interval holds by itself with `confidence_level`, in rows that neither the model nor its calibration was fitted
    on.

    Parameters
    ----------
    sample : Sample
        Of two classes, the second of which is the event; or a `lens` leaves two.
    lens : Lens, optional
        Looked through before, for example ``ClassWise(2)``; by default ``TopLabel()`` for more than two classes, where
        the event is that the predicted class is right.
    by : str or sequence of str
        Names of variables of the sample: O/E, slope and C-index are given for each of their groups too. Numbers of more
        than ten values are cut into four groups of as many rows.
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
    Predictions are too high: 19.8 % predicted, 13.8 % happened (69 events in 500 rows), O/E 0.696 (95 %: 0.564 to \
0.859), slope 0.821 (0.537 to 1.1).
    >>> round(found["c_index"].value, 3)
    0.731
    """
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    check_sample(sample)
    lens = one_lens(sample, lens)
    question, seen = look_through(sample, ClinicalPanel.of(confidence_level).cox, lens, counted=True, labelled=True)
    rows, panel = lens(sample), ClinicalPanel.of(confidence_level, seen.predictions.n_rows)
    generator = as_generator(rng)
    groups = ClinicalGroups.of(seen, by, panel, confidence_level) if by else None
    clinic = Clinic(panel, seen, confidence_level, n_resamples, generator)
    with bar_on_terminal():
        with part(0.0, _FITTED):
            *main, area = clinic.main()
        with part(_FITTED, _DRAWN):
            measures = [*main, *clinic.errors(), area]
        with part(_DRAWN, 1.0):
            measures += clinic.accuracy()
            belt, pvalue = _belt(panel.belt, rows, n_resamples, generator)
    notes, average_pvalue = clinic.notes, calibration_test(seen, panel.mean, rng=generator).pvalue
    if one_count(rows):
        notes.insert(
            0, f"all predictions are equal: the exact test of the mean error has p {small_pvalue(average_pvalue)}"
        )
    elif belt is None:
        has = "needs single rows, of which there are too many" if len(rows) > _MOST_IN_BELT else "has no weights"
        notes.append(f"the calibration belt {has}, so that its test is left out")
    return ClinicalSummary(
        predicted=float(np.average(seen.predictions.event, weights=clinic.masses)),
        happened=clinic.happened,
        n_events=events_of(seen),
        measures={each.name: each for each in measures},
        average_pvalue=average_pvalue,
        belt=belt,
        belt_pvalue=pvalue,
        curve=panel.curve(seen),
        confidence_level=confidence_level,
        question=with_counts(question, seen, panel.parts.prepare(seen.predictions).capabilities),
        notes=events_note(fewest_rows(seen), of_error=False) + tuple(dict.fromkeys(notes)),
        groups=groups,
    )


def _belt(estimator: Estimator, seen: Sample, n_resamples: int, rng: np.random.Generator) -> tuple[Any, float | None]:
    """Return the belt and the p-value of its test, by redrawn labels or, for much information, as computed."""
    if seen.known.weights is not None or one_count(seen) or len(seen) > _MOST_IN_BELT:
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
    measures : dict of Measure
        With ``value``, ``low``, ``high`` and ``expected``.
        By name: oe, intercept, slope, ici, e50, e90, emax, c_index, brier, reliability, resolution, uncertainty,
        scaled_brier.
    average_pvalue : float
        The p-value of the mean error (`MeanCalibration`), which holds with any number of events.
    belt : Belt or None
        The calibration belt; None with weights, of too many counted rows, or where all predictions are equal.
    belt_pvalue : float or None
        The p-value of its test.
    curve : LocalCurve
        The smooth calibration curve whose errors are the ICI, E50, E90 and Emax.
    confidence_level : float
        Of each interval by itself.
    question : Inquiry
        Lens and number of rows.
    notes : tuple of str
        What limits the summary.
    groups : ClinicalGroups or None
        O/E, slope and C-index of each group of `by`.

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
    _spare_columns: ClassVar[tuple[int, ...]] = (3,)

    predicted: float
    happened: float
    n_events: int
    measures: Mapping[str, Measure]
    average_pvalue: float
    belt: Any
    belt_pvalue: float | None
    curve: Any
    confidence_level: float
    question: Inquiry
    notes: tuple[str, ...] = ()
    groups: ClinicalGroups | None = None

    def __getitem__(self, name: str) -> Measure:
        if name not in self.measures:
            raise KeyError(f"there is no measure {name!r}; the names are {', '.join(self.measures)}")
        return self.measures[name]

    @property
    def verdict(self) -> str:
        """One sentence: in which direction predictions err, with what was predicted, what happened, and the slope."""
        ratio, slope = self["oe"], self["slope"]
        which = self.question.direction
        none = "no slope, as some predictions are 0 or 1" if which and which.certain else "no slope"
        inclined = f"slope {slope.short()}" if np.isfinite(slope.value) else none
        clusters = "" if self.question.clusters is None else f" of {self.question.clusters}"
        return (
            f"{self.direction}: {_share(self.predicted)} predicted, {_share(self.happened)} happened "
            f"({counted(self.n_events, 'event')} in {counted(self.question.n, 'row')}{clusters}), "
            f"O/E {ratio.short(percent(self.confidence_level) + ': ')}, {inclined}."
        )

    @property
    def direction(self) -> str:
        """What the intervals of O/E (or else of the intercept in the large) and of the slope say, or else the belt.

        With few events intervals of O/E hold less often, so that the test of the mean error must reject too; it
        decides alone where all predictions are equal. What the slope says must hold without the most extreme rows too.
        """
        average, slope = self["oe"], self["slope"]
        if isnan(average.low):  # without expected events the ratio has no interval
            average = self["intercept"]
        found = []
        rejects = self.average_pvalue <= 1 - self.confidence_level
        if rejects and (average.excludes(average.expected) or (self.belt is None and isnan(slope.value))):
            found.append("too high" if average.value < average.expected else "too low")
        which = self.question.direction
        if slope.excludes(1.0) and which and which.inclined(_reach(self.confidence_level)):
            found.append("too extreme" if slope.value < 1 else "not extreme enough")
        if found:
            return f"Predictions are {' and '.join(found)}"
        none = "no evidence of an error on average" + (" or in slope" if np.isfinite(slope.value) else "")
        if self.belt_pvalue is not None and self.belt_pvalue <= 1 - self.confidence_level:
            return f"Predictions are off (calibration belt: p {pvalue_cell(self.belt_pvalue)}), with {none}"
        return none.capitalize() + ("" if self.belt is None else ", or by the calibration belt")

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
            "groups": None if self.groups is None else self.groups.to_dict()["groups"],
        }

    def _rows(self) -> list[dict[str, Any]]:
        names = ("value", "low", "high", "expected")
        return [
            {"measure": each.name} | {name: getattr(each, name) for name in names} for each in self.measures.values()
        ]

    def _table(self) -> list[list[str]]:
        rows = [[f"of {self.question.what}", "value", f"{percent(self.confidence_level)} interval", "if calibrated"]]
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

    def _notes(self) -> list[str]:
        groups = [] if self.groups is None else [f"{self.groups.verdict[:-1]}: print .groups"]
        asked, slope = self.question.direction, self["slope"]
        few = asked and slope.excludes(1.0) and not asked.inclined(_reach(self.confidence_level))
        return [
            *groups,
            *([f"the slope is not taken for an error: {asked.of_slope}"] if asked and few else []),
            *self.notes,
        ]

    def _details(self) -> list[tuple[str, str]]:
        lens = self.question.lens
        through = f" seen through {lens!r}" if lens.parts else ""
        level, asked = percent(self.confidence_level), self.question.direction
        alone = self.question.clusters is None
        return [
            *([("slope", asked.of_slope)] if asked and asked.of_slope else []),
            ("data", f"{self.question.rows}, {counted(self.n_events, 'event')}{through}; {self.question.source}"),
            ("intervals", f"each holds by itself with {level}; {_INTERVALS}{'' if alone else _IN_CLUSTERS}"),
        ]


_INTERVALS = (
    "intercept and slope: Wald; errors of the smooth curve: uniform, which holds at zero too; C-index: DeLong on the "
    "logit; Brier and scaled Brier score, and O/E: by the influence of each row; reliability and resolution: all "
    "values that are not rejected, in cells of as many rows each; the largest error is at least the mean one, but "
    "noise moves it by more, so that its interval, which holds by itself, may begin lower"
)
_IN_CLUSTERS = "; those of rows in clusters are by sums over clusters, with Student's law"


def _reach(confidence_level: float) -> float:
    """Return how many standard errors an interval reaches."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


def _share(value: float) -> str:
    """Write a probability in percent, three digits of it."""
    return percent(float(f"{value:.3g}"))


def _defined(value: float) -> str:
    return "not defined" if value != value else number(value)


def _ends(measure: Measure) -> str:
    return "" if measure.low != measure.low else ends_text(measure.interval)
