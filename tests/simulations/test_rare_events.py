"""Numbers of the workshop and of the blog, what scores are on average over labels, and how often cells lie outside."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibstat as cs
from calibstat.generators import BetaPredictions
from simulations import rare_events as study
from simulations.frame import small_cells_on_purpose

# Mean prediction, rows, events and acceptance intervals in the cells of the workshop: 20 905 patients.
MEAN = [0.00172195, 0.01404711, 0.02396347, 0.03869902, 0.07250134, 0.16990728, 0.37734362, 0.60201047, 0.81447059]
ROWS = [3089, 1366, 1376, 2447, 4780, 6140, 1240, 382, 85]
EVENTS = [38, 55, 54, 139, 371, 919, 421, 211, 69]
LOW = [0.00032, 0.00805, 0.01599, 0.03106, 0.06527, 0.16059, 0.35081, 0.55236, 0.72941]
HIGH = [0.00324, 0.02050, 0.03270, 0.04659, 0.07992, 0.17932, 0.40403, 0.65183, 0.89412]


def test_acceptance_intervals_of_the_workshop():
    low, high = study.acceptance(MEAN, ROWS)
    assert low / ROWS == pytest.approx(LOW, abs=6e-6)
    assert high / ROWS == pytest.approx(HIGH, abs=6e-6)
    outside = (np.array(EVENTS) < low) | (np.array(EVENTS) > high)
    assert (np.flatnonzero(outside) + 1).tolist() == [1, 2, 3, 4, 6, 7]
    assert low[7] == EVENTS[7]  # exactly on the lower end


def test_the_ten_rows_of_the_blog_cannot_tell_the_definitions_apart():
    with small_cells_on_purpose():
        assert study.blog_numbers(study.BLOG).values == pytest.approx([0.241, 0.241, 0.201])


def test_the_rule_of_the_blog_punishes_a_model_that_is_right():
    right = cs.Sample([1] + [0] * 9, [0.1] * 10)
    with small_cells_on_purpose():
        assert study.blog_numbers(right).values == pytest.approx([0.8, 0, 0])
    many = BetaPredictions(1, 1).sample(200_000, 0)
    assert study.accuracy_against_chance(many) == pytest.approx((2 / 3 + 1 / 12) / 3, abs=0.004)


def test_expected_scores_are_means_over_all_labels():
    predicted, chance = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.7, 0.6])
    brier = loss = 0.0
    for labels in product((0, 1), repeat=3):
        weight = np.prod(np.where(labels, chance, 1 - chance))
        sample = cs.Sample(list(labels), predicted, labels=[0, 1])
        brier += weight * cs.BrierScore()(sample)
        loss += weight * cs.LogScore()(sample)
    assert study.expected_scores(predicted, chance) == pytest.approx((brier, loss))
    assert study.expected_scores(np.zeros(1), np.full(1, 0.01))[1] == np.inf


def test_parts_add_up_and_the_plain_calibration_part_has_the_noise_of_its_cells():
    rng = np.random.default_rng(0)
    claimed, chance = rng.integers(0, 20, 4000) / 100, rng.uniform(0, 0.3, 4000)
    gaps = []
    for _ in range(100):
        found = study.parts_of(claimed, (rng.random(4000) < chance).astype(int), chance)["part"]
        parts = {name: found.sel(part_of=name, drop=True).values for name in found["part_of"].values}
        whole = parts["uncertainty"] - parts["sharpness"] + parts["calibration"] + parts["residual"]
        assert whole == pytest.approx(parts["score"], abs=1e-12)
        assert parts["residual"] == pytest.approx(0, abs=1e-12)
        gaps.append(parts["calibration"][:2] - parts["calibration"][2])
    (plain, debiased), error = np.mean(gaps, axis=0), np.std(gaps, axis=0)[1] / 10
    assert plain == pytest.approx(20 * 0.15 * 0.85 / 4000, abs=4 * error)  # of 20 cells
    assert abs(debiased) < 4 * error < plain


def test_cells_hold_rows_from_their_lower_edge_on():
    claimed = np.array([0.0, 0.01, 0.015, 0.4, 1.0])
    found = study.cells_of(claimed, np.array([0, 1, 0, 1, 1]), np.array([0, 0.5, 0.1, 0.4, 1]))
    assert found["count"].values.tolist() == [1, 2, 0, 0, 0, 0, 1, 0, 1]
    assert found.isel(cell=1)["happened"] == 0.5
    assert found.isel(cell=1)["true"].item() == pytest.approx(0.3)
    assert found.isel(cell=2)["mean"].isnull()


def test_a_cell_of_a_right_forest_lies_outside_more_often_than_one_in_twenty_diagrams():
    rng = np.random.default_rng(0)
    each, together = study.false_alarms(rng.beta(1, 8, 3000).round(2), 400, rng)
    assert together < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert each > 0.15


def test_a_forest_claims_what_is_certain_and_calibrators_are_judged_on_the_same_rows():
    found = study.Workshop(400, 20, (100, 200), 1000, 3)(np.random.default_rng(0))
    scores = found["score"].sel(what="log loss")
    assert np.isinf(scores.sel(calibrator=study.UNCALIBRATED)).all()
    assert np.isfinite(scores.sel(calibrator=study.PLATT)).all()
    assert (study.excess(found) > 0).all()
    auc = found["auc"]
    assert auc.sel(calibrator=study.PLATT).item() == pytest.approx(auc.sel(calibrator=study.UNCALIBRATED).item())
