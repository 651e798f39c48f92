"""What a reader sees of a figure, measured by its renderer: nothing is cut off, and no words lie on data or words."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

DPI = 300  # of print; without hinting, letters have the widths of vector graphics
SLACK = 0.01 * DPI  # dots
SPARE = 0.03  # words may be so much longer elsewhere


def assert_readable(figure: Figure) -> None:
    """Everything lies inside the figure, words do not overlap, and no word or legend lies on a point of the data.

    The figure is measured as it is printed and as vector graphics, which is not how a screen shows it.
    """
    if not hasattr(figure.canvas, "get_renderer"):
        FigureCanvasAgg(figure)  # a figure that pyplot does not know
    dpi = figure.dpi
    figure.set_dpi(DPI)
    try:
        with mpl.rc_context({"text.hinting": "none"}):
            _assert_readable(figure)
    finally:
        figure.set_dpi(dpi)


def _assert_readable(figure: Figure) -> None:
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    texts = _words(figure, renderer)
    words = [(text.get_text(), box) for text, box in texts]
    page = figure.bbox
    for each, box in texts:
        text = each.get_text()
        longer = SPARE * box.width if box.width > box.height else 0
        inside = box.x0 >= (0 if each.get_ha() == "left" else longer) - SLACK and box.y0 >= -SLACK
        inside &= box.x1 + longer <= page.x1 + SLACK and box.y1 <= page.y1 + SLACK
        assert inside, f"{text!r} is cut off: {box} outside {page}"
    for i, (text, box) in enumerate(texts):
        for other, beside in texts[:i]:
            shared = Bbox.intersection(box, beside)
            on = shared is not None and shared.width > SLACK and shared.height > SLACK
            assert not on or _parallel(text, other), f"{text.get_text()!r} lies on {other.get_text()!r}"
    for ax, text, box in _words_of_axes(figure, renderer):
        for other in figure.axes:
            shared = None if other is ax else Bbox.intersection(box, other.get_window_extent(renderer))
            on = shared is not None and shared.width > SLACK and shared.height > SLACK
            assert not on or _share_a_place(ax, other), f"{text!r} runs into the next axes"
    points = _points(figure)
    for text, box in words:
        low, high = box.padded(-SLACK).get_points()
        below = points[((points > low) & (points < high)).all(axis=1)]
        assert not len(below), f"{text!r} lies on a point of the data at ({below[0, 0]:.0f}, {below[0, 1]:.0f})"


def _words_of_axes(figure: Figure, renderer) -> list[tuple]:
    """The words around each axes: labels, titles and the answer, which must not run into other axes."""
    words = [
        (ax, text)
        for ax in figure.axes
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title, *ax.texts)
    ]
    return [(ax, text.get_text(), text.get_window_extent(renderer)) for ax, text in words if text.get_text().strip()]


def _parallel(one: Text, other: Text) -> bool:
    """Whether slanted words run beside each other, at least the height of a letter apart: their boxes may overlap."""
    angle = one.get_rotation()
    if angle % 90 == 0 or other.get_rotation() != angle:
        return False
    places = [text.get_transform().transform(text.get_unitless_position()) for text in (one, other)]
    across, along = places[0] - places[1]
    turned = np.deg2rad(angle)
    height = one.get_fontsize() * one.figure.dpi / 72
    return abs(along * np.cos(turned) - across * np.sin(turned)) > height


def _share_a_place(one, other) -> bool:
    """Axes that lie over each other, as twins do."""
    shared = Bbox.intersection(one.get_window_extent(), other.get_window_extent())
    return shared is not None and shared.width > SLACK and shared.height > SLACK


def _words(figure: Figure, renderer) -> list[tuple[Text, Bbox]]:
    found = []
    for text in figure.findobj(lambda each: isinstance(each, Text) and each.get_visible() and each.get_text().strip()):
        axis = getattr(text, "axes", None)
        if axis is not None and not axis.get_visible():
            continue
        found.append((text, text.get_window_extent(renderer)))
    seen_ticks = _ticks_outside(figure, renderer)
    return [(text, box) for text, box in found if (text.get_text(), tuple(box.extents)) not in seen_ticks]


def _ticks_outside(figure: Figure, renderer) -> set:
    """Labels of ticks beyond the limits of their axis: matplotlib keeps them, but does not draw them."""
    drawn, kept = set(), set()
    for ax in figure.findobj(lambda each: hasattr(each, "get_xticklabels")):
        for axis in (ax.xaxis, ax.yaxis):
            shown = {id(tick) for tick in axis._update_ticks()}
            for tick in [*axis.majorTicks, *axis.minorTicks]:
                for label in (tick.label1, tick.label2):
                    if label.get_text().strip():
                        key = (label.get_text(), tuple(label.get_window_extent(renderer).extents))
                        (
                            drawn
                            if id(tick) in shown and label.get_visible() and axis.get_visible() and ax.axison
                            else kept
                        ).add(key)
    return kept - drawn


def _along(corners: np.ndarray) -> np.ndarray:
    """Points of a curve, ten on each of its pieces."""
    shares = np.linspace(0, 1, 10, endpoint=False)[:, None, None]
    return np.concatenate([(corners[:-1] * (1 - shares) + corners[1:] * shares).reshape(-1, 2), corners[-1:]])


def _points(figure: Figure) -> np.ndarray:
    found, everywhere = [], [np.empty((0, 2))]
    for ax in [*figure.axes, *(child for parent in figure.axes for child in parent.child_axes)]:
        lines = [line for line in ax.get_lines() if line.get_transform().contains_branch(ax.transData)]
        for line in lines:
            xy = np.asarray(line.get_xydata(), dtype=float)
            if line.get_marker() not in (None, "", "None", " "):
                found.append(ax.transData.transform(xy) if len(xy) else np.empty((0, 2)))
            elif len(xy) > 2:  # a curve; two points are a line that marks something
                found.append(_along(ax.transData.transform(xy)))
        for each in ax.collections:
            if isinstance(each, PathCollection):
                found.append(each.get_offset_transform().transform(np.ma.filled(each.get_offsets(), np.nan)))
            elif isinstance(each, LineCollection):
                found += [ax.transData.transform(segment) for segment in each.get_segments() if len(segment)]
        for each in ax.patches:
            found.append(each.get_transform().transform(each.get_path().vertices))
        low, high = ax.get_window_extent().padded(SLACK).get_points()
        seen = np.concatenate([found.pop() for _ in range(len(found))] or [np.empty((0, 2))])
        seen = seen[np.isfinite(seen).all(axis=1)]
        everywhere.append(seen[((seen >= low) & (seen <= high)).all(axis=1)])
    return np.concatenate(everywhere)
