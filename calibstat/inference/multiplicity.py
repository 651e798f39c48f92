"""Several p-values at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibstat.arrays import Floats


def holm(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that rejecting where one is at most alpha errs with probability at most alpha (Holm 1979).

    Valid whatever the dependence between the tests.

    Parameters
    ----------
    pvalues : (m,) floats

    Returns
    -------
    adjusted : (m,) floats
        In the order of `pvalues`; never smaller than these.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    # statsmodels takes a second to import.
    from statsmodels.stats.multitest import multipletests

    values = np.asarray(pvalues, dtype=float)
    return np.asarray(multipletests(values, method="holm")[1]) if values.size else values
