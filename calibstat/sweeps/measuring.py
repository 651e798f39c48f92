"""Everything that is swept, evaluated on one sample: one look through each lens, one sort."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.estimators.binned import BinnedEstimator
from calibstat.inference.testing import calibration_test
from calibstat.lenses.base import Lens
from calibstat.sample import Sample
from calibstat.sweeps.nested import NestedTallies
from calibstat.sweeps.slots import Asked, Plain, Slots, call_plain


class Seen:
    """A sample through one lens, and what several estimators share."""

    def __init__(self, lens: Lens, sample: Sample) -> None:
        self.lens = lens
        self.sample = lens(sample) if lens.parts else sample
        self.nested = NestedTallies(self.sample)

    def value(self, core: Estimator) -> float:
        """Return the headline value of an estimator without its lens."""
        tally = self.nested.tally(core.binning) if isinstance(core, BinnedEstimator) else None
        if tally is not None and isinstance(core, BinnedEstimator):
            values = np.asarray(core.functional(tally))
        else:
            values = core.prepare(self.sample.predictions)(self.sample.outcomes)
        headline = core.headline(values)
        if np.ndim(headline):
            raise ValueError(f"{core!r} gives an array of shape {np.shape(headline)}, but a sweep needs one number.")
        return float(headline)


def estimates(slots: Slots, sample: Sample) -> Floats:
    """Evaluate every estimator on the same sample: (slots,)."""
    looks: list[Seen] = []
    return np.array([_estimate(slot.thing, sample, looks) for slot in slots.each], dtype=float)


def _estimate(thing: Estimator | Plain, sample: Sample, looks: list[Seen]) -> float:
    if not isinstance(thing, Estimator):
        return call_plain(thing, sample)
    lens = thing.lens
    seen = next((look for look in looks if look.lens == lens), None)
    if seen is None:
        seen = Seen(lens, sample)
        looks.append(seen)
    return seen.value(thing.core)


def pvalue(thing: Asked | Plain, sample: Sample, rng: np.random.Generator) -> float:
    """Return the p-value of one test."""
    if isinstance(thing, Asked):
        return calibration_test(sample, thing.estimator, null=thing.null, rng=rng).pvalue
    return call_plain(thing, sample)
