"""Kernel, multi-scale, score and goodness-of-fit estimators: what the laws run over, and where the names are defined.

Each entry holds the keyword arguments of a registry Entry, and four more that laws may ask for:
``signed`` (the value has a sign, so that it may be negative), ``neutral`` (the value of a
calibrated world where it is not zero), ``ordered`` (rows count in the order in which they
come), ``weighted`` (False: weights are refused).
"""

from __future__ import annotations

import calibstat as cs
from calibstat.estimators.cells.hosmer_lemeshow import HosmerLemeshow, PigeonHeyse
from calibstat.estimators.cells.multiscale import MultiscaleL2
from calibstat.estimators.cells.pearson import PearsonCE
from calibstat.estimators.cells.standardized import StandardizedL2
from calibstat.estimators.cells.tce import TCE
from calibstat.estimators.kernels.density import KDECE, LpCE
from calibstat.estimators.kernels.functions import GaussianKernel, LaplaceKernel
from calibstat.estimators.kernels.root import KCE
from calibstat.estimators.kernels.skce import SKCE
from calibstat.estimators.logistic.cox import Cox
from calibstat.estimators.logistic.observed_expected import ObservedToExpected
from calibstat.estimators.scores.logit import LogitScore, VectorScalingScore
from calibstat.estimators.scores.residuals import MeanCalibration, ScoreExcess
from calibstat.estimators.scores.standardized import BrierZ, LogLossZ, Spiegelhalter

ANY = (2, 3, 4, 5)

MODULES = {
    "estimators.kernels.skce": ["SKCE"],
    "estimators.kernels.evaluator": ["KernelErrors"],
    "estimators.kernels.root": ["KCE"],
    "estimators.kernels.functions": ["Kernel", "LaplaceKernel", "GaussianKernel"],
    "estimators.kernels.density": ["KDECE", "LpCE"],
    "estimators.cells.standardized": ["StandardizedL2"],
    "estimators.cells.multiscale": ["MultiscaleL2"],
    "estimators.scores.residuals": ["MeanCalibration", "ScoreExcess"],
    "estimators.scores.standardized": ["Spiegelhalter", "BrierZ", "LogLossZ"],
    "estimators.scores.logit": ["LogitScore", "CubicScore", "VectorScalingScore"],
    "estimators.logistic.cox": ["Cox", "CoxFit"],
    "estimators.cells.hosmer_lemeshow": ["HosmerLemeshow", "PigeonHeyse", "GoodnessOfFit"],
    "estimators.cells.pearson": ["PearsonCE"],
    "estimators.logistic.observed_expected": ["ObservedToExpected", "Ratio"],
    "estimators.cells.tce": ["TCE"],
}

ENTRIES = [
    dict(thing=SKCE(), classes=ANY, cells_move_with="repeats", pairs=True),
    dict(thing=SKCE(0.2, kind="biased"), classes=ANY),
    dict(thing=SKCE(0.3, kind="biased", kernel=GaussianKernel()), classes=ANY),
    dict(thing=SKCE(0.5, kind="block", block_size=3), classes=ANY, pairs=True, ordered=True),
    dict(thing=KCE(0.3), classes=ANY),
    dict(thing=SKCE((0.5, 0.1)), classes=ANY, pairs=True, scalar=False),
    dict(thing=cs.Given("sex", ...) | SKCE(0.5), classes=ANY, pairs=True),
    dict(thing=KDECE(0.2), classes=ANY, pairs=True),
    dict(thing=LpCE(cs.SimplexGrid(3), p=3), classes=ANY),
    dict(thing=StandardizedL2(cs.SimplexGrid(3), "counts"), classes=ANY, pairs=True, signed=True),
    dict(thing=MultiscaleL2(), classes=(2,), cells_move_with="weights", pairs=True, signed=True),
    dict(thing=cs.Given("age") | MultiscaleL2(), classes=ANY, cells_move_with="weights", pairs=True, signed=True),
    dict(thing=MeanCalibration(), classes=(2,), signed=True),
    dict(thing=ScoreExcess("brier"), classes=ANY, signed=True),
    dict(thing=Spiegelhalter(), classes=(2,), pairs=True, signed=True),
    dict(thing=BrierZ(), classes=ANY, pairs=True, signed=True),
    dict(thing=LogLossZ(), classes=ANY, pairs=True, signed=True),
    dict(thing=LogitScore(3), classes=(2,), pairs=True),
    dict(thing=VectorScalingScore(), classes=ANY, pairs=True),
    dict(thing=Cox(), classes=(2,), pairs=True, scalar=False),
    dict(thing=HosmerLemeshow(4), classes=(2,), cells_move_with="weights", pairs=True, scalar=False),
    dict(thing=PigeonHeyse(4), classes=(2,), cells_move_with="weights", pairs=True),
    dict(thing=PearsonCE(cs.SimplexGrid(3)), classes=ANY),
    dict(thing=ObservedToExpected(), classes=(2,), scalar=False, neutral=1.0),
    dict(thing=TCE(cs.EqualWidth(4)), classes=(2,), chances=False, weighted=False),
    dict(thing=TCE(n_min=5, n_max=20), classes=(2,), chances=False, weighted=False),
]

# Compared with the naive references only: the laws run over their nearest relatives above.
MORE = [
    dict(thing=KCE(), classes=ANY, cells_move_with="repeats"),
    dict(thing=SKCE(0.2), classes=(2,), pairs=True),
    dict(thing=SKCE(0.001, kind="biased"), classes=(2,)),
    dict(thing=SKCE("median", kernel=GaussianKernel()), classes=ANY, cells_move_with="repeats", pairs=True),
    dict(thing=SKCE(0.5, kind="block", block_size=5), classes=(2,), pairs=True, ordered=True),
    dict(thing=SKCE(0.5, kind="block"), classes=ANY, pairs=True, ordered=True),
    dict(
        thing=SKCE(kind="biased", multiples=(1, 0.25)), classes=ANY, cells_move_with="repeats", pairs=True, scalar=False
    ),
    dict(thing=cs.Given("age") | SKCE(2.0, kind="biased"), classes=ANY),
    dict(thing=cs.TopLabel() | SKCE(0.1), classes=ANY, pairs=True),
    dict(thing=KDECE(0.05, p=2), classes=ANY, pairs=True),
    dict(thing=cs.TopLabel() | KDECE(0.1), classes=ANY, pairs=True),
    dict(thing=StandardizedL2(cs.EqualMass(4)), classes=(2,), cells_move_with="weights", pairs=True, signed=True),
    dict(thing=MultiscaleL2("counts"), classes=(2,), cells_move_with="weights", pairs=True, signed=True),
    dict(thing=ScoreExcess("log"), classes=ANY, signed=True),
    dict(thing=cs.TopLabel() | Spiegelhalter(), classes=ANY, pairs=True, signed=True),
    dict(thing=LogitScore(1), classes=(2,), pairs=True),
    dict(thing=Cox(statistic="likelihood_ratio"), classes=(2,), pairs=True, scalar=False),
]

# Named here so that a look through this file shows every kernel.
KERNELS = [LaplaceKernel(), GaussianKernel()]
