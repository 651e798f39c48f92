"""Combinators, local regression, clinical indices and validity curves: entries of the registry, as keyword arguments.

Beside the arguments of a registry Entry: ``record`` (users see a frozen record), ``vanishes`` (False for areas: not
zero in a calibrated world), ``weighted`` (False: weights are refused).
"""

from __future__ import annotations

import numpy as np

import calibstat as cs
from calibstat.estimators.cells.neighbor_validity import NeighborAUCV
from calibstat.estimators.cells.validity_curve import AUCV
from calibstat.estimators.combined.each_class import EachClass
from calibstat.estimators.combined.family import Family
from calibstat.estimators.combined.jackknife import Jackknifed
from calibstat.estimators.combined.within import Within
from calibstat.estimators.local.clinical import ICI, CellMeans
from calibstat.estimators.local.regression import LOESS, VCE
from calibstat.estimators.logistic.belt import CalibrationBelt
from calibstat.estimators.logistic.spline import LogisticSpline

ANY = (2, 3, 4, 5)
MANY = (3, 4, 5)

# The lines to add to calibstat.__init__._MODULES.
MODULES = {
    "estimators.combined.named_values": ["NamedValues"],
    "estimators.combined.each_class": ["EachClass"],
    "estimators.combined.within": ["Within"],
    "estimators.combined.family": ["Family"],
    "estimators.combined.jackknife": ["Jackknifed"],
    "estimators.local.curve": ["LocalCurve"],
    "estimators.local.regression": ["LOESS", "VCE"],
    "estimators.local.clinical": ["CalibrationIndices", "CellMeans", "ICI"],
    "estimators.logistic.spline": ["LogisticSpline"],
    "estimators.logistic.belt": ["Belt", "CalibrationBelt"],
    "estimators.cells.validity_curve": ["AUCV", "ValidityCurve"],
    "estimators.cells.neighbor_validity": ["NeighborAUCV"],
}

ENTRIES = [
    dict(thing=EachClass(cs.ECE(cs.EqualWidth(4))), classes=ANY, scalar=False, record=True),
    dict(
        thing=EachClass(cs.RMSCE(cs.EqualMass(3)), 2), classes=ANY, cells_move_with="weights", scalar=False, record=True
    ),
    dict(thing=EachClass(cs.DebiasedL2(cs.EqualWidth(3))), classes=MANY, pairs=True, scalar=False, record=True),
    dict(thing=EachClass(cs.ECE(cs.EqualWidth(3)), np.inf), classes=MANY, scalar=False, record=True, evaluable=False),
    dict(thing=Within("sex", cs.ECE(cs.EqualWidth(3))), classes=(2,), scalar=False, record=True),
    dict(thing=Within("sex", cs.TopLabel() | cs.RMSCE(cs.EqualWidth(3))), classes=ANY, scalar=False, record=True),
    dict(thing=cs.TopLabel() | Within("sex", cs.PDE(cs.EqualWidth(2))), classes=ANY, scalar=False, record=True),
    dict(
        thing=Family(
            {"ece": cs.ECE(cs.EqualWidth(4)), "rms": cs.RMSCE(cs.EqualWidth(4)), "one": cs.ECE(cs.FixedEdges([0, 1]))}
        ),
        classes=(2,),
        scalar=False,
        record=True,
    ),
    dict(
        thing=Family({"mean": cs.ECE(cs.EqualWidth(4)), "squared": cs.SquaredCE(cs.EqualWidth(4))}),
        classes=(2,),
        scalar=False,
        record=True,
    ),
    dict(
        thing=Family(
            {"top": cs.TopLabel() | cs.ECE(cs.EqualWidth(3)), "a": cs.ClassWise("a") | cs.ECE(cs.EqualWidth(3))}
        ),
        classes=MANY,
        scalar=False,
        record=True,
    ),
    dict(thing=Jackknifed(cs.SquaredCE(cs.EqualWidth(3))), classes=(2,), pairs=True),
    dict(thing=cs.TopLabel() | Jackknifed(cs.RMSCE(cs.EqualWidth(3))), classes=ANY, pairs=True),
    dict(thing=LOESS(n_points=100), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=LOESS(0.5, 1, 50, 0.0, None), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=LOESS(1.5, n_points=20, n_cells=12), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=VCE("age"), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=cs.TopLabel() | VCE("age", 0.9), classes=ANY, cells_move_with="weights", scalar=False, record=True),
    dict(thing=ICI(), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=ICI(LOESS(2 / 3, degree=1)), classes=(2,), cells_move_with="weights", scalar=False, record=True),
    dict(thing=ICI(CellMeans()), classes=(2,), scalar=False, record=True),
    dict(
        thing=cs.TopLabel() | ICI(LogisticSpline(3)), classes=ANY, cells_move_with="repeats", scalar=False, record=True
    ),
    dict(thing=CalibrationBelt(), classes=(2,), scalar=False, record=True, weighted=False),
    dict(thing=AUCV(), classes=ANY, vanishes=False),
    dict(thing=AUCV(cs.EqualMass(4)), classes=(2,), cells_move_with="weights", vanishes=False),
    dict(thing=NeighborAUCV(3), classes=(2,), cells_move_with="repeats", vanishes=False),
    dict(thing=NeighborAUCV(5, include_self=False), classes=(2,), cells_move_with="repeats", vanishes=False),
    dict(thing=cs.Given("age") | NeighborAUCV(4), classes=(2,), cells_move_with="repeats", vanishes=False),
]
