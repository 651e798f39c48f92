"""Bootstrap intervals: by name only, because for calibration errors they do not cover."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from calibstat.arrays import Floats, Ints
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import Tally
from calibstat.inference.spread import ConfidenceInterval, NoInterval
from calibstat.resampling.bin_level import sums_suffice
from calibstat.resampling.bootstrap import Bootstrap
from calibstat.sample import Sample

# Numbers held in memory at once by the jackknife.
_NUMBERS = 2**21
REFUSED = (
    "a bootstrap interval of a calibration error does not cover: resampled rows add noise to an error that noise has "
    "already made too large (percentile: 0 to 9 % instead of 95 % for nearly calibrated models); the default interval "
    "of ECE, RMSCE, DebiasedL2 or Kuiper does. To see it nevertheless: Bootstrap(..., allow_invalid=True)"
)


def bootstrap_interval(
    core: Estimator, seen: Sample, level: float, bootstrap: Bootstrap, rng: np.random.Generator
) -> ConfidenceInterval:
    """Return the interval of the kind that the bootstrap names; `core` gives a number."""
    if not bootstrap.allow_invalid:
        raise NoInterval(f"{bootstrap!r} is refused: {REFUSED}")
    evaluator = core.prepare(seen.predictions)
    value = float(evaluator(seen.outcomes))
    drawn = bootstrap.replicates(core, seen, rng=rng)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if bootstrap.kind == "basic":
        high, low = 2 * value - np.nanquantile(drawn, tails)
        return ConfidenceInterval(float(low), float(high))
    if bootstrap.kind == "bca":
        tails = _accelerated(tails, drawn, value, leaving_one_out(evaluator, seen))
    low, high = np.nanquantile(drawn, tails)
    return ConfidenceInterval(float(low), float(high))


def _accelerated(tails: Floats, drawn: Floats, value: float, left_out: Floats) -> Floats:
    """Move the tails for bias and skewness (Efron 1987)."""
    share = (np.count_nonzero(drawn < value) + np.count_nonzero(drawn == value) / 2) / len(drawn)
    bias = ndtri(np.clip(share, 1 / (len(drawn) + 1), 1 - 1 / (len(drawn) + 1)))
    pull = left_out.mean() - left_out
    spread = (pull**2).sum()
    skewness = 0.0 if spread == 0 else float((pull**3).sum() / (6 * spread**1.5))
    z = bias + ndtri(tails)
    moved: Floats = ndtr(bias + z / (1 - skewness * z))
    return moved


def leaving_one_out(evaluator: Evaluator, seen: Sample) -> Floats:
    """Return the value without each row in turn, (n,), what was prepared being fixed: O(n L) where cells suffice."""
    n, plan = len(seen), evaluator.tally
    if plan is None or not sums_suffice(evaluator):
        parts = _parts(n, n)
        return np.concatenate([evaluator(seen.outcomes, 1.0 - (part[:, None] == np.arange(n))) for part in parts])
    whole, event, cells = plan(seen.outcomes), seen.predictions.event, np.arange(plan.cells.size)
    values = []
    for part in _parts(n, plan.cells.size):
        row = (plan.cells.index[part][:, None] == cells).astype(float)
        without = Tally(
            whole.weight - row,
            whole.prediction - (row * event[part, None])[..., None],
            whole.outcome - (row * seen.outcomes[part, None])[..., None],
            whole.weight - row,
        )
        value = evaluator.from_tallies(without)
        values += [] if value is None else [value]
    return np.concatenate(values)


def _parts(n: int, width: int) -> list[Ints]:
    size = max(1, _NUMBERS // width)
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
