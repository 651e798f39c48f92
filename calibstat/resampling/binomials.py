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
        draw = _row_by_row
    elif likeliest <= 0.5 and most * likeliest <= _SMALL:
        draw = _by_inversion
    else:
        return stream.binomial(count, chance)
    return draw(np.broadcast_to(count, chance.shape).ravel(), chance.ravel(), stream).reshape(chance.shape)


def _row_by_row(count: Ints, chance: Floats, stream: np.random.Generator) -> Ints:
    """Draw the first row of each number, then the others of those that have more."""
    events = ((stream.random(len(chance)) < chance) & (count > 0)).astype(np.intp)
    more = np.flatnonzero(count > 1)
    if len(more):
        events[more] += _row_by_row(count[more] - 1, chance[more], stream)
    return events


def _by_inversion(count: Ints, chance: Floats, stream: np.random.Generator) -> Ints:
    """Find the number at which the distribution function passes a uniform number, from 0 upward."""
    none = np.exp(count * np.log1p(-chance))
    above: Array = stream.random(len(chance)) - none
    drawn = np.zeros(len(chance), dtype=np.intp)
    place: Array = np.flatnonzero(above > 0)
    above, mass, odds, rows = (part[place] for part in (above, none, chance / (1 - chance), count))
    number = 0
    while len(place):
        number += 1
        drawn[place] = number
        mass *= odds * ((rows - (number - 1)) / number)
        above -= mass
        more = np.flatnonzero((above > 0) & (number < rows))
        place, above, mass, odds, rows = (part[more] for part in (place, above, mass, odds, rows))
    return drawn
