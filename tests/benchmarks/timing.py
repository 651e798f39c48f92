"""Interleaved timing: contender and reference take turns in one process, so that a busy machine slows down both.

Processor time is taken, not time on the clock: what other processes use does not count. The middle of several turns is
kept, which a single disturbed turn does not move.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from statistics import median
from time import process_time


def interleaved(contenders, rounds):
    """Return the median processor seconds of each function over `rounds` turns, after one turn that is not counted."""
    times = [[] for _ in contenders]
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for kept, contender in zip(times, contenders, strict=True):
                start = process_time()
                contender()
                if turn:
                    kept.append(process_time() - start)
    finally:
        gc.enable()
    return [median(kept) for kept in times]


def fresh_process(code):
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return done.stdout.strip()
