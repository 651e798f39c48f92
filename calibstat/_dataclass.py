"""Dataclasses of which the frozen ones are made in a quarter of the time.

The standard library compiles six functions for each frozen dataclass, which were half of what `import` costs before a
first p-value. Here two are shared, and the others are compiled when they are first used. Fields, `replace`, equality
and order of arguments are those of `dataclasses`, which makes all that inherit from another dataclass; there is no
``InitVar``, and a field that is no argument is set in ``__post_init__``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

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
    methods: dict[str, Any] = _unchanging(cls)
    if wanted.get("init", True):
        methods["__init__"] = _Later("__init__", cls, _init)
    if wanted.get("repr", True):
        methods["__repr__"] = _Later("__repr__", cls, _repr)
    if wanted.get("eq", True):
        methods |= {"__eq__": _Later("__eq__", cls, _eq), "__hash__": _Later("__hash__", cls, _hash)}
    for name, method in methods.items():
        if vars(cls).get(name) is None:  # a class with an ``__eq__`` of its own has None for a hash
            setattr(made, name, method)
    return cls


class _Later:
    """Stands for a method until that is first used and compiled, as most classes that are imported make no object."""

    def __init__(self, name: str, cls: type, write: Callable[[type, dict[str, Any]], str]) -> None:
        self._name, self._cls, self._write = name, cls, write

    def __get__(self, instance: object, owner: type) -> Any:
        if vars(self._cls)[self._name] is self:
            known: dict[str, Any] = {"__name__": self._cls.__module__}
            exec(self._write(self._cls, known), known)
            known[self._name].__qualname__ = f"{self._cls.__qualname__}.{self._name}"
            setattr(self._cls, self._name, known[self._name])
        return vars(self._cls)[self._name].__get__(instance, owner)


def _init(cls: Any, known: dict[str, Any]) -> str:
    """Write ``__init__``, which sets the fields in spite of `_unchanging`, and note the names that it knows."""
    known["_MADE"] = _MADE
    arguments: dict[bool, list[str]] = {False: ["self"], True: []}
    kept = []
    found = [each for each in dataclasses.fields(cls) if each.init]
    for each in found:
        name, default, value = each.name, "", each.name
        if each.default is not MISSING:
            known[f"_{name}"], default = each.default, f"=_{name}"
        elif each.default_factory is not MISSING:
            known[f"_{name}"], default = each.default_factory, "=_MADE"
            value = f"_{name}() if {name} is _MADE else {name}"
        arguments[each.kw_only is True].append(name + default)
        kept.append(f"{name}={value}")
    lines = [f"self.__dict__.update({', '.join(kept)})"]  # faster than ``object.__setattr__`` for each
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    listed = ", ".join([*arguments[False], *["*"][: len(arguments[True])], *arguments[True]])
    known["_hints"] = {each.name: each.type for each in found} | {"return": None}
    return f"def __init__({listed}):\n " + "\n ".join(lines) + "\n__init__.__annotations__ = _hints"


def _repr(cls: Any, known: dict[str, Any]) -> str:
    known["_guarded"] = recursive_repr()
    shown = ", ".join(f"{each.name}={{self.{each.name}!r}}" for each in dataclasses.fields(cls) if each.repr)
    return f'@_guarded\ndef __repr__(self):\n return f"{{self.__class__.__qualname__}}({shown})"'


def _compared(cls: Any, whose: str) -> str:
    return f"({''.join(f'{whose}.{each.name}, ' for each in dataclasses.fields(cls) if each.compare)})"


def _eq(cls: type, _: dict[str, Any]) -> str:
    both = f"{_compared(cls, 'self')} == {_compared(cls, 'other')}"
    return f"def __eq__(self, other):\n return {both} if other.__class__ is self.__class__ else NotImplemented"


def _hash(cls: type, _: dict[str, Any]) -> str:
    return f"def __hash__(self):\n return hash({_compared(cls, 'self')})"


class _Factory:
    """What a signature shows for a default that is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Factory()


def _unchanging(cls: Any) -> dict[str, Any]:
    """Return methods that refuse to change fields; what inherits without a decorator may keep attributes of its own."""

    def refuse(instance: object, name: str, verb: str) -> None:
        if type(instance) is cls or any(each.name == name for each in dataclasses.fields(cls)):
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def change(self: object, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        object.__setattr__(self, name, value)

    def delete(self: object, name: str) -> None:
        refuse(self, name, "delete")
        object.__delattr__(self, name)

    return {"__setattr__": change, "__delattr__": delete}
