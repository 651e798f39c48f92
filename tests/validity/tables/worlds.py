"""The worlds of the tables: laws of predictions times curves, and pairs of models."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import expit, logit

import calibstat as cs
from calibstat import generators as g

SCORES = {"uniform": (1, 1), "neural-net-like": (4, 0.8), "rare": (1, 19)}
CURVES = {
    "none": g.Identity(),
    "shift 0.3": g.LogitShift(0.3),
    "slope 0.75": g.Slope(0.75),
    "wiggle 2": g.Wiggle(2, 0.09),
    "clipped tails": g.ClippedTails(0.07),
}
CLASSES = {"Dirichlet(1, 1, 1)": (3, 1.0), "Dirichlet(0.3 x 10)": (10, 0.3)}


@cache
def binary(scores: str, curve: str = "none") -> g.BetaPredictions:
    """Predictions of a law, and how they err."""
    return g.BetaPredictions(*SCORES[scores], CURVES[curve])


def classes(name: str, n: int, rng: np.random.Generator) -> cs.Sample:
    """A calibrated sample of several classes."""
    n_classes, concentration = CLASSES[name]
    rows = rng.dirichlet(np.full(n_classes, concentration), n)
    outcomes = (rng.random((n, 1)) >= rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cs.Sample(outcomes, rows, labels=range(n_classes))


def weak(n: int, rng: np.random.Generator) -> cs.Sample:
    """The mean residual is zero at every value of the variable; the prediction is noise about the chance."""
    v = rng.random(n)
    p = np.clip(0.2 + 0.6 * v + rng.choice([-0.15, 0.15], n), 0.02, 0.98)
    return cs.Sample(rng.random(n) < 0.2 + 0.6 * v, p, variables={"v": v}, labels=[False, True])


def strong(scores: str, n: int, rng: np.random.Generator) -> cs.Sample:
    """Calibrated given prediction and variable."""
    p = rng.beta(*SCORES[scores], n)
    return cs.Sample(rng.random(n) < p, p, variables={"v": rng.random(n)}, labels=[False, True])


def u_shaped(n: int, rng: np.random.Generator) -> cs.Sample:
    """Calibrated, most scores near 0 and 1."""
    p = rng.beta(0.5, 0.5, n)
    return cs.Sample(rng.random(n) < p, p, labels=[False, True])


def tenths(n: int, rng: np.random.Generator) -> cs.Sample:
    """Calibrated, scores of one digit: statistics have ties."""
    p = rng.integers(1, 10, n) / 10
    return cs.Sample(rng.random(n) < p, p, labels=[False, True])


SHAPES = {"U-shaped": u_shaped, "scores of one digit": tenths}


def pair(regime: str, n: int, rng: np.random.Generator) -> tuple[cs.Sample, cs.Sample]:
    """Two models of the same rows, in the regimes that are named in `PAIRS` below."""
    a, b, chance = PAIRS[regime](n, rng)
    outcomes = (rng.random(n) < chance).astype(int)
    return cs.Sample(outcomes, a, labels=[0, 1]), cs.Sample(outcomes, b, labels=[0, 1])


def _two_signals(first: float, second: float):
    """Both calibrated: each sees one of two normal signals."""

    def draw(n, rng):
        from scipy.special import ndtr

        z, w = rng.normal(size=(2, n))
        a, b = ndtr(first * z / np.hypot(1, second)), ndtr(second * w / np.hypot(1, first))
        return a, b, ndtr(first * z + second * w)

    return draw


def _recalibrated(first, second):
    """Both announce a distortion of the same chance, uniform on [0, 1]: the chance is the curve of the announcement."""

    def draw(n, rng):
        chance = rng.random(n)
        return first(chance), second(chance), chance

    return draw


def _announced(curve):
    """The model announces p, uniform; the chance is curve(p), and the other model announces that."""

    def draw(n, rng):
        p = rng.random(n)
        return p, curve(p), curve(p)

    return draw


def _shift(by):
    return lambda p: expit(logit(p) - by)


def _slope(by):
    return lambda p: expit(logit(p) * by)


def _equal_error(n, rng):
    """Equal errors, independent information: each of two signals announced with the same shift."""
    a, b, chance = _two_signals(0.8, 0.8)(n, rng)
    return _shift(0.4)(a), _shift(0.4)(b), chance


def _noisy(n, rng):
    chance = rng.random(n)
    first = _shift(0.4)(chance)
    return first, np.clip(first + 1e-4 * rng.normal(size=n), 0, 1), chance


PAIRS = {
    "both calibrated, like sharpness": _two_signals(0.8, 0.75),
    "both calibrated, other sharpness": _two_signals(1.0, 0.7),
    "equal and opposite shifts": _recalibrated(_shift(0.4), _shift(-0.4)),
    "equal errors, other information": _equal_error,
    "itself and noise of 1e-4": _noisy,
    "slope 1.5 against calibrated": _recalibrated(_slope(1.5), _slope(1.0)),
    "shift 0.4 against 0.2": _recalibrated(_shift(0.4), _shift(0.2)),
    "wiggle of 5 cycles against calibrated": _announced(g.Wiggle(5, 0.12)),
    "slope 2 against 1.3": _recalibrated(_slope(2.0), _slope(1.3)),
}
