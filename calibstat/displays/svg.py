"""A picture as one SVG element that can stand in a page among others."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

from calibstat.displays._style import Display, whole_figure

_SVG, _LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
# What matplotlib writes as a style sheet, which would be one of the whole page.
_LINES = "stroke-linejoin: round; stroke-linecap: butt"
_USED = re.compile(r"url\(#([^)]+)\)")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg_of(drawn: Display | Figure, prefix: str) -> str:
    """Return the picture as an SVG element, and let go of its figure.

    It refers to nothing elsewhere and holds no text: letters are paths, and what matplotlib says of them in comments is
    left out, so that no name from data is in it. Its ids begin with `prefix`; there is no style sheet, no date, and
    nothing behind the picture.

    Parameters
    ----------
    drawn : Display or Figure
        A display that is not drawn yet is drawn.
    prefix : str
        Another one for each picture of a page.
    """
    display = drawn if isinstance(drawn, Display) else None
    if display is not None and not hasattr(display, "figure_"):
        display.plot()
    figure: Any = drawn if display is None else whole_figure(display.ax_)
    written = io.BytesIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": prefix}):
        figure.savefig(written, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    if display is not None:
        display.close()
    return _plain(ElementTree.fromstring(written.getvalue()), prefix)


def _plain(root: ElementTree.Element, prefix: str) -> str:
    """Leave out what is no picture, and give each id its prefix."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    used: set[str] = set()
    for each in root.iter():
        attributes = each.attrib
        if _LINK in attributes:
            attributes["href"] = attributes.pop(_LINK)
        for name, value in attributes.items():
            if name == "href":
                used.add(value.removeprefix("#"))
                attributes[name] = f"#{prefix}{value.removeprefix('#')}"
            elif name in ("d", "x", "y", "points"):
                attributes[name] = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", value)
            elif "url(#" in value:
                used |= set(_USED.findall(value))
                attributes[name] = _USED.sub(rf"url(#{prefix}\1)", value)
    for each in root.iter():  # an id that nothing uses is a name of matplotlib's
        name = each.attrib.pop("id", "")
        if name in used:
            each.set("id", f"{prefix}{name}")
    root.set("style", _LINES)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")
