"""The same work with compiled loops and in numpy."""

from __future__ import annotations

import calibstat as cs


def compiled(work):
    """Do it with compiled loops; a first time, not measured, compiles them."""

    def run():
        cs.accelerate()
        return work()

    run()
    return run


def in_numpy(work):
    def run():
        cs.accelerate(False)
        return work()

    return run
