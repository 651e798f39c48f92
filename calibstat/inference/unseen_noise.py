"""Noise that the residuals of a sample do not show: two floors of the variance of the debiased squared error.

Residuals of a cell whose outcomes are all equal show no noise, though other labels might have been drawn. So the
variance is at least that under labels redrawn from the predictions, and a cell of n equal outcomes gets the variance of
the largest chance of another outcome that n rows leave possible, 3 / n ("rule of three", Hanley & Lippman-Hand 1983).
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints

RULE_OF_THREE = 3.0


def redrawn_variance(index: Ints, scaled: Floats, chances: Floats) -> float:
    """Return the exact variance of a sum over i != j in a common cell of s_i s_j <r_i, r_j>, with labels redrawn.

    Parameters
    ----------
    index : (n,) ints
        The cell of each row.
    scaled : (n,) floats
        What a row counts in pairs; the product of two is what the pair counts.
    chances : (n, c) floats
        Predictions: of the event alone (c = 1), or of all classes.

    Returns
    -------
    variance : float
        2 sum over pairs of s_i^2 s_j^2 <V_i, V_j> with V the covariance of one label.
    """
    squared, n_cells = scaled**2, int(index.max()) + 1
    if chances.shape[1] == 1:
        single = squared * (chances * (1 - chances))[:, 0]
        sums = np.bincount(index, single, minlength=n_cells)
        return max(0.0, 2 * float((sums**2).sum() - (single**2).sum()))
    powers = [(chances**power).sum(axis=1) for power in (2, 3)]
    own = (squared**2 * (powers[0] - 2 * powers[1] + powers[0] ** 2)).sum()
    total = 0.0
    order = np.argsort(index, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(index, minlength=n_cells))[:-1]):
        weighted = squared[rows, None] * chances[rows]
        covariance = np.diag(weighted.sum(axis=0)) - chances[rows].T @ weighted
        total += float((covariance**2).sum())
    return max(0.0, 2 * (total - float(own)))


def unseen_variance(share: Floats, rows: Floats, mean: Floats, uniform: Floats) -> float:
    """Return the variance that cells of equal outcomes add, by the rule of three: linear and degenerate part.

    Parameters
    ----------
    share : (L,) floats
        Share of each cell in the total weight.
    rows : (L,) floats
        Number of rows of each cell (in effect, with weights).
    mean : (L, c) floats
        Mean residual of each cell.
    uniform : (L,) bools
        Which cells hold equal outcomes only.
    """
    chance = RULE_OF_THREE / np.maximum(rows, 2 * RULE_OF_THREE)
    noise = chance * (1 - chance) / np.maximum(rows, 1.0)
    # Another label moves one component by one, or two components by one in opposite directions.
    reach = np.abs(mean[:, 0]) if mean.shape[1] == 1 else np.ptp(mean, axis=1)
    return float((share**2 * (4 * reach**2 * noise + 2 * noise**2))[uniform].sum())
