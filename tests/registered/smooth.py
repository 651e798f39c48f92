"""Smooth calibration errors."""

from __future__ import annotations

import calibstat as cs
from registered.entries import Entry

ENTRIES = [
    Entry(cs.SmoothCE()),
    Entry(cs.Given("age") | cs.SmoothCE()),
    Entry(cs.SmoothECE()),
    Entry(cs.SmoothECE(bandwidth=0.1)),
    Entry(cs.Given("age") | cs.SmoothECE()),
]
