"""Which of several numbers show miscalibration, corrected for having looked at all of them?"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.inference.arguments import check_asked, check_null
from calibstat.inference.families_result import MultipleTest
from calibstat.inference.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm, single_step, step_down
from calibstat.inference.testing import describe
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.distributions import EmpiricalNull
from calibstat.nulls.merging import Restating
from calibstat.sample import Sample

Adjust: TypeAlias = Literal["max-t", "step-down", "holm", "fdr_bh", "fdr_by"]
_JOINT: dict[str, Callable[[Floats, Floats], Floats]] = {"max-t": single_step, "step-down": step_down}
_SINGLE: dict[str, Callable[[Floats], Floats]] = {
    "holm": holm,
    "fdr_bh": benjamini_hochberg,
    "fdr_by": benjamini_yekutieli,
}


@runtime_checkable
class Several(Protocol):
    """An estimator of several named numbers, that orders each of them."""

    def evidences(self, values: Floats) -> Floats:
        """Order numbers (..., J) so that larger is stronger evidence."""


def multiple_test(
    sample: Sample, estimator: Estimator, *, adjust: Adjust = "max-t", null: Null | None = None, rng: RNG = None
) -> MultipleTest:
    """Test each of several numbers, and adjust the p-values for having looked at all of them.

    All are evaluated on the same draws of the null, so that their dependence is known. For "max-t" and "step-down"
    each is standardised by its mean and standard deviation over the draws and the data together, which keeps these
    exchangeable: with labels drawn anew, the probability of any adjusted p-value of at most alpha under a calibrated
    model is at most alpha, at every n.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        Of several named numbers, with its lens: ``Family({...})``, ``TopLabel() | Within("sex", ECE())``,
        ``EachClass(ECE())``.
    adjust : {"max-t", "step-down", "holm", "fdr_bh", "fdr_by"}
        By the maximum over all (single-step) or over those that are left (step-down; Westfall & Young 1993); Holm's
        method; or for the share of false discoveries, for positive dependence (Benjamini & Hochberg) or any
        (Benjamini & Yekutieli).
    null : Null, optional
        By default ``Consistency(999)``: labels drawn anew.
    rng : int, Generator or None

    Returns
    -------
    MultipleTest
        With ``values``, ``pvalues`` and ``adjusted`` by ``names``; prints itself in words. A number that cannot be had
        (NaN: of a level with too few rows, say) has no p-value (NaN) and is not tested.

    Raises
    ------
    ValueError
        If the estimator gives one number only, or the null gives no joint draws.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.families import multiple_test
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(900), np.repeat(["a", "b", "c"], 300)
    >>> happened = rng.random(900) < np.where(site == "b", p**2, p)
    >>> sample = cs.Sample(happened, p, variables={"site": site})
    >>> found = multiple_test(sample, cs.Within("site", cs.ECE(cs.EqualMass(10))), rng=0)
    >>> found.names, (found.adjusted <= 0.05).tolist()
    (('a', 'b', 'c'), [False, True, False])
    """
    check_asked(sample, estimator)
    null = Consistency() if null is None else null
    check_null(null)
    if adjust not in _JOINT | _SINGLE:
        raise ValueError(f"adjust is {adjust!r}; it must be one of {', '.join(map(repr, _JOINT | _SINGLE))}.")
    core, seen = estimator.core, estimator.lens(sample)
    asked = describe(estimator, seen)
    if not isinstance(core, Several):
        raise ValueError(
            f"{estimator!r} gives no named numbers; take Family, Within or EachClass, or calibration_test for one."
        )
    evaluator = core.prepare(seen.predictions)
    values = evaluator(seen.outcomes)
    if values.ndim != 1:
        raise ValueError(f"{estimator!r} gives an array for each name, but a test needs numbers, for example ECE().")
    drawn = _draws(null, core, seen, as_generator(rng), evaluator)
    evidence = core.evidences(np.concatenate([values[None], drawn]))
    pvalues = _each(evidence)
    standardized = _standardized(evidence)
    adjusted = _JOINT[adjust](standardized[0], standardized[1:]) if adjust in _JOINT else _single(adjust, evidence)
    return MultipleTest(
        names=_names(evaluator, values),
        values=values,
        null_means=drawn.mean(axis=0),
        standardized=standardized[0],
        pvalues=pvalues,
        adjusted=adjusted,
        adjust=adjust,
        n_resamples=len(drawn),
        hypothesis=null.hypothesis(estimator.lens, seen.predictions.given),
        null=null,
        asked=asked,
    )


def _each(evidence: Floats) -> Floats:
    """The p-value of each column (R + 1, J) by itself; NaN where there is no value."""
    return np.array([single_step(column[:1], column[1:, None])[0] for column in evidence.T])


def _single(adjust: str, evidence: Floats) -> Floats:
    """Adjust p-values; a number that can never be had does not count, one that these labels do not give has p = 1."""
    possible = ~np.isnan(evidence).all(axis=0)
    pvalues, adjusted = _each(evidence), np.full(evidence.shape[1], np.nan)
    adjusted[possible] = _SINGLE[adjust](np.where(np.isnan(pvalues), 1.0, pvalues)[possible])
    return np.where(np.isnan(pvalues), np.nan, adjusted)


def _names(evaluator: Evaluator, values: Floats) -> tuple[Hashable, ...]:
    return tuple(evaluator.present(values))


def _draws(null: Null, core: Estimator, seen: Sample, rng: np.random.Generator, evaluator: Evaluator) -> Floats:
    """Draw all numbers jointly: (R, J)."""
    refused = f"{null!r} gives no joint draws of several numbers; use Consistency(999) or Multiplier(999)."
    if isinstance(null, Restating):
        raise ValueError(refused)
    try:
        distribution = null.draw(core, seen, rng, evaluator)
    except TypeError as single:  # a null of one number
        raise ValueError(refused) from single
    if not isinstance(distribution, EmpiricalNull) or distribution.samples.shape[1:] != evaluator.shape:
        raise ValueError(refused)
    return distribution.samples


def _standardized(evidence: Floats) -> Floats:
    """Centre and scale each column (R + 1, J), data and draws alike; what does not vary, or is NaN, is no evidence."""
    known = np.isfinite(evidence)
    count = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, evidence, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(known, (evidence - centre) ** 2, 0.0).sum(axis=0) / count)
    varies = spread > 1e-12 * np.where(known, np.abs(evidence), 0.0).max(axis=0, initial=0.0)
    return np.where(varies, (evidence - centre) / np.where(varies, spread, 1.0), np.where(known, 0.0, evidence))
