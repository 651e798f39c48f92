"""Bayesian binning into quantiles."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import gammaln, softmax

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.pooling import pool_ties

PRIOR = 2.0  # the paper's N', the prior's weight in rows
SPREAD = 10.0  # the paper's C: numbers of cells from cbrt(n) / C to C cbrt(n)


@final
class BBQ(Calibrator):
    """An average of histogram binnings, each weighted by how well its cells explain the labels (Naeini et al. 2015).

    There is one model for each number of equal-mass cells from cbrt(n) / 10 to 10 cbrt(n). In each cell the chance has
    a beta prior around the cell's middle, of a total weight of two rows.

    Attributes
    ----------
    cuts_ : (m - 1,) floats
        Where the map steps.
    values_ : (m,) floats
    """

    binary: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        cuts = (scores[1:] + scores[:-1]) / 2
        totals = np.stack([np.append(0, np.cumsum(mass)), np.append(0, np.cumsum(events))])
        root = np.cbrt(totals[0, -1])
        sizes = range(max(1, int(root / SPREAD)), max(1, min(int(root * SPREAD), len(scores))) + 1)
        models = [_model(totals, np.concatenate([[0], cuts, [1]]), size) for size in sizes]
        shares = softmax([model[2] for model in models])
        steps = np.zeros(len(scores))
        for (starts, values, _evidence), share in zip(models, shares, strict=True):
            steps[starts] += share * np.diff(values, prepend=0)
        kept = np.append(True, steps[1:] != 0)
        self.cuts_, self.values_ = cuts[kept[1:]], np.clip(np.cumsum(steps)[kept], 0, 1)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(self.values_[np.searchsorted(self.cuts_, probabilities[:, 1])])


def _model(totals: Floats, borders: Floats, size: int) -> tuple[Ints, Floats, float]:
    """Return where each cell starts, the posterior mean in it, and the log marginal likelihood of all labels."""
    levels = np.arange(1, size) / size * totals[0, -1]
    ends = np.searchsorted(totals[0], levels * (1 - 1e-12))
    bounds = np.unique(np.concatenate([[0], ends, [len(borders) - 1]]))
    mass, events = np.diff(totals[:, bounds])
    middle = (borders[bounds[:-1]] + borders[bounds[1:]]) / 2
    prior = PRIOR / len(mass)
    alpha, beta = prior * middle, prior * (1 - middle)
    evidence: Floats = gammaln(prior) - gammaln(mass + prior) + gammaln(events + alpha) - gammaln(alpha)
    evidence += gammaln(mass - events + beta) - gammaln(beta)
    return bounds[:-1], (events + alpha) / (mass + prior), float(evidence.sum())
