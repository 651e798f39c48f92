"""Scores, their excess over what the predictions expect, and tests made of them."""

from __future__ import annotations

import calibstat as cs
from registered.entries import ANY, TWO, Entry

PERFORMANCE = [
    Entry(cs.BrierScore(), ANY, neutral=None),
    Entry(cs.LogScore(), ANY, neutral=None),
    Entry(cs.SphericalScore(), ANY, signed=True, neutral=None),
    Entry(cs.ZeroOneLoss(), ANY, neutral=None),
    Entry(cs.RMSE(), ANY, neutral=None),
    Entry(cs.AUC(), neutral=None),
    Entry(cs.TopLabel() | cs.AUC(), ANY, neutral=None),
    Entry(cs.KendallTau(), neutral=1.0),
    Entry(cs.KendallTau("tau_a"), signed=True, neutral=None),
    Entry(cs.KendallTau("strict"), neutral=1.0),
    Entry(cs.ProbabilisticCount(), ANY, neutral=None),
    Entry(cs.ProbabilisticCount(cs.EqualMass(4)), TWO, "weights", neutral=None),
]

EXCESS = [
    Entry(cs.MeanCalibration(), signed=True, odd=True),
    Entry(cs.ScoreExcess("brier"), ANY, signed=True, odd=True),
    Entry(cs.ScoreExcess("log"), ANY, signed=True, odd=True),
    Entry(cs.Spiegelhalter(), pairs=True, signed=True, odd=True),
    Entry(cs.TopLabel() | cs.Spiegelhalter(), ANY, pairs=True, signed=True, odd=True),
    Entry(cs.BrierZ(), ANY, pairs=True, signed=True, odd=True),
    Entry(cs.LogLossZ(), ANY, pairs=True, signed=True, odd=True),
    Entry(cs.LogitScore(1), pairs=True),
    Entry(cs.LogitScore(3), pairs=True),
    Entry(cs.VectorScalingScore(), ANY, pairs=True),
]

ENTRIES = PERFORMANCE + EXCESS
