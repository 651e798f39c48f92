"""Isotonic regression: the curve, and the decomposition of scores with it."""

from __future__ import annotations

import calibstat as cs
from registered.entries import ANY, Entry

ENTRIES = [
    Entry(cs.CORP(), scalar=False, record=True),
    Entry(cs.CORP(cs.LogScore()), scalar=False, record=True),
    Entry(cs.TopLabel() | cs.CORP(cs.SphericalScore()), ANY, signed=True, scalar=False, record=True),
    Entry(cs.IsotonicCurve(), scalar=False, record=True, headline=False, neutral=None),
]
