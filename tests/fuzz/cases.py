"""One seed makes one case of a kind: something public, called on what nobody should have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.verbs import VERBS
from fuzz import dear, inputs, objects
from fuzz.hostile import Case, rows_of
from registry import ESTIMATORS

CHEAP = [name for name in VERBS if name not in dear.CALLS]


def of_estimators(rng: np.random.Generator) -> Case:
    entry = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    n_classes = int(rng.choice(entry.classes if rng.random() < 0.95 else [2, 3]))
    return Case(entry.name, rows_of(rng, n_classes), lambda raw: entry.thing(raw.named()), entry)


def of_functions(rng: np.random.Generator) -> Case:
    name = CHEAP[rng.integers(len(CHEAP))]
    # no other package sees bad rows first
    return Case(name, rows_of(rng, 2 + (rng.random() < 0.1)), lambda raw: (raw.grouped(), VERBS[name].call(raw))[1])


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    "estimators": of_estimators,
    "functions": of_functions,
    "inputs": inputs.make,
    "objects": objects.make,
    "dear": dear.make,
}


def case(seed: int, kinds: str = "estimators") -> Case:
    """Make the case of a seed, of one of the kinds."""
    return KINDS[kinds](np.random.Generator(np.random.PCG64(seed)))


def lines(seed: int, kinds: str = "estimators") -> str:
    """Three lines of Python that do the case again, from the folder tests."""
    return f"from fuzz.cases import case\nfound = case({seed}, {kinds!r})\nprint(found.name, found.call(found.rows))"
