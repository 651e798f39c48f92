"""Finite worlds from the literature."""

from __future__ import annotations

import numpy as np

from calibstat.checks import at_least_one
from calibstat.generators.finite import FinitePredictions


def vaicenavicius_example_1() -> FinitePredictions:
    """Build the model of Vaicenavicius et al. (2019), Example 1: every weaker lens calls it calibrated.

    Three classes, six equally likely predictions; the total variation distance is 0.1 at each of them, and 0 through
    the top label, the two largest, and every single class.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import vaicenavicius_example_1
    >>> model = vaicenavicius_example_1()
    >>> round(float(model.truth(cs.ECE())), 12), round(float(model.truth(cs.TopLabel() | cs.ECE())), 12)
    (0.1, 0.0)
    """
    predictions = [[0.1, 0.3, 0.6], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6], [0.3, 0.6, 0.1], [0.6, 0.1, 0.3], [0.6, 0.3, 0.1]]
    truths = [[0.2, 0.2, 0.6], [0.0, 0.7, 0.3], [0.2, 0.2, 0.6], [0.4, 0.5, 0.1], [0.7, 0.0, 0.3], [0.5, 0.4, 0.1]]
    return FinitePredictions(predictions, truths)


def kelly_smyth_theorem_5_1(n_classes: int) -> FinitePredictions:
    """Build a model with ECE 0 and VECE 1/2 - 1/(2K) in the variable "v" (Kelly & Smyth 2023, Theorem 5.1).

    One score (K + 1)/(2K) for all rows; where v = 0 the top label is always right, where v = 1 by chance.

    Parameters
    ----------
    n_classes : int
        K >= 2.
    """
    K = _classes(n_classes)
    row = _top_first((K + 1) / (2 * K), K)
    return FinitePredictions([row, row], [_top_first(1.0, K), _top_first(1 / K, K)], variables={"v": [0, 1]})


def kelly_smyth_theorem_5_2(n_classes: int) -> FinitePredictions:
    """Build a model with VECE 0 in the variable "v" and ECE 1/2 - 1/(2K) (Kelly & Smyth 2023, Theorem 5.2).

    Scores 1/K and 1, equally likely and independent of v; the top label (the first class, where all are equally
    probable) is right with chance (K + 1)/(2K) at both.

    Parameters
    ----------
    n_classes : int
        K >= 2.
    """
    K = _classes(n_classes)
    scores = [1 / K, 1.0, 1 / K, 1.0]
    truth = _top_first((K + 1) / (2 * K), K)
    return FinitePredictions([_top_first(score, K) for score in scores], [truth] * 4, variables={"v": [0, 0, 1, 1]})


def kelly_smyth_theorem_5_4() -> FinitePredictions:
    """Build a model that is overconfident at every score and every value of "v" (Kelly & Smyth 2023, Theorem 5.4).

    ECE and VECE are then both equal to mean confidence minus accuracy: 0.3833... here, for two classes seen through
    the top label.
    """
    confidence = np.array([0.9, 0.9, 0.8, 0.8, 0.95, 0.95])
    return FinitePredictions(confidence, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], variables={"v": [1, 2, 2, 1, 3, 3]})


def _classes(n_classes: int) -> int:
    if at_least_one("n_classes", n_classes) < 2:
        raise ValueError(f"n_classes is {n_classes}, but a classifier needs at least 2 classes.")
    return n_classes


def _top_first(chance: float, n_classes: int) -> list[float]:
    """Return a law with `chance` on the first class and the rest shared equally."""
    if chance == 1 / n_classes:
        return [chance] * n_classes  # exactly equal, so that the first class is the top one
    return [chance] + [(1 - chance) / (n_classes - 1)] * (n_classes - 1)
