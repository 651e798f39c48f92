"""Cumulative, smooth and isotonic estimators, scores and the sweep: entries of the registry, as keyword arguments.

Beside the arguments of a registry Entry: ``record`` (users see a frozen record of the numbers), ``vanishes`` (False for
scores: not zero in a calibrated world), ``scaled`` (parts of the value are divided by a null standard deviation, which
a repeated row does not share with a row of weight two).
"""

from __future__ import annotations

import calibstat as cs
from calibstat.estimators.cells.decomposition import BrierDecomposition, FerroFricker
from calibstat.estimators.cells.sweep import ECESweep
from calibstat.estimators.isotonic.corp import CORP
from calibstat.estimators.isotonic.curve import IsotonicCurve
from calibstat.estimators.scores.means import BrierScore, LogScore, SphericalScore, ZeroOneLoss
from calibstat.estimators.scores.performance import AUC, RMSE
from calibstat.estimators.smooth.errors import SmoothCE, SmoothECE
from calibstat.estimators.walks.bridge import BrownianBridge, MeanAndBridge
from calibstat.estimators.walks.cumulative import AverageTwoBin, KolmogorovSmirnov, Kuiper
from calibstat.estimators.walks.worst_interval import WorstInterval

ANY = (2, 3, 4, 5)
MANY = (3, 4, 5)

# The lines to add to calibstat.__init__._MODULES.
MODULES = {
    "estimators.walks.cumulative": ["AverageTwoBin", "KolmogorovSmirnov", "Kuiper"],
    "estimators.walks.worst_interval": ["IntervalDeviation", "WorstInterval"],
    "estimators.walks.bridge": ["BridgeComponents", "BrownianBridge", "MeanAndBridge"],
    "estimators.smooth.errors": ["SmoothCE", "SmoothECE"],
    "estimators.scores.means": ["BrierScore", "LogScore", "Score", "SphericalScore", "ZeroOneLoss"],
    "estimators.scores.performance": ["AUC", "RMSE"],
    "estimators.cells.decomposition": ["BrierDecomposition", "BrierParts", "FerroFricker"],
    "estimators.isotonic.corp": ["CORP", "CORPParts"],
    "estimators.isotonic.curve": ["IsotonicCurve", "RecalibrationCurve"],
    "estimators.cells.sweep": ["ECESweep"],
    "estimators.combined.aliases": ["ACE", "KS", "MCE"],
}

ENTRIES = [
    dict(thing=Kuiper()),
    dict(thing=KolmogorovSmirnov()),
    dict(thing=AverageTwoBin()),
    dict(thing=cs.TopLabel() | Kuiper(), classes=ANY),
    dict(thing=cs.Given("age") | Kuiper()),
    dict(thing=cs.Given("age") | AverageTwoBin()),
    dict(thing=cs.ClassWise("a") | KolmogorovSmirnov(), classes=MANY),
    dict(thing=SmoothCE()),
    dict(thing=cs.Given("age") | SmoothCE()),
    dict(thing=SmoothECE()),
    dict(thing=SmoothECE(bandwidth=0.1)),
    dict(thing=cs.Given("age") | SmoothECE()),
    dict(thing=ECESweep(), cells_move_with="weights"),
    dict(thing=ECESweep(p=2), cells_move_with="weights"),
    dict(thing=BrierScore(), classes=ANY, vanishes=False),
    dict(thing=LogScore(), classes=ANY, vanishes=False),
    dict(thing=SphericalScore(), classes=ANY, vanishes=False),
    dict(thing=ZeroOneLoss(), classes=ANY, vanishes=False),
    dict(thing=RMSE(), classes=ANY, vanishes=False),
    dict(thing=AUC(), vanishes=False),
    dict(thing=cs.TopLabel() | AUC(), classes=ANY, vanishes=False),
    dict(thing=WorstInterval(), scalar=False, record=True),
    dict(thing=MeanAndBridge(), scalar=False),
    dict(thing=BrownianBridge(), scalar=False, record=True, scaled=True),
    dict(thing=BrierDecomposition(cs.EqualWidth(4)), scalar=False, record=True),
    dict(thing=BrierDecomposition(cs.SimplexGrid(3)), classes=ANY, scalar=False, record=True),
    dict(thing=BrierDecomposition(cs.EqualMass(3)), cells_move_with="weights", scalar=False, record=True),
    dict(thing=FerroFricker(cs.EqualWidth(4)), pairs=True, scalar=False, record=True),
    dict(thing=FerroFricker(cs.SimplexGrid(2)), classes=ANY, pairs=True, scalar=False, record=True),
    dict(thing=CORP(), scalar=False, record=True),
    dict(thing=CORP(LogScore()), scalar=False, record=True),
    dict(thing=cs.TopLabel() | CORP(SphericalScore()), classes=ANY, scalar=False, record=True),
    dict(thing=IsotonicCurve(), scalar=False, record=True),
]
