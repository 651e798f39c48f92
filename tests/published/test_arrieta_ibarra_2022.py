"""Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu (2022), "Metrics of calibration for probabilistic predictions"."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import calibstat as cs
from calibstat.estimators.large_sample import kolmogorov_smirnov_sf, kuiper_sf
from calibstat.estimators.walks import KolmogorovSmirnov, Kuiper, WorstInterval
from published.enumeration import law_of_labels
from registry import make_sample

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)
BOTH = [
    (Kuiper(), kuiper_sf, 0.14, 1.081734, 0.887285, 2 * np.sqrt(2 / np.pi)),
    (KolmogorovSmirnov(), kolmogorov_smirnov_sf, 0.12, 0.927201, 0.696833, np.sqrt(np.pi / 2)),
]


@pytest.mark.parametrize(("estimator", "survival", "value", "standardized", "pvalue", "mean"), BOTH, ids=["R", "MAD"])
def test_arrieta_ibarra_2022_ecce_of_ten_rows(estimator, survival, value, standardized, pvalue, mean):
    result = cs.calibration_test(TEN, estimator, null=cs.Consistency(9), rng=0)
    assert result.statistic == pytest.approx(value, abs=1e-12)
    assert result.standardized == pytest.approx(standardized, abs=5e-7)
    assert survival(result.standardized) == pytest.approx(pvalue, abs=5e-7)
    assert quad(survival, 0, 12, limit=200)[0] == pytest.approx(mean, abs=1e-8)
    alone = type(estimator)(standardized=True)
    assert alone(TEN) == pytest.approx(result.standardized, rel=1e-12)
    assert cs.calibration_test(TEN, alone, null=cs.Asymptotic()).pvalue == pytest.approx(pvalue, abs=5e-7)


@pytest.mark.parametrize("kind", [Kuiper, KolmogorovSmirnov])
def test_standard_deviations_change_no_test_and_have_no_truth(kind):
    sample = make_sample(2, n=100, weighted=True)
    for null in (cs.Consistency(99), cs.Multiplier(99), cs.Asymptotic()):
        pair = [cs.calibration_test(sample, kind(each), null=null, rng=cs.as_generator(0)) for each in (False, True)]
        assert pair[0].pvalue == pytest.approx(pair[1].pvalue, rel=1e-12)
        assert pair[0].standardized == pytest.approx(pair[1].statistic, rel=1e-12)
    found = cs.estimate(sample, kind(True), rng=0)
    assert found.confidence_interval is None
    assert "test statistic" in found.interval_note
    assert kind(True).estimand == kind()
    certain, wrong = cs.Sample([0, 1], [0.0, 1.0]), cs.Sample([1, 1], [0.0, 1.0], labels=[0, 1])
    assert (kind(True)(certain), kind(True)(wrong)) == (0, np.inf)
    with pytest.raises(TypeError, match="standardized is 1"):
        kind(1)


def test_arrieta_ibarra_2022_exact_pvalue_of_ten_rows():
    assert law_of_labels(Kuiper(), TEN).pvalue(0.14) == pytest.approx(0.648394, abs=5e-7)


def test_arrieta_ibarra_2022_the_range_is_that_of_an_interval():
    """From the third to the sixth row, the residuals are 0.75, -0.35, 0.55 and 0.45."""
    worst = WorstInterval()(TEN)
    assert (worst.low, worst.high) == (0.25, 0.55)
    assert worst.deviation == pytest.approx((0.75 - 0.35 + 0.55 + 0.45) / 10, abs=1e-12)
    assert worst.share == pytest.approx(0.4)
