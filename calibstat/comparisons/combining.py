"""Several splits of the same rows: one p-value, and how much fits differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def twice_median(pvalues: Sequence[float]) -> float:
    """Combine p-values that may depend on each other in any way: twice their median, at most 1 (Rueger 1978).

    Where every single one is valid, so is the combined one: were all hypotheses true, it is at most alpha with
    probability at most alpha. A single p-value is left as it is.

    Parameters
    ----------
    pvalues : sequence of float

    Examples
    --------
    >>> twice_median([0.02, 0.01, 0.3])
    0.04
    >>> twice_median([0.02])
    0.02
    """
    if len(pvalues) == 1:
        return float(pvalues[0])
    return min(1.0, 2 * float(np.median(pvalues)))


def corrected_standard_error(values: Sequence[float], n_fit: int, n_test: int) -> float | None:
    """Standard error of the mean over random splits, widened for the rows that they share (Nadeau & Bengio 2003).

    The root of :math:`(1 / J + n_{test} / n_{fit}) S^2` over J splits. It describes how much the mean would vary over
    fits and rows; there is no unbiased estimate of that, and no p-value is made of it.

    Parameters
    ----------
    values : (J,) sequence of float
    n_fit, n_test : int
        Rows of the fit and of the test in each split.

    Returns
    -------
    error : float or None
        None for a single split.

    Examples
    --------
    >>> corrected_standard_error([1.0, 2.0, 3.0], 100, 50).__round__(6)
    0.912871
    """
    if len(values) < 2:
        return None
    return float(np.sqrt((1 / len(values) + n_test / n_fit) * np.var(values, ddof=1)))
