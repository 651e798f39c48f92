"""Between which curves does the chance of the event lie?"""

from __future__ import annotations

import numpy as np

from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.band_bounds import Runs
from calibstat.inference.band_result import CalibrationBand
from calibstat.inference.estimation import level_between
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.sample import Sample

# Above so many distinct predictions these are grouped; work grows with their square.
MOST_POINTS = 1000


def calibration_band(
    sample: Sample, *, lens: Lens | None = None, confidence_level: float = 0.95, digits: int | None = None
) -> CalibrationBand:
    """Bound the chance of the event at all predictions at once, if it does not decrease with the prediction.

    Each run of neighbouring predictions bounds, by Clopper & Pearson, the chance at its last prediction from below
    and at its first from above; with monotonicity these hold beyond. All bounds hold together with probability at
    least `confidence_level`, at every n (Dimitriadis, Duembgen, Henzi, Puke & Ziegel 2023). Nothing is assumed but
    independent rows and monotonicity, and the band can refute the latter. It is wide: it pays for all predictions at
    once.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on; without weights.
    lens : Lens, optional
        Looked through first; two outcomes must be left: for example ``TopLabel()``, ``ClassWise("cat")``.
    confidence_level : float
    digits : int, optional
        Treat predictions that agree to so many decimals as a group: the band has steps at the ends of groups, and
        stays valid. By default there are no groups up to 1000 distinct predictions, and 3 digits beyond.

    Returns
    -------
    CalibrationBand
        With ``lower`` and ``upper`` at each distinct prediction, ``pvalue``, ``maximum_error`` and ``bounds(q)`` of
        any unbinned calibration error; prints itself in words.

    Raises
    ------
    ValueError
        If more than two outcomes are left, rows have weights, or something else than the prediction is conditioned on.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.inference.bands import calibration_band
    >>> y_true = [1] * 2 + [0] * 8 + [1] * 7 + [0] * 3
    >>> band = calibration_band(cs.Sample(y_true, [0.3] * 10 + [0.6] * 10))
    >>> band.lower.round(5), band.upper.round(5)
    (array([0.01413, 0.2882 ]), array([0.62176, 0.95554]))
    >>> round(band.maximum_error, 5)
    0.35554
    """
    check_sample(sample)
    level_between(confidence_level)
    lens = Canonical() if lens is None else check_lens(lens)
    seen = lens(sample)
    _refuse(seen, lens)
    event = seen.predictions.event
    prediction, count = np.unique(event, return_counts=True)
    if digits is None and len(prediction) > MOST_POINTS:
        digits = 3
    if digits is not None and not (isinstance(digits, int) and 1 <= digits <= 6):
        raise ValueError(f"digits is {digits!r}; it must be a whole number from 1 to 6, for example 3, or None.")
    runs = Runs.of(event, seen.outcomes, digits)
    # the bound at the nearest end of a group that is not larger, or not smaller; beyond all groups there is none
    low = np.r_[0.0, runs.lower(1 - confidence_level)][np.searchsorted(runs.last, prediction, side="right")]
    high = np.r_[runs.upper(1 - confidence_level), 1.0][np.searchsorted(runs.first, prediction, side="left")]
    return CalibrationBand(
        prediction=prediction,
        count=count,
        lower=low,
        upper=high,
        confidence_level=confidence_level,
        pvalue=min(1.0, runs.pvalue_low(), runs.pvalue_high()),
        digits=digits,
        lens=lens,
        n=len(seen),
        source=seen.predictions.source,
    )


def _refuse(seen: Sample, lens: Lens) -> None:
    """Refuse what the band has no theory for."""
    predictions = seen.predictions
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    if predictions.n_classes != 2:
        raise ValueError(
            f"calibration_band: {predictions.n_classes} outcomes are seen through {lens!r}, but a band is for one "
            "event: pass lens=TopLabel(), or ClassWise(label) for one class."
        )
    if predictions.given != (...,):
        raise ValueError(
            f"calibration_band: {lens!r} conditions on {predictions.condition}, but the band is of the chance given "
            "the prediction alone; for groups, look through Region at one after the other."
        )
    if predictions.weights is not None:
        raise ValueError(
            "calibration_band: the sample has weights, but binomial bounds are of counted rows; leave the weights out, "
            "or use estimate(sample, ECE(EqualMass(15))), whose interval takes weights."
        )
