"""The screen: the answer first, then a table that fits, then at most two notes; the rest where it is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Container, Mapping, Sequence
from textwrap import wrap

from calibstat._dataclass import dataclass
from calibstat._lazy import LazyModule
from calibstat._text import counted, safe, shown

html = LazyModule("html")

WIDTH = 100
"""The longest line of a paragraph."""
INDENT = 12
"""Where paragraphs begin that stand beside their names."""
_NARROWEST = 40
_MOST_NOTES = 2
_TIED = "\u00a0%"
# Longer cells of a table are cut in their middle.
_LONGEST_CELL = 80


def terminal_width() -> int:
    """Return how many letters a line of the terminal holds; 100 where there is none."""
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


@dataclass(frozen=True, eq=False)
class Screen:
    """What a person sees of a result.

    Parameters
    ----------
    answer : str
        The answer with its direction and its size, in a sentence or two; each line of it is a paragraph.
    cells : sequence of sequence of str
        The table: the names of the columns, then row by row.
    notes : sequence of str
        What limits the answer, the most important first; two are shown.
    details : sequence of (str, str)
        Names and texts: how the numbers were computed. A text without a name continues the one before.
    text_columns : tuple of int
        The columns of the table that hold text; all others hold numbers, aligned to the right.
    spare : tuple of int
        The columns that a narrow terminal does without, the first one first.
    more : str
        How the reader sees notes and details that are not shown.
    """

    answer: str
    cells: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    details: Sequence[tuple[str, str]] = ()
    text_columns: tuple[int, ...] = (0,)
    spare: tuple[int, ...] = ()
    more: str = ".to_text(verbose=True)"

    def text(self, width: int | None = None, *, verbose: bool = False) -> str:
        """Write the screen for a terminal of this width (default: that of this terminal), or with everything.

        Parameters
        ----------
        width : int, optional
            The longest line; of sentences 100 letters at most. A table that is wider goes without its spare columns;
            with `verbose`, and where that does not suffice, it is laid out in parts, one below the other.
        verbose : bool
            Whether to show all columns, all notes and all details.
        """
        width = terminal_width() if width is None else width
        prose = min(width, WIDTH)
        spare = () if verbose else self.spare
        hidden = too_many(self.cells, spare, width)
        table = layout(without(self.cells, hidden), self._numbers_without(hidden), width)
        below = [("note", note) for note in (self.notes if verbose else self.notes[:_MOST_NOTES])]
        below += [*self.details] if verbose else []
        indent = max([INDENT - 2, *(len(name) for name, _ in below)]) + 2
        parts = [
            [line for paragraph in self.answer.split("\n") for line in hang("", paragraph, 0, prose)],
            table,
            [line for name, text in below for line in hang(name, text, indent, prose)],
            [] if verbose else hang("", self._rest(hidden), 0, prose),
        ]
        return safe("\n\n".join("\n".join(part) for part in parts if part))

    def html(self) -> str:
        """Write the screen as HTML, everything escaped; notes and details that it does not show can be opened."""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes[:_MOST_NOTES])
        rest = [("note", note) for note in self.notes[_MOST_NOTES:]] + [*self.details]
        more = f"<details><summary>more</summary>{table_html(rest, [0, 1])}</details>" if rest else ""
        answer = "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in self.answer.split("\n"))
        table = table_html(self.cells, filled(self.cells), heading=True)
        return f"<div>{answer}{table}{notes}{more}</div>"

    def _numbers_without(self, hidden: Container[int]) -> list[int]:
        kept = [column for column in range(len(self.cells[0]) if self.cells else 0) if column not in hidden]
        return [place for place, column in enumerate(kept) if column not in self.text_columns]

    def _rest(self, hidden: Sequence[int]) -> str:
        """Say what is not shown, and how to see it."""
        notes = len(self.notes) - _MOST_NOTES
        left = [f"column {self.cells[0][column]}" for column in hidden]
        left += [counted(notes, "more note")] if notes > 0 else []
        left += ["how this was computed"] if self.details else []
        return f"{_listed(left)}: {self.more}" if left else ""


def _listed(names: Sequence[str]) -> str:
    text = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    return text[:1].upper() + text[1:]


# Tables and paragraphs as text.


def layout(rows: Sequence[Sequence[str]], numbers: Container[int], width: int | None = None) -> list[str]:
    """Lay rows out in columns, numbers to the right; columns without content below the first row are left out.

    A table wider than `width` is laid out in parts, one below the other, each with the first column.

    >>> layout([["a", "n", "x"], ["b", "10", ""]], numbers=[1])
    ['a   n', 'b  10']
    >>> layout([["a", "n", "m"], ["b", "10", "1000"]], numbers=[1, 2], width=8)
    ['a   n', 'b  10', '', 'a     m', 'b  1000']
    """
    columns = filled(rows)
    if not columns:
        return []
    longest = {column: _LONGEST_CELL if width is None else max(width - 2, 3) for column in columns}
    if width is not None:  # the first column is repeated, and leaves room for the others
        others = sum(max(len(shown(row[column])) for row in rows) + 2 for column in columns[1:])
        first = min(_LONGEST_CELL, max(width // 3, width - others, 3), max(len(shown(row[columns[0]])) for row in rows))
        longest |= {columns[0]: first} | {column: max(width - 2 - first, 3) for column in columns[1:]}
    rows = [[_cut(shown(cell), longest.get(column, 3)) for column, cell in enumerate(row)] for row in rows]
    widths = {column: max(len(row[column]) for row in rows) for column in columns}
    parts = [[columns[0]]]
    for column in columns[1:]:
        if width is not None and len(parts[-1]) > 1 and _width_of([*parts[-1], column], widths) > width:
            parts.append([columns[0]])
        parts[-1].append(column)
    lines = [[_line(row, part, widths, numbers) for row in rows] for part in parts]
    return [line for k, part in enumerate(lines) for line in (["", *part] if k else part)]


def too_many(rows: Sequence[Sequence[str]], spare: Sequence[int], width: int) -> list[int]:
    """Return which of the spare columns, the first ones first, a table of this width must do without.

    >>> too_many([["a", "n", "m"], ["b", "10", "1000"]], spare=(1, 2), width=8)
    [1]
    """
    columns = filled(rows)
    widths = {column: max(min(len(shown(row[column])), _LONGEST_CELL) for row in rows) for column in columns}
    hidden: list[int] = []
    for column in (each for each in spare if each in columns):
        if _width_of([each for each in columns if each not in hidden], widths) <= width:
            break
        hidden.append(column)
    return hidden


def without(rows: Sequence[Sequence[str]], hidden: Container[int]) -> list[list[str]]:
    """Return the rows without these columns."""
    return [[cell for column, cell in enumerate(row) if column not in hidden] for row in rows]


def filled(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns with content below the first row."""
    return [column for column in range(len(rows[0]) if rows else 0) if any(row[column] for row in rows[1:])]


def hang(name: str, text: str, indent: int = INDENT, width: int = WIDTH) -> list[str]:
    """Wrap a text behind its name; a number stays with its percent sign."""
    lines = wrap(
        text.replace(" %", _TIED),
        width,
        initial_indent=name.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " %") for line in lines]


def table_html(rows: Sequence[Sequence[str]], columns: Sequence[int], heading: bool = False) -> str:
    """Return a table of escaped cells; its first row is the heading where there is one."""
    lines = [
        "".join(f"<{tag}>{html.escape(row[column])}</{tag}>" for column in columns)
        for row, tag in zip(rows, ["th" if heading else "td", *["td"] * len(rows)], strict=False)
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""


def _width_of(columns: Sequence[int], widths: Mapping[int, int]) -> int:
    return sum(widths[column] + 2 for column in columns) - 2


def _line(row: Sequence[str], columns: Sequence[int], widths: Mapping[int, int], numbers: Container[int]) -> str:
    cells = (row[each].rjust(widths[each]) if each in numbers else row[each].ljust(widths[each]) for each in columns)
    return "  ".join(cells).rstrip()


def _cut(cell: str, most: int) -> str:
    """Cut a text that is longer in its middle."""
    head = (most - 3) // 2
    return cell if len(cell) <= most else f"{cell[:head]}...{cell[len(cell) - (most - 3 - head) :]}"
