"""Worlds in which predictions go wrong on the way, and the changes that monitors find there."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from calibstat.monitoring.difference import DifferenceMonitor
from calibstat.monitoring.monitor import Monitor

UNIFORM, HIGH, RARE = (1, 1), (4, 0.8), (1, 19)
# Predictions, and log-odds of the events after the change.
CHANGED = {
    "shift .5": (UNIFORM, lambda odds: odds + 0.5),
    "shift .3": (UNIFORM, lambda odds: odds + 0.3),
    "slope .6": (UNIFORM, lambda odds: 0.6 * odds),
    "slope 2": (UNIFORM, lambda odds: 2.0 * odds),
    "high, slope .6": (HIGH, lambda odds: 0.6 * odds),
    "rare, shift .7": (RARE, lambda odds: odds + 0.7),
    "rare, shift -1.2": (RARE, lambda odds: odds - 1.2),
}
MOST_AFTER = 6000


def changing(world, good, lasts, rng):
    """Draw rows that go wrong from row `good` on: at once, or growing for `lasts` rows."""
    beta, wrong = CHANGED[world]
    n = good + MOST_AFTER
    p = np.clip(rng.beta(*beta, n), 1e-6, 1 - 1e-6)
    grown = np.clip((np.arange(n) - good + 1) / max(lasts, 1), 0, 1)
    odds = (1 - grown) * logit(p) + grown * wrong(logit(p))
    return p, (rng.random(n) < expit(odds)).astype(int)


def fed_until_alarm(p, y, more):
    """Feed a hundred rows at a time until the alarm, and then so many more."""
    monitor = Monitor()
    for start in range(0, len(p), 100):
        if monitor.update(p[start : start + 100], y[start : start + 100]):
            after = slice(start + 100, start + 100 + more)
            monitor.update(p[after], y[after])
            break
    return monitor


def intervals(world, good, more, runs, seed, lasts=0):
    """Return changes that were found, after alarms that were not false, and the number of runs without one."""
    rng = np.random.default_rng(seed)
    found, missed = [], 0
    for _ in range(runs):
        monitor = fed_until_alarm(*changing(world, good, lasts, rng), more)
        if not monitor.alarm or monitor.alarm_row <= good:
            continue
        if monitor.change is None:
            missed += 1
        else:
            found.append(monitor.change)
    return found, missed


def difference_intervals(good, runs, seed):
    """Return changes of the difference of two models that are equally good at first; then one shifts its log-odds."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        truth, error = rng.uniform(0.05, 0.95, good + MOST_AFTER), rng.uniform(-0.05, 0.05, good + MOST_AFTER)
        y = (rng.random(len(truth)) < truth).astype(int)
        shifted = np.where(np.arange(len(truth)) >= good, expit(logit(truth + error) + 0.8), truth + error)
        monitor = DifferenceMonitor(("shifted", "fair"))
        for start in range(0, len(y), 250):
            part = slice(start, start + 250)
            if monitor.update({"shifted": shifted[part], "fair": (truth - error)[part]}, y[part]):
                break
        found += [monitor.change] if monitor.alarm and monitor.alarm_row > good else []
    return found


def three_class_intervals(good, runs, seed):
    """Return changes of three classes whose predictions become too sharp."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        p = rng.dirichlet([1, 1, 1], good + 1500)
        flat = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
        law = np.where((np.arange(len(p)) >= good)[:, None], flat, p)
        monitor = Monitor(labels=(0, 1, 2))
        monitor.update(p, (law.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1))
        found += [monitor.change] if monitor.alarm and monitor.alarm_row > good else []
    return found
