"""Names of a package, and libraries, that are imported when they are first used (PEP 562).

The package lazy_loader does the same; it would be a dependency of `import calibstat` that saves these few lines. Its
tables read from the type stubs would save the tables too, but parsing them takes three times as long as the import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any


def together(tables: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Return one table of names by module, of several that may share modules."""
    found: dict[str, list[str]] = {}
    for table in tables:
        for module, names in table.items():
            found[module] = [*found.get(module, ()), *names]
    return found


def lazy_names(
    package: str,
    modules: Mapping[str, Sequence[str]],
    subpackages: Sequence[str] = (),
    plain: Sequence[str] = (),
    behind: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    modules : mapping of str to sequence of str
        Every public name, by the module of the package that defines it.
    subpackages, plain : sequence of str
        Packages below that are reached by attribute, and names defined in the package itself.
    behind : mapping of str to sequence of str
        Those of `modules` that `dir` leaves out.
    """
    home = {name: f"{package}.{module}" for module, names in modules.items() for name in names}
    public = sorted(home)

    def get(name: str) -> Any:
        if name in subpackages:
            return import_module(f"{package}.{name}")
        if name not in home:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[package])  # Python then suggests a similar name
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)  # the next use finds it without asking here
        return value

    def shown() -> list[str]:
        hidden = {name for names in (behind or {}).values() for name in names}
        return sorted([*(name for name in public if name not in hidden), *subpackages, *plain])

    return get, shown, public


class LazyModule:
    """A library that is imported when something of it is first used.

    >>> from calibstat._lazy import special
    >>> float(special.ndtr(0.0))
    0.5
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return self.load(name)

    def load(self, name: str) -> Any:
        """Import the module, and keep what it calls `name`."""
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


# Each takes longer to import than numpy, and most tests need none of them.
distances = LazyModule("scipy.spatial.distance")
interpolate = LazyModule("scipy.interpolate")
optimize = LazyModule("scipy.optimize")
sparse = LazyModule("scipy.sparse")
special = LazyModule("scipy.special")
