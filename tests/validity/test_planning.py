"""Planned numbers of labels give the power that was wanted, within five points in 2 000 fresh runs.

The suite plans a test of known power; ``python tests/validity/test_planning.py`` plans tests of calibration errors
(half an hour).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import calibstat as cs
from calibstat import generators as g
from calibstat.planning.families import ErrorFamily
from calibstat.planning.planning import PlannedTest, minimum_detectable, required_n
from suites import slow_but
from validity.normal_test import clustered_z, known_power, known_power_in_clusters, mean_z

SEED = 20260802
FRESH = 2000


def fresh_power(plan, n, model, seed=SEED):
    return plan.test.rejections(model, n, FRESH, np.random.default_rng([seed, n])) / FRESH


@pytest.mark.parametrize(("shift", "power"), [(0.5, 0.8), (0.2, 0.9), (1.0, 0.5)])
def test_planned_labels_give_the_wanted_power(shift, power):
    model = g.BetaPredictions(1, 1, g.LogitShift(shift))
    plan = required_n(model, mean_z, power=power, rng=SEED)
    assert abs(fresh_power(plan, plan.n, model) - power) < 0.05
    assert abs(known_power(shift, plan.n) - power) < 0.05


def test_negative_control_half_the_labels_do_not():
    model = g.BetaPredictions(1, 1, g.LogitShift(0.5))
    plan = required_n(model, mean_z, rng=SEED)
    assert fresh_power(plan, plan.n // 2, model) < 0.7


def test_the_smallest_effect_gives_the_wanted_power():
    def family(shift):
        return g.BetaPredictions(1, 1, g.LogitShift(shift))

    found = minimum_detectable(family, 1000, mean_z, bounds=(0.01, 3), rng=SEED)
    assert abs(known_power(found.effect, 1000) - 0.8) < 0.05
    assert abs(fresh_power(found, 1000, family(found.effect)) - 0.8) < 0.05


IN_CLUSTERS = [(8, 0.3), (8, 0.05), (4, 0.9)]


@pytest.mark.parametrize(("size", "correlation"), slow_but(IN_CLUSTERS[:1], IN_CLUSTERS))
def test_planned_labels_in_clusters_give_the_wanted_power(size, correlation):
    model = g.BetaPredictions(1, 1, g.LogitShift(0.3))
    plan = required_n(model, clustered_z, cluster_size=size, correlation=correlation, rng=SEED)
    assert abs(fresh_power(plan, plan.n, plan.model) - 0.8) < 0.05
    assert abs(known_power_in_clusters(0.3, plan.n, size, correlation) - 0.8) < 0.05
    # as many rows as the design effect says, which leaves out that errors of a cluster are alike too
    alone = next(n for n in range(10, 10_000) if known_power(0.3, n) >= 0.8)
    assert plan.n == pytest.approx(alone * plan.model.design_effect, rel=0.15)


def test_planned_labels_in_unequal_clusters_give_the_wanted_power():
    world = g.Clustered(g.BetaPredictions(1, 1, g.LogitShift(0.3)), g.ParetoSizes(1.5, 3, 40), 0.3, "constant")
    plan = required_n(world, clustered_z, rng=SEED)
    assert abs(fresh_power(plan, plan.n, world) - 0.8) < 0.05


def test_negative_control_labels_planned_as_independent_do_not():
    model = g.BetaPredictions(1, 1, g.LogitShift(0.3))
    plan = required_n(model, mean_z, rng=SEED)
    clustered = required_n(model, clustered_z, cluster_size=8, correlation=0.3, rng=SEED)
    assert fresh_power(clustered, plan.n, clustered.model) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("predictions", ["constant", "varying"])
@pytest.mark.parametrize("size", [8, g.ParetoSizes(1.5, 3, 60)], ids=["equal", "Pareto"])
def test_planned_labels_in_clusters_give_a_calibration_test_the_wanted_power(size, predictions):
    world = g.Clustered(ErrorFamily()(0.1), size, 0.3, predictions)
    plan = required_n(world, cs.ECE(cs.EqualMass(10)), rng=SEED)
    print(f"{size!r}, {predictions}: n = {plan.n} {plan.interval}, design effect {world.design_effect:.2f}")
    assert abs(fresh_power(plan, plan.n, world) - 0.8) < 0.05


@pytest.mark.slow
def test_intervals_cover_the_crossing():
    """The 95 % Monte Carlo interval covers the number that the known power curve asks for."""
    runs = 40
    model = g.BetaPredictions(1, 1, g.LogitShift(0.5))
    asked = next(n for n in range(10, 10_000) if known_power(0.5, n) >= 0.8)
    plans = [required_n(model, mean_z, n_repeats=300, rng=SEED + run) for run in range(runs)]
    covered = np.mean([low - 1 <= asked <= high + 1 for low, high in (plan.interval for plan in plans)])
    assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)
    # the negative control: intervals a fifth as wide do not
    narrow = [abs(plan.n - asked) <= (plan.interval[1] - plan.interval[0]) / 10 for plan in plans]
    assert np.mean(narrow) < 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)


def main():
    for statistic in (cs.ECE(cs.EqualMass(15)), cs.DebiasedL2(cs.EqualMass(15)), cs.Kuiper()):
        for size, direction in ((0.05, "overconfident"), (0.05, "too low"), (0.02, "overconfident")):
            model = ErrorFamily(direction=direction)(size)
            plan = required_n(model, statistic, rng=SEED)
            share = fresh_power(plan, plan.n, model)
            default = np.mean(
                [
                    cs.calibration_test(model.sample(plan.n, rng), statistic, rng=rng).pvalue <= 0.05
                    for rng in np.random.default_rng(SEED).spawn(200)
                ]
            )
            print(f"{statistic!r}, {direction} by {size}: n = {plan.n} {plan.interval}, power {share:.3f};", flush=True)
            print(f"  with the default null {default:.3f} (200 runs)", flush=True)
            assert abs(share - 0.8) < 0.05
            assert isinstance(plan.test, PlannedTest)


if __name__ == "__main__":
    main()
