"""Noise that the residuals of a sample do not show: floors of the variances of errors and of their differences.

Residuals of a cell whose outcomes are all equal show no noise, though other labels might have been drawn. So the
variance is at least that under labels redrawn from the predictions, and a cell of n equal outcomes gets the variance of
the largest chance of another outcome that n rows leave possible, 3 / n ("rule of three", Hanley & Lippman-Hand 1983).
Where few outcomes differ from the others, a difference of two models of the same rows has at least the variance of
outcomes drawn midway between the two.
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints

RULE_OF_THREE = 3.0
# With fewer rows of other outcomes than the commonest, the noise that they show may be far too small.
FEW_OTHERS = 4


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
    chance = possible_chance(rows)
    noise = chance * (1 - chance) / np.maximum(rows, 1.0)
    return float((share**2 * (4 * reach(mean) ** 2 * noise + 2 * noise**2))[uniform].sum())


def unseen_rows_variance(share: Floats, slope: Floats, uniform: bool) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> by the rule of three, if all outcomes are equal.

    Parameters
    ----------
    share : (n,) floats
        What each row counts.
    slope : (n, c) floats
        How much one more of each outcome adds: of the event alone (c = 1), or of all classes.
    uniform : bool
        Whether all outcomes are equal; if not the rows show their noise, and nothing is added.
    """
    if not uniform:
        return 0.0
    chance = possible_chance(1 / (share**2).sum())
    return float(chance * (1 - chance) * (share**2 * reach(slope) ** 2).sum())


def midway_variance(share: Floats, slope: Floats, first: Floats, second: Floats) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> for chances midway between two models' predictions.

    Of all chances, these are nearest to both predictions while both models have the same squared error in each row. So
    the variance of a difference of two errors under this hypothesis is known even where no outcome shows noise: it is
    the variance of a score test.

    Parameters
    ----------
    share : (n,) floats
        What each row counts.
    slope : (n, c) floats
        How much one more of each outcome adds to the difference: of the event alone (c = 1), or of all classes.
    first, second : (n, c) floats
        The predictions.
    """
    chances = np.clip((first + second) / 2, 0, 1)
    moments = [(chances * slope**power).sum(axis=1) for power in (1, 2)]
    return float((share**2 * np.maximum(moments[1] - moments[0] ** 2, 0.0)).sum())


def other_rows(index: Ints, happened: Floats, n_cells: int) -> Ints:
    """Count the rows of each cell whose outcome is not its commonest one: (L,).

    Parameters
    ----------
    index : (n,) ints
    happened : (n, c) floats
        1 for the outcome of each row, else 0: of the event alone (c = 1), or of all classes.
    n_cells : int
    """
    rows = np.bincount(index, minlength=n_cells)
    counts = [np.bincount(index, each, minlength=n_cells) for each in happened.T]
    if len(counts) == 1:
        counts.append(rows - counts[0])
    return np.rint(rows - np.max(counts, axis=0)).astype(np.intp)


def possible_chance(rows: Floats) -> Floats:
    """Return the largest chance of another outcome that so many rows with equal outcomes leave possible."""
    return RULE_OF_THREE / np.maximum(rows, 2 * RULE_OF_THREE)


def reach(slope: Floats) -> Floats:
    """(m,) how much another label adds, of (m, c): it moves one component by one, or two in opposite directions."""
    return np.abs(slope[:, 0]) if slope.shape[1] == 1 else np.ptp(slope, axis=1)
