"""Properties of a predictor whose chances are known: calibrated, accurate, equal to the chances, monotone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.data.rounding import ROUNDING
from calibstat.generators.base import SyntheticModel
from calibstat.inference.results import Result, number
from calibstat.interpretability._atoms import Atoms, without_rounding


@final
@dataclass(frozen=True)
class Property:
    """Whether a predictor has a property; true or false, and a witness.

    Parameters
    ----------
    holds : bool
    value : float
        How far the predictor is from having it, in units of probability; 0 if it has it.
    atoms : tuple of int
        The rows of the world that show that it has not: one or two; none if it has the property.
    witness : str
        The same in words.
    """

    holds: bool
    value: float
    atoms: tuple[int, ...]
    witness: str

    def __bool__(self) -> bool:
        return self.holds


@final
@dataclass(frozen=True, eq=False, repr=False)
class Properties(Result):
    """The result of `properties`: what is true of a predictor in a world whose chances are known.

    Parameters
    ----------
    calibrated : Property
        The mean chance of each cell is its prediction.
    bayes_accurate : Property
        Deciding for the event from some threshold on has the smallest zero-one loss that is possible; `value` is the
        loss beyond that, at the best threshold.
    monotone : Property
        A row with a larger or equal chance never has a smaller prediction.
    strictly_monotone : Property
        It is monotone, and rows have equal predictions only if they have equal chances.
    regression : Property
        The prediction is the chance, row by row: the predictor is the regression function.
    n_atoms, n_cells : int
        Number of rows of the world, and of distinct predictions.
    threshold : float
        The best threshold; infinite if never deciding for the event is best.
    method : str
        How the rows of the world were found.
    """

    calibrated: Property
    bayes_accurate: Property
    monotone: Property
    strictly_monotone: Property
    regression: Property
    n_atoms: int
    n_cells: int
    threshold: float
    method: str

    _no_display: ClassVar[str] = "what is true or false is read in its table, with witnesses"
    _row: ClassVar[str] = "property"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 1)

    @property
    def verdict(self) -> str:
        """Which properties the predictor has, and which it has not."""
        has, lacks = ([name for name, each in self._named() if each.holds is wanted] for wanted in (True, False))
        said = [_joined(has, "and") if has else "", f"not {_joined(lacks, 'or')}" if lacks else ""]
        return f"In this world: {'; '.join(filter(None, said))}."

    def _named(self) -> Iterator[tuple[str, Property]]:
        return ((said, getattr(self, name)) for name, said in _NAMES.items())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"property": name, "holds": each.holds, "value": each.value, "atoms": each.atoms, "witness": each.witness}
            for name, each in self._named()
        ]

    def _values(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def _table(self) -> list[list[str]]:
        rows = [[name, "yes" if each else "no", number(each.value)] for name, each in self._named()]
        return [["", "", "off by"], *rows]

    def _notes(self) -> list[str]:
        return [f"{name}: {each.witness}" for name, each in sorted(self._named(), key=lambda pair: pair[1].holds)]

    def _details(self) -> list[tuple[str, str]]:
        rows = f"{counted(self.n_atoms, 'row')} with {counted(self.n_cells, 'distinct prediction')}"
        return [("world", f"{rows}; {self.method}")]


_NAMES = {
    "calibrated": "calibrated",
    "bayes_accurate": "Bayes-accurate",
    "monotone": "monotone",
    "strictly_monotone": "strictly monotone",
    "regression": "the regression function",
}


def properties(world: SyntheticModel) -> Properties:
    """Say which properties a predictor has, with a witness for each that it has not (Torabian & Urner 2024).

    A calibrated and Bayes-accurate predictor need not be the regression function (Theorem 2), and a strictly monotone
    one is accurate (Observation 3); equal to the regression function are those that are calibrated and strictly
    monotone (Theorem 4). Numbers that differ by rounding errors are equal.

    Parameters
    ----------
    world : SyntheticModel
        Two classes, and finitely many predictions.

    Returns
    -------
    properties : Properties

    Raises
    ------
    ValueError
        If the world has more than two classes, or infinitely many predictions.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> found = cs.properties(FinitePredictions([0.5, 0.5], [0, 1]))
    >>> print(found.verdict)
    In this world: calibrated and monotone; not Bayes-accurate, strictly monotone or the regression function.
    >>> found.bayes_accurate.value, found.bayes_accurate.atoms
    (0.5, (0, 1))
    """
    atoms = Atoms.of(world)
    accurate, threshold = _accuracy(atoms)
    monotone = _order(atoms)
    return Properties(
        _calibration(atoms),
        accurate,
        monotone,
        _distinction(atoms) if monotone else monotone,
        _regression(atoms),
        len(atoms.event),
        len(atoms.scores),
        threshold,
        atoms.method,
    )


def _calibration(atoms: Atoms) -> Property:
    """Compare the mean chance of each cell with its prediction."""
    gaps = np.abs(atoms.means - atoms.scores)
    if (gaps <= ROUNDING * np.maximum(atoms.means, atoms.scores)).all():
        return Property(True, 0.0, (), "the mean chance of every cell is its prediction")
    cell = int(gaps.argmax())
    row = int(np.flatnonzero(atoms.index == cell)[0])
    said = f"{number(atoms.scores[cell])} is predicted, and the mean chance is {number(atoms.means[cell])}"
    return Property(False, float(gaps[cell]), (row,), f"row {row}: {said}, in {_share(atoms.masses[cell])}")


def _regression(atoms: Atoms) -> Property:
    """Compare the chance of each row with its prediction."""
    gaps = np.abs(atoms.chance - atoms.event)
    if (gaps <= ROUNDING * np.maximum(atoms.chance, atoms.event)).all():
        return Property(True, 0.0, (), "the chance of every row is its prediction")
    row = int(gaps.argmax())
    said = f"{number(atoms.event[row])} is predicted, and the chance is {number(atoms.chance[row])}"
    return Property(False, float(gaps[row]), (row,), f"row {row}: {said}, in {_share(atoms.mass[row])}")


def _accuracy(atoms: Atoms) -> tuple[Property, float]:
    """Look for a threshold that parts the rows whose chance is below 1/2 from those above; return the best one too."""
    event, side = without_rounding(atoms.event), np.where(np.abs(atoms.chance - 0.5) > ROUNDING, atoms.chance - 0.5, 0)
    unlikely, likely = np.where(side < 0, event, -np.inf), np.where(side > 0, event, np.inf)
    low, high = int(unlikely.argmax()), int(likely.argmin())
    if unlikely[low] < likely[high]:
        threshold = 0.5 if unlikely[low] < 0.5 <= likely[high] else float(likely[high])
        return Property(True, 0.0, (), f"{_deciding(threshold)} has the smallest loss"), threshold
    decided = np.cumsum(np.append(0.0, atoms.masses * (2 * atoms.means - 1)))  # against the event, below a threshold
    best = int(decided.argmin())
    loss = float(np.sum(atoms.mass * (1 - atoms.chance)) + decided[best])
    excess = loss - float(np.sum(atoms.mass * np.minimum(atoms.chance, 1 - atoms.chance)))
    threshold = float(np.append(atoms.scores, np.inf)[best])
    return Property(False, excess, (low, high), f"{_two(atoms, low, high)}; {_deciding(threshold)} is best"), threshold


def _order(atoms: Atoms) -> Property:
    """Look for the largest fall of the prediction while the chance grows or stays."""
    event, chance = without_rounding(atoms.event), without_rounding(atoms.chance)
    order = np.lexsort((event, chance))
    tops = np.maximum.accumulate(event[order])[np.searchsorted(chance[order], chance, side="right") - 1]
    high = int((tops - event).argmax())
    if tops[high] <= event[high]:
        return Property(True, 0.0, (), "no row with a larger or equal chance has a smaller prediction")
    low = int(np.flatnonzero((event == tops[high]) & (chance <= chance[high]))[0])
    return Property(False, float(tops[high] - event[high]), (low, high), _two(atoms, low, high))


def _distinction(atoms: Atoms) -> Property:
    """Look for the largest difference of chances among rows with equal predictions."""
    event, chance = without_rounding(atoms.event), without_rounding(atoms.chance)
    order = np.lexsort((chance, event))
    first = np.searchsorted(event[order], event, side="left")
    spread = chance - chance[order][first]
    high = int(spread.argmax())
    if spread[high] <= 0:
        return Property(True, 0.0, (), "it is monotone, and equal predictions have equal chances")
    low = int(order[first[high]])
    return Property(False, float(spread[high]), (low, high), _two(atoms, low, high))


def _two(atoms: Atoms, low: int, high: int) -> str:
    """Say what two rows have."""
    chances, events = ([number(each[row]) for row in (low, high)] for each in (atoms.chance, atoms.event))
    return f"rows {low} and {high}: chances {' and '.join(chances)}, predictions {' and '.join(events)}"


def _deciding(threshold: float) -> str:
    always = f"deciding for the event from a prediction of {number(threshold)} on"
    return "never deciding for the event" if np.isinf(threshold) else always


def _joined(names: list[str], word: str) -> str:
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _share(mass: float) -> str:
    return f"{percent(float(f'{100 * mass:.3g}') / 100)} of the mass"
