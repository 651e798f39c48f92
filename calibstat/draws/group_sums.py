"""Sums of noise over groups that overlap, drawn together at a cost that does not grow with the number of rows.

Rows lie in one of T steps, for example of the prediction, and in some of m groups. What a statistic of residuals needs
of each group is the sum of its residuals in each step. These sums are independent between steps, and in a step their
covariance is known: groups that share rows share the noise of these. They are drawn from the joint normal law with that
covariance. Rows of groups in which too little happens for a normal law (`scarce`) are drawn one by one and added, in
every group that they belong to. So each group has its noise, and the dependence between groups is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import sparse
from calibstat.data.arrays import Bools, Floats, Ints, effective_number, numbered_codes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Sums of a group are drawn from the normal law if it expects so many events, and as many non-events, in effect. The law
# of Kuiper's statistic of one such group is then within 0.01 of that of rows (tests/laws/test_doors.py).
ENOUGH = 200
# Added to correlations, so that sums which others determine (all rows, by the levels of a variable) have a root.
_RIDGE = 1e-9

Draw = Callable[[np.random.Generator, int, int], Floats]


def _added(keys: Ints, values: Floats, size: int) -> Floats:
    """Add up values (u,) by keys 0 to `size` - 1."""
    return np.bincount(keys, values, size).astype(float, copy=False)


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """Groups that share no rows: the group of each row (n,), 0 to `size` - 1, or `size` where it is in none."""

    codes: Ints
    size: int


@final
class Layout:
    """Where rows lie: in some groups of given partitions, m groups in all, and in one of T steps.

    Rows of one step that lie in the same groups are added up once, where that saves anything.
    """

    def __init__(self, partitions: Sequence[Partition], step: Ints | None = None, n_steps: int = 1) -> None:
        self.partitions, self.step, self.n_steps = partitions, step, n_steps
        sizes = [each.size for each in partitions]
        self.places = [slice(end - size, end) for end, size in zip(np.cumsum(sizes), sizes, strict=True)]
        self.size = sum(sizes)
        self.unit, self.keys = None, [each.codes for each in partitions]
        self.keys = [(np.zeros(len(self.keys[0]), dtype=np.intp) if step is None else step), *self.keys]
        shape = [n_steps, *(size + 1 for size in sizes)]
        if np.prod(shape, dtype=float) <= len(self.keys[0]):
            unit = self.keys[0]
            for codes, size in zip(self.keys[1:], shape[1:], strict=True):
                unit = unit * size + codes
            found, self.unit = numbered_codes(unit)
            self.keys = [*np.unravel_index(found, shape)]

    def in_steps(self, step: Ints, n_steps: int) -> Layout:
        """Return the same groups in the steps (n,) of rows."""
        return Layout(self.partitions, step, n_steps)

    def taken(self, rows: Ints) -> list[Partition]:
        """Return the partitions of rows in another order: those that lie alike are looked up once."""
        if self.unit is None:
            return [Partition(each.codes[rows], each.size) for each in self.partitions]
        unit = self.unit.astype(np.min_scalar_type(len(self.keys[0])))[rows].astype(np.intp)
        return [Partition(codes[unit], each.size) for codes, each in zip(self.keys[1:], self.partitions, strict=True)]

    def collapsed(self, values: Floats) -> Floats:
        """Add up values (n,) of rows that lie alike."""
        return values if self.unit is None else _added(self.unit, values, len(self.keys[0]))

    def sums(self, values: Floats) -> Floats:
        """Add up values (n,) in steps and groups: (T, m)."""
        return self._sums(self.collapsed(values))

    def _sums(self, values: Floats) -> Floats:
        return np.concatenate([self._table(values, (place,)) for place in range(len(self.partitions))], axis=1)

    def totals(self, values: Floats) -> Floats:
        """Add up values (n,) in groups (m,)."""
        return self.sums(values).sum(axis=0)

    def shares(self, values: Floats) -> Floats:
        """Return the share (n,) that each row has in the total of values (n,) of its group, summed over its groups."""
        total = self.totals(values)
        each = np.divide(1, total, out=np.zeros(self.size), where=total >= np.finfo(float).tiny)
        codes = zip(self.places, self.keys[1:], strict=True)
        factor = np.sum([np.append(each[place], 0.0)[own] for place, own in codes], axis=0)
        return values * (factor if self.unit is None else factor[self.unit])

    def products(self, values: Floats) -> Floats:
        """Add up values (n,) over the rows of each step that are in both of two groups: (T, m, m)."""
        values = self.collapsed(values)
        found = np.zeros((self.n_steps, self.size, self.size))
        np.einsum("tjj->tj", found)[:] = self._sums(values)
        for a, b in combinations(range(len(self.partitions)), 2):
            both = self._table(values, (a, b))
            found[:, self.places[a], self.places[b]] = both
            found[:, self.places[b], self.places[a]] = both.swapaxes(1, 2)
        return found

    def _table(self, values: Floats, which: tuple[int, ...]) -> Floats:
        """Add up values by step and the groups of some partitions; rows that are in none of these are left out."""
        key, shape = self.keys[0], [self.n_steps, *(self.partitions[each].size + 1 for each in which)]
        for each, size in zip(which, shape[1:], strict=True):
            key = key * size + self.keys[1 + each]
        table = _added(key, values, int(np.prod(shape))).reshape(shape)
        return table[(slice(None), *(slice(-1) for _ in which))]

    def _members(self) -> Iterator[tuple[slice, Ints]]:
        """Iterate over the places of the groups of each partition, and the group there of each row (n,)."""
        return zip(self.places, (each.codes for each in self.partitions), strict=True)

    def table_of(self, rows: Ints) -> csr_array:
        """Return the table (T * m, r) that adds up values of some rows in steps and groups."""
        cells, columns = [], []
        for place, codes in self._members():
            inside = np.flatnonzero(codes[rows] < place.stop - place.start)
            step = 0 if self.step is None else self.step[rows[inside]]
            cells.append(step * self.size + place.start + codes[rows[inside]])
            columns.append(inside)
        cell, column = np.concatenate(cells), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(cell)), (cell, column)), shape=(self.n_steps * self.size, len(rows)))

    def scarce(self, *sums: tuple[Floats, Floats]) -> Bools:
        """Return which rows (n,) are in a group that has too little for a normal law.

        Each of `sums` is a mass (n,) and another, such that the square of the sum of the first by the sum of the second
        is the number of equal rows that would be as good.
        """
        poor = np.zeros(self.size, dtype=bool)
        for each in sums:
            poor |= effective_number(*map(self.totals, each)) < ENOUGH
        found = np.zeros(len(self.partitions[0].codes), dtype=bool)
        for place, codes in self._members() if poor.any() else ():
            found |= np.append(poor[place], False)[codes]
        return found


def label_sums(
    layout: Layout, chance: Floats, weights: Floats | None, counts: Floats | None = None
) -> tuple[Draw, int]:
    """Return what draws sums of w (y - p) in steps and groups (R, T, m), labels y having their chances (n,).

    Each row may stand for several, `counts` (n,), that have its weight together. Beside it stands how many random
    numbers a replicate takes.
    """
    mass, square = _masses(chance, weights, counts)
    alone = layout.scarce(*((mass * each, square * each) for each in (chance, 1 - chance)))
    law = JointNormal.of(layout.products(np.where(alone, 0.0, square * chance * (1 - chance))))
    rows = np.flatnonzero(alone)
    table, chances, masses = layout.table_of(rows), chance[rows], mass[rows]
    several = None if counts is None else counts[rows].astype(np.int64)

    def draw(stream: np.random.Generator, size: int, kept: int) -> Floats:
        found = law.shaped(law.numbers(stream, size if len(rows) else kept)[:kept])
        if len(rows):
            happened = _shares(stream, size, chances, several)[:kept]
            found += _in_steps(table, masses * (happened - chances), found.shape)
        return found.swapaxes(0, 1)

    return draw, law.scale.size + len(rows)


def sign_sums(
    layout: Layout,
    residual: Floats,
    weights: Floats | None,
    centre: Ints | None = None,
    counts: Floats | None = None,
) -> tuple[Draw, int]:
    """Return what draws sums of w g r in steps and groups (R, T, m): residuals r (n,) times random signs g.

    With `centre` (m,), from the signs of each group the weighted mean of those of another group, or of its own, is
    subtracted. Each row may stand for several, as for `label_sums`, which have a sign each. Beside it stands how many
    random numbers a replicate takes.
    """
    mass, square = _masses(residual, weights, counts)
    spread = square * residual**2
    alone = layout.scarce((spread, spread**2 if counts is None else spread**2 / counts))
    law = JointNormal.of(layout.products(np.where(alone, 0.0, spread)))
    mean = None if centre is None else _MeanSigns.of(layout, law, residual, (mass, square), alone)
    rows = np.flatnonzero(alone)
    table, masses, weighed = layout.table_of(rows), mass[rows], (mass * residual)[rows]
    several = None if counts is None else counts[rows].astype(np.int64)

    def draw(stream: np.random.Generator, size: int, kept: int) -> Floats:
        drawn = stream.standard_normal((size if len(rows) else kept, law.scale.size + layout.size))[:kept]
        numbers, more = drawn[:, : law.scale.size], drawn[:, law.scale.size :]
        found = law.shaped(numbers.reshape(kept, *law.scale.shape))
        sums = np.zeros((kept, layout.size)) if mean is None else mean.given(numbers, more)
        if len(rows):
            positive = (
                stream.integers(0, 2, (size, len(rows))) if several is None else _shares(stream, size, 0.5, several)
            )
            signs = 2.0 * positive[:kept] - 1.0
            found += _in_steps(table, weighed * signs, found.shape)
            sums += _in_steps(table, masses * signs, found.shape).sum(axis=0)
        if mean is not None and centre is not None:
            found -= np.take(sums / mean.total, centre, axis=-1) * mean.residual[:, None]
        return found.swapaxes(0, 1)

    return draw, law.scale.size + layout.size + len(rows)


def _masses(values: Floats, weights: Floats | None, counts: Floats | None) -> tuple[Floats, Floats]:
    """Return the weight of each row, and the sum of the squared weights of the rows that it stands for."""
    mass = np.ones(len(values)) if weights is None else weights
    return mass, mass**2 if counts is None else mass**2 / counts


def _shares(stream: np.random.Generator, size: int, chances: Floats | float, several: Ints | None) -> Floats | Bools:
    """Draw the share (size, r) of the rows that each row stands for in which something of these chances happens."""
    if several is None:
        return stream.random((size, np.size(chances))) < chances
    return stream.binomial(several, chances, (size, len(several))) / several


def _in_steps(table: csr_array, values: Floats, shape: tuple[int, ...]) -> Floats:
    """Add up values (R, r) of rows by their table: (T, R, m)."""
    n_steps, _, size = shape
    return (table @ values.T).reshape(n_steps, size, -1).swapaxes(1, 2)


@final
@dataclass(frozen=True, eq=False)
class JointNormal:
    """Normal laws of m numbers, independent in T steps: standard deviations (T, m) and roots of correlations."""

    scale: Floats
    root: Floats

    @classmethod
    def of(cls, covariance: Floats) -> JointNormal:
        """Factorise covariances (T, m, m), some of whose numbers may be sums of others, or zero."""
        scale = np.sqrt(np.einsum("tjj->tj", covariance))
        by = np.where(scale > 0, scale, np.inf)
        correlation = covariance / by[:, :, None] / by[:, None, :]
        added = np.where(scale > 0, _RIDGE, 1.0)[:, :, None] * np.eye(scale.shape[1])
        return cls(scale, np.linalg.cholesky(correlation + added).astype(float, copy=False))

    @cached_property
    def matrices(self) -> Floats:
        """The matrices (T, m, m) that give standard normal rows this law."""
        return (self.root * self.scale[:, :, None]).swapaxes(1, 2)

    def numbers(self, stream: np.random.Generator, size: int) -> Floats:
        """Draw standard normal numbers (size, T, m)."""
        return stream.standard_normal((size, *self.scale.shape))

    def draw(self, stream: np.random.Generator, _size: int, kept: int) -> Floats:
        """Draw numbers of this law (kept, T, m): the first of a block of replicates."""
        return self.shaped(self.numbers(stream, kept)).swapaxes(0, 1)

    def shaped(self, numbers: Floats) -> Floats:
        """Give numbers (R, T, m) this law: (T, R, m)."""
        return numbers.swapaxes(0, 1) @ self.matrices


@final
@dataclass(frozen=True, eq=False)
class _MeanSigns:
    """The sums of w g in m groups, given the normal numbers that made the sums of w g r in their steps."""

    regression: Floats  # (T * m, m)
    left: JointNormal  # what these numbers do not determine, in one step
    total: Floats  # (m,), of the weights
    residual: Floats  # (T, m), sums of w r

    @classmethod
    def of(
        cls, layout: Layout, law: JointNormal, residual: Floats, masses: tuple[Floats, Floats], alone: Bools
    ) -> _MeanSigns:
        """Regress the signs of rows that are not drawn alone; `masses` are weights and sums of squared ones."""
        mass, square = masses
        inside = np.where(alone, 0.0, square)
        by = np.where(law.scale > 0, law.scale, np.inf)[:, :, None]
        regression = np.linalg.solve(law.root, layout.products(inside * residual) / by).astype(float, copy=False)
        flat = regression.reshape(-1, layout.size)
        left = layout.products(inside).sum(axis=0) - flat.T @ flat
        np.fill_diagonal(left, np.maximum(left.diagonal(), 0.0))
        sums = layout.sums(mass * residual)
        return cls(flat, JointNormal.of(left[None]), layout.totals(mass), sums)

    def given(self, numbers: Floats, more: Floats) -> Floats:
        """Return sums (R, m), given numbers (R, T * m) and as many more as there are groups (R, m)."""
        return numbers @ self.regression + self.left.shaped(more[:, None])[0]
