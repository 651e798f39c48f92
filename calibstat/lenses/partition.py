"""Partitions of the classes: is the model calibrated about groups of labels?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array
from calibstat.lenses.base import Relabelling
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Partition(Relabelling):
    """Which group of classes does the outcome belong to? (Vaicenavicius et al. 2019, Section 3, partition lens).

    Parameters
    ----------
    groups : sequence of sequences of labels
        Disjoint groups of *labels* (never positions) that together hold every class; code i is the i-th group.
        A label that stands alone may be given without a sequence around it.

    Raises
    ------
    ValueError
        On looking, if the groups overlap, miss a class, or name a label that is not a class.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample(["cat"], [[0.5, 0.3, 0.2]], labels=["cat", "dog", "car"])
    >>> cs.Partition([["cat", "dog"], "car"])(sample).y_prob
    array([[0.8, 0.2]])
    """

    groups: tuple[tuple[Hashable, ...], ...]

    def __init__(self, groups: Iterable[Iterable[Hashable] | Hashable]) -> None:
        given = tuple(_group(group) for group in groups)
        if len(given) < 2 or not all(given):
            raise ValueError(
                f"groups are {given!r}, but at least two groups of labels, none of them empty, are expected."
            )
        object.__setattr__(self, "groups", given)

    def table(self, predictions: Predictions) -> tuple[Array, tuple[Hashable, ...]]:
        """Code each class by its group; all rows share the codes."""
        code = {label: i for i, group in enumerate(self.groups) for label in group}
        named = [label for group in self.groups for label in group]
        missing = [label for label in predictions.classes if label not in code]
        unknown = [label for label in named if label not in predictions.classes]
        if missing or unknown or len(code) < len(named):
            raise ValueError(
                f"{self!r} does not split the classes {predictions.classes!r}: "
                + "; ".join(_complaints(missing, unknown, named))
                + ". Give at least two disjoint groups of labels that together hold every class."
            )
        names = tuple(group[0] if len(group) == 1 else group for group in self.groups)
        return np.array([[code[label] for label in predictions.classes]], dtype=np.intp), names


def _group(group: Iterable[Hashable] | Hashable) -> tuple[Hashable, ...]:
    return tuple(group) if isinstance(group, Iterable) and not isinstance(group, str) else (group,)


def _complaints(missing: list[Hashable], unknown: list[Hashable], named: list[Hashable]) -> Iterable[str]:
    if missing:
        yield f"in no group: {missing!r}"
    if unknown:
        yield f"not a class: {unknown!r}"
    if len(set(named)) < len(named):
        yield f"in two groups: {sorted({str(label) for label in named if named.count(label) > 1})}"
