"""Calibration in a suite of tests: an assertion that passes only if an error is shown to be small."""

from __future__ import annotations

from math import ceil, floor, log10

import numpy as np

from calibstat._text import percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.counted import CountedSample
from calibstat.data.parameters import LEVEL
from calibstat.data.sample import Sample
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import Streams
from calibstat.estimators.base import Estimator
from calibstat.inference.equivalence import EquivalenceTest, equivalence_test
from calibstat.inference.estimate import estimate
from calibstat.inference.results import number
from calibstat.lenses.base import Lens

__all__ = ["assert_calibrated"]

# The largest bound of so many calibrated samples is exceeded by about a sixth of further ones.
_REDRAWS = 5


def assert_calibrated(
    sample: Sample,
    estimator: Estimator | None = None,
    *,
    within: float,
    lens: Lens | None = None,
    level: float = LEVEL,
    n_resamples: int = 999,
    rng: RNG = 0,
) -> EquivalenceTest:
    """Raise an AssertionError unless an error is shown to be at most `within`.

    The hypothesis that the error is larger must be rejected (`equivalence_test`; Schuirmann 1987): too few rows fail,
    as they show nothing. The message says what was found, what is shown instead, and how many rows a calibrated model
    would need.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator, optional
        As for `equivalence_test`; by default ``ECE(EqualMass(15))``, and without a lens of the top label where there
        are more than two classes.
    within : float
        Between 0 and 1, in units of the estimator, chosen before seeing the data.
    lens : Lens, optional
        Looked through before the estimator's own.
    level : float
        How often a model whose error is larger than `within` passes, at most.
    n_resamples : int
    rng : int, Generator or None
        By default the same rows pass, or fail, each time.

    Returns
    -------
    EquivalenceTest
        What was shown.

    Raises
    ------
    AssertionError
        If it is not shown that the error is at most `within`.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.testing import assert_calibrated
    >>> world = cs.generators.BetaPredictions(1, 1)
    >>> assert_calibrated(world.sample(20_000, rng=0), within=0.05).within
    True
    >>> assert_calibrated(world.sample(1_000, rng=0), within=0.05)
    Traceback (most recent call last):
    AssertionError: It cannot be said with 95 % confidence that ... is at most 0.05: its upper bound is ...
    """
    found = equivalence_test(
        sample,
        estimator,
        within,
        lens=lens,
        level=level,
        confidence_level=1 - level,
        n_resamples=n_resamples,
        rng=rng,
    )
    if not found.within:
        raise AssertionError(f"{in_full(found)} {what_is_missing(sample, found, rng=rng)}")
    return found


def in_full(found: EquivalenceTest) -> str:
    """Return the verdict, with the value and which way the model errs."""
    most = found.noise.high
    value, noise = number(found.estimate, most), number(most, found.estimate)
    return (
        f"{found.verdict} Observed: {value}, where {percent(found.confidence_level)} of calibrated models have at most "
        f"{noise}{found.question.which_way(found.noise.beyond)}."
    )


def what_is_missing(sample: Sample, found: EquivalenceTest, rng: RNG = 0) -> str:
    """Say what is shown of an error that is not shown to be at most the margin, and what would help.

    That is recalibration where the error is shown to be larger, and otherwise more rows: about how many a calibrated
    model with such predictions needs in five of six samples.
    """
    interval = estimate(
        sample,
        found.question.estimator,
        confidence_level=found.confidence_level,
        interval="finite" if sample.groups is None else None,
        n_resamples=found.n_resamples,
        rng=rng,
    ).confidence_interval
    if interval is not None and interval[0] > found.margin:
        return (
            f"It is shown to be larger: at least {number(interval[0])} ({percent(found.confidence_level)} interval). "
            "More rows would not help: recalibrate the model on other rows, or fit it anew."
        )
    needed = rows_for_margin(sample, found, rng=rng)
    if needed is None:
        return "More rows are needed, of more clusters, or a wider margin."
    if needed <= len(sample):
        return (
            "A calibrated model with such predictions is mostly shown to be within the margin by so many rows, and "
            "this one is not: recalibrate it on other rows, or take a wider margin."
        )
    off = "this one is off beyond noise and" if found.noise.beyond else "one that is off"
    cells = "" if found.question.estimator.core.cut_by is None else " in as many cells"
    return (
        f"A calibrated model with such predictions needs about {needed:,} rows{cells} for that (required_n and "
        f"precision_n plan them); {off} needs more, or recalibration."
    )


def rows_for_margin(sample: Sample, found: EquivalenceTest, rng: RNG = 0) -> int | None:
    """Return with about how many rows, in as many cells, a calibrated model is mostly shown to be within a margin.

    That is None for rows in clusters. Labels are redrawn from the predictions. Noise, and so the largest bound of the
    redrawn samples, falls with the root of the number of rows, that of a squared error with the number itself.
    """
    if sample.groups is not None:
        return None
    asked = found.question.estimator
    generator = Streams(as_generator(rng))[0]  # other draws than those of a sample that was simulated with this number

    def bound(redrawn: Sample) -> float:
        return equivalence_test(
            redrawn,
            asked,
            found.margin,
            confidence_level=found.confidence_level,
            n_resamples=found.n_resamples,
            rng=generator,
        ).upper_bound

    largest = max(bound(_redrawn(sample, generator)) for _ in range(_REDRAWS))
    squared = asked.core.noise_power == 2 or asked.core.residual_form == "pairs"
    rows = len(sample) * (largest / found.margin) ** (1 if squared else 2)
    step = 10 ** max(0, floor(log10(rows)) - 1)  # two digits
    return ceil(rows / step) * step


def _redrawn(sample: Sample, generator: np.random.Generator) -> Sample:
    """Return the sample with labels drawn from its predictions."""
    if isinstance(sample, CountedSample):
        return CountedSample(sample.each, generator.multinomial(sample.counts.sum(axis=1), sample.each.chances))
    (labels,) = LabelLaw(sample.predictions.chances).draw(generator, 1, 1)
    return Sample.of(sample.predictions, labels)
