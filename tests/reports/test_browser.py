"""The page of a report in a real browser, Chromium without a window. Skipped where there is none."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibstat.data.sample import Sample
from calibstat.displays.svg import svg_of
from calibstat.reports import _pictures
from calibstat.reports.page import render, tied
from calibstat.reports.report import report as calibration_report
from reports.documents import EVIL, LENSES, hostile, report

WHY = "it comes with the extra 'test'"
playwright = pytest.importorskip("playwright.sync_api", reason=f"playwright drives the browser: {WHY}")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=f"axe looks for barriers: {WHY}")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here (apt-get install chromium)")

DOCUMENTS = {"report": report, "hostile": hostile}
PAPER = {"A4": (210, 297), "Letter": (215.9, 279.4)}
MARGINS = 30  # millimetres, left and right together
Open = Callable[..., Any]

slow = pytest.mark.slow
each_document = pytest.mark.parametrize("name", ["hostile", pytest.param("report", marks=slow)])
each_width = pytest.mark.parametrize("width", [360, *(pytest.param(width, marks=slow) for width in (1000, 1400))])
each_paper = pytest.mark.parametrize("paper", ["A4", pytest.param("Letter", marks=slow)])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name, document in DOCUMENTS.items():
        (made / f"{name}.html").write_text(render(document()), encoding="utf-8")
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Open]:
    """Open a page; when the test ends, nothing may have been said, asked for or popped up."""
    heard: list[str] = []
    contexts = []

    def open_page(name: str = "report", *, width: int = 1000, address: str = "", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
        asked = (folder / f"{name}.html").as_uri()
        page.on("request", lambda request: None if request.url.startswith(asked) else heard.append(request.url))
        page.goto(asked + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("hostile", "dark", 360),
        ("report", "light", 1400),
        *(
            pytest.param(name, scheme, width, marks=slow)
            for name, scheme, width in product(DOCUMENTS, ("light", "dark"), (360, 1400))
            if (name, scheme, width) not in (("hostile", "dark", 360), ("report", "light", 1400))
        ),
    ],
)
def test_it_loads_in_silence_and_puts_up_no_barrier(opened, name, scheme, width):
    page = opened(name, width=width, color_scheme=scheme)
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["target"]) for each in found] == []


def test_the_search_for_barriers_finds_them(opened):
    page = opened()
    page.evaluate("document.querySelector('h1').style.color = '#ddd'")
    found = axe.Axe().run(page, context="header, h1").response["violations"]
    assert [each["id"] for each in found] == ["color-contrast"]


def test_silence_would_be_broken_by_a_request(opened, browser):
    context = browser.new_context()
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.set_content(render(report()).replace("<main>", '<main><img src="data:image/png;x" onerror="alert(1)">'))
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.invalid/x.png'}))")
    page.wait_for_timeout(200)
    context.close()
    assert any("Content Security Policy" in each for each in heard)


@each_document
@each_width
def test_only_tables_are_wider_than_the_window(opened, name, width):
    page = opened(name, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_report_of_data_loads_in_silence_and_puts_up_no_barrier(opened, folder, monkeypatch):
    drawn = []

    def first(display, prefix):  # stands for all others
        drawn.extend([] if drawn else [svg_of(display, "first-")])
        return drawn[0].replace("first-", prefix)

    monkeypatch.setattr(_pictures, "svg_of", first)
    rng = np.random.default_rng(0)
    classes = np.array(["cat", EVIL, "car", "truck"])
    y_prob = rng.dirichlet(np.full(4, 0.5), 300)
    y_true = classes[[rng.choice(4, p=row) for row in 0.7 * y_prob + 0.075]]
    variables = {f"group {EVIL}": rng.choice(["a", EVIL], 300)}
    sample = Sample(y_true, y_prob, labels=list(classes), variables=variables)
    made = calibration_report(sample, by=list(variables), calibrators={})
    kinds = {block["kind"] for section in made.document["sections"] for block in section["blocks"]}
    assert kinds == {"text", "table", "picture", "code", "terms", "simplex"}
    (folder / "data.html").write_text(made.to_html(), encoding="utf-8")
    for scheme, width in [("light", 1400), ("dark", 360)]:
        page = opened("data", width=width, color_scheme=scheme)
        found = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["impact"], each["nodes"][0]["target"]) for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# Tables


def column(page: Any, place: int) -> list[str]:
    return [
        each.strip()
        for each in page.locator("table").first.locator(f"tbody tr > :nth-child({place + 1})").all_inner_texts()
    ]


def test_tables_sort_up_and_down_and_back(opened):
    page = opened()
    before = column(page, 0)
    button = page.get_by_role("button", name="Rows")
    head = page.locator("thead th").nth(1)
    assert head.get_attribute("aria-sort") == "none"
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == ["2\u202f466", "2\u202f785", "5\u202f244", "5\u202f255", "13\u202f706"]
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 1)[0] == "13\u202f706"
    page.get_by_role("button", name="Group").press("Space")
    assert head.get_attribute("aria-sort") == "none"
    assert column(page, 0) == sorted(before)
    page.get_by_role("button", name="Happened minus predicted").click()
    assert [each.split()[0] for each in column(page, 4)] == ["-5.0", "-3.3", "-2.1", "0.5", "2.2"]
    for _ in range(2):
        page.get_by_role("button", name="Happened minus predicted").click()
    assert column(page, 0) == before


def test_what_has_no_number_comes_last_up_and_down(opened, folder):
    document = report()
    document["sections"][0]["blocks"][1]["rows"][0][1] = {"text": "unknown", "value": None}
    (folder / "missing.html").write_text(render(document), encoding="utf-8")
    page = opened("missing")
    for _ in range(2):
        page.get_by_role("button", name="Rows").click()
        assert column(page, 1)[-1] == "unknown"


@each_document
@each_width
def test_bars_of_a_column_have_one_width_and_leave_room_for_their_text(opened, name, width):
    page = opened(name, width=width)
    widths = page.locator(".bar").evaluate_all("all => all.map(e => Math.round(e.getBoundingClientRect().width))")
    assert len(set(widths)) == 1
    assert widths[0] >= 60
    beyond = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.locator("td.interval").evaluate_all(beyond) == 0


# Lenses


def pictures(page: Any) -> list[str]:
    return [each.strip() for each in page.locator("figure > svg:visible + figcaption").all_inner_texts()]


def seen_as(page: Any) -> list[str]:
    return [each for each in pictures(page) if each.startswith("Seen as")]


def choose(page: Any, lens: str) -> None:
    page.get_by_label("Show").select_option(label=lens)


ALL = [f"Seen as {lens}." for lens in LENSES]


def test_the_switch_shows_one_lens_everywhere_or_all(opened):
    page = opened()
    assert seen_as(page) == ALL
    choose(page, LENSES[1])
    assert seen_as(page) == [f"Seen as {LENSES[1]}."]
    assert page.get_by_text("sees this.").filter(visible=True).all_inner_texts() == [f"Only {LENSES[1]} sees this."]
    assert page.get_by_text("row of").filter(visible=True).all_inner_texts() == [f"row of {LENSES[1]}"]
    assert page.locator("h1:visible").all_inner_texts() == [f"Through {LENSES[1]} it is off."]
    assert page.locator(".pictures").evaluate_all("all => all.filter(e => e.checkVisibility()).length") == 1
    choose(page, "all lenses")
    assert seen_as(page) == ALL
    assert page.get_by_text("row of").filter(visible=True).count() == 3
    assert page.locator("h1:visible").all_inner_texts() == [tied(report()["answer"]["headline"])]


def test_the_switch_works_by_keyboard_and_the_address_remembers(opened):
    page = opened()
    page.get_by_label("Show").focus()
    for lens in LENSES[:2]:
        page.keyboard.press("ArrowDown")
        assert seen_as(page) == [f"Seen as {lens}."]
    address = page.url.partition("#")[2]
    again = opened(address=f"#{address}")
    assert seen_as(again) == [f"Seen as {LENSES[1]}."]
    assert again.get_by_label("Show").evaluate("e => e.selectedOptions[0].textContent") == LENSES[1]


@pytest.mark.parametrize("address", ["#lens=%", *(pytest.param(each, marks=slow) for each in ("#lens=no", "#where"))])
def test_an_address_that_names_no_lens_shows_all(opened, address):
    assert seen_as(opened(address=address)) == ALL


def test_a_section_without_anything_to_show_goes_with_its_link(opened, folder):
    document = report()
    document["sections"][2]["blocks"] = [{"kind": "text", "lens": LENSES[1], "sentences": ["Alone."]}]
    (folder / "alone.html").write_text(render(document), encoding="utf-8")
    page = opened("alone")
    heading, link = page.get_by_role("heading", name="How was this computed?"), page.get_by_role("link", name="Method")
    for lens, there in ((LENSES[0], False), (LENSES[1], True), ("all lenses", True)):
        choose(page, lens)
        assert (heading.is_visible(), link.is_visible()) == (there, there)


def test_without_a_script_everything_is_read(opened):
    page = opened(java_script_enabled=False)
    assert seen_as(page) == ALL
    assert page.locator(".block:visible").count() == page.locator(".block").count()
    assert not page.locator("select").is_visible()
    assert page.locator("button:visible").count() == 0


def test_keys_reach_everything_that_acts(opened):
    page = opened(width=360)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('a, select, button, svg, .scroll, pre')?.outerHTML"))
    acting = page.locator("a, select, button, figure.turns > svg").evaluate_all("all => all.map(e => e.outerHTML)")
    assert set(acting) <= reached


# The tetrahedron


def seen(page: Any) -> list[float]:
    """Where the parts of the tetrahedron are."""
    names = "['x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'x', 'y', 'opacity']"
    return page.locator("[data-at]").evaluate_all(
        f"all => all.flatMap(e => {names}.map(name => Number(e.getAttribute(name))))"
    )


def test_the_tetrahedron_turns_by_keys_and_by_buttons(opened):
    page = opened()
    first = seen(page)
    picture = page.get_by_role("img", name="Arrows in a tetrahedron")
    for there, back in [("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown")]:
        picture.press(there)
        assert seen(page) != first
        picture.press(back)  # what was seen at first is what the script draws
        assert seen(page) == pytest.approx(first, abs=2e-4)
    page.get_by_role("button", name="Turn left").click()
    turned = seen(page)
    picture.press("ArrowRight")
    picture.press("ArrowRight")
    assert turned != pytest.approx(first, abs=0.01)
    assert seen(page) == pytest.approx(first, abs=2e-4)


def test_the_tetrahedron_turns_by_mouse_and_by_touch(opened):
    page = opened(has_touch=True)
    picture = page.get_by_role("img", name="Arrows in a tetrahedron")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = seen(page)
    page.mouse.move(x + 40, y)
    assert seen(page) == before
    page.mouse.down()
    page.mouse.move(x + 80, y + 20)
    page.mouse.up()
    by_mouse = seen(page)
    assert by_mouse != before
    page.mouse.move(x, y)
    assert seen(page) == by_mouse
    session = page.context.new_cdp_session(page)
    for kind, points in [
        ("touchStart", [(x, y)]),
        *(("touchMove", [(x + 20 * k, y)]) for k in range(1, 5)),
        ("touchEnd", []),
    ]:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})
    assert seen(page) != by_mouse


# Light, dark, paper


def colour(page: Any, selector: str, name: str = "color") -> str:
    return page.locator(selector).first.evaluate(f"e => getComputedStyle(e)['{name}']")


def test_dark_pages_have_dark_paper_and_pictures(opened):
    page = opened(color_scheme="light")
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 25, 29)")):
        page.emulate_media(color_scheme=scheme)
        assert colour(page, "body", "background-color") == paper
        assert colour(page, ".picture path", "fill") == paper


@each_document
@each_paper
def test_on_paper_everything_is_light_and_nothing_is_cut(opened, name, paper):
    wide = round((PAPER[paper][0] - MARGINS) / 25.4 * 96)
    page = opened(name, width=wide, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert colour(page, "body") == "rgb(34, 34, 34)"
    assert page.locator(".block:visible").count() == page.locator(".block").count()
    assert page.locator("nav:visible, select:visible, .buttons:visible").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    assert page.locator(".scroll").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length") == 0


@pytest.fixture
def printed(opened, folder):
    """Print the hostile page, on each paper once."""

    def pdf(paper: str) -> Path:
        path = folder / f"{paper}.pdf"
        if not path.exists():
            opened("hostile", color_scheme="dark").pdf(path=path, format=paper)
        return path

    return pdf


@each_paper
def test_it_prints(printed, paper):
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed(paper).read_bytes())
    assert len(sizes) >= 4
    for size in sizes:
        assert [float(each) / 72 * 25.4 for each in size] == pytest.approx(PAPER[paper], abs=0.6)


@pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="there is no pdftotext here (apt-get install poppler-utils)"
)
def test_a_long_table_repeats_its_header_on_each_page(printed):
    read = ["pdftotext", "-layout", printed("A4"), "-"]
    text = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    with_rows = [page for page in text.split("\f") if len(re.findall(r"</script> \d\d ", page)) > 2]
    assert len(with_rows) >= 3
    assert all("Predicted" in page for page in with_rows)
