"""Which interval is valid for which estimator."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.estimators.headline import Headline
from calibstat.inference.spread import NO_NOISE, NoInterval, Spread, Uniform
from calibstat.inference.total_variance import total_variance
from calibstat.nulls.multiplier import Multiplier
from calibstat.sample import Sample

_NONE = (
    "no theory gives an interval that covers for {}: percentile bootstrap intervals of a calibration error do not "
    "cover the truth (0 to 9 % of the time for small errors). Those of ECE, RMSCE, MaximumMiscalibration, DebiasedL2 "
    "or Kuiper do; read this value against its null mean"
)
_BINNED = "for the *binned* error, in these cells (a lower bound of the unbinned one); "


def spread_of(
    core: Estimator, seen: Sample, multiplier: Multiplier, redraws: Floats | None, rng: np.random.Generator
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
    """
    if core.residual_form == "debiased square" and multiplier.groups is None:
        return total_variance(core, seen)
    if core.residual_form != "seminorm":
        raise NoInterval(_NONE.format(repr(core)))
    whole = Headline(core)
    evaluator = whole.prepare(seen.predictions)
    centred = Multiplier(multiplier.n_resamples, multiplier.groups, centred=True)
    noise = centred.draw(whole, seen, rng).samples
    if not noise.any() and (redraws is None or not redraws.any()):
        raise NoInterval(NO_NOISE)
    binned = "" if evaluator.tally is None else _BINNED
    how = (
        "the larger of the multiplier quantile and the exact label-redraw quantile"
        if redraws is not None
        else f"the multiplier quantile, one sign for each value of {multiplier.groups!r} (labels of clusters cannot be "
        "redrawn, so for rare events or few clusters it is too short near zero)"
    )
    noises = [noise] if redraws is None else [noise, redraws]
    return Uniform(float(evaluator(seen.outcomes)), noises, f"{binned}uniform: half-width {how}")
