"""Evidence over time, thinned so that it never takes more memory than so many points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints
from calibstat.monitoring._stored import expect, stored, stored_ints

_MOST_POINTS = 2000


@final
class EvidencePath:
    """Log evidence after every `stride`-th row; the stride doubles when points become too many.

    Which points are kept depends on the number of rows alone. The largest value and the first crossing of the
    threshold, of the log evidence, are kept exactly.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.n_rows = 0
        self.stride = 1
        self.kept: list[tuple[int, float]] = []
        self.last = 0.0
        self.largest = 0.0
        self.largest_row = 0
        self.alarm_row = 0

    @property
    def rows(self) -> Ints:
        """The rows that are kept, counting from 1."""
        return np.array([row for row, _ in self.kept], dtype=np.int64)

    @property
    def values(self) -> Floats:
        """The log evidence after each of these rows."""
        return np.array([value for _, value in self.kept], dtype=float)

    def add_one(self, log_e: float) -> None:
        """Add the log evidence after the next row, as `add` does."""
        self.n_rows += 1
        if log_e > self.largest:
            self.largest, self.largest_row = log_e, self.n_rows
        if not self.alarm_row and log_e >= self.threshold:
            self.alarm_row = self.n_rows
        self.last = log_e
        if self.n_rows % self.stride == 0:
            self._keep([(self.n_rows, log_e)])

    def add(self, log_e: Floats) -> None:
        """Add the log evidence (n,) after each of the next rows."""
        numbers = np.arange(self.n_rows + 1, self.n_rows + len(log_e) + 1)
        self.n_rows += len(log_e)
        top = int(log_e.argmax())
        if log_e[top] > self.largest:
            self.largest, self.largest_row = float(log_e[top]), int(numbers[top])
        crossed = log_e >= self.threshold
        if not self.alarm_row and crossed.any():
            self.alarm_row = int(numbers[crossed.argmax()])
        self.last = float(log_e[-1])
        kept = numbers % self.stride == 0
        self._keep(list(zip(numbers[kept].tolist(), log_e[kept].tolist(), strict=True)))

    def _keep(self, points: list[tuple[int, float]]) -> None:
        self.kept += points
        while len(self.kept) > _MOST_POINTS:
            self.stride *= 2
            self.kept = [(row, value) for row, value in self.kept if row % self.stride == 0]

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        return {
            "rows": self.rows,
            "values": self.values,
            "whole": np.array([self.n_rows, self.stride, self.largest_row, self.alarm_row]),
            "levels": np.array([self.last, self.largest]),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.n_rows, self.stride, self.largest_row, self.alarm_row = stored_ints(state, "whole", (4,)).tolist()
        self.last, self.largest = stored(state, "levels", (2,)).tolist()
        rows = stored_ints(state, "rows", (None,), 1, self.n_rows)
        self.kept = list(zip(rows.tolist(), stored(state, "values", (len(rows),)).tolist(), strict=True))
        expect(self.stride > 0 and self.largest_row <= self.n_rows, "the largest value is that of a row")
        expect(self.largest >= max(self.last, 0.0), "the largest value is the largest")
        expect(
            0 < self.alarm_row <= self.largest_row if self.largest >= self.threshold else self.alarm_row == 0,
            "an alarm is raised where the threshold is reached",
        )
