"""One exact p-value of several statistics, and which of them saw something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibstat.arrays import RNG, Floats, Ints, as_generator
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.headline import Headline
from calibstat.estimators.panels import Member, chosen_panel, default_panel
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.omnibus_result import OmnibusTest
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.nulls.labels import LabelLaw
from calibstat.nulls.tied import tie_slack, typical_size
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample


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
    >>> from calibstat.inference.omnibus import omnibus_test
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
