"""A file with the predictions of a model, as a study names it on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from calibstat import Sample


@dataclass(frozen=True)
class PredictionsFile:
    """Where predictions are: a file, its column of what happened, and its columns of probabilities.

    Parameters
    ----------
    path, label : str
    probs : tuple of str
    """

    path: str
    label: str
    probs: tuple[str, ...]

    @classmethod
    def named(cls, path: str | None, label: str | None, probs: Sequence[str] | None) -> Self | None:
        """Return what the options ``--predictions``, ``--label`` and ``--probs`` name, or None without the first."""
        if path is None:
            return None
        if label is None or not probs:
            raise ValueError("--predictions needs --label and --probs")
        found = cls(path, label, tuple(probs))
        found.sample()  # what is wrong there is said before the work
        return found

    def sample(self) -> Sample:
        """Read it; the rows are kept for the next time."""
        return _read(self)


@cache
def _read(file: PredictionsFile) -> Sample:
    probs = file.probs[0] if len(file.probs) == 1 else list(file.probs)
    return Sample.read(file.path, y_true=file.label, y_prob=probs)
