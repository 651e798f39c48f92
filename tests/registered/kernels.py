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
    Entry(cs.UCME(4), ANY, "repeats"),
    Entry(cs.UCME([0.2, 0.5, 0.9], bandwidth=0.3)),
    Entry(cs.UCME([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], ["a", "d"], 0.5, GAUSSIAN), (3,)),
    Entry(cs.TopLabel() | cs.UCME([0.5, 0.7], bandwidth=0.1), ANY),
    Entry(cs.Given("age") | cs.UCME([1.0, 4.0, 6.0], bandwidth=2.0), ANY),
    Entry(cs.Given("sex", ...) | cs.UCME(5, bandwidth=2.0), ANY, "repeats"),
    Entry(cs.CME([0.2, 0.6], bandwidth=0.3), pairs=True),
    Entry(cs.CME(3), ANY, "repeats", pairs=True),
    Entry(cs.CME(2, covariance="sample"), ANY, "repeats", pairs=True, weighted=False),
    Entry(cs.KDECE(0.2), ANY, pairs=True),
    Entry(cs.KDECE(0.05, p=2), ANY, pairs=True),
    Entry(cs.TopLabel() | cs.KDECE(0.1), ANY, pairs=True),
]
