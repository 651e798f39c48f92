"""Which interval is valid for which estimator."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.headline import Headline
from calibstat.inference.limits import ENOUGH_CLUSTERS, MINIMUM_CLUSTERS, cluster_count, cluster_note
from calibstat.inference.spread import NO_NOISE, NoInterval, Spread, Uniform
from calibstat.inference.total_variance import total_variance
from calibstat.nulls.multiplier import Multiplier
from calibstat.sample import Sample

_NONE = (
    "no theory gives an interval that covers for {} here: percentile bootstrap intervals of calibration errors hold "
    "the truth 0 to 9 % of the time where it is small. Those of ECE, RMSCE, MaximumMiscalibration, DebiasedL2 or "
    "Kuiper cover; read this value against its null mean"
)
_BINNED = "for the *binned* error, in these cells (a lower bound of the unbinned one); "


def spread_of(
    core: Estimator,
    seen: Sample,
    multiplier: Multiplier,
    redraws: Floats | None,
    rng: np.random.Generator,
    evaluator: Evaluator | None = None,
) -> Spread:
    """Return what the default interval of an estimator is made of, or raise `NoInterval` with the reason.

    Parameters
    ----------
    core : Estimator
        Without its lens.
    seen : Sample
        As seen through the lens.
    multiplier : Multiplier
        How many resamples, and the clusters.
    redraws : (R,) floats, optional
        Headline values under exact redraws of the labels; None where labels cannot be redrawn.
    rng : Generator
    evaluator : Evaluator, optional
        Of the headline, where it is prepared already.
    """
    if core.residual_form == "debiased square" and multiplier.groups is None:
        return total_variance(core, seen)
    if core.residual_form != "seminorm":
        raise NoInterval(_NONE.format(repr(core)))
    count = _clusters(multiplier, seen)
    whole = Headline(core)
    evaluator = evaluator or whole.prepare(seen.predictions)
    centred = Multiplier(multiplier.n_resamples, multiplier.groups, centred=True)
    noise = centred.draw(whole, seen, rng, evaluator).samples
    if not noise.any() and (redraws is None or not redraws.any()):
        raise NoInterval(NO_NOISE)
    binned = "" if evaluator.tally is None else _BINNED
    how = (
        "the larger of the multiplier quantile and the exact label-redraw quantile"
        if redraws is not None
        else f"the multiplier quantile, one sign for each value of {multiplier.groups!r} "
        f"({''.join(cluster_note(count))}; labels of clusters cannot be redrawn, so for rare events or few clusters it "
        "is too short near zero)"
    )
    return Uniform(
        float(evaluator(seen.outcomes)),
        [noise] if redraws is None else [noise, redraws],
        f"{binned}uniform: half-width {how}",
        float(getattr(core, "largest_value", np.inf)),
    )


def _clusters(multiplier: Multiplier, seen: Sample) -> int | None:
    """Count the clusters; refuse few."""
    count = cluster_count(multiplier, seen.predictions)
    if count is not None and count < MINIMUM_CLUSTERS:
        raise NoInterval(
            f"{multiplier.groups!r} has {count} clusters, but an interval from signs needs at least {MINIMUM_CLUSTERS} "
            f"(better {ENOUGH_CLUSTERS}): with 2 to 10 it excludes an error of zero in up to half of the samples of a "
            "calibrated model"
        )
    return count
