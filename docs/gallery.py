"""Draws the pictures of docs/gallery.md by the code of that page: ``python docs/gallery.py``.

The examples of the page run one after the other, as its test runs them. Where the page shows a picture, the object
that is called ``display`` at that place is saved as the picture's file.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().with_suffix(".md")
DPI = 110


def displays(page: Path = PAGE) -> Iterator[tuple[str, Any]]:
    """Run the page, and yield the file name of each picture with the display that belongs there."""
    text = page.read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_examples(text)
    names: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines()):
        while examples and examples[0].lineno < number:
            exec(compile(examples.pop(0).source, page.name, "single"), names)
        for picture in re.findall(r"!\[[^\]]*\]\(pictures/([^)]+)\)", line):
            yield picture, names["display"]


def main(folder: Path) -> int:
    """Save every picture in a folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(exist_ok=True)
    for picture, display in displays():
        display.save(folder / picture, dpi=DPI).close()
    return 0


if __name__ == "__main__":
    sys.exit(main(PAGE.parent / "pictures"))
