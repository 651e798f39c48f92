"""Interleaved timing: contender and reference take turns in one process, so that a busy machine slows down both.

Processor time is taken, not time on the clock: what other processes use does not count.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from time import process_time


def interleaved(contenders, rounds):
    """Return the least processor seconds of each function over `rounds` turns, after one turn that is not counted."""
    least = [float("inf")] * len(contenders)
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for number, contender in enumerate(contenders):
                start = process_time()
                contender()
                if turn:
                    least[number] = min(least[number], process_time() - start)
    finally:
        gc.enable()
    return least


def fresh_process(code):
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return done.stdout.strip()
