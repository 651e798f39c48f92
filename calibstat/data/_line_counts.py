"""Delimited text whose lines are counted while it is read: pandas drops extra values without a word."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

from calibstat._progress import tell

BLOCK = 1 << 18  # as many bytes as pandas asks for at once, so that no block is copied
LONGEST = 1 << 26
TOO_LONG = f"line {{}} is longer than {LONGEST >> 20} MiB: it is no table, or a value in quotation marks does not end"

NO_END = "line {}: a value in quotation marks does not end: close it with another mark, or take the mark away"


class CountedLines(io.RawIOBase):
    """The lines after the header, passed on once the values in each line are counted.

    `stream` is a file of bytes that stands at the line after the header, and `start` holds bytes read before that; each
    line must have `n_columns` values, and the first one is line number `line` of the file (lines count from 1).
    """

    def __init__(self, stream: Any, delimiter: str, n_columns: int, line: int, start: bytes = b"") -> None:
        self._stream = stream
        self._ready = start
        self.counter = LineCounter(delimiter, n_columns, line)
        self.counter.feed(start)
        plain = isinstance(
            getattr(stream, "raw", None), io.FileIO
        )  # a pipe has size 0; of a compressed file no share is known
        self._size = os.fstat(stream.fileno()).st_size if plain else 0

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return lines that are ready, up to so many bytes of them; none at the end."""
        if size < 0:
            return self.readall()
        if not self._ready:
            self._ready = self._stream.read(BLOCK)
            self.counter.feed(self._ready) if self._ready else self.counter.end()
            if self._size:
                tell(min(1.0, self._stream.tell() / self._size))
        taken, self._ready = self._ready[:size], self._ready[size:]
        return taken


class LineCounter:
    """Counts the values in each line of text that arrives in blocks, for `CountedLines`.

    A line with more values than columns is an error, unless all values beyond are empty; `short` describes the first
    line that has fewer.
    """

    def __init__(self, delimiter: str, n_columns: int, line: int) -> None:
        self._delimiter = delimiter
        self._n = n_columns
        self._others = bytes(set(range(256)) - set(b'\r\n"' + delimiter.encode()))
        self._record = delimiter.encode() * (n_columns - 1) + b"\n"
        self._line = self._first = line
        self._held = b""
        self._begun: int | None = 0  # how many values of the line that is held have ended; None if that is not plain
        self.short = ""

    def feed(self, block: bytes) -> None:
        """Count all lines that end in this block; a ValueError if one has too many values."""
        # The fast path: there is nothing but line ends, and as many delimiters before each as there must be.
        kinds = block.translate(None, self._others)
        n_lines = kinds.count(b"\n")
        if self._begun is None or kinds != (self._record * (n_lines + 1))[self._begun :][: len(kinds)]:
            self._feed_unusual(block)
            begun = self._held.translate(None, self._others)
            self._begun = len(begun) if len(begun) < self._n and self._record.startswith(begun) else None
            return
        self._line += n_lines
        self._begun = (self._begun + len(kinds)) % self._n
        end = block.rfind(b"\n") + 1
        self._held = block[end:] if end else self._held + block
        self._refuse_endless()

    def _feed_unusual(self, block: bytes) -> None:
        text = self._held + block
        # A carriage return at the end may be the first half of the end of a line.
        tail = b"\r" if text.endswith(b"\r") else b""
        if b"\r" in text:
            text = text[: len(text) - len(tail)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = text.rfind(b"\n") + 1
        self._held = text[end:] + tail
        if end:
            self._held = self._count(text[:end], last=False) + self._held
        self._refuse_endless()

    def _refuse_endless(self) -> None:
        if len(self._held) > LONGEST:
            raise ValueError(TOO_LONG.format(self._line))

    def end(self) -> None:
        """Count the last line, which may lack its line ending."""
        text, self._held = self._held.rstrip(b"\r"), b""
        if text:
            self._count(text + b"\n", last=True)

    def _count(self, text: bytes, *, last: bool) -> bytes:
        """Count whole lines; return the unfinished record, which may continue in the next block."""
        # Two quotation marks side by side belong to one value; if every value has an even number of marks, no delimiter
        # stands inside quotation marks.
        kinds = text.translate(None, self._others).replace(b'""', b"")
        n_lines = kinds.count(b"\n")
        if kinds == self._record * n_lines:
            self._line += n_lines
            return b""
        return self._count_by_record(text, last=last)

    def _judge_record(self, values: list[str], line: int) -> None:
        what = f"line {line} has {len(values)} value{'' if len(values) == 1 else 's'}, {self._n} expected"
        if any(value.strip() for value in values[self._n :]):
            hints = ["the first line must name every column"] if line == self._first else []
            if self._delimiter == ",":
                hints.append("numbers have a decimal point, not a comma, and a text with a comma is in double quotes")
            raise ValueError(": ".join([what, "; ".join(hints)] if hints else [what]))
        if len(values) < self._n and any(values) and not self.short:
            self.short = f"{what}: the values that are not there count as missing"

    def _count_by_record(self, text: bytes, *, last: bool) -> bytes:
        """Count as the csv module does; the last record may go on in the next block."""
        lines = io.StringIO(text.decode("latin-1"), newline="\n").readlines()
        reader = csv.reader(lines, delimiter=self._delimiter, skipinitialspace=True)
        begun, start, held = 0, 0, 0
        try:
            for values in reader:
                if not last and reader.line_num == len(lines):
                    held = len(lines) - start
                    break
                self._judge_record(values, self._line + start)
                begun, start = start, reader.line_num
        except csv.Error as error:
            raise ValueError(NO_END.format(self._line + start)) from error
        if last and self._is_open(lines[begun:]):
            raise ValueError(NO_END.format(self._line + begun))
        self._line += len(lines) - held
        return "".join(lines[len(lines) - held :]).encode("latin-1")

    def _is_open(self, record: list[str]) -> bool:
        """Whether another line would belong to the same record."""
        reader = csv.reader([*record, "\n"], delimiter=self._delimiter, skipinitialspace=True)
        next(reader, None)
        return reader.line_num > len(record)
