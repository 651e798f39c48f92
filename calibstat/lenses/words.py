"""What a lens asks about, in words that need no knowledge of the package."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from calibstat._text import shown
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import ClassWise, Partition, TopK, TopLabel
from calibstat.lenses.restrict import Given, Region

_MOST_OF_A_LABEL = 40


def in_words(lens: Lens, classes: Sequence[Hashable], seen: str = "") -> str:
    """Say whose calibration is asked for, of a sample with these classes; `seen` is how it had been looked at before.

    >>> from calibstat import Canonical, Given, TopLabel
    >>> in_words(Canonical(), ["no", "yes"]), in_words(TopLabel() | Given("age"), ["cat", "dog", "car"])
    ('P(yes)', 'P(predicted class) given age')
    """
    what = _everything(classes, seen)
    limits = ""
    for part in lens.parts:
        if isinstance(part, Given):
            limits += f" given {' and '.join('the prediction' if name is ... else name for name in part.names)}"
        elif isinstance(part, Region):
            limits += f" where {part.name or 'its region says'}"
        else:
            what = _of_one(part)
    return what + limits


def _everything(classes: Sequence[Hashable], seen: str) -> str:
    if seen or tuple(classes) == ("other", "top"):
        return _of_one(TopLabel())
    if len(classes) == 2:
        return event_in_words(classes[1])
    return f"all {len(classes)} probabilities together"


def event_in_words(label: Hashable) -> str:
    """Write the probability of a class: "P(yes)"."""
    return f"P({shown(label, _MOST_OF_A_LABEL)})"


def _of_one(lens: Lens) -> str:
    match lens:
        case TopLabel():
            return event_in_words("predicted class")
        case TopK(k):
            return f"the {k} most probable classes"
        case ClassWise(label):
            return event_in_words(label)
        case Partition():
            return "groups of classes"
    return "what " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(lens).__name__).lower() + " shows"
