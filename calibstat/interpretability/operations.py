"""Operations on the cells of a predictor: merging some, and giving each its mean chance (Torabian & Urner 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibstat.data.parameters import Proportion, check_kind
from calibstat.data.rounding import ROUNDING
from calibstat.generators.base import SyntheticModel
from calibstat.generators.finite import FinitePredictions
from calibstat.interpretability._atoms import Atoms, without_rounding


def merge_cells(world: SyntheticModel, cells: Sequence[float], score: float | None = None) -> FinitePredictions:
    """Merge cells of a predictor: all rows that have one of some predictions get a common one.

    Merging does not increase the probabilistic count of cells (Torabian & Urner 2024, Theorem 5) nor, with the mean
    score, which is the default, the calibration error (Theorem 6). The zero-one loss, the mean squared error and
    Kendall's tau may change either way (Observation 7).

    Parameters
    ----------
    world : SyntheticModel
        Two classes, and finitely many predictions.
    cells : sequence of float
        The predictions of the event in the cells to be merged, at least two.
    score : float, optional
        The common prediction; by default the mean of the merged ones, weighted by their masses. If it is the prediction
        of a further cell, the rows of that cell have the same prediction, and are merged too.

    Returns
    -------
    merged : FinitePredictions
        The same rows, chances and masses with the new predictions.

    Raises
    ------
    ValueError
        If the world has more than two classes, or infinitely many predictions; if one of `cells` is not among its
        predictions, or fewer than two are named; or if `score` is not from 0 to 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> world = FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6], mass=[0.3, 0.2, 0.5])
    >>> merged = cs.merge_cells(world, [0.2, 0.6])
    >>> [round(float(each.truth(cs.ECE())), 6) for each in (world, merged)]
    [0.13, 0.09]
    """
    atoms = Atoms.of(world)
    chosen = atoms.cells_at(cells)
    if score is None:
        common = float(np.average(atoms.scores[chosen], weights=atoms.masses[chosen]))
    else:
        check_kind("score", score, Proportion)
        common = float(score)
    merged = np.abs(atoms.scores - common) <= ROUNDING * common
    merged[chosen] = True
    return atoms.predicting(np.where(merged, common, atoms.scores)[atoms.index])


def average_labels(world: SyntheticModel) -> FinitePredictions:
    """Give each cell of a predictor its mean chance: average label assignment.

    The result is calibrated; the zero-one loss at 1/2, the mean squared error and the probabilistic count of cells do
    not increase, and Kendall's tau may change either way (Torabian & Urner 2024, Theorem 8 and Observation 9). Cells
    with equal means become one. On data the same is done by calibrators, which are fitted on other rows.

    Parameters
    ----------
    world : SyntheticModel
        Two classes, and finitely many predictions.

    Returns
    -------
    averaged : FinitePredictions
        The same rows, chances and masses with the new predictions.

    Raises
    ------
    ValueError
        If the world has more than two classes, or infinitely many predictions.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> world = FinitePredictions([0.3, 0.3, 0.7], [0.1, 0.5, 0.2], mass=[1, 3, 4])
    >>> [event for _, event in cs.average_labels(world).predictions]
    [0.4, 0.4, 0.2]
    """
    atoms = Atoms.of(world)
    return atoms.predicting(without_rounding(np.minimum(atoms.means, 1.0))[atoms.index])
