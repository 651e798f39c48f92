r"""Sums over pairs of rows, :math:`\sum_{i \ne j} k(x_i, x_j)^m a_i a_j`, in three ways.

`LineSums` takes a recursion along a line, in O(n). `PanelSums` takes all pairs in tiles, so that the n x n matrix is
never held. `BlockSums` takes the pairs inside blocks of consecutive rows. Each takes many vectors a (classes,
replicates) and several bandwidths at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import combinations, combinations_with_replacement, islice
from typing import TypeAlias, final

import numpy as np

from calibstat._compiled import has_twin
from calibstat._progress import track
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints
from calibstat.data.rounding import above_rounding
from calibstat.estimators.base import NUMBERS_IN_A_BATCH, NUMBERS_IN_A_SMALL_BATCH
from calibstat.estimators.kernels import Kernel, scipy_gains

# Within a segment exponents stay below this: exp(300) squared times any realistic sum is below the largest float.
_LONGEST_SEGMENT = 300.0
# So many bandwidths away the kernel is zero in floats.
_FAR_APART = 1000.0
# Bandwidths below this are brought into the range where processors divide.
_SMALL = 1e-290
# Up to so many rows they are kept for further vectors.
_KEPT_LINE = 2**18
# So many vectors, on lines of at most so many rows, are multiplied by matrices, in blocks of so many rows: a cumulative
# sum takes longer, for each of its additions waits for the one before.
_MANY_VECTORS, _SHORT_LINE, _IN_A_BLOCK = 16, 4096, 16
_TILE = 512  # rows and columns of a tile: two megabytes, which stay in the cache of most processors
_KEPT_NUMBERS = 2**25  # kernel values kept between batches of replicates: a quarter of a gigabyte
_BLOCK_NUMBERS = 2**20

# Rows, exponentials of their distances from the first of them, the inverse of these, and the decay to the next segment.
Segment: TypeAlias = tuple[slice, Floats, Floats, float]


class PairSums(ABC):
    """Sums over pairs of different rows; `rows` are the rows of the sample in the sums, in their order."""

    rows: Ints
    n_bandwidths: int
    moved: bool = False
    """Whether `rows` are other than the first rows in their order."""
    shared: bool = False
    """Whether vectors that are passed together share costly work."""
    numbers: int = NUMBERS_IN_A_BATCH
    """How many numbers of vectors to pass at once."""

    @abstractmethod
    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums of vectors (C, n) with the kernel to a power, for each bandwidth: (J, C)."""

    @abstractmethod
    def apply(self, vectors: Floats) -> Floats:
        """Return the sums over j != i of k(x_i, x_j) a_j of vectors (C, n), for the first bandwidth: (C, n)."""

    def of_labels(self, labels: Array, chances: Floats) -> Floats:
        """Return the sums of <e_i, e_j>, e = onehot(y) - p, of labels (n,) and p (n, K), for each bandwidth: (J,)."""
        return self(_residuals(labels, chances)).sum(axis=1)

    def triangles(self, values: Floats) -> float | None:  # noqa: ARG002
        """Return the sum over three different rows of k_ij k_jk k_ki a_i a_j a_k, where it costs O(n); else None."""
        return None

    def pairs(self, weights: Floats) -> Floats:
        """Return the weight (R,) of all pairs, from weights (R, n); for a single row it is exactly zero."""
        whole = weights.sum(axis=-1) ** 2
        return above_rounding(whole - (weights**2).sum(axis=-1), whole)


def _residuals(labels: Array, chances: Floats) -> Floats:
    return (labels == np.arange(chances.shape[1])[:, None]) - chances.T


@final
class LineSums(PairSums):
    r"""The Laplace kernel along a line: sorted, :math:`s_i = e^{-(x_i - x_{i-1})/\gamma} (s_{i-1} + a_{i-1})`.

    The recursion is a cumulative sum of :math:`a_i e^{x_i/\gamma}`; the line is cut into segments in which the
    exponential does not overflow. Many vectors on a short line are multiplied by matrices in its place: one for the
    pairs inside each block of rows, and one for the pairs of blocks.
    """

    moved = True
    numbers = NUMBERS_IN_A_SMALL_BATCH

    def __init__(self, rows: Ints, values: Floats, bandwidths: tuple[float, ...]) -> None:
        self.rows = rows
        self.values = values[rows]
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)
        self._prepared: dict[float, list[Segment]] = {}
        self._blocks: dict[float, tuple[Floats, Floats]] = {}

    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums along the line: (J, C)."""
        if len(vectors) < _MANY_VECTORS or not 0 < len(self.values) <= _SHORT_LINE:
            return np.stack([self._one(vectors, bandwidth / power) for bandwidth in self.bandwidths])
        n_blocks = -(-len(self.values) // _IN_A_BLOCK)
        blocks = np.zeros((n_blocks, _IN_A_BLOCK, len(vectors)))
        blocks.reshape(-1, len(vectors))[: len(self.values)] = vectors.T
        return np.stack([self._of_blocks(blocks, bandwidth / power) for bandwidth in self.bandwidths])

    def _of_blocks(self, blocks: Floats, bandwidth: float) -> Floats:
        """Return the sums of vectors that are cut into m blocks of b rows, (m, b, C): (C,)."""
        if bandwidth not in self._blocks:
            self._blocks[bandwidth] = self._matrices(bandwidth, len(blocks))
        inside, between = self._blocks[bandwidth]
        products = inside @ blocks
        total = np.einsum("mbc,mbc->c", products[:, :_IN_A_BLOCK], blocks)
        total += np.einsum("mc,mc->c", between @ products[:, -2], products[:, -1])
        return 2 * total

    def _matrices(self, bandwidth: float, n_blocks: int) -> tuple[Floats, Floats]:
        """Return the kernel in each block, (m, b + 2, b), with that to its end and from its start; and between blocks.

        Both are zero unless the second row, or block, comes before the first.
        """
        values = np.full((n_blocks, _IN_A_BLOCK), self.values[-1])
        values.flat[: len(self.values)] = self.values
        starts, ends = values[:, :1], values[:, -1:]
        with np.errstate(over="ignore"):
            within = np.tril(np.exp(-np.abs(values[:, :, None] - values[:, None, :]) / bandwidth), k=-1)
            edges = np.exp(-np.stack([ends - values, values - starts], axis=1) / bandwidth)
            return np.concatenate([within, edges], axis=1), np.tril(np.exp(-np.abs(starts - ends.T) / bandwidth), k=-1)

    def _segments(self, bandwidth: float) -> Iterable[Segment]:
        """Return the segments of the line; those of a long one are computed anew each time."""
        if len(self.values) > _KEPT_LINE:
            return self._cut(bandwidth)
        if bandwidth not in self._prepared:
            self._prepared[bandwidth] = list(self._cut(bandwidth))
        return self._prepared[bandwidth]

    def _cut(self, bandwidth: float) -> Iterator[Segment]:
        """Yield segments of at most so many rows that they stay in the cache."""
        for first in range(0, len(self.values), ROWS_IN_CACHE):
            line = _positions(self.values[first : first + ROWS_IN_CACHE + 1], bandwidth)
            position, following = line[:ROWS_IN_CACHE], line[ROWS_IN_CACHE:]
            starts = np.append(0, np.flatnonzero(np.diff(np.floor(position / _LONGEST_SEGMENT))) + 1)
            stops = np.append(starts[1:], len(position))
            up = position - np.repeat(position[starts], stops - starts)
            np.exp(up, out=up)
            ends = np.append(position[starts[1:]], following if len(following) else np.inf)
            down, decay = 1 / up, np.exp(position[starts] - ends)
            for start, stop, left in zip(starts.tolist(), stops.tolist(), decay.tolist(), strict=True):
                yield slice(first + start, first + stop), up[start:stop], down[start:stop], left

    def _one(self, vectors: Floats, bandwidth: float) -> Floats:
        total, carry = np.zeros(len(vectors)), np.zeros(len(vectors))
        for rows, up, down, left in self._segments(bandwidth):
            lifted = vectors[:, rows] * up
            np.cumsum(lifted, axis=1, out=lifted)
            lowered = vectors[:, rows] * down
            if carry.any():
                total += carry * lowered.sum(axis=1)
            carry = (carry + lifted[:, -1]) * left
            total += np.einsum("ij,ij->i", lowered[:, 1:], lifted[:, :-1])
        return 2 * total

    def apply(self, vectors: Floats) -> Floats:
        """Return the sums over the rows before each, by the recursion, plus those after, by the reverse recursion."""
        mirrored = LineSums(np.arange(len(self.rows)), -self.values[::-1], self.bandwidths)
        return self._before(vectors) + mirrored._before(vectors[:, ::-1])[:, ::-1]

    def triangles(self, values: Floats) -> float:
        """Return the sum over triples; along a line k_ij k_jk = k_ik, so that the product is k_ik squared."""
        twice = LineSums(np.arange(len(self.rows)), self.values, (self.bandwidths[0] / 2,))
        pairs = twice._before(values[None]) * values
        return 6 * float((twice._before(pairs)[0] * values).sum())

    def _before(self, vectors: Floats) -> Floats:
        """Return the sums over all rows before each, for the first bandwidth: (C, n)."""
        found = np.zeros_like(vectors)
        carry = np.zeros(len(vectors))
        for rows, up, down, left in self._segments(self.bandwidths[0]):
            lifted = np.cumsum(vectors[:, rows] * up, axis=1)
            before = found[:, rows]
            before[:, 0] = carry
            before[:, 1:] = carry[:, None] + lifted[:, :-1]
            before *= down
            carry = (carry + lifted[:, -1]) * left
        return found


@final
class PanelSums(PairSums):
    """Any kernel over all pairs i < j: a matrix product for each tile of the upper half of the kernel's matrix."""

    shared = True
    numbers = 2**25  # a quarter of a gigabyte

    def __init__(self, kernel: Kernel, features: Floats, bandwidths: tuple[float, ...]) -> None:
        self.kernel = kernel
        self.features = features
        self.rows = np.arange(len(features))
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)
        self._kept: list[tuple[slice, slice, list[Floats]]] | None = None

    @has_twin("calibstat._fast.pairs:panel_sums")
    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums over all pairs: (J, C)."""
        total = np.zeros((self.n_bandwidths, len(vectors)))
        for first, second, tiles in self._tiles():
            left, right = vectors[:, first], vectors[:, second]
            for sums, tile in zip(total, tiles, strict=True):
                product = left @ (tile if power == 1 else tile**power)
                sums += np.einsum("ij,ij->i", product, right)
        return 2 * total

    @has_twin("calibstat._fast.pairs:sums_of_labels")
    def of_labels(self, labels: Array, chances: Floats) -> Floats:
        """Return the sums over all pairs: (J,)."""
        return self(_residuals(labels, chances)).sum(axis=1)

    def apply(self, vectors: Floats) -> Floats:
        """Return the sums over all other rows; each tile serves its rows and its columns."""
        found = np.zeros_like(vectors)
        for first, second, (tile, *_) in self._tiles():
            found[:, second] += vectors[:, first] @ tile
            found[:, first] += vectors[:, second] @ tile.T
        return found

    def _tiles(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        if len(self.features) ** 2 / 2 * self.n_bandwidths > _KEPT_NUMBERS:
            return self._made()
        if self._kept is None:
            self._kept = list(self._made())
        return track(self._kept, len(self._kept))

    def _made(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        """Yield kernel values of rows of `first` and of `second`, zero unless the first comes before the second."""
        n = len(self.features)
        scipy_gains(n * self.features.size / 2)  # in all tiles together
        starts = range(0, n, _TILE)
        for start in track(starts, len(starts)):
            first = slice(start, min(start + _TILE, n))
            for begin in range(start, n, _TILE):
                second = slice(begin, min(begin + _TILE, n))
                tiles = self.kernel.matrices(self.features[first], self.features[second], self.bandwidths)
                if begin == start:
                    tiles = [np.triu(tile, k=1) for tile in tiles]
                yield first, second, tiles


@final
class BlockSums(PairSums):
    """Any kernel over the pairs inside blocks of consecutive rows; a last partial block is left out."""

    def __init__(self, kernel: Kernel, features: Floats, bandwidths: tuple[float, ...], size: int) -> None:
        n = len(features)
        self.size = max(1, min(size, n))
        self.rows = np.arange(n // self.size * self.size)
        self.kernel = kernel
        self.features = features[self.rows].reshape(n // self.size, self.size, features.shape[1])
        self.bandwidths = bandwidths
        self.n_bandwidths = len(bandwidths)

    def __call__(self, vectors: Floats, power: int = 1) -> Floats:
        """Return the sums over pairs inside blocks: (J, C)."""
        total = np.zeros((self.n_bandwidths, len(vectors)))
        blocks = vectors.reshape(len(vectors), len(self.features), self.size).transpose(1, 0, 2)
        step = max(1, _BLOCK_NUMBERS // self.size**2)
        inner = np.arange(self.size)
        for start in range(0, len(blocks), step):
            some, rows = blocks[start : start + step], self.features[start : start + step]
            for sums, tile in zip(total, self.kernel.matrices(rows, rows, self.bandwidths), strict=True):
                tile **= power
                tile[:, inner, inner] = 0.0
                sums += ((some @ tile) * some).sum(axis=(0, 2))
        return total

    def apply(self, vectors: Floats) -> Floats:
        """Return the sums over the other rows of each block."""
        blocks = vectors.reshape(len(vectors), len(self.features), self.size).transpose(1, 0, 2)
        found, step, inner = np.empty_like(blocks), max(1, _BLOCK_NUMBERS // self.size**2), np.arange(self.size)
        for start in range(0, len(blocks), step):
            rows = self.features[start : start + step]
            tile = self.kernel.matrices(rows, rows, self.bandwidths[:1])[0]
            tile[:, inner, inner] = 0.0
            found[start : start + step] = blocks[start : start + step] @ tile
        return found.transpose(1, 0, 2).reshape(vectors.shape)

    def part(self, rows: slice) -> BlockSums:
        """Return the sums over the blocks that these rows form."""
        features = self.features[rows.start // self.size : rows.stop // self.size]
        return BlockSums(self.kernel, features.reshape(-1, features.shape[2]), self.bandwidths, self.size)

    def pairs_of_labels(self, chances: Floats, masses: Floats) -> Iterator[LabelPairs]:
        """Yield the pairs of rows at each pair of places in a block, with w_i w_j k_ij, for the first bandwidth."""
        rows, weights = chances.reshape(*self.features.shape[:2], -1), masses.reshape(self.features.shape[:2])
        for i, j in combinations(range(self.size), 2):
            near = self.kernel.matrices(self.features[:, [i]], self.features[:, [j]], self.bandwidths[:1])[0][:, 0, 0]
            yield LabelPairs(rows[:, i], rows[:, j], near * weights[:, i] * weights[:, j])

    def pairs(self, weights: Floats) -> Floats:
        """Return the weight of all pairs inside blocks."""
        blocks = weights.reshape(len(weights), len(self.features), self.size)
        whole = blocks.sum(axis=-1) ** 2
        return above_rounding(whole - (blocks**2).sum(axis=-1), whole).sum(axis=-1)


# The exact third cumulant of sums over pairs, :math:`S = \sum_{i \ne j} k_{ij} \langle e_i, e_j \rangle`.
#
# Given the predictions, e = onehot(y) - p has mean zero, covariance V and third moments M under calibration, and
#
# .. math:: \kappa_3(S) = 8 \operatorname{tr} H^3 + 4 \sum_{i \ne j} k_{ij}^3 \langle M_i, M_j \rangle, \qquad
#           H_{ij} = k_{ij} V_i^{1/2} V_j^{1/2}, \quad H_{ii} = 0
#
# The first part comes from the three pairs of three rows; the second, smaller by a factor of 1/n, from the same pair
# three times.

# H is written out up to this many rows; for more rows random probes estimate its trace.
_MOST_ROWS_OF_H = 1500
_MOST_NUMBERS = 2**22
# The kernel multiplies about so many columns at once: at least `_FEWEST_PROBES` probes of all classes.
_PROBE_COLUMNS = 256
_FEWEST_PROBES = 32
_COMPONENTS_AT_ONCE = 64
# With more classes the smaller part, of single pairs, is left out: it has K^3 / 6 components.
_MOST_CLASSES = 20


def _positions(values: Floats, bandwidth: float) -> Floats:
    """Return how many bandwidths values, from small to large, lie above the first; as far as it matters."""
    unit = 1.0 if bandwidth > _SMALL else 2.0**60  # processors do not divide by the smallest floats
    place, width = (values - values[0]) * unit, max(bandwidth, 5e-324) * unit  # half of the smallest float is none
    with np.errstate(over="ignore"):
        position: Floats = place / width
    if np.isinf(position[-1]):  # beyond the largest float: those that are this far apart have nothing in common
        position = np.append(0.0, np.cumsum(np.minimum(np.diff(place), _FAR_APART * width) / width))
    return position


def third_cumulant(chances: Floats, masses: Floats, sums: PairSums, rng: np.random.Generator) -> tuple[float, float]:
    """Return the third cumulant of the sums over pairs of w_i (onehot(y_i) - p_i), and its standard error.

    It takes chances (n, K), weights (n,) and the first bandwidth. `rng` draws the probes of a trace; blocks, a line
    with two classes and a small n K need none, and their standard error is zero.
    """
    trace, error = _trace(chances, masses, sums, rng)
    return 8 * trace + 4 * _single_pairs(chances, masses, sums), 8 * error


def _trace(chances: Floats, masses: Floats, sums: PairSums, rng: np.random.Generator) -> tuple[float, float]:
    """Return tr H^3, and its standard error."""
    n, n_classes = chances.shape
    if n_classes == 2 and (exact := sums.triangles(2 * chances.prod(axis=1) * masses**2)) is not None:
        return exact, 0.0
    size = (sums.size if isinstance(sums, BlockSums) else n) * n_classes
    if size <= _MOST_ROWS_OF_H:
        return _whole_trace(chances, masses, sums), 0.0
    n_probes = max(_FEWEST_PROBES, _PROBE_COLUMNS // n_classes)
    signs: Floats = 2.0 * rng.integers(0, 2, size=(n_probes, n, n_classes)).astype(float) - 1.0
    once = _apply(signs, chances, masses, sums)
    found = (once * _apply(once, chances, masses, sums)).sum(axis=(1, 2))
    return float(found.mean()), float(found.std(ddof=1)) / n_probes**0.5


def _whole_trace(chances: Floats, masses: Floats, sums: PairSums) -> float:
    """Return tr H^3 by writing out H, or its blocks side by side."""
    n, n_classes = chances.shape
    length = sums.size if isinstance(sums, BlockSums) else n
    size, total = length * n_classes, 0.0
    if length <= 2:  # there are no three different rows
        return total
    unit = np.eye(size).reshape(size, 1, length, n_classes)
    step = max(1, _MOST_NUMBERS // size**2) * length
    for start in range(0, n, step):
        part = slice(start, start + step)
        some = sums.part(part) if isinstance(sums, BlockSums) else sums
        vectors = np.broadcast_to(unit, (size, len(chances[part]) // length, length, n_classes))
        whole = _apply(vectors.reshape(size, -1, n_classes), chances[part], masses[part], some)
        blocks = whole.reshape(size, -1, size).swapaxes(0, 1)
        total += float(((blocks @ blocks) * blocks).sum())
    return total


def _apply(vectors: Floats, chances: Floats, masses: Floats, sums: PairSums) -> Floats:
    """Multiply vectors (m, n, K) by H, with F = diag(sqrt p) - p sqrt(p)', F F' = V, for the root of V."""
    root, mass = np.sqrt(chances), masses[:, None]
    spread = mass * (root * vectors - chances * (root * vectors).sum(axis=-1, keepdims=True))
    columns = np.moveaxis(spread, -1, 1).reshape(-1, len(chances))
    mixed = np.moveaxis(sums.apply(columns).reshape(len(vectors), -1, len(chances)), 1, -1)
    return mass * root * (mixed - (chances * mixed).sum(axis=-1, keepdims=True))


def _single_pairs(chances: Floats, masses: Floats, sums: PairSums) -> float:
    """Return the sum over pairs of k^3 <M_i, M_j>."""
    n_classes = chances.shape[1]
    if isinstance(sums, BlockSums):
        return 2 * sum(pairs.third() for pairs in sums.pairs_of_labels(chances, masses))
    if n_classes > _MOST_CLASSES:
        return 0.0
    columns = chances.T
    if n_classes == 2:
        third = np.sqrt(8.0) * chances.prod(axis=1) * (columns[0] - columns[1]) * masses**3
        return float(sums(third[None], 3)[0, 0])
    total, triples = 0.0, combinations_with_replacement(range(n_classes), 3)
    while some := list(islice(triples, _COMPONENTS_AT_ONCE)):
        moments = np.stack([_third_moment(columns, triple) for triple in some]) * masses**3
        times = np.array([(6, 3, 1)[3 - len(set(triple))] for triple in some])
        total += float(times @ sums(moments, 3)[0])
    return total


def _third_moment(columns: Floats, triple: tuple[int, int, int]) -> Floats:
    """Return E e_a e_b e_c (n,) for a <= b <= c."""
    first, second, third = (columns[code] for code in triple)
    if triple[0] == triple[2]:
        return first * (1 - first) * (1 - 2 * first)
    if triple[0] == triple[1]:
        return -first * third * (1 - 2 * first)
    if triple[1] == triple[2]:
        return -first * second * (1 - 2 * second)
    return 2 * first * second * third


@final
class LabelPairs:
    """The sum of <e, f> times a scale (m,) over m independent pairs of labels, with laws p and q (m, K).

    With c = <p, q>, the product of labels a and b is c - q_a - p_b, plus one if a = b. Its moments therefore come from
    two independent numbers and the diagonal, in O(K).
    """

    def __init__(self, p: Floats, q: Floats, scale: Floats) -> None:
        self.p, self.q, self.scale = p, q, scale
        largest = float(np.abs(scale).max(initial=1e-300))
        # Below this range, digits of certain pairs cancel; above it, exponents of 600 come near the largest float.
        self.reach = -15 / largest, 300 / largest
        self.both = p * q
        self.common = self.both.sum(axis=1)

    def third(self) -> float:
        """Return the sum of scale^3 E <e, f>^3."""
        c = self.common
        alone = -(c**3)
        for law, values in ((self.p, self.q), (self.q, self.p)):
            gaps = values - c[:, None]
            alone -= 3 * c * (law * gaps**2).sum(axis=1) + (law * gaps**3).sum(axis=1)
        x = c[:, None] - self.p - self.q
        return float((self.scale**3 * (alone + (self.both * (1 + 3 * x + 3 * x**2)).sum(axis=1))).sum())

    def cumulants(self, t: float) -> tuple[float, float, float]:
        """Return the cumulant function at t, and its first two derivatives."""
        s, c = t * self.scale, self.common
        first, second = (self._moments(law, values, s) for law, values in ((self.p, self.q), (self.q, self.p)))
        lift = np.exp(s * c)
        parts = [
            lift * first[0] * second[0],
            lift * (c * first[0] * second[0] + first[1] * second[0] + first[0] * second[1]),
            lift
            * (
                c**2 * first[0] * second[0]
                + 2 * c * (first[1] * second[0] + first[0] * second[1])
                + first[2] * second[0]
                + 2 * first[1] * second[1]
                + first[0] * second[2]
            ),
        ]
        x = c[:, None] - self.p - self.q
        off = self.both * np.exp(s[:, None] * x)
        on = off * np.exp(s)[:, None]
        mean, slope, bend = (
            part + (on * (1 + x) ** power - off * x**power).sum(axis=1) for power, part in enumerate(parts)
        )
        slope, bend = self.scale * slope / mean, self.scale**2 * bend / mean
        return float(np.log(mean).sum()), float(slope.sum()), float((bend - slope**2).sum())

    @staticmethod
    def _moments(law: Floats, values: Floats, s: Floats) -> list[Floats]:
        """Return E (-v)^r exp(-s v) for r = 0, 1, 2."""
        weighed = law * np.exp(-s[:, None] * values)
        return [weighed.sum(axis=1), -(weighed * values).sum(axis=1), (weighed * values**2).sum(axis=1)]
