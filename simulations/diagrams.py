"""What the diagrams of several studies have in common: deviations of cells, and what noise alone gives of them."""

from __future__ import annotations

from typing import Any

import xarray as xr

MANY_CELLS = 60  # are drawn in thin lines
# The looks of two kinds of one colour, which marks tell apart where lines are short.
TWO_LOOKS = ({"linestyle": "-", "marker": "o"}, {"linestyle": "--", "marker": "s", "markerfacecolor": "none"})


def draw_deviations(ax: Any, cells: xr.Dataset, title: str) -> None:
    """Draw the deviation of each cell, and where those of a calibrated model lie in 90 % of samples.

    `cells` has the variables mean_prediction, deviation, low and high along "cell".
    """
    ax.axhline(0, color="0.7", linewidth=0.8)
    many = cells.sizes["cell"] >= MANY_CELLS
    bars = {"color": "C3", "linewidth": 0.7 if many else 2, "label": "noise, 90 %"}
    ax.vlines(cells["mean_prediction"], cells["low"], cells["high"], **bars)
    look = {"color": "black", "markersize": 4 if many else 6, "label": "seen"}
    ax.plot(cells["mean_prediction"], cells["deviation"], "x", **look)
    ax.set(ylabel="deviation", title=title)
