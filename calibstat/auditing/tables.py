"""Tables and notes as text."""

from __future__ import annotations

from collections.abc import Container, Sequence
from textwrap import wrap

from calibstat.inference.words import number

WIDTH = 100
INDENT = 12


def layout(rows: Sequence[Sequence[str]], numbers: Container[int]) -> list[str]:
    """Lay rows out in columns, numbers to the right; columns without content below the first row are left out.

    Examples
    --------
    >>> layout([["a", "n", "x"], ["b", "10", ""]], numbers=[1])
    ['a   n', 'b  10']
    """
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    widths = {column: max(len(row[column]) for row in rows) for column in filled}
    return [
        "  ".join(
            row[column].rjust(widths[column]) if column in numbers else row[column].ljust(widths[column])
            for column in filled
        ).rstrip()
        for row in rows
    ]


def hang(name: str, text: str, indent: int = INDENT) -> list[str]:
    """Wrap a text behind its name."""
    return wrap(
        text,
        WIDTH,
        initial_indent=name.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def number_cell(value: float) -> str:
    """Four decimals, or four digits of a small number.

    Examples
    --------
    >>> number_cell(0.01234), number_cell(0.0000123456)
    ('0.0123', '1.235e-05')
    """
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.0001 else number(value)
