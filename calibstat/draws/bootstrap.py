"""The nonparametric bootstrap of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._threads import in_order
from calibstat.data.arrays import RNG, Floats, as_generator
from calibstat.data.parameters import Draws, HasParameters
from calibstat.data.sample import Sample
from calibstat.draws.streams import draw_blocks
from calibstat.draws.whole_cells import draw_cells, has_few_rows, paired_cells, sums_suffice
from calibstat.estimators.base import Estimator


class Resampler(HasParameters, ABC):
    """A way of drawing row weights; of rows in clusters (`Sample.groups`), whole clusters are drawn."""

    in_messages: ClassVar[str] = "a resampler, such as Bootstrap(999)"

    @abstractmethod
    def weights(self, n: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks (..., n) of row weights: a function of n and rng only, so that two models get the same rows."""

    def whole_cells(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Floats | None:  # noqa: ARG002
        """Draw sums over cells whole, at a cost that does not grow with n; None where rows must be weighted."""
        return None

    @final
    def replicates(self, estimator: Estimator, sample: Sample, *, rng: RNG = None) -> Floats:
        """Evaluate an estimator under each set of row weights; what it prepared (cells, bandwidths) stays fixed.

        Parameters
        ----------
        estimator : Estimator
        sample : Sample
        rng : int, Generator or None

        Returns
        -------
        values : (R, ...) floats
        """
        generator = as_generator(rng)
        whole = self.whole_cells(estimator, sample, generator)
        if whole is not None:
            return whole
        evaluator = estimator.prepare(sample.predictions)
        groups = sample.predictions.groups
        weights = self.weights(len(sample) if groups is None else groups.number, generator)

        def values(block: Floats) -> Floats:
            return evaluator(sample.outcomes, block if groups is None else groups.spread(block))

        return np.concatenate(list(in_order(values, weights)))


@final
@dataclass(frozen=True)
class Bootstrap(Resampler):
    """Draw n rows with replacement (Efron 1979), or whole clusters; each replicate is the count of every row.

    Percentile intervals of a binned calibration error do not cover (0 % for nearly calibrated models, because each
    resample adds noise to an error that is already biased upward); use it to see the spread.

    Parameters
    ----------
    n_resamples : int
        Number of draws, at least 1.
    kind : {"percentile", "basic", "bca"}
        The interval that ``estimate(..., interval=...)`` computes from the replicates.
    allow_invalid : bool
        Whether `estimate` may give the interval even where it is known not to cover.
    shortcuts : bool
        Whether, with many rows, sums over cells may be drawn directly where they suffice. False always draws rows.

    Raises
    ------
    ValueError, TypeError
        If `n_resamples` is not an integer of at least 1, `kind` is none of these, or a switch is not a boolean.

    Notes
    -----
    Of more than 3000 rows (two outcomes, no weights, no clusters) the rows of each cell and label are counted by one
    multinomial draw, exactly; their sum of predictions is drawn from the normal law of its mean and variance, which
    moves a binned error by 2 / n at most on average (Goldstein 2010).

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> cs.Bootstrap(100).replicates(cs.ECE(cs.FixedEdges([0, 1])), sample, rng=0).shape
    (100,)
    """

    n_resamples: Draws = 999
    kind: Literal["percentile", "basic", "bca"] = "percentile"
    allow_invalid: bool = False
    shortcuts: bool = True

    def weights(self, n: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks of counts that sum to n."""

        def counts(stream: np.random.Generator, _size: int, kept: int) -> Floats:
            drawn = np.empty((kept, n))
            for row, found in zip(stream.integers(0, n, size=(kept, n)), drawn, strict=True):
                found[:] = np.bincount(row, minlength=n)
            return drawn

        return draw_blocks(counts, self.n_resamples, n, rng)

    def whole_cells(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Floats | None:
        """Draw how many rows of each cell and label there are; None where rows must be weighted."""
        seen = self._seen(estimator, sample)
        if seen is None:
            return None
        evaluator = estimator.core.prepare(seen.predictions)
        plan, from_tallies = evaluator.capabilities.tally, evaluator.capabilities.from_tallies
        if plan is None or from_tallies is None or not sums_suffice(evaluator):
            return None
        repeats = "weight2" in plan.needs
        drawn = draw_cells(plan.cells, seen.predictions, seen.outcomes, self.n_resamples, rng, repeats=repeats)
        return None if drawn is None else np.concatenate([from_tallies(each.tally()) for each in drawn])

    def paired_replicates(self, estimator: Estimator, first: Sample, second: Sample, *, rng: RNG = None) -> Floats:
        """Evaluate an estimator on two models under the same draws of rows; what it prepared stays fixed.

        Parameters
        ----------
        estimator : Estimator
        first, second : Sample
            The same rows as two models see them.
        rng : int, Generator or None

        Returns
        -------
        values : (2, R, ...) floats
            Of the first and of the second model, for example to look at the spread of their difference.

        Raises
        ------
        ValueError
            If the samples do not have equally many rows and the same labels.

        Examples
        --------
        >>> import calibstat as cs
        >>> one, other = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), cs.Sample([0, 1, 1, 0], [0.3, 0.6, 0.6, 0.1])
        >>> cs.Bootstrap(100).paired_replicates(cs.ECE(cs.FixedEdges([0, 1])), one, other, rng=0).shape
        (2, 100)
        """
        _expect_same_rows(first, second)
        generator = as_generator(rng)
        seen = [self._seen(estimator, sample) for sample in (first, second)]
        if seen[0] is not None and seen[1] is not None:
            whole = paired_cells(estimator.core, (seen[0], seen[1]), self.n_resamples, generator)
            if whole is not None:
                return whole
        weighing, again = replace(self, shortcuts=False), deepcopy(generator)
        turns = ((first, generator), (second, again))  # the same weights: they depend on n and rng only
        return np.stack([weighing.replicates(estimator, each, rng=turn) for each, turn in turns])

    def _seen(self, estimator: Estimator, sample: Sample) -> Sample | None:
        """Look through the lens; None where rows are few, in clusters, or left out by the lens."""
        if not self.shortcuts or sample.groups is not None or has_few_rows(sample.predictions):
            return None
        seen = estimator.lens(sample)
        return seen if len(seen) == len(sample) else None


def _expect_same_rows(first: Sample, second: Sample) -> None:
    if len(first) != len(second):
        raise ValueError(
            f"the samples have {len(first)} and {len(second)} rows; a paired bootstrap needs the same rows as two "
            "models see them."
        )
    if not np.array_equal(first.y_true, second.y_true):
        row = int(np.flatnonzero(first.y_true != second.y_true)[0])
        raise ValueError(
            f"the labels of the samples differ (row {row}: {first.y_true[row]!r} and {second.y_true[row]!r}); a paired "
            "bootstrap needs the same rows in the same order."
        )
