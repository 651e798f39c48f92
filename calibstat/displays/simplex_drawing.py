"""How a simplex diagram is drawn; all numbers are had before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from calibstat.arrays import Bools, Floats
from calibstat.binnings.intervals import closed_right
from calibstat.binnings.simplex_grid import SimplexGrid
from calibstat.displays.simplex_cells import on_plane

if TYPE_CHECKING:
    from calibstat.displays.simplex import SimplexDisplay

Drawn: TypeAlias = tuple[Quiver, Quiver | None, Collection, Colorbar]

# Colours of Okabe & Ito, told apart by colour-blind readers; the thickness differs too.
_WITHIN, _OUTSIDE, _LINE = "#0072B2", "#D55E00", "#B0B0B0"
# Shades that arrows can be seen on.
_SHADES = LinearSegmentedColormap.from_list("light greys", ["white", "#9A9A9A"])
# The same rounding as where the grid is cut.
_NOISE = 1e-12


def draw_simplex(ax: Axes, display: SimplexDisplay, options: dict[str, Any]) -> Drawn:
    """Draw the triangle, its cells, and an arrow for each cell."""
    _draw_triangle(ax, display)
    cells = _draw_cells(ax, display)
    bar = ax.figure.colorbar(cells, ax=ax, shrink=0.7, label="share of rows in the cell")
    outside, look = display.outside, {"color": _WITHIN, "width": 0.006} | options
    within = _draw_arrows(ax, display, ~outside, look)
    marked = _draw_arrows(ax, display, outside, {"color": _OUTSIDE, "width": 0.009}) if outside.any() else None
    _draw_legend(ax, display, look["color"])
    return within, marked, cells, bar


def _draw_triangle(ax: Axes, display: SimplexDisplay) -> None:
    corners = on_plane(np.eye(3))
    ax.plot(*corners[[0, 1, 2, 0]].T, color="black", linewidth=1, zorder=2)
    for (x, y), label in zip(corners, display.labels, strict=True):
        above = y > 0
        ax.annotate(
            str(label),
            (x, y),
            (0, 6 if above else -6),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
        )
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.08, 1.16), aspect="equal")
    ax.axis("off")


def _draw_cells(ax: Axes, display: SimplexDisplay) -> Collection:
    """Shade the triangles of a regular grid; of other cells, of unknown shape, a disc at the mean prediction."""
    shares, largest = display.proportion, float(display.proportion.max())
    if isinstance(display.binning, SimplexGrid):
        corners = [grid_cell(row, display.binning.n_bins) for row in display.mean_prediction]
        found = PolyCollection(
            [on_plane(each) for each in corners], edgecolors=_LINE, linewidths=0.6, zorder=1, cmap=_SHADES
        )
        found.set_array(shares)
        found.set_clim(0.0, largest)
        ax.add_collection(found)
        return found
    x, y = on_plane(display.mean_prediction).T
    return ax.scatter(x, y, c=shares, s=130, edgecolors=_LINE, zorder=1, cmap=_SHADES, vmin=0.0, vmax=largest)


def grid_cell(prediction: Floats, n_bins: int) -> Floats:
    """Return the corners (3, 3) of the cell of a regular grid that holds a prediction (3,).

    Steps of the three coordinates add up to n_bins - 1 in a triangle that points to where the outer one does, to
    n_bins - 2 in one that points away, and to n_bins - 3 in a cell that is nothing but a corner of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> grid_cell(np.array([0.7, 0.2, 0.1]), 2)
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0.5, 0. , 0.5]])
    """
    steps = closed_right(prediction - _NOISE, np.arange(n_bins + 1) / n_bins)
    missing = n_bins - int(steps.sum())
    shifts = {1: np.eye(3), 2: 1 - np.eye(3)}.get(missing, np.ones((3, 3)))
    return (steps + shifts) / n_bins


def _draw_arrows(ax: Axes, display: SimplexDisplay, chosen: Bools, options: dict[str, Any]) -> Quiver:
    tails, heads = on_plane(display.mean_prediction[chosen]), on_plane(display.mean_outcome[chosen])
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "units": "width", "zorder": 3}
    return ax.quiver(*tails.T, *(heads - tails).T, **(look | options))


def _draw_legend(ax: Axes, display: SimplexDisplay, colour: Any) -> None:
    """Say what the arrows and their colours are."""
    usual = Line2D([], [], color=colour, label="from mean prediction to frequencies of outcomes in the cell")
    rest = f"{100 * (1 - display.coverage):.3g} %"
    words = f"longer than noise: at most {rest} of draws of labels\nfrom the predictions give one as long in that cell"
    marked = Line2D([], [], color=_OUTSIDE, linewidth=3.0, label=words)
    handles = [usual, marked] if display.outside.any() else [usual]
    ax.legend(handles=handles, loc="upper left", fontsize="small", frameon=False, borderaxespad=0.0)
