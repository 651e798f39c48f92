"""The page of a report as text: everything is there, escaped, and nothing in it acts but our own script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import tomllib
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from calibstat.reports import _simplex, _svg
from calibstat.reports.page import render, tied
from calibstat.reports.report import Report
from reports.documents import EVIL, EVIL_PICTURE, LENSES, hostile, picture, report

SCRIPT = (files("calibstat.reports") / "templates" / "report.js").read_text()


class Seen(HTMLParser):
    """The elements with their attributes, and the text that is read, of a page."""

    def __init__(self, page: str) -> None:
        HTMLParser.__init__(self)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] not in ("script", "style"):
            self.texts.append(data)

    def having(self, attribute: str) -> list[str]:
        return [str(found[attribute]) for _, found in self.elements if attribute in found]


def texts_of(value: Any, key: str = "") -> list[str]:
    """All texts of a document that a reader reads."""
    if isinstance(value, dict):
        return [text for name, each in value.items() for text in texts_of(each, name)]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each, key)]
    unread = ("schema", "svg", "kind", "type", "id", "language", "lens", "classes")
    return [value] if isinstance(value, str) and value and key not in unread else []


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("document", [report(), hostile()], ids=["report", "hostile"])
def test_everything_is_there_to_be_read(document):
    seen = Seen(render(document))
    read = plain(" ".join([*seen.texts, *seen.having("aria-label")]))
    missing = [text for text in texts_of(document) if plain(tied(text)) not in read]
    assert missing == []


@pytest.mark.parametrize("document", [report(), hostile()], ids=["report", "hostile"])
def test_nothing_acts_but_the_script_of_the_page(document):
    seen = Seen(render(document))
    assert [tag for tag, _ in seen.elements].count("script") == 1
    assert {"foreignobject", "iframe", "object", "embed", "link", "animate", "set", "base"} & {
        tag for tag, _ in seen.elements
    } == set()
    assert [name for _, found in seen.elements for name in found if name.startswith("on")] == []
    assert [each for each in [*seen.having("href"), *seen.having("src")] if not each.startswith("#")] == []
    assert [each for name in ("style", "fill", "stroke") for each in seen.having(name) if "//" in each] == []


def test_the_page_allows_its_own_script_only_and_no_request():
    page = render(report())
    policy = next(found["content"] for tag, found in Seen(page).elements if "http-equiv" in found)
    script = page.split("<script>")[1].split("</script>")[0]
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{allowed}'" in policy
    assert re.findall(r"https?://", page) == []


def test_a_script_in_a_name_is_text():
    page = render(hostile())
    assert EVIL not in page
    assert page.count(html.escape(EVIL)) > 60


def test_ids_are_unique_and_what_refers_to_them_finds_them():
    for document in (report(), hostile()):
        page = render(document)
        seen = Seen(page)
        ids = seen.having("id")
        assert len(ids) == len(set(ids))
        links = [each[1:] for each in seen.having("href")] + re.findall(r"url\(#([\w.-]+)\)", page)
        links += seen.having("aria-labelledby")
        assert set(links) <= set(ids)
        assert any(each.startswith("picture-") for each in links)


def test_headings_come_in_order():
    headings = [tag for tag, _ in Seen(render(report())).elements if re.fullmatch("h[1-6]", tag)]
    assert headings == ["h1", "h1", "h1", "h2", "h2", "h2", "h3", "h2"]  # an answer for each lens, one of them shown


def test_pictures_have_their_alternative_text_as_a_title():
    page = render(report())
    assert re.findall(r"<title id=\"[\w-]+\">(.*?)</title>", page) == [f"Curve of {lens}" for lens in LENSES]


def test_one_lens_needs_no_switch_and_none_is_hidden():
    document = report() | {"lenses": LENSES[:1], "answers": []}
    document["sections"][0]["blocks"] = [
        each for each in document["sections"][0]["blocks"] if "lens_of_row" not in each
    ]
    for section in document["sections"]:
        section["blocks"] = [each for each in section["blocks"] if each.get("lens") in (None, LENSES[0])]
    page = render(document)
    assert "<select" not in page
    assert 'data-lens="' not in page


def test_numbers_that_are_missing_leave_no_mark():
    document = report()
    table = document["sections"][0]["blocks"][1]
    table["rows"] = [[{"text": "few"}, *[{"text": "none", "value": None}] * 3, {"text": "too few rows"}, {"text": ""}]]
    page = render(document)
    assert "too few rows" in page
    assert "<rect" not in page.split('<div class="pictures">')[0]


def test_an_interval_is_drawn_to_the_scale_of_its_column():
    page = render(report())
    rects = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)%" width="([\d.]+)%"', page)]
    lows = [(-7.7, 5.4), (-5.5, 4.4), (0.1, 4.2), (-3.5, 2.8), (-2.4, 5.8)]
    per_point = 92 / (4.3 + 7.7)
    for (x, wide), (low, length) in zip(rects, lows, strict=True):
        assert x == pytest.approx(4 + (low + 7.7) * per_point, abs=0.02)
        assert wide == pytest.approx(length * per_point, abs=0.02)


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("answer"),
        lambda document: document["sections"][0].pop("heading"),
        lambda document: document["sections"][0]["blocks"][1]["rows"][0].append({"text": "one too many"}),
        lambda document: document["sections"][0]["blocks"][0].update(lens="unknown"),
        lambda document: document["sections"][0]["blocks"][4].pop("svg"),
        lambda document: document["sections"][1]["blocks"][0]["arrows"][0].update(predicted=0.5),
        lambda document: document.update(sections="none"),
    ],
)
def test_a_damaged_report_is_refused(damage):
    document = report()
    damage(document)
    with pytest.raises(ValueError, match=r"the report is damaged \(.+\): make it anew"):
        Report(document)


def test_the_report_of_these_tests_follows_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((files("calibstat.reports") / "report.schema.json").read_text())
    jsonschema.validate(report(), schema)


def test_the_script_is_small():
    assert len(SCRIPT.encode()) < 20_000


def test_the_package_takes_the_templates_along():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["calibstat"]
    root = Path(str(files("calibstat")))
    packed = {found.name for pattern in patterns for found in root.glob(pattern)}
    assert {"report.html", "blocks.html", "report.css", "report.js"} <= packed


# Pictures


def test_a_picture_keeps_what_is_seen():
    found = _svg.clean(picture(), "a-", "A curve")
    assert '<clipPath id="a-p7">' in found
    assert found.count("url(#a-p7)") == 2
    assert 'href="#a-dot"' in found
    assert "M 30 170 L 100 130" in found
    assert "stroke:var(--cc8501e);stroke-width:2" in found
    assert found.startswith("<svg ")


def test_a_picture_loses_what_acts():
    found = _svg.clean(EVIL_PICTURE, "a-", "x")
    for bad in (
        "alert(2",
        "alert(3",
        "alert(4",
        "alert(5",
        "alert(6",
        "alert(7",
        "example.org",
        "@import",
        "<style",
        "evil",
    ):
        assert bad not in found
    for bad in ("<script", "<a", "<foreignObject", "<animate", "<metadata", "image-set", "class=", "svg+xml"):
        assert bad not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found


@pytest.mark.parametrize(
    "style",
    [
        "fill: url(https://example.org/a)",
        "fill: u\\72l(https://example.org/a)",
        "background: red",
        "-moz-binding: url(#a)",
        "fill: expression(alert(1))",
        "fill: red; } * { display: none",
    ],
)
def test_a_property_that_reaches_elsewhere_is_left_out(style):
    found = _svg.clean(f'<svg xmlns="http://www.w3.org/2000/svg"><path style="{style}" d="M 0 0"/></svg>', "a-", "x")
    assert re.findall(r'<path style="([^"]*)"', found)[0] in ("", "fill:red")


def test_a_raster_within_a_picture_stays():
    image = '<image href="data:image/png;base64,iVBORw0KGgo=" width="1" height="1"/>'
    found = _svg.clean(f'<svg xmlns="http://www.w3.org/2000/svg">{image}</svg>', "a-", "x")
    assert 'href="data:image/png;base64,iVBORw0KGgo="' in found


@pytest.mark.parametrize("text", ["", "no picture", "<svg", "<p>text</p>", '<svg xmlns="x">&boo;</svg>'])
def test_what_is_no_picture_is_refused(text):
    with pytest.raises(ValueError, match=r"the picture 'Curve' .* expected one complete <svg> element"):
        _svg.clean(text, "a-", "Curve")


def lightness(colour: str) -> float:
    """The relative luminance of WCAG."""
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted([lightness(one), lightness(other)])
    return (high + 0.05) / (low + 0.05)


def test_colours_of_pictures_stand_out_from_dark_paper_as_they_do_from_white():
    colours = ["c8501e", "1f5a94", "333333", "8c98a4", "0072b2", "009e73", "cc79a7", "4d4d4d", "7a5195", "8c510a"]
    (_, _, paper), *found = _svg.palette([f"var(--c{each})" for each in ["ffffff", *colours]][::-1])[::-1]
    assert paper == "var(--paper)"
    assert len(found) == len(colours)
    for name, light, dark in found:
        assert contrast(dark, "#15191d") >= min(3.0, contrast(light, "#ffffff")), name


# The tetrahedron


def test_corners_of_the_tetrahedron_are_equally_far_apart():
    certain = [[float(k == j) for j in range(4)] for k in range(4)]
    arrows = [{"predicted": row, "happened": certain[k - 1], "rows": 1} for k, row in enumerate(certain)]
    parts = _simplex.view({"classes": list("abcd"), "arrows": arrows})
    for part in [*parts["edges"], *parts["arrows"]]:
        at = [float(each) for each in part["at"].split()]
        assert sum((a - b) ** 2 for a, b in zip(at[:3], at[3:], strict=True)) == pytest.approx(8 / 3, abs=1e-3)


def test_discs_have_areas_like_their_rows():
    arrows = [{"predicted": [0.25] * 4, "happened": [0.25] * 4, "rows": rows} for rows in (100, 25)]
    large, small = _simplex.view({"classes": list("abcd"), "arrows": arrows})["discs"]
    assert large["radius"] == pytest.approx(2 * small["radius"])
    assert large["seen"] == [(0.0, 0.0)]
