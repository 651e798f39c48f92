"""A study that takes seconds and writes down what it computes; run as a script, it computes into a store.

SWEEP_LOG names the file, one line for each sample; SWEEP_SECONDS is how long each sample takes.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from pathlib import Path

import calibstat as cs
from calibstat.generators import GaussianMixture
from calibstat.sweeps.sweep import Sweep


def slow_mean(y_true, y_prob):
    if seconds := float(os.environ.get("SWEEP_SECONDS", "0")):
        time.sleep(seconds)
    if "SWEEP_LOG" in os.environ:
        with Path(os.environ["SWEEP_LOG"]).open("a") as log:
            log.write(f"{zlib.crc32(y_prob.tobytes())}\n")
    return y_true.mean()


def make(seed=5, **changes):
    arguments = {
        "n": [40, 90],
        "n_bins": [3, 6],
        "estimators": {
            "ECE": lambda n_bins: cs.ECE(cs.EqualMass(n_bins)),
            "mean": lambda n_bins: slow_mean,
        },
        "tests": {"PDE": (cs.PDE(cs.EqualWidth(4)), cs.Consistency(19))},
        "n_repeats": 12,
        "rng": seed,
    }
    return Sweep({"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)}, **(arguments | changes))


if __name__ == "__main__":
    make().run(store=sys.argv[1], progress=False, block=2)
