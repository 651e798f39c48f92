"""Exact laws of counts in cells where almost every row is certain.

A Fourier transform leaves noise of 1e-17 in every probability. Chi-square terms of such cells are as large as their
events are rare, and would make that noise a mean. Sums of powers of the odds give each probability to its own digits.
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Cells

# At most so many rows of a cell are expected to differ from what is almost certain for each. Then six of them differ
# with a chance below 1e-20, and are left out.
_RARE = 1e-3
_FLIPS = 5


def rare_laws(chances: Floats, cells: Cells, variance: Array) -> list[tuple[int, Floats] | None]:
    """Return the first count of each cell and the probabilities from there on; None for cells that are less certain.

    Parameters
    ----------
    chances : (n,) floats in [0, 1]
    cells : Cells
    variance : (L,) floats
        Of the count in each cell, sum of p (1 - p), which is at most the sum of min(p, 1 - p).
    """
    if (variance > _RARE).all():
        return [None] * cells.size
    rare = np.bincount(cells.index, np.minimum(chances, 1 - chances), minlength=cells.size) <= _RARE
    rows = np.flatnonzero(rare[cells.index])
    rows = rows[np.argsort(cells.index[rows], kind="stable")]
    bounds = np.searchsorted(cells.index[rows], np.arange(cells.size + 1)).tolist()
    return [_law(chances[rows[bounds[b] : bounds[b + 1]]]) if rare[b] else None for b in range(cells.size)]


def _law(chances: Floats) -> tuple[int, Floats]:
    """Return the first count and its and the following probabilities: sure events, more of them, or fewer."""
    sure = chances > 0.5
    more, fewer = _flips(chances[~sure]), _flips(1 - chances[sure])
    law = np.convolve(more, fewer[::-1])
    return int(sure.sum()) - (len(fewer) - 1), law


def _flips(chances: Floats) -> Floats:
    r"""Return the probabilities of 0, 1, ..., 5 events, all of them rare.

    With odds r of single rows, P(k) = P(0) e_k(r), elementary symmetric functions, which Newton's identities make of
    power sums: :math:`k\, e_k = \sum_{j=1}^k (-1)^{j-1} e_{k-j} \sum_i r_i^j`.
    """
    chances = chances[chances > 0]
    odds = chances / (1 - chances)
    most = min(_FLIPS, len(odds))
    powers, power = [], np.ones(len(odds))
    for _ in range(most):
        power = power * odds
        powers.append(float(power.sum()))
    symmetric = [1.0]
    for k in range(1, most + 1):
        signed = sum((-1) ** (j - 1) * symmetric[k - j] * powers[j - 1] for j in range(1, k + 1))
        symmetric.append(max(signed / k, 0.0))
    return np.array(symmetric) * float(np.exp(np.log1p(-chances).sum()))
