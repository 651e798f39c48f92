"""Two models on the same rows drawn with replacement: how many rows of each pair of cells and labels, whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.base import Estimator
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.resampling.bin_level import sums_suffice
from calibstat.resampling.fixed_cells import Drawn, cell_blocks, sum_of_squares
from calibstat.resampling.near_normal import sums_are_near_normal
from calibstat.sample import Sample

# More pairs of cells and labels than this are not drawn whole, nor more than one for four rows.
_AT_MOST, _PAIRS_FOR_A_ROW = 4096, 1 / 4


def paired_cells(
    estimator: Estimator, samples: tuple[Sample, Sample], n_resamples: int, rng: np.random.Generator
) -> Floats | None:
    """Evaluate two samples of the same rows: (2, R, ...); None where rows must be weighted.

    Parameters
    ----------
    estimator : Estimator
        Without a lens.
    samples : pair of Sample
        As seen through the lens.
    n_resamples : int
    rng : Generator
    """
    evaluators = [estimator.prepare(sample.predictions) for sample in samples]
    if not all(sums_suffice(evaluator) for evaluator in evaluators):
        return None
    plans = [evaluator.tally for evaluator in evaluators if evaluator.tally is not None]
    if not all(_near_normal(plan, sample) for plan, sample in zip(plans, samples, strict=True)):
        return None
    pairs = Pairs.of(plans, samples)
    if len(pairs.rows) > min(_AT_MOST, _PAIRS_FOR_A_ROW * len(samples[0])):
        return None
    repeats = "weight2" in plans[0].needs
    values: list[list[Floats]] = [[], []]
    for both in pairs.draw(n_resamples, rng, repeats):
        for kept, evaluator, drawn in zip(values, evaluators, both, strict=True):
            value = evaluator.from_tallies(drawn.tally())
            kept.extend([] if value is None else [value])
    return np.stack([np.concatenate(each) for each in values])


def _near_normal(plan: TallyPlan, sample: Sample) -> bool:
    """Whether sums of predictions of one model may be drawn from the normal law."""
    tally, predictions = plan(sample.outcomes), plan.predictions
    by_prediction = predictions.keys == (1,)
    counts = tally.weight, tally.outcome[:, 0]
    return sums_are_near_normal(plan.cells, *counts, predictions.event, sample.outcomes, by_prediction=by_prediction)


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows by their cells and labels in both models (G groups that occur).

    Parameters
    ----------
    rows : (G,) floats
        Number of rows.
    home, event : two (G,) ints each
        The cell, and the label, in either model.
    size : two ints
        Number of cells of either model.
    mean, deviation : (2, G) floats
        Of the predictions of either model.
    correlation : (G,) floats
        Of the predictions of both.
    """

    rows: Floats
    home: tuple[Ints, Ints]
    event: tuple[Ints, Ints]
    size: tuple[int, int]
    mean: Floats
    deviation: Floats
    correlation: Floats

    @classmethod
    def of(cls, plans: list[TallyPlan], samples: tuple[Sample, Sample]) -> Pairs:
        """Count rows and add up predictions."""
        one, other = (plan.cells.index * 2 + sample.outcomes for plan, sample in zip(plans, samples, strict=True))
        found, group = _number(one * (2 * plans[1].cells.size) + other)
        rows = np.bincount(group).astype(float)
        codes = np.divmod(found, 2 * plans[1].cells.size)
        p, q = (np.ascontiguousarray(sample.predictions.event) for sample in samples)
        mean = np.stack([np.bincount(group, each) for each in (p, q)]) / rows
        p, q = p - mean[0][group], q - mean[1][group]
        variance = np.stack([np.bincount(group, each * each) for each in (p, q)]) / rows
        deviation = np.sqrt(variance)
        correlation = ratio(np.bincount(group, p * q) / rows, deviation[0] * deviation[1]).clip(-1, 1)
        first, second = (code // 2 for code in codes), (code % 2 for code in codes)
        sizes = (plans[0].cells.size, plans[1].cells.size)
        return cls(rows, tuple(first), tuple(second), sizes, mean, deviation, correlation)  # type: ignore[arg-type]

    def draw(self, n_resamples: int, rng: np.random.Generator, repeats: bool) -> Iterator[tuple[Drawn, Drawn]]:
        """Draw as many rows as there are, with replacement, some replicates at a time."""
        n = int(self.rows.sum())
        for stream, size, kept in cell_blocks(n_resamples, len(self.rows), rng):
            counts = stream.multinomial(n, self.rows / n, size=size).astype(float)
            noise = stream.standard_normal((2, *counts.shape))
            noise[1] = self.correlation * noise[0] + np.sqrt(1 - self.correlation**2) * noise[1]
            weight2 = sum_of_squares(counts[:, None], self.rows[None], stream) if repeats else counts
            sums = counts * self.mean[:, None] + np.sqrt(counts) * self.deviation[:, None] * noise
            one, other = (
                Drawn(counts, counts * event, sums[model].clip(0, counts), weight2).first(kept).added(home, n_cells)
                for model, (home, n_cells, event) in enumerate(zip(self.home, self.size, self.event, strict=True))
            )
            yield one, other


def _number(codes: Ints) -> tuple[Ints, Ints]:
    """Return the codes that occur and the place of each row's among them, without a sort where codes are small."""
    if codes.max() > len(codes):
        found, place = np.unique(codes, return_inverse=True)
        return found, place
    occurs = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]
