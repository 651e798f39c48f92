"""Pictures as SVG that may stand in a page: what could act is left out, ids and colours are those of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from colorsys import hls_to_rgb, rgb_to_hls
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_LINK = "{http://www.w3.org/1999/xlink}href"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ELEMENTS = _names(
    "svg g defs clipPath path rect circle ellipse line polyline polygon use text tspan image marker "
    "linearGradient radialGradient stop"
)
_PROPERTIES = _names(
    "clip-path clip-rule color display dominant-baseline fill fill-opacity fill-rule font font-family font-size "
    "font-stretch font-style font-variant font-weight image-rendering marker-end marker-mid marker-start opacity "
    "stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin "
    "stroke-miterlimit stroke-opacity stroke-width text-anchor visibility"
)
_ATTRIBUTES = _names(
    "clipPathUnits cx cy d dx dy fx fy gradientTransform gradientUnits height markerHeight markerUnits markerWidth "
    "offset orient points preserveAspectRatio r refX refY rotate rx ry textLength transform viewBox width "
    "x x1 x2 y y1 y2"
)
_NAME = re.compile(r"[\w.-]+")
_PASSIVE = re.compile(r"""(?:[\w\s.,#%+'"-]|rgba?\([\d\s.,%]*\)|url\(#[\w.-]+\))*""")
_ADDRESS = re.compile(r"url\(#([\w.-]+)\)")
_COLOUR = re.compile(r"(?<!\()#([0-9a-fA-F]{6})\b")
_USED = re.compile(r"var\(--c([0-9a-f]{6})\)")
_RASTER = re.compile(r"data:image/png;base64,[\w+/=\s]*")
_PAPER = 0.1  # how light the paper of a dark page is
_LIFT = 0.7  # below 1, colours between black and white stay lighter on dark paper


def clean(svg: str, prefix: str, title: str) -> str:
    """Return a picture that does nothing but show itself, with a title.

    Elements, attributes and properties that are not on the lists above are left out, and with them scripts, handlers,
    links, style sheets and foreign elements. Ids begin with `prefix`, so that two pictures of a page do not meet.
    Colours are variables of the page (see `palette`).

    Raises
    ------
    ValueError
        If the text is not one SVG element.
    """
    try:
        found = ElementTree.fromstring(svg[max(svg.find("<svg"), 0) :])  # what declares entities stands before it
    except ElementTree.ParseError as error:
        raise ValueError(
            f"the picture {title!r} cannot be read ({error}): expected one complete <svg> element."
        ) from None
    if _local(found.tag) != "svg":
        raise ValueError(f"the picture {title!r} is <{_local(found.tag)}>: expected one complete <svg> element.")
    picture = _copy(found, prefix)
    picture.attrib |= {"role": "img", "aria-labelledby": f"{prefix}title"}
    name = Element("title", {"id": f"{prefix}title"})
    name.text = title
    picture.insert(0, name)
    return ElementTree.tostring(picture, encoding="unicode")


def palette(pictures: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the colours that cleaned pictures use: the name of the variable, its colour on light and on dark paper."""
    used = sorted({colour for picture in pictures for colour in _USED.findall(picture)})
    return [(f"--c{colour}", f"#{colour}", _on_dark(colour)) for colour in used]


def _local(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def _copy(element: Element, prefix: str) -> Element:
    """Copy what is allowed of an element and of those in it."""
    made = Element(_local(element.tag), dict(_attributes(element, prefix)))
    made.text = element.text
    for child in element:
        if _local(child.tag) in _ELEMENTS:
            made.append(_copy(child, prefix))
            made[-1].tail = child.tail
    return made


def _attributes(element: Element, prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key == "id" and _NAME.fullmatch(value):
            yield "id", prefix + value
        elif key in ("href", _LINK):
            if value.startswith("#") and _NAME.fullmatch(value[1:]):
                yield "href", f"#{prefix}{value[1:]}"
            elif _local(element.tag) == "image" and _RASTER.fullmatch(value):
                yield "href", value
        elif key == "style":
            yield "style", ";".join(_declarations(value, prefix))
        elif key in _PROPERTIES and _PASSIVE.fullmatch(value):
            yield key, _ours(value, prefix)
        elif key in _ATTRIBUTES:
            yield key, value


def _declarations(style: str, prefix: str) -> Iterator[str]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in _PROPERTIES and _PASSIVE.fullmatch(value):
            yield f"{name}:{_ours(value, prefix)}"


def _ours(value: str, prefix: str) -> str:
    """Let addresses point to our ids, and colours be our variables."""
    value = _ADDRESS.sub(rf"url(#{prefix}\1)", value)
    return _COLOUR.sub(lambda colour: f"var(--c{colour[1].lower()})", value)


def _on_dark(colour: str) -> str:
    """Return the colour that is as far from dark paper as this one is from white."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    if lightness == 1:
        return "var(--paper)"
    lightness = _PAPER + (0.95 - _PAPER) * (1 - lightness) ** _LIFT
    return "#" + "".join(f"{round(255 * each):02x}" for each in hls_to_rgb(hue, lightness, saturation))
