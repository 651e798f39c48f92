"""Random numbers of one question, whatever else is asked."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """Return a stream of its own for each name, so that asking more does not change an answer."""
    entropy = np.random.SeedSequence([seed, zlib.crc32(name.encode())])
    return np.random.Generator(np.random.PCG64(entropy))
