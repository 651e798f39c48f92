"""What is right of a reader of files: a result, or a refusal by calibstat itself that names the file."""

from __future__ import annotations

import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import calibstat as cs
from calibstat.data.counted import CountedSample
from fuzz.broken_files import Broken, case, lines
from fuzz.limits import HOME, TookTooLong, time_limit


def content_of(folder: Path) -> dict[str, bytes]:
    """Return what is in the files of a folder."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def of_others(caught: list[warnings.WarningMessage]) -> str:
    """Name a warning that a user would see and that calibstat did not write."""
    unseen = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
    seen = [each for each in caught if not issubclass(each.category, unseen)]
    odd = [
        each
        for each in seen
        if each.category is not UserWarning and not each.category.__module__.startswith("calibstat")
    ]
    return (
        f"a warning of others: {odd[0].category.__name__}: {odd[0].message} ({odd[0].filename}:{odd[0].lineno})"
        if odd
        else ""
    )


def fault(seed: int) -> str:
    """Say what is wrong with the case of a seed, with three lines of Python that do it again; "" if nothing is."""
    made = case(seed)
    with tempfile.TemporaryDirectory() as folder:
        place = made.write(folder)
        before = content_of(Path(folder))
        wrong, found = _read(made, place)
        if not wrong and content_of(Path(folder)) != before:
            wrong = "a file was changed, or left"
        if not wrong and seed % 8 == 0 and _told(_read(made, place)[1]) != _told(found):
            wrong = "it is read otherwise the second time"
    return f"{made.kind}: {wrong}\n{lines(seed)}" if wrong else ""


def _read(made: Broken, place: Path) -> tuple[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit():
                found = made.read(place)
        except TookTooLong as error:
            return str(error), None
        except Exception as error:
            return _wrong_refusal(error, place), f"refused: {error}"
    wrong = of_others(caught)
    if not wrong and isinstance(found, cs.Sample):
        wrong = _wrong_sample(found)
    return wrong, found


def _told(found: Any) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(found))


def _wrong_refusal(error: Exception, place: Path) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised_here = last.filename.startswith(HOME) and (last.line or "").startswith("raise ")
    told = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"[-2000:]
    if type(error) not in (ValueError, TypeError) or not raised_here:
        return told
    if place.name not in str(error) and place.suffix != ".json":
        return f"the file is not named: {told}"
    return ""


def _wrong_sample(found: cs.Sample) -> str:
    if isinstance(found, CountedSample):
        return "" if np.isfinite(found.counts).all() and (found.counts >= 0).all() else f"it is read as {found!r}"
    probs, weights = found.predictions.probabilities, found.predictions.weights
    sane = len(probs) == len(found.outcomes) and np.isfinite(probs).all() and (abs(probs.sum(axis=1) - 1) < 1e-3).all()
    return "" if sane and (weights is None or np.isfinite(weights).all()) else f"it is read as {found!r}: {probs[:5]}"


if __name__ == "__main__":
    print(fault(int(sys.argv[1])) or lines(int(sys.argv[1])))
