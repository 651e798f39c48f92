"""What a public class needs besides its file and its line in the table of public names: one list of what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

import calibstat as cs
import reference
from estimators_compared import ELSEWHERE
from registry import BINNINGS, ESTIMATORS, LENSES, NULLS, REGIONAL, RESAMPLERS, VARIABLE_BINNINGS, parts

KINDS = {
    cs.Lens: ("lenses", "tests/registry.py"),
    cs.Binning: ("binnings", "tests/registry.py"),
    cs.Estimator: ("estimators", "a file of tests/registered"),
    cs.Null: ("nulls", "tests/registry.py"),
    cs.Resampler: ("draws", "tests/registry.py"),
}
VARIED = [entry for _, entry in VARIABLE_BINNINGS]
HELD = {
    type(part)
    for entry in [*LENSES, *BINNINGS, *VARIED, *ESTIMATORS, *REGIONAL, *NULLS, *RESAMPLERS]
    for part in parts(entry.thing)
}
NAIVE = {*reference.NAIVE, *(entry.core for entry in ESTIMATORS if entry.naive is not None)}


def below(base: type) -> set[type]:
    """Every class below, abstract ones too."""
    return {each for child in base.__subclasses__() for each in {child} | below(child)}


def concrete(kind: type) -> set[type]:
    """The classes of a kind that users make, in the package."""
    home = f"calibstat.{KINDS[kind][0]}"
    for module in walk_packages(import_module(home).__path__, f"{home}."):
        import_module(module.name)
    ours = {each for each in below(kind) if each.__module__.startswith(f"{home}.") and each.__name__[0] != "_"}
    return {each for each in ours if not each.__abstractmethods__}


def missing() -> Iterator[str]:
    """Say of each class what it lacks, and where that goes."""
    for kind, (_, place) in KINDS.items():
        for each in sorted(concrete(kind), key=lambda each: each.__name__):
            if each not in HELD:
                yield f"{each.__name__}: an Entry in {place}, over which the laws run"
            public = getattr(cs, each.__name__, None) is each
            if kind is cs.Estimator and public and each not in NAIVE and each not in ELSEWHERE:
                yield f"{each.__name__}: a naive version, as naive= of its Entry or in tests/reference"


def test_nothing_is_missing():
    found = list(missing())
    assert not found, "missing:\n" + "\n".join(found)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(globals(), "HELD", HELD - {cs.ECE, cs.TopLabel})
    monkeypatch.setitem(globals(), "NAIVE", NAIVE - {cs.Kuiper})
    assert set(missing()) >= {
        "TopLabel: an Entry in tests/registry.py, over which the laws run",
        "ECE: an Entry in a file of tests/registered, over which the laws run",
        "Kuiper: a naive version, as naive= of its Entry or in tests/reference",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_classes_of_each_kind(kind):
    assert concrete(kind)
