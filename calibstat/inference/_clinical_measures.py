"""The numbers of a clinical summary, each with an interval that covers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from calibstat._progress import track
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Expansion, all_weights, why_undefined
from calibstat.estimators.panels import ClinicalPanel
from calibstat.inference.differences import normal_interval
from calibstat.inference.estimate import interval_of, redrawn
from calibstat.inference.finite import chance_bounds
from calibstat.inference.intervals import NoInterval
from calibstat.lenses.restrict import Given
from calibstat.nulls.multiplier import Multiplier

NO_ENDS = (nan, nan)
HIDDEN = (
    "few rows of similar predictions have an event, or few have none: intervals of errors are wide, for the noise that "
    "such rows may hide"
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

    def short(self, level: str = "") -> str:
        """Write the value with its interval in three digits."""
        ends = f" ({level}{self.low:.3g} to {self.high:.3g})" if np.isfinite(self.interval).all() else ""
        return f"{self.value:.3g}{ends}"


class Clinic:
    """Two outcomes that are summarised, and the notes on what is not defined for them."""

    def __init__(
        self, panel: ClinicalPanel, seen: Sample, level: float, n_resamples: int, rng: np.random.Generator
    ) -> None:
        self.panel, self.seen, self.level, self.rng = panel, seen, level, rng
        self.multiplier = Multiplier(n_resamples)
        self.masses = all_weights(seen.predictions, None)
        self.happened = float(np.average(seen.outcomes, weights=self.masses))
        self.notes: list[str] = []

    def main(self) -> Iterator[ClinicalMeasure]:
        """Yield what is known at once: O/E, intercept, slope and C-index."""
        panel = self.panel
        fit: Any = panel.cox(self.seen)
        yield ClinicalMeasure.of("oe", "observed / expected (O/E)", *self._estimated(panel.oe), 1.0)
        large, slope = fit.intercept_in_the_large_interval, fit.slope_interval
        yield ClinicalMeasure.of("intercept", "intercept in the large", fit.intercept_in_the_large, large, 0.0)
        yield ClinicalMeasure.of("slope", "calibration slope", fit.slope, slope, 1.0)
        if not np.isfinite(fit.slope):
            self.notes.append(f"no calibration slope: {why_undefined(panel.cox)}")
        area, ends = self._estimated(panel.area)
        yield ClinicalMeasure.of("c_index", "C-index (AUC)", area, ends)
        if not np.isfinite(area):
            self.notes.append(f"no C-index: {why_undefined(panel.area)}")

    def accuracy(self) -> Iterator[ClinicalMeasure]:
        """Yield the Brier score, its parts, and its share of that of the prevalence."""
        panel = self.panel
        parts: Any = panel.parts(self.seen)
        yield ClinicalMeasure.of("brier", "Brier score", *self._estimated(panel.brier))
        yield ClinicalMeasure.of("reliability", "  reliability", parts.calibration, self._interval(panel.parts))
        yield ClinicalMeasure.of("resolution", "  resolution", parts.sharpness, self._resolution())
        yield ClinicalMeasure.of("uncertainty", "  uncertainty", parts.uncertainty, self._uncertainty())
        yield ClinicalMeasure.of("scaled_brier", "scaled Brier score", *self._scaled_brier())

    def errors(self) -> Iterator[ClinicalMeasure]:
        """Yield the errors of the smooth curve beside what noise alone gives; labels are redrawn once for all."""
        each, seen, rng = self.panel.errors, self.seen, self.rng
        prepared = {name: one.prepare(seen.predictions) for name, one in each.items()}
        noise = redrawn(each["ici"], seen, prepared["ici"], self.multiplier.n_resamples, None, rng).samples
        values = dict(zip(each, prepared["ici"](seen.outcomes).tolist(), strict=True))
        means = dict(zip(each, noise.mean(axis=0).tolist(), strict=True))
        found: dict[str, Any] = {}
        ends: dict[str, tuple[float, float]] = {}
        try:
            for name in track(("ici", "e90", "emax"), 3):
                drawn = noise[:, list(each).index(name)]
                found[name] = interval_of(each[name], seen, self.multiplier, drawn, rng)
            nearby = prepared["e50"].capabilities.nearby
            # noise of the same rows bounds both quantiles
            found["e50"] = replace(found["e90"], value=values["e50"], nearby=nearby and nearby(seen.outcomes))
            ends = {name: one.interval(self.level) for name, one in found.items()}
        except NoInterval as reason:
            self.notes.append(str(reason))
        if any(one.hidden for one in found.values()):
            self.notes.append(HIDDEN)
        for name, value in values.items():
            yield ClinicalMeasure.of(name, _ERRORS[name], value, ends.get(name, NO_ENDS), means[name])

    def _estimated(self, estimator: Estimator) -> tuple[float, tuple[float, float]]:
        value = float(estimator.headline(estimator.prepare(self.seen.predictions)(self.seen.outcomes)))
        return value, self._interval(estimator) if np.isfinite(value) else NO_ENDS

    def _interval(self, estimator: Estimator) -> tuple[float, float]:
        try:
            return interval_of(estimator, self.seen, self.multiplier, None, self.rng).interval(self.level)
        except NoInterval as reason:
            self.notes.append(str(reason))
            return NO_ENDS

    def _resolution(self) -> tuple[float, float]:
        """Bound the resolution: the squared error of the share of events, if predicted for every row, in the cells."""
        seen = self.seen
        cells = self.panel.parts.binning.cut(seen.predictions).index
        constant = Sample(
            seen.outcomes,
            np.full(len(seen), self.happened),
            variables={"cell": cells.astype(float)},
            sample_weight=seen.predictions.weights,
            labels=[0, 1],
        )
        try:
            found = interval_of(self.panel.in_cells, Given("cell")(constant), self.multiplier, None, self.rng)
            return found.interval(self.level)
        except NoInterval:  # the reliability has said why
            return NO_ENDS

    def _uncertainty(self) -> tuple[float, float]:
        """Bound the variance of an outcome by the shares of events that are not rejected, which holds at every n."""
        low, high = chance_bounds(self.seen, self.happened, (1 - self.level) / 2)
        ends = low * (1 - low), high * (1 - high)
        return min(ends), 0.25 if low <= 0.5 <= high else max(ends)

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
            found = normal_interval(self.panel.brier, self.seen, Expansion.known(1 - ratio, influence, slope))
        except NoInterval as reason:
            self.notes.append(str(reason))
            return 1 - ratio, NO_ENDS
        shown = float((influence**2).sum() ** 2 / ((influence**4).sum() or nan))
        law = replace(found, smallest=-np.inf, largest=1.0, on_range=False, freedom=np.fmin(found.freedom, shown))
        return 1 - ratio, law.interval(self.level)


_ERRORS = {
    "ici": "mean error (ICI)",
    "e50": "median error (E50)",
    "e90": "0.9 quantile (E90)",
    "emax": "largest error (Emax)",
}
