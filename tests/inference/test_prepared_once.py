"""What no outcome changes is done once in a test, an estimate and an equivalence test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.test import exact_law


@final
@dataclass(frozen=True)
class CountedGap(cs.Estimator):
    """The calibration error in ten cells, that says how often it was prepared."""

    quantity: ClassVar[str] = "calibration error"
    times: ClassVar[list[int]] = []

    @property
    def estimand(self):
        return self

    @property
    def residual_form(self):
        return "seminorm"

    def prepare(self, predictions):
        self.times.append(len(predictions))
        return cs.ECE(cs.EqualMass(10)).prepare(predictions)


@pytest.mark.parametrize("clinic", [None, np.arange(400) // 5], ids=["rows", "clusters"])
def test_an_equivalence_test_prepares_once(calibrated, clinic):
    sample = cs.Sample(calibrated.outcomes, calibrated.y_prob, labels=[0, 1], groups=clinic)
    CountedGap.times.clear()
    found = equivalence_test(sample, CountedGap(), 0.2, n_resamples=199, rng=3)
    assert CountedGap.times == [400]
    same = equivalence_test(sample, cs.ECE(cs.EqualMass(10)), 0.2, n_resamples=199, rng=3)
    assert (found.pvalue, found.upper_bound) == (same.pvalue, same.upper_bound)


def test_tests_and_estimates_prepare_once(calibrated):
    CountedGap.times.clear()
    cs.calibration_test(calibrated, CountedGap(), rng=0)
    assert CountedGap.times == [400]
    cs.estimate(calibrated, CountedGap(), n_resamples=99, rng=0)
    assert CountedGap.times == [400, 400]


def test_the_exact_law_or_none(calibrated, miscalibrated):
    """One function decides for tests and for null means."""
    error = cs.ECE(cs.EqualMass(10))
    exact = exact_law(error, calibrated, error.prepare(calibrated.predictions))
    assert exact is not None
    assert cs.calibration_test(calibrated, error).null_mean == exact.mean
    assert cs.estimate(calibrated, error, n_resamples=9, rng=0).null_mean == exact.mean
    kernel = cs.SKCE(0.5)
    assert exact_law(kernel, miscalibrated, kernel.prepare(miscalibrated.predictions)) is None
