"""What is swept, by name, worked out for each number of bins; what does not depend on it is there once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.base import Estimator
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample
from calibstat.sweeps.identity import described

Plain: TypeAlias = Callable[[Ints, Floats], Any]
Swept: TypeAlias = Estimator | Plain
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A test: a statistic and the null that it is judged by."""

    estimator: Estimator
    null: Null

    def __repr__(self) -> str:
        return f"{self.estimator!r} tested by {self.null!r}"


@dataclass(frozen=True)
class Slot:
    """One thing to evaluate on each sample; `n_bins` is 0 if it is the same for all of them."""

    name: str
    n_bins: int
    thing: Any

    def __str__(self) -> str:
        return f"{self.name}, n_bins = {self.n_bins}: {described(self.thing)}"


@dataclass(frozen=True, eq=False)
class Slots:
    """All things to evaluate, and where their values belong.

    Parameters
    ----------
    names : tuple of str
    each : tuple of Slot
    where : (names, bins) ints
        The slot of each name at each number of bins.
    """

    names: tuple[str, ...]
    each: tuple[Slot, ...]
    where: Ints

    def __len__(self) -> int:
        return len(self.each)


def slots_of(argument: str, given: Mapping[str, Any], n_bins: Sequence[int], kind: Callable[[str, Any], Any]) -> Slots:
    """Work out what each name stands for at each number of bins.

    Parameters
    ----------
    argument : str
        Its name, for messages.
    given : mapping
        Of names to things, or to functions of the number of bins that return things.
    n_bins : sequence of int
    kind : callable
        Checks a thing; takes its name and the thing.
    """
    expect_names(argument, given)
    found: list[Slot] = []
    where = np.zeros((len(given), len(n_bins)), dtype=np.intp)
    for row, (name, thing) in enumerate(given.items()):
        for column, count in enumerate(n_bins):
            slot = _slot(argument, name, thing, count, kind)
            if slot not in found:
                found.append(slot)
            where[row, column] = found.index(slot)
    return Slots(tuple(given), tuple(found), where)


def expect_names(argument: str, given: Any) -> None:
    """Refuse anything but a mapping of names."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(
            f"{argument} is {given!r}, but a dict of names is expected: {argument}={{'ECE': lambda n_bins: "
            "ECE(EqualMass(n_bins))}; leave it out if there are none."
        )


def _slot(argument: str, name: str, thing: Any, n_bins: int, kind: Callable[[str, Any], Any]) -> Slot:
    if callable(thing) and not isinstance(thing, Estimator):
        _expect_function_of_bins(argument, name, thing)
        return Slot(name, n_bins, kind(name, thing(n_bins)))
    return Slot(name, 0, kind(name, thing))


def _expect_function_of_bins(argument: str, name: str, thing: Any) -> None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):  # it has none that can be seen
        return
    try:
        signature.bind(1)
    except TypeError:
        raise TypeError(
            f"{argument}[{name!r}] is a function of {signature}, but one of the number of bins is expected, which "
            "returns an estimator or a function of labels and probabilities: put 'lambda n_bins: ' in front of it."
        ) from None


def as_swept(name: str, thing: Any) -> Swept:
    """Check an estimator, or a plain function of labels and probabilities."""
    if isinstance(thing, Estimator) or callable(thing):
        return thing
    raise TypeError(
        f"estimators[{name!r}] is {thing!r}, but an estimator is expected, or a function of n_bins that returns an "
        "estimator or a function of labels and probabilities: lambda n_bins: ECE(EqualMass(n_bins))."
    )


def as_asked(name: str, thing: Any) -> Asked | Plain:
    """Check a test: an estimator, a pair (estimator, null), or a plain function that returns a p-value."""
    if isinstance(thing, Estimator):
        return Asked(thing, Consistency())
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], Estimator) and isinstance(thing[1], Null):
        return Asked(*thing)
    if callable(thing):
        return thing
    raise TypeError(
        f"tests[{name!r}] is {thing!r}, but an estimator is expected, a pair (estimator, null), or a function of "
        "n_bins that returns one of these or a function of labels and probabilities that returns a p-value."
    )


def call_plain(function: Plain, sample: Sample) -> float:
    """Call a function of labels (as column numbers) and probabilities (of the event alone, for two classes)."""
    predictions = sample.predictions
    two = predictions.n_classes == 2
    return float(function(sample.outcomes, predictions.event if two else predictions.probabilities))
