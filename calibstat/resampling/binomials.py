"""Binomial numbers, many at once, each with a number of rows and a chance of its own."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats, Ints

# Numbers of up to so many rows are counted row by row, those of smaller means than this are had by inversion.
_FEW, _SMALL = 12, 8.0


def draw_binomial(count: Ints, chance: Floats, stream: np.random.Generator) -> Ints:
    """Draw how many of so many rows are events; faster than numpy where all rows, or all means, are few.

    Parameters
    ----------
    count : ints
        Number of rows, of a shape that broadcasts to that of `chance`.
    chance : floats
    stream : Generator

    Returns
    -------
    events : ints
    """
    most, likeliest = int(count.max(initial=0)), float(chance.max(initial=0.0))
    if most <= _FEW:
        return _row_by_row(np.broadcast_to(count, chance.shape), chance, stream)
    if likeliest <= 0.5 and most * likeliest <= _SMALL:
        return _by_inversion(count, chance, stream)
    return stream.binomial(count, chance)


def _row_by_row(count: Ints, chance: Floats, stream: np.random.Generator) -> Ints:
    """Draw the first row of each number, then the others of those that have more."""
    events = ((stream.random(chance.shape) < chance) & (count > 0)).astype(np.intp)
    more = np.flatnonzero(count > 1)
    if len(more):
        events.flat[more] += _row_by_row(count.flat[more] - 1, chance.flat[more], stream)
    return events


def _by_inversion(count: Ints, chance: Floats, stream: np.random.Generator) -> Ints:
    """Find the number at which the distribution function passes a uniform number, from 0 upward."""
    none = np.exp(count * np.log1p(-chance))
    drawn = np.zeros(chance.shape, dtype=np.intp)
    above = stream.random(chance.shape) - none
    place = np.flatnonzero(above > 0)
    parts: tuple[Array, ...] = (above, none, chance / (1 - chance), np.broadcast_to(count, chance.shape))
    left: Floats = np.stack([part.ravel()[place] for part in parts])
    number = 0
    while len(place):
        number += 1
        drawn.flat[place] = number
        above, mass, odds, rows = left
        mass *= odds * ((rows - (number - 1)) / number)
        above -= mass
        more = np.flatnonzero((above > 0) & (number < rows))
        place, left = place[more], left[:, more]
    return drawn
