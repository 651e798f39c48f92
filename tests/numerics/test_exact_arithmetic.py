"""Values of small samples that tempt floating point, against the same formula in exact rational arithmetic.

Every double is a fraction, so the reference has no rounding at all but for roots, logarithms and exponentials, which
have eighty digits (sixteen where the estimator computes on a mesh): ties, the smallest positive numbers, predictions
one step from one, and weights at both ends of the range of doubles.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import calibstat as cs
from numerics import exact
from suites import slow_but

TINY, LEAST, NEXT = 1e-300, 5e-324, 1 - 2.0**-53
PREDICTIONS = {
    "ties": [0.5] * 6 + [0.25] * 4,
    "tenths": [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.3, 0.7],
    "next to the ends": [TINY, NEXT, TINY, NEXT, 0.5, NEXT, LEAST, LEAST, TINY, NEXT],
    "ends": [0.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.5, LEAST, NEXT],
    "tiny": [TINY, 2 * TINY, 3 * TINY, LEAST, 1e-200, 1e-100, 1e-17, 1e-16, 1e-15, 1e-10],
    "hardly apart": [0.3 + k * 2.0**-33 for k in range(10)],
    "certain and wrong": [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0],
}
OUTCOMES = [0, 1, 1, 0, 1, 1, 0, 1, 0, 0]
WEIGHTS = {
    "none": None,
    "alike": [1.0] * 10,
    "thirds": [1 / 3, 2 / 3, 1.0, 4 / 3, 1 / 7, 0.1, 0.2, 0.3, 3.0, 11.0],
    "huge": [1e300, 3e300, 2e300, 7e300, 1e300, 5e300, 1e300, 2e300, 3e300, 4e300],
    "largest": [1e308, 1.5e308, 1.7e308, 1e308, 1.2e308, 1.15e308, 1e308, 1.3e308, 1.4e308, 1.6e308],
    "small": [1e-300, 3e-300, 2e-300, 7e-300, 1e-300, 5e-300, 1e-300, 2e-300, 3e-300, 4e-300],
    "least": [k * LEAST for k in (1, 3, 2, 7, 1, 5, 1, 2, 3, 4)],
    "far apart": [1.0, 1e17, 1.0, 3.0, 1e17, 1.0, 1e-17, 2.0, 1e9, 1.0],
    "one and almost none": [1.0, 1e-300, 1.0, 1e-300, 2.0, 1e-300, 1e-300, 1.0, 3e-300, 1.0],
    "both ends": [1e300, 1e-300, 1e300, 1e-300, 2e300, 1e-300, 1e-300, 1e300, 3e-300, 1e300],
}
CELLS = cs.EqualWidth(4)
CHECKED = {
    "ECE": (cs.ECE(CELLS), exact.powers_of_gaps(1)),
    "ECE of a variable": (cs.VECE("v", cs.FixedEdges([0, 0.25, 0.5, 0.75, 1])), exact.powers_of_gaps(1)),
    "ACE": (cs.ACE(3), exact.adaptive),
    "MCE": (cs.MCE(CELLS), exact.largest_gap),
    "ECE of order infinity": (cs.ECE(CELLS, p=np.inf), exact.largest_gap),
    "SquaredCE": (cs.SquaredCE(CELLS), exact.powers_of_gaps(2)),
    "RMSCE": (cs.RMSCE(CELLS), exact.rms),
    "LpCE": (cs.LpCE(CELLS, p=3), exact.twice(exact.powers_of_gaps(3))),
    "ExpectedMiscalibration": (cs.ExpectedMiscalibration(CELLS), exact.powers_of_gaps(1)),
    "its square": (
        cs.ExpectedMiscalibration(CELLS, cs.SquaredEuclidean()),
        exact.twice(exact.powers_of_gaps(2)),
    ),
    "AUCV": (cs.AUCV(CELLS), exact.area_under_validity),
    "TruthfulCE": (cs.TruthfulCE(CELLS), exact.truthful),
    "DebiasedL2": (cs.DebiasedL2(CELLS), exact.debiased("pairs")),
    "DebiasedL2 by counts": (cs.DebiasedL2(CELLS, denominator="counts"), exact.debiased("counts")),
    "DebiasedCE": (cs.DebiasedCE(CELLS), exact.debiased_by_spread),
    "PDE": (cs.PDE(CELLS), exact.deviation_of_scores),
    "PearsonCE": (cs.PearsonCE(CELLS), exact.pearson),
    "HosmerLemeshow": (cs.HosmerLemeshow(CELLS), exact.hosmer_lemeshow),
    "PigeonHeyse": (cs.PigeonHeyse(CELLS), lambda rows: exact.hosmer_lemeshow(rows)[1:]),
    "StandardizedL2": (cs.StandardizedL2(CELLS), exact.standardized),
    "MultiscaleL2": (cs.MultiscaleL2(), exact.multiscale),
    "BrierDecomposition": (cs.BrierDecomposition(CELLS), exact.brier_parts),
    "ProbabilisticCount": (cs.ProbabilisticCount(CELLS), exact.count_of_cells),
    "Kuiper": (cs.Kuiper(), exact.kuiper),
    "KS": (cs.KS(), exact.kolmogorov_smirnov),
    "Kuiper in deviations": (cs.Kuiper(standardized=True), exact.in_deviations(exact.kuiper)),
    "KS in deviations": (cs.KolmogorovSmirnov(standardized=True), exact.in_deviations(exact.kolmogorov_smirnov)),
    "CramerVonMises": (cs.CramerVonMises(), exact.cramer_von_mises),
    "AndersonDarling": (cs.AndersonDarling(), exact.anderson_darling),
    "MeanAndBridge": (cs.MeanAndBridge(), exact.mean_and_bridge),
    "AverageTwoBin": (cs.AverageTwoBin(), exact.average_two_bin),
    "SmoothCE": (cs.SmoothCE(), exact.smooth),
    "BrierScore": (cs.BrierScore(), exact.brier),
    "RMSE": (cs.RMSE(), exact.root_of_brier),
    "LogScore": (cs.LogScore(), exact.log_score(1e-15)),
    "LogScore of all": (cs.LogScore(0.0), exact.log_score(0.0)),
    "SphericalScore": (cs.SphericalScore(), exact.spherical),
    "ZeroOneLoss": (cs.ZeroOneLoss(), exact.wrong),
    "AUC": (cs.AUC(), exact.auc),
    "KendallTau": (cs.KendallTau(), exact.kendall("ignore")),
    "KendallTau a": (cs.KendallTau("tau_a"), exact.kendall("tau_a")),
    "KendallTau, strict": (cs.KendallTau("strict"), exact.kendall("strict")),
    "MeanCalibration": (cs.MeanCalibration(), exact.mean_calibration),
    "ObservedToExpected": (cs.ObservedToExpected(), exact.observed_to_expected),
    "ScoreExcess": (cs.ScoreExcess("brier"), exact.brier_excess),
    "ScoreExcess of logarithms": (cs.ScoreExcess("log"), exact.log_excess),
    "Spiegelhalter": (cs.Spiegelhalter(), exact.spiegelhalter),
    "BrierZ": (cs.BrierZ(), exact.spiegelhalter),
    "LogLossZ": (cs.LogLossZ(), exact.log_loss_z),
    "CORP": (cs.CORP(), exact.corp),
    "SKCE": (cs.SKCE(0.1), exact.kernel_error("unbiased")),
    "SKCE, biased": (cs.SKCE(0.1, "biased"), exact.kernel_error("biased")),
    "KCE": (cs.KCE(0.1), exact.root_of_kernel_error),
    "FerroFricker": (cs.FerroFricker(CELLS), exact.ferro_fricker),
    "LogitScore": (cs.LogitScore(), exact.logit_score(3)),
    "LogitScore of lines": (cs.LogitScore(1), exact.logit_score(1)),
    "Cox": (cs.Cox(), exact.cox),
    "LOESS": (cs.LOESS(n_points=5, trim=0.125), exact.local_curve(Fraction(3, 4), 2, 5, Fraction(1, 8))),
    "LOESS of lines": (cs.LOESS(2 / 3, 1, n_points=5, trim=0), exact.local_curve(Fraction(2 / 3), 1, 5, Fraction(0))),
    "ICI": (cs.ICI(), exact.indices(Fraction(3, 4), 2)),
    "ICI of lines": (cs.ICI(cs.LOESS(2 / 3, 1)), exact.indices(Fraction(2 / 3), 1)),
    "KDECE": (cs.KDECE(0.1), exact.kernel_density(0.1, 1)),
    "KDECE of squares": (cs.KDECE(0.02, 2), exact.kernel_density(0.02, 2)),
    "SmoothECE": (cs.SmoothECE(), exact.smoothed),
    "SmoothECE of a bandwidth": (cs.SmoothECE(0.1), exact.smoothed_with(0.1)),
}
COUNTED = {
    "TCE": (cs.TCE(CELLS), exact.contradicted(exact.quarters, 0.05)),
    "TCE at a high level": (cs.TCE(CELLS, 0.6), exact.contradicted(exact.quarters, 0.6)),
    "TCE of pools": (cs.TCE(None, 0.6, 2, 6), exact.contradicted(exact.pools_of_sizes(2, 6), 0.6)),
    "TCE of small pools": (cs.TCE(None, 0.6, 3, 5), exact.contradicted(exact.pools_of_sizes(3, 5), 0.6)),
}
# Digits of the value, and of what is subtracted for it, where there are fewer than eleven and fifteen.
DIGITS = {
    # Normal equations of degree 2 are sums too, of which differences are taken.
    **dict.fromkeys(["LOESS", "LOESS of lines", "ICI", "ICI of lines"], (11, 14)),
    # Of a mesh of 1024 intervals, in a bandwidth of a tenth: the error of cubic interpolation, (1 / 102)^4 = 1e-8.
    **dict.fromkeys(["SmoothECE", "SmoothECE of a bandwidth"], (7, 7)),
    # Logits of 0.8 have sixteen digits and differ by 2e-9.
    **{(name, "hardly apart"): (6, 6) for name in ("LogitScore", "LogitScore of lines")},
    # The points of a curve are doubles at 0.3, and its range is 1e-9.
    **{(name, "hardly apart"): (6, 6) for name in ("LOESS", "LOESS of lines")},
}
# What cannot be told in double precision, and why.
ONE_DIGIT = "the smallest double has one binary digit, of which a weight leaves none, and its logarithm matters"
ON_A_LEVEL = "a third of the weight is reached by a row or not, as its last digit says"
OUTWEIGHED = "all but 1e-9 of the weight of a cell is that of one row: the weight of pairs has seven digits"
ONE_LOGIT = "logits that differ by less than 1e-6 of themselves are one to a fit, which has no slope"
NO_DIRECTION = "a direction with less than 1e-10 of the variance of others is none, and rows have so little"
NOT_CURVED = "rows have less than 1e-10 of the weight, or of the squared distances, and the curve bends for them alone"
LEFT_DIGITS = (
    "the normal equations leave eight digits of rows that have 1e-8 of the weight, and none of those with less"
)
UNCLEAR = {
    **{("AndersonDarling", p, w): ONE_DIGIT for p in ("next to the ends", "ends") for w in WEIGHTS if w != "none"},
    ("PearsonCE", "ends", "far apart"): ONE_DIGIT,
    ("HosmerLemeshow", "ends", "far apart"): ONE_DIGIT,
    **{("ACE", p, "one and almost none"): ON_A_LEVEL for p in PREDICTIONS},
    ("DebiasedL2", "next to the ends", "far apart"): OUTWEIGHED,
    **{("Cox", "hardly apart", w): ONE_LOGIT for w in WEIGHTS},
    **{("LogitScore", "next to the ends", w): NO_DIRECTION for w in WEIGHTS},
    **{("LogitScore", p, "far apart"): NO_DIRECTION for p in ("ties", "tenths", "hardly apart")},
    **{(name, "ties", "far apart"): NO_DIRECTION for name in ("LogitScore of lines", "Cox")},
    **{(name, "tiny", w): NOT_CURVED for name in ("LOESS", "LOESS of lines") for w in WEIGHTS},
    **{(name, "tiny", "thirds"): NOT_CURVED for name in ("ICI", "ICI of lines")},
    **{("LOESS", p, "far apart"): LEFT_DIGITS for p in ("ties", "next to the ends", "ends", "certain and wrong")},
    **{("ICI", p, "far apart"): LEFT_DIGITS for p in ("next to the ends", "ends")},
    **{("LOESS of lines", p, "far apart"): LEFT_DIGITS for p in ("tenths", "next to the ends", "ends")},
}
LARGEST = Decimal(np.finfo(float).max)


def sample_of(p, y, w):
    return cs.Sample(y, p, sample_weight=w, variables={"v": p})


def numbers(estimator, sample):
    """All numbers of a value; of several bandwidths and the like the one."""
    if isinstance(estimator, cs.SKCE):
        return [float(estimator(sample))]
    if estimator.lens != cs.Canonical():
        return [float(estimator(sample))]
    return np.ravel(estimator.prepare(sample.predictions)(sample.outcomes)).tolist()


def rows_of(sample):
    """Weights that are too large or too small are multiplied by a power of two before anything else."""
    weights = np.ones(len(sample)) if sample.predictions.weights is None else sample.predictions.weights
    columns = (sample.predictions.event.tolist(), sample.outcomes.tolist(), weights.tolist())
    return [(Fraction(p), y, Fraction(w)) for p, y, w in zip(*columns, strict=True)]


def agrees(found, wanted, digits=(11, 15)):
    """To eleven digits of the value, or fifteen of what is subtracted for it; or to as many as there are."""
    value, size = exact.decimal(wanted.exact), exact.decimal(wanted.size)
    if value.is_nan() or abs(value) > LARGEST:
        return np.isnan(found) if value.is_nan() else found == np.inf
    of_value, of_size = (Decimal(10) ** -each for each in digits)
    return np.isfinite(found) and abs(Decimal(found) - value) <= of_value * abs(value) + of_size * size


def digits_of(name, predictions):
    return DIGITS.get((name, predictions)) or DIGITS.get(name, (11, 15))


@pytest.mark.parametrize(
    ("predictions", "weights"),
    slow_but(lambda case: case[1] in ("none", "far apart", "both ends"), product(PREDICTIONS, WEIGHTS)),
)
def test_values_are_those_of_exact_arithmetic(predictions, weights):
    sample = sample_of(PREDICTIONS[predictions], OUTCOMES, WEIGHTS[weights])
    rows, off = rows_of(sample), []
    for name, (estimator, formula) in CHECKED.items():
        if (name, predictions, weights) not in UNCLEAR:
            found, wanted = numbers(estimator, sample), formula(rows)
            if not all(agrees(*each, digits_of(name, predictions)) for each in zip(found, wanted, strict=True)):
                off.append((name, found, [float(each.exact) for each in wanted]))
    assert not off


@pytest.mark.parametrize("predictions", PREDICTIONS)
def test_shares_of_rejections_are_those_of_exact_arithmetic(predictions):
    sample = sample_of(PREDICTIONS[predictions], OUTCOMES, None)
    for estimator, formula in COUNTED.values():
        assert agrees(estimator(sample), formula(rows_of(sample))[0])


@pytest.mark.parametrize("case", UNCLEAR, ids=", ".join)
def test_what_cannot_be_told_has_a_value_nevertheless(case):
    name, predictions, weights = case
    found = numbers(CHECKED[name][0], sample_of(PREDICTIONS[predictions], OUTCOMES, WEIGHTS[weights]))
    assert np.isfinite(found[6:] if name == "Cox" else found).all()  # where there is no slope there are statistics


@pytest.mark.parametrize("weights", ["huge", "small", "thirds"])
def test_weights_may_have_any_common_factor(weights):
    """From 1e-300 to 1e300, and beyond: a power of two changes no digit, but for the last one of its root in a fit."""
    p, w = PREDICTIONS["tenths"], np.array(WEIGHTS[weights])
    for name, (estimator, _) in CHECKED.items():
        there = [
            numbers(estimator, sample_of(p, OUTCOMES, factor * (w / w.max()))) for factor in (2.0**-990, 1, 2.0**990)
        ]
        for each in there[::2]:
            np.testing.assert_allclose(each, there[1], rtol=1e-13 if name == "Cox" else 0)


def test_a_row_without_weight_is_none():
    """Not even if its outcome was impossible, which costs infinitely much where nothing is clipped."""
    p, y = [0.5, 0.25, 0.0], [1, 0, 1]
    score = cs.LogScore(0.0)
    assert score(cs.Sample(y, p, sample_weight=[1, 2, 0])) == score(cs.Sample(y[:2], p[:2], sample_weight=[1, 2]))
    assert score(cs.Sample(y, p, sample_weight=[1, 2, 1e-9])) == np.inf


@pytest.mark.parametrize("predictions", slow_but(["ties", "next to the ends"], PREDICTIONS))
def test_the_order_of_rows_does_not_matter(predictions):
    p, w, y = np.array(PREDICTIONS[predictions]), np.array(WEIGHTS["thirds"]), np.array(OUTCOMES)
    rng = np.random.default_rng(0)
    permuted = [np.arange(10), *(rng.permutation(10) for _ in range(5))]
    for name, (estimator, formula) in CHECKED.items():
        of_value, of_size = (10.0**-each for each in digits_of(name, predictions))
        size = [float(each.size) for each in formula(rows_of(sample_of(p, y, w)))]
        found = [numbers(estimator, sample_of(p[order], y[order], w[order])) for order in permuted]
        for each in found:
            there = np.isfinite(found[0])
            np.testing.assert_array_equal(np.isfinite(each), there)
            gaps = np.abs(np.subtract(each, found[0], where=there, out=np.zeros(len(each))))
            assert (gaps <= of_value * np.abs(np.where(there, found[0], 0)) + 2 * of_size * np.array(size)).all()


def test_the_reference_sees_what_floating_point_loses():
    """A sum in double precision forgets the small weights beside the large ones."""
    w = WEIGHTS["far apart"]
    assert sum(Fraction(each) for each in w) != Fraction(sum(w))


def test_negative_control_running_sums_lose_the_digits_of_later_cells():
    """Squared variances of 1e-32 are lost in differences of running sums that began with 0.04."""
    p = np.array([0.3, NEXT, NEXT, NEXT, NEXT])
    squares = [(Fraction(each) * (1 - Fraction(each))) ** 2 for each in p.tolist()]
    wanted = exact.Value(sum(squares[1:], Fraction(0)), 0)
    squared = (p * (1 - p)) ** 2
    running = np.cumsum(squared)
    assert not agrees(float(running[-1] - running[0]), wanted)
    assert agrees(float(squared[1:].sum()), wanted)
