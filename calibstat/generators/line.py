"""Worlds of two classes in which the prediction has a density: quadrature along the log-odds of the event.

As functions of log-odds, densities are smooth even if those of the probabilities have poles at 0 and 1, and nodes
mirrored about 0 make the confidences of p and 1 - p exactly equal.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import Bools, Floats, Ints, two_columns
from calibstat.data.rounding import ROUNDING
from calibstat.estimators.base import all_weights
from calibstat.estimators.tally import ratio
from calibstat.generators._quadrature import Borders, critical_points, distinct, panels, population_on_cells
from calibstat.generators.base import Population, SyntheticModel, as_points, population_of
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical

# The grid is uniform in the middle and geometric beyond, where densities change little; exp(710) overflows.
_FAR = 8 * 1.15 ** np.arange(1, 33)
_WIDE = np.concatenate([np.arange(0, 8.25, 0.25), _FAR[_FAR < 700], [700]])


@dataclass(frozen=True)
class LineModel(SyntheticModel):
    """A model of two classes whose predictions have a density; subclasses give it in log-odds of the event."""

    @abstractmethod
    def density(self, log_odds: Floats) -> Floats:
        """Return the density (m,) of predictions at log-odds (m,), with respect to log-odds."""

    @abstractmethod
    def event_chance(self, log_odds: Floats) -> Floats:
        """Return the chance (m,) of the event where these log-odds are predicted."""

    @abstractmethod
    def borders(self) -> Floats:
        """Return log-odds that resolve the density, from its lower end to its upper one, and breaks."""

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The two labels."""
        return (0, 1)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay nodes, with panels bisected at kinks and extrema of the deviation and at the borders of cells."""
        known, ends = self._borders_of(lens), self._quantiles_of(lens, binning)
        return population_on_cells(lambda further: self._nodes(known, further), lens, binning, ends)

    def quantiles(self, levels: Floats) -> Population:
        """Return rows at quantiles of the event's probability."""
        odds = quantiles_of(self.density, self._base(), levels)
        return self._at(odds, np.ones(len(odds)))

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return chances as every synthetic model does, by the densities of the rows that induce each prediction."""
        given = np.asarray(probabilities, dtype=float)
        seen = Canonical() if lens is None else lens
        points = as_points(given, 2, seen)
        odds = np.clip(logit(points[:, 1]), -700, 700)
        both = self._both(odds)
        view = seen.look(both.predictions)
        chances = view.chances(both.chances)[:, 1]
        row = np.arange(2 * len(odds)) if view.rows is None else view.rows
        asked = row % len(odds)
        fits = np.abs(view.predictions.event - points[asked, 1]) < ROUNDING
        mass = np.where(fits, np.maximum(all_weights(view.predictions, None), 1e-300), 0.0)
        total = np.bincount(asked, mass, minlength=len(odds))
        happened = np.bincount(asked, mass * chances, minlength=len(odds))
        event = ratio(happened, total, empty=np.nan)
        return two_columns(event) if given.ndim == 2 else event

    @cached_property
    def _found_borders(self) -> dict[Lens, Floats]:
        """A cache of the borders without cells that were found for each lens, since every binning needs them."""
        return {}

    def _borders_of(self, lens: Lens) -> Floats:
        if lens not in self._found_borders:
            self._found_borders[lens] = self._with_kinks(lens)
        return self._found_borders[lens]

    def _quantiles_of(self, lens: Lens, binning: Binning | None) -> Borders:
        """Return the borders of cells of equal mass, and points so close on both sides that no search is needed."""
        if lens.parts or not isinstance(binning, EqualMass) or binning.n_bins == 1:
            return {}
        ends = self.quantiles(np.arange(1, binning.n_bins) / binning.n_bins).predictions.event
        gap = np.minimum(1e-10, np.minimum(ends, 1 - ends) / 2)
        return {...: np.concatenate([ends - gap, ends, ends + gap])}

    def _with_kinks(self, lens: Lens) -> Floats:
        base = self._base()
        nodes, _ = panels(base[base >= 0], 8)
        kinks = critical_points(lambda x: self._deviation(lens, x, 0), nodes)
        mirrored = critical_points(lambda x: self._deviation(lens, x, 1), nodes)
        return np.concatenate([base, kinks, -kinks, mirrored, -mirrored])

    def _base(self) -> Floats:
        """Lay borders, symmetric about 0, as far as the density reaches."""
        own = self.borders()
        reach = np.abs(own).max()
        fine = logit(np.arange(1, 64) / 64)
        half = np.abs(np.concatenate([own, _WIDE, fine, [reach]]))
        half = half[half <= reach]
        return distinct(np.concatenate([-half, [0.0], half]))

    def _nodes(self, known: Floats, further: Borders) -> Population:
        extra = logit(further.get(..., np.empty(0)))
        extra = extra[np.abs(extra) < np.abs(known).max()]
        half = distinct(np.abs(np.concatenate([known, extra, [0.0]])))
        positive, widths = panels(half)
        nodes, weights = np.concatenate([positive, -positive]), np.concatenate([widths, widths])
        mass = weights * self.density(nodes)
        kept = mass > 0
        return self._at(nodes[kept], mass[kept])

    def _at(self, nodes: Floats, mass: Floats) -> Population:
        # Both columns are computed from log-odds, since 1 - p would lose the digits of small probabilities.
        rows = np.stack([expit(-nodes), expit(nodes)])
        return population_of(
            rows.T,
            two_columns(self.event_chance(nodes)),
            mass,
            classes=self.classes,
            method=f"Gauss-Legendre quadrature, {len(nodes)} nodes (a maximum is over these)",
        )

    def _both(self, odds: Floats) -> Population:
        nodes = np.concatenate([odds, -odds])
        return self._at(nodes, self.density(nodes))

    def _deviation(self, lens: Lens, odds: Floats, side: int) -> Floats:
        """Return chance minus prediction of the induced event at `odds`, on `side` 0 or 1; zero outside a region."""
        rows = self._both(odds)
        view = lens.look(rows.predictions)
        kept = slice(None) if view.rows is None else view.rows
        table = np.zeros((3, 2 * len(odds)))
        table[0, kept] = view.chances(rows.chances)[:, 1] - view.predictions.event
        table[1, kept] = view.predictions.event
        table[2, kept] = all_weights(view.predictions, None)
        gaps, values, mass = table.reshape(3, 2, -1)
        total = mass.sum(axis=0)
        folded = (np.abs(values[0] - values[1]) < ROUNDING) & (mass > 0).all(axis=0)
        pooled = ratio((gaps * mass).sum(axis=0), total)
        return np.where(folded, pooled, gaps[side])


# Quantiles of predictions that have a density: their distribution function by quadrature, inverted by Newton steps.

_NODES = 4  # in each of 16 parts of a panel
_CLOSE = 1e-11  # log-odds, relative to their size where this is above one


def quantiles_of(density: Callable[[Floats], Floats], borders: Floats, levels: Floats) -> Floats:
    """Return quantiles (k,) at increasing levels (k,) in [0, 1] of a law on a line that the borders (b,) resolve."""
    parts = np.arange(16) / 16
    fine = np.append((borders[:-1, None] + np.diff(borders)[:, None] * parts).ravel(), borders[-1])
    nodes, widths = panels(fine, _NODES)
    below = np.concatenate([[0.0], np.cumsum((widths * density(nodes)).reshape(-1, _NODES).sum(axis=1))])
    asked = np.clip(levels, 0, 1) * below[-1]
    panel = np.clip(np.searchsorted(below, asked, side="right") - 1, 0, len(fine) - 2)
    points = _newton(density, fine, below, panel, asked)
    points[levels <= 0] = fine[np.argmax(below > 0) - 1] if below[-1] > 0 else fine[0]
    points[levels >= 1] = fine[np.searchsorted(below, below[-1])]
    return np.maximum.accumulate(points)


def _newton(density: Callable[[Floats], Floats], fine: Floats, below: Floats, panel: Ints, asked: Floats) -> Floats:
    """Solve F(x) = asked within panels; a step that leaves the bracket is replaced by bisection."""
    slopes = density(fine)
    found = _start(slopes, fine, below, panel, asked)
    open_ = np.arange(len(asked))
    if len(asked) > len(fine):
        open_ = np.flatnonzero(_is_rough(density, slopes, fine, below)[panel])
    panel, points = panel[open_], found[open_]
    left, low, high = fine[panel], fine[panel], fine[panel + 1]
    beyond = asked[open_] - below[panel]
    for _ in range(12):
        gap = _integral(density, left, points) - beyond
        low, high = np.where(gap < 0, points, low), np.where(gap > 0, points, high)
        slope = density(points)
        moved = points - ratio(gap, slope, empty=np.inf)
        inside = (moved >= low) & (moved <= high)
        moved = np.where(inside, moved, (low + high) / 2)
        found[open_] = moved
        # A Newton step of 1e-8 leaves an error of its square; a bisection has to be as small as the error.
        close = np.where(inside, 1e-8, ROUNDING) * np.maximum(1, np.abs(moved))
        still = np.flatnonzero(np.abs(moved - points) > close)
        if len(still) == 0:
            break
        open_, left, beyond = open_[still], left[still], beyond[still]
        low, high, points = low[still], high[still], moved[still]
    return found


def _is_rough(density: Callable[[Floats], Floats], slopes: Floats, fine: Floats, below: Floats) -> Bools:
    """Return of which panels the cubic of `_start` is off by more than rounding at its middle, where it is worst."""
    panel, half = np.arange(len(fine) - 1), np.diff(below) / 2
    middle = _start(slopes, fine, below, panel, below[:-1] + half)
    off = ratio(_integral(density, fine[:-1], middle) - half, density(middle), empty=np.inf)
    return ~(np.abs(off) <= _CLOSE * np.maximum(1, np.abs(middle)))


def _start(slopes: Floats, fine: Floats, below: Floats, panel: Ints, asked: Floats) -> Floats:
    """Interpolate the quantiles in each panel by a cubic with the right slopes at both ends, kept monotone."""
    widths, masses = np.diff(fine), np.diff(below)
    first, last = (
        np.minimum(ratio(masses, even, empty=3.0), 3) for even in (widths * slopes[:-1], widths * slopes[1:])
    )
    mass = masses[panel]
    share = ratio(asked - below[panel], mass)
    rest = 1 - share
    part = share**2 * (3 - 2 * share) + share * rest * (first[panel] * rest - last[panel] * share)
    return fine[panel] + part * widths[panel]


def _integral(density: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    unit, weights = panels(np.array([0.0, 1.0]), _NODES)
    widths = right - left
    nodes = left[:, None] + widths[:, None] * unit
    return density(nodes.ravel()).reshape(nodes.shape) @ weights * widths


# Sorted scores are drawn without sorting: a table of quantiles maps cumulated exponential spacings.

N_LEVELS = 65_536


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """Quantiles of the event's probability at 65 536 levels, with the chance of the event at each.

    The distribution function is exact at each level, so that its error is at most 1/65 536. `score` and `chance`, at
    the levels 0, 1/N, ..., 1, are both interpolated linearly, so that a calibrated model stays exactly calibrated.
    """

    score: Floats
    chance: Floats
    calibrated: bool

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """By how much the score and the chance grow from each level to the next."""
        return np.diff(self.score), np.diff(self.chance)

    def at(self, places: Floats) -> tuple[Floats, Floats]:
        """Return scores and chances at places (...,) in [0, N_LEVELS]."""
        level = np.floor(places)
        whole, part = level.astype(np.intp), np.subtract(places, level, out=level)
        score = _between(self.score, self.steps[0], whole, part)
        return score, score if self.calibrated else _between(self.chance, self.steps[1], whole, part)

    def draw_sorted(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Bools]:
        """Draw data sets (..., n): scores in increasing order, and whether each event happened."""
        *lanes, n = shape
        return self.in_order(rng.standard_exponential((*lanes, n + 1)), rng.random(shape))

    def in_order(self, spacings: Floats, uniforms: Floats) -> tuple[Floats, Bools]:
        """Turn exponential spacings (..., n + 1), which are overwritten, and uniform numbers (..., n) into data sets.

        The sums of the first spacings, over the sum of all, are uniform numbers in increasing order.
        """
        np.cumsum(spacings, axis=-1, out=spacings)
        places = spacings[..., :-1]
        places *= N_LEVELS / spacings[..., -1:]
        scores, chances = self.at(places)
        return scores, uniforms < chances


def quantile_table(model: SyntheticModel) -> QuantileTable:
    """Tabulate a model of two classes; a ValueError says that it does not know its quantiles."""
    rows = model.quantiles(np.arange(N_LEVELS + 1) / N_LEVELS)
    score, chance = rows.predictions.event.copy(), rows.chances[:, 1].copy()
    return QuantileTable(score, chance, bool(np.abs(score - chance).max() < 1e-15))


def _between(table: Floats, steps: Floats, whole: Ints, part: Floats) -> Floats:
    """Interpolate a table at whole levels and the part of the way to the next; the last level is the end."""
    found = steps.take(whole, mode="clip")  # faster than to check indices that are right
    found *= part
    found += table.take(whole, mode="clip")
    return found
