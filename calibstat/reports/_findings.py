"""What a report asks: every question once, by the functions that answer it alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import nan
from typing import Any, NamedTuple

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import part, track
from calibstat._text import shown, some_of
from calibstat.auditing.audit import GroupFinding, SubgroupAudit, subgroup_audit
from calibstat.auditing.groups import form_groups, look
from calibstat.auditing.scan import VariableScan, scan_variables
from calibstat.binnings.intervals import EqualMass
from calibstat.comparisons.recommend import recommend_calibrator
from calibstat.comparisons.results import CalibratorComparison
from calibstat.data.arrays import as_generator
from calibstat.data.parameters import LEVEL
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.cox import Cox, CoxFit, ObservedToExpected
from calibstat.estimators.panels import default_size
from calibstat.estimators.squared import ECE, DebiasedL2
from calibstat.estimators.walks import IntervalDeviation, Kuiper, WorstInterval
from calibstat.inference._parts import NO_ENDS
from calibstat.inference.compare_models import ModelComparison, compare_models
from calibstat.inference.direction import CLEAR, Direction, direction_of
from calibstat.inference.equivalence import EquivalenceTest, equivalence_test
from calibstat.inference.estimate import estimate
from calibstat.inference.intervals import Measure, NoInterval
from calibstat.inference.multiplicity import holm
from calibstat.inference.results import CalibrationTest, Estimate
from calibstat.inference.tails import at_smallest, far_below, tail_of
from calibstat.inference.test import calibration_test, recommended_test
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL, ClassWise, TopLabel
from calibstat.planning.families import ErrorFamily
from calibstat.planning.planning import MinimumDetectable, minimum_detectable

# With more classes, those that are predicted most are looked at one by one.
MOST_CLASSES = 30
# What takes long is done on so many rows, drawn at random without a look at any outcome.
MOST_ROWS = 50_000
# All probabilities together take so many numbers at most, in no fewer rows than these.
_MOST_NUMBERS, _FEWEST_ROWS = 1_000_000, 1000
_MOST_AT_999 = 40  # so many p-values of 999 redraws can still be rejected when they are adjusted together
_MOST_CELLS, _ROWS_OF_A_CELL = 15, 10
_ROWS_OF_A_GROUP, _MOST_LEFT_OUT = 50, 5
_STRONG = 0.01  # a p-value up to which evidence is not called "some"
_RUNS = 400  # of the search for the smallest error that is seen
_DRAWS_BEYOND = 5  # of noise, so many are expected beyond the end of an interval
_MEAN = ECE(EqualMass(1))  # the size of the difference of the two means
"""Its interval is the value plus and minus a width, so that the difference with its sign has the same width."""


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    by: tuple[str, ...] | None
    variables: tuple[str, ...] | None
    lens: Lens | None
    margin: float | None
    calibrators: Mapping[str, Any] | None
    rng: int | None
    level: float = LEVEL


@dataclass(frozen=True, eq=False)
class View:
    """What is found of one model through one lens.

    `difference` is the share that happened minus the mean prediction, with its interval; NaN, as are ratio and slope,
    where more than two outcomes are seen. `test.pvalue` is of the view by itself, `adjusted` over all views, and `tail`
    about how small that is where no redraw reaches it. `bound` is the upper bound of the test of a margin.
    """

    model: str
    name: str
    lens: Lens
    seen: Sample
    test: CalibrationTest
    size: Estimate
    direction: Direction | None
    mean: Estimate | None
    ratio: Measure | None
    cox: CoxFit | None
    adjusted: float
    tail: float | None = None
    in_part: int | None = None
    bound: float = 0.0

    @property
    def what(self) -> str:
        """Whose calibration it is: "P(yes)"."""
        return self.test.question.what

    @property
    def rejected(self) -> bool:
        """Whether there is evidence of an error at the level, over all views."""
        return self.adjusted <= self.test.level

    @property
    def strong(self) -> bool:
        """Whether the evidence is more than "some": by its p-value, or where redraws only bound that, by its tail."""
        return (self.adjusted if self.tail is None else self.tail) <= _STRONG

    @property
    def at_smallest(self) -> bool:
        """Whether the p-value is the smallest that so many redraws can give."""
        panel = self.test.panel
        return panel is not None and bool(at_smallest(panel.pvalue, panel.n_resamples))

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of the average error, as far as `bound` at least, the upper bound of the test of a margin."""
        interval = self.size.confidence_interval
        return None if interval is None else (float(interval.low), max(float(interval.high), self.bound))

    @property
    def beyond_noise(self) -> float:
        """The average error less what noise alone gives."""
        return float(self.size.headline or 0.0) - float(self.size.headline_null_mean or 0.0)

    @property
    def evidence(self) -> str:
        """What stands out from noise by more: the "mean", the "slope" (with and without extreme rows), or "" if none.

        The confidence in the predicted class errs in its mean, if that stands out.
        """
        direction = self.direction
        if direction is None:
            return ""
        mean = abs(direction.predicted - direction.happened) / direction.mean_error if direction.mean_error > 0 else 0.0
        slope = direction.steepness if direction.inclined() else 0.0
        if max(mean, slope) <= CLEAR:
            return ""
        of_top = isinstance(self.lens, TopLabel) or bool(self.seen.predictions.seen)
        return "mean" if mean >= slope or (of_top and mean > CLEAR) else "slope"

    @property
    def slope_rests_on_extremes(self) -> bool:
        """Whether the slope stands out from noise, but not to the same side without the most extreme rows."""
        found = self.direction
        return found is not None and abs(1 - found.slope) > CLEAR * found.slope_error and not found.inclined()

    @property
    def difference(self) -> float:
        """What happened minus what was predicted."""
        return nan if self.direction is None else self.direction.happened - self.direction.predicted

    @property
    def difference_ends(self) -> tuple[float, float] | None:
        """The interval of the difference; those of all views of a model hold together."""
        return with_sign(self.difference, self.mean and self.mean.estimate, self.mean and self.mean.confidence_interval)


def with_sign(difference: float, size: float | None, ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the interval of a difference from that of its size, whose upper end is the size plus the width.

    >>> with_sign(-0.5, 0.5, (0.25, 0.75))
    (-0.75, -0.25)
    >>> with_sign(-0.25, 0.25, (0.0, 0.5))
    (-0.5, 0.0)
    """
    if size is None or ends is None:
        return None
    width = ends[1] - size
    return float(difference - width), float(difference + width)


@dataclass(frozen=True, eq=False)
class Groups:
    """What is found in groups: an audit of any error along the prediction, and the size of the mean difference by name.

    The intervals of the sizes hold together (Bonferroni); of more than two outcomes there are none.
    """

    errors: SubgroupAudit
    means: Mapping[str, Estimate]

    def difference(self, group: GroupFinding) -> float:
        """Return what happened minus what was predicted; of more than two outcomes the error."""
        return group.mean_outcome - group.mean_prediction if self.means else group.statistic

    def ends(self, group: GroupFinding) -> tuple[float, float] | None:
        """Return the interval of the difference, or of the error."""
        if not self.means:
            return group.confidence_interval
        mean = self.means[group.name]
        return with_sign(self.difference(group), mean.estimate, mean.confidence_interval)

    def noise(self, group: GroupFinding) -> float:
        """Return what noise alone gives."""
        return float(self.means[group.name].headline_null_mean or 0.0) if self.means else group.null_mean


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a report tells."""

    samples: Mapping[str, Sample]
    options: Options
    views: Sequence[View]
    worst: IntervalDeviation | None
    worst_test: CalibrationTest | None
    groups: Groups | None
    not_grouped: str
    scan: VariableScan | None
    not_scanned: str
    models: ModelComparison | str | None
    calibrators: CalibratorComparison | str
    margin: EquivalenceTest | None
    detectable: MinimumDetectable | str
    detectable_rows: int

    @property
    def sample(self) -> Sample:
        """The sample of the model that the report is about, the first one."""
        return next(iter(self.samples.values()))

    @property
    def own(self) -> list[View]:
        """The views of the model that the report is about."""
        return [view for view in self.views if view.model == self.views[0].model]

    @property
    def main(self) -> View:
        """The view that the answer is about."""
        return self.views[0]

    @property
    def worst_tail(self) -> float | None:
        """About how small the p-value of the worst interval of predictions is, where no redraw reaches it."""
        test = self.worst_test
        if test is None or not test.n_resamples or not at_smallest(test.pvalue, test.n_resamples):
            return None
        tail = tail_of(Kuiper(), self.main.seen, float(test.statistic))
        return tail if far_below(tail, test.n_resamples) else None

    def through(self, view: View) -> Findings:
        """Return what is found through one lens of the model alone."""
        return replace(
            self, views=[view], worst=None, worst_test=None, groups=None, scan=None, models=None, calibrators="",
            margin=None,
        )  # fmt: skip

    @property
    def classes(self) -> list[View]:
        """The views of single classes."""
        return [view for view in self.own if isinstance(view.lens, ClassWise)]

    @property
    def results(self) -> list[Any]:
        """All results, for their citations."""
        found = [self.main.test, self.main.size, self.worst_test, self.scan, self.margin]
        audits = [] if self.groups is None else [self.groups.errors]
        others = [each for each in (self.models, self.calibrators, self.detectable) if not isinstance(each, str)]
        return [each for each in [*found, *audits, *others] if each is not None]


def ask(samples: Mapping[str, Sample], options: Options) -> Findings:
    """Ask every question, and report progress."""
    found: dict[str, Any] = {}
    steps, shares = _steps(samples, options, found), _shares(samples, options)
    for begin, end in pairwise(shares):
        with part(begin, end):
            next(steps)
    return Findings(samples=samples, options=options, **found)


def share_of_asking(samples: Mapping[str, Sample], options: Options) -> float:
    """Return about which share of the time goes by before all questions are answered; pictures take the rest."""
    return _shares(samples, options)[-1]


def _shares(samples: Mapping[str, Sample], options: Options) -> list[float]:
    """Return about which share of the time has gone by before each step, and after the last one."""
    sample = next(iter(samples.values()))
    n_views, two = len(lenses(sample, options.lens)) + len(samples) - 1, len(sample.labels) == 2
    views, where, models = 0.6 * n_views, 1.0 if options.by else 0.3, 0.2 * (len(samples) - 1)
    calibrators = 0.0 if options.calibrators == {} else 1.5 if two else 3.0
    steps = [views, where, models, calibrators, 5.0 if two else 2.5]
    pictures = 0.5 + 0.3 * n_views
    return [sum(steps[:k]) / (sum(steps) + pictures) for k in range(len(steps) + 1)]


def _steps(samples: Mapping[str, Sample], options: Options, found: dict[str, Any]) -> Iterator[None]:
    """Fill in what is found, and stop after each piece of work."""
    sample = next(iter(samples.values()))
    part = part_of(sample, options.rng)
    found["views"] = views = _views(samples, options)
    main = views[0]
    yield
    two = main.direction is not None
    found["worst"], found["worst_test"] = _worst(main, options) if two else (None, None)
    found["margin"] = margin = _within(main, options)
    if margin is not None:
        main = views[0] = replace(main, bound=margin.upper_bound)
    found["groups"], found["not_grouped"] = _groups(sample, main, options)
    found["scan"], found["not_scanned"] = _scan(sample, main, options)
    yield
    found["models"] = _compared(samples, main, options)
    yield
    found["calibrators"] = _calibrators(part, main, options)
    yield
    found["detectable"], found["detectable_rows"] = _detectable(part, main, options)
    yield


def part_of(sample: Sample, rng: int | None, most: int | None = None) -> Sample:
    """Return the sample, or where it is long so many of its rows, drawn without a look at any outcome."""
    most = MOST_ROWS if most is None else most
    if len(sample) <= most:
        return sample
    return sample.take(np.sort(as_generator(rng).choice(len(sample), most, replace=False)))


def most_rows(n_classes: int) -> int:
    """Return in how many rows all probabilities of so many classes are looked at together, which takes long.

    >>> most_rows(3), most_rows(100), most_rows(1000)
    (50000, 10000, 1000)
    """
    return min(MOST_ROWS, max(_FEWEST_ROWS, _MOST_NUMBERS // n_classes))


# Lens by lens.


def lenses(sample: Sample, asked: Lens | None) -> dict[str, Lens]:
    """Return the lenses by name: the one that was asked for, or those that suit the number of classes.

    >>> list(lenses(Sample([0, 1, 2], [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]), None))
    ['Top label', 'Class 0', 'Class 1', 'Class 2', 'All probabilities together']
    """
    if asked is not None:
        return {"": asked}
    if len(sample.labels) == 2:
        return {"": CANONICAL}
    share = sample.predictions.probabilities.mean(axis=0)
    often = sorted(np.argsort(-share, kind="stable")[:MOST_CLASSES])
    found: dict[str, Lens] = {"Top label": TopLabel()}
    for k in often:
        name = shown(f"Class {sample.labels[k]}")
        found[f"{name} (column {k + 1})" if name in found else name] = ClassWise(sample.labels[k])
    return found | {"All probabilities together": CANONICAL}


def _views(samples: Mapping[str, Sample], options: Options) -> list[View]:
    """Look at the first model through all lenses, and at the others through the first one; adjust over all views."""
    asked = lenses(next(iter(samples.values())), options.lens)
    first = next(iter(asked))
    questions = [(model, name) for k, model in enumerate(samples) for name in (asked if k == 0 else [first])]
    redraws = None if len(questions) <= _MOST_AT_999 else round(2 * len(questions) / options.level)
    how = _How(options.level / len(asked), redraws, options)
    found = [_view(model, name, samples[model], asked[name], how) for model, name in track(questions, len(questions))]
    adjusted = holm([view.test.pvalue for view in found])
    return [
        replace(view, adjusted=float(p), tail=_tail(view, len(found))) for view, p in zip(found, adjusted, strict=True)
    ]


def _tail(view: View, n_views: int) -> float | None:
    """Return about how small a p-value of one of several views is that no redraw reaches (Bonferroni)."""
    tail = None if view.test.panel is None else view.test.panel.tail
    return None if tail is None else min(1.0, n_views * tail)


def cells_for(seen: Sample) -> EqualMass:
    """Return 15 groups of rows with similar predictions, or fewer where each would have fewer than ten rows."""
    return EqualMass(min(_MOST_CELLS, max(1, len(seen) // _ROWS_OF_A_CELL)))


class _How(NamedTuple):
    """The level of each of several intervals that hold together, more redraws for many p-values, and options."""

    joint: float
    n_resamples: int | None
    options: Options


def _view(model: str, name: str, sample: Sample, lens: Lens, how: _How) -> View:
    joint, redraws, options = how
    seen = lens(sample)
    whole = len(seen)
    if seen.predictions.n_classes > 2:
        most = most_rows(seen.predictions.n_classes)
        seen, sample = part_of(seen, options.rng, most), part_of(sample, options.rng, most)
    two = seen.predictions.n_classes == 2
    size = ECE(cells_for(seen)) if two else default_size(seen.predictions.n_classes, len(seen))
    level, rng = options.level, options.rng
    mean = estimate(sample, lens | _MEAN, confidence_level=1 - joint, rng=rng) if two else None
    oe = estimate(sample, lens | ObservedToExpected(), confidence_level=1 - level, rng=rng) if two else None
    return View(
        model=model,
        name=name,
        lens=lens,
        seen=seen,
        test=recommended_test(sample, size, lens=lens, level=level, n_resamples=redraws, rng=rng),
        size=estimate(sample, lens | size, confidence_level=1 - level, rng=rng),
        direction=direction_of(seen),
        mean=mean,
        ratio=oe and Measure.of("oe", "O/E", float(oe.estimate), oe.confidence_interval or NO_ENDS, 1.0),
        cox=Cox(1 - level)(seen) if two else None,
        adjusted=nan,
        in_part=None if len(seen) == whole else len(seen),
    )


# Where it goes wrong.


def _worst(main: View, options: Options) -> tuple[IntervalDeviation | None, CalibrationTest]:
    test = calibration_test(main.seen, Kuiper(), level=options.level, rng=options.rng)
    found = WorstInterval()(main.seen)
    return (None if np.isnan(found.low) else found), test


def _groups(sample: Sample, main: View, options: Options) -> tuple[Groups | None, str]:
    """Audit the groups, or say why none was looked at."""
    if not options.by:
        return None, "No groups were named; name columns (by) to see for whom the model is off."
    looked, seen = look(sample, options.by, main.lens, EqualMass(4), "raise")
    formed, small = form_groups(looked, len(seen), 1, _ROWS_OF_A_GROUP)
    if len(formed) == 1:
        left = "; ".join(f"{shown(each.name)} {each.reason}" for each in small[:_MOST_LEFT_OUT])
        more = f"; and {len(small) - _MOST_LEFT_OUT} more" if len(small) > _MOST_LEFT_OUT else ""
        return None, f"No group was looked at: {left}{more}."
    two, level, rng = main.direction is not None, options.level, options.rng
    size: Estimator = Kuiper() if two else main.size.question.estimator.core
    errors = subgroup_audit(
        sample, options.by, lens=main.lens, estimator=size, level=level, confidence_level=1 - level,
        min_size=_ROWS_OF_A_GROUP, rng=rng,
    )  # fmt: skip
    if not two:
        return Groups(errors, {}), ""
    rows = {group.name: group.rows for group in formed}
    joint = level / len(errors)
    often = max(999, round(_DRAWS_BEYOND / joint))

    def mean(group: GroupFinding) -> Estimate:
        return estimate(seen.take(rows[group.name]), _MEAN, confidence_level=1 - joint, n_resamples=often, rng=rng)

    return Groups(errors, {group.name: mean(group) for group in track(errors.groups, len(errors))}), ""


def _scan(sample: Sample, main: View, options: Options) -> tuple[VariableScan | None, str]:
    """Scan the variables; of those that were asked for it is said why none can be scanned."""
    names = options.variables if options.variables is not None else options.by
    asked = names is not None
    names = tuple(sample.predictions.variables) if names is None else names
    if not names:
        return None, ""
    level = options.level
    try:
        scan = scan_variables(sample, names, lens=main.lens, level=level, confidence_level=1 - level, rng=options.rng)
    except ValueError as reason:
        return None, _why_not(names, str(reason)) if asked else ""
    return scan, ""


def _why_not(names: Sequence[str], reason: str) -> str:
    """Say why no variable was scanned: of too few events each is one cell, or the reason that is given.

    >>> _why_not(["sex"], "there is no variable to scan: sex has one level; pass others, or a smaller min_expected.")
    'Whether the error varies along sex is not known: sex has one level.'
    """
    along = f"whether the error varies along {some_of([shown(name) for name in names], 8)}"
    why = reason.rpartition("variable to scan: ")[2].partition("; pass others")[0]
    if "cannot be cut into two cells" in why:
        return f"There are too few events to tell {along}."
    return f"{along[:1].upper()}{along[1:]} is not known: {shown(why.rstrip('.'))}."


# What to do.


def _compared(samples: Mapping[str, Sample], main: View, options: Options) -> ModelComparison | str | None:
    """Compare the models, or say why such rows show no noise of a difference; None of a single model."""
    if len(samples) < 2:
        return None
    core: Any = main.size.question.estimator.core
    estimator = DebiasedL2(core.binning)
    try:
        return compare_models(
            samples, estimator, lens=main.lens, level=options.level, confidence_level=1 - options.level, rng=options.rng
        )
    except NoInterval as reason:
        return str(reason)


def _calibrators(part: Sample, main: View, options: Options) -> CalibratorComparison | str:
    """Compare calibrators, or say why that was not done; of calibrators that were asked for that is an error."""
    if options.calibrators is not None and not options.calibrators:
        return "no calibrator was to be tried"
    try:
        return recommend_calibrator(
            part, options.calibrators, lens=None if main.lens == CANONICAL else main.lens, level=options.level,
            confidence_level=1 - options.level, rng=options.rng,
        )  # fmt: skip
    except ValueError as reason:
        if options.calibrators is not None:
            raise
        return str(reason)


# How sure we are.


def _within(main: View, options: Options) -> EquivalenceTest | None:
    if options.margin is None:
        return None
    size = main.size.question.estimator.core
    return equivalence_test(
        main.seen, size, options.margin, level=options.level, confidence_level=1 - options.level, rng=options.rng
    )


def _detectable(part: Sample, main: View, options: Options) -> tuple[MinimumDetectable | str, int]:
    """Find the smallest error that so many rows would have shown, or say why that is not known."""
    seen = main.lens(part)
    if seen.predictions.n_classes != 2:
        return "more than two outcomes are seen at once", len(seen)
    if seen.groups is not None:
        return "rows come in clusters", len(seen)
    test = main.size.question.estimator.core
    family = ErrorFamily(seen.predictions.event, measure=ECE())
    try:
        return minimum_detectable(family, len(seen), test, n_repeats=_RUNS, level=options.level, rng=options.rng), len(
            seen
        )
    except ValueError as reason:
        return str(reason), len(seen)
