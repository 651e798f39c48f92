"""Several reliability diagrams in one picture, on the same scale."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from calibstat.displays.reliability import ReliabilityDisplay


def side_by_side(displays: Sequence[ReliabilityDisplay], title: str | None = None) -> Figure:
    """Draw deviations side by side; no window opens.

    Parameters
    ----------
    displays : sequence of ReliabilityDisplay
        Their names become titles.
    title : str, optional
        Of the whole picture.

    Returns
    -------
    matplotlib Figure
    """
    figure = Figure(figsize=(5.4 * len(displays), 4.6), layout="constrained")
    axes = figure.subplots(1, len(displays), squeeze=False)[0]
    for display, ax in zip(displays, axes, strict=True):
        display.plot(ax)
    wide, high = _around([ax.get_xlim() for ax in axes]), _around([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set(xlim=wide, ylim=high)
    for ax in axes[1:]:
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    if title is not None:
        figure.suptitle(title)
    return figure


def _around(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in limits), max(high for _, high in limits)
