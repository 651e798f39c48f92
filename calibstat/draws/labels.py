"""Labels as a calibrated world would draw them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.groups import Groups
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.poisson_binomial import counts_of
from calibstat.draws.streams import Streams, replicate
from calibstat.estimators.base import Evaluator, all_weights

# Up to so many classes, comparing with all cumulative sums in turn is faster than bisection.
_FEW_CLASSES = 64
# Rows whose uniforms and sums stay in the cache while they are compared.
_ROWS_IN_A_TILE = 2048


class LabelLaw:
    """The law of outcomes with given chances (n, K); label i is Categorical(chances_i)."""

    def __init__(self, chances: Floats) -> None:
        self.chances = chances
        self.binary = chances.shape[1] == 2
        self.few = chances.shape[1] <= _FEW_CLASSES
        sums = self.chances[:, 1]
        if not self.binary:  # they end in exactly one, so that rounding never draws a last class of chance zero
            sums = np.cumsum(self.chances, axis=1)
            sums = sums / sums[:, -1:]
        self.cumulative: Floats = np.ascontiguousarray(sums.T if self.few else sums)

    def draw(self, stream: np.random.Generator, _size: int, kept: int) -> Array:
        """Draw labels (kept, n): the first of a block of replicates."""
        return self.invert(stream.random((kept, len(self.chances))))

    def invert(self, uniforms: Floats) -> Array:
        """Turn uniforms (..., n) into labels (..., n)."""
        if self.binary:
            return (uniforms < self.cumulative).view(np.int8)
        count = _count_reached if self.few else _bisect_reached
        return count(self.cumulative, uniforms)


def _count_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Count how many of a row's cumulative sums (all but the last), (K, n), its uniform reaches, one by one."""
    found = np.empty(uniforms.shape, dtype=np.intp)
    for start in range(0, uniforms.shape[-1], _ROWS_IN_A_TILE):
        rows = slice(start, start + _ROWS_IN_A_TILE)
        some = uniforms[..., rows]
        reached = np.zeros(some.shape, dtype=np.int8)
        for sums in cumulative[:-1, rows]:
            reached += some >= sums
        found[..., rows] = reached
    return found


def _bisect_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Count how many of a row's cumulative sums (all but the last), (n, K), its uniform reaches, by bisection."""
    n_classes = cumulative.shape[1]
    rows = np.arange(len(cumulative)) * n_classes
    flat = cumulative.ravel()
    found = np.zeros(uniforms.shape, dtype=np.intp)
    step = 1 << ((n_classes - 1).bit_length() - 1)
    while step:
        probe = np.minimum(found + step, n_classes - 1)
        reached = (flat[rows + probe - 1] <= uniforms) & (found + step < n_classes)
        found += step * reached
        step >>= 1
    return found


class CountsLaw:
    """How many of the rows that each row stands for (n,) have each outcome, of given chances (n, K), as shares."""

    def __init__(self, chances: Floats, counts: Floats) -> None:
        self.chances, self.counts = chances, counts

    def draw(self, stream: np.random.Generator, _size: int, kept: int) -> Floats:
        """Draw shares (kept, n, K): the first of a block of replicates."""
        shape, n_classes = (kept, len(self.counts)), self.chances.shape[1]
        rows = self.counts.astype(np.int64)
        if n_classes > 2:
            drawn: Array = stream.multinomial(rows, self.chances, shape)
        else:
            events = stream.binomial(rows, self.chances[:, 1], shape)
            drawn = np.stack([rows - events, events], axis=-1)
        return drawn / self.counts[:, None]


def redraw_labels(
    evaluator: Evaluator, sample: Sample, n_resamples: int, rng: np.random.Generator, shortcuts: bool = True
) -> Floats:
    """Evaluate a prepared statistic on drawn labels: (R, ...); with `shortcuts`, counts in cells are drawn directly."""
    offers = evaluator.capabilities
    plan, from_tally = offers.tally, offers.from_tally
    if not shortcuts or plan is None or from_tally is None or not plan.from_counts:
        return replicate(evaluator, *_law_of(sample.predictions, n_resamples), rng, offers.batch_size)
    if plan.predictions.n_classes == 2:
        law, n_cells = counts_of(plan), plan.cells.size
        return replicate(lambda events: from_tally(events[..., None]), law.draw, n_resamples, n_cells, rng)
    return replicate(lambda each: from_tally(plan(each).outcome), *_law_of(plan.predictions, n_resamples), rng)


def _law_of(
    predictions: Predictions, n_resamples: int
) -> tuple[Callable[[np.random.Generator, int, int], Array], int, int]:
    """Return what draws labels, or shares of them, how often it is to draw, and how many numbers a draw takes."""
    chances, counts = predictions.chances, predictions.counts
    if counts is None:
        return LabelLaw(chances).draw, n_resamples, len(predictions)
    return CountsLaw(chances, counts).draw, n_resamples, chances.size


# With fewer clusters nothing shows how rows depend on each other.
FEWEST_CLUSTERS = 4
# Draws that the dependence within clusters is chosen by, halvings of its range, and the share of draws with as little.
_DRAWS, _HALVINGS, _TAIL = 199, 6, 0.1
# The chance to take the common number of a cluster is a multiple of one over this.
_TURNS = 256


class ClusteredLabels:
    """Labels with given chances, of which those of a cluster depend on each other (two classes or more).

    Each row takes the common uniform number of its cluster with some chance, the share, or else one of its own, and the
    quantile of its law there. So rows keep their chances, and at a share of one two outcomes of a cluster depend on
    each other as strongly as they can.
    """

    def __init__(self, chances: Floats, outcomes: Ints, groups: Groups, weights: Floats) -> None:
        self.law, self.outcomes, self.groups = LabelLaw(chances), outcomes, groups
        self.order = np.argsort(groups.codes, kind="stable")
        self.starts = np.flatnonzero(np.diff(groups.codes[self.order], prepend=-1))
        self.chances, self.weights = chances.T[:, self.order], weights[self.order]

    @classmethod
    def of(cls, sample: Sample) -> ClusteredLabels:
        """Take the labels that the predictions of a sample draw."""
        predictions, groups = sample.predictions, sample.predictions.groups
        if groups is None or groups.number < FEWEST_CLUSTERS:
            found = "no groups" if groups is None else f"{groups.number} of {groups.name!r}"
            raise ValueError(f"the sample has {found}, but at least {FEWEST_CLUSTERS} clusters are needed (better 20).")
        return cls(predictions.chances, sample.outcomes, groups, all_weights(predictions, None))

    def draw(
        self, share: float, stream: np.random.Generator, size: int, kept: int, law: LabelLaw | None = None
    ) -> Array:
        """Draw labels (kept, n) at a share from 0 to 1, of another law if asked: the first of `size` replicates."""
        own = stream.random((size, len(self.outcomes)))[:kept]
        turns = stream.integers(0, _TURNS, (size, len(self.outcomes)), dtype=np.uint8)[:kept]
        common = self.groups.spread(stream.random((size, self.groups.number))[:kept])
        return (law or self.law).invert(np.where(turns < round(_TURNS * share), common, own))

    def spread(self, labels: Array) -> Floats:
        """Add up the squares of the sums of outcome - prediction in clusters: of labels (R, n), (R,)."""
        drawn, total = np.take(labels, self.order, axis=-1), np.zeros(len(labels))
        for code in range(1 if self.law.binary else 0, len(self.chances)):
            residual = self.weights * ((drawn == code) - self.chances[code])
            total += (np.add.reduceat(residual, self.starts, axis=-1) ** 2).sum(axis=-1)
        return total

    def strongest(self, rng: np.random.Generator, tail: float = _TAIL) -> float:
        """Return the largest share at which clusters as alike as these are not among the `tail`, a tenth, least alike.

        An upper confidence bound (Berger & Boos 1994 take such a one for what a null leaves open), since that of few
        clusters, or of few with an event, is mostly underestimated.
        """
        streams, n = Streams(rng), len(self.outcomes)
        seen = self.spread(self.outcomes[None])[0] * (1 + 1e-9)

        def possible(share: float) -> bool:
            def draw(stream: np.random.Generator, size: int, kept: int) -> Array:
                return self.draw(share, stream, size, kept)

            return bool(np.mean(replicate(self.spread, draw, _DRAWS, 2 * n, streams[0]) <= seen) >= tail)

        low, high = 0.0, 1.0
        if possible(high):
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if possible(middle) else (low, middle)
        return high

    def redrawn(
        self,
        evaluate: Callable[[Array], Floats],
        n_resamples: int,
        rng: np.random.Generator,
        chances: Floats | None = None,
        batch_size: int = 1,
        tail: float = _TAIL,
    ) -> Floats:
        """Evaluate labels, with other chances (n, K) if asked, as dependent in clusters as `strongest`: (R, ...)."""
        share, law = self.strongest(rng, tail), self.law if chances is None else LabelLaw(chances)

        def draw(stream: np.random.Generator, size: int, kept: int) -> Array:
            return self.draw(share, stream, size, kept, law)

        return replicate(evaluate, draw, n_resamples, 2 * len(self.outcomes), rng, batch_size)


def redraw_in_clusters(evaluator: Evaluator, sample: Sample, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Evaluate a prepared statistic on labels that depend on each other in clusters as far as possible: (R, ...)."""
    return ClusteredLabels.of(sample).redrawn(evaluator, n_resamples, rng, batch_size=evaluator.capabilities.batch_size)
