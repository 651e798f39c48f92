"""Classes read from the names of columns: "prob_cat" is for the label "cat"."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from calibstat.checks.columns import as_text
from calibstat.checks.labels import Labels

Classes: TypeAlias = tuple[Hashable, ...]

# How a boolean may be spelt in the name of a column: every pair is tried.
BOOLEANS = (("False", "True"), ("false", "true"), ("0", "1"))


def _spellings(found: Labels) -> list[dict[str, Hashable]]:
    """How the labels that occur may be written in a column's name."""
    if found.boolean:
        return [{pair[label]: label for label in (False, True)} for pair in BOOLEANS]
    return [{str(label): label for label in found.distinct}]


def labels_by_names(found: Labels, columns: Sequence[str]) -> Classes | None:
    """The labels that the names (without a common beginning, the shortest that will do) spell."""
    names = [as_text(name) for name in columns]
    for length in range(len(common_prefix(names)) + 1):
        parts = [name[length:] for name in names]
        if not all(parts) or len(set(parts)) < len(parts):
            continue
        for spelling in _spellings(found):
            classes = _spelt(found, parts, spelling)
            if classes is not None:
                return classes
    return None


def common_prefix(names: Sequence[str]) -> str:
    """Return the longest beginning that all names share."""
    # The first and the last in order differ wherever any two do.
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _spelt(found: Labels, parts: Sequence[str], spelling: dict[str, Hashable]) -> Classes | None:
    """The label of each part, if every label that must be there is; parts that do not occur get the others' type."""
    if not set(spelling) <= set(parts) or (found.boolean and len(parts) != 2):
        return None
    if found.text or found.boolean:
        return tuple(spelling.get(part, part) for part in parts)
    if not all(re.fullmatch(r"-?\d+", part) for part in parts) or len(set(map(int, parts))) < len(parts):
        return None
    return tuple(map(int, parts))


def event_by_name(found: Labels, name: str) -> Classes | None:
    """The two classes with the one last that the only column's name is or ends in."""
    two = _two_labels(found)
    for spelling in _two_spellings(two):
        matches = [text for text in spelling if ends_in(as_text(name), text)]
        if matches:
            # "not_spam" also ends in "spam": the longer one is meant.
            event = spelling[max(matches, key=len)]
            return (two[0], two[1]) if event == two[1] else (two[1], two[0])
    return None


def _two_labels(found: Labels) -> Classes:
    if found.within(2):
        return (False, True) if found.boolean else (0, 1)
    return found.distinct


def _two_spellings(two: Classes) -> list[dict[str, Hashable]]:
    if len(two) != 2:
        return []
    pairs = BOOLEANS if isinstance(two[0], bool) else ((str(two[0]), str(two[1])),)
    return [dict(zip(pair, two, strict=True)) for pair in pairs]


def ends_in(name: str, text: str) -> bool:
    """Tell whether a name is the text, or ends in it after a character that is neither letter nor digit."""
    before = name[: -len(text)]
    return bool(text) and name.endswith(text) and (not before or not before[-1].isalnum())
