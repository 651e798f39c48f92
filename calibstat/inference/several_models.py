"""Which of several models are better calibrated than others, and which may be the best?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.inference.arguments import check_asked
from calibstat.inference.comparison import cells_of, own_pvalue
from calibstat.inference.estimation import level_between
from calibstat.inference.model_set import set_pvalues
from calibstat.inference.multiplicity import holm, single_step
from calibstat.inference.normal_test import standardized
from calibstat.inference.paired_rows import same_labels, same_rows
from calibstat.inference.several_models_result import ModelComparison, PairDifference
from calibstat.inference.testing import describe
from calibstat.inference.total_variance import CellResiduals, difference_error
from calibstat.inference.wrapped import wrapped_pvalue
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample

Pairs: TypeAlias = list[tuple[int, int]]
# Standard errors below this share of the largest influence are what rounding leaves of none.
_NO_SPREAD = 1e-12


def compare_models(
    models: Mapping[str, Sample],
    estimator: Estimator,
    *,
    adjust: Literal["holm", "max-t"] = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ModelComparison:
    """Test for each pair of models whether they have the same squared calibration error, and find who may be the best.

    Each pair is tested as by `comparison_test`: the p-value is the larger of a normal one and of twice the smaller
    exact p-value of the two models by themselves, so that it holds whether both errors are zero or not. These are
    adjusted by Holm's method. With "max-t" the normal ones are adjusted by the largest difference of all pairs, whose
    joint law is had by multiplying random signs into the rows' influences, and the exact ones by Bonferroni over the
    models; where some models can all be calibrated while others share an error (four models or more) each part gets
    half of the level.

    The model confidence set (Hansen, Lunde & Nason 2011) removes the worst model as long as the errors of those left
    are not equal, by the largest difference (range statistic), wrapped in the same way. It holds the models with the
    smallest error with probability of at least `confidence_level`, for many rows.

    Parameters
    ----------
    models : mapping of str to Sample
        At least two: what each said about the same rows, in the same order.
    estimator : Estimator
        ``DebiasedL2`` with its lens: for example ``TopLabel() | DebiasedL2(EqualMass(15))``.
    adjust : {"holm", "max-t"}
    confidence_level : float
        Of the model confidence set.
    n_resamples : int
        For the exact p-values, and for the joint law.
    rng : int, Generator or None

    Returns
    -------
    ModelComparison
        With ``pairs``, ``values``, ``confidence_set``; prints itself in words.

    Raises
    ------
    ValueError
        If rows or labels differ, there are fewer than two models, the estimator is not a debiased squared error, or a
        cell holds too few rows.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.several_models import compare_models
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> models = {"raw": cs.Sample(y, p), "bold": cs.Sample(y, p**2), "copy": cs.Sample(y, p)}
    >>> found = compare_models(models, cs.DebiasedL2(cs.EqualMass(15)), rng=0)
    >>> {(pair.first, pair.second): round(pair.adjusted, 3) for pair in found.pairs}
    {('raw', 'bold'): 0.006, ('raw', 'copy'): 1.0, ('bold', 'copy'): 0.006}
    >>> found.confidence_set
    ('raw', 'copy')
    """
    names = _checked(models, estimator, adjust)
    level_between(confidence_level)
    at_least_one("n_resamples", n_resamples)
    seen = [estimator.lens(models[name]) for name in names]
    asked = tuple(describe(estimator, each) for each in seen)
    cells = [cells_of(estimator, each, "compare_models") for each in seen]
    generator = as_generator(rng)
    own = np.array([own_pvalue(estimator, each, n_resamples, generator) for each in seen])
    pairs = list(combinations(range(len(names)), 2))
    differences, errors = _differences(cells, pairs)
    sizes = [max(cells[a].size, cells[b].size) for a, b in pairs]
    z = np.array([standardized(*each) for each in zip(differences, errors, sizes, strict=True)])
    normal = 2 * ndtr(-np.abs(z))
    wrapped = np.array([wrapped_pvalue(p, (own[a], own[b])) for p, (a, b) in zip(normal, pairs, strict=True)])
    drawn = _joint_draws(cells, pairs, errors, n_resamples, generator)
    adjusted = holm(wrapped) if adjust == "holm" else _max_t(np.abs(z), drawn, own, pairs)
    columns = zip(pairs, differences, errors, z, normal, wrapped, adjusted, strict=True)
    return ModelComparison(
        names=names,
        values=tuple(each.value for each in cells),
        own_pvalues=tuple(map(float, own)),
        pairs=tuple(PairDifference(names[a], names[b], *map(float, rest)) for (a, b), *rest in columns),
        set_pvalues=set_pvalues(z, drawn, own, pairs),
        confidence_level=confidence_level,
        adjust=adjust,
        n_resamples=n_resamples,
        asked=asked,
    )


def _checked(models: Mapping[str, Sample], estimator: Estimator, adjust: str) -> tuple[str, ...]:
    """Refuse what cannot be compared; return the names."""
    if not isinstance(models, Mapping) or len(models) < 2:
        found = f"{len(models)}" if isinstance(models, Mapping) else f"a {type(models).__name__}"
        raise ValueError(
            f"compare_models needs at least two models by name, got {found}: for example "
            "{'raw': sample, 'calibrated': other}."
        )
    if adjust not in ("holm", "max-t"):
        raise ValueError(f"adjust is {adjust!r}; it must be 'holm' or 'max-t'.")
    names = tuple(models)
    first = models[names[0]]
    check_asked(first, estimator)
    for name in names[1:]:
        check_asked(models[name], estimator)
        try:
            same_labels(first, models[name])
            same_rows(first, models[name], estimator, "give every model's predictions for the same rows")
        except ValueError as wrong:
            raise ValueError(f"{names[0]!r} and {name!r}: {wrong}") from wrong
    return names


def _differences(cells: Sequence[CellResiduals], pairs: Pairs) -> tuple[Floats, Floats]:
    """Differences of values and their standard errors, for each pair."""
    differences = np.array([cells[a].value - cells[b].value for a, b in pairs])
    return differences, np.array([difference_error(cells[a], cells[b], paired=True) for a, b in pairs])


def _joint_draws(
    cells: Sequence[CellResiduals], pairs: Pairs, errors: Floats, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """(R, pairs) standardised differences of influences with random signs: noise about equal errors, signs kept.

    Where the standard error of a pair is larger than these show (`difference_error`), normal noise makes up for it.
    """
    influence = np.stack([each.influence for each in cells], axis=-1)
    influence = cells[0].share[:, None] * (influence - np.average(influence, axis=0, weights=cells[0].share))
    n = len(influence)
    drawn = [
        (2.0 * stream.integers(0, 2, size=(size, n))[:kept] - 1.0) @ influence
        for stream, size, kept in blocks(n_resamples, n, rng)
    ]
    sums = np.concatenate(drawn)
    first, second = np.array(pairs).T
    spread = np.sqrt(((influence[:, first] - influence[:, second]) ** 2).sum(axis=0))
    unseen = np.sqrt(np.maximum(errors**2 - spread**2, 0.0))
    noise = sums[:, first] - sums[:, second]
    if unseen.any():
        noise = noise + unseen * rng.standard_normal(noise.shape)
    scale = np.maximum(errors, spread)
    known = scale > _NO_SPREAD * np.abs(influence).max(initial=0.0)
    return np.where(known, noise / np.where(known, scale, 1.0), 0.0)


def _max_t(size: Floats, drawn: Floats, own: Floats, pairs: Pairs) -> Floats:
    """Adjust for pairs of equal errors by the largest difference, and for pairs of calibrated models by Bonferroni.

    Let C be the calibrated models. A pair outside C of equal errors is rejected by the largest difference over the
    models outside C; a pair inside C only if a model of C is rejected by itself. If both kinds are possible, C and the
    rest hold two models each, and each kind gets half of alpha. The p-value is the largest over all C.
    """
    n_models = len(own)
    adjusted = single_step(size, np.abs(drawn))
    for excluded in combinations(range(n_models), 2) if n_models > 3 else ():
        rest = [k for k, pair in enumerate(pairs) if not set(pair) & set(excluded)]
        adjusted[rest] = np.maximum(adjusted[rest], 2 * single_step(size[rest], np.abs(drawn[:, rest])))
    factor = max(n_models, 2 * (n_models - 2))
    by_itself = np.array([factor * min(own[a], own[b]) for a, b in pairs])
    return np.minimum(1.0, np.maximum(adjusted, by_itself))
