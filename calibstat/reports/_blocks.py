"""The blocks that a section of a report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Block = dict[str, Any]
Section = dict[str, Any]


def section(name: str, label: str, heading: str, blocks: Sequence[Block | None]) -> Section:
    """Return a section of the blocks that there are."""
    return {"id": name, "label": label, "heading": heading, "blocks": [each for each in blocks if each]}


def text(*sentences: str, strong: str = "") -> Block | None:
    """Return a paragraph of the sentences that there are; None where there is none."""
    said = [each for each in sentences if each]
    if not said and not strong:
        return None
    return {"kind": "text", "sentences": said} | ({"strong": strong} if strong else {})


def table(
    caption: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[list[dict[str, Any]]],
    lens_of_row: Sequence[str] = (),
) -> Block | None:
    """Return a table; columns are names and types, and each row may be of a lens. None where there are no rows."""
    if not rows:
        return None
    named = [{"name": name, "type": kind} for name, kind in columns]
    block = {"kind": "table", "caption": caption, "columns": named, "rows": list(rows)}
    return block | ({"lens_of_row": list(lens_of_row)} if any(lens_of_row) else {})


def seen_through(lens: str, blocks: Sequence[Block | None]) -> list[Block]:
    """Let blocks be shown with a lens only, unless their rows have lenses of their own; "" is no lens."""
    there = [each for each in blocks if each]
    return [each | {"lens": lens} if lens and "lens_of_row" not in each else each for each in there]
