"""Draws the pictures of pages by the code of these pages: ``python docs/gallery.py``.

The examples of a page run one after the other, as its test runs them. Where the page shows a picture, the object
that is called ``display`` at that place is saved as the picture's file.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
# Each page, and the folder of its pictures.
PAGES = {
    "gallery.md": "pictures",
    "tutorial.md": "images",
    "calibrator-of-your-own.md": "images",
    "language-models.md": "images",
}
DPI = 110


def displays(name: str = "gallery.md") -> Iterator[tuple[str, Any]]:
    """Run a page, and yield the file name of each picture with the display that belongs there."""
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    examples = [each for each in doctest.DocTestParser().get_examples(text) if each.exc_msg is None]
    names: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines()):
        while examples and examples[0].lineno < number:
            exec(compile(examples.pop(0).source, page.name, "single"), names)
        for picture in re.findall(rf"!\[[^\]]*\]\({PAGES[name]}/([^)]+)\)", line):
            yield picture, names["display"]


def main() -> int:
    """Save every picture in its folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    for page, folder in PAGES.items():
        for picture, display in displays(page):
            display.save(DOCS / folder / picture, dpi=DPI).close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
