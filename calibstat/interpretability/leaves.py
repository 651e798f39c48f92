"""Leaves of a tree as a calibration table that a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.auditing.findings import sentence
from calibstat.auditing.groups import By, is_top_label, look_with
from calibstat.auditing.leaves import (
    FITTED_CAUTION,
    INTERVALS_CAUTION,
    Feature,
    LeafFinding,
    encoded,
    leaf_forest,
    rounded,
    table_of_leaves,
)
from calibstat.binnings.tree_leaves import Tree, TreeLeaves, boxes, leaf_of, leaves
from calibstat.data.arrays import RNG, Ints, as_generator
from calibstat.data.groups import ClusterCount
from calibstat.data.parameters import CONFIDENCE_LEVEL, at_least_one, check_share
from calibstat.data.sample import Sample
from calibstat.draws.whole_clusters import part_of_clusters
from calibstat.estimators.base import all_weights
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.forest import Forest
from calibstat.inference.results import Result, RowCounts, not_rejected, picked
from calibstat.inference.test import fewest_rows
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.words import in_words


def leaf_table(
    sample: Sample,
    tree: Any,
    *,
    variables: Sequence[str | EllipsisType] | str | None = None,
    n_leaves: int | None = None,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> LeafTable:
    """Tabulate what was predicted and what happened in each leaf of a tree, and say in words which rows these are.

    Conditions on the way to a leaf are merged, so that there is at most one for each variable (an interpretable
    predictor has few cells, each of which a person can name: Torabian & Urner 2024). Intervals of all leaves hold
    together, at every n: binomial bounds (with weights or clusters those of Hoeffding 1963), shared out evenly among
    leaves, whose rows are independent. Where one excludes zero, calibration given the prediction and the variables is
    rejected. Where rows come in clusters (`Sample.groups`) the bounds hold however the rows of a cluster depend on each
    other, also in different leaves; a leaf counts as its rows over those of its largest cluster.

    Parameters
    ----------
    sample : Sample
        Rows on which neither the tree nor the model was fitted.
    tree : fitted tree, or TreeLeaves
        As for `TreeLeaves`; fitted on other rows.
    variables : sequence of str, optional
        What the tree splits; as for `TreeLeaves`.
    n_leaves : int, optional
        So many leaves, split breadth first; by default all.
    lens : Lens, optional
        Looked through first; it must leave two outcomes: for example ``TopLabel()``, ``ClassWise("cat")``.
    confidence_level : float
        With which all intervals cover together.

    Returns
    -------
    LeafTable
        Prints itself; ``to_frame()`` has a row for each leaf.

    Raises
    ------
    ValueError, TypeError
        If more than two outcomes are left, or the tree does not fit the sample (see `TreeLeaves`).

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, age = rng.uniform(0.2, 0.8, 2000), rng.integers(20, 80, 2000)
    >>> happened = rng.random(2000) < np.where(age > 50, p + 0.15, p)
    >>> tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [50.5, 0, 0]}
    >>> found = cs.leaf_table(cs.Sample(happened, p, variables={"age": age}), tree, variables="age")
    >>> [(leaf.name, leaf.direction) for leaf in found.leaves]
    [('age at most 50', ''), ('age above 50', 'predicts too low')]
    """
    check_sample(sample)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    cells = tree
    if not isinstance(tree, TreeLeaves):
        cells = TreeLeaves(tree, variables, n_leaves)
    elif variables is not None or n_leaves is not None:
        raise ValueError(f"tree is {tree!r}, which says its variables and leaves: leave out variables and n_leaves.")
    lens = check_lens(lens)
    seen = lens(sample)
    seen = seen.take(_rows_of_two_outcomes(lens, seen))
    what = in_words(lens, sample.labels, sample.predictions.seen)
    columns = cells.features(seen.predictions).T
    names = ("prediction" if name is ... else str(name) for name in cells.reads)
    features = [Feature(*each) for each in zip(names, columns, strict=True)]
    how = "rows on which it must not have been fitted"
    return _judged(cells.nodes, features, seen, lens, confidence_level, how, what)


def grow_leaf_table(
    sample: Sample,
    variables: By | None = None,
    *,
    lens: Lens | None = None,
    max_depth: int = 3,
    share: float = 0.5,
    min_size: int = 50,
    missing: str = "raise",
    confidence_level: float = CONFIDENCE_LEVEL,
    rng: RNG = None,
) -> LeafTable:
    """Grow a shallow tree of the outcome on some rows, and tabulate its leaves on the others, as `leaf_table` does.

    CART splits the variables (not the prediction) so that the leaves differ in how often it happens. Clusters
    (`Sample.groups`) stay whole.

    Parameters
    ----------
    sample : Sample
        Rows on which the model was not fitted.
    variables : str, iterable of str, or mapping, optional
        By default all of the sample; else names of these, or further columns by name. Categories become columns of 0
        and 1, as does the fact that a value is missing.
    lens : Lens, optional
        Looked through first; it must leave two outcomes.
    max_depth : int
        How many conditions lead to a leaf at most.
    share : float
        The share of the rows, drawn at random, on which the tree is grown.
    min_size : int
        About how many rows judge each leaf, at least.
    missing : {"raise", "level"}
        What to do with missing values in further columns: an error, or something to split at.
    confidence_level : float
        With which all intervals cover together.
    rng : int, Generator or None
        Shuffles the rows.

    Returns
    -------
    LeafTable

    Raises
    ------
    ValueError, TypeError
        If more than two outcomes are left, there are no variables, or too few rows for two leaves.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age, sex = rng.integers(20, 80, 4000), rng.choice(["f", "m"], 4000)
    >>> happened = rng.random(4000) < np.where(age > 50, 0.6, 0.2)
    >>> sample = cs.Sample(happened, np.full(4000, 0.4), variables={"age": age, "sex": sex})
    >>> [leaf.name for leaf in cs.grow_leaf_table(sample, max_depth=1, rng=0).leaves]
    ['age at most 50', 'age above 50']
    """
    from calibstat.calibrators.trees import grow  # it needs scikit-learn

    check_sample(sample)
    for name, count in {"max_depth": max_depth, "min_size": min_size}.items():
        at_least_one(name, count)
    check_share("share", share, 0.5)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    lens = check_lens(lens)
    asked = list(sample.predictions.variables) if variables is None else variables
    columns, seen = look_with(sample, asked, lens, missing, "variables")
    rows = _rows_of_two_outcomes(lens, seen)
    seen = seen.take(rows)
    features = [feature for name, column in columns.items() for feature in encoded(name, column.take(rows))]
    known, unseen = _parts(seen, share, as_generator(rng))
    least = max(1, round(min_size * share / (1 - share)))
    if len(known) < 2 * least or not len(unseen):
        raise ValueError(
            f"min_size is {min_size}, but {len(known)} of {counted(len(seen), 'row')}, on which the tree is grown, are "
            f"too few for two leaves of {least}: take a smaller min_size, or more rows."
        )
    matrix, weights = np.column_stack([each.values for each in features]), all_weights(seen.predictions, None)
    limits = {"max_depth": max_depth, "min_samples_leaf": least}
    tree = grow(matrix[known], seen.outcomes[known], weights[known], **limits)
    judges = [Feature(each.name, each.values[unseen], each.true, each.false) for each in features]
    how = f"{counted(len(unseen), 'row')}; the tree was grown on {len(known)} others, by their outcomes"
    what = in_words(lens, sample.labels, sample.predictions.seen)
    return _judged(tree, judges, seen.take(unseen), lens, confidence_level, how, what)


def _parts(seen: Sample, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw a share of the rows, by whole clusters; return them and the others."""
    n = len(seen)
    if seen.groups is None:
        known, unseen = np.split(rng.permutation(n), [round(share * n)])
        return known, unseen
    known = part_of_clusters(seen.groups, round(share * n), rng)
    return known, np.setdiff1d(np.arange(n), known)


def _rows_of_two_outcomes(lens: Lens, seen: Sample) -> Ints:
    """Return the rows that have weight, and refuse a sample of more outcomes."""
    refuse_empty(seen, lens)
    if seen.predictions.n_classes != 2:
        raise ValueError(
            f"a table of leaves is for two outcomes, but through {lens!r} there are {seen.predictions.n_classes}: look "
            "through TopLabel() or ClassWise(label)."
        )
    return np.flatnonzero(all_weights(seen.predictions, None))


def _judged(
    tree: Tree, features: Sequence[Feature], seen: Sample, lens: Lens, confidence_level: float, how: str, what: str
) -> LeafTable:
    """Find what happened in each leaf that has a row."""
    matrix = np.column_stack([each.values for each in features])
    ends, where = leaf_of(tree, matrix), boxes(tree, lambda column, cut: rounded(matrix[:, column], cut))
    each = [(box, seen.take(ends == node)) for node, box in zip(leaves(tree), where, strict=True)]
    held = [(box, rows) for box, rows in each if len(rows)]
    # No row is in two leaves, so that the intervals are independent; of clusters they are not.
    missed = 1 - confidence_level ** (1 / len(held)) if seen.groups is None else (1 - confidence_level) / len(held)
    tail = missed / 2
    top = is_top_label(lens, seen)
    found = tuple(LeafFinding.of(box, features, rows, top, tail) for box, rows in held)
    overall = LeafFinding.of({}, features, seen, top, (1 - confidence_level) / 2)
    mass = [all_weights(rows.predictions, None).sum() for _, rows in held]
    empty = len(where) - len(held)
    return LeafTable(
        leaves=found,
        overall=overall,
        apart=tuple(_differs(leaf, overall, float(own / sum(mass))) for leaf, own in zip(found, mass, strict=True)),
        confidence_level=confidence_level,
        n=len(seen),
        how=how,
        lens=lens,
        notes=(f"{empty} of {len(where)} leaves {'has' if empty == 1 else 'have'} no row here",) if empty else (),
        source=seen.predictions.source,
        counts=RowCounts.of(seen, min(fewest_rows(rows) for _, rows in held)),
        what=what,
        clusters=seen.predictions.clusters,
    )


def _differs(leaf: LeafFinding, overall: LeafFinding, share: float) -> bool:
    """Whether the error of a leaf, which has this share of all weight, differs from that of all rows beyond noise.

    Its interval is shortened or lengthened as the noise of the difference is to its own: all rows include the leaf's.
    """
    low, high = leaf.confidence_interval or (-np.inf, np.inf)
    of_others = max(overall.noise**2 - (share * leaf.noise) ** 2, 0.0)
    scale = np.sqrt((1 - share) ** 2 + of_others / leaf.noise**2) if leaf.noise else 1.0
    away = overall.error - leaf.error
    return not scale * (low - leaf.error) <= away <= scale * (high - leaf.error)


@final
@dataclass(frozen=True, eq=False, repr=False)
class LeafTable(Result):
    """What was predicted and what happened in each leaf of a tree: the result of `leaf_table`.

    Parameters
    ----------
    leaves : tuple of LeafFinding
        From left to right in the tree.
    overall : LeafFinding
        What is found for all rows; its interval holds by itself.
    apart : tuple of bool
        Whether the error of each leaf differs from that of all rows beyond noise, with all intervals together.
    confidence_level : float
        With which all intervals cover together.
    n : int
    how : str
        Which rows judge the leaves.
    lens : Lens
    notes : tuple of str
    source : str
    counts : RowCounts
    what : str
        Whose calibration it is, in words.
    clusters : ClusterCount or None
        How many clusters there are, where rows come in these.
    """

    leaves: tuple[LeafFinding, ...]
    overall: LeafFinding
    apart: tuple[bool, ...]
    confidence_level: float
    n: int
    how: str
    lens: Lens
    notes: tuple[str, ...]
    source: str
    counts: RowCounts
    what: str
    clusters: ClusterCount | None = None

    _display: ClassVar[str] = "AuditDisplay"
    _row: ClassVar[str] = "leaf"
    _indexed: ClassVar[bool] = True
    _text_columns: ClassVar[tuple[int, ...]] = (5,)
    _spare_columns: ClassVar[tuple[int, ...]] = (4,)

    @property
    def rejected(self) -> list[LeafFinding]:
        """The leaves whose intervals exclude zero, the farthest from it first."""
        return sorted((leaf for leaf in self.leaves if leaf.direction), key=LeafFinding.rank)

    @property
    def _beyond_overall(self) -> list[LeafFinding]:
        """The leaves that err as all rows do not: of rejected ones those apart, or all where all rows show no error."""
        own = {leaf.name for leaf, apart in zip(self.leaves, self.apart, strict=True) if apart}
        return [leaf for leaf in self.rejected if not self.overall.direction or leaf.name in own]

    @property
    def verdict(self) -> str:
        """Say what the error over all rows is, and in how many leaves predictions are off by another one."""
        level, size, found = float(f"{1 - self.confidence_level:.12g}"), len(self.leaves), self._beyond_overall
        everywhere = f"{self.overall.says(self.confidence_level, '')} over all rows" if self.overall.direction else ""
        if not found and everywhere:
            more = f"; in none of {size} leaves is there evidence of another error than this" if size > 1 else ""
            return sentence(f"{self.what} {everywhere}{more}, at {percent(level)} (n = {self.n}).")
        if not found:
            among = f"in any of {size} leaves" if size > 1 else "in the one leaf"
            return f"{not_rejected(level, what=f'Calibration of {self.what}')} {among} (n = {self.n})."
        of = f"in {len(found)} of {size} leaves" if size > 1 else "in the one leaf"
        all_rows = f" Over all rows it {everywhere.removesuffix(' over all rows')}." if everywhere else ""
        than = " by another error than over all rows" if everywhere else ""
        most = found[0].says(self.confidence_level)
        return sentence(f"{self.what} is off {of}{than} at {percent(level)}; most clearly it {most}.{all_rows}")

    def forest(self) -> Forest:
        """Return the leaves as rows of a forest plot, the farthest from zero first."""
        found, of = self._beyond_overall, "the one leaf" if len(self.leaves) == 1 else f"{len(self.leaves)} leaves"
        said = f"{found[0].direction}: {found[0].name}; " if found else ""
        return leaf_forest(
            sorted(self.leaves, key=LeafFinding.rank),
            found,
            self.confidence_level,
            answer=(f"off in {len(found)} of {of}" if found else f"no evidence in {of}", f"{said}n = {self.n:,}"),
            caption=f"{self.verdict} Each row is a leaf of the tree, judged on {self.how}; the "
            f"{percent(self.confidence_level)} intervals hold together.",
        )

    def _values(self) -> dict[str, Any]:
        known = {"lens": repr(self.lens), **picked(self, "n confidence_level how source notes overall leaves")}
        return known if self.clusters is None else known | self.clusters.to_dict()

    def _rows(self) -> list[dict[str, Any]]:
        return [leaf.to_dict() for leaf in self.leaves]

    def _table(self) -> list[list[str]]:
        return table_of_leaves([self.overall, *self.leaves])

    def _notes(self) -> list[str]:
        clusters = [] if self.clusters is None else [f"{self.clusters}: intervals hold however their rows are alike"]
        return [*clusters, *self.notes, INTERVALS_CAUTION if self.clusters is None else FITTED_CAUTION]

    def _details(self) -> list[tuple[str, str]]:
        by_sums = "" if self.clusters is None else ", estimated by sums over clusters"
        return [
            (
                percent(self.confidence_level),
                "intervals of happened - predicted that cover all together, at every n, if "
                f"{'rows' if self.clusters is None else 'clusters'} are independent; "
                "that of all rows by itself; * excludes 0",
            ),
            ("noise", "standard deviation of the difference for calibrated predictions" + by_sums),
            ("where", f"leaves of the tree, judged on {self.how}; 'a to b' is above a and at most b"),
            ("lens", f"{self.lens!r}"),
            ("data", f"{self.counts.text(self.n)}; {self.source}"),
        ]
