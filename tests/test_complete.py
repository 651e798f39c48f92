"""What a public class needs besides its file: one list of what is missing, and where each thing goes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import pytest

import calibstat as cs
import reference
from calibstat import generators
from estimators_compared import ELSEWHERE
from registered.entries import FLAGS, Entry, way_out
from registered.worlds import WORLDS
from registry import BINNINGS, ESTIMATORS, LENSES, NULLS, REGIONAL, RESAMPLERS, VARIABLE_BINNINGS, parts


@dataclass(frozen=True)
class Kind:
    """Classes that users make: what they derive from, the folder of their files, and where the laws find them."""

    base: type
    folder: str
    place: str
    public: ModuleType = cs


KINDS = [
    Kind(cs.Lens, "lenses", "an Entry in LENSES of tests/registry.py, over which the laws run"),
    Kind(cs.Binning, "binnings", "an Entry in BINNINGS of tests/registry.py, over which the laws run"),
    Kind(cs.Estimator, "estimators", "an Entry in a file of tests/registered, over which the laws run"),
    Kind(cs.Null, "nulls", "an Entry in NULLS of tests/registry.py, over which the laws run"),
    Kind(cs.Resampler, "draws", "an Entry in RESAMPLERS of tests/registry.py, over which the laws run"),
    Kind(
        generators.SyntheticModel,
        "generators",
        "a line in WORLDS of tests/registered/worlds.py, which `check_generator` goes through",
        generators,
    ),
]
# Made by `|`, by `*`, by panels and by pairs of models, never by name.
UNNAMED = {"Chain", "Headline", "MemberOfPair", "Product", "Through"}
ENTRIES = [
    *LENSES,
    *BINNINGS,
    *(entry for _, entry in VARIABLE_BINNINGS),
    *ESTIMATORS,
    *REGIONAL,
    *NULLS,
    *RESAMPLERS,
]
HELD = {type(part) for entry in ENTRIES for part in parts(entry.thing)} | {type(model) for model, _, _ in WORLDS}
NAIVE = {
    *(reference.LENSES | reference.BINNINGS | reference.NAIVE),
    *ELSEWHERE,
    *(type(getattr(entry.thing, "core", entry.thing)) for entry in ENTRIES if entry.naive is not None),
}
WITH_NAIVE = (cs.Lens, cs.Binning, cs.Estimator)


def below(base: type) -> set[type]:
    """Every class below, abstract ones too."""
    return {each for child in base.__subclasses__() for each in {child} | below(child)}


def concrete(kind: Kind) -> set[type]:
    """The classes of a kind that users make, in the package."""
    home = f"calibstat.{kind.folder}"
    for module in walk_packages(import_module(home).__path__, f"{home}."):
        import_module(module.name)
    ours = {each for each in below(kind.base) if each.__module__.startswith(f"{home}.") and each.__name__[0] != "_"}
    return {each for each in ours if not each.__abstractmethods__}


def missing() -> Iterator[str]:
    """Say of each class what it lacks, and where that goes."""
    for kind in KINDS:
        for each in sorted(concrete(kind), key=lambda each: each.__name__):
            for what in lacking(each, kind):
                yield f"{each.__name__}: {what}"


def lacking(each: type, kind: Kind) -> Iterator[str]:
    """Say what one class lacks."""
    named = each.__name__ not in UNNAMED
    if named and getattr(kind.public, each.__name__, None) is not each:
        table = "GROUPS of calibstat/_names.py" if kind.public is cs else "_MODULES of calibstat/generators/__init__.py"
        yield f"a line in {table}, the table of public names"
    if each not in HELD:
        yield kind.place
    if named and kind.base in WITH_NAIVE and each not in NAIVE:
        yield "a naive version, as naive= of its Entry or in tests/reference"
    if named and kind.base is cs.Estimator:
        yield from unsaid(each)


# What the docstring of an estimator says.

# A function of the user's own has no formula and no paper; a family and a table have no formula of their own.
NO_FORMULA = (cs.Generic, cs.Family, cs.HistogramRegression)
YEAR = re.compile(r"\b(18|19|20)\d\d[a-z]?\b")
# Words that say what is wrong with a number, or when it must not be trusted.
WEAKNESS = re.compile(
    r"bias|weak|blind|los(es|t)\b|nois|dominate|sensitive|not zero|does not|not (a size|strictly)|cannot|depends on|"
    r"rejects too|(no|little) power|small levels|too (small|large)|separated|cancel|nothing about|says little|"
    r"smooths away|mixes|rough",
    re.IGNORECASE,
)


def unsaid(estimator: type) -> Iterator[str]:
    """Say what is not in the docstring of an estimator."""
    text = inspect.getdoc(estimator) or ""
    if "O(" not in text:
        yield "its cost in its docstring, as O(n)"
    if not YEAR.search(text.split("Examples\n---")[0]) and estimator is not cs.Generic:
        yield "its source in its docstring, with the year"
    if not WEAKNESS.search(text):
        yield "what it is weak at in its docstring, in a word of WEAKNESS: biased, blind to, dominate, noisy, weak"
    if ".. math::" not in text and estimator not in NO_FORMULA:
        yield "its formula in its docstring, after .. math::"
    if ">>>" not in text:
        yield "an example in its docstring"
    for name in inspect.signature(estimator).parameters:
        if name != "quantity" and not re.search(rf"^(\w+, )*{name}\b.* : ", text, re.MULTILINE):
            yield f"its parameter {name} in the Parameters of its docstring, as '{name} : type'"
    for name in ("estimand", "quantity"):
        found = inspect.getattr_static(estimator, name, None)
        if isinstance(found, property) and not inspect.getdoc(found.fget):
            yield f"a docstring of {name}"
        elif not found:
            yield f"its {name}, in words" if name == "quantity" else "its estimand"


def test_nothing_is_missing():
    found = list(missing())
    assert not found, "missing (and, for users, a sentence in CHANGELOG.md):\n" + "\n".join(found)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(globals(), "HELD", HELD - {cs.ECE, cs.TopLabel, generators.GaussianMixture})
    monkeypatch.setitem(globals(), "NAIVE", NAIVE - {cs.Kuiper, cs.TopK, cs.VarianceTree})
    monkeypatch.setattr(cs, "Exact", None)
    monkeypatch.setattr(generators, "Empirical", None)
    monkeypatch.setattr(cs.PDE, "__doc__", "A number.")
    naive = "a naive version, as naive= of its Entry or in tests/reference"
    found = list(missing())
    assert set(found) >= {
        "TopLabel: an Entry in LENSES of tests/registry.py, over which the laws run",
        "ECE: an Entry in a file of tests/registered, over which the laws run",
        f"Kuiper: {naive}",
        f"TopK: {naive}",
        f"VarianceTree: {naive}",
        "GaussianMixture: a line in WORLDS of tests/registered/worlds.py, which `check_generator` goes through",
        "Exact: a line in GROUPS of calibstat/_names.py, the table of public names",
        "Empirical: a line in _MODULES of calibstat/generators/__init__.py, the table of public names",
        "PDE: its cost in its docstring, as O(n)",
        "PDE: its source in its docstring, with the year",
        "PDE: its formula in its docstring, after .. math::",
        "PDE: an example in its docstring",
        "PDE: its parameter binning in the Parameters of its docstring, as 'binning : type'",
    }
    assert any(line.startswith("PDE: what it is weak at in its docstring") for line in found)


def test_a_docstring_without_a_source_is_found():
    assert not YEAR.search("Mean of 1024 numbers. O(n).")
    assert not WEAKNESS.search("A mean of numbers.")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.folder)
def test_there_are_classes_of_each_kind(kind):
    assert concrete(kind)


def test_a_law_that_fails_says_which_flags_speak_of_it():
    names = {field.name for field in fields(Entry)}
    laws = "".join(path.read_text() for path in (Path(__file__).parent / "laws").glob("test_*.py"))
    for law, flags in FLAGS.items():
        assert f"def {law}(" in laws
        assert {*flags} <= names
        assert all(flag in way_out(law) for flag in flags)
    assert "pairs : bool" in way_out("test_whole_weights_are_repeated_rows")
    assert "ordered" not in way_out("test_whole_weights_are_repeated_rows")


def test_an_entry_prints_what_is_said_of_its_thing_and_no_defaults():
    assert repr(Entry(cs.ECE(cs.EqualMass(4)))) == "Entry(ECE(binning=EqualMass(n_bins=4)))"
    assert repr(Entry(cs.Kuiper(), (3, 4), pairs=True)) == "Entry(Kuiper(), classes=(3, 4), pairs=True)"
