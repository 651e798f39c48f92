"""Pages can be read: a question first, an example soon, short paragraphs, narrow tables.

A line of a page as the site shows it has about 100 characters. Stored results (``docs/evidence/``) are looked up rather
than read: `validity/test_evidence.py` holds their tables narrow.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

LONGEST_PARAGRAPH = 600
LONGEST_CELL = 200
MOST_COLUMNS = 5
LAST_LINE_OF_FIRST_EXAMPLE = 60

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page: Path) -> str:
    """The page without code blocks, which are read line by line, and without the marks of generated lists."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def rendered(markdown: str) -> str:
    """The characters that a reader sees: a link counts by its text."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", markdown)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`]|<[^>]+>", "", text)).strip()


def paragraphs(text: str) -> list[str]:
    """Paragraphs and items of lists, as they are read."""
    lines = ["" if line.startswith(("#", "|")) else line for line in text.splitlines()]
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", "\n".join(lines))
    return [shown for shown in map(rendered, blocks) if shown]


def rows(text: str) -> list[list[str]]:
    """The cells of each row of each table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[rendered(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]


@each_page
def test_paragraphs_are_short(page):
    long = [
        f"{len(each)} characters: {each[:80]}..." for each in paragraphs(prose(page)) if len(each) > LONGEST_PARAGRAPH
    ]
    assert not long, "\n".join(long)


@each_page
def test_tables_are_narrow(page):
    found = rows(prose(page))
    wide = [" | ".join(row)[:80] for row in found if len(row) > MOST_COLUMNS]
    long = [f"{len(cell)} characters: {cell[:80]}..." for row in found for cell in row if len(cell) > LONGEST_CELL]
    assert not wide + long, "\n".join(wide + long)


@each_page
def test_page_begins_with_the_question_that_it_answers(page):
    """The first paragraph after the title holds a question."""
    blocks = re.split(r"\n\s*\n", page.read_text(encoding="utf-8").partition("\n")[2].strip())
    first = next(block for block in blocks if not block.startswith(("[!", "<", "!")))
    assert not first.startswith(("#", "|", "```", "* ", "- ")), first[:200]
    assert "?" in first, first[:200]


@each_page
def test_first_example_comes_soon(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next((number for number, line in enumerate(lines, 1) if line.strip() in ("```python", "```console")), None)
    assert first is None or first <= LAST_LINE_OF_FIRST_EXAMPLE, f"its first example is in line {first}"


def test_what_is_too_long_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\nNo question.\n\n* " + "[word](link) " * 200 + "\n\n| " + "a | " * 6 + "\n", encoding="utf-8"
    )
    for test in (test_paragraphs_are_short, test_tables_are_narrow, test_page_begins_with_the_question_that_it_answers):
        with pytest.raises(AssertionError):
            test(page)
    assert [len(each) for each in paragraphs(prose(page))] == [len("No question."), 200 * len("word ") - 1]
