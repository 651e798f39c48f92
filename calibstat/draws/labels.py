"""Labels as a calibrated world would draw them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Sample
from calibstat.draws.poisson_binomial import CellCounts
from calibstat.draws.streams import draw_blocks, replicate
from calibstat.estimators.base import Evaluator
from calibstat.estimators.tally import TallyPlan

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

    def draw(self, stream: np.random.Generator, size: int, kept: int) -> Array:
        """Draw labels (kept, n): the first of `size` replicates."""
        return self.invert(stream.random((size, len(self.chances)))[:kept])

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


def draw_label_counts(plan: TallyPlan, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw how many labels of each class are in each cell, (R, L, K), or (R, L, 1) of two classes: only the event.

    The labels are those of row by row drawing with the same `rng`: all else is saved, for statistics that need no more
    (`TallyPlan.from_counts`). It yields some replicates at a time, so that memory does not grow with them.
    """
    law, n = LabelLaw(plan.predictions.chances), len(plan.predictions)
    return (plan(labels).outcome for labels in draw_blocks(law.draw, n_resamples, n, rng))


def redraw_labels(
    evaluator: Evaluator, sample: Sample, n_resamples: int, rng: np.random.Generator, shortcuts: bool = True
) -> Floats:
    """Evaluate a prepared statistic on drawn labels: (R, ...); with `shortcuts`, counts in cells are drawn directly."""
    offers = evaluator.capabilities
    plan, from_tally = offers.tally, offers.from_tally
    if not shortcuts or plan is None or from_tally is None or not plan.from_counts:
        draw, n = LabelLaw(sample.predictions.chances).draw, len(sample)
        return replicate(evaluator, draw, n_resamples, n, rng, offers.batch_size)
    if plan.predictions.n_classes == 2:
        law, n_cells = CellCounts(plan.predictions.chances[:, 1], plan.cells), plan.cells.size
        counts = replicate(lambda events: events[..., None], law.draw, n_resamples, n_cells, rng)
        return from_tally(counts)
    return np.concatenate([from_tally(counts) for counts in draw_label_counts(plan, n_resamples, rng)])
