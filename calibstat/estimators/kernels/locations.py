"""Test locations: where, and for which class, the mean of residuals is looked at through a kernel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.checks.probabilities import ROW_TOLERANCE, VALUE_TOLERANCE
from calibstat.estimators.base import Estimator
from calibstat.estimators.kernels.features import features, median_distance, on_a_line, sorted_rows
from calibstat.estimators.kernels.functions import Kernel
from calibstat.predictions import Predictions

Points = tuple[tuple[float, ...], ...]


def checked_locations(given: Any) -> int | Points:
    """Return how many locations to choose, or locations as tuples of numbers; a plain sequence is of single numbers."""
    if np.ndim(given) == 0:
        at_least_one("locations", given)
        return int(given)
    points = np.asarray(given, dtype=float)
    if points.ndim > 2 or not points.size or not np.isfinite(points).all():
        raise ValueError(
            f"locations is {given!r}; a number of locations is expected, or their predictions: one row of finite "
            "numbers for each, or a number for each where two outcomes are seen."
        )
    return tuple(tuple(map(float, row)) for row in points.reshape(len(points), -1))


def checked_targets(given: Sequence[Hashable] | None, locations: int | Points) -> tuple[Hashable, ...] | None:
    """Return the class of each location as a tuple of labels."""
    if given is None:
        return None
    found = tuple(each.item() if isinstance(each, np.generic) else each for each in given)
    expected = locations if isinstance(locations, int) else len(locations)
    if len(found) != expected:
        raise ValueError(
            f"there {'is' if len(found) == 1 else 'are'} {_counted(len(found), 'target')} for "
            f"{_counted(expected, 'location')}; give one class for each location."
        )
    return found


def at_locations(
    estimator: Estimator,
    predictions: Predictions,
    locations: int | Points,
    targets: tuple[Hashable, ...] | None,
    bandwidth: str | float,
    kernel: Kernel,
) -> tuple[Floats, list[int]]:
    """Return the kernel between locations and rows, (J, n), and the column number of the class of each location.

    Locations that are given as a number are rows of the predictions, evenly spaced in sorted order, and classes that
    are not given come in turn: neither depends on outcomes, on chance, or on the order of rows.

    Parameters
    ----------
    estimator : Estimator
        Who asks, for messages.
    predictions : Predictions
    locations, targets
        As checked above.
    bandwidth : "median" or float
    kernel : Kernel

    Raises
    ------
    ValueError
        If given locations do not fit what is conditioned on, or are no predictions where it is the prediction.
    """
    rows = features(predictions)
    if not isinstance(locations, int):
        points = _points(estimator, predictions, rows, locations)
    elif len(rows):
        places = ((np.arange(locations) + 0.5) / locations * len(rows)).astype(np.intp)
        points = rows[sorted_rows(predictions, rows)[places]]
    else:
        points = np.zeros((locations, rows.shape[1]))
    width = median_distance(predictions, rows, kernel) if isinstance(bandwidth, str) else float(bandwidth)
    return kernel.matrices(points, rows, (width,))[0], _codes(estimator, predictions, targets, len(points))


def _points(estimator: Estimator, predictions: Predictions, rows: Floats, given: Points) -> Floats:
    """Write given locations as the kernel compares them."""
    points, width = np.array(given), rows.shape[1]
    variables = [key for key in predictions.keys if isinstance(key, str)]
    alone = points.shape[1] == 1 and on_a_line(predictions) and width == 2
    if alone or (points.shape[1] == width and (not variables or len(predictions.keys) == 1)):
        if not variables:
            _refuse_off_simplex(estimator, points, whole=not alone and width == predictions.n_classes)
        return np.concatenate([-points if variables else 1 - points, points], axis=1) if alone else points
    if variables and len(predictions.keys) > 1:
        advice = f"leave their choice to the estimator by a number: locations={len(given)}"
    else:
        advice = f"give {_counted(width, 'number')} for each location"
        advice += ", or a single one" if on_a_line(predictions) else ""
        if points.shape[1] == 1 and not variables:
            advice += ", or look through a lens first, for example TopLabel() or ClassWise(label)"
    verb = "is" if len(predictions.given) == 1 else "are"
    raise ValueError(
        f"{estimator!r} has locations of {_counted(points.shape[1], 'number')}, but {predictions.condition} {verb} "
        f"conditioned on, in {_counted(width, 'column')}; {advice}."
    )


def _refuse_off_simplex(estimator: Estimator, points: Floats, *, whole: bool) -> None:
    """Refuse locations (J, d) that are no predictions; `whole` ones have a number for each class."""
    outside, sums = np.maximum(-points, points - 1).max(axis=1), points.sum(axis=1)
    if outside.max() > VALUE_TOLERANCE:
        worst = int(outside.argmax())
        wrong = "; its numbers must lie between 0 and 1"
    elif whole and np.abs(sums - 1).max() > ROW_TOLERANCE:
        worst = int(np.abs(sums - 1).argmax())
        wrong = f", which sums to {sums[worst]:.6g}; its numbers must sum to 1"
    else:
        return
    shown = ", ".join(f"{number:.8g}" for number in points[worst])
    raise ValueError(
        f"{estimator!r} looks at predictions, but location {worst} (counting from 0) is {shown}{wrong}. "
        "For locations of a variable look through a lens first, for example Given('age')."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _codes(
    estimator: Estimator, predictions: Predictions, targets: tuple[Hashable, ...] | None, n_locations: int
) -> list[int]:
    if targets is None:
        return [number % predictions.n_classes for number in range(n_locations)]
    unknown = [target for target in targets if target not in predictions.classes]
    if unknown:
        raise ValueError(
            f"{estimator!r}: {unknown[0]!r} is not a label of this sample, whose classes are {predictions.classes!r}; "
            "name one of these (a label, not a position)."
        )
    return [predictions.classes.index(target) for target in targets]
