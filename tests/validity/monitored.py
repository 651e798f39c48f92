"""Worlds for monitors, and how often monitors raise the alarm in them."""

from __future__ import annotations

import numpy as np

from calibstat import generators as g
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets
from calibstat.monitoring.monitor import Monitor

ALPHA = 0.05
LR, KERNEL = LikelihoodRatioBets(), KernelBets()

UNIFORM, HIGH, RARE = (1, 1), (4, 0.8), (1, 19)
SIMPLEX = [1, 1, 1]
CALIBRATED = {
    "uniform": (g.BetaPredictions(*UNIFORM), LR),
    "high": (g.BetaPredictions(*HIGH), LR),
    "rare": (g.BetaPredictions(*RARE), LR),
    "three classes": (g.DirichletPredictions(SIMPLEX), KERNEL),
}
# World, bets, rows, and the power that was measured before, with the number of its runs.
OFF = {
    "shift .3": (g.BetaPredictions(*UNIFORM, g.LogitShift(0.3)), LR, 500, 0.44, 400),
    "slope .75": (g.BetaPredictions(*UNIFORM, g.Slope(0.75)), LR, 500, 0.46, 400),
    "bump": (g.BetaPredictions(*UNIFORM, g.Bump(0.5, 0.06, 0.22)), LR, 500, 0.25, 400),
    "high slope .7": (g.BetaPredictions(*HIGH, g.Slope(0.7)), LR, 500, 0.88, 400),
    "mix .08": (g.DirichletPredictions(SIMPLEX, g.Mixture(0.08, [1, 0, 0])), KERNEL, 1000, 0.66, 200),
    "temperature .75": (g.DirichletPredictions(SIMPLEX, g.TemperatureShift(1 / 0.75)), KERNEL, 1000, 0.34, 200),
    "pair swap": (g.DirichletPredictions(SIMPLEX, g.PairSwap(0.45)), KERNEL, 1000, 0.92, 200),
}


def standard_error(share, runs):
    return np.sqrt(share * (1 - share) / runs)


def alarm_share(model, bets, n, runs, seed):
    """Share of runs of n rows in which the evidence ever reaches 1 / level."""
    rng = np.random.default_rng(seed)
    return np.mean([reaches(model.sample(n, rng), bets) for _ in range(runs)])


def reaches(sample, bets):
    log_e = bets.start(len(sample.labels)).bet(sample.predictions.chances, sample.outcomes)
    return bool(log_e.max() >= -np.log(ALPHA))


def delayed(n, order, delays, rng, chances=None):
    """Feed a calibrated model, one row a step; the label of row t comes after `delays[label]` steps."""
    p = rng.random(n)
    y = (rng.random(n) < (p if chances is None else chances(p))).astype(int)
    monitor = Monitor(order=order)
    arrival = np.arange(n) + np.asarray(delays)[y]
    steps = np.arange(0, n + max(delays) + 100, 100)
    for start in steps:
        now = np.arange(start, min(start + 100, n))
        if len(now):
            monitor.update(p[now], id=now)
        come = np.flatnonzero((arrival >= start) & (arrival < start + 100))
        come = come[np.argsort(arrival[come], kind="stable")]
        if len(come):
            monitor.update(y_true=y[come], id=come)
    return monitor
