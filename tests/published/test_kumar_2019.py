"""Kumar, Liang & Ma (2019), "Verified uncertainty calibration": plug-in and debiased squared errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.miscalibration import Distance
from published.enumeration import law_of_labels

LEVELS = cs.UniqueValues()
NINE = cs.Sample([0, 1, 0, 1, 0, 1, 1, 1, 0], [0.5, 0.5, 0.5, 0.6, 0.5, 0.6, 0.6, 0.6, 0.6])
FOURTEEN = cs.Sample([0] * 5 + [1] * 4 + [2] * 5, [[0.6, 0.3, 0.1]] * 6 + [[0.1, 0.8, 0.1]] * 4 + [[0.1, 0.0, 0.9]] * 4)


def plug_in(p):
    """The l_p error of event probabilities, its p-th power averaged over cells (two classes)."""
    return cs.ExpectedMiscalibration(LEVELS, PowerOfTotalVariation(p))


class PowerOfTotalVariation(Distance):
    def __init__(self, p):
        self.p = p

    def __call__(self, first, second):
        return cs.TotalVariation()(first, second) ** self.p


def test_kumar_2019_errors_of_nine_rows():
    assert cs.ECE(LEVELS)(NINE) == pytest.approx(0.2222222222, abs=1e-10)
    assert cs.RMSCE(LEVELS)(NINE) == pytest.approx(0.2236067977, abs=1e-10)
    assert cs.RMSCE(LEVELS)(NINE) ** 2 == pytest.approx(0.05, abs=1e-14)
    assert cs.DebiasedCE(LEVELS)(NINE) == pytest.approx(0, abs=1e-14)


def test_kumar_2019_error_of_two_single_rows():
    assert cs.RMSCE(LEVELS)(cs.Sample([1, 0], [0.3, 0.6])) == pytest.approx(0.6519202405, abs=1e-10)


@pytest.mark.parametrize(
    ("n", "score", "chance", "plug_in_mean", "truth"),
    [(4, 0.3, 0.5, 0.1025, 0.04), (2, 0.3, 0.5, 0.165, 0.04), (10, 0.2, 0.2, 0.016, 0.0)],
)
def test_kumar_2019_definition_4_1_debiased_estimator_is_unbiased(n, score, chance, plug_in_mean, truth):
    sample = cs.Sample([0] * n, [score] * n, labels=[0, 1])
    chances = np.tile([1 - chance, chance], (n, 1))
    assert law_of_labels(cs.DebiasedCE(LEVELS), sample, chances).mean == pytest.approx(truth, abs=1e-12)
    squared = law_of_labels(cs.RMSCE(LEVELS), sample, chances)
    assert squared.values**2 @ squared.masses == pytest.approx(plug_in_mean, abs=1e-12)


def test_kumar_2019_definition_4_1_labels_of_unequal_chance_in_a_cell_are_over_corrected():
    """By v / (n_b - 1), v the variance of the chances; the U-statistic of Lee et al. (2023) is not."""
    chance = np.array([0.1, 0.3, 0.5, 0.9])
    sample = cs.Sample([0] * 4, [0.3] * 4, labels=[0, 1])
    chances = np.column_stack([1 - chance, chance])
    gap = (0.3 - chance.mean()) ** 2
    spread = chance.var() / 3
    assert law_of_labels(cs.DebiasedCE(LEVELS), sample, chances).mean == pytest.approx(gap - spread, abs=1e-12)


@pytest.mark.parametrize(("single_rows", "expected"), [("zero", -0.0666666667), ("plugin", -0.0646666667)])
def test_kumar_2019_definition_4_1_cell_of_one_row(single_rows, expected):
    sample = cs.Sample([0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.9])
    assert cs.DebiasedCE(LEVELS, single_rows=single_rows)(sample) == pytest.approx(expected, abs=1e-10)
    assert cs.RMSCE(LEVELS)(sample) ** 2 == pytest.approx(0.002, abs=1e-14)
    with pytest.raises(ValueError, match="single row"):
        cs.DebiasedCE(LEVELS, single_rows="raise")(sample)


@pytest.mark.parametrize(
    ("p", "marginal", "top"),
    [(1, 0.0857142857, 0.1428571429), (2, 0.1158132048, 0.1640267109), (3, 0.1348293812, 0.1793170936)],
)
def test_kumar_2019_marginal_and_top_label_errors(p, marginal, top):
    powers = [(cs.ClassWise(k) | plug_in(p))(FOURTEEN) for k in range(3)]
    assert np.mean(powers) ** (1 / p) == pytest.approx(marginal, abs=1e-10)
    assert (cs.TopLabel() | plug_in(p))(FOURTEEN) ** (1 / p) == pytest.approx(top, abs=1e-10)


def test_kumar_2019_definition_4_1_debiased_marginal_and_top_label_errors():
    debiased = [(cs.ClassWise(k) | cs.DebiasedCE(LEVELS))(FOURTEEN) for k in range(3)]
    np.testing.assert_allclose(debiased, [0.0171428571, -0.0214285714, -0.0042857143], atol=1e-10)
    assert np.mean(debiased) == pytest.approx(-0.0028571429, abs=1e-10)
    assert np.sqrt(np.mean(np.maximum(debiased, 0))) == pytest.approx(0.0755928946, abs=1e-10)
    assert (cs.TopLabel() | cs.DebiasedCE(LEVELS))(FOURTEEN) == pytest.approx(-0.0028571429, abs=1e-10)
