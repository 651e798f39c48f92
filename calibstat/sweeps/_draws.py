"""How the data set of a repeat is drawn: row by row, in sorted order, or as sums over cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass, EqualWidth, FixedEdges
from calibstat.data.arrays import Array, Bools, Floats, Ints
from calibstat.data.sample import Sample
from calibstat.draws.moments import Moments, PowerSums, degree_for, power_terms
from calibstat.estimators.tally import Tally, ratio
from calibstat.generators.base import SyntheticModel, population_of
from calibstat.generators.line import N_LEVELS, QuantileTable, quantile_table
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical

# Sums over cells drawn whole: the cost of a repeat does not grow with n.
#
# Numbers of rows and of events have their exact law (up to the table of quantiles, for cells of equal mass). Sums of
# predictions and of squared residuals, given these, are drawn as normal with the right means and covariance: a sum of
# k variables in a cell of width w is thereby moved by at most about w on average, whatever k is (Goldstein 2010).


class CellLaw:
    """What is known of the predictions of a model between any two borders.

    Parameters
    ----------
    model : SyntheticModel
        Of two classes; knows the quantiles of its predictions, all different.
    """

    def __init__(self, model: SyntheticModel) -> None:
        self.model = model
        self.table = quantile_table(model)
        if not (np.diff(self.table.score) > 0).all():
            raise ValueError(
                f"{model!r} has equal predictions (or such that floats cannot tell apart), which cells of equal mass "
                "keep together: take draws='rows'."
            )
        self._below: dict[int, Floats] = {}
        self._between: dict[tuple[bytes, int], Moments] = {}

    def draw(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats:
        """Draw sums below borders, (n_repeats, 4, borders), as `Cuts.sums` returns them for each data set."""
        ranks = len(cuts.ranks)
        sums = np.empty((n_repeats, 4, cuts.size))
        self._by_rank(cuts, sums[..., :ranks], rng)
        self._by_edge(cuts, sums[..., ranks:], rng)
        return sums

    def _by_edge(self, cuts: Cuts, sums: Floats, rng: np.random.Generator) -> None:
        """Draw cells between fixed edges: a multinomial over cells and outcomes."""
        law = self._between_edges(cuts)
        shares = np.concatenate([law.rows - law.events, law.events])
        counts = rng.multinomial(cuts.n, shares / shares.sum(), len(sums))
        happened = counts[:, len(law.rows) :]
        rows = counts[:, : len(law.rows)] + happened
        _run(sums, rows, happened, *law.draw(rows, happened, rng, cuts.squares))

    def _between_edges(self, cuts: Cuts) -> Moments:
        """Add up a population over each cell, by quadrature; the cells are the same for each n."""
        degree = degree_for(cuts.squares)
        key = cuts.edges.tobytes(), degree
        if key not in self._between:
            binning = FixedEdges(np.concatenate([[0.0], cuts.edges, [1.0]]))
            rows = self.model.population(Canonical(), binning)
            index, event = binning.cut(rows.predictions).index, rows.predictions.event
            mass = np.ones(len(rows)) if rows.predictions.weights is None else rows.predictions.weights
            terms = [mass, *(mass * term for term in power_terms(event, rows.chances[:, 1], degree))]
            sums = np.array([np.bincount(index, term, len(cuts.edges) + 1) for term in terms])
            self._between[key] = Moments.from_sums(PowerSums(sums, same=False))
        return self._between[key]

    def _by_rank(self, cuts: Cuts, sums: Floats, rng: np.random.Generator) -> None:
        """Draw cells between ranks: order statistics of uniform levels, then what lies between them.

        The row just below each inner border is at the border's level; the others are anywhere between two levels.
        """
        gaps = np.diff(cuts.ranks)
        last = np.arange(len(gaps)) == len(gaps) - 1
        places = np.zeros((len(sums), len(cuts.ranks)))
        np.cumsum(rng.standard_gamma(gaps + last, (len(sums), len(gaps))), axis=-1, out=places[:, 1:])
        places *= N_LEVELS / places[:, -1:]
        law = Moments.from_sums(self._between_places(places, degree_for(cuts.squares)))
        free = gaps - ~last
        happened = rng.binomial(free, np.minimum(ratio(law.events, law.rows), 1))
        prediction, square = law.draw(free, happened, rng, cuts.squares)
        score, chance = self.table.at(places[:, 1:-1])
        event = rng.random(score.shape) < chance
        happened[:, :-1] += event
        prediction[:, :-1] += score
        if cuts.squares:
            square[:, :-1] += (event - score) ** 2
        _run(sums, gaps, happened, prediction, square)

    def _between_places(self, places: Floats, degree: int) -> PowerSums:
        """Integrate between neighbouring places (lanes, borders) in [0, N_LEVELS], increasing in each lane."""
        if degree not in self._below:
            self._below[degree] = _integrals(self.table, degree)
        below = self._below[degree]
        whole = np.minimum(places.astype(np.intp), N_LEVELS - 1)
        low = below.take(whole, axis=0)
        step = below.take(whole + 1, axis=0)
        step -= low
        step *= (places - whole)[..., None]
        step += low
        between = np.diff(step, axis=1)
        return PowerSums(np.maximum(np.moveaxis(between, -1, 0), 0, order="C"), self.table.calibrated)


def _integrals(table: QuantileTable, degree: int) -> Floats:
    """Integrate the terms of `PowerSums` over levels below each level: (N_LEVELS + 1, k).

    Scores and chances are straight between levels (Simpson).
    """
    score, chance = table.score, table.score if table.calibrated else table.chance
    ends = [np.ones(len(score)), *power_terms(score, chance, degree)]
    middle = (score[1:] + score[:-1]) / 2
    inner = middle if table.calibrated else (chance[1:] + chance[:-1]) / 2
    middles = [np.ones(len(middle)), *power_terms(middle, inner, degree)]
    found = np.zeros((len(score), len(ends)))
    for column, (end, mid) in enumerate(zip(ends, middles, strict=True)):
        np.cumsum((end[:-1] + 4 * mid + end[1:]) / (6 * N_LEVELS), out=found[1:, column])
    return found


def _run(sums: Floats, rows: Array, happened: Array, prediction: Floats, square: Floats) -> None:
    """Add up cells (lanes, cells) to sums below borders (lanes, 4, borders)."""
    sums[..., 0] = 0
    for which, cells in ((COUNT, rows), (PREDICTED, prediction), (HAPPENED, happened)):
        np.cumsum(np.broadcast_to(cells, happened.shape), axis=-1, out=sums[:, which, 1:])
    if square.size:
        np.cumsum(square, axis=-1, out=sums[:, SQUARE, 1:])
    else:
        sums[:, SQUARE] = np.nan


class Drawn(ABC):
    """The data set of one repeat, shared by everything that is swept."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """All rows, in random order."""

    @abstractmethod
    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Return sums below borders as `Cuts.sums` does; None where they must be had in the usual way."""


class Way(ABC):
    """A way to draw from one model."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw a data set of n rows."""

    def draw_group(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats | None:  # noqa: ARG002
        """Draw sums below borders for several data sets at once: (n_repeats, 4, borders); None without such a way."""
        return None


@final
@dataclass(frozen=True, eq=False)
class Rows(Way):
    """The model's own random rows."""

    model: SyntheticModel

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw a sample."""
        return DrawnRows(self.model.sample(n, rng))


@final
class DrawnRows(Drawn):
    """A sample."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @property
    def sample(self) -> Sample:
        """The sample."""
        return self._sample

    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Look through the lens and sort, if rows of two outcomes without weights are seen."""
        seen = lens(self._sample) if lens.parts else self._sample
        predictions = seen.predictions
        if predictions.n_classes != 2 or predictions.weights is not None or predictions.given != (...,):
            return None
        if len(predictions) != cuts.n:
            return None
        event = predictions.event
        return cuts.sums(np.sort(event), np.sort(event[seen.outcomes == 1]))


@final
@dataclass(frozen=True, eq=False)
class SortedRows(Way):
    """Scores in increasing order from exponential spacings, through a table of quantiles."""

    table: QuantileTable
    classes: tuple[Any, ...]

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw sorted scores and what happened."""
        return DrawnSorted(*self.table.draw_sorted(n, rng), self.classes, rng)


@final
class DrawnSorted(Drawn):
    """Sorted scores; put into random order only if someone asks for rows."""

    def __init__(self, scores: Floats, happened: Bools, classes: tuple[Any, ...], rng: np.random.Generator) -> None:
        self.scores = scores
        self.happened = happened
        self.classes = classes
        self.rng = rng

    @cached_property
    def sample(self) -> Sample:
        """The rows, shuffled by what follows in the stream of the repeat."""
        order = self.rng.permutation(len(self.scores))
        rows = population_of(self.scores[order], self.scores[order], classes=self.classes)
        return Sample.of(rows.predictions, self.happened[order].astype(np.intp))

    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Look up the borders; sort only what is seen through a lens."""
        if lens.parts:
            return DrawnRows(self.sample).sums(lens, cuts)
        return cuts.sums(self.scores, self.scores[self.happened])


@final
@dataclass(frozen=True, eq=False)
class CellSums(Way):
    """Sums over cells, without rows."""

    law: CellLaw

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """There are no rows."""
        raise TypeError(f"draws='cells' draws sums over cells for groups of repeats, no data set of {n} rows ({rng}).")

    def draw_group(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats | None:
        """Draw sums below borders."""
        return self.law.draw(cuts, n_repeats, rng)


def ways(models: Mapping[str, SyntheticModel], draws: str) -> dict[str, Way]:
    """Return the way to draw from each model.

    Parameters
    ----------
    models : mapping of str to SyntheticModel
    draws : {"rows", "sorted", "cells"}

    Raises
    ------
    ValueError
        If there is no such way, or a model does not know the quantiles of its predictions.
    """
    if draws not in _MADE:
        raise ValueError(f"draws is {draws!r}, but it must be 'rows', 'sorted' or 'cells'.")
    return {name: _MADE[draws](model) for name, model in models.items()}


def _sorted_rows(model: SyntheticModel) -> Way:
    return SortedRows(quantile_table(model), model.quantiles(np.array([0.5])).predictions.classes)


_MADE: dict[str, Any] = {
    "rows": Rows,
    "sorted": _sorted_rows,
    "cells": lambda model: CellSums(CellLaw(model)),
}


# Cells for many numbers of bins from one sort: the borders of all are looked up at once, sums are differences.
#
# Values agree with the estimators' own up to rounding: the sum of a cell is a difference of sums over all rows below.

# What is summed over all rows below a border.
COUNT, PREDICTED, HAPPENED, SQUARE = range(4)


def is_nested(binning: Binning) -> bool:
    """Whether the cells of a binning are had from one sort."""
    return isinstance(binning, (EqualMass, EqualWidth))


class Cuts:
    """All borders that the equal-mass and equal-width cells of several binnings have in samples of n rows.

    Parameters
    ----------
    binnings : iterable of EqualMass and EqualWidth
    n : int
    squares : bool
        Whether squared residuals are asked for.

    Attributes
    ----------
    ranks : (r,) ints
        How many rows lie below each border of equal mass, with 0 and n.
    edges : (e,) floats
        The borders of equal width, without 0 and 1.
    """

    def __init__(self, binnings: Iterable[Binning], n: int, *, squares: bool = True) -> None:
        each = list(dict.fromkeys(binnings))
        groups = {binning: _equal_groups(n, binning.n_bins) for binning in each if isinstance(binning, EqualMass)}
        widths = {binning: _inner_edges(binning.n_bins) for binning in each if isinstance(binning, EqualWidth)}
        self.n = n
        self.squares = squares
        self.ranks = np.unique(np.concatenate([[0, n], *groups.values()])).astype(np.intp)
        self.edges = np.unique(np.concatenate([[], *widths.values()]))
        self.columns: dict[Binning, Ints] = {
            binning: np.searchsorted(self.ranks, borders) for binning, borders in groups.items()
        }
        first = len(self.ranks)
        for binning, inner in widths.items():
            place = np.searchsorted(self.edges, inner) + 1
            self.columns[binning] = first + np.concatenate([[0], place, [len(self.edges) + 1]])

    @property
    def size(self) -> int:
        """How many borders there are."""
        return len(self.ranks) + len(self.edges) + 2

    def sums(self, scores: Floats, events: Floats) -> tuple[Floats, Bools]:
        """Add up all rows below each border.

        Parameters
        ----------
        scores : (n,) increasing floats
            The event's probability.
        events : (m,) increasing floats
            Those of them to which the event happened.

        Returns
        -------
        sums : (4, r + 1 + e + 1) floats
            Of rows, predictions, events, and squared residuals (NaN unless asked for): below ranks, below 0, below
            edges, and of all.
        apart : (r,) booleans
            Whether the rows on both sides of a rank differ: equal scores would have to stay together.
        """
        inner = self.ranks[1:-1]
        firsts = scores[inner]
        count = np.concatenate([self.ranks, [0], np.searchsorted(scores, self.edges), [self.n]])
        happened = np.searchsorted(events, np.concatenate([[-1.0], firsts, [np.inf, -1.0], self.edges, [np.inf]]))
        sums = np.empty((4, len(count)))
        sums[COUNT], sums[HAPPENED] = count, happened
        sums[PREDICTED] = _running(scores)[count]
        if self.squares:  # (1 - p)^2 where it happened, p^2 elsewhere
            sums[SQUARE] = _running(scores**2)[count] - 2 * _running(events)[happened] + happened
        else:
            sums[SQUARE] = np.nan
        apart = np.ones(len(self.ranks), dtype=bool)
        apart[1:-1] = scores[inner - 1] < firsts
        return sums, apart

    def tally(self, binning: Binning, sums: Floats) -> Tally:
        """Return the sums over the cells of a binning, from sums (..., 4, borders) below borders."""
        cells = np.diff(np.take(sums, self.columns[binning], axis=-1))
        weight = cells[..., COUNT, :]
        return Tally(
            weight, cells[..., PREDICTED, :, None], cells[..., HAPPENED, :, None], weight, cells[..., SQUARE, :]
        )

    def serves(self, binning: Binning, apart: Bools) -> bool:
        """Whether no tie stands across a border of a binning."""
        return isinstance(binning, EqualWidth) or bool(apart[self.columns[binning]].all())


def _running(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, ..., n values."""
    found = np.empty(len(values) + 1)
    found[0] = 0
    np.cumsum(values, out=found[1:])
    return found


@lru_cache
def _inner_edges(n_bins: int) -> Floats:
    return np.linspace(0, 1, n_bins + 1)[1:-1]


@lru_cache
def _equal_groups(n: int, n_bins: int) -> Ints:
    """Return where the groups of numpy.array_split begin, and n; the first n % n_bins have one row more."""
    n_groups = min(n_bins, n)
    groups = np.arange(n_groups + 1)
    return groups * (n // n_groups) + np.minimum(groups, n % n_groups)
