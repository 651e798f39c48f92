"""Pages of the site that show the docstrings of the public names, a page for each group of names.

The pages are written when the site is built, and git ignores them.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generate import KINDS, home

import calibstat

SUBPACKAGES = ("calibrators", "generators", "testing", "extending")


def groups() -> dict[str, list[str]]:
    """Return the full names below each heading."""
    found: dict[str, list[str]] = {kind.heading: [] for kind in (KINDS[-1], *KINDS[:-1])}
    for name in calibstat.__all__:
        public, module = getattr(calibstat, name), home(calibstat, name)
        found[next(kind.heading for kind in KINDS if kind.fits(module, public))].append(f"calibstat.{name}")
    for package in SUBPACKAGES:
        names = import_module(f"calibstat.{package}").__all__
        found[f"``calibstat.{package}``"] = [f"calibstat.{package}.{name}" for name in names]
    return found


def targets() -> dict[str, str]:
    """Return the full name of each public name; where two packages have one, that of the first."""
    return {full.rpartition(".")[2]: full for names in reversed(groups().values()) for full in names}


def page(heading: str, names: list[str]) -> str:
    """Return a page: a table of the names with a sentence for each, then their docstrings."""
    lines = [heading, "=" * len(heading), "", ".. list-table::", "   :widths: auto", ""]
    for full in names:
        lines += [f"   * - :py:obj:`~{full}`", f"     - {_sentence(_found(full))}"]
    for full in names:
        kind = "class" if inspect.isclass(_found(full)) else "function" if callable(_found(full)) else "data"
        lines += ["", f".. auto{kind}:: {full}"]
        lines += ["   :members:"] if kind == "class" else []
    return "\n".join([*lines, ""])


def _found(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


def _sentence(public: Any) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((inspect.getdoc(public) or "").split("\n\n")[0].split())


def write(folder: Path) -> None:
    """Write all pages, and a first page that lists them."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()
    pages = {re.sub(r"\W+", "-", heading.lower()).strip("-"): heading for heading in groups()}
    heading = "Every public name"
    index = [heading, "=" * len(heading), "", ".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in pages)]
    texts = {"index": "\n".join(index)} | {name: page(heading, groups()[heading]) for name, heading in pages.items()}
    for name, text in texts.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
