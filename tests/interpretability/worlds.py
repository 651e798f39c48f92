"""Random populations of a few rows, with ties of predictions and of chances, and the measures of the paper."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import calibstat as cs
from calibstat.generators import FinitePredictions

MEASURES = {
    "CE 1": cs.ECE(),
    "CE 2": cs.RMSCE(),
    "CE 3": cs.ECE(p=3),
    "loss": cs.ZeroOneLoss(),
    "MSE": cs.BrierScore(),
    "count": cs.ProbabilisticCount(),
    "ignore": cs.KendallTau(),
    "tau_a": cs.KendallTau("tau_a"),
    "strict": cs.KendallTau("strict"),
}


def random_world(rng: np.random.Generator) -> FinitePredictions:
    """Draw a population: few values and many ties, or values without any; masses of very different sizes, or equal."""
    n = int(rng.integers(2, 9))
    event, chance = (rng.integers(0, 6, n) / 5 if rng.random() < 0.5 else rng.beta(0.7, 0.7, n) for _ in range(2))
    return FinitePredictions(event, chance, None if rng.random() < 0.3 else rng.gamma(0.5, 1, n) + 1e-3)


WORLDS = st.integers(0, 2**32 - 1).map(lambda seed: random_world(np.random.Generator(np.random.PCG64(seed))))


def atoms(world: FinitePredictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions and chances of the event, and shares of the mass, row by row."""
    return np.array(world.predictions)[:, 1], np.array(world.truths)[:, 1], np.array(world.mass) / np.sum(world.mass)


def measured(world: FinitePredictions) -> dict[str, float]:
    """Each measure, from its formula, where equal predictions are equal floats."""
    event, chance, mass = atoms(world)
    scores, index = np.unique(event, return_inverse=True)
    masses = np.bincount(index, mass)
    gaps = np.abs(np.bincount(index, mass * chance) / masses - scores)
    pairs = mass[:, None] * mass
    signs, tied = np.sign(event[:, None] - event) * np.sign(chance[:, None] - chance), event[:, None] == event
    return {
        "CE 1": masses @ gaps,
        "CE 2": (masses @ gaps**2) ** (1 / 2),
        "CE 3": (masses @ gaps**3) ** (1 / 3),
        "loss": mass @ np.where(event >= 0.5, 1 - chance, chance),
        "MSE": mass @ ((event - chance) ** 2 + chance * (1 - chance)),
        "count": 1 / (masses**2).sum(),
        "ignore": 1 - 2 * pairs[signs < 0].sum(),
        "tau_a": (pairs * signs).sum(),
        "strict": 1 - 2 * pairs[(signs < 0) | (tied & (chance[:, None] != chance))].sum(),
    }
