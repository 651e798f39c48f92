"""The numbers of a clinical summary, each with an interval that covers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from calibstat._text import counted
from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Expansion, all_weights, why_undefined
from calibstat.estimators.panels import ClinicalPanel
from calibstat.inference._parts import NO_ENDS, parts_of
from calibstat.inference.differences import normal_interval
from calibstat.inference.estimate import interval_of, redrawn, refuse_few_clusters
from calibstat.inference.intervals import Measure, NoInterval

HIDDEN = (
    "few rows of similar predictions have an event, or few have none: intervals of errors are wide, for the noise that "
    "such rows may hide"
)


def events_of(seen: Sample) -> int:
    """Count the events in all rows."""
    return round(float((seen.predictions.multiplicity * seen.outcomes).sum()))


class Clinic:
    """Two outcomes that are summarised, and the notes on what is not defined for them."""

    def __init__(
        self, panel: ClinicalPanel, seen: Sample, level: float, n_resamples: int, rng: np.random.Generator
    ) -> None:
        self.panel, self.seen, self.level, self.n_resamples, self.rng = panel, seen, level, n_resamples, rng
        self.masses = all_weights(seen.predictions, None)
        self.happened = float(np.average(seen.outcomes, weights=self.masses))
        self.notes: list[str] = []

    def main(self) -> Iterator[Measure]:
        """Yield what is known at once: O/E, intercept, slope and C-index."""
        panel = self.panel
        fit: Any = panel.cox(self.seen)
        yield Measure.of("oe", "observed / expected (O/E)", *self._estimated(panel.oe), 1.0)
        large, slope = fit.intercept_in_the_large_interval, fit.slope_interval
        yield Measure.of("intercept", "intercept in the large", fit.intercept_in_the_large, large, 0.0)
        yield Measure.of("slope", "calibration slope", fit.slope, slope, 1.0)
        clusters = self.seen.predictions.clusters
        if clusters is not None and clusters.too_few and np.isfinite(fit.slope):
            self.notes.append(f"no intervals of intercept and slope: {clusters} are too few")
        if not np.isfinite(fit.slope):
            which = "slope" if np.isfinite(fit.intercept_in_the_large) else "slope and intercept"
            self.notes.append(f"no calibration {which}: {why_undefined(panel.cox)}")
        area, ends = self._estimated(panel.area)
        yield Measure.of("c_index", "C-index (AUC)", area, ends)
        if not np.isfinite(area):
            self.notes.append(f"no C-index: {why_undefined(panel.area)}")

    def accuracy(self) -> Iterator[Measure]:
        """Yield the Brier score, its parts, and its share of that of the prevalence."""
        found = self._parts(self.panel.parts)
        yield found["score"]._replace(name="brier")
        cells = f"  reliability ({counted(self.panel.parts.binning.n_bins, 'cell')})"  # type: ignore[attr-defined]
        yield found["calibration"]._replace(name="reliability", words=cells, expected=nan)
        yield found["sharpness"]._replace(name="resolution", words="  resolution")
        yield found["uncertainty"]
        yield Measure.of("scaled_brier", "scaled Brier score", *self._scaled_brier())

    def errors(self) -> Iterator[Measure]:
        """Yield the errors of the smooth curve beside what noise alone gives; labels are redrawn once for all."""
        core, seen = self.panel.errors, self.seen
        prepared = core.prepare(seen.predictions)
        noise = redrawn(core, seen, prepared, self.n_resamples, self.rng).samples
        yield from self._parts(core, noise).values()

    def _parts(self, core: Estimator, redraws: Floats | None = None) -> dict[str, Measure]:
        """Return the numbers of a record by name, and note what they lack."""
        evaluator = core.prepare(self.seen.predictions)
        found = parts_of(core, self.seen, evaluator, redraws, self.level, self.n_resamples, self.rng)
        self.notes += [*found.reasons, *([HIDDEN] if found.hidden and redraws is not None else [])]
        return {each.name: each for each in found.measures}

    def _estimated(self, estimator: Estimator) -> tuple[float, tuple[float, float]]:
        value = float(estimator.headline(estimator.prepare(self.seen.predictions)(self.seen.outcomes)))
        return value, self._interval(estimator) if np.isfinite(value) else NO_ENDS

    def _interval(self, estimator: Estimator) -> tuple[float, float]:
        try:
            return interval_of(estimator, self.seen, self.n_resamples, None, self.rng).interval(self.level)
        except NoInterval as reason:
            self.notes.append(str(reason))
            return NO_ENDS

    def _scaled_brier(self) -> tuple[float, tuple[float, float]]:
        """Return one minus the Brier score over that of the share of events, and its interval.

        Few rows carry its noise where events are rare. So its law is Student's, with as many degrees of freedom as the
        squares of the influences show (Satterthwaite 1946).
        """
        uncertainty = self.happened * (1 - self.happened)
        if uncertainty == 0:
            return NO_ENDS[0], NO_ENDS
        score: Any = self.panel.brier.prepare(self.seen.predictions).capabilities.expansion
        score = score(self.seen.outcomes)
        ratio, change = score.value / uncertainty, (1 - 2 * self.happened) * self.masses / self.masses.sum()
        influence = (ratio * change * (self.seen.outcomes - self.happened) - score.influence) / uncertainty
        slope = (ratio * change[:, None] - score.slope) / uncertainty
        try:
            refuse_few_clusters(self.seen)
            found = normal_interval(self.panel.brier, self.seen, Expansion.known(1 - ratio, influence, slope))
        except NoInterval as reason:
            self.notes.append(str(reason))
            return 1 - ratio, NO_ENDS
        each = influence if self.seen.groups is None else self.seen.groups.sums(influence)
        several = self.seen.predictions.multiplicity
        shown = float((each**2 / several).sum() ** 2 / ((each**4 / several**3).sum() or nan))
        law = replace(found, smallest=-np.inf, largest=1.0, on_range=False, freedom=np.fmin(found.freedom, shown))
        return 1 - ratio, law.interval(self.level)
