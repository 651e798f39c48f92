"""Frozen dataclasses are as those of the standard library, whichever compiles their methods."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, replace

import pytest

from calibstat._dataclass import dataclass


def made_by(decorator):
    @decorator(frozen=True)
    class Point:
        """A point."""

        x: int
        y: float = 0.5
        path: list[int] = field(default_factory=list, compare=False, repr=False)
        name: str = field(default="p", kw_only=True)

        def __post_init__(self):
            object.__setattr__(self, "x", self.x + 1)

    return Point


OURS, STANDARD = made_by(dataclass), made_by(dataclasses.dataclass)


@dataclass(frozen=True)
class Kept:
    """An object that a pickle can name."""

    x: int


@dataclass(frozen=True)
class NotComparedByFields:
    """A class with methods of its own."""

    x: int

    def __eq__(self, other):
        return isinstance(other, NotComparedByFields)

    def __repr__(self):
        return "its own"


@pytest.mark.parametrize("cls", [OURS, STANDARD])
def test_objects_are_those_of_the_standard_library(cls):
    point = cls(1, name="q")
    assert (point.x, point.y, point.path, point.name) == (2, 0.5, [], "q")
    assert point.path is not cls(1).path
    assert repr(point).endswith("Point(x=2, y=0.5, name='q')")
    assert point == cls(1, name="q", path=[3])
    assert point != cls(1)
    assert point != STANDARD(1, name="q") or cls is STANDARD
    assert len({point, cls(1, name="q")}) == 1
    assert replace(point, y=2.0).y == 2.0
    assert copy.deepcopy(point) == point
    assert str(inspect.signature(cls)) == str(inspect.signature(STANDARD))
    assert cls.__match_args__ == ("x", "y", "path")
    for change in (lambda: setattr(point, "x", 3), lambda: setattr(point, "other", 3), lambda: delattr(point, "x")):
        with pytest.raises(FrozenInstanceError, match="field"):
            change()
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        cls()
    with pytest.raises(TypeError, match="positional"):
        cls(1, 2, [], "p")


def test_they_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


@pytest.mark.parametrize("cls", [OURS, STANDARD])
def test_what_inherits_without_a_decorator_may_keep_attributes_of_its_own(cls):
    class Marked(cls):
        def __init__(self, x):
            super().__init__(x)
            self.mark = "own"

    point = Marked(1)
    assert point.mark == "own"
    del point.mark
    with pytest.raises(AttributeError, match="mark"):
        del point.mark
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x


def test_own_methods_stay():
    assert NotComparedByFields(1) == NotComparedByFields(2)
    assert hash(NotComparedByFields(1)) == hash(NotComparedByFields(1))
    assert repr(NotComparedByFields(1)) == "its own"


def test_the_standard_library_inherits_from_ours_and_we_from_it():
    @dataclasses.dataclass(frozen=True)
    class Theirs(Kept):
        y: int

    @dataclass(frozen=True)
    class Again(Theirs):
        z: int

    assert Again(1, 2, 3) == Again(1, 2, 3)
    with pytest.raises(FrozenInstanceError):
        Again(1, 2, 3).z = 4
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Loose", (Kept,), {}))


def test_an_object_that_holds_itself_is_written():
    holder = []
    holder.append(Kept(holder))
    assert repr(holder[0]) == "Kept(x=[...])"
