"""Find where a simulated power curve crosses a given power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import part
from calibstat.data.arrays import Floats

_PILOT, _BATCH = 40, 50
_AROUND = (0.8, 1.25)
_NEAR = 3.0
_CLEARLY = 4.0
_Z95 = 1.959964
_DOUBT = 1e-3
_RIDGE = 1e-3
_DRAWN = 60


@dataclass(frozen=True)
class Points:
    """The simulated points of a power curve: places (m,), runs (m,) and rejections (m,)."""

    places: Floats
    runs: Floats
    rejections: Floats

    def add(self, place: float, runs: int, rejections: int) -> Points:
        """Return the points with one more."""
        return Points(np.append(self.places, place), np.append(self.runs, runs), np.append(self.rejections, rejections))

    def near(self, place: float) -> Points:
        """Return the points around a place, where the curve is nearly a probit line."""
        kept = (self.places > place / _NEAR) & (self.places < place * _NEAR)
        return Points(self.places[kept], self.runs[kept], self.rejections[kept])


@dataclass(frozen=True)
class PowerCurve:
    """A power curve around its crossing: places (m,), the power there with its 95 % Monte Carlo band (m,)."""

    places: Floats
    power: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Crossing:
    """Where the curve crosses, with a 95 % Monte Carlo interval; the standard error of the power there; all points."""

    place: float
    low: float
    high: float
    standard_error: float
    points: Points


@dataclass(frozen=True)
class Search:
    """Find where a curve crosses `power`: bracket it by doubling, then sharpen a probit line.

    Many tests have power Phi(b scale(x) - a) nearly: b is the signal of a unit of scale, which is the `root` of x
    (numbers of rows) or x itself (sizes of effects). The line is fitted to the points near the crossing, and every
    batch of runs, at least `n_repeats` in all, is simulated around the crossing found so far. With `whole`, places are
    whole numbers. Both ends are above zero; `short` is the message if the power is not reached at the high end, and may
    name place, share, runs and power.
    """

    power: float
    low: float
    high: float
    n_repeats: int
    root: bool
    whole: bool
    short: str = "the power at {place:.6g}, the largest, is {share:.2f} ({runs} runs), but {power:g} is wanted"

    def __call__(self, rejections: Callable[[float, int], int], start: float) -> Crossing:
        """Search from `start`; `rejections(place, runs)` simulates. A power not reached in the bounds is an error."""
        points = self._bracket(rejections, self._allowed(start))
        place = self._fit(points)[0]
        turn = 0
        while points.runs.sum() < self.n_repeats:
            at = self._allowed(place * _AROUND[turn % len(_AROUND)])
            points = self._simulated(rejections, points, at, _BATCH)
            place, turn = self._allowed(self._fit(self._near(points, place))[0]), turn + 1
        if self._allowed(place) >= self.high:
            points = self._simulated(rejections, points, place, self.n_repeats)
            self._refuse_if_short(points, place)
        return self._crossing(points, place)

    def _bracket(self, rejections: Callable[[float, int], int], start: float) -> Points:
        points, place = Points(np.empty(0), np.empty(0), np.empty(0)), start
        below = above = False
        while not (below and above):
            points = self._simulated(rejections, points, place, _PILOT)
            count = points.rejections[-1]
            enough = count / _PILOT >= self.power
            below, above = below or not enough, above or enough
            if not enough and place >= self.high:
                if count / _PILOT < self.power - _CLEARLY * self._pilot_error:
                    self._refuse_if_short(points, place)
                break
            if enough and place <= self.low:
                self._refuse_unless_near(points, place)
                break
            place = self._allowed(place / 2 if enough else place * 2)
        return points

    def _simulated(self, rejections: Callable[[float, int], int], points: Points, place: float, runs: int) -> Points:
        """Return the points with one more that is simulated now."""
        before = points.runs.sum()
        begin, end = (min(1.0, float(done) / self.n_repeats) for done in (before, before + runs))
        with part(begin, end):
            return points.add(place, runs, rejections(place, runs))

    @property
    def _pilot_error(self) -> float:
        return float(np.sqrt(self.power * (1 - self.power) / _PILOT))

    def _refuse_if_short(self, points: Points, place: float) -> None:
        there = points.places == place
        runs = int(points.runs[there].sum())
        share = float(points.rejections[there].sum()) / runs
        if share < self.power:
            raise ValueError(self.short.format(place=place, share=share, runs=runs, power=self.power))

    def _refuse_unless_near(self, points: Points, place: float) -> None:
        share = points.rejections[-1] / points.runs[-1]
        if abs(share - self.power) > 2 * self._pilot_error:
            raise ValueError(
                f"the power at {place:.6g}, the smallest that is tried, is already {share:.2f} ({_PILOT} runs), but "
                f"{self.power:g} is wanted: less is enough"
            )

    def _allowed(self, place: float) -> float:
        inside = min(max(place, self.low), self.high)
        return float(round(inside)) if self.whole else inside

    def _near(self, points: Points, place: float) -> Points:
        """Return the points around a place; around an end, of a place beyond it."""
        return points.near(min(max(place, self.low), self.high))

    def _scale(self, places: Floats) -> Floats:
        return np.sqrt(places) if self.root else places

    def _fit(self, points: Points) -> tuple[float, float, float]:
        """Return the crossing, its standard error on the scale, and the slope."""
        scale = self._scale(points.places)
        unit = float(scale.mean())
        line, covariance = probit_line(scale / unit, points.runs, points.rejections)
        slope = max(float(line[1]), 1e-6)
        crossing = (float(special.ndtri(self.power)) - float(line[0])) / slope
        gradient = np.array([1.0, crossing]) / slope
        error = float(np.sqrt(gradient @ covariance @ gradient))
        place = max(crossing, 0.0) * unit
        return (place**2 if self.root else place), error * unit, slope / unit

    def _crossing(self, points: Points, place: float) -> Crossing:
        _, error, slope = self._fit(points.near(place))
        middle = float(self._scale(np.array([place]))[0])
        ends = [max(middle - _Z95 * error, 0.0), middle + _Z95 * error]
        low, high = (end**2 if self.root else min(end, self.high) for end in ends)
        below, above = self._enclosed(points)
        place = min(max(place, below), above)
        low, high = min(max(low, below), place), max(min(high, above), place)
        density = float(np.exp(-(special.ndtri(self.power) ** 2) / 2) / np.sqrt(2 * np.pi))
        return Crossing(place, low, high, density * slope * error, points)

    def _enclosed(self, points: Points) -> tuple[float, float]:
        """Return between which places a rising curve crosses for certain; a line that is flat by chance tells none."""
        runs = points.runs.astype(int)
        above = special.bdtrc(points.rejections - 1, runs, self.power) < _DOUBT
        below = special.bdtr(points.rejections, runs, self.power) < _DOUBT
        return points.places[below].max(initial=self.low), points.places[above].min(initial=np.inf)


def power_curve(crossing: Crossing, root: bool) -> PowerCurve:
    """Return the probit line through the points around a crossing, as far as they reach; `root` as for `Search`."""
    near = crossing.points.near(crossing.place)
    scale = np.sqrt(near.places) if root else near.places
    unit = float(scale.max())
    line, covariance = probit_line(scale / unit, near.runs, near.rejections)
    drawn = np.linspace(float(scale.min()), unit, _DRAWN)
    design = np.column_stack([np.ones(_DRAWN), drawn / unit])
    middle, reach = design @ line, _Z95 * np.sqrt(((design @ covariance) * design).sum(axis=1))
    places = drawn**2 if root else drawn
    return PowerCurve(places, special.ndtr(middle), special.ndtr(middle - reach), special.ndtr(middle + reach))


def probit_line(scale: Floats, runs: Floats, rejections: Floats) -> tuple[Floats, Floats]:
    """Fit P(reject) = Phi(a + b scale) by Fisher scoring with a slight ridge; return (a, b) and their covariance."""
    design = np.column_stack([np.ones_like(scale), scale])
    line = np.zeros(2)
    for _ in range(50):
        linear = np.clip(design @ line, -8, 8)
        chance, density = special.ndtr(linear), np.exp(-(linear**2) / 2) / np.sqrt(2 * np.pi)
        weight = density**2 / np.exp(special.log_ndtr(linear) + special.log_ndtr(-linear))
        information = (design.T * (runs * weight)) @ design + _RIDGE * np.eye(2)
        score = design.T @ (weight / density * (rejections - runs * chance)) - _RIDGE * line
        step = np.linalg.solve(information, score)
        line = line + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return line, np.linalg.inv(information)
