"""What is asked of calibrators on their test rows: a test of each, its scores, and each two compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from calibstat.binnings.equal_mass import EqualMass
from calibstat.comparisons.records import CalibratorResult, PairResult, Scores, pair_pvalue
from calibstat.estimators.base import Estimator
from calibstat.estimators.cells.squared import DebiasedL2
from calibstat.estimators.scores.means import BrierScore, LogScore
from calibstat.inference.comparison import comparison_test
from calibstat.inference.comparison_result import ComparisonTest
from calibstat.inference.multiplicity import holm
from calibstat.inference.spread import ConfidenceInterval, NoInterval
from calibstat.inference.testing import calibration_test
from calibstat.inference.total_variance import total_variance
from calibstat.inference.words import LEVEL
from calibstat.inference.wrapped import wrapped_pvalue
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.lenses.top_label import TopLabel
from calibstat.nulls.consistency import Consistency
from calibstat.progress import track
from calibstat.resampling.streams import Streams
from calibstat.sample import Sample


def default_estimator(sample: Sample, lens: Any, estimator: Any, n_test: int) -> Estimator:
    """Return what is measured, through a lens that is named once; refuse what cannot be compared."""
    if lens is not None and not isinstance(lens, Lens):
        raise TypeError(f"lens is {lens!r}, but a lens is expected: for example TopLabel().")
    if estimator is not None and not isinstance(estimator, Estimator):
        raise TypeError(f"estimator is {estimator!r}, but an estimator is expected: for example DebiasedL2().")
    asked = DebiasedL2(EqualMass(min(15, max(1, n_test // 20)))) if estimator is None else estimator
    if asked.core.residual_form != "debiased square":
        raise ValueError(
            f"{asked!r} cannot be compared between models: use a debiased squared error, for example "
            "DebiasedL2(EqualMass(15))."
        )
    if asked.lens.parts:
        if lens is not None:
            raise ValueError(f"the estimator has the lens {asked.lens!r} already: leave out lens={lens!r}.")
        return asked
    if lens is None:
        one_column = getattr(getattr(asked.core, "binning", None), "columns", 1) == 1
        lens = TopLabel() if len(sample.labels) > 2 and one_column else Canonical()
    return lens | asked


def enough_resamples(n_pairs: int, n_splits: int) -> int:
    """Return a number of resamples with which the smallest adjusted p-value of a pair is 0.02 or less."""
    return max(999, 100 * n_pairs * (2 if n_splits > 1 else 1) - 1)


def floor_note(n_pairs: int, n_splits: int, n_resamples: int) -> str:
    """Say that so few resamples cannot tell any two apart, or nothing."""
    floor = 2 * n_pairs * (2 if n_splits > 1 else 1) / (1 + n_resamples)
    if floor <= LEVEL:
        return ""
    return (
        f"{n_resamples} resamples cannot give an adjusted p-value below {min(1.0, floor):.2g}; take n_resamples="
        f"{enough_resamples(n_pairs, n_splits)}"
    )


def judge_models(
    texts: Mapping[str, str],
    samples: Sequence[Mapping[str, Sample]],
    estimator: Estimator,
    confidence_level: float,
    n_resamples: int,
    streams: Sequence[np.random.Generator],
) -> dict[str, CalibratorResult]:
    """Judge each model, of which `texts` says what it is, on the rows of each split, which has a stream.

    Streams go by name: another order of calibrators, or one more, changes no p-value of the others.
    """
    families = [Streams(stream) for stream in streams]
    found = {}
    for name, text in track(texts.items(), len(texts)):
        seen = [each[name] for each in samples]
        own = [family[crc32(str(name).encode())] for family in families]
        found[name] = _judge_model(name, text, seen, estimator, confidence_level, n_resamples, own)
    return found


def _judge_model(
    name: str,
    calibrator: str,
    samples: Sequence[Sample],
    estimator: Estimator,
    confidence_level: float,
    n_resamples: int,
    streams: Sequence[np.random.Generator],
) -> CalibratorResult:
    """Test a model on the rows of each split, and score it."""
    null = Consistency(n_resamples)
    tests = tuple(
        calibration_test(each, estimator, null=null, rng=rng)
        for each, rng in track(zip(samples, streams, strict=True), len(samples))
    )
    scores = [_scores(each, estimator, test.statistic) for each, test in zip(samples, tests, strict=True)]
    brier, log, calibration, refinement = np.mean(
        [(each.brier, each.log, each.calibration, each.refinement) for each in scores], axis=0
    ).tolist()
    interval = _root_interval(estimator, samples[0], confidence_level) if len(samples) == 1 else None
    clipped = sum(each.n_clipped for each in scores)
    return CalibratorResult(name, calibrator, tests, Scores(brier, log, calibration, refinement, clipped), interval)


def judge_pairs(
    chosen: Sequence[tuple[str, str]],
    models: Mapping[str, CalibratorResult],
    samples: Sequence[Mapping[str, Sample]],
    estimator: Estimator,
    confidence_level: float,
    sizes: tuple[int, int],
) -> tuple[PairResult, ...]:
    """Compare each two on the rows of each split, and adjust over all of them."""
    tests = [
        tuple(
            _compared(models[a], models[b], split, each, estimator, confidence_level)
            for split, each in enumerate(samples)
        )
        for a, b in track(chosen, len(chosen))
    ]
    adjusted = holm([pair_pvalue(each) for each in tests])
    return tuple(
        PairResult(models[a], models[b], each, float(pvalue), *sizes)
        for (a, b), each, pvalue in zip(chosen, tests, adjusted, strict=True)
    )


def _compared(
    first: CalibratorResult,
    second: CalibratorResult,
    split: int,
    samples: Mapping[str, Sample],
    estimator: Estimator,
    confidence_level: float,
) -> ComparisonTest:
    """Compare two on one split; their own exact p-values are known and not drawn again for each pair."""
    names = (first.name, second.name)
    a, b = (samples[name] for name in names)
    found = comparison_test(a, b, estimator, names=names, confidence_level=confidence_level, n_resamples=1, rng=0)
    own = (first.tests[split].pvalue, second.tests[split].pvalue)
    pvalue = wrapped_pvalue(found.normal_pvalue, own)
    return replace(found, own_pvalues=own, pvalue=pvalue, recalibration_difference=None)


def _scores(sample: Sample, estimator: Estimator, squared: float) -> Scores:
    """Score what is seen through the lens; the Brier score without its calibration part is refinement."""
    seen = estimator.lens(sample)
    brier, log = float(BrierScore()(seen)), LogScore()
    called = seen.predictions.probabilities[np.arange(len(seen)), seen.outcomes]
    clipped = int(np.count_nonzero(called < log.clip))
    return Scores(brier, float(log(seen)), squared, brier - squared, clipped)


def _root_interval(estimator: Estimator, sample: Sample, level: float) -> ConfidenceInterval | None:
    """Return the interval of the squared error, in roots."""
    try:
        interval = total_variance(estimator.core, estimator.lens(sample)).interval(level)
    except NoInterval:
        return None
    return ConfidenceInterval(float(np.sqrt(interval.low)), float(np.sqrt(interval.high)))
