"""Logistic recalibration: Cox's regression, the belt, and observed over expected."""

from __future__ import annotations

import calibstat as cs
from registered.entries import Entry

ENTRIES = [
    Entry(cs.Cox(), pairs=True, signed=True, fitted=True, scalar=False, record=True),
    Entry(cs.Cox(statistic="intercept_in_the_large"), pairs=True, signed=True, fitted=True, scalar=False, record=True),
    Entry(cs.Cox(statistic="slope"), pairs=True, signed=True, fitted=True, scalar=False, record=True, neutral=1.0),
    Entry(cs.Cox(statistic="likelihood_ratio"), pairs=True, signed=True, fitted=True, scalar=False, record=True),
    Entry(cs.CalibrationBelt(), signed=True, fitted=True, scalar=False, record=True, weighted=False),
    Entry(cs.ObservedToExpected(), neutral=1.0),
]
