"""A calibrator in each leaf of a tree."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from calibstat.arrays import Bools, Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.beta import Beta
from calibstat.calibrators.dirichlet import Dirichlet


def by_number_of_classes(chosen: Calibrator | None, n_classes: int) -> Calibrator:
    """The calibrator that was chosen; by default beta for two classes and Dirichlet for more."""
    if chosen is not None:
        return chosen
    return Beta() if n_classes == 2 else Dirichlet()


def fit_leaves(
    calibrator: Calibrator,
    leaves: Ints,
    probabilities: Floats,
    targets: Ints,
    weights: Floats,
    known: dict[bytes, Calibrator] | None = None,
) -> dict[str, Calibrator]:
    """Fit in each leaf by its number; where too few classes occur, the fit of all rows is taken.

    Trees that are pruned from the same rows share leaves: fits are put into `known`, by their rows, and found there.
    """
    found = {} if known is None else known

    def fit(rows: Bools) -> Calibrator:
        key = np.packbits(rows).tobytes()
        if key not in found:
            found[key] = clone(calibrator).fit(probabilities[rows], targets[rows], weights[rows])
        return found[key]

    everywhere = fit(np.ones(len(leaves), dtype=bool))
    fitted = {"all": everywhere}
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        occur = len(np.unique(targets[rows]))
        enough = occur == probabilities.shape[1] if calibrator.needs_every_class else occur > 1
        fitted[str(leaf)] = fit(rows) if enough else everywhere
    return fitted


def calibrate_leaves(fitted: dict[str, Calibrator], leaves: Ints, probabilities: Floats) -> Floats:
    """Each row by the calibrator of its leaf."""
    calibrated = np.empty_like(probabilities)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        calibrated[rows] = fitted.get(str(leaf), fitted["all"]).predict_proba(probabilities[rows])
    return calibrated
