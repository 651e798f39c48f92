"""Curves that a reliability diagram shows over its cells: what is known of each along the axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Bools, Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.belt import Belt
from calibstat.estimators.isotonic import RecalibrationCurve
from calibstat.estimators.loess import LocalCurve
from calibstat.inference.band import CalibrationBand
from calibstat.lenses.base import Lens

# The truth of a synthetic world is drawn at so many predictions.
_POINTS = 1000


@runtime_checkable
class World(Protocol):
    """What a synthetic model knows."""

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chance of the event at each prediction."""


@final
@dataclass(frozen=True, eq=False)
class Overlay:
    """A curve, a band, or both: chances of the event along the axis.

    `x` (G,) are places, `chance` (G,) the curve, `reference` (G,) what the model says there, and `bands` pairs of lower
    and upper ends (G,), the widest last. `sentence` is for the caption.
    """

    label: str
    sentence: str
    x: Floats
    reference: Floats
    chance: Floats | None = None
    bands: tuple[tuple[Floats, Floats], ...] = ()
    truth: bool = False
    steps: bool = False


def overlay(curve: Any, seen: Sample | None, lens: Lens, label: str | None = None) -> Overlay:
    """Return what is drawn of a curve; an estimator is evaluated on the sample as seen through the lens."""
    if isinstance(curve, Estimator):
        if seen is None:
            raise ValueError(
                f"this display was made without a sample, so {curve!r} cannot be computed: pass its value."
            )
        curve = curve(seen)
    variable = seen is not None and seen.predictions.keys != (1,)
    if variable and not isinstance(curve, (LocalCurve, RecalibrationCurve)):
        raise ValueError(
            f"a {type(curve).__name__} is a function of the prediction, but this diagram has "
            f"{seen.predictions.condition} along its axis: leave out Given, or add LOESS()."  # type: ignore[union-attr]
        )
    found = _overlay(curve, seen, lens, variable)
    if label is None:
        return found
    return replace(found, label=label)


def _overlay(curve: Any, seen: Sample | None, lens: Lens, variable: bool) -> Overlay:
    if isinstance(curve, LocalCurve):
        words = "The smooth curve is a local regression (LOESS) with its pointwise band of about 95 %."
        ends = ((curve.low, curve.high),)
        return Overlay("LOESS, 95 %", words, curve.x, curve.prediction if variable else curve.x, curve.outcome, ends)
    if isinstance(curve, RecalibrationCurve):
        x, chance = corners(curve.prediction, curve.recalibrated)
        if variable:
            raise ValueError("an isotonic curve over a variable has no prediction beside it; add LOESS() instead.")
        words = (
            "The isotonic curve is a non-decreasing regression of the outcomes: it needs no cells; its ends are noisy."
        )
        return Overlay("isotonic curve", words, x, x, chance, steps=True)
    if isinstance(curve, Belt):
        levels = " and ".join(f"{100 * level:g} %" for level in curve.levels)
        words = f"The belt (GiViTI) bounds a polynomial calibration curve as a whole, at about {levels}."
        near = _near_rows(curve.x, seen)  # a polynomial is arbitrary where there are hardly any rows
        if np.isnan(curve.low).any():
            words = "The curve of the belt (GiViTI) is a polynomial of log-odds; rows in clusters have no belt."
            return Overlay("curve of the belt", words, curve.x[near], curve.x[near], curve.curve[near])
        bands = tuple((low[near], high[near]) for low, high in zip(curve.low, curve.high, strict=True))
        x, label = curve.x[near], f"belt, {100 * max(curve.levels):g} %"
        return Overlay(label, words, x, x, curve.curve[near], bands)
    if isinstance(curve, CalibrationBand):
        at = np.repeat(curve.prediction, 2)
        # between two predictions the bounds of the lower one hold from below, and those of the upper one from above
        low, high = np.r_[0.0, np.repeat(curve.lower, 2)[:-1]], np.r_[np.repeat(curve.upper, 2)[1:], 1.0]
        at, (low, high) = corners(at, np.array([low, high]))
        level = f"{100 * curve.confidence_level:g} %"
        words = f"The band holds the chances of the event at all predictions at once with a probability of {level}."
        return Overlay(f"band, {level}", words, at, at, None, ((low, high),))
    if isinstance(curve, World):
        return _truth(curve, seen, lens)
    raise TypeError(
        f"a curve is a {type(curve).__name__}; pass an IsotonicCurve, LOESS or CalibrationBelt or the value of one, a "
        "CalibrationBand, or a synthetic model of calibstat.generators."
    )


def _near_rows(x: Floats, seen: Sample | None) -> Bools:
    """Return which predictions (G,) lie within all but 0.4 % of the rows, or, without rows, all but the outermost."""
    if seen is None:
        return (x > x.min()) & (x < x.max())
    low, high = np.quantile(seen.predictions.event, [0.002, 0.998])
    return (x >= low) & (x <= high)


def _truth(world: World, seen: Sample | None, lens: Lens) -> Overlay:
    """Evaluate the calibration function of a world at predictions of the sample, or along the whole axis."""
    if seen is None:
        x = np.linspace(0.001, 0.999, _POINTS)
    else:
        x = np.unique(seen.predictions.event)
        x = x[np.unique(np.linspace(0, len(x) - 1, min(_POINTS, len(x))).astype(int))]
    chance = np.asarray(world.calibration_function(x, lens), dtype=float)
    kept = np.isfinite(chance)
    if not kept.any():
        raise ValueError(f"{world!r} knows the chance at none of the predictions of this sample.")
    words = "The line marked as truth is the chance of the event in the world that the sample was drawn from."
    return Overlay("truth", words, x[kept], x[kept], chance[kept], truth=True)


def corners(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Leave out the points (L,) within flat pieces of curves (..., L), which a line through the others passes anyway.

    >>> corners(np.arange(5.0), np.array([0.0, 0.0, 0.0, 1.0, 1.0]))
    (array([0., 2., 3., 4.]), array([0., 0., 1., 1.]))
    """
    inner, flat = np.zeros(len(x), dtype=bool), (np.atleast_2d(np.diff(y)) == 0).all(axis=0)
    inner[1:-1] = flat[1:] & flat[:-1]
    return x[~inner], y[..., ~inner]
