r"""The noise of the difference of two errors, at chances near those seen at which both errors are equal.

A standard error at the observed labels is too small just where few events, or none of the heavy rows, show their noise,
and then the difference looks large. So labels are redrawn under the hypothesis (as Storer & Kim 1990 do for two
shares): first chances are fitted to the labels, then they are moved until both models are equally wrong. Models of the
same rows read the same drawn label: behind `TopLabel` each asks whether its own class happened, and chances are those
of pairs of answers (`Common`). Rows count by their weights, labels of heavy rows are drawn one by one, and so the noise
has the lumps that it has. Of many rows of two outcomes, without weights, those that are alike share their chances, and
their labels are drawn together (`AlikeRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import optimize
from calibstat.data.arrays import Array, Floats, Ints, effective_number
from calibstat.data.groups import Groups
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.draws.alike_rows import AlikeRows
from calibstat.draws.labels import ClusteredLabels, LabelLaw
from calibstat.draws.streams import replicate
from calibstat.estimators.base import all_weights
from calibstat.lenses.base import Lens, Listed, pushforward

# The smallest chance that is fitted: chances of zero could not be moved.
_SMALLEST = 1e-9
# How far chances are moved at most, in units of the logit; and the distances that are tried for different rows.
_FARTHEST = 64.0
_CLOSE = 1e-12  # how near to equal errors they are moved, so that what is drawn as it was seen counts as a tie
_DISTANCES = 8 * np.sinh(np.linspace(-4, 4, 81)) / np.sinh(4)

Chances: TypeAlias = tuple[Floats, Floats]
_Evaluate: TypeAlias = Callable[[Array], Floats]


@dataclass(frozen=True, eq=False)
class Common:
    """Pairs of what two models read in the same rows, where a lens such as `TopLabel` shows them different outcomes.

    For each model, `announced` (n, J) are the chances of the pairs by its prediction, above zero for possible ones, and
    `reads` (J, K) is one in the column of the outcome that it reads; `outcomes` (n,) are the pairs that happened.
    """

    announced: tuple[Floats, Floats]
    reads: tuple[Floats, Floats]
    outcomes: Ints

    @classmethod
    def of(cls, samples: tuple[Sample, Sample], lens: Lens) -> Common | None:
        """Look at the same rows of two models; return None if both read the same outcomes."""
        views = [lens.look(each.predictions) for each in samples]
        first, second = (each.codes for each in views)
        if first is None or second is None or np.array_equal(first, second):
            return None
        sizes = [each.predictions.n_classes for each in views]
        pairs = first.astype(np.min_scalar_type(sizes[0] * sizes[1])) * sizes[1] + second
        rows = slice(None) if views[0].rows is None else views[0].rows
        chances = (np.maximum(each.predictions.chances[rows], np.finfo(float).tiny) for each in samples)
        announced = [pushforward(pairs, each, sizes[0] * sizes[1]) for each in chances]
        known = np.flatnonzero(announced[0].any(axis=0))
        outcomes = np.searchsorted(known, Listed(pairs).of(samples[0].outcomes[rows]))
        reads = (np.eye(size)[each] for size, each in zip(sizes, np.divmod(known, sizes[1]), strict=True))
        return cls((announced[0][:, known], announced[1][:, known]), (next(reads), next(reads)), outcomes)

    @property
    def events(self) -> tuple[Ints, tuple[Floats, Floats], Floats]:
        """Return the pairs that happened, their chances by each model, and which (2, J) each reads as its event."""
        return self.outcomes, self.announced, np.stack([each[:, 1] for each in self.reads])


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a model, or groups of rows that are `alike`: n of either.

    `announced` (n, J) are the predictions, `cells` (n,) those in which chances are fitted, `weights` (n,) those of each
    row, `counts` (n,) how many rows each stands for, and `happened` (n, J) one in the column of the outcome. Groups
    have means of these, and `spread` (n,) is the variance of their predictions; `model` is which of theirs this is.
    Where a lens shows each of two models an outcome of its own, the J outcomes are pairs of theirs, and `reads` (J, K)
    is one in the column of what this model reads. Rows in clusters have `groups`.
    """

    announced: Floats
    cells: Ints
    weights: Floats
    counts: Floats
    happened: Floats
    spread: Floats
    alike: AlikeRows | None = None
    model: int = 0
    reads: Floats | None = None
    groups: Groups | None = None

    @classmethod
    def of(
        cls, seen: Sample, cells: Ints, alike: AlikeRows | None = None, model: int = 0, common: Common | None = None
    ) -> Rows:
        """Take the rows of a sample, which are in these cells, or its groups."""
        reads = None if common is None else common.reads[model]
        if alike is not None:
            ones, happened = np.ones(len(alike.rows)), alike.happened / alike.rows[:, None]
            spread, announced = alike.covariance[:, model, model], alike.announced[model]
            return cls(announced, alike.homes[model], ones, alike.rows, happened, spread, alike, model, reads)
        weights, ones = all_weights(seen.predictions, None), np.ones(len(seen))
        if common is not None:
            happened = np.eye(common.reads[model].shape[0])[common.outcomes]
            return cls(
                common.announced[model], cells, weights, ones, happened, 0 * ones, None, model, reads, seen.groups
            )
        happened = np.eye(seen.predictions.n_classes)[seen.outcomes]
        return cls(seen.predictions.chances, cells, weights, ones, happened, 0 * ones, groups=seen.groups)

    def own(self, columns: Floats) -> Floats:
        """Add up (n, J) over what the model reads alike: (n, K)."""
        return columns if self.reads is None else columns @ self.reads

    def along(self, residual: Floats) -> Floats:
        """Return numbers of what the model reads (n, K) for each outcome (n, J)."""
        return residual if self.reads is None else residual @ self.reads.T

    def outcomes(self, drawn: Array) -> Array:
        """Return what the model reads of drawn labels (R, n), or of sums of groups, which it reads as they are."""
        if self.reads is None or self.alike is not None:
            return drawn
        return self.reads.argmax(axis=1).astype(np.min_scalar_type(self.reads.shape[1])).take(drawn)

    @property
    def mass(self) -> Floats:
        """(n,) the weight of the rows that each stands for."""
        return self.weights * self.counts

    @property
    def share(self) -> Floats:
        """(n,) the share of each in the total weight."""
        return self.mass / self.mass.sum()

    def drawn(
        self, chances: Floats, seen: Floats, n_resamples: int, rng: np.random.Generator, evaluate: _Evaluate
    ) -> Floats:
        """Evaluate labels (R, n), or the sums that are drawn of groups, with chances (n, K): (R,).

        Those of a cluster depend on each other as much as the labels do, if these have the chances `seen`.
        """
        if self.groups is not None:
            labels = ClusteredLabels(seen, self.happened.argmax(axis=1), self.groups, self.weights)
            return labels.redrawn(evaluate, n_resamples, rng, chances, tail=0.5)
        if self.alike is None:
            return replicate(evaluate, LabelLaw(chances).draw, n_resamples, len(chances), rng)
        draw, numbers = self.alike.draw(chances)
        return replicate(evaluate, draw, n_resamples, numbers, rng)


@dataclass(frozen=True, eq=False)
class Erring:
    """One model, and its error as a function of what it reads, of labels or chances.

    `error` takes labels (R, n), or the sums that are drawn of groups, to values (R,), and `truth` chances (n, K) to
    their expectation without the part that noise adds; the latter moves with the chance of row i at the rate of its
    share of the weight times twice `residual(chances)` (n, K).
    """

    rows: Rows
    error: Callable[[Array], Floats]
    truth: Callable[[Floats], float]
    residual: Callable[[Floats], Floats]

    def moves(self, chances: Floats) -> Floats:
        """(n,) what rows, or clusters of them, add to the error on average, less the error: noise of drawing rows.

        For several rows it is the root of the sum of their squares.
        """
        mean, share = self.residual(chances), self.rows.share
        row = ((2 * self.rows.own(chances - self.rows.announced) - mean) * mean).sum(axis=1)
        if mean.shape[1] == 2:  # both columns tell the same
            row = row / 2
        moves = share / np.sqrt(self.rows.counts) * (row - share @ row)
        return moves if self.rows.groups is None else self.rows.groups.sums(moves)


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of the errors of two models, of the same rows if `paired`."""

    models: tuple[Erring, Erring]
    paired: bool

    def noise(self, n_resamples: int, rng: np.random.Generator, difference: float = 0.0) -> Floats:
        """Draw the noise (R,), were this the true difference: that of new labels, and of new rows."""
        first, second = self.models
        chances, seen = self.chances(difference), self._seen
        gap = first.truth(chances[0]) - second.truth(chances[1])
        variance = self._variance_of_rows(chances)
        if self.paired:
            drawn = first.rows.drawn(chances[0], seen[0], n_resamples, rng, lambda y: first.error(y) - second.error(y))
            # nearly equal models may differ by the rows alone, which chances cannot undo
            variance = max(variance, self._variance_of_rows(seen))
        else:
            drawn = first.rows.drawn(chances[0], seen[0], n_resamples, rng, first.error)
            drawn = drawn - second.rows.drawn(chances[1], seen[1], n_resamples, rng, second.error)
        return drawn - gap + np.sqrt(variance) * rng.standard_normal(n_resamples)

    def _variance_of_rows(self, chances: Chances) -> float:
        """Return the variance that drawing rows adds; in a group of rows, residuals vary as the predictions do."""
        pairs = [*zip(self.models, chances, strict=True)]
        rows = [each.moves(known) for each, known in pairs]
        pulls = [each.residual(known)[:, -1:] for each, known in pairs]
        if self.paired:
            rows, pulls = [rows[0] - rows[1]], [np.hstack([pulls[0], -pulls[1]])]
        groups = [each.rows.alike for each in self.models[: len(pulls)]]
        inside = [4 * each.variance_of_mean(pull) for each, pull in zip(groups, pulls, strict=True) if each is not None]
        return sum(float((each**2).sum()) for each in rows) + sum(inside)

    def chances(self, difference: float = 0.0) -> Chances:
        """Return chances (n, K) for the rows of each model, near those seen, at which errors differ by this much."""
        if self.paired:
            found = _moved(self.models, self._seen[0], difference)
            return found, found
        return _apart(self._paths, difference)

    @cached_property
    def _seen(self) -> Chances:
        if not self.paired:
            return self._paths[0].seen, self._paths[1].seen
        both = _seen([each.rows for each in self.models])
        return both, both

    @cached_property
    def _paths(self) -> tuple[_Path, _Path]:
        return _Path.of(self.models[0]), _Path.of(self.models[1])


def _seen(models: Sequence[Rows]) -> Floats:
    """Fit chances (n, K) to labels: the mean of the predictions, moved towards the shares of all rows and of cells.

    Shares of cells count only as far as they deviate by more than noise does, and of the same rows also that of all:
    the deviations that are left out are mostly noise, which would look like error.
    """
    happened, n = models[0].happened, len(models[0].weights)
    weights = models[0].mass
    squares = weights * models[0].weights
    start = np.mean([each.announced for each in models], axis=0)
    start = np.where((start > 0) | (models[0].reads is None), np.maximum(start, _SMALLEST), 0.0)
    start = start / start.sum(axis=1, keepdims=True)
    whole = np.zeros(n, dtype=np.intp)
    share = (
        _shrunken(whole, weights, squares, start, happened)
        if len(models) > 1
        else (weights @ happened / weights.sum())[None]
    )
    start = _raked(start, weights, [(whole, share, None)])
    targets = [
        (each.cells, _shrunken(each.cells, weights, squares, *map(each.own, (start, happened))), each)
        for each in models
    ]
    return _raked(start, weights, targets)


def means_of_cells(cells: Ints, weights: Floats, columns: Floats) -> Floats:
    """(L, K) the weighted means of cells."""
    mass = np.bincount(cells, weights)
    sums = np.stack([np.bincount(cells, weights * each) for each in columns.T], axis=-1)
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


def _shrunken(cells: Ints, weights: Floats, squares: Floats, chances: Floats, happened: Floats) -> Floats:
    """Return shares of outcomes (L, K), shrunk towards chances: wholly where they deviate no more than noise does."""
    now, seen = (means_of_cells(cells, weights, each) for each in (chances, happened))
    mass = np.bincount(cells, weights)
    variance = np.bincount(cells, squares * (chances * (1 - chances)).sum(axis=1))
    noise = float((variance / np.where(mass > 0, mass, 1.0)).sum())
    found = float(mass @ ((seen - now) ** 2).sum(axis=1))
    kept = max(0.0, 1 - noise / found) if found > 0 else 0.0
    return now + np.sqrt(kept) * (seen - now)


def _raked(chances: Floats, weights: Floats, targets: Sequence[tuple[Ints, Floats, Rows | None]]) -> Floats:
    """Multiply odds by a factor for each cell, in turn, until means in cells are near their targets (L, K).

    Targets are those of what a model reads, or of all outcomes.
    """
    for _ in range(6):
        for cells, target, model in targets:
            own = chances if model is None else model.own(chances)
            factor = np.maximum(target, _SMALLEST) / np.maximum(means_of_cells(cells, weights, own), _SMALLEST)
            chances = chances * (factor[cells] if model is None else model.along(factor[cells]))
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
        direction = first.rows.along(first.residual(chances)) - second.rows.along(second.residual(chances))
        length = np.abs(direction).max(initial=0.0)
        logs, steps = np.where(chances > 0, _logs(chances), -np.inf), [0.0]
        gaps = [gap(_tilted(logs, 0 * direction))]
        if length <= ROUNDING or gaps[0] == 0:
            break
        direction = -np.sign(gaps[0]) * direction / length
        # where the gap grows again, a farther root would need unlikely chances: another direction leads to a nearer one
        while gaps[-1] * gaps[0] > 0 and steps[-1] < _FARTHEST and abs(gaps[-1]) <= min(map(abs, gaps)):
            steps.append(max(2 * steps[-1], 1 / 8))
            gaps.append(gap(_tilted(logs, steps[-1] * direction)))
        best = steps[int(np.argmin(np.abs(gaps)))]
        if gaps[-1] * gaps[0] <= 0:
            best = optimize.brentq(_gap_along, *steps[-2:], (gap, logs, direction), xtol=_CLOSE)
            return _tilted(logs, best * direction)
        chances = _tilted(logs, best * direction)
    return chances


def _gap_along(size: float, gap: Callable[[Floats], float], logs: Floats, direction: Floats) -> float:
    """Return the gap after a move. Scipy keeps a function in a cycle, and so all that it holds, but not arguments."""
    return gap(_tilted(logs, size * direction))


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
    place = optimize.brentq(_beyond, other, other + 1, (paths[1], wanted), xtol=_CLOSE)
    return paths[0].at(one), paths[1].at(place)


@dataclass(frozen=True, eq=False)
class _Path:
    """Chances on the line of logits from the predictions through those seen, and beyond on both sides.

    For each of the distances there is the error, and what the chances lack in likelihood.
    """

    model: Erring
    seen: Floats
    logs: Floats
    direction: Floats
    errors: Floats
    costs: Floats

    @classmethod
    def of(cls, model: Erring) -> _Path:
        seen = _seen([model.rows])
        logs, share = _logs(model.rows.announced), model.rows.share
        direction = _logs(seen) - logs
        length = float(np.sqrt(share @ (direction**2).sum(axis=1)))
        if length <= ROUNDING:  # seen is what was announced: towards equal chances
            direction, length = -logs, float(np.sqrt(share @ (logs**2).sum(axis=1))) or 1.0
        direction = direction / length
        known = [_tilted(logs, step * direction) for step in _DISTANCES]
        lacking = [float(share @ (seen * (_logs(seen) - _logs(each))).sum(axis=1)) for each in known]
        errors = np.array([model.truth(each) for each in known])
        mass = model.rows.mass
        effective = float(effective_number(mass.sum(), mass @ model.rows.weights))
        return cls(model, seen, logs, direction, errors, effective * np.array(lacking))

    def at(self, place: float) -> Floats:
        """Return the chances between two distances."""
        step = float(np.interp(place, np.arange(len(_DISTANCES)), _DISTANCES))
        return _tilted(self.logs, step * self.direction)


def _beyond(place: float, path: _Path, wanted: float) -> float:
    """Return how much larger than wanted the error is there."""
    return path.model.truth(path.at(place)) - wanted
