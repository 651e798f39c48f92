"""Estimators made of estimators, and of functions."""

from __future__ import annotations

import numpy as np

import calibstat as cs
from calibstat.estimators.base import Headline
from registered.entries import ANY, MANY, TWO, Entry, gap

CELLS = cs.EqualWidth(4)

ENTRIES = [
    Entry(cs.Generic(gap), chances=False, evaluable=False),
    Entry(cs.TopLabel() | cs.Generic(gap), ANY, chances=False, evaluable=False),
    Entry(Headline(cs.ECE(cs.EqualWidth(6))), evaluable=False),
    Entry(cs.EachClass(cs.ECE(CELLS)), ANY, scalar=False, record=True),
    Entry(cs.EachClass(cs.RMSCE(cs.EqualMass(3)), 2), ANY, "weights", scalar=False, record=True),
    Entry(cs.EachClass(cs.DebiasedL2(cs.EqualWidth(3))), MANY, pairs=True, signed=True, scalar=False, record=True),
    Entry(cs.EachClass(cs.ECE(cs.EqualWidth(3)), np.inf), MANY, scalar=False, record=True, evaluable=False),
    Entry(cs.Within("sex", cs.ECE(cs.EqualWidth(3))), scalar=False, record=True),
    Entry(cs.Within("sex", cs.TopLabel() | cs.RMSCE(cs.EqualWidth(3))), ANY, scalar=False, record=True),
    Entry(cs.TopLabel() | cs.Within("sex", cs.PDE(cs.EqualWidth(2))), ANY, scalar=False, record=True),
    Entry(
        cs.Family({"ece": cs.ECE(CELLS), "rms": cs.RMSCE(CELLS), "one": cs.ECE(cs.FixedEdges([0, 1]))}),
        scalar=False,
        record=True,
    ),
    Entry(cs.Family({"mean": cs.ECE(CELLS), "squared": cs.SquaredCE(CELLS)}), scalar=False, record=True),
    Entry(
        cs.Family({"top": cs.TopLabel() | cs.ECE(cs.EqualWidth(3)), "a": cs.ClassWise("a") | cs.ECE(cs.EqualWidth(3))}),
        MANY,
        scalar=False,
        record=True,
    ),
    Entry(cs.Jackknifed(cs.SquaredCE(cs.EqualWidth(3))), TWO, pairs=True, signed=True),
    Entry(cs.TopLabel() | cs.Jackknifed(cs.RMSCE(cs.EqualWidth(3))), ANY, pairs=True, signed=True),
]
