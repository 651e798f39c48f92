"""Sorted scores without sorting: exponential spacings, sent through a table of quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibstat.arrays import Bools, Floats, Ints
from calibstat.generators.base import SyntheticModel

N_LEVELS = 65_536


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """The law of the event's probability at 65 536 levels, with the chance of the event at each; straight in between.

    The distribution function is right at each level, so that it is nowhere off by more than 1/65 536. Predictions and
    chances are interpolated alike: a calibrated model stays exactly calibrated.

    Parameters
    ----------
    score, chance : (N_LEVELS + 1,) floats
        At the levels 0, 1/N, ..., 1.
    calibrated : bool
        Whether chances are the scores.
    """

    score: Floats
    chance: Floats
    calibrated: bool

    def at(self, places: Floats) -> tuple[Floats, Floats]:
        """Return scores and chances at places (m,) in [0, N_LEVELS]."""
        whole = np.minimum(places.astype(np.intp), N_LEVELS - 1)
        part = places - whole
        score = _between(self.score, whole, part)
        return score, score if self.calibrated else _between(self.chance, whole, part)

    def draw_sorted(self, n: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
        """Draw n scores in increasing order, and whether the event happened to each.

        Sums of n + 1 standard exponential variables, divided by the last, are n sorted uniform variables.

        Parameters
        ----------
        n : int
        rng : numpy Generator

        Returns
        -------
        scores : (n,) floats
        happened : (n,) booleans
        """
        reached = rng.standard_exponential(n + 1)
        np.cumsum(reached, out=reached)
        places = reached[:-1]
        places *= N_LEVELS / reached[-1]
        scores, chances = self.at(places)
        return scores, rng.random(n) < chances


def quantile_table(model: SyntheticModel) -> QuantileTable:
    """Tabulate a model of two classes whose prediction has a density.

    Parameters
    ----------
    model : SyntheticModel

    Raises
    ------
    ValueError
        If the model does not know its quantiles.
    """
    rows = model.quantiles(np.arange(N_LEVELS + 1) / N_LEVELS)
    score, chance = rows.predictions.event.copy(), rows.chances[:, 1].copy()
    return QuantileTable(score, chance, bool(np.abs(score - chance).max() < 1e-15))


def _between(table: Floats, whole: Ints, part: Floats) -> Floats:
    low = table.take(whole, mode="clip")  # faster than to check indices that are right
    step = table[1:].take(whole, mode="clip")
    step -= low
    step *= part
    step += low
    return step
