"""Rows are split by whole clusters: into two parts, or into folds."""

from __future__ import annotations

import numpy as np

from calibstat._text import counted, shown
from calibstat.data.arrays import Bools, Ints
from calibstat.data.groups import Groups

# So many random orders of the clusters are tried.
_ORDERS = 20
_MOST = 0.5


def part_of_clusters(
    groups: Groups, n_rows: int, rng: np.random.Generator, strata: Ints | None = None, eligible: Bools | None = None
) -> Ints:
    """Draw whole clusters with about `n_rows` rows in all, and return their rows, in order.

    Clusters are taken in random order until the number of rows is nearest. Of several orders that one is taken whose
    rows have the share that is asked for most evenly over the strata (n,), which are 0, 1, ... and no labels
    (rerandomization, Morgan & Rubin 2012). Clusters with a row that is not `eligible` (n,) are left out.
    """
    refuse_to_split(groups)
    strata = np.zeros(len(groups), dtype=np.intp) if strata is None else strata
    n_strata = int(strata.max()) + 1
    rows = np.bincount(groups.codes * n_strata + strata, minlength=groups.number * n_strata).reshape(-1, n_strata)
    able = np.arange(groups.number) if eligible is None else np.setdiff1d(groups.codes, groups.codes[~eligible])
    wanted = rows[able].sum(axis=0) * (n_rows / rows[able].sum())
    least, chosen = np.inf, able
    for _ in range(_ORDERS):
        order = rng.permutation(able)
        reached = rows[order].sum(axis=1).cumsum()[: groups.number - 1]  # one is left for the other part
        some = order[: 1 + int(np.abs(reached - n_rows).argmin())]
        uneven = float(((rows[some].sum(axis=0) - wanted) ** 2).sum())
        if uneven < least:
            least, chosen = uneven, some
    return np.flatnonzero(np.isin(groups.codes, chosen))


def folds_of_clusters(groups: Groups, n_folds: int, rng: np.random.Generator, strata: Ints) -> Ints:
    """Deal whole clusters out into folds of about as many rows of each stratum (n,), and return the fold of each row.

    Strata are no labels.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # those who do not split need no scikit-learn

    refuse_to_split(groups, n_folds)
    dealt = StratifiedGroupKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    fold = np.empty(len(groups), dtype=np.intp)
    for number, (_, rows) in enumerate(dealt.split(strata, strata, groups.codes)):
        fold[rows] = number
    return fold


def refuse_to_split(groups: Groups, n_parts: int = 2) -> None:
    """Refuse fewer clusters than parts, and clusters of which one has most of the rows."""
    if groups.number < n_parts:
        raise ValueError(
            f"all rows of the same {shown(groups.name)!r} stay together, but {n_parts} parts need at least {n_parts} "
            f"clusters, and {counted(groups.number, 'cluster', 'is', 'are')} there; add rows of more clusters."
        )
    share = float(groups.sums(None).max()) / len(groups)
    if share > _MOST:
        raise ValueError(
            f"all rows of the same {shown(groups.name)!r} stay together, but one cluster has {share:.0%} of "
            f"{counted(len(groups), 'row')}, so that no split leaves enough of the others; add rows of more clusters."
        )
