"""Text for terminals: columns, and paragraphs that hang below their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from textwrap import wrap

WIDTH = 100
INDENT = 12


def columns(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """Lay rows out in columns, of which those in `right` end together; columns without entries are left out."""
    filled = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    widths = {k: max(len(row[k]) for row in rows) for k in filled}
    return [
        "  ".join(row[k].rjust(widths[k]) if k in right else row[k].ljust(widths[k]) for k in filled).rstrip()
        for row in rows
    ]


def hang(name: str, text: str, indent: int = INDENT) -> list[str]:
    """Write a paragraph beside its name."""
    return wrap(
        text,
        WIDTH,
        initial_indent=name.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def narrow(text: str, indent: int) -> str:
    """Break the long lines of a result, so that what follows hangs below."""
    lines = []
    for line in text.splitlines():
        if len(line) <= WIDTH:
            lines.append(line)
        elif line.startswith("  "):
            lines += hang(line[:indent], line[indent:].strip(), indent)
        else:
            lines += hang("", line, 0)
    return "\n".join(lines)
