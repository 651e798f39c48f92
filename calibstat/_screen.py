"""The screen: the answer first, then a table that fits, then at most two notes; the rest where it is asked for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Container, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

from calibstat._dataclass import dataclass
from calibstat._lazy import LazyModule
from calibstat._text import counted, safe, shown

html = LazyModule("html")

WIDTH = 100
"""The longest line of a paragraph: in a wider terminal tables are wider, but longer lines are hard to read."""
INDENT = 12
"""Where paragraphs begin that stand beside their names."""
_NARROWEST = 40
_MOST_NOTES = 2
_TIED = "\u00a0%"
# Longer cells of a table are cut in their middle.
_LONGEST_CELL = 80
# Numbers so short are not broken in a notebook: "< 1e-12".
_ONE_LINE = 8
# Texts beside the first column of a table have at least so much room.
_LEAST_TEXT = 20
# Paragraphs with less room beside their names begin below them.
_LEAST_BESIDE, _BELOW = 40, 2
# Where a word may be broken: a mark that no name holds, since `shown` escapes it, and the space that breaks the line.
_BREAK = "\0 "
_WORDS = re.compile(r"(\s+)")


def terminal_width() -> int:
    """Return how many letters a line of the terminal holds; 100 where there is none."""
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def prose_width() -> int:
    """Return the longest line of a paragraph in this terminal."""
    return min(terminal_width(), WIDTH)


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
    spare : tuple of int, or of several together
        The columns that a narrow terminal does without, the first one first.
    more : str
        How the reader sees notes and details that are not shown.
    """

    answer: str
    cells: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    details: Sequence[tuple[str, str]] = ()
    text_columns: tuple[int, ...] = (0,)
    spare: tuple[int | tuple[int, ...], ...] = ()
    more: str = ".to_text(verbose=True)"

    def text(self, width: int | None = None, *, verbose: bool = False) -> str:
        """Write the screen for a terminal of this width (default: that of this terminal), or with everything.

        Parameters
        ----------
        width : int, optional
            The longest line, 40 letters at least; of sentences 100 letters at most. A table that is wider goes without
            its spare columns; with `verbose`, and where that does not suffice, it is laid out in parts, one below the
            other.
        verbose : bool
            Whether to show all columns, all notes and all details.
        """
        if width is not None and type(width) is not int:
            raise TypeError(f"width is {width!r}, but a whole number of letters is expected, such as 80")
        width = terminal_width() if width is None else max(_NARROWEST, width)
        prose = min(width, WIDTH)
        spare = () if verbose else self.spare
        hidden = too_many(self.cells, spare, width)
        table = layout(without(self.cells, hidden), self._numbers_without(hidden), width)
        notes = self._notes_without(hidden)
        below = [("note", note) for note in (notes if verbose else notes[:_MOST_NOTES])]
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
        notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes[:_MOST_NOTES])
        rest = [("note", note) for note in self.notes[_MOST_NOTES:]] + [*self.details]
        more = f"<details><summary>more</summary>{table_html(rest, [0, 1], (0, 1))}</details>" if rest else ""
        answer = "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in self.answer.split("\n"))
        table = table_html(self.cells, filled(self.cells), self.text_columns, heading=True)
        return f"<div>{answer}{table}{notes}{more}</div>"

    def _numbers_without(self, hidden: Container[int]) -> list[int]:
        kept = [column for column in range(len(self.cells[0]) if self.cells else 0) if column not in hidden]
        return [place for place, column in enumerate(kept) if column not in self.text_columns]

    def _notes_without(self, hidden: Sequence[int]) -> list[str]:
        """Return the notes, those last that begin with the name of a column that is not shown."""
        names = tuple(f"{self.cells[0][column]} " for column in hidden)
        return sorted(self.notes, key=lambda note: note.startswith(names))

    def _rest(self, hidden: Sequence[int]) -> str:
        """Say what is not shown, and how to see it."""
        notes = len(self.notes) - _MOST_NOTES
        left = list(dict.fromkeys(f"column {self.cells[0][column]}" for column in hidden))
        left += [counted(notes, "more note")] if notes > 0 else []
        left += ["how this was computed"] if self.details else []
        return f"{_listed(left)}: {self.more}" if left else ""


def _listed(names: Sequence[str]) -> str:
    text = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    return text[:1].upper() + text[1:]


# Tables and paragraphs as text.


def layout(rows: Sequence[Sequence[str]], numbers: Container[int], width: int | None = None) -> list[str]:
    """Lay rows out in columns, numbers to the right; columns without content below the first row are left out.

    In a table wider than `width` long texts go on in the next line: those of the widest column of text, where that is
    enough, and of the first column. If not, it is laid out in parts, one below the other, each with the first column.

    >>> layout([["a", "n", "x"], ["b", "10", ""]], numbers=[1])
    ['a   n', 'b  10']
    >>> layout([["a", "n", "m"], ["b", "10", "1000"]], numbers=[1, 2], width=8)
    ['a   n', 'b  10', '', 'a     m', 'b  1000']
    """
    columns = filled(rows)
    if not columns:
        return []
    cut = [[_cut(shown(cell)) for cell in row] for row in rows]
    widths = {column: max(len(row[column]) for row in cut) for column in columns}
    if width is not None:  # the first column is repeated, and leaves room for the others
        first, others = columns[0], sum(widths[column] + 2 for column in columns[1:])
        word = max(_indent_of(row[first]) + len(each) for row in cut for each in ["", *row[first].split()])
        widths[first] = min(widths[first], max(width // 3, width - others, min(word, width // 2)))
        widths |= {column: min(widths[column], width - 2 - widths[first]) for column in columns[1:]}
        texts = [column for column in columns[1:] if column not in numbers]
        widest = max(texts, key=widths.__getitem__, default=first)
        room = width - _width_of(columns, widths) + widths[widest]
        if texts and _LEAST_TEXT <= room < widths[widest]:
            widths[widest] = room
    parts = [[columns[0]]]
    for column in columns[1:]:
        if width is not None and len(parts[-1]) > 1 and _width_of([*parts[-1], column], widths) > width:
            parts.append([columns[0]])
        parts[-1].append(column)
    lines = [[line for row in cut for line in _lines(row, part, widths, numbers)] for part in parts]
    return [line for k, part in enumerate(lines) for line in (["", *part] if k else part)]


def too_many(rows: Sequence[Sequence[str]], spare: Sequence[int | tuple[int, ...]], width: int) -> list[int]:
    """Return which of the spare columns, the first ones first, a table of this width must do without.

    Columns that say something only together, such as what was predicted and what happened, go together.

    >>> too_many([["a", "n", "m"], ["b", "10", "1000"]], spare=(1, 2), width=8)
    [1]
    """
    columns = filled(rows)
    widths = {column: max(min(len(shown(row[column])), _LONGEST_CELL) for row in rows) for column in columns}
    hidden: list[int] = []
    for together in ((each,) if isinstance(each, int) else each for each in spare):
        if _width_of([each for each in columns if each not in hidden], widths) <= width:
            break
        hidden += [column for column in together if column in columns]
    return hidden


def without(rows: Sequence[Sequence[str]], hidden: Container[int]) -> list[list[str]]:
    """Return the rows without these columns."""
    return [[cell for column, cell in enumerate(row) if column not in hidden] for row in rows]


def filled(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns with content below the first row."""
    return [column for column in range(len(rows[0]) if rows else 0) if any(row[column] for row in rows[1:])]


def hang(name: str, text: str, indent: int = INDENT, width: int = WIDTH) -> list[str]:
    """Wrap a text behind its name, or below it where there is little room; a number stays with its percent sign."""
    above = [name] if name and indent > _BELOW and width - indent < _LEAST_BESIDE else []
    if indent > _BELOW and width - indent < _LEAST_BESIDE:
        name, indent = "", _BELOW
    return above + _wrapped(text, width, name.ljust(indent), " " * indent)


def paragraph(text: str) -> str:
    """Break a text into lines that fit this terminal."""
    return "\n".join(hang("", " ".join(text.split()), 0, prose_width()))


def table_html(
    rows: Sequence[Sequence[str]], columns: Sequence[int], text_columns: Container[int], heading: bool = False
) -> str:
    """Return a table of escaped cells, text to the left; its first row is the heading where there is one."""
    left = {column: ' style="text-align: left"' if column in text_columns else "" for column in columns}

    def style(text: str, column: int) -> str:
        short = not left[column] and re.search("[ -]", text) and len(text) <= _ONE_LINE
        return ' style="white-space: nowrap"' if short else left[column]

    lines = [
        "".join(f"<{tag}{style(row[column], column)}>{html.escape(row[column])}</{tag}>" for column in columns)
        for row, tag in zip(rows, ["th" if heading else "td", *["td"] * len(rows)], strict=False)
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if lines else ""


def _width_of(columns: Sequence[int], widths: Mapping[int, int]) -> int:
    return sum(widths[column] + 2 for column in columns) - 2


def _lines(row: Sequence[str], columns: Sequence[int], widths: Mapping[int, int], numbers: Container[int]) -> list[str]:
    """Write a row of a part of the table, in several lines if a cell needs them, and in none if all are empty."""
    cells = [_in_lines(row[each], widths[each]) for each in columns]
    lines = []
    for texts in zip_longest(*cells, fillvalue=""):
        placed = (
            text.rjust(widths[each]) if each in numbers else text.ljust(widths[each])
            for each, text in zip(columns, texts, strict=True)
        )
        lines.append("  ".join(placed).rstrip())
    return [line for line in lines if line]


def _in_lines(cell: str, width: int) -> list[str]:
    """Break a cell between words, of which longer ones are cut; further lines of it are indented."""
    if len(cell) <= width:
        return [cell]
    indent = min(_indent_of(cell), width // 2)
    return _wrapped("".join(_cut(word, width - indent) for word in _WORDS.split(cell)), width, "", " " * indent)


def _indent_of(cell: str) -> int:
    """Return where further lines of a cell begin."""
    return len(cell) - len(cell.lstrip()) + 2


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    """Break a text between words, and a word that does not fit into a line after a bracket or a comma."""
    room = width - len(later)
    words = (re.sub(r"(?<=[(,])", _BREAK, word) if len(word) > room else word for word in _WORDS.split(text))
    lines = wrap(
        "".join(words).replace(" %", _TIED),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BREAK, "").replace(_BREAK.rstrip(), "").replace(_TIED, " %") for line in lines]


def _cut(text: str, most: int = _LONGEST_CELL) -> str:
    """Cut a text that is longer in its middle."""
    head = (most - 3) // 2
    return text if len(text) <= most else f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"
