"""Is the model calibrated, in the sense of this lens?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibstat._progress import one_bar
from calibstat._text import counted, percent
from calibstat.data.arrays import RNG, Floats, check_rng, effective_number
from calibstat.data.parameters import LEVEL, check_kind, check_share
from calibstat.data.rounding import SAME
from calibstat.data.sample import Sample
from calibstat.draws.streams import stream_of
from calibstat.estimators.base import Estimator, Evaluator, Headline, all_weights, why_undefined
from calibstat.inference.arguments import (
    buckets_note,
    check_lens,
    check_null,
    check_sample,
    for_clusters,
    hypothesis_of,
    in_buckets,
    look_through,
    refuse_buckets,
    with_counts,
)
from calibstat.inference.multiplicity import cannot_reject, with_enough
from calibstat.inference.results import CalibrationTest, Estimate, picked
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null, NullDistribution, Restating, tie_slack, typical_size
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.exact import Exact, NotExact

if TYPE_CHECKING:
    from calibstat.inference.multiple import OmnibusTest

_EXACT = Exact()


@one_bar
def calibration_test(
    sample: Sample,
    estimator: Estimator | None = None,
    *,
    lens: Lens | None = None,
    null: Null | str | None = None,
    level: float = LEVEL,
    n_resamples: int | None = None,
    decision: Estimator | None = None,
    rng: RNG = None,
) -> CalibrationTest:
    """Test the hypothesis of calibration, in the sense of the estimator's lens.

    The sample is looked at through ``estimator.lens`` first, and labels are redrawn there. With the default null the
    p-value is exact at every n and for every estimator: under the null, P(p <= alpha) <= alpha. (Where a saddlepoint
    computes it, up to a relative error below one percent, which the result states.)

    Without an estimator the p-value is that of `omnibus_test`, several statistics on the same redrawn labels, which see
    more kinds of errors than any of them; the statistic is the average calibration error, the size of what is wrong.
    Where two outcomes are seen whose predictions are all equal, only the number of events can err, so that the p-value
    is the exact one of a binomial count. With more than two classes, and no `lens`, so are tested the top label, all
    classes together and each class by itself (of at most 30), as by ``calibstat test``: all of them are in ``by_lens``,
    the p-value is the smallest one adjusted by Holm's method, and the statistic is the largest error beyond noise of
    those that are rejected.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator, optional
        The statistic, a number, with its lens: for example ``TopLabel() | ECE(EqualMass(15))``. By default a panel is
        tested and ``ECE(EqualMass(15))`` shown, or `ExpectedMiscalibration` in the cells of a tree where more than two
        outcomes are seen; with more than 50 000 rows, or a `null` that does not redraw labels alone, this is tested.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``. Without both there are several for
        more than two classes; ``Canonical()`` is that of all classes together.
    null : Null or {"strong", "weak", "multiplier", "exact", "saddlepoint", "asymptotic", "sequential"}, optional
        What is assumed, by an object or a name ("strong" is `Consistency`). By default the distribution is computed
        (`Exact`, or `Saddlepoint` for statistics that are linear in the labels) where statistic and data allow that,
        which does not depend on the labels, and drawn with ``Consistency(999)`` where they do not; the result says
        which. Through a lens that conditions on a variable that
        is the *strong* null (calibrated given prediction and variable); "weak" tests whether the mean residual is zero
        given the variable.
    level : float
        From which p-value on the verdict says that there is evidence; p-values do not depend on it.
    n_resamples : int, optional
        How often the null is drawn that `null` names, or labels where it names none; an object says so itself.
    decision : Estimator, optional
        ``DecisionLoss(costs=(1, 4))``, for example: the verdict then says what acting on these probabilities costs at
        most, with confidence 1 - `level`. The p-value does not depend on it.
    rng : int, Generator or None
        The same integer gives the same p-value, and independent draws to tests with other estimators or lenses; a
        distribution that is computed needs none.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``pvalue``, ``null_distribution``, ``panel`` where one was tested, and ``by_lens`` where
        there are several lenses; prints itself in words.

    Raises
    ------
    ValueError
        If the estimator does not give a number, no row is left in the lens's region, or ``null=Exact()`` cannot serve.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> sample = cs.Sample(rng.random(500) < p**2, p)
    >>> result = cs.calibration_test(sample, cs.ECE(cs.EqualMass(10)))
    >>> print(result.verdict)
    Evidence of miscalibration of P(True) at 5 % (n = 500, p < 1e-12): too high and too timid, 0.492 predicted, 0.314 \
happened (O/E 0.639, slope 1.49). Average calibration error: 0.1777, where noise alone gives 0.04501.
    >>> statistic, pvalue = result
    >>> print(cs.calibration_test(sample, rng=0).direction.strip())
    It points to a smooth distortion: a shift, a slope, or bent tails.
    """
    if estimator is None:
        check_sample(sample)
        options: dict[str, Any] = {"level": level, "decision": decision, "rng": rng}
        if lens is None and len(sample.labels) > 2:
            return _through_each_lens(sample, null, n_resamples, options)
        return recommended_test(sample, lens=lens, null=null, n_resamples=n_resamples, **options)
    asked = None if null is None and n_resamples is None else check_null(null, n_resamples)
    if asked is not None and not asked.takes_buckets:
        refuse_buckets(sample, repr(asked))
    counted = asked is None or asked.takes_counts
    question, seen = look_through(sample, estimator, lens, counted=counted, buckets=True)
    estimator = question.estimator
    check_share("level", level, LEVEL)
    check_rng(rng)
    notes: tuple[str, ...] = ()
    if asked is not None or seen.groups is not None:
        asked, replaced = for_clusters(asked or Consistency(), seen, asked)
        asked, notes = with_enough(asked, null, 1, "holm", level, question.n)
        notes = replaced + notes
    inner, note = asked.restate(estimator.core, seen) if isinstance(asked, Restating) else (estimator.core, "")
    core = Headline(inner)
    evaluator = core.prepare(seen.predictions)
    statistic = evaluator.of(seen)
    if statistic.ndim:
        raise ValueError(
            f"{estimator!r} gives an array of shape {statistic.shape}, but a test needs one number; "
            "test a summary of it, for example ExpectedMiscalibration(binning) or MaximumMiscalibration(binning)."
        )
    value = float(statistic)
    if np.isnan(value):
        why = why_undefined(estimator)
        raise ValueError(f"{estimator!r} is not a number (NaN) on this sample, so there is nothing to test: {why}.")

    @cache
    def stream() -> np.random.Generator:
        return stream_of(rng, estimator)

    null, distribution = _distribution(asked, core, seen, stream, evaluator)
    assumed = hypothesis_of(null, estimator, seen) + note
    if distribution.whole_cells:
        assumed = assumed.replace("(exact)", "(counts in cells exact, sums of squares by their normal law)")
    offers = evaluator.capabilities
    remark, scale = offers.remark, offers.scale
    pvalue = distribution.pvalue(value)
    return CalibrationTest(
        statistic=value,
        pvalue=pvalue,
        null_distribution=distribution,
        hypothesis=assumed,
        null=null,
        question=with_counts(question, seen, offers),
        level=level,
        remark="" if remark is None else remark(seen.outcomes),
        standardized=value / scale if scale else None,
        notes=buckets_note(seen)
        + notes
        + undecided_note(null, distribution, value, level)
        + power_note(null, distribution, value)
        + ((inner.weak,) if inner.weak else ())
        + impossible_note(value, seen)
        + undefined_note(core, value, *(each.samples for each in distribution.replicates)),
        decision=None if decision is None else _cost(sample, decision, estimator.lens, level, stream()),
        tail_of_one=_tail(null, inner, seen, value, pvalue),
    )


def _tail(null: Null, core: Estimator, seen: Sample, value: float, pvalue: float) -> Callable[[], float | None] | None:
    """Return what says how small a p-value of redrawn labels is that is the smallest of them; None for others.

    It takes longer than many a test, so that only those who read it wait for it.
    """
    if null.n_resamples is None:
        return None
    from calibstat.inference.tails import at_smallest, of_labels, tail_beyond  # it needs this file

    if not of_labels(null) or not at_smallest(pvalue, null.n_resamples):
        return None
    return partial(tail_beyond, core, seen, value, null.n_resamples)


def _through_each_lens(
    sample: Sample, null: Null | str | None, n_resamples: int | None, options: dict[str, Any]
) -> CalibrationTest:
    """Test through each recommended lens; a decision is about two outcomes."""
    from calibstat.inference.by_lens import recommended_lenses, tested_together  # it is for several classes

    def through(lens: Lens) -> Callable[[Null | str | None, int | None], CalibrationTest]:
        own = options if lens.parts else options | {"decision": None}
        return lambda null, often: recommended_test(sample, lens=lens, null=null, n_resamples=often, **own)

    asked = [through(lens) for lens in recommended_lenses(sample.labels)]
    found = tested_together(asked, null, n_resamples, "holm", options["level"])
    return replace(found.largest, pvalue=min(found.pvalues_adjusted), by_lens=found)


def _cost(sample: Sample, decision: Estimator, lens: Lens, level: float, rng: np.random.Generator) -> Estimate:
    """Estimate what a decision loses, through the lens of the test."""
    from calibstat.inference.estimate import estimate  # it needs this file

    check_kind("decision", decision, Estimator, "DecisionLoss(costs=(1, 4))")
    return estimate(sample, decision, lens=lens, confidence_level=1 - level, rng=rng)


# With more rows a panel takes long, and a single number, whose p-value is computed, finds small errors too.
ROWS_FOR_PANEL = 50_000


def recommended_test(
    sample: Sample,
    size: Estimator | None = None,
    *,
    lens: Lens | None = None,
    null: Null | str | None = None,
    level: float = LEVEL,
    n_resamples: int | None = None,
    decision: Estimator | None = None,
    rng: RNG = None,
) -> CalibrationTest:
    """Test by the panel of `omnibus_test`, and show a size, with what noise alone gives; by default `size_of_error`."""
    from calibstat.inference.multiple import omnibus_test  # needs scipy.special

    size = size or size_of_error(sample, lens)
    seen = check_lens(lens)(sample)
    if in_buckets(seen):  # no panel reads them
        return calibration_test(
            sample, size, lens=lens, null=null, level=level, n_resamples=n_resamples, decision=decision, rng=rng
        )
    asked: dict[str, Any] = {"lens": lens, "level": level, "rng": rng}
    sized = asked | {"decision": decision}
    drawn: dict[str, Any] = {"null": null, "n_resamples": n_resamples}
    if null is None and n_resamples is None and one_count(seen):
        return calibration_test(sample, size, **sized)
    redraws, _ = for_clusters(check_null(**drawn), seen)
    redrawn = isinstance(redraws, Consistency) and not redraws.resample_predictions
    redrawn |= seen.groups is not None and redraws.takes_clusters and redraws.joint
    if len(seen) > ROWS_FOR_PANEL or not redrawn or (n_resamples is None and _in_vain(redraws, null, level, seen)):
        return calibration_test(sample, size, **sized, **drawn)
    panel = omnibus_test(sample, **asked, **drawn)
    return judged_by(panel, calibration_test(sample, size, **sized))


def one_count(seen: Sample) -> bool:
    """Whether the number of events, with its binomial law, is all that rows show: equal predictions of two outcomes."""
    predictions = seen.known
    alike = predictions.weights is None and predictions.groups is None
    if predictions.n_classes != 2 or not alike or predictions.given != (...,):
        return False
    return len(seen) > 0 and bool(np.ptp(predictions.event) <= SAME)


def judged_by(panel: OmnibusTest, size: CalibrationTest) -> CalibrationTest:
    """Return the test of a panel, with the size of the error that another test shows."""
    of_panel: dict[str, Any] = picked(panel, "pvalue hypothesis")
    return replace(size, **of_panel, panel=panel, notes=size.notes + panel.notes)


def size_of_error(sample: Sample, lens: Lens | None) -> Estimator:
    """Return the estimator that says how large the error is where the user names none."""
    from calibstat.estimators.panels import default_size  # needs scipy.special

    check_sample(sample)
    seen = check_lens(lens)(sample)
    return default_size(seen.known.n_classes, len(seen), buckets=in_buckets(seen))


def _in_vain(null: Null, asked: Null | str | None, level: float, seen: Sample) -> bool:
    """Whether no panel could reject at so small a level with the redraws that it takes by itself."""
    from calibstat.estimators.panels import default_panel

    size = len(default_panel(seen.known.n_classes, len(seen))) * len(seen)
    taken = with_enough(null, asked, 1, "max-t", level, size)[0].n_resamples
    return not isinstance(asked, Null) and taken is not None and bool(cannot_reject(taken, 1, level))


def _distribution(
    null: Null | None, core: Estimator, seen: Sample, stream: Callable[[], np.random.Generator], evaluator: Evaluator
) -> tuple[Null, NullDistribution]:
    """Return the null with its distribution; where none was asked for, the exact one if it can be computed."""
    found = computed(core, seen, evaluator) if null is None else None
    drawn = null or Consistency()
    return found or (drawn, drawn.draw(core, seen, stream(), evaluator))


def computed(core: Estimator, seen: Sample, evaluator: Evaluator) -> tuple[Null, NullDistribution] | None:
    """Return the null of labels drawn from the predictions with its law, or None where that must be drawn.

    Which of the two it is depends on the predictions alone, so that a test which draws where nothing can be computed is
    as valid as its two parts. `core` is without its lens, and its evaluator is prepared on what is seen through that.
    """
    if evaluator.capabilities.linear is not None:
        from calibstat.nulls.linear import linear_null  # only where it is needed

        found = linear_null(core, seen, evaluator)
        return None if found is None else (found[0] or _EXACT, found[1])
    try:
        return _EXACT, _EXACT.draw(core, seen, evaluator=evaluator)
    except NotExact:
        return None


def exact_law(core: Estimator, seen: Sample, evaluator: Evaluator) -> NullDistribution | None:
    """Return the distribution under labels drawn from the predictions, or None where it must be drawn."""
    found = computed(core, seen, evaluator)
    return None if found is None else found[1]


def undecided_note(null: Null, distribution: NullDistribution, value: float, level: float) -> tuple[str, ...]:
    """Say what decides on which side of the level a p-value of redrawn labels is, where its interval contains it."""
    if not isinstance(null, Consistency) or null.resample_predictions:
        return ()
    # By Hoeffding (1963) no interval reaches farther; the p-value itself is at most one draw away from the share.
    reach = math.sqrt(math.log(2 / _MISSED) / (2 * null.n_resamples)) + 1 / null.n_resamples
    if abs(distribution.pvalue(value) - level) > reach:
        return ()
    low, high = distribution.pvalue_interval(value, 1 - _MISSED)
    if not low < level < high:
        return ()
    often = f"draws until {DECIDING} values are as extreme as the data, at most {MOST_DRAWS} times"
    known = f"the Monte Carlo interval of the p-value contains {percent(level)}"
    return (f"{known}: null=Sequential({MOST_DRAWS}, {DECIDING}) {often}, so that p is known within some percent",)


# So many exceedances give a p-value with a standard error of 3 %.
DECIDING, MOST_DRAWS = 1000, 99_999
# The interval that decides misses so often.
_MISSED = 0.01

# The noise is drawn from the rows themselves: with fewer of an outcome it may not show.
ENOUGH_EVENTS = 10
# Intervals by influence need more: with fewer they held the truth in 80 to 96 % of 400 samples instead of 95 %, and
# with weights, where outcomes drawn from the predictions are a floor of their noise, in 95 to 100 %.
ENOUGH_FOR_INFLUENCE = 20


def fewest_rows(seen: Sample) -> float:
    """Return the number of rows of the rarest outcome; with weights, of equally weighted ones that are as good.

    With clusters, the number of those in which it was seen, as good as if they had equal weights of it.
    """
    n_classes, weights, groups = seen.predictions.n_classes, seen.predictions.weights, seen.groups
    if groups is not None:
        own = all_weights(seen.predictions, None)
        in_clusters = (groups.sums(own * (seen.outcomes == code)) for code in range(n_classes))
        return min(float(effective_number(each.sum(), (each**2).sum())) for each in in_clusters)
    if weights is None or seen.predictions.unweighted:
        return float(np.bincount(seen.outcomes, seen.predictions.counts, n_classes).min())
    mass, squares = (np.bincount(seen.outcomes, weights**power, n_classes) for power in (1, 2))
    return float(effective_number(mass, squares).min())


def events_note(fewest: float, of_error: bool = True, what: str = "rows") -> tuple[str, ...]:
    """Say that events are too few for a bound to be trusted, if they are; one of an error has another."""
    enough = ENOUGH_EVENTS if of_error else ENOUGH_FOR_INFLUENCE
    if fewest >= enough:
        return ()
    weighted = "" if fewest == int(fewest) else f" in effect (by {'weights' if what == 'rows' else 'sizes'})"
    held = "95 to 100" if weighted and what == "rows" else "80 to 96"
    follows = (
        "the bound may be too small; for one event calibration_band bounds the error at every n"
        if of_error
        else f"with so few, intervals of 95 % held the truth in {held} % of simulated samples"
    )
    seen_in = f"1 {what[:-1]}" if fewest == 1 else f"{fewest:.3g} {what}"
    return (f"the rarest outcome was seen in {seen_in}{weighted}, fewer than {enough}: {follows}",)


def negative_note(value: float) -> tuple[str, ...]:
    """Say what a debiased value below zero means."""
    if not value < 0:
        return ()
    return (
        "the value is below zero by chance (the squared error is unbiased); that is not evidence of an error of zero, "
        "so the upper bound is not below the one-sided quantile of noise at zero error",
    )


def undefined_note(core: Estimator, shown: Any, *draws: Floats) -> tuple[str, ...]:
    """Say why numbers of a value, as users see it, or of some draws (R, ...) of it, are not defined."""
    missing = [np.isnan(core.headline(each)) for each in draws]
    count, undefined = max((int(each.sum()) for each in missing if each.ndim == 1), default=0), has_nan(shown)
    if not (undefined or count):
        return ()
    why = why_undefined(core)
    of_value = (f"not every number of the value is defined: {why}",) if undefined else ()
    if not count:
        return of_value
    counts_as = "so that the mean leaves them out, and a p-value counts them as extreme"
    return (*of_value, f"{count} of {len(missing[0])} draws have no value ({why}), {counts_as}")


def impossible_note(value: float, seen: Sample) -> tuple[str, ...]:
    """Say why a value is infinite: in how many rows something happened that was predicted with a chance of 0."""
    if value != math.inf:
        return ()
    chances, outcomes = seen.predictions.chances, seen.outcomes
    rows = int(np.sum(seen.predictions.multiplicity * (chances[np.arange(len(seen)), outcomes] == 0)))
    what = f"{counted(rows, 'row')} had an outcome that was predicted with a chance of 0, as no calibrated model has"
    return (f"the value is infinite: {what}",) if rows else ()


def has_nan(shown: Any) -> bool:
    """Whether a number, an array, a Dataset or a record holds NaN."""
    if is_dataclass(shown):
        return any(has_nan(getattr(shown, each.name)) for each in fields(shown))
    if hasattr(shown, "data_vars"):
        return any(has_nan(each.values) for each in shown.data_vars.values())
    found = np.asarray(shown)
    return found.dtype.kind == "f" and bool(np.isnan(found).any())


def power_note(null: Null, distribution: NullDistribution, statistic: float) -> tuple[str, ...]:
    """Say that signs change nothing, if they do not: p = 1 by construction."""
    if not null.by_signs or np.isinf(statistic):
        return ()
    signs = distribution.replicates[-1].samples
    if not (np.abs(signs - statistic) <= tie_slack(statistic, typical_size(signs))).all():
        return ()
    return (
        "every set of signs gives the same value (so it is where every cell holds a single row or cluster), so that "
        "this test has no power whatever the model; take fewer cells, or null=Consistency()",
    )
