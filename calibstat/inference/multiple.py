"""Which of several numbers show miscalibration, corrected for having looked at all of them?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final, runtime_checkable

import numpy as np

from calibstat.data.arrays import RNG, Floats, Ints, as_generator
from calibstat.data.parameters import at_least_one
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import blocks
from calibstat.draws.ties import tie_slack, typical_size
from calibstat.estimators.base import Estimator, Evaluator, Headline
from calibstat.estimators.panels import Member, chosen_panel, default_panel
from calibstat.inference.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm, single_step, step_down
from calibstat.inference.results import LEVEL, Asked, counted, frame, number
from calibstat.inference.test import check_asked, check_lens, check_null, check_sample, describe
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical
from calibstat.nulls.base import EmpiricalNull, Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Restating

if TYPE_CHECKING:
    import pandas as pd

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
    >>> from calibstat.inference.multiple import multiple_test
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
    varies = spread > ROUNDING * np.where(known, np.abs(evidence), 0.0).max(axis=0, initial=0.0)
    return np.where(varies, (evidence - centre) / np.where(varies, spread, 1.0), np.where(known, 0.0, evidence))


# What a test of each of several numbers found, in words.

METHODS = {
    "max-t": "single-step max-T, over all on the same draws (Westfall & Young 1993)",
    "step-down": "step-down max-T, over those left on the same draws (Westfall & Young 1993)",
    "holm": "Holm's method",
    "fdr_bh": "share of false discoveries, for positive dependence (Benjamini & Hochberg 1995)",
    "fdr_by": "share of false discoveries, for any dependence (Benjamini & Yekutieli 2001)",
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class MultipleTest:
    """What `multiple_test` found: one test for each name.

    Parameters
    ----------
    names : tuple
        Levels of a variable, class labels, or names of members.
    values : (J,) floats
    null_means : (J,) floats
        Mean of each value under the null: what noise alone gives.
    standardized : (J,) floats
        Evidence of each, in standard deviations of its draws above their mean.
    pvalues : (J,) floats
        Of each by itself; NaN where the value is.
    adjusted : (J,) floats
        Adjusted for having looked at all; NaN where the value is.
    adjust : str
    n_resamples : int
    hypothesis : str
    null : Null
    asked : Asked
    """

    names: tuple[Hashable, ...]
    values: Floats
    null_means: Floats
    standardized: Floats
    pvalues: Floats
    adjusted: Floats
    adjust: str
    n_resamples: int
    hypothesis: str
    null: Null
    asked: Asked

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rejected(self) -> tuple[Hashable, ...]:
        """The names whose adjusted p-value is at most the level that texts use, 5 %."""
        return tuple(name for name, p in zip(self.names, self.adjusted, strict=True) if p <= LEVEL)

    @property
    def untested(self) -> tuple[Hashable, ...]:
        """The names whose value is not a number (NaN), so that there is nothing to test."""
        return tuple(name for name, p in zip(self.names, self.adjusted, strict=True) if np.isnan(p))

    @property
    def verdict(self) -> str:
        """One sentence: for which names there is evidence of miscalibration, or that there is none."""
        tests = len(self) - len(self.untested)
        where = f"through {self.asked.lens!r} (n = {self.asked.n}, adjusted for {counted(tests, 'test')}"
        if not tests:
            return f"Nothing to test {where})."
        if not self.rejected:
            return (
                f"No evidence of miscalibration {where}: smallest adjusted p = {float(np.nanmin(self.adjusted)):.3g})."
            )
        kind = "share of false discoveries" if self.adjust.startswith("fdr") else "level"
        found = ", ".join(map(str, self.rejected))
        return f"Evidence of miscalibration for {found} {where}, {kind} {100 * LEVEL:g} %)."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each name."""
        return frame(self._rows()).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not a number is None."""
        tests = [{key: _plain(value) for key, value in row.items()} for row in self._rows()]
        return self.asked.to_dict() | {
            "adjust": self.adjust,
            "n_resamples": self.n_resamples,
            "null": repr(self.null),
            "hypothesis": self.hypothesis,
            "rejected": [_plain(name) for name in self.rejected],
            "untested": [_plain(name) for name in self.untested],
            "tests": tests,
        }

    def __str__(self) -> str:
        width = max([4, *(len(str(name)) for name in self.names)])
        untested = ", ".join(map(str, self.untested))
        rows = [
            f"  {row['name']!s:{width}}  {number(row['value'], row['null_mean']):>9}  "
            f"{number(row['null_mean'], row['value']):>9}  {row['pvalue']:>7.3g}  {row['adjusted']:>10.3g}"
            f"{'  *' if row['adjusted'] <= LEVEL else ''}"
            for row in self._rows()
        ]
        return "\n".join(
            [
                self.verdict,
                f"  {'name':{width}}  {'value':>9}  {'expected':>9}  {'p':>7}  {'adjusted p':>10}",
                *rows,
                f"  value     {self._quantity()}",
                "  expected  mean of the value under the null: what noise alone gives",
                f"  adjusted  {METHODS[self.adjust]}; * rejects at {100 * LEVEL:g} % "
                f"({counted(self.n_resamples, 'resample')})",
                *([f"  untested  {untested}: the value is not a number (NaN)"] if untested else []),
                f"  null      {self.hypothesis}",
                f"  estimator {self.asked.estimator!r}",
                f"  data      n = {self.asked.n}; {self.asked.source}",
            ]
        )

    __repr__ = __str__

    def _quantity(self) -> str:
        """What the value of each name is, where that can be said: not the quantity of the headline of all."""
        core = self.asked.estimator.core
        each = "; ".join(dict.fromkeys(member.quantity for member in core.members))
        return f"of each name by itself: {each or core.quantity}"

    def _rows(self) -> list[dict[str, Any]]:
        keys = ("name", "value", "null_mean", "standardized", "pvalue", "adjusted")
        columns = (self.names, self.values, self.null_means, self.standardized, self.pvalues, self.adjusted)
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    """A Python value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


# One exact p-value of several statistics, and which of them saw something.


def omnibus_test(
    sample: Sample,
    panel: Mapping[str, Estimator] | Sequence[Estimator] | None = None,
    *,
    lens: Lens | None = None,
    n_resamples: int = 999,
    rng: RNG = None,
) -> OmnibusTest:
    """Test calibration with several statistics at once, exactly, and say which of them saw what.

    All statistics are evaluated on the same redraws of the labels. Each redraw, and the data, get the smallest of
    their p-values over the panel, and the data's is judged among those of the redraws, so that
    P(p <= alpha) <= alpha at every n whatever the panel. No single statistic is good against every kind of
    miscalibration; the panel costs little where one member is good and has no blind spot that all members do not
    share. Choose the panel before seeing the labels.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    panel : mapping of str to Estimator, or sequence of Estimator, optional
        At least two, without a lens that all share (that is `lens`). By default, for two classes: Spiegelhalter's z,
        the cubic score, the Brownian bridge, multi-scale l2 and the multi-bandwidth kernel; for more: the vector
        scaling score, the log-loss z, the kernel, and Kuiper's statistic class by class and for the top label.
    lens : Lens, optional
        Looked through first; canonical by default.
    n_resamples : int
    rng : int, Generator or None

    Returns
    -------
    OmnibusTest
        With ``pvalue``, ``strongest``, ``kind``, and the p-values of the members; prints itself in words.

    Raises
    ------
    ValueError
        If a member does not fit what is seen through the lens; the message names it.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.multiple import omnibus_test
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> result = omnibus_test(cs.Sample(rng.random(500) < 0.5 + 0.5 * (p - 0.5), p), n_resamples=199, rng=0)
    >>> result.strongest, result.pvalue
    ('Spiegelhalter', 0.005)
    >>> print(result.kind)
    over-confidence: predictions are too extreme
    """
    at_least_one("n_resamples", n_resamples)
    check_sample(sample)
    lens = Canonical() if lens is None else check_lens(lens)
    seen = lens(sample)
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    if isinstance(panel, (str, Estimator)):
        raise TypeError(f"panel is {panel!r}, but several estimators are expected: for example [ECE(), DebiasedL2()].")
    members = default_panel(seen.predictions.n_classes) if panel is None else chosen_panel(panel)
    evaluators = [_prepared(member, lens, seen) for member in members]
    _refuse_arrays(members, evaluators, seen)
    observed = _values(evaluators, seen.outcomes[None])
    _refuse_nan(members, observed[0])
    drawn = _redrawn(evaluators, seen, n_resamples, as_generator(rng))
    counts = _counts(np.concatenate([_evidence(members, observed), _evidence(members, drawn)]))
    own, joint, total = counts[0], counts.min(axis=1), 1 + n_resamples
    return OmnibusTest(
        statistic=int(own.min()) / total,
        pvalue=int(np.count_nonzero(joint <= joint[0])) / total,
        names=tuple(member.name for member in members),
        estimators=tuple(member.estimator for member in members),
        values=tuple(map(float, observed[0])),
        pvalues=tuple(int(count) / total for count in own),
        adjusted=tuple(int(np.count_nonzero(joint <= count)) / total for count in own),
        kinds=tuple(member.says(value) for member, value in zip(members, observed[0], strict=True)),
        lens=lens,
        n=len(seen),
        n_resamples=n_resamples,
        hypothesis=f"given the prediction, the outcome seen through {lens!r} follows the prediction; labels drawn from "
        "the predictions, the same for all statistics (exact)",
        source=seen.predictions.source,
    )


def _prepared(member: Member, lens: Lens, seen: Sample) -> Evaluator:
    try:
        evaluator = Headline(member.estimator).prepare(seen.predictions)
    except ValueError as wrong:
        raise ValueError(f"{member.name!r} of the panel does not fit what is seen through {lens!r}: {wrong}") from wrong
    return evaluator


def _values(evaluators: list[Evaluator], outcomes: Ints) -> Floats:
    """Evaluate all members on labels (R, n): (R, J)."""
    return np.stack([np.asarray(evaluator(outcomes), dtype=float) for evaluator in evaluators], axis=-1)


def _redrawn(evaluators: list[Evaluator], seen: Sample, n_resamples: int, rng: np.random.Generator) -> Floats:
    law, n = LabelLaw(seen.predictions), len(seen)
    drawn = [
        _values(evaluators, law.invert(stream.random((size, n))[:kept]))
        for stream, size, kept in blocks(n_resamples, n, rng)
    ]
    return np.concatenate(drawn)


def _refuse_arrays(members: Sequence[Member], evaluators: list[Evaluator], seen: Sample) -> None:
    for member, evaluator in zip(members, evaluators, strict=True):
        if evaluator(seen.outcomes).ndim:
            raise ValueError(f"{member.name!r} of the panel gives an array, but a test needs one number; leave it out.")


def _refuse_nan(members: Sequence[Member], values: Floats) -> None:
    wrong = [member.name for member, value in zip(members, values, strict=True) if np.isnan(value)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} of the panel is not a number (NaN) on this sample; leave it out.")


def _evidence(members: Sequence[Member], values: Floats) -> Floats:
    """Order values (R, J) so that larger is stronger; NaN counts as strongest, to be safe."""
    columns = [Headline(member.estimator).evidence(values[:, j]) for j, member in enumerate(members)]
    ordered = np.stack(columns, axis=-1)
    return np.where(np.isnan(ordered), np.inf, ordered)


def _counts(evidence: Floats) -> Ints:
    """Count, for each set and member, the sets (itself included) with at least as strong evidence: (R + 1, J)."""
    counts = np.empty(evidence.shape, dtype=np.intp)
    for j, column in enumerate(evidence.T):
        ordered = np.sort(column)
        counts[:, j] = len(column) - np.searchsorted(ordered, column - tie_slack(column, typical_size(column)))
    return counts


# What a test of several statistics at once found, in words.


@final
@dataclass(frozen=True, eq=False, repr=False)
class OmnibusTest:
    """What `omnibus_test` found; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        The smallest p-value of the panel, before adjustment.
    pvalue : float
        Its own exact p-value.
    names : tuple of str
    estimators : tuple of Estimator
    values : tuple of float
        The value of each member.
    pvalues : tuple of float
        Exact p-value of each member by itself: not adjusted for the others.
    adjusted : tuple of float
        Adjusted by single-step min-p for having looked at all of them.
    kinds : tuple of str
        What an extreme value of each member means.
    lens : Lens
    n : int
    n_resamples : int
    hypothesis, source : str
    """

    statistic: float
    pvalue: float
    names: tuple[str, ...]
    estimators: tuple[Estimator, ...]
    values: tuple[float, ...]
    pvalues: tuple[float, ...]
    adjusted: tuple[float, ...]
    kinds: tuple[str, ...]
    lens: Lens
    n: int
    n_resamples: int
    hypothesis: str
    source: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def strongest(self) -> str:
        """The name of the member with the smallest p-value; the first of several."""
        return self.names[int(np.argmin(self.pvalues))]

    @property
    def kind(self) -> str | None:
        """The kind of miscalibration that the strongest member is most sensitive to; None unless 5 % reject."""
        return None if self.pvalue > LEVEL else self.kinds[self.names.index(self.strongest)]

    @property
    def verdict(self) -> str:
        """One sentence: evidence of miscalibration and its kind, or no evidence."""
        where = (
            f"through {self.lens!r} (n = {self.n}, p = {self.pvalue:.3g}, {counted(self.n_resamples, 'resample')}, "
            f"{counted(len(self.names), 'statistic')})"
        )
        if self.pvalue > LEVEL:
            return f"No evidence of miscalibration {where}."
        return f"Evidence of miscalibration {where}. Strongest: {self.strongest}, which points to {self.kind}."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each member."""
        columns = ("statistic", "value", "pvalue", "adjusted", "kind")
        rows = zip(self.names, self.values, self.pvalues, self.adjusted, self.kinds, strict=True)
        return frame([dict(zip(columns, row, strict=True)) for row in rows]).set_index("statistic")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not finite is None."""
        parts = zip(self.names, self.estimators, self.values, self.pvalues, self.adjusted, strict=True)
        return {
            "lens": repr(self.lens),
            "n": self.n,
            "n_resamples": self.n_resamples,
            "source": self.source,
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "strongest": self.strongest,
            "kind": self.kind,
            "panel": {
                name: {
                    "estimator": repr(each),
                    "value": value if np.isfinite(value) else None,
                    "pvalue": own,
                    "adjusted": joint,
                }
                for name, each, value, own, joint in parts
            },
        }

    def __str__(self) -> str:
        width = max(map(len, self.names))
        rows = [
            f"  {name:{width}}  {number(value):>9}  p = {own:.3g}, adjusted {joint:.3g}"
            for name, value, own, joint in zip(self.names, self.values, self.pvalues, self.adjusted, strict=True)
        ]
        return "\n".join([self.verdict, *rows, f"  data  n = {self.n}; {self.source}", f"  null  {self.hypothesis}"])

    __repr__ = __str__
