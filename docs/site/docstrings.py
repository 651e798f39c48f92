"""Pages of the site that show the docstrings of the public names, a page for each group of names.

The pages are written when the site is built, and git ignores them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generate import groups, mark, public


def targets() -> dict[str, str]:
    """Return the full name of each public name; where two packages have one, that of the first."""
    return {full.rpartition(".")[2]: full for names in reversed(groups().values()) for full in names}


@cache
def shared() -> dict[str, list[str]]:
    """Return, below the heading where most of its classes are, each base that is not public but has methods to call."""
    known = {public(full) for names in groups().values() for full in names}
    users: dict[type, Counter[str]] = {}
    for heading, names in groups().items():
        classes = [public(full) for full in names if inspect.isclass(public(full))]
        for base in {base for each in classes for base in each.__mro__[1:]} - known:
            if base.__module__.startswith("calibstat.") and _has_methods(base) and base.__name__[0] != "_":
                users.setdefault(base, Counter())[heading] = sum(issubclass(each, base) for each in classes)
    below: dict[str, list[str]] = {heading: [] for heading in groups()}
    for base, headings in sorted(users.items(), key=lambda each: each[0].__name__):
        below[headings.most_common(1)[0][0]].append(f"{base.__module__}.{base.__name__}")
    return below


def _has_methods(base: type) -> bool:
    return any(
        inspect.getdoc(found) for name, found in vars(base).items() if name[0] != "_" and inspect.isroutine(found)
    )


def shown_bases(found: type, shown: dict[type, str]) -> list[str]:
    """Return the bases of a class that the reference shows, each as a link."""
    links = []
    for base in found.__bases__:
        links += [f":py:obj:`~{shown[base]}`"] if base in shown else shown_bases(base, shown)
    return list(dict.fromkeys(links))


@cache
def shown() -> dict[type, str]:
    """Return the full name under which each class is shown."""
    names = [full for each in (*groups().values(), *shared().values()) for full in each]
    return {public(full): full for full in names if inspect.isclass(public(full))}


def page(heading: str, names: list[str], bases: list[str]) -> str:
    """Return a page: a table of the names, a sentence and a mark for each, then the docstrings, and those of bases."""
    heading = heading.replace("`", "``")
    lines = [heading, "=" * len(heading), "", ".. list-table::", "   :widths: auto", ""]
    for full in names:
        lines += [f"   * - :py:obj:`~{full}`", f"     - {_sentence(public(full))}", f"     - {mark(full)}"]
    for full in [*names, *bases]:
        found = public(full)
        kind = "class" if inspect.isclass(found) else "function" if callable(found) else "data"
        lines += ["", f".. auto{kind}:: {full}"]
        lines += ["   :members:"] if kind == "class" else []
        lines += ["   :show-inheritance:"] if kind == "class" and shown_bases(found, shown()) else []
    return "\n".join([*lines, ""])


def _sentence(found: Any) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())


def write(folder: Path) -> None:
    """Write all pages, and a first page that lists them."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()
    pages = {re.sub(r"\W+", "-", heading.lower()).strip("-"): heading for heading in groups()}
    heading = "Docstrings"
    index = [heading, "=" * len(heading), "", ".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in pages)]
    texts = {"index": "\n".join(index)} | {
        name: page(heading, groups()[heading], shared()[heading]) for name, heading in pages.items()
    }
    for name, text in texts.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
