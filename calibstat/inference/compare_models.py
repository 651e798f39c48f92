"""Which of several models are better calibrated than others, and which may be the best?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import one_bar
from calibstat._text import percent, some_of
from calibstat.data.arrays import RNG, Floats, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_share, repeats
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.draws.streams import Streams
from calibstat.estimators.base import Estimator, Evaluator, Headline
from calibstat.inference.arguments import check_sample, look_through, refuse_counted, with_counts
from calibstat.inference.cluster_values import ClusterValue, error_in_clusters
from calibstat.inference.compare import (
    CLUSTERED,
    ENOUGH_ROWS,
    both_erring,
    both_rows,
    direction_columns,
    ends_cell,
    expanded,
    own_nulls,
    pvalue_of_difference,
    root_mean_square,
    short,
    to_compare,
)
from calibstat.inference.differences import (
    Expanded,
    difference_error,
    merging_note,
    same_rows,
    with_labels,
    with_large_cells,
    wrapped_pvalue,
)
from calibstat.inference.equal_errors import Common, Difference
from calibstat.inference.estimate import interval_or_none
from calibstat.inference.forest import Forest, ForestRow, best_and_apart, in_words, model_row, models_caption, roots
from calibstat.inference.intervals import ConfidenceInterval, normal_pvalue, standardized
from calibstat.inference.multiplicity import (
    Adjust,
    adjust_pvalues,
    cannot_reject,
    check_choices,
    enough_redraws,
    holm_of_pairs,
    least_factor_of_pairs,
    more_note,
    single_step,
)
from calibstat.inference.results import Inquiry, Result, RowCounts, number, number_cell, picked, small_pvalue
from calibstat.inference.tails import far_below, normal_tail, pair_note, tail_text
from calibstat.lenses.base import Lens

# Up to so many redraws less one may reach a difference by chance before it can no longer be told from zero.
_SEVERAL = 3
_WORK_OF_SUMS = 300


@one_bar
def compare_models(
    samples: Mapping[str, Sample],
    estimator: Estimator | None = None,
    *,
    lens: Lens | None = None,
    adjust: Adjust = "holm",
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ModelComparison:
    """Test for each pair of models whether their squared calibration errors are equal, and find which may be the best.

    Each pair is tested as by `comparison_test`: the p-value is the larger of that of the difference, by labels redrawn
    where both errors are equal, and of twice the smaller exact p-value of the two models by themselves, so that it
    holds whether or not both errors are zero. By default differences are adjusted by Holm's method over the pairs, and
    exact p-values over the models, which are fewer (`holm_of_pairs`). With "max-t" the differences are adjusted by the
    largest one of all pairs, whose joint law is normal, with the covariance of the influences of the rows, and the
    exact p-values by Bonferroni over the models. If some models may all be calibrated while others share an error (four
    models or more), each part gets half of the level.

    Where rows come in clusters (`Sample.groups`), differences are tested by these, as by `comparison_test`.

    Where redraws are so few that no pair could be told apart, or that two of them which reach a difference could hide
    it, more are taken, unless that takes more than four times as long. A p-value of redraws is valid however few they
    are, but cannot be smaller than one of so many; where no noise reaches a difference and the noise looks normal,
    `PairDifference` has its normal tail beside it, an approximation.

    The model confidence set (Hansen, Lunde & Nason 2011) removes the worst model for as long as the errors of the
    remaining ones differ by the largest difference (range statistic), wrapped in the same way. For many rows it
    contains the models with the smallest error with a probability of at least `confidence_level`.

    Parameters
    ----------
    samples : mapping of str to Sample
        At least two models, with the predictions of each for the same rows in the same order. Columns that stand in
        another order are taken by their labels.
    estimator : Estimator, optional
        As for `comparison_test`, with its lens: for example ``TopLabel() | DebiasedL2(EqualMass(15))``.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``.
    adjust : {"holm", "max-t", "fdr_by"}
        Holm's method, the largest difference, or the share of false discoveries (Benjamini & Yekutieli 2001). The
        other methods do not fit pairs that share models, and are refused.
    level : float
        The verdict names pairs whose adjusted p-value is at most this; p-values do not depend on it.
    confidence_level : float
        Level of the model confidence set.
    n_resamples : int
        Number of resamples for the exact p-values, the differences and the joint law; more where no pair could be told
        apart otherwise.
    rng : int, Generator or None

    Returns
    -------
    ModelComparison
        With ``pairs``, ``values``, ``confidence_set``; prints itself in words.

    Raises
    ------
    ValueError
        If there are fewer than two models, if their rows or labels differ, or if the estimator has no expansion or no
        best value.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.compare_models import compare_models
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> models = {"raw": cs.Sample(y, p), "bold": cs.Sample(y, p**2), "copy": cs.Sample(y, p)}
    >>> found = compare_models(models, cs.DebiasedL2(cs.EqualMass(15)), rng=0)
    >>> {(pair.first, pair.second): round(pair.pvalue_adjusted, 3) for pair in found.pairs}
    {('raw', 'bold'): 0.003, ('raw', 'copy'): 1.0, ('bold', 'copy'): 0.003}
    >>> found.confidence_set
    ('raw', 'copy')
    """
    names = _checked(samples, adjust)
    estimator = to_compare(samples[names[0]], lens, estimator)
    samples = _same(samples, estimator)
    worse = _worse(estimator)
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    estimator, _ = with_large_cells(estimator, samples.values())
    seen = [estimator.lens(each) for each in samples.values()]
    evaluators = [Headline(estimator.core).prepare(each.predictions) for each in seen]
    known = [*zip(seen, evaluators, strict=True)]
    values = [expanded(estimator, *each, "compare_models") for each in known]
    pairs = list(combinations(range(len(names)), 2))
    repeats("n_resamples", n_resamples)
    generator, squared = as_generator(rng), values[0].squared
    of_a_model = Streams(generator)  # the same for each, so that the same predictions have the same numbers
    asked, each_draw = n_resamples, _work_of_a_draw(evaluators, len(seen[0]))
    least, size = _least(len(names), adjust, squared), len(seen) ** 2 * each_draw
    n_resamples = enough_redraws(asked, least, level, size)
    n_resamples = max(n_resamples, enough_redraws(n_resamples, _SEVERAL * least, level, size))
    drawn_alone: list[Floats | None] = [None] * len(seen)
    own, limits = np.zeros((2, len(seen)))  # only squared errors may be zero for both models, where no normal law holds
    if squared:
        laws = [own_nulls(estimator, *each, None, n_resamples, of_a_model[0])[0] for each in known]
        own = np.array([law.pvalue(each.value) for law, each in zip(laws, values, strict=True)])
        limits = np.array([float(law.quantile(1 - level)) for law in laws])
        drawn_alone = [law.samples for law in laws]
    clusters = ClusterValue.of_all(values, "compare_models")
    known_values = [each.value for each in clusters or values]
    differences = np.array([known_values[a] - known_values[b] for a, b in pairs])
    errors, single, tails = _each_pair(
        evaluators, values, clusters, seen, pairs, n_resamples, generator, list(samples.values()), estimator.lens
    )
    sizes = [max(values[a].size, values[b].size) for a, b in pairs]
    z = np.array([standardized(*each) for each in zip(differences, errors, sizes, strict=True)])
    wrapped = np.array([wrapped_pvalue(p, (own[a], own[b])) for p, (a, b) in zip(single, pairs, strict=True)])
    drawn = _joint_draws(*_influences(values, clusters), pairs, errors, n_resamples, generator)
    scores = _scores(z, single, n_resamples if squared and clusters is None else np.inf)
    if adjust == "max-t":
        adjusted = _max_t(np.abs(scores), drawn, own, pairs)
    elif adjust == "holm" and squared:
        adjusted = holm_of_pairs(single, own, pairs)
    else:
        adjusted = adjust_pvalues(wrapped, adjust)
    looked = (look_through(each, estimator) for each in samples.values())
    questions = tuple(
        with_counts(asked, each, estimator.core.prepare(each.predictions).capabilities) for asked, each in looked
    )
    numbers = np.stack([differences, errors, z, single, wrapped, adjusted]).tolist()
    counts = (RowCounts.least((questions[a].counts, questions[b].counts)) for a, b in pairs)
    return ModelComparison(
        names=names,
        values=tuple(known_values),
        own_pvalues=tuple(map(float, own)) if squared else None,
        own_limits=tuple(limits.tolist()) if squared else None,
        confidence_intervals=tuple(
            interval_or_none(estimator.core, each, confidence_level, n_resamples, of_a_model[1], redraws, evaluator)
            for (each, evaluator), redraws in zip(known, drawn_alone, strict=True)
        ),
        pairs=tuple(
            PairDifference(names[a], names[b], *rest)
            for (a, b), *rest in zip(pairs, *numbers, counts, tails, strict=True)
        ),
        set_pvalues=set_pvalues(worse * scores, drawn, own, pairs),
        confidence_level=confidence_level,
        adjust=adjust,
        n_resamples=n_resamples,
        questions=questions,
        level=level,
        n_asked=asked,
    )


def _each_pair(
    evaluators: Sequence[Evaluator],
    values: Sequence[Expanded],
    clusters: Sequence[ClusterValue] | None,
    seen: Sequence[Sample],
    pairs: list[tuple[int, int]],
    n_resamples: int,
    rng: np.random.Generator,
    samples: Sequence[Sample],
    lens: Lens,
) -> tuple[Floats, Floats, list[float | None]]:
    """Return the standard error and the p-value (P,) of each difference by itself, as `comparison_test` does.

    And the normal tails of those that no draw reaches.
    """
    found = []
    for a, b in pairs:
        difference, size = values[a].value - values[b].value, max(values[a].size, values[b].size)
        if values[0].squared:
            both, chosen = (values[a], values[b]), (evaluators[a], evaluators[b])
            common = Common.of((samples[a], samples[b]), lens)
            rows = both_rows(both, (seen[a], seen[b]), chosen, paired=True, common=common)
            noise = Difference(both_erring(both, rows, chosen), True).noise(n_resamples, rng)
            if clusters is None:
                pvalue, tail = pvalue_of_difference(difference, noise, size), normal_tail(difference, noise)
                found.append((root_mean_square(noise), pvalue, tail))
            else:
                difference = clusters[a].value - clusters[b].value
                error, freedom = error_in_clusters((clusters[a], clusters[b]), True, noise)
                found.append((error, normal_pvalue(difference, error, size, freedom), None))
        else:
            error, freedom = difference_error(values[a], values[b], paired=True)
            found.append((error, normal_pvalue(difference, error, size, freedom), None))
    errors, single, tails = zip(*found, strict=True)
    return np.array(errors), np.array(single), [*tails]


def _influences(values: Sequence[Expanded], clusters: Sequence[ClusterValue] | None) -> tuple[Floats, Floats]:
    """Return the influences (n, M) of rows, or of clusters, on the value of each model, and their shares (n,)."""
    shares = values[0].share if clusters is None else clusters[0].masses / clusters[0].masses.sum()
    return np.stack([each.influence for each in clusters or values], axis=-1), shares


def _scores(z: Floats, pvalues: Floats, n_resamples: float) -> Floats:
    """Return differences in standard errors, or the normal scores of their p-values where these are smaller.

    A p-value that no draw reaches, the smallest possible one, has no score.
    """
    known = pvalues > 1 / (1 + n_resamples)
    return np.where(known, np.sign(z) * np.minimum(np.abs(z), -special.ndtri(pvalues / 2)), z)


def _checked(samples: Mapping[str, Sample], adjust: str) -> tuple[str, ...]:
    """Refuse what is no set of models; return the names."""
    if not isinstance(samples, Mapping) or len(samples) < 2:
        found = f"of {len(samples)}" if isinstance(samples, Mapping) else f"a {type(samples).__name__}"
        raise ValueError(
            f"samples must map at least two names to samples, but is {found}: for example "
            "{'raw': sample, 'calibrated': other}."
        )
    check_choices(adjust, missing=NOT_FOR_PAIRS)
    for each in samples.values():
        refuse_counted("compare_models", each)
        check_sample(each)
    return tuple(samples)


def _same(samples: Mapping[str, Sample], estimator: Estimator) -> dict[str, Sample]:
    """Return samples with their columns in one order; refuse samples of different rows or labels."""
    (name_of_first, first), *others = samples.items()
    found = {name_of_first: first}
    for name, other in others:
        try:
            found[name] = with_labels(first.labels, other)
            same_rows(first, found[name], estimator, "give every model's predictions for the same rows")
        except ValueError as wrong:
            raise ValueError(f"{name_of_first!r} and {name!r}: {wrong}") from wrong
    return found


def _least(m: int, adjust: str, drawn: bool) -> float:
    """Return the smallest adjusted p-value of m models, times 1 + R; 0 if p-values are not `drawn` but normal."""
    if adjust == "max-t":
        return max(m, 2 * (m - 2))
    if not drawn:
        return 0.0
    return least_factor_of_pairs(m, adjust)


def _work_of_a_draw(evaluators: Sequence[Evaluator], n: int) -> int:
    """Return about how many evaluated labels a draw costs; that of sums over cells does not grow with n."""
    return min(n, _WORK_OF_SUMS) if all(each.capabilities.from_tallies for each in evaluators) else n


def _worse(estimator: Estimator) -> int:
    """Return 1 if larger values are worse, and -1 if smaller ones are; refuse values without a best end."""
    steps = np.sign(np.diff(estimator.core.evidence(np.linspace(-2.0, 2.0, 9))))
    if len(set(steps)) != 1 or not steps[0]:
        raise ValueError(
            f"compare_models finds the best of several models, but {estimator!r} has no best value: compare two models "
            "by comparison_test."
        )
    return int(steps[0])


def _joint_draws(
    influence: Floats,
    share: Floats,
    pairs: list[tuple[int, int]],
    errors: Floats,
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Draw standardised differences (R, P) under equal errors, normal, with the covariance that influences show.

    Where the standard error of a pair is larger than the influences show (`difference_error`), noise is added.
    """
    influence = influence - share[:, None] * influence.sum(axis=0)
    sums = _normal_sums(influence, n_resamples, rng)
    first, second = np.array(pairs).T
    spread = np.sqrt(((influence[:, first] - influence[:, second]) ** 2).sum(axis=0))
    unseen = np.sqrt(np.maximum(errors**2 - spread**2, 0.0))
    noise = sums[:, first] - sums[:, second]
    if unseen.any():
        noise = noise + unseen * rng.standard_normal(noise.shape)
    scale = np.maximum(errors, spread)
    known = scale > ROUNDING * np.abs(influence).max(initial=0.0)
    return np.where(known, noise / np.where(known, scale, 1.0), 0.0)


def _normal_sums(rows: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw sums (R, M) of the rows of (n, M), each times a normal number of its own."""
    root = np.linalg.qr(rows, mode="r")
    return np.asarray(rng.standard_normal((n_resamples, len(root))) @ root)


def _max_t(size: Floats, drawn: Floats, own: Floats, pairs: list[tuple[int, int]]) -> Floats:
    """Adjust pairs of equal errors by the largest difference, and pairs of calibrated models by Bonferroni.

    Let C be the set of calibrated models. A pair of equal errors outside C is rejected by the largest difference over
    the models outside C, and a pair inside C only if a model of C is rejected by itself. If both kinds are possible,
    each set has at least two models, and each kind gets half of alpha. The p-value is the largest over all C.
    """
    n_models = len(own)
    adjusted = single_step(size, np.abs(drawn))
    for excluded in combinations(range(n_models), 2) if n_models > 3 else ():
        rest = [k for k, pair in enumerate(pairs) if not set(pair) & set(excluded)]
        adjusted[rest] = np.maximum(adjusted[rest], 2 * single_step(size[rest], np.abs(drawn[:, rest])))
    factor = max(n_models, 2 * (n_models - 2))
    by_itself = np.array([factor * min(own[a], own[b]) for a, b in pairs])
    return np.minimum(1.0, np.maximum(adjusted, by_itself))


def set_pvalues(z: Floats, drawn: Floats, own: Floats, pairs: list[tuple[int, int]]) -> tuple[float, ...]:
    """Return for each model the level at which it leaves the model confidence set (Hansen, Lunde & Nason 2011).

    "All remaining models have the same error" is tested by the largest of their standardised differences, `z` (P,),
    against `drawn` (R, P). Since that law does not hold if all are calibrated, the p-value is the larger of this one
    and of the smallest exact p-value of a model by itself, `own` (M,), times the number of remaining models. Then the
    model with the largest standardised excess over another one is removed. The p-value of a model is the largest one
    up to its removal, and 1 for the last model.
    """
    left = set(range(len(own)))
    pvalues, worst = [1.0] * len(own), 0.0
    while len(left) > 1:
        kept = [k for k, pair in enumerate(pairs) if set(pair) <= left]
        largest = single_step(np.abs(z[kept]).max()[None], np.abs(drawn[:, kept]).max(axis=1)[:, None])[0]
        by_itself = min(1.0, len(left) * float(min(own[m] for m in left)))
        worst = max(worst, float(largest), by_itself)
        excess = dict.fromkeys(sorted(left), -np.inf)
        for k in kept:
            first, second = pairs[k]
            excess[first], excess[second] = max(excess[first], z[k]), max(excess[second], -z[k])
        gone = max(excess, key=lambda m: excess[m])
        pvalues[gone] = worst
        left.remove(gone)
    return tuple(pvalues)


_METHODS = {
    "holm": "Holm's method, differences over pairs and p-values of models by themselves over models",
    "max-t": "the largest difference of all pairs (normal law), Bonferroni over models",
    "fdr_by": "Benjamini and Yekutieli's method over pairs (share of false discoveries)",
}
NOT_FOR_PAIRS = {
    "step-down": "removing pairs one by one is not known to be valid for models that may all be calibrated",
    "fdr_bh": "differences of pairs that share a model need not depend positively on each other",
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class PairDifference(Result):
    """The difference of two models' values, first minus second, and its test.

    Parameters
    ----------
    first, second : str
        The names of the models.
    difference, standard_error : float
    statistic : float
        The ratio of the two.
    difference_pvalue, pvalue, pvalue_adjusted : float
        The p-value without the wrap, the one with it, and this one adjusted for all pairs.
    counts : RowCounts
    normal_tail : float, optional
        The p-value of the difference by the normal law, where no draw of the noise reaches it and the noise looks
        normal: an approximation, for the size of what `difference_pvalue` bounds.
    """

    first: str
    second: str
    difference: float
    standard_error: float
    statistic: float
    difference_pvalue: float
    pvalue: float
    pvalue_adjusted: float
    counts: RowCounts
    normal_tail: float | None = None

    _no_display: ClassVar[str] = (
        "the plot() of its comparison shows which pairs are told apart, and comparison_test draws two models"
    )

    @property
    def verdict(self) -> str:
        """One sentence: the difference with its p-values."""
        size = max(abs(self.difference), self.standard_error)
        tail = "" if self.normal_tail is None else f", by the normal law {tail_text(self.normal_tail)}"
        return (
            f"{self.first} minus {self.second}: {number(self.difference, size)} (standard error "
            f"{number(self.standard_error, size)}, p = {self.pvalue:.3g}{tail}, adjusted {self.pvalue_adjusted:.3g})"
        )

    def _table(self) -> list[list[str]]:
        numbers = f"{self.pvalue:.3g}", f"{self.pvalue_adjusted:.3g}"
        row = [f"{self.first} minus {self.second}", number(self.difference), number(self.standard_error), *numbers]
        return [["pair", "difference", "standard error", "p", "adjusted p"], row]

    def _values(self) -> dict[str, Any]:
        names = "first second difference standard_error statistic difference_pvalue pvalue pvalue_adjusted normal_tail"
        return picked(self, names)


@final
@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """The result of `compare_models`.

    Parameters
    ----------
    names : tuple of str
    values : tuple of float
        The value of each model; a squared error is binned by the model's own cells.
    own_pvalues : tuple of float, or None
        For squared errors, the exact p-value of each model by itself, of "this model is calibrated".
    pairs : tuple of PairDifference
        ``pvalue`` is for the pair by itself, and ``pvalue_adjusted`` is adjusted for all pairs.
    set_pvalues : tuple of float
        A model is in the model confidence set of level 1 - alpha if this exceeds alpha.
    confidence_level : float
    adjust : str
    n_resamples : int
    questions : tuple of Inquiry
    level : float
        There is evidence about a pair if its adjusted p-value is at most this.
    n_asked : int, optional
        How many redraws were asked for, where more were taken.
    confidence_intervals : tuple of ConfidenceInterval or None
        Of each value by itself; None where no interval is known.
    own_limits : tuple of float, or None
        For squared errors, what a calibrated model with the predictions of each exceeds with probability `level`.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    own_pvalues: tuple[float, ...] | None
    pairs: tuple[PairDifference, ...]
    set_pvalues: tuple[float, ...]
    confidence_level: float
    adjust: str
    n_resamples: int
    questions: tuple[Inquiry, ...]
    level: float = LEVEL
    n_asked: int | None = None
    confidence_intervals: tuple[ConfidenceInterval | None, ...] = ()
    own_limits: tuple[float, ...] | None = None

    _display: ClassVar[str] = "ComparisonDisplay"
    _row: ClassVar[str] = "pair"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 2, 6, 7)
    _spare_columns: ClassVar[tuple[int, ...]] = (5, 4, 3, 2)

    @property
    def root_values(self) -> tuple[float, ...] | None:
        """Roots of squared errors, in units of probability, 0 for negative ones; None for other values."""
        if self.own_pvalues is None:
            return None
        return tuple(float(np.sqrt(max(value, 0.0))) for value in self.values)

    @property
    def confidence_set(self) -> tuple[str, ...]:
        """The models that may have the smallest error, or the best score."""
        outside = 1 - self.confidence_level
        return tuple(name for name, p in zip(self.names, self.set_pvalues, strict=True) if p > outside + ROUNDING)

    @property
    def hypothesis(self) -> str:
        """The null hypothesis of each pair."""
        if self.own_pvalues is None:
            return f"the two models have the same {self._quantity} through {self.questions[0].lens!r}"
        return (
            f"the two models have the same squared calibration error through {self.questions[0].lens!r}, each binned "
            "by its own cells (both may be zero)"
        )

    @property
    def verdict(self) -> str:
        """A sentence or two: which model is better than which and by how much, or that there is no evidence of it."""
        differ, best = self._told_apart, self._ranked[0]
        clusters = self.questions[0].clusters
        n = f"n = {self.questions[0].n}" + ("" if clusters is None else f" in {clusters}")
        others = [name for name in self._ranked if name != best]
        measure, at, p = self._measure, f"at {percent(self.level)}", "adjusted p" if others[1:] else "p"
        if not differ:
            none = cannot_reject(self.n_resamples, self._least_factor, self.level)
            smallest = f"{p} {small_pvalue(min(pair.pvalue_adjusted for pair in self.pairs), level=self.level)}"
            models = f"{best} and {others[0]}" if len(others) == 1 else f"These {len(self.names)} models"
            sizes = f"{measure} {self._sizes(self._ranked)} ({n}, {'smallest ' if others[1:] else ''}{smallest})"
            return f"{none} {models} cannot be told apart {at}: {sizes}.".lstrip()
        largest = small_pvalue(max(pair.pvalue_adjusted for pair in differ), level=self.level)
        rows = f"({n}, {p} {largest if len(differ) == 1 else largest.replace('=', 'at most')}{self._tails_of(differ)})"
        told = f"{'all' if len(differ) == len(self.pairs) else f'{len(differ)} of'} {len(self.pairs)} pairs"
        if any(best not in self._better_ones(name) for name in others):
            (worse, ahead), *more = self._who_is_worse
            first = f"{_are_worse(worse, ahead, self.own_pvalues is not None)} {at}: {measure}"
            also = [f"{_are_worse(*each)} ({self._against(*each)})." for each in more[:1]]
            rest = [name for names, _ in more[1:] for name in names]
            also += [f"{some_of(rest)} {'are' if rest[1:] else 'is'} worse than others too."] if rest else []
            also += [f"{told.capitalize()} {'are' if differ[1:] else 'is'} told apart.", self._best_in_words]
            return f"{first} {self._against(worse, ahead)} {rows}. {' '.join(also)}"
        than = {1: others[0], 2: "both other models"}.get(len(others), f"all {len(others)} other models")
        better = "better calibrated" if self.own_pvalues is not None else "better"
        sizes = f"{measure} {self._sizes([best])} against {self._sizes(others)}"
        pairs = f" {told.capitalize()} are told apart." if others[1:] else ""
        return f"{best} is {better} than {than} {at}: {sizes} {rows}.{pairs}"

    def _tails_of(self, differ: Sequence[PairDifference]) -> str:
        """Say how small p-values are by the normal law, where redraws are too few to show it."""
        smallest = self._least_factor / (1 + self.n_resamples)
        tails = [pair.normal_tail for pair in differ if far_below(pair.normal_tail, self.n_resamples)]
        if len(tails) < len(differ) or smallest < self.level / (_SEVERAL + 1):
            return ""
        return f", as redraws are few; {tail_text(min(1.0, max(tails) * len(self.pairs)))} by the normal law"

    @property
    def _measure(self) -> str:
        """What is compared, in words."""
        squared = self.own_pvalues is not None
        return f"{'calibration error of' if squared else f'{self._quantity} for'} {self.questions[0].what}"

    @property
    def _who_is_worse(self) -> list[tuple[list[str], list[str]]]:
        """Models and those that they are told apart from, and worse than; models of the same ones together."""
        found: dict[tuple[str, ...], list[str]] = {}
        for name in reversed(self._ranked):
            better = tuple(self._better_ones(name))
            if better:
                found.setdefault(better, []).insert(0, name)
        return [(worse, [*better]) for better, worse in found.items()]

    def _against(self, worse: Sequence[str], better: Sequence[str]) -> str:
        return f"{self._sizes(worse)} against {self._sizes(better)}"

    @property
    def _best_in_words(self) -> str:
        names = [name for name in self._ranked if name in self.confidence_set]
        listed = ", ".join(names[:-1]) + f" or {names[-1]}" if names[1:] else names[0]
        return f"With {percent(self.confidence_level)} confidence the best is {listed}."

    @property
    def _sizes_by_name(self) -> dict[str, float]:
        """Roots of squared errors, or other values."""
        return dict(zip(self.names, self.root_values or self.values, strict=True))

    def _sizes(self, names: Sequence[str]) -> str:
        ends = [self._sizes_by_name[name] for name in (names[0], names[-1])]
        low, high = map(short, ends)
        if names[1:] and low == high == "0":
            return f"about {low}"
        return low if len(names) == 1 else f"{low} {'and' if len(names) == 2 else 'to'} {high}"

    @property
    def _ranked(self) -> list[str]:
        """The names, the best model first."""
        worse, values = _worse(self.questions[0].estimator), dict(zip(self.names, self.values, strict=True))
        return sorted(self.names, key=lambda name: worse * values[name])

    @property
    def _told_apart(self) -> list[PairDifference]:
        return [pair for pair in self.pairs if pair.pvalue_adjusted <= self.level]

    def _better_ones(self, name: str) -> list[str]:
        """Return the models that this one is told apart from, and worse than."""
        place = {each: rank for rank, each in enumerate(self._ranked)}
        found = [{pair.first, pair.second} - {name} for pair in self._told_apart if name in (pair.first, pair.second)]
        return sorted((each for (each,) in found if place[each] < place[name]), key=place.__getitem__)

    @property
    def notes(self) -> tuple[str, ...]:
        """Limits of the result."""
        merged = merging_note(self.questions[0].estimator, self.questions[0].clusters is not None)
        found = [merged] if merged else []
        if self.questions[0].n < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} rows: the p-value of a difference is only about right")
        if self.own_pvalues is None and self.questions[0].clusters is not None:
            found.append(CLUSTERED)
        found += self._more_redraws
        clearest = max(self.pairs, key=lambda pair: abs(pair.statistic))
        if far_below(clearest.normal_tail, self.n_resamples):
            found.append(pair_note(self.n_resamples, (clearest.first, clearest.second), clearest.normal_tail))
        return tuple(found)

    @property
    def _more_redraws(self) -> tuple[str, ...]:
        """Say that more redraws were taken than asked for, and why."""
        asked = self.n_asked or self.n_resamples
        if asked == self.n_resamples or cannot_reject(asked, self._least_factor, self.level):
            return more_note(self.n_resamples, asked, self.level)
        few = f"with {asked} one or two that reach a difference could hide it"
        return (f"{self.n_resamples} redraws were taken, since {few}",)

    @property
    def _least_factor(self) -> float:
        """The smallest adjusted p-value that draws can give, times their number and one."""
        return _least(len(self.names), self.adjust, drawn=self.own_pvalues is not None)

    def _rows(self) -> list[dict[str, Any]]:
        return [pair.to_dict() for pair in self.pairs]

    def forest(self) -> Forest:
        """Return the models as rows of a forest plot, the best first, with the pairs that are told apart."""
        squared = self.own_pvalues is not None
        order = sorted(range(len(self.names)), key=lambda m: _worse(self.questions[0].estimator) * self.values[m])
        own, limits = self.own_pvalues or (1.0,) * len(order), self.own_limits or (0.0,) * len(order)
        rows = tuple(
            model_row(self.names[m], self.values[m], self.confidence_intervals[m], limits[m], own[m] <= self.level)
            if squared
            else ForestRow(self.names[m], self.values[m], self.confidence_intervals[m])
            for m in order
        )
        place = {self.names[m]: row for row, m in enumerate(order)}
        differ = self._told_apart
        best = [each for each in place if each in self.confidence_set]
        name = in_words(type(self.questions[0].estimator.core).__name__)
        return Forest(
            rows,
            axis=f"root calibration error ({name})" if squared else self._quantity,
            answer=best_and_apart(best, len(differ), len(self.pairs), self.questions[0].n),
            caption=f"{self.verdict} {models_caption(self.confidence_level, self.level, squared)} With "
            f"{percent(self.confidence_level)} confidence the {'smallest error' if squared else 'best value'} is among "
            f"{', '.join(best)} (model confidence set).",
            interval=f"{percent(self.confidence_level)} interval",
            noise=f"{percent(1 - self.level)} if calibrated" if squared else "",
            reference=0.0 if squared else None,
            apart=tuple((place[pair.first], place[pair.second]) for pair in differ),
        )

    def _models(self) -> list[dict[str, Any]]:
        """Return a row for each model by itself."""
        unknown = (None,) * len(self.names)
        columns = {
            "name": self.names,
            "value": self.values,
            "root": self.root_values or unknown,
            "own_pvalue": self.own_pvalues or unknown,
            "set_pvalue": self.set_pvalues,
            "source": [question.source for question in self.questions],
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _counted(self) -> dict[str, Any]:
        return RowCounts.least(asked.counts for asked in self.questions)._asdict()

    def _values(self) -> dict[str, Any]:
        return {
            "lens": repr(self.questions[0].lens),
            "estimator": repr(self.questions[0].estimator.core),
            "n": self.questions[0].n,
            "models": self._models(),
            "pairs": self.pairs,
            **picked(self, "adjust n_resamples level confidence_level confidence_set hypothesis notes"),
        }

    @property
    def _quantity(self) -> str:
        return self.questions[0].estimator.quantity.split(" (")[0]

    def _table(self) -> list[list[str]]:
        squared, order = self.own_pvalues is not None, [self.names.index(name) for name in self._ranked]
        ends = [None if each is None else roots(each) if squared else each for each in self.confidence_intervals]
        columns = [
            ("model", self.names),
            ("error" if squared else "value", [number_cell(self._sizes_by_name[name]) for name in self.names]),
            (f"{percent(self.confidence_level)} interval", [ends_cell(each) for each in ends]),
            *direction_columns(self.questions),
            ("own p", [f"{p:.3g}" for p in self.own_pvalues or ()] or [""] * len(order)),
            ("may be best", ["yes" if name in self.confidence_set else "no" for name in self.names]),
            ("worse than", [some_of(self._better_ones(name)) for name in self.names]),
        ]
        return [[name for name, _ in columns], *([cells[m] for _, cells in columns] for m in order)]

    def _notes(self) -> Sequence[str]:
        return self.notes

    def _details(self) -> list[tuple[str, str]]:
        estimator, method = self.questions[0].estimator, _METHODS[self.adjust].split(", Bonferroni")[0]
        about = [("value", estimator.quantity)]
        if self.own_pvalues is not None:
            clusters = self.questions[0].clusters
            exact = "exact" if clusters is None else "by whole clusters"
            method = f"{_METHODS[self.adjust]}; p is the larger of that of the difference and of twice the smaller own"
            squares = ", ".join(f"{each['name']} {number(each['value'], *self.values)}" for each in self._models())
            about = [
                (
                    "error",
                    "root of an unbiased squared error, binned by each model's own cells; 0 if it is negative",
                ),
                ("squared", squares),
                ("own p", f"{exact}, of the test of each model by itself"),
            ]
        leaving = ", ".join(f"{name} {p:.3g}" for name, p in zip(self.names, self.set_pvalues, strict=True))
        return [
            *about,
            ("best", f"model confidence set of {percent(self.confidence_level)}; a model leaves it at p = {leaving}"),
            *(("pairs", pair.verdict) for pair in self.pairs),
            ("adjusted", method),
            ("null", self.hypothesis),
            ("estimator", repr(estimator)),
            ("data", f"{self.questions[0].rows}, the same for all models; {self.questions[0].source}"),
        ]


def _are_worse(worse: Sequence[str], better: Sequence[str], calibrated: bool = False) -> str:
    verb = "are" if worse[1:] else "is"
    return f"{some_of(worse)} {verb} worse {'calibrated ' if calibrated else ''}than {some_of(better)}"
