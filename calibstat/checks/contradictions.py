"""Names of columns that say another order than the sorted labels do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from calibstat.checks.class_names import Classes, common_prefix, ends_in
from calibstat.checks.columns import shortened


def refuse_contradiction(classes: Classes, columns: Sequence[str]) -> None:
    """Raise if a name, whatever its case, is that of a label which belongs to another column.

    Parameters
    ----------
    classes : tuple
        The sorted labels, one for each column (for a single column: two, of which it is the last).
    columns : sequence of str
        The names of the columns.

    Raises
    ------
    ValueError
        The message proposes `labels`.
    """
    spelt = {str(label).lower(): label for label in classes}
    if len(spelt) < len(classes):
        return
    names = [name.lower() for name in columns]
    meant = _meant_by_one(names[0], spelt) if len(names) == 1 else _meant(names, spelt)
    places = classes[-1:] if len(names) == 1 else classes
    if all(label is None or label == place for label, place in zip(meant, places, strict=True)):
        return
    raise ValueError(
        f"the columns of y_prob ({shortened(columns)}) and the sorted labels ({shortened(classes)}) are not in the "
        f"same order, and the names differ too much to decide: pass the class of each column in order, for example "
        f"labels={_proposed_labels(meant, classes)}"
    )


def _meant(names: Sequence[str], spelt: dict[str, Hashable]) -> list[Hashable]:
    """The label that each name spells after a common beginning, None where it spells none."""
    tried = [[spelt.get(name[length:]) for name in names] for length in range(len(common_prefix(names)) + 1)]
    return max(tried, key=lambda labels: sum(label is not None for label in labels))


def _meant_by_one(name: str, spelt: dict[str, Hashable]) -> list[Hashable]:
    matches = [text for text in spelt if ends_in(name, text)]
    return [spelt[max(matches, key=len)] if matches else None]


def _proposed_labels(meant: Sequence[Hashable], classes: Classes) -> str:
    """What the names say, filled up with the other labels."""
    left = iter([label for label in classes if label not in meant])
    if len(meant) == 1:
        return repr([*left, *meant])
    proposed: list[Hashable] = []
    for label in meant:
        # A label that two names spell goes to the first.
        proposed.append(next(left, None) if label is None or label in proposed else label)
    return repr(proposed)
