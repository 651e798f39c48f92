"""What limits a result, in words: few events, few clusters, signs that change nothing."""

from __future__ import annotations

import numpy as np

from calibstat.nulls.base import Null
from calibstat.nulls.distributions import EmpiricalNull, NullDistribution
from calibstat.nulls.multiplier import Multiplier
from calibstat.nulls.tied import tie_slack, typical_size
from calibstat.predictions import Predictions
from calibstat.resampling.clusters import clusters, how_many
from calibstat.sample import Sample

# The noise is had from the rows themselves: with fewer of an outcome it may not show.
ENOUGH_EVENTS = 10
# Intervals from signs of fewer clusters are refused, and those of fewer than enough are noted.
MINIMUM_CLUSTERS = 20
ENOUGH_CLUSTERS = 50


def fewest_rows(seen: Sample) -> int:
    """Return the number of rows of the rarest outcome."""
    return int(np.bincount(seen.outcomes, minlength=seen.predictions.n_classes).min())


def events_note(fewest: int) -> tuple[str, ...]:
    """Say that events are too few for a bound to be trusted, if they are."""
    if fewest >= ENOUGH_EVENTS:
        return ()
    return (
        f"the rarest outcome was seen in {fewest} rows, fewer than {ENOUGH_EVENTS}: the bound may be too small; for "
        "one event calibration_band bounds the error at every n",
    )


def negative_note(value: float) -> tuple[str, ...]:
    """Say what a debiased value below zero means."""
    if not value < 0:
        return ()
    return (
        "the value is below zero by chance (it is unbiased); that is not evidence of an error of zero, so the upper "
        "bound is not below the one-sided quantile of noise at zero error",
    )


def cluster_count(null: Null, predictions: Predictions) -> int | None:
    """Return the number of clusters that signs are drawn for; None without clusters."""
    if not isinstance(null, Multiplier) or null.groups is None:
        return None
    return how_many(clusters(predictions, null.groups))


def cluster_note(count: int | None) -> tuple[str, ...]:
    """Say how many clusters there are, and whether they are few."""
    if count is None:
        return ()
    few = "" if count >= ENOUGH_CLUSTERS else f", fewer than {ENOUGH_CLUSTERS}: the signs show too little of the noise"
    return (f"{count} clusters{few}",)


def power_note(null: Null, distribution: NullDistribution, statistic: float) -> tuple[str, ...]:
    """Say that signs change nothing, if they do not: p = 1 by construction."""
    if not isinstance(null, Multiplier) or not isinstance(distribution, EmpiricalNull):
        return ()
    slack = tie_slack(statistic, typical_size(distribution.samples))
    if np.isinf(statistic) or not (np.abs(distribution.samples - statistic) <= slack).all():
        return ()
    return (
        "every set of signs gives the same value (so it is where every cell holds a single row or cluster), so that "
        "this test has no power whatever the model; take fewer cells, or null=Consistency()",
    )
