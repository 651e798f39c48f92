"""The wrap that makes a comparison of two errors valid whether or not both are zero (IUUI)."""

from __future__ import annotations

from collections.abc import Sequence


def wrapped_pvalue(normal: float, own: Sequence[float]) -> float:
    r"""Return the larger of a normal p-value and of twice the smallest exact one of the models by themselves.

    .. math:: p = \max\big(p_\text{normal},\; \min(1,\, 2 \min(p_A, p_B))\big)

    The null "equal errors" is a union: both errors are zero, where a difference is noise of a smaller order and the
    normal p-value says nothing, or both are equal and positive, where it holds. The first part is tested by "at least
    one of the two is off" (a union of two hypotheses, hence the 2), and both parts must be rejected (their
    intersection): intersection-union of union-intersection tests, IUUI (Dimitriadis & Puke 2026).

    Parameters
    ----------
    normal : float
        P-value of the difference, divided by its standard error.
    own : two floats
        Exact p-value of "this model is calibrated", of each model.

    Examples
    --------
    >>> wrapped_pvalue(0.001, (0.4, 0.02)), wrapped_pvalue(0.3, (0.001, 0.001))
    (0.04, 0.3)
    """
    return max(normal, min(1.0, 2 * min(own)))
