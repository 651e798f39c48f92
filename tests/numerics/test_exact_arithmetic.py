"""Values of small samples that tempt floating point, against the same formula in exact rational arithmetic.

Every double is a fraction, so the reference has no rounding at all but for roots, logarithms and exponentials, which
have eighty digits: ties, the smallest positive numbers, predictions one step from one, and weights at both ends of the
range of doubles.
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
}
# What cannot be told in double precision, and why.
ONE_DIGIT = "the smallest double has one binary digit, of which a weight leaves none, and its logarithm matters"
ON_A_LEVEL = "a third of the weight is reached by a row or not, as its last digit says"
OUTWEIGHED = "all but 1e-9 of the weight of a cell is that of one row: the weight of pairs has seven digits"
UNCLEAR = {
    **{("AndersonDarling", p, w): ONE_DIGIT for p in ("next to the ends", "ends") for w in WEIGHTS if w != "none"},
    ("PearsonCE", "ends", "far apart"): ONE_DIGIT,
    ("HosmerLemeshow", "ends", "far apart"): ONE_DIGIT,
    **{("ACE", p, "one and almost none"): ON_A_LEVEL for p in PREDICTIONS},
    ("DebiasedL2", "next to the ends", "far apart"): OUTWEIGHED,
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


def agrees(found, wanted):
    """To eleven digits of the value, or fifteen of what is subtracted for it."""
    value, size = exact.decimal(wanted.exact), exact.decimal(wanted.size)
    if abs(value) > LARGEST:
        return found == np.inf
    return np.isfinite(found) and abs(Decimal(found) - value) <= Decimal("1e-11") * abs(value) + Decimal("1e-15") * size


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
            if not all(agrees(*each) for each in zip(found, wanted, strict=True)):
                off.append((name, found, [float(each.exact) for each in wanted]))
    assert not off


@pytest.mark.parametrize("case", UNCLEAR, ids=", ".join)
def test_what_cannot_be_told_has_a_value_nevertheless(case):
    name, predictions, weights = case
    found = numbers(CHECKED[name][0], sample_of(PREDICTIONS[predictions], OUTCOMES, WEIGHTS[weights]))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("weights", ["huge", "small", "thirds"])
def test_weights_may_have_any_common_factor(weights):
    """From 1e-300 to 1e300, and beyond: a power of two changes no digit."""
    p, w = PREDICTIONS["tenths"], np.array(WEIGHTS[weights])
    for estimator, _ in CHECKED.values():
        there = [
            numbers(estimator, sample_of(p, OUTCOMES, factor * (w / w.max()))) for factor in (2.0**-990, 1, 2.0**990)
        ]
        np.testing.assert_array_equal(there[0], there[1])
        np.testing.assert_array_equal(there[2], there[1])


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
    for estimator, formula in CHECKED.values():
        size = [float(each.size) for each in formula(rows_of(sample_of(p, y, w)))]
        found = [numbers(estimator, sample_of(p[order], y[order], w[order])) for order in permuted]
        for each in found:
            there = np.isfinite(found[0])
            np.testing.assert_array_equal(np.isfinite(each), there)
            gaps = np.abs(np.subtract(each, found[0], where=there, out=np.zeros(len(each))))
            assert (gaps <= 1e-11 * np.abs(np.where(there, found[0], 0)) + 2e-15 * np.array(size)).all()


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
