"""Runs the notebooks, and compares outputs: ``python notebooks/run.py [--write] [NAME ...]``.

The outputs in the repository are for readers who do not run anything. Each notebook runs from
top to bottom in a fresh kernel. Its texts and tables must be those that are stored, numbers
up to rounding, with a picture wherever one is stored. ``--write`` stores what was found; read
it before you commit it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent
_SECONDS = 600
_BACKEND = "module://matplotlib_inline.backend_inline"
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_TAGS = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)
# Other versions of libraries and other processors move the last digits of a fit.
_SAME = Decimal("0.01")


def notebooks() -> list[Path]:
    """Return the files of all notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path) -> NotebookNode:
    """Run a notebook, and return it with its new outputs, without the traces of this run."""
    notebook = nbformat.read(path, as_version=4)
    runner = NotebookClient(
        notebook, timeout=_SECONDS, resources={"metadata": {"path": str(FOLDER)}}
    )
    runner.execute(env={**os.environ, "MPLBACKEND": _BACKEND})
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", NotebookNode()
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output.metadata = NotebookNode()
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
        language_info=NotebookNode(name="python"),
    )
    return notebook


def differences(stored: NotebookNode, found: NotebookNode) -> Iterator[str]:
    """Yield what is stored, and what was found, for each cell where they differ."""
    for before, now in zip(stored.cells, found.cells, strict=True):
        old, new = shown(before), shown(now)
        if not same(old, new):
            yield f"{before.source}\n-- stored:\n{old}\n-- found:\n{new}\n"


def shown(cell: NotebookNode) -> str:
    """Return what a reader sees below a cell, as text; a picture is the word "picture"."""
    return "\n".join(map(_text, cell.get("outputs", ())))


def same(old: str, new: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by rounding at most."""
    numbers = [list(map(Decimal, _NUMBER.findall(text))) for text in (old, new)]
    return _NUMBER.sub("", old) == _NUMBER.sub("", new) and all(map(_close, *numbers))


def _text(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    if "image/png" in output.data:
        return "picture"
    if "text/html" in output.data:
        return " ".join(unescape(_TAGS.sub(" ", output.data["text/html"])).split())
    return output.data["text/plain"]


def _close(one: Decimal, other: Decimal) -> bool:
    last_digit = Decimal(1).scaleb(max(one.as_tuple().exponent, other.as_tuple().exponent))
    return abs(one - other) <= max(last_digit, _SAME * max(one, other))


def main(arguments: list[str] | None = None) -> int:
    """Run the notebooks that are named, or all, and compare or store their outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="without .ipynb; all if none is named"
    )
    parser.add_argument("--write", action="store_true", help="store the outputs")
    options = parser.parse_args(arguments)
    differing = 0
    for path in [FOLDER / f"{name}.ipynb" for name in options.names] or notebooks():
        found = run(path)
        differs = list(differences(nbformat.read(path, as_version=4), found))
        if options.write:
            nbformat.write(found, path)
        differing += len(differs)
        print(f"{path.stem}: {len(differs)} cells differ", *differs, sep="\n")
    return 0 if options.write else min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
