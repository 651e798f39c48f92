"""Is the model off anywhere? A regressor learns where from some rows, and rows that it has not seen are the test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import one_bar, track
from calibstat._text import counted, percent
from calibstat.auditing.findings import CAUTION, CLUSTERED, means_text, sentence
from calibstat.auditing.groups import By, PartlyKnown, is_top_label, look_with
from calibstat.auditing.leaves import LEARNED, Feature, LeafFinding, encoded, leaf_forest, rounded, table_of_leaves
from calibstat.binnings.tree_leaves import Box, arrays_of, boxes
from calibstat.data.arrays import RNG, Bools, Floats, Ints, as_generator
from calibstat.data.groups import MINIMUM_CLUSTERS, ClusterCount
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, at_least_one, check_share
from calibstat.data.rounding import rounded_up
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm, all_weights
from calibstat.estimators.score_tests import TableEvaluator
from calibstat.inference.arguments import check_lens, check_null, check_sample, for_clusters
from calibstat.inference.forest import Forest
from calibstat.inference.results import Result, RowCounts, not_rejected, picked, pvalue_cell, small_pvalue
from calibstat.inference.test import fewest_rows
from calibstat.lenses.base import Lens
from calibstat.lenses.words import in_words
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency, Sequential
from calibstat.nulls.multiplier import Multiplier

# The default: few trees with leaves of many rows, since residuals are mostly noise.
_BOOSTING = {"max_iter": 30, "max_leaf_nodes": 31, "min_samples_leaf": 100, "early_stopping": False}
# Clusters that a block needs.
_CLUSTERS = (MINIMUM_CLUSTERS, "clusters")
# A leaf is kept if it explains this share of the variance of what was learned.
_WORTH = 0.03
# A threshold is rounded if at most this share of the rows changes sides.
_MOVED = 0.005
# So many variables are named in the first sentence.
_NAMED = 3


@one_bar
def learner_audit(
    sample: Sample,
    variables: By | None = None,
    *,
    lens: Lens | None = None,
    learner: Any = None,
    n_blocks: int = 4,
    max_depth: int = 3,
    min_size: int = 50,
    missing: str = "raise",
    null: Null | str | None = None,
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> LearnerAudit:
    r"""Test for errors that nobody named: learn residuals from some rows, and test what was learned on others.

    Rows are shuffled into blocks 0 to K. For each block k a regressor g is fitted to the residuals y - p of all blocks
    before it, with the prediction and the variables as features, and

    .. math:: T_k = \sum_{i \in \text{block } k} w_i \, g_k(x_i, p_i) \, (y_i - p_i)

    is compared with its values on redrawn labels of block k. Given the blocks before, g is fixed and these labels are
    draws from the predictions under the null, so that the p-value of each block is valid given the earlier ones, and
    Fisher's (1932) combination :math:`-2 \sum_k \log p_k` of the K p-values is valid at every n and for every learner.
    (Two halves that learn from each other would have dependent p-values, for which it is not.) A learner that audits
    a model is that of Kim, Ghorbani & Zou (2019).

    A shallow tree, fitted to what was learned from all blocks but the last, says where: its leaves are described in
    words, and each has an interval for its mean error on the last block, which neither regressor nor tree has seen.
    So have the rows for which more was learned to happen than is predicted, and those for which less was.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    variables : str, iterable of str, or mapping, optional
        By default all of the sample, which may have none; else names of these, or further columns by name. Categories
        become columns of 0 and 1, as does the fact that a value is missing.
    lens : Lens, optional
        Looked through first; it must leave two outcomes: for example ``TopLabel()``, ``ClassWise("cat")``.
    learner : regressor, optional
        With ``fit(X, y)`` and ``predict(X)`` as in scikit-learn, pipelines included; it is cloned and never changed.
        By default gradient boosting of small trees (`HistGradientBoostingRegressor`).
    n_blocks : int
        K, the number of blocks that are tested; one more is only learned from. The last holds a third of the rows.
    max_depth : int
        How many conditions describe a leaf at most.
    min_size : int
        About how many rows of the last block each leaf has at least; each block must have as many.
    missing : {"raise", "level"}
        What to do with missing values in further columns: an error, or something to learn from.
    null : Null or {"strong", "sequential", "multiplier"}, optional
        By default labels are redrawn (`Consistency`: exact). ``Multiplier(999)`` is for rows in clusters:
        each stays in one block (asymptotic, and without intervals).
    level : float
        At which the audit rejects.
    confidence_level : float
        Simultaneous confidence level of the intervals of all leaves.
    n_resamples : int, optional
        Of the null for each block, by default 999; where `null` is an object, that says it.
    rng : int, Generator or None
        Shuffles rows, seeds the learner where it is not seeded, and draws from the null.

    Returns
    -------
    LearnerAudit
        With ``pvalue`` and ``leaves``; prints itself in words; unpacks to ``(statistic, pvalue)``.

    Raises
    ------
    ValueError, TypeError
        If more than two outcomes are left, blocks have too few rows or clusters, no p-value could reach the level, or
        an argument is not as described.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.auditing.learner import learner_audit
    >>> rng = np.random.default_rng(0)
    >>> p, age, sex = rng.uniform(0.2, 0.8, 4000), rng.integers(20, 80, 4000), rng.choice(["f", "m"], 4000)
    >>> happened = rng.random(4000) < np.where((age > 50) & (sex == "f"), p + 0.2, p)
    >>> found = learner_audit(cs.Sample(happened, p, variables={"age": age, "sex": sex}), rng=0)
    >>> found.pvalue < 0.001, found.rejected[0].direction
    (True, 'predicts too low')
    """
    check_sample(sample)
    for name, count in {"n_blocks": n_blocks, "max_depth": max_depth, "min_size": min_size}.items():
        at_least_one(name, count)
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    null, notes = for_clusters(check_null(null, n_resamples), sample, null)
    null, lens = _checked(null, n_blocks, level), check_lens(lens)
    learner, generator = _regressor(learner), as_generator(rng)
    columns, seen = _look(sample, variables, lens, missing)
    home = _blocks(seen.predictions, n_blocks, min_size, generator)
    known = (feature for name, column in columns.items() for feature in encoded(name, column))
    features = [Feature("prediction", seen.predictions.event), *known]
    matrix = np.column_stack([each.values for each in features])
    pvalues, learned = _tested(null, learner, matrix, seen, home, generator)
    statistic = -2 * float(np.log(pvalues).sum())
    past, last = home < n_blocks, home == n_blocks
    where = _boxes(matrix[past], learned[past], seen.predictions.take(past), max_depth, 2 * min_size)
    features.append(Feature(LEARNED, learned))
    where += [{len(features) - 1: ends} for ends in ((0.0, np.inf), (-np.inf, 0.0))]
    tail = (1 - confidence_level) / (2 * len(where)) if seen.groups is None else None
    inside = (seen.take(_inside(box, features, last)) for box in where)
    held = [(box, rows) for box, rows in zip(where, inside, strict=True) if len(rows)]
    leaves = [LeafFinding.of(box, features, rows, is_top_label(lens, seen), tail) for box, rows in held]
    found = seen.predictions.clusters
    hints = (sample.hint,) if sample.hint else ()
    return LearnerAudit(
        statistic=statistic,
        pvalue=float(special.chdtrc(2 * n_blocks, statistic)),
        block_pvalues=pvalues,
        leaves=tuple(sorted(leaves, key=LeafFinding.rank)),
        variables=tuple(columns),
        learner=" ".join(repr(learner).split()),
        hypothesis=null.hypothesis(lens, (..., *columns), seen.groups),
        level=level,
        confidence_level=confidence_level,
        n=len(seen),
        n_unseen=int(last.sum()),
        lens=lens,
        notes=(*hints, *notes) if found is None else (*notes, str(found)),
        source=seen.predictions.source,
        counts=RowCounts.of(seen, min(fewest_rows(rows) for _, rows in held)),
        what=in_words(lens, sample.labels, sample.predictions.seen),
        clusters=found,
    )


def _checked(null: Null, n_blocks: int, level: float) -> Null:
    """Refuse nulls that move predictions or draw nothing, and so few resamples that no p-value reaches the level."""
    moves = isinstance(null, Consistency) and null.resample_predictions
    if moves or not isinstance(null, (Consistency, Sequential, Multiplier)):
        raise ValueError(
            f"null is {null!r}, but what was learned is tested on redrawn labels, or of clusters by random signs: use "
            "Consistency(999), Sequential(9999) or, with groups, Multiplier(999)."
        )
    least = rounded_up(float(np.exp(special.chdtri(2 * n_blocks, level) / (2 * n_blocks)))) - 1
    if null.n_resamples is not None and null.n_resamples < least:
        raise ValueError(
            f"n_resamples is {null.n_resamples}: with n_blocks={n_blocks} no p-value could be {level:g} or less, "
            f"whatever the data. Take n_resamples of at least {least} (better 999)."
        )
    return null


def _look(sample: Sample, variables: By | None, lens: Lens, missing: str) -> tuple[dict[str, PartlyKnown], Sample]:
    """Look through the lens, and read the variables, in rows of positive weight."""
    asked = list(sample.predictions.variables) or {} if variables is None else variables
    columns, seen = look_with(sample, asked, lens, missing, "variables")
    if seen.predictions.n_classes != 2 or seen.predictions.given != (...,):
        raise ValueError(
            f"learner_audit is for two outcomes given the prediction, but through {lens!r} it sees "
            f"{seen.predictions.n_classes} given {seen.predictions.condition}: look through TopLabel() or "
            "ClassWise(label), and name variables as variables=."
        )
    rows = np.flatnonzero(all_weights(seen.predictions, None))
    return {name: column.take(rows) for name, column in columns.items()}, seen.take(rows)


def _blocks(predictions: Predictions, n_blocks: int, min_size: int, rng: np.random.Generator) -> Ints:
    """Return the block of each row, 0 to K: shuffled rows, or clusters, a third of them in the last block."""
    groups, (least, what) = predictions.groups, (min_size, "rows")
    m = len(predictions)
    if groups is not None:
        m, (least, what) = groups.number, _CLUSTERS
    dealt = np.minimum(np.arange(m) * 3 * n_blocks // (2 * m), n_blocks)
    if np.bincount(dealt, minlength=n_blocks + 1).min() < least:
        raise ValueError(
            f"{m} {what} are too few for {n_blocks} blocks (n_blocks) of at least {least} {what}: "
            f"take fewer blocks{' or a smaller min_size' if groups is None else ''}, or more {what}."
        )
    home: Ints = rng.permutation(dealt)
    return home if groups is None else groups.spread(home)


# What is learned, and the statistic that a null draws.


def _tested(
    null: Null, learner: Any, matrix: Floats, seen: Sample, home: Ints, rng: np.random.Generator
) -> tuple[tuple[float, ...], Floats]:
    """Test each block by what was learned from those before: p-values, and what was learned before the last (n,)."""
    pvalues = []
    n_blocks = int(home.max())
    for block in track(range(1, n_blocks + 1), n_blocks):
        past, now = home < block, home == block
        learned = _learned(learner, matrix, seen.take(past), past, rng)
        along, tested = _Along(learned[now]), seen.take(now)
        pvalues.append(null.draw(along, tested, rng).pvalue(along(tested)))
    return tuple(pvalues), learned


def _regressor(learner: Any) -> Any:
    """Return gradient boosting of small trees for None, and refuse what is no regressor to fit."""
    if learner is None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(**_BOOSTING)
    able = not isinstance(learner, type) and all(callable(getattr(learner, each, None)) for each in ("fit", "predict"))
    if not able or hasattr(learner, "predict_proba"):
        raise TypeError(
            f"learner is {learner!r}, but a regressor (not a classifier) with fit and predict is expected: for example "
            "sklearn.ensemble.RandomForestRegressor()."
        )
    return learner


def _learned(learner: Any, matrix: Floats, past: Sample, rows: Bools, rng: np.random.Generator) -> Floats:
    """Fit a copy of the learner to the residuals of past rows, and return what it predicts for all rows (n,)."""
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    fitted = clone(learner, safe=False)
    known = fitted.get_params() if hasattr(fitted, "get_params") else {}
    seeds = [name for name in sorted(known) if name.split("__")[-1] == "random_state" and known[name] is None]
    if seeds:
        fitted.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
    weighted = past.predictions.weights is not None and has_fit_parameter(fitted, "sample_weight")
    more = {"sample_weight": past.predictions.weights} if weighted else {}
    fitted.fit(matrix[rows], past.outcomes - past.predictions.event, **more)
    learned = np.asarray(fitted.predict(matrix), dtype=float)
    if learned.shape not in ((len(matrix),), (len(matrix), 1)) or not np.isfinite(learned).all():
        raise ValueError(
            f"learner is {learner!r}, which predicts an array of shape {learned.shape}, or numbers that are not "
            f"finite; a finite number for each of {counted(len(matrix), 'row')} is expected."
        )
    return learned.ravel()


@final
@dataclass(frozen=True, eq=False)
class _Along(Estimator):
    """The weighted mean of residuals times what was learned of them, (n,): large where it holds for these rows too."""

    learned: Floats
    quantity: ClassVar[str] = "mean of residual times learned residual"
    residual_form: ClassVar[ResidualForm] = "function"

    @property
    def estimand(self) -> _Along:
        """The same on a population."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Multiply the residual of each label by what was learned of it."""
        residuals = np.arange(2) - predictions.event[:, None]
        return TableEvaluator(predictions, self.learned * residuals.T, standardize=False)


# Where: a shallow tree of what was learned, whose leaves are rules in words, judged on the last block.


def _boxes(matrix: Floats, learned: Floats, predictions: Predictions, max_depth: int, min_size: int) -> list[Box]:
    """Fit a tree to what was learned, and return the conditions of each of its leaves."""
    from sklearn.tree import DecisionTreeRegressor

    pruned = {"min_samples_leaf": min_size, "ccp_alpha": _WORTH * np.var(learned)}
    tree = DecisionTreeRegressor(max_depth=max_depth, random_state=0, **pruned)
    most = np.finfo(np.float32).max  # scikit-learn's trees are of single precision
    fitted = tree.fit(matrix.clip(-most, most), learned, sample_weight=predictions.weights).tree_
    return boxes(arrays_of(fitted), lambda column, cut: rounded(matrix[:, column], cut, moved=_MOVED))


def _inside(box: Box, features: Sequence[Feature], unseen: Bools) -> Bools:
    """Return which of the unseen rows (n,) are in a leaf."""
    inside = unseen.copy()
    for feature, (low, high) in box.items():
        inside &= (features[feature].values > low) & (features[feature].values <= high)
    return inside


@final
@dataclass(frozen=True, eq=False, repr=False)
class LearnerAudit(Result):
    """The result of `learner_audit`; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        Fisher's: minus twice the sum of the logarithms of the p-values of the blocks.
    pvalue : float
        That of chi-squared with two degrees of freedom for each block.
    block_pvalues : tuple of float
        Of each block, in order: the learner has seen the fewest rows before the first.
    leaves : tuple of LeafFinding
        Those whose intervals are the farthest from zero first; those of the tree before the learner's own two.
    variables : tuple of str
        What the learner had besides the prediction.
    learner : str
        Its ``repr``.
    hypothesis : str
        The null: given the prediction and all variables.
    level, confidence_level : float
    n, n_unseen : int
        Rows in all, and in the last block.
    lens : Lens
    notes : tuple of str
    source : str
    counts : RowCounts
    what : str
        Whose calibration it is, in words.
    clusters : ClusterCount, optional
        Number of clusters, and how many of equal size would be as good, where the null names them.
    """

    statistic: float
    pvalue: float
    block_pvalues: tuple[float, ...]
    leaves: tuple[LeafFinding, ...]
    variables: tuple[str, ...]
    learner: str
    hypothesis: str
    level: float
    confidence_level: float
    n: int
    n_unseen: int
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

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def rejected(self) -> list[LeafFinding]:
        """The leaves whose intervals exclude zero, if the audit rejects; the farthest from zero first."""
        return [leaf for leaf in self.leaves if leaf.direction] if self.pvalue <= self.level else []

    @property
    def verdict(self) -> str:
        """Say whether there is evidence, and of which direction and size it is where it is clearest."""
        p = f"p {small_pvalue(self.pvalue, level=self.level)}"
        if self.pvalue > self.level:
            many = [f"{len(self.variables)} variables"]
            names = ", ".join(["the prediction", *(self.variables if len(self.variables) <= _NAMED else many)])
            what = not_rejected(self.level, what=f"Calibration of {self.what} given {names}")
            return f"{what} ({p}, n = {self.n})."
        largest, on = self.leaves[0], f"the {counted(self.n_unseen, 'row')} that judge it"
        if largest.confidence_interval is None:
            means = means_text(largest.mean_prediction, largest.mean_outcome)
            return sentence(
                f"{self.what} is off ({p}); by most, in {on}, where {largest.name}: {means}, without an interval."
            )
        if not self.rejected:
            return sentence(f"{self.what} is off ({p}), but {on} do not show where.")
        return sentence(f"{self.what} {self.rejected[0].says(self.confidence_level)} ({p}).")

    def forest(self) -> Forest:
        """Return the leaves as rows of a forest plot, the farthest from zero first."""
        p, rejected = small_pvalue(float(f"{self.pvalue:.2g}"), level=self.level), self.rejected
        first = f"{rejected[0].direction}: {rejected[0].name}" if rejected else f"n = {self.n:,}"
        whether = "the model is off" if self.pvalue <= self.level else "no evidence that the model is off"
        return leaf_forest(
            self.leaves,
            rejected,
            self.confidence_level,
            answer=(f"{whether} (p {p})", first),
            caption=f"{self.verdict} Each row is a leaf of a tree fitted to what was learned from other rows, or all "
            f"rows with one sign of it, judged on {counted(self.n_unseen, 'row')} that neither has seen; the "
            f"{percent(self.confidence_level)} intervals hold together. Null: {self.hypothesis}.",
        )

    def _values(self) -> dict[str, Any]:
        return {
            "lens": repr(self.lens),
            **picked(self, "variables learner n n_unseen statistic pvalue block_pvalues level confidence_level"),
            **picked(self, "hypothesis source notes leaves"),
            **({} if self.clusters is None else self.clusters.to_dict()),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [leaf.to_dict() for leaf in self.leaves]

    def _table(self) -> list[list[str]]:
        return table_of_leaves(self.leaves)

    def _notes(self) -> list[str]:
        return [CAUTION + ("" if self.clusters else CLUSTERED), *self.notes]

    def _details(self) -> list[tuple[str, str]]:
        known = self.leaves[0].confidence_interval is not None
        blocks = ", ".join(map(pvalue_cell, self.block_pvalues))
        details = [
            (
                percent(self.confidence_level),
                "intervals of happened - predicted that cover all together, at every n; * excludes 0" if known else "",
            ),
            ("noise", "standard deviation of the difference for calibrated predictions"),
            (
                "where",
                "leaves of a tree fitted to what was learned from the other blocks, and all rows with one sign of it, "
                f"judged on the {counted(self.n_unseen, 'row')} of the last block, which neither has seen",
            ),
            (
                "p-value",
                f"Fisher's combination of {blocks}: one for each block, tested by what was learned from those before",
            ),
            ("learner", self.learner),
            ("null", self.hypothesis),
            ("data", f"n = {self.n}; {self.source}"),
        ]
        return [(name, text) for name, text in details if text]
