"""False alarms over whole paths of 2 000 rows, and power, of monitors.

Checks fail beyond four standard errors. The suite takes few runs; ``python tests/validity/test_monitoring.py`` takes
2 000 for false alarms and 1 000 for power (ten minutes). Measured by it, in percent: see docs/monitoring.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from calibstat.monitoring.monitor import Monitor
from suites import slow_but
from validity.monitored import ALPHA, CALIBRATED, OFF, alarm_share, delayed, standard_error

SEED = 20260801
N = 2000
SLOW_EVENTS = (0, 300)  # labels 0 come at once, labels 1 300 rows later
# Runs of the suite, so many that no alarm at all would fail; the other worlds are run by hand.
ENOUGH = {"shift .3": 40, "high slope .7": 20, "mix .08": 20, "pair swap": 20}


def assert_few_false_alarms(share, runs):
    assert share <= ALPHA + 4 * standard_error(ALPHA, runs), f"false alarms {share:.3f}, {runs} runs"


def assert_as_powerful(share, runs, figure, figure_runs):
    """Not below the figure by more than four combined standard errors."""
    error = np.hypot(standard_error(figure, runs), standard_error(figure, figure_runs))
    assert share >= figure - 4 * error, f"power {share:.3f} in {runs} runs, expected {figure}"


def delayed_share(order, runs, seed=SEED, chances=None):
    rng = np.random.default_rng(seed)
    return np.mean([delayed(N, order, SLOW_EVENTS, rng, chances).alarm for _ in range(runs)])


@pytest.mark.parametrize("world", slow_but(["three classes"], CALIBRATED))
def test_false_alarms_are_rare(world):
    model, bets = CALIBRATED[world]
    assert_few_false_alarms(alarm_share(model, bets, N, 20, SEED), 20)


@pytest.mark.slow
@pytest.mark.parametrize("world", ENOUGH)
def test_power_is_that_of_the_method(world):
    model, bets, n, figure, figure_runs = OFF[world]
    runs = ENOUGH[world]
    assert_as_powerful(alarm_share(model, bets, n, runs, SEED + 1), runs, figure, figure_runs)


@pytest.mark.parametrize("world", ENOUGH)
def test_negative_control_no_alarms_fail_the_check_of_power(world):
    *_, figure, figure_runs = OFF[world]
    with pytest.raises(AssertionError, match="power"):
        assert_as_powerful(0.0, ENOUGH[world], figure, figure_runs)


@pytest.mark.slow
def test_delays_that_depend_on_the_label_raise_no_false_alarms():
    runs = 12
    assert_few_false_alarms(delayed_share("prediction", runs), runs)


@pytest.mark.slow
def test_negative_control_order_of_arrival_raises_false_alarms():
    runs = 8
    share = delayed_share("arrival", runs)
    with pytest.raises(AssertionError, match="false alarms"):
        assert_few_false_alarms(share, runs)


def test_negative_control_a_shift_is_no_false_alarm():
    runs = 5
    model, bets, *_ = OFF["high slope .7"]
    with pytest.raises(AssertionError, match="false alarms"):
        assert_few_false_alarms(alarm_share(model, bets, N, runs, SEED), runs)


def clustered_share(runs, seed, rows_of_each):
    """Share of alarms where five labels of a patient depend on each other, but each follows its prediction."""
    rng = np.random.default_rng(seed)
    alarms = []
    for _ in range(runs):
        p = rng.random((400, 5))
        patient, own = rng.standard_normal((400, 1)), rng.standard_normal((400, 5))
        y = ndtr(np.sqrt(0.7) * patient + np.sqrt(0.3) * own) < p
        monitor = Monitor()
        monitor.update(p[:, :rows_of_each].ravel(), y[:, :rows_of_each].ravel())
        alarms.append(monitor.alarm)
    return np.mean(alarms)


@pytest.mark.slow
def test_one_row_of_each_patient_raises_no_false_alarms():
    runs = 40
    assert_few_false_alarms(clustered_share(runs, SEED, rows_of_each=1), runs)


@pytest.mark.slow
def test_negative_control_all_rows_of_patients_raise_false_alarms():
    runs = 40
    share = clustered_share(runs, SEED, rows_of_each=5)
    with pytest.raises(AssertionError, match="false alarms"):
        assert_few_false_alarms(share, runs)


def overfull(when_full_rows, runs, seed, leave_out):
    """Share of alarms where labels 1 never come in time: counted as the worst label, or left out."""
    rng = np.random.default_rng(seed)
    alarms = []
    for _ in range(runs):
        p = rng.uniform(0, 0.2, 1000)
        y = (rng.random(1000) < p).astype(int)
        monitor = Monitor(max_waiting=when_full_rows, when_full="worst label")
        if leave_out:
            monitor.update(p[y == 0], y[y == 0])
        else:
            monitor.update(p, np.where(y == 1, None, 0), id=np.arange(1000))
        alarms.append(monitor.alarm)
    return np.mean(alarms)


def test_labels_that_never_come_raise_no_false_alarms():
    runs = 10
    assert_few_false_alarms(overfull(50, runs, SEED, leave_out=False), runs)


def test_negative_control_leaving_them_out_raises_false_alarms():
    runs = 5
    with pytest.raises(AssertionError, match="false alarms"):
        assert_few_false_alarms(overfull(50, runs, SEED, leave_out=True), runs)


def main():
    for world, (model, bets) in CALIBRATED.items():
        share = alarm_share(model, bets, N, 2000, SEED)
        print(f"false alarms, {world}: {100 * share:.2f}", flush=True)
        assert_few_false_alarms(share, 2000)
    for order in ("prediction", "arrival"):
        print(f"delays that depend on the label, order of {order}: {100 * delayed_share(order, 400):.1f}", flush=True)
    for world, (model, bets, n, figure, figure_runs) in OFF.items():
        share = alarm_share(model, bets, n, 1000, SEED + 1)
        print(f"power, {world}, n = {n}: {100 * share:.1f} (figure {100 * figure:g})", flush=True)
        assert_as_powerful(share, 1000, figure, figure_runs)


if __name__ == "__main__":
    main()
