"""Diagrams of the cells of a sample: how they are made from samples, from arrays and from fitted classifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Self

from matplotlib.axes import Axes

from calibstat.binnings.base import Binning
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import RNG
from calibstat.data.parameters import at_least_one, check_kind, check_share
from calibstat.data.rounding import rounded_down, rounded_up
from calibstat.data.sample import Sample
from calibstat.displays._style import Display
from calibstat.estimators.histogram import HistogramRegression
from calibstat.inference.arguments import check_lens, check_sample, in_buckets
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.relabel import CANONICAL


class SampleDisplay(Display):
    """A diagram of the cells of a sample and of the noise in them; subclasses compute its numbers and draw them."""

    default_binning: ClassVar[Binning]
    reads_counts: ClassVar[bool] = False
    """Whether rows may stand for several."""

    @classmethod
    @abstractmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> Self:
        """Compute the numbers of the diagram from the sample as seen through the lens."""

    @classmethod
    def compute(
        cls,
        sample: Sample,
        binning: Binning | None = None,
        *,
        lens: Lens = CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
        name: str | None = None,
    ) -> Self:
        """Compute the numbers of the diagram as `from_sample` does, without drawing it."""
        check_share("coverage", coverage, 0.9)
        check_sample(sample)
        check_kind("binning", binning, Binning | None)
        at_least_one("n_resamples", n_resamples)
        seen = check_lens(lens)(sample)
        if binning is None:
            binning = UniqueValues() if in_buckets(seen) else cls.default_binning
        refuse_empty(seen, lens)
        if cls.reads_counts:
            cells = HistogramRegression(binning)
            cells.expect_rows(seen.known)
            seen = seen.read_by(cells.reads_counts, labelled=True, buckets=True)
        return cls._of(seen, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng, name=name)

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        binning: Binning | None = None,
        *,
        lens: Lens = CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Cut a sample into cells, compute how far noise alone moves each of them, and draw both.

        Parameters
        ----------
        sample : Sample
        binning : Binning, optional
            A reliability diagram has cells of the prediction, or of the variable that the lens conditions on: by
            default ``EqualMass(15)``. A simplex diagram has cells of the whole prediction: by default
            ``SimplexGrid(5)``; a `VarianceTree` for example is another choice.
        lens : Lens
            Two outcomes must be seen through it for a reliability diagram, for example by ``TopLabel()`` or
            ``TopLabel() | Given("age")``; three or four for a simplex diagram, for example by
            ``Partition([["cat"], ["dog"], ["car", "truck"]])``.
        n_resamples : int
            Number of redraws of the labels. A reliability diagram needs them only where rows have weights.
        coverage : float
            Least probability that the point of a calibrated model lies within its bar (at most half of the rest lies
            beyond either end), or that no arrow is longer than its limit.
        rng : int, Generator or None
            The source of randomness of the redraws.
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If `sample` is not a Sample, or `lens` is not a lens.
        ValueError
            If the lens leaves another number of outcomes than the diagram shows, conditions on something that it cannot
            show, or leaves no row; or if there are too few redraws.
        """
        display = cls.compute(
            sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng, name=name
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        binning: Binning | None = None,
        *,
        sample_weight: Any = None,
        labels: Sequence[Hashable] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw the diagram of labels and probabilities; further arguments are those of `from_sample`."""
        sample = Sample(y_true, y_prob, labels=labels, sample_weight=sample_weight)
        return cls.from_sample(sample, binning, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        binning: Binning | None = None,
        *,
        sample_weight: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw the diagram of a fitted classifier; its default name is that of the classifier's class."""
        sample = Sample.from_estimator(estimator, X, y, sample_weight=sample_weight)
        return cls.from_sample(sample, binning, name=type(estimator).__name__ if name is None else name, **kwargs)


def rank_of_limit(n_resamples: int, tail: float, of_what: str, coverage: float) -> int:
    """Return the largest k for which the k-th largest of n redraws is exceeded with probability at most `tail`."""
    rank = rounded_down((n_resamples + 1) * tail)
    if rank < 1:
        raise ValueError(
            f"n_resamples is {n_resamples!r}, too few for {of_what} of coverage {coverage!r}: take "
            f"{rounded_up(1 / tail) - 1} or more."
        )
    return rank
