"""Writes what the pages list from the code that they list: ``python docs/generate.py``.

A list stands in its page between two marks, ``<!-- names -->`` and ``<!-- /names -->``; a number that is quoted in a
sentence is found by the words around it. The type stubs of the packages whose names are imported on first use are
written too. With ``--check`` nothing is written: what is out of date is listed, and the command fails.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import calibstat
from calibstat import calibrators, extending, generators, results, testing
from calibstat._names import BEHIND, GROUPS
from calibstat.cli.estimators import names
from calibstat.estimators.base import Estimator
from calibstat.references import Reference, citations, references

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "calibstat"
if Path(calibstat.__file__).resolve().parent != PACKAGE:
    raise SystemExit(f"calibstat is imported from {calibstat.__file__}; install this copy first: pip install -e {ROOT}")


def summary(thing: Any) -> str:
    """Return the first paragraph of a docstring as one line of Markdown, for a cell of a table."""
    words = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    words = re.sub(r":math:`(.*?)`", lambda found: "`" + found[1].replace("\\", "") + "`", words)
    return words.replace("``", "`").replace("|", r"\|")


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# Public names by group.

MARKS = tomllib.loads((ROOT / "docs/marks.toml").read_text(encoding="utf-8"))


def groups() -> dict[str, list[str]]:
    """Return the full names below each heading, in the order in which a person looks for them."""
    found = {
        heading: [f"calibstat.{name}" for some in modules.values() for name in some]
        for heading, modules in GROUPS.items()
    }
    for package in (calibrators, generators, testing, extending):
        found[f"`{package.__name__}`"] = [f"{package.__name__}.{name}" for name in package.__all__]
    return found


def public(full: str) -> Any:
    """Return what a full name, such as ``calibstat.generators.Slope``, stands for."""
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


def mark(full: str) -> str:
    """Return how far a public name will be kept: stable, unless docs/marks.toml says otherwise."""
    name = full.removeprefix("calibstat.")
    return next((each for each, names in MARKS.items() if name in names), "stable")


def arguments(thing: Any) -> str:
    """Return the arguments of a call that stand by position, and dots for those that are named."""
    if not callable(thing) or (inspect.isclass(thing) and (inspect.isabstract(thing) or not _made_by_hand(thing))):
        return ""
    taken = inspect.signature(thing).parameters.values()
    named = any(each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD) for each in taken)
    shown = [
        f"*{each.name}" if each.kind == each.VAR_POSITIONAL else each.name
        for each in taken
        if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)
    ]
    return f"`{', '.join([*shown, *(['...'] if named else [])])}`" if shown or named else ""


def _made_by_hand(thing: type) -> bool:
    """Whether people call a class; results and records are made by functions."""
    behind = {name for heading in BEHIND for names in GROUPS[heading].values() for name in names}
    return thing.__name__ not in behind


def names_by_group() -> str:
    """List every public name below its group: what it is, its arguments, and its mark."""
    parts = []
    for heading, full_names in groups().items():
        found = {full: public(full) for full in full_names}
        rows = [
            (f"`{full.rpartition('.')[2]}`", summary(each), arguments(each), mark(full)) for full, each in found.items()
        ]
        parts.append(f"### {heading}\n\n{table(('Name', 'What it is', 'Arguments', 'Mark'), rows)}")
    return "\n\n".join(parts)


# Where each formula is.


def papers(thing: Any) -> str:
    """Return the papers that a docstring names, in its order."""
    return "; ".join(map(str, citations(inspect.getdoc(thing) or "")))


def estimators() -> Iterator[tuple[str, Any]]:
    """Yield the public estimators by name, without those that only families derive from."""
    for name in calibstat.__all__:
        thing = getattr(calibstat, name)
        if isinstance(thing, type) and issubclass(thing, Estimator) and not inspect.isabstract(thing):
            yield name, thing


def formulas() -> str:
    """List each estimator with its file, and the papers that its docstring names."""
    rows = (
        (f"`{name}`", f"`{Path(inspect.getsourcefile(thing) or '').relative_to(PACKAGE)}`", papers(thing))
        for name, thing in estimators()
    )
    return table(("Estimator", "File", "Papers"), rows)


def others() -> str:
    """List the estimators, and the functions that make one, which the page does not name outside this list."""
    page = (ROOT / "docs/which-number-details.md").read_text(encoding="utf-8").partition("<!-- others -->")[0]
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL)))))
    rows = [(f"`{name}`", summary(getattr(calibstat, name))) for name in names() if name not in named]
    return table(("Estimator", "What it is"), rows) if rows else "None: every estimator stands in a table above."


# References.


def reference_list() -> str:
    """List the papers that docstrings cite, by author and year."""
    return "\n".join(
        f"* {said(each)}"
        for each in sorted(references().values(), key=lambda each: (each.surnames, each.fields["year"]))
        if each.key != "calibstat"
    )


def said(entry: Reference) -> str:
    """Return an entry in words, with a link to it."""
    fields = entry.fields
    *first, last = entry.authors
    authors = f"{'; '.join(first)} & {last}" if first else last
    where = fields.get("journal") or fields.get("booktitle") or ""
    number = f"({fields['number']})" if "number" in fields else ""
    place = [
        f"*{where}*" if where else "",
        f"{fields.get('volume', '')}{number}",
        fields.get("pages", ""),
        f"{fields['edition']} edition" if "edition" in fields else "",
        fields.get("publisher", ""),
    ]
    links = []
    if "doi" in fields:
        shown = fields["doi"].replace("<", r"\<")
        links.append(f"[doi:{shown}](https://doi.org/{quote(fields['doi'], safe='/:;')})")
    if "eprint" in fields and not fields.get("doi", "").startswith("10.48550/arXiv."):
        links.append(f"[arXiv:{fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})")
    parts = [f"{authors} ({fields['year']})", fields["title"], ", ".join(filter(None, place)), *links]
    return plain(" ".join(part if part.endswith("?") else f"{part}." for part in parts if part))


def plain(text: str) -> str:
    """Return LaTeX as Markdown has it."""
    letters = {r"$\ell_2$": "\u2113\u2082", "$H_0$": "H\u2080", "$k$": "*k*", "$n$": "*n*"}
    signs = {"``": "\u201c", "''": "\u201d", "`": "\u2018", "--": "\u2013", r"\&": "&", "{": "", "}": ""}
    for latex, markdown in {**letters, **signs}.items():
        text = text.replace(latex, markdown)
    return text


# Folders and files.


def folders() -> str:
    """List each folder with the first sentence of its docstring and its files, then the files beside the folders."""
    return "\n".join(f"* {where}: {what}" for where, what in _folders())


def _folders() -> Iterator[tuple[str, str]]:
    for init in sorted(PACKAGE.glob("*/__init__.py")):
        files = sorted(path.stem for path in init.parent.glob("*.py") if not path.stem.startswith("_"))
        said = (
            summary(import_module(f"calibstat.{init.parent.name}")) if init.parent.name != "_fast" else _of_file(init)
        )
        yield (
            f"`calibstat/{init.parent.name}/`",
            f"{said} Files: {', '.join(f'`{name}`' for name in files) or 'private'}.",
        )
    for path in sorted(PACKAGE.glob("_*.py")):
        if not path.stem.startswith("__"):
            yield f"`calibstat/{path.name}`", _of_file(path)


def _of_file(path: Path) -> str:
    """Return the first line of a file's docstring, without importing what it imports."""
    return path.read_text(encoding="utf-8").split('"""')[1].split("\n\n")[0].replace("\n", " ")


LISTS: dict[str, dict[str, Callable[[], str]]] = {
    "docs/api.md": {"names": names_by_group},
    "docs/formulas.md": {"estimators": formulas},
    "docs/references.md": {"references": reference_list},
    "docs/architecture.md": {"folders": folders},
    "docs/which-number-details.md": {"others": others},
}


def with_lists(page: str, text: str) -> str:
    """Return a page with its lists written anew."""
    for mark, listed in LISTS.get(page, {}).items():
        before, start, rest = text.partition(f"<!-- {mark} -->\n")
        _, stop, after = rest.partition(f"<!-- /{mark} -->")
        if not start or not stop:
            raise ValueError(f"{page} lacks the marks <!-- {mark} --> and <!-- /{mark} -->")
        text = f"{before}{start}\n{listed()}\n\n{stop}{after}"
    return text


# Numbers in sentences.


@dataclass(frozen=True)
class Quoted:
    """A constant that a page quotes: the words around it, with ``{}`` in its place."""

    page: str
    words: str
    module: str
    constant: str

    def written_into(self, text: str) -> str:
        """Return the page with the constant as it is in the code."""
        value = getattr(import_module(f"calibstat.{self.module}"), self.constant)
        shown = f"{value:_}".replace("_", " ") if value >= 10_000 else f"{value:g}"
        before, after = map(re.escape, self.words.split("{}"))
        pattern = rf"({before})[\d ]+?({after})"
        if not re.search(pattern, text):
            raise ValueError(f"{self.page} does not say {self.words!r}: change it, or QUOTED in docs/generate.py")
        return re.sub(pattern, rf"\g<1>{shown}\g<2>", text)


QUOTED = (
    Quoted("docs/engine.md", "From {} rows on `EqualMass` finds", "binnings.intervals", "_ROWS_FOR_HISTOGRAM"),
    Quoted(
        "docs/engine.md", "cut again in every replicate: from {} rows on", "draws._recut_cells", "_ROWS_FOR_SELECTION"
    ),
    Quoted("docs/engine.md", "there are {} rows or fewer (then", "draws.whole_cells", "FEW_ROWS"),
    Quoted("docs/engine.md", "weighted one by one for {} rows or fewer", "draws.whole_cells", "FEW_ROWS"),
    Quoted("docs/engine-rows.md", "From {} rows on the cells are made", "estimators._local_fits", "_MANY_ROWS"),
    Quoted("docs/vocabulary.md", "binned errors, more than {} rows", "draws.whole_cells", "FEW_ROWS"),
)


# Type stubs.

PACKAGES = (calibstat, calibrators, generators, results)


def stub(package: ModuleType) -> str:
    """Return the type stub of a package whose names are imported on first use."""
    lines = [f"from {package.__name__} import {name} as {name}" for name in getattr(package, "_SUBPACKAGES", ())]
    root = "calibstat" if package is results else package.__name__
    lines += [
        f"from {root}.{module} import {name} as {name}"
        for module, names in sorted(package._MODULES.items())
        for name in sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    ]
    plain = ["", "__version__: str"] if hasattr(package, "__version__") else []
    return "\n".join([*lines, *plain, ""])


def generated() -> dict[Path, str]:
    """Return every file that is written, wholly or in part, and what is to stand in it."""
    found = {Path(str(package.__file__)).with_suffix(".pyi"): stub(package) for package in PACKAGES}
    for page in sorted({*LISTS, *(quoted.page for quoted in QUOTED)}):
        text = with_lists(page, (ROOT / page).read_text(encoding="utf-8"))
        for quoted in QUOTED:
            text = quoted.written_into(text) if quoted.page == page else text
        found[ROOT / page] = text
    return found


def out_of_date() -> list[str]:
    """Return, for each file that is not what it should be, the lines that differ."""
    return [
        f"{path.relative_to(ROOT)}: {line}"
        for path, text in generated().items()
        for line in _differences(path.read_text(encoding="utf-8"), text)
    ]


def _differences(is_now: str, should_be: str) -> list[str]:
    old, new = is_now.splitlines(), should_be.splitlines()
    return [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]


def main(arguments: list[str]) -> int:
    """Write all files, or with ``--check`` list what is out of date."""
    if "--check" in arguments:
        found = out_of_date()
        sys.stdout.write("\n".join(found or ["All lists are those of the code."]) + "\n")
        return int(bool(found))
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
