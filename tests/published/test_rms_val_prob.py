"""Numbers that ``val.prob`` of Harrell's R package rms 6.5-0 prints (R 4.2.2), and ``glm`` for standard errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


def ten_rows():
    return [0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(0.05, 1, 0.1)


def sixty_rows():
    """In R: i <- 1:60; p <- (i - .5) / 60; y <- as.integer(((37 * i) %% 61) / 61 < p^1.5)."""
    i = np.arange(1, 61)
    p = (i - 0.5) / 60
    return ((37 * i) % 61 / 61 < p**1.5).astype(int), p


def rare_events():
    """In R: i <- 1:400; p <- .002 + .18 * ((i - .5) / 400)^2; y <- as.integer(((149 * i) %% 401) / 401 < 1.6 * p)."""
    i = np.arange(1, 401)
    p = 0.002 + 0.18 * ((i - 0.5) / 400) ** 2
    return ((149 * i) % 401 / 401 < 1.6 * p).astype(int), p


# Dxy, C (ROC), U:Chi-sq, U:p, Brier, Intercept, Slope, Emax, E90, Eavg, S:z, S:p
PRINTED = {
    ten_rows: (
        0.6666666666667, 0.8333333333333, 0.6225653216607, 0.7325067956249, 0.1725, 0.6374101767354, 1.1056629644968,
        0.2628251134159, 0.2004869225271, 0.1070959265102, 0.0855545003899, 0.9318205692071,
    ),
    sixty_rows: (
        0.7245370370370, 0.8622685185185, 3.9236753892477, 0.1405998038606, 0.1594212962963, -0.6595372220253,
        1.1677748881932, 0.1434047180817, 0.1388876380045, 0.0970367652298, -0.3082701459605, 0.7578767806682,
    ),
    rare_events: (
        0.47930555555556, 0.73965277777778, 9.71863172731227, 0.00775578809304, 0.08598041087504, 0.13296383669850,
        0.82455253508091, 0.09571932802463, 0.07723291282803, 0.03842361370171, 3.28864537029787, 0.00100670781145,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rows", PRINTED)
def test_harrell_rms_6_5_0_val_prob_output(rows):
    y, p = rows()
    sample = cs.Sample(y, p)
    fit, curve = cs.Cox()(sample), cs.ICI(cs.LOESS(2 / 3, degree=1))(sample)
    spiegelhalter = cs.calibration_test(sample, cs.Spiegelhalter(), null="asymptotic")
    found = (
        2 * cs.AUC()(sample) - 1, cs.AUC()(sample), fit.likelihood_ratio, fit.likelihood_ratio_pvalue,
        cs.BrierScore()(sample), fit.intercept, fit.slope, curve.emax, curve.e90, curve.ici,
        spiegelhalter.statistic, spiegelhalter.pvalue,
    )  # fmt: skip
    # lrm stops at a deviance that changes by 2.5e-5, and lowess interpolates within 0.01 of the range of p
    np.testing.assert_allclose(found, PRINTED[rows], rtol=5e-5, atol=1e-6)


@pytest.mark.parametrize("rows", PRINTED)
def test_the_clinical_summary_has_the_numbers_of_harrell_rms_6_5_0_val_prob(rows):
    y, p = rows()
    found, printed = cs.clinical_summary(cs.Sample(y, p), n_resamples=19, rng=0), PRINTED[rows]
    values = [found[name].value for name in ("c_index", "brier", "slope")]
    np.testing.assert_allclose(values, [printed[1], printed[4], printed[6]], rtol=5e-5)


def test_intervals_of_intercept_and_slope_are_those_of_glm_in_r_4_2_2():
    """coef(summary(glm(y ~ offset(qlogis(p))))) and coef(summary(glm(y ~ qlogis(p)))), both binomial."""
    y, p = sixty_rows()
    found = cs.clinical_summary(cs.Sample(y, p), n_resamples=19, rng=0)
    z = 1.959964
    for name, value, error in (
        ("intercept", -0.60727846593, 0.322064551528),
        ("slope", 1.167774917565, 0.318094583010),
    ):
        assert found[name].value == pytest.approx(value, abs=1e-6)
        assert found[name].interval == pytest.approx((value - z * error, value + z * error), abs=3e-5)
