r"""The exact third cumulant of sums over pairs, :math:`S = \sum_{i \ne j} k_{ij} \langle e_i, e_j \rangle`.

Given the predictions, e = onehot(y) - p has mean zero, covariance V and third moments M under calibration, and

.. math:: \kappa_3(S) = 8 \operatorname{tr} H^3 + 4 \sum_{i \ne j} k_{ij}^3 \langle M_i, M_j \rangle, \qquad
          H_{ij} = k_{ij} V_i^{1/2} V_j^{1/2}, \quad H_{ii} = 0

the first part from three pairs among three rows, the second, of order 1/n beside it, from one pair three times.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, islice

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.kernels.sums import PairSums

# H is written out up to this many rows; beyond, its trace is had from random probes.
_MOST_ROWS_OF_H = 1500
# Columns that are multiplied by the kernel at once, at least this many probes' worth of classes.
_PROBE_COLUMNS = 256
_FEWEST_PROBES = 32
_COMPONENTS_AT_ONCE = 64
# Above this many classes the part of single pairs, of order 1/n, is left out: it has K^3 / 6 components.
_MOST_CLASSES = 20


def third_cumulant(chances: Floats, masses: Floats, sums: PairSums, rng: np.random.Generator) -> float:
    """Return the third cumulant of the pair sums of w_i (onehot(y_i) - p_i), for the first bandwidth.

    Parameters
    ----------
    chances : (n, K) floats
    masses : (n,) floats
        The weight w of each row.
    sums : PairSums
    rng : Generator
        For the probes of a trace; not used along a line with two classes, nor where n K is small.
    """
    return 8 * _trace(chances, masses, sums, rng) + 4 * _single_pairs(chances, masses, sums)


def _trace(chances: Floats, masses: Floats, sums: PairSums, rng: np.random.Generator) -> float:
    """Return tr H^3."""
    n, n_classes = chances.shape
    if n_classes == 2 and (exact := sums.triangles(2 * chances.prod(axis=1) * masses**2)) is not None:
        return exact
    size = n * n_classes
    if size <= _MOST_ROWS_OF_H:
        whole = _apply(np.eye(size, dtype=float).reshape(size, n, n_classes), chances, masses, sums).reshape(size, size)
        return float(((whole @ whole) * whole).sum())
    n_probes = max(_FEWEST_PROBES, _PROBE_COLUMNS // n_classes)
    signs: Floats = 2.0 * rng.integers(0, 2, size=(n_probes, n, n_classes)).astype(float) - 1.0
    once = _apply(signs, chances, masses, sums)
    return float((once * _apply(once, chances, masses, sums)).sum()) / n_probes


def _apply(vectors: Floats, chances: Floats, masses: Floats, sums: PairSums) -> Floats:
    """Multiply vectors (m, n, K) by H, with F F' = V, F = diag(sqrt p) - p sqrt(p)', in place of the root of V."""
    root, mass = np.sqrt(chances), masses[:, None]
    spread = mass * (root * vectors - chances * (root * vectors).sum(axis=-1, keepdims=True))
    columns = np.moveaxis(spread, -1, 1).reshape(-1, len(chances))
    mixed = np.moveaxis(sums.apply(columns).reshape(len(vectors), -1, len(chances)), 1, -1)
    return mass * root * (mixed - (chances * mixed).sum(axis=-1, keepdims=True))


def _single_pairs(chances: Floats, masses: Floats, sums: PairSums) -> float:
    """Return the sum over pairs of k^3 <M_i, M_j>."""
    n_classes = chances.shape[1]
    if n_classes > _MOST_CLASSES:
        return 0.0
    columns = chances.T
    if n_classes == 2:
        third = np.sqrt(8.0) * chances.prod(axis=1) * (columns[0] - columns[1]) * masses**3
        return float(sums(third[None], 3)[0, 0])
    total, triples = 0.0, combinations_with_replacement(range(n_classes), 3)
    while some := list(islice(triples, _COMPONENTS_AT_ONCE)):
        moments = np.stack([_third_moment(columns, triple) for triple in some]) * masses**3
        times = np.array([(6, 3, 1)[3 - len(set(triple))] for triple in some])
        total += float(times @ sums(moments, 3)[0])
    return total


def _third_moment(columns: Floats, triple: tuple[int, int, int]) -> Floats:
    """Return E e_a e_b e_c for a <= b <= c: (n,)."""
    first, second, third = (columns[code] for code in triple)
    if triple[0] == triple[2]:
        return first * (1 - first) * (1 - 2 * first)
    if triple[0] == triple[1]:
        return -first * third * (1 - 2 * first)
    if triple[1] == triple[2]:
        return -first * second * (1 - 2 * second)
    return 2 * first * second * third
