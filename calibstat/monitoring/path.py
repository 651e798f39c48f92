"""Evidence over time, thinned so that it never takes more memory than so many points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from calibstat.arrays import Array, Floats

if TYPE_CHECKING:
    import xarray as xr

_MOST = 2000


@final
class EvidencePath:
    """Log evidence after every `stride`-th row; the stride doubles when points become too many.

    Which points are kept depends on the number of rows alone. The largest value and the first crossing of the
    threshold are kept exactly.

    Parameters
    ----------
    threshold : float
        Of the log evidence.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.n_rows = 0
        self.stride = 1
        self.rows = np.empty(0, dtype=np.int64)
        self.values = np.empty(0)
        self.last = 0.0
        self.largest = 0.0
        self.largest_row = 0
        self.alarm_row = 0

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
        self.rows = np.concatenate([self.rows, numbers[kept]])
        self.values = np.concatenate([self.values, log_e[kept]])
        while len(self.rows) > _MOST:
            self.stride *= 2
            kept = self.rows % self.stride == 0
            self.rows, self.values = self.rows[kept], self.values[kept]

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
        self.rows, self.values = state["rows"], state["values"]
        self.n_rows, self.stride, self.largest_row, self.alarm_row = (int(each) for each in state["whole"])
        self.last, self.largest = (float(each) for each in state["levels"])

    def to_dataset(self, attributes: Mapping[str, str | int | float]) -> xr.Dataset:
        """Return the points as an xarray Dataset along ``row``."""
        import xarray as xr

        log_e = ("row", self.values, {"long_name": "natural logarithm of the evidence against the null"})
        return xr.Dataset({"log_e": log_e}, coords={"row": self.rows}, attrs=dict(attributes))
