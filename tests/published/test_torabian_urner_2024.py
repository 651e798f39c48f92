"""Torabian & Urner (2024), "Calibration through the lens of interpretability": binned errors, Appendix B."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

SCORES = np.array([0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9])
OUTCOMES = np.array([0, 0, 1, 0, 1, 0, 1, 1])
# Cells are runs of rows: the row number is what is cut, so that tied scores may be parted as in the paper.
BY_ROW = cs.Given("row")


@pytest.fixture(scope="module")
def eight():
    return cs.Sample(OUTCOMES, SCORES, variables={"row": np.arange(8)})


@pytest.mark.parametrize(
    ("n_bins", "ece", "pde", "rmsce", "pde_cell", "pde_row"),
    [
        (1, 0.0375, 0.2375, 0.0375, 0.2375, 0.2669269563),
        (2, 0.0375, 0.1125, 0.0395284708, 0.1131923142, 0.1224744871),
        (4, 0.1625, 0.1625, 0.1677050983, 0.1677050983, 0.1837117307),
    ],
)
def test_torabian_urner_2024_binned_errors(eight, n_bins, ece, pde, rmsce, pde_cell, pde_row):
    binning = cs.EqualMass(n_bins)
    values = [
        (cs.ECE(binning), ece),
        (cs.PDE(binning), pde),
        (cs.RMSCE(binning), rmsce),
        (cs.PDE(binning, p=2), pde_cell),
        (cs.PDE(binning, p=2, placement="row"), pde_row),
    ]
    for estimator, expected in values:
        assert (BY_ROW | estimator)(eight) == pytest.approx(expected, abs=1e-10), estimator


def test_torabian_urner_2024_one_row_in_each_cell(eight):
    for estimator in (cs.ECE(cs.EqualMass(8)), cs.PDE(cs.EqualMass(8))):
        assert (BY_ROW | estimator)(eight) == pytest.approx(0.3625, abs=1e-12)


def test_torabian_urner_2024_two_cells_part_no_ties(eight):
    for estimator in (cs.ECE(cs.EqualMass(2)), cs.PDE(cs.EqualMass(2)), cs.PDE(cs.EqualMass(2), p=2)):
        assert estimator(eight) == pytest.approx((BY_ROW | estimator)(eight), abs=1e-14)


def test_torabian_urner_2024_appendix_b_offsetting_errors_in_a_cell():
    sample = cs.Sample([1] * 5 + [0] * 5 + [1] * 5 + [0] * 5, [0.3] * 10 + [0.7] * 10)
    one_cell = cs.FixedEdges([0, 1])
    assert cs.ECE(one_cell)(sample) == pytest.approx(0, abs=1e-14)
    assert cs.PDE(one_cell)(sample) == pytest.approx(0.2, abs=1e-14)


def test_torabian_urner_2024_appendix_b_pde_is_the_binned_error_where_cells_are_level_sets(eight):
    for p in (1, 2, 3):
        pde = cs.PDE(cs.UniqueValues(), p=p)(eight)
        assert pde == pytest.approx(cs.PDE(cs.UniqueValues(), p=p, placement="row")(eight), abs=1e-14)
    assert cs.PDE(cs.UniqueValues())(eight) == pytest.approx(cs.ECE(cs.UniqueValues())(eight), abs=1e-14)
    assert cs.PDE(cs.UniqueValues(), p=2)(eight) == pytest.approx(cs.RMSCE(cs.UniqueValues())(eight), abs=1e-14)


@pytest.mark.parametrize(("n_bins", "simulated"), [(5, 0.0499), (10, 0.0251), (20, 0.0129)])
def test_torabian_urner_2024_pde_of_calibrated_uniform_scores_is_a_quarter_cell(n_bins, simulated):
    """With known chances instead of labels the limit, 1 / (4 B), is exact up to the grid."""
    n = 20_000
    scores = (np.arange(n) + 0.5) / n
    chances = np.column_stack([1 - scores, scores])
    predictions = cs.Sample(np.zeros(n, int), scores, labels=[0, 1]).predictions
    limit = float(cs.PDE(cs.EqualWidth(n_bins)).prepare(predictions)(chances))
    assert limit == pytest.approx(1 / (4 * n_bins), abs=1e-6)
    assert limit == pytest.approx(simulated, abs=5e-4)
    assert float(cs.ECE(cs.EqualWidth(n_bins)).prepare(predictions)(chances)) == pytest.approx(0, abs=1e-14)


def test_gupta_2021_area_under_the_validity_curve_is_one_minus_the_error(eight):
    """V(eps) = P(|mean outcome - score| <= eps) over level sets; its area is 1 - ECE."""
    cells = cs.HistogramRegression(cs.UniqueValues())(eight).sel(label=1)
    deviation, share = np.abs(cells["deviation"].values), cells["proportion"].values
    curve = {eps: share[deviation <= eps + 1e-12].sum() for eps in (0, 0.1, 0.2, 0.3, 0.5)}
    assert curve == pytest.approx({0: 0, 0.1: 0.5, 0.2: 0.5, 0.3: 0.875, 0.5: 1})
    assert 1 - cs.ECE(cs.UniqueValues())(eight) == pytest.approx(0.7875, abs=1e-12)
    assert 1 - (BY_ROW | cs.ECE(cs.EqualMass(4)))(eight) == pytest.approx(0.8375, abs=1e-12)
