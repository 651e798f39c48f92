r"""The noise of the difference of two errors, at chances near those seen at which both errors are equal.

A standard error at the observed labels is too small just where few events, or none of the heavy rows, show their noise,
and then the difference looks large. So labels are redrawn under the hypothesis (as Storer & Kim 1990 do for two
shares): first chances are fitted to the labels, then they are moved until both models are equally wrong. Rows count by
their weights, labels of heavy rows are drawn one by one, and so the noise has the lumps that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from calibstat.data.arrays import Array, Floats, Ints, effective_rows
from calibstat.data.rounding import ROUNDING
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import replicate

# The smallest chance that is fitted: chances of zero could not be moved.
_SMALLEST = 1e-9
# How far chances are moved at most, in units of the logit; and the distances that are tried for different rows.
_FARTHEST = 64.0
_DISTANCES = 8 * np.sinh(np.linspace(-4, 4, 81)) / np.sinh(4)

Chances: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Erring:
    """One model, and its error as a function of labels or chances.

    `announced` (n, K) are its predictions, `cells` (n,) those in which chances are fitted, `weights` (n,) those of the
    rows and `outcomes` (n,) the labels. `error` takes labels (R, n) to values (R,), and `truth` chances (n, K) to their
    expectation without the part that noise adds; the latter moves with the chance of row i at the rate of its share of
    the weight times twice `residual(chances)` (n, K).
    """

    announced: Floats
    cells: Ints
    weights: Floats
    outcomes: Ints
    error: Callable[[Array], Floats]
    truth: Callable[[Floats], float]
    residual: Callable[[Floats], Floats]

    @property
    def share(self) -> Floats:
        """(n,) the share of each row in the total weight."""
        return self.weights / self.weights.sum()

    @property
    def happened(self) -> Floats:
        """(n, K) one in the column of the outcome."""
        return np.eye(self.announced.shape[1])[self.outcomes]

    def moves(self, chances: Floats) -> Floats:
        """(n,) what rows add to the error on average, less the error: its noise is that of drawing rows."""
        mean = self.residual(chances)
        row = ((2 * (chances - self.announced) - mean) * mean).sum(axis=1)
        if mean.shape[1] == 2:  # both columns tell the same
            row = row / 2
        return self.share * (row - self.share @ row)


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of the errors of two models, of the same rows if `paired`."""

    models: tuple[Erring, Erring]
    paired: bool

    def noise(self, n_resamples: int, rng: np.random.Generator, difference: float = 0.0) -> Floats:
        """Draw the noise (R,), were this the true difference: that of new labels, and of new rows."""
        first, second = self.models
        chances = self.chances(difference)
        gap = first.truth(chances[0]) - second.truth(chances[1])
        rows = [each.moves(known) for each, known in zip(self.models, chances, strict=True)]
        laws, n = [LabelLaw(known) for known in chances], [len(known) for known in chances]
        if self.paired:
            drawn = replicate(lambda y: first.error(y) - second.error(y), laws[0].draw, n_resamples, n[0], rng)
            # nearly equal models may differ by the rows alone, which chances cannot undo
            fitted = first.moves(self._fitted) - second.moves(self._fitted)
            variance = max(float(((rows[0] - rows[1]) ** 2).sum()), float((fitted**2).sum()))
        else:
            drawn = replicate(first.error, laws[0].draw, n_resamples, n[0], rng)
            drawn = drawn - replicate(second.error, laws[1].draw, n_resamples, n[1], rng)
            variance = float(sum((each**2).sum() for each in rows))
        return drawn - gap + np.sqrt(variance) * rng.standard_normal(n_resamples)

    def chances(self, difference: float = 0.0) -> Chances:
        """Return chances (n, K) for the rows of each model, near those seen, at which errors differ by this much."""
        if self.paired:
            found = _moved(self.models, self._fitted, difference)
            return found, found
        return _apart(self._paths, difference)

    @cached_property
    def _fitted(self) -> Floats:
        return _seen(self.models)

    @cached_property
    def _paths(self) -> tuple[_Path, _Path]:
        return _Path.of(self.models[0]), _Path.of(self.models[1])


def _seen(models: Sequence[Erring]) -> Floats:
    """Fit chances (n, K) to labels: the mean of the predictions, moved towards the shares of all rows and of cells.

    Shares of cells count only as far as they deviate by more than noise does, and of the same rows also that of all:
    the deviations that are left out are mostly noise, which would look like error.
    """
    weights, happened, n = models[0].weights, models[0].happened, len(models[0].weights)
    start = np.clip(np.mean([each.announced for each in models], axis=0), _SMALLEST, None)
    start = start / start.sum(axis=1, keepdims=True)
    whole = np.zeros(n, dtype=np.intp)
    share = (
        _shrunken(whole, weights, start, happened) if len(models) > 1 else (weights @ happened / weights.sum())[None]
    )
    start = _raked(start, weights, [(whole, share)])
    return _raked(start, weights, [(each.cells, _shrunken(each.cells, weights, start, happened)) for each in models])


def means_of_cells(cells: Ints, weights: Floats, columns: Floats) -> Floats:
    """(L, K) the weighted means of cells."""
    mass = np.bincount(cells, weights)
    sums = np.stack([np.bincount(cells, weights * each) for each in columns.T], axis=-1)
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


def _shrunken(cells: Ints, weights: Floats, chances: Floats, happened: Floats) -> Floats:
    """Return shares of outcomes (L, K), shrunk towards chances: wholly where they deviate as noise does.

    Noise may exceed its mean by two of its standard deviations (of a sum of L (K - 1) squares).
    """
    now, seen = (means_of_cells(cells, weights, each) for each in (chances, happened))
    mass = np.bincount(cells, weights)
    variance = np.bincount(cells, weights**2 * (chances * (1 - chances)).sum(axis=1))
    noise = float((variance / np.where(mass > 0, mass, 1.0)).sum())
    found = float(mass @ ((seen - now) ** 2).sum(axis=1))
    free = np.count_nonzero(mass) * (chances.shape[1] - 1)
    kept = max(0.0, 1 - (1 + 2 * np.sqrt(2 / free)) * noise / found) if found > 0 else 0.0
    return now + np.sqrt(kept) * (seen - now)


def _raked(chances: Floats, weights: Floats, targets: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Multiply odds by a factor for each cell, in turn, until means in cells are near their targets (L, K)."""
    for _ in range(6):
        for cells, target in targets:
            now = np.maximum(means_of_cells(cells, weights, chances), _SMALLEST)
            chances = chances * (np.maximum(target, _SMALLEST) / now)[cells]
            chances = chances / chances.sum(axis=1, keepdims=True)
    return chances


def _tilted(logs: Floats, direction: Floats) -> Floats:
    """Move logarithms of chances, and return chances (n, K)."""
    moved = logs + direction
    moved = np.exp(moved - moved.max(axis=1, keepdims=True))
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _logs(chances: Floats) -> Floats:
    return np.log(np.clip(chances, _SMALLEST, None))


def _moved(models: tuple[Erring, Erring], chances: Floats, difference: float) -> Floats:
    """Move the chances of common rows, all by the difference of the mean residuals, until the errors differ as asked.

    Of all moves this one changes the difference most for the information that it takes (an exponential family).
    """
    first, second = models

    def gap(known: Floats) -> float:
        return first.truth(known) - second.truth(known) - difference

    for _ in range(3):
        direction = first.residual(chances) - second.residual(chances)
        length = np.abs(direction).max(initial=0.0)
        logs, steps = _logs(chances), [0.0]
        gaps = [gap(_tilted(logs, 0 * logs))]
        if length <= ROUNDING or gaps[0] == 0:
            break
        direction = -np.sign(gaps[0]) * direction / length
        while gaps[-1] * gaps[0] > 0 and steps[-1] < _FARTHEST:
            steps.append(max(2 * steps[-1], 1 / 8))
            gaps.append(gap(_tilted(logs, steps[-1] * direction)))
        best = steps[int(np.argmin(np.abs(gaps)))]
        if gaps[-1] * gaps[0] <= 0:
            best = brentq(lambda size, d=direction: gap(_tilted(logs, size * d)), *steps[-2:], xtol=1e-6)  # noqa: B023
            return _tilted(logs, best * direction)
        chances = _tilted(logs, best * direction)
    return chances


def _apart(paths: tuple[_Path, _Path], difference: float) -> Chances:
    """Move the chances of different rows along a path for each model to the likeliest ones that differ as asked."""
    gaps = paths[0].errors[:, None] - paths[1].errors - difference
    crossed = np.sign(gaps[:, 1:]) != np.sign(gaps[:, :-1])
    part = np.where(crossed, gaps[:, :-1] / np.where(crossed, gaps[:, :-1] - gaps[:, 1:], 1.0), 0.0)
    costs = paths[0].costs[:, None] + (1 - part) * paths[1].costs[:-1] + part * paths[1].costs[1:]
    costs = np.where(crossed, costs, np.inf)
    if not crossed.any():  # no such chances: the nearest ones
        one, other = (float(k) for k in np.unravel_index(int(np.abs(gaps).argmin()), gaps.shape))
        return paths[0].at(one), paths[1].at(other)
    one, other = (int(k) for k in np.unravel_index(int(costs.argmin()), costs.shape))
    wanted = paths[0].errors[one] - difference
    place = brentq(lambda k: paths[1].model.truth(paths[1].at(k)) - wanted, other, other + 1, xtol=1e-6)
    return paths[0].at(one), paths[1].at(place)


@dataclass(frozen=True, eq=False)
class _Path:
    """Chances on the line of logits from the predictions through those seen, and beyond on both sides.

    For each of the distances there is the error, and what the chances lack in likelihood.
    """

    model: Erring
    logs: Floats
    direction: Floats
    errors: Floats
    costs: Floats

    @classmethod
    def of(cls, model: Erring) -> _Path:
        seen = _seen([model])
        logs = _logs(model.announced)
        direction = _logs(seen) - logs
        length = float(np.sqrt(model.share @ (direction**2).sum(axis=1)))
        if length <= ROUNDING:  # seen is what was announced: towards equal chances
            direction, length = -logs, float(np.sqrt(model.share @ (logs**2).sum(axis=1))) or 1.0
        direction = direction / length
        known = [_tilted(logs, step * direction) for step in _DISTANCES]
        lacking = [float(model.share @ (seen * (_logs(seen) - _logs(each))).sum(axis=1)) for each in known]
        errors = np.array([model.truth(each) for each in known])
        return cls(model, logs, direction, errors, effective_rows(model.weights) * np.array(lacking))

    def at(self, place: float) -> Floats:
        """Return the chances between two distances."""
        step = float(np.interp(place, np.arange(len(_DISTANCES)), _DISTANCES))
        return _tilted(self.logs, step * self.direction)
