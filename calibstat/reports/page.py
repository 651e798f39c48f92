"""The page that shows a report: one HTML file that needs nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calibstat._lazy import LazyModule
from calibstat.reports import _simplex, _svg

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = LazyModule("jinja2")

Document = Mapping[str, Any]

_NARROW_SPACE = "\u202f"
_TIED = [
    (re.compile(r"(?<=\d) (?=\d{3}\b)"), _NARROW_SPACE),
    (re.compile(r"(?<=\d) (?=%)"), "\u00a0"),
    (re.compile(r"(?<=\b[pn]) ([=<>]) (?=\d)"), "\u00a0\\1\u00a0"),
]
_PLACES = ("value", "low", "high", "reference")
_MARGIN = 0.04  # of the width of a bar's cell, left free on both sides
_LONG = 24  # letters of a word, or of a name at the beginning of a row


def render(document: Document) -> str:
    """Write a report as one HTML file.

    It is read on a screen and on paper, in light and in dark, with and without its script. It loads nothing, and
    forbids the browser to. All text of the document is escaped; of pictures, what could act is left out.

    Parameters
    ----------
    document : mapping
        A report as ``report.schema.json`` of this folder describes it, which was held against it before.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ValueError
        If a picture is not one SVG element.

    Examples
    --------
    >>> page = render({
    ...     "schema": "calibstat-report/1", "title": "Calibration of P(rain)",
    ...     "made": {"calibstat": "0.1.0", "python": "3.12", "libraries": {}, "seed": 0},
    ...     "source": [{"name": "", "file": "rain.csv", "rows": 365, "classes": ["dry", "rain"], "told": ""}],
    ...     "answer": {"headline": "The model is too sure.", "sentences": [], "tiles": []},
    ...     "lenses": [], "answers": [], "sections": [],
    ... })
    >>> "<h1>The model is too sure.</h1>" in page
    True
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("calibstat.reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"tied": tied, "shape": shape, "scale": scale, "bar": bar}
    style, script = (_part(environment, name) for name in ("report.css", "report.js"))
    pictures = _pictures(document)
    return environment.get_template("report.html").render(
        document,
        style=style,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        pictures=pictures,
        palette=_svg.palette(pictures.values()),
        place_of_lens={name: k for k, name in enumerate(document["lenses"])},
        simplex=_simplex.view,
    )


def tied(text: str) -> str:
    r"""Keep together what no line should part: the digits of a number, its percent sign, and p with its value.

    >>> tied("p = 0.01, 21 000 rows, 5 %").split(" ")
    ['p\xa0=\xa00.01,', '21\u202f000', 'rows,', '5\xa0%']
    """
    for pattern, together in _TIED:
        text = pattern.sub(together, text)
    return text


def shape(text: str, first: bool) -> str:
    """Say how a cell of text takes its room: on one line, on lines of some words, or broken anywhere.

    >>> shape("age 48 to 54", first=True), shape("too high on average", first=False), shape("x" * 40, first=True)
    ('brief', 'wordy', 'endless')
    """
    if max(map(len, text.split()), default=0) > _LONG:
        return "endless"
    if first and len(text) <= _LONG:
        return "brief"
    return "wordy" if len(text) > _LONG // 2 else ""


def scale(rows: Sequence[Sequence[Mapping[str, Any]]], column: int) -> dict[str, float]:
    """Return what the bars of a column share: the lowest and highest number, and the letters of the longest text.

    >>> scale([[{"text": "1 (0 to 3)", "value": 1, "low": 0, "high": 3, "reference": -1}]], 0)
    {'lowest': -1, 'highest': 3, 'letters': 10}
    """
    cells = [row[column] for row in rows]
    found = [cell[key] for cell in cells for key in _PLACES if cell.get(key) is not None] or [0.0]
    return {
        "lowest": min(found),
        "highest": max(found),
        "letters": max((len(cell["text"]) for cell in cells), default=0),
    }


def bar(cell: Mapping[str, Any], shared: Mapping[str, float]) -> dict[str, float | None]:
    """Return where the parts of a bar lie, in percent of the width; None for what there is not.

    >>> bar({"text": "1 (0 to 3)", "value": 1, "low": 0, "high": 3, "reference": None}, {"lowest": -1, "highest": 3})
    {'value': 50.0, 'low': 27.0, 'high': 96.0, 'reference': None}
    """
    lowest, wide = shared["lowest"], (shared["highest"] - shared["lowest"]) or 1.0

    def place(number: float | None) -> float | None:
        share = None if number is None else (number - lowest) / wide
        return None if share is None else round(100 * (_MARGIN + (1 - 2 * _MARGIN) * share), 2)

    return {key: place(cell.get(key)) for key in _PLACES}


def _part(environment: jinja2.Environment, name: str) -> str:
    """Return a file of ours, which the page holds as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _pictures(document: Document) -> dict[tuple[int, int], str]:
    """Return the pictures by the numbers of their section and block, each with ids of its own."""
    return {
        (i, k): _svg.clean(block["svg"], f"picture-{i}-{k}-", block["alt"])
        for i, section in enumerate(document["sections"])
        for k, block in enumerate(section["blocks"])
        if block["kind"] == "picture"
    }
