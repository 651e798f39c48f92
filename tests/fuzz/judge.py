"""What is right: a result, the same again and with its inputs as they were, or a refusal by calibstat itself."""

from __future__ import annotations

import re
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import calibstat
from fuzz.cases import case, lines

SECONDS = 10
HOME = str(Path(calibstat.__file__).parent)


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise RuntimeError(f"it takes more than {SECONDS} seconds of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def refused(error: Exception) -> bool:
    """Whether calibstat itself raised it, as bad values or types."""
    documented = type(error) in (ValueError, TypeError) or isinstance(error, calibstat.NotExact)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return documented and last.filename.startswith(HOME) and (last.line or "").startswith("raise ")


def outcome(seed: int, kinds: str) -> tuple[str, Any]:
    """Call a case: its result as text or its refusal, with the rows that it was called on."""
    made = case(seed, kinds)
    labels, probs = (np.array(each, copy=True) for each in made.rows.arrays)
    weights = made.rows.weights
    kept = None if weights is None else weights.copy()
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("ignore")
        try:
            found = made.call(made.rows)
        except Exception as error:
            if not refused(error):
                place = traceback.extract_tb(error.__traceback__)[-1]
                return f"{made.name}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})", None
            found = f"refused: {error}"
    np.testing.assert_array_equal(made.rows.arrays[0], labels)
    np.testing.assert_array_equal(made.rows.arrays[1], probs)
    np.testing.assert_array_equal(weights, kept)
    return "", found


def fault(seed: int, kinds: str = "estimators") -> str:
    """Say what is wrong with the case of a seed, with three lines of Python that do it again; "" if nothing is."""
    try:
        wrong, first = outcome(seed, kinds)
        if not wrong:
            one, other = (re.sub(" at 0x[0-9a-f]+", "", repr(each)) for each in (first, outcome(seed, kinds)[1]))
            wrong = "" if one == other else f"{one} and then {other}"
    except AssertionError as error:
        wrong = f"an input was changed: {error}"
    return f"{wrong}\n{lines(seed, kinds)}" if wrong else ""
