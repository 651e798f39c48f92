"""Kernel estimators, and the kernel density of the chances."""

from __future__ import annotations

import calibstat as cs
from registered.entries import ANY, Entry

GAUSSIAN = cs.GaussianKernel()

ENTRIES = [
    Entry(cs.SKCE(), ANY, "repeats", pairs=True, signed=True),
    Entry(cs.SKCE(0.2), ANY, pairs=True, signed=True),
    Entry(cs.SKCE("median", kernel=GAUSSIAN), ANY, "repeats", pairs=True, signed=True),
    Entry(cs.SKCE(0.2, kind="biased"), ANY),
    Entry(cs.SKCE(0.001, kind="biased"), ANY),
    Entry(cs.SKCE(0.3, kind="biased", kernel=GAUSSIAN), ANY),
    Entry(cs.SKCE(0.5, kind="block", block_size=3), ANY, pairs=True, signed=True, ordered=True),
    Entry(cs.SKCE(0.5, kind="block", block_size=5), ANY, pairs=True, signed=True, ordered=True),
    Entry(cs.SKCE(0.5, kind="block"), ANY, pairs=True, signed=True, ordered=True),
    Entry(cs.SKCE((0.5, 0.1)), ANY, pairs=True, signed=True, scalar=False, record=True),
    Entry(
        cs.SKCE(kind="biased", multiples=(1, 0.25)), ANY, "repeats", pairs=True, signed=True, scalar=False, record=True
    ),
    Entry(cs.Given("sex", ...) | cs.SKCE(0.5), ANY, pairs=True, signed=True),
    Entry(cs.Given("age") | cs.SKCE(2.0, kind="biased"), ANY),
    Entry(cs.TopLabel() | cs.SKCE(0.1), ANY, pairs=True, signed=True),
    Entry(cs.KCE(), ANY, "repeats"),
    Entry(cs.KCE(0.3), ANY),
    Entry(cs.KDECE(0.2), ANY, pairs=True),
    Entry(cs.KDECE(0.05, p=2), ANY, pairs=True),
    Entry(cs.TopLabel() | cs.KDECE(0.1), ANY, pairs=True),
]
