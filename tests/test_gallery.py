"""The gallery shows every display, and pages have pictures that their own code draws and that can be read."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import calibstat as cs
from displays.rendered import assert_readable

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXT = (DOCS / "gallery.md").read_text(encoding="utf-8")


def test_every_display_has_a_section_with_a_picture():
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    shown = {name for each in sections if "](pictures/" in each for name in re.findall(r"\w+Display\b", each)}
    assert {name for name in cs.__all__ if name.endswith("Display")} <= shown


def test_every_picture_is_in_the_page():
    named = re.findall(r"\]\(pictures/([^)]+)\)", TEXT)
    assert sorted(named) == sorted(path.name for path in (DOCS / "pictures").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("page", ["gallery.md", "tutorial.md", "calibrator-of-your-own.md", "language-models.md"])
def test_the_pictures_are_readable(page):
    spec = spec_from_file_location("gallery", DOCS / "gallery.py")
    gallery = module_from_spec(spec)
    spec.loader.exec_module(gallery)
    for picture, display in gallery.displays(page):
        figure = getattr(display.figure_, "figure", display.figure_)
        assert_readable(figure), picture
        plt.close(figure)
