"""Cumulative, smooth and isotonic estimators, scores and the sweep: entries of the registry, as keyword arguments.

Beside the arguments of a registry Entry: ``record`` (users see a frozen record of the numbers), ``vanishes`` (False for
scores: not zero in a calibrated world), ``scaled`` (parts of the value are divided by a null standard deviation, which
a repeated row does not share with a row of weight two).
"""

from __future__ import annotations

import calibstat as cs
from calibstat.estimators.bridge import BrownianBridge, MeanAndBridge
from calibstat.estimators.cumulative import AverageTwoBin, KolmogorovSmirnov, Kuiper
from calibstat.estimators.decomposition import BrierDecomposition, FerroFricker
from calibstat.estimators.isotonic import CORP
from calibstat.estimators.isotonic_curve import IsotonicCurve
from calibstat.estimators.performance import AUC, RMSE
from calibstat.estimators.scores import BrierScore, LogScore, SphericalScore, ZeroOneLoss
from calibstat.estimators.smooth import SmoothCE, SmoothECE
from calibstat.estimators.sweep import ECESweep
from calibstat.estimators.worst_interval import WorstInterval

ANY = (2, 3, 4, 5)
MANY = (3, 4, 5)

# The lines to add to calibstat.__init__._MODULES.
MODULES = {
    "estimators.cumulative": ["AverageTwoBin", "KolmogorovSmirnov", "Kuiper"],
    "estimators.worst_interval": ["IntervalDeviation", "WorstInterval"],
    "estimators.bridge": ["BridgeComponents", "BrownianBridge", "MeanAndBridge"],
    "estimators.smooth": ["SmoothCE", "SmoothECE"],
    "estimators.scores": ["BrierScore", "LogScore", "Score", "SphericalScore", "ZeroOneLoss"],
    "estimators.performance": ["AUC", "RMSE"],
    "estimators.decomposition": ["BrierDecomposition", "BrierParts", "FerroFricker"],
    "estimators.isotonic": ["CORP", "CORPParts"],
    "estimators.isotonic_curve": ["IsotonicCurve", "RecalibrationCurve"],
    "estimators.sweep": ["ECESweep"],
    "estimators.aliases": ["ACE", "KS", "MCE"],
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
