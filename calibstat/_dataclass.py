"""Dataclasses of which the frozen ones are made in a quarter of the time.

The standard library compiles six functions for each frozen dataclass, which were half of what `import` costs before a
first p-value. Here each has an ``__init__`` of its own, and all share the rest. Fields, `replace`, equality and order
of arguments are those of `dataclasses`, which makes all that inherit from another dataclass; there is no ``InitVar``,
and a field that is no argument is set in ``__post_init__``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, **options):
        """Make a dataclass, as `dataclasses.dataclass` does."""
        if cls is None:
            return lambda each: dataclass(each, frozen=frozen, **options)
        if not frozen or any("__dataclass_fields__" in vars(each) for each in cls.__mro__[1:]):
            return dataclasses.dataclass(cls, frozen=frozen, **options)
        return _frozen(cls, options)


def _frozen(cls: type, wanted: dict[str, bool]) -> type:
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False)
    made.__dataclass_params__.frozen = True
    found = dataclasses.fields(made)
    methods: dict[str, Any] = {"__setattr__": _no_change, "__delattr__": _no_change}
    if wanted.get("init", True):
        methods["__init__"] = _Initializer(made, found)
    if wanted.get("repr", True):
        methods["__repr__"] = _written
    if wanted.get("eq", True):
        made._compared = attrgetter("__class__", *(each.name for each in found if each.compare))
        methods |= {"__eq__": _equal, "__hash__": _hashed}
    for name, method in methods.items():
        if vars(cls).get(name) is None:  # a class with an ``__eq__`` of its own has None for a hash
            setattr(made, name, method)
    return cls


class _Initializer:
    """Stands for ``__init__`` until that is first used, as most classes that are imported make no object."""

    def __init__(self, cls: type, found: tuple[Field[Any], ...]) -> None:
        self._cls, self._found = cls, [each for each in found if each.init]

    def __get__(self, instance: object, owner: type) -> Any:
        if vars(self._cls)["__init__"] is self:
            self._cls.__init__ = self._compiled()
        return vars(self._cls)["__init__"].__get__(instance, owner)

    def _compiled(self) -> Any:
        known: dict[str, Any] = {"__name__": self._cls.__module__, "_set": object.__setattr__, "_MADE": _MADE}
        arguments: dict[bool, list[str]] = {False: ["self"], True: []}
        lines = []
        for each in self._found:
            name, default, value = each.name, "", each.name
            if each.default is not MISSING:
                known[f"_{name}"], default = each.default, f"=_{name}"
            elif each.default_factory is not MISSING:
                known[f"_{name}"], default = each.default_factory, "=_MADE"
                value = f"_{name}() if {name} is _MADE else {name}"
            arguments[each.kw_only is True].append(name + default)
            lines.append(f"_set(self, {name!r}, {value})")
        lines.append("self.__post_init__()" if hasattr(self._cls, "__post_init__") else "pass")
        listed = ", ".join([*arguments[False], *["*"][: len(arguments[True])], *arguments[True]])
        exec(f"def __init__({listed}):\n " + "\n ".join(lines), known)
        made = known["__init__"]
        made.__qualname__ = f"{self._cls.__qualname__}.__init__"
        made.__annotations__ = {each.name: each.type for each in self._found} | {"return": None}
        return made


class _Factory:
    """What a signature shows for a default that is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Factory()


def _no_change(_: object, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


@recursive_repr()
def _written(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> Any:
    return self._compared(self) == other._compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hashed(self: Any) -> int:
    return hash(self._compared(self))
