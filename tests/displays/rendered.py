"""What a reader sees of a figure, measured by its renderer: nothing is cut off, and no words lie on data or words."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 1.0  # pixels


def assert_readable(figure: Figure) -> None:
    """Everything lies inside the figure, words do not overlap, and no word or legend lies on a point of the data."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    words = _words(figure, renderer)
    page = figure.bbox
    for text, box in words:
        inside = box.x0 >= -SLACK and box.y0 >= -SLACK and box.x1 <= page.x1 + SLACK and box.y1 <= page.y1 + SLACK
        assert inside, f"{text!r} is cut off: {box} outside {page}"
    for i, (text, box) in enumerate(words):
        for other, beside in words[:i]:
            shared = Bbox.intersection(box, beside)
            on = shared is not None and shared.width > SLACK and shared.height > SLACK
            assert not on, f"{text!r} lies on {other!r}"
    for x, y in _points(figure):
        for text, box in words:
            assert not (box.x0 + SLACK < x < box.x1 - SLACK and box.y0 + SLACK < y < box.y1 - SLACK), (
                f"{text!r} lies on a point of the data at ({x:.0f}, {y:.0f})"
            )


def _words(figure: Figure, renderer) -> list[tuple[str, Bbox]]:
    found = []
    for text in figure.findobj(lambda each: isinstance(each, Text) and each.get_visible() and each.get_text().strip()):
        axis = getattr(text, "axes", None)
        if axis is not None and not axis.get_visible():
            continue
        found.append((text.get_text(), text.get_window_extent(renderer)))
    seen_ticks = _ticks_outside(figure, renderer)
    return [(text, box) for text, box in found if (text, tuple(box.extents)) not in seen_ticks]


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


def _points(figure: Figure) -> np.ndarray:
    found = [np.empty((0, 2))]
    for ax in figure.axes:
        lines = [line for line in ax.get_lines() if line.get_transform().contains_branch(ax.transData)]
        for line in lines:
            xy = np.asarray(line.get_xydata(), dtype=float)
            if line.get_marker() not in (None, "", "None", " "):
                found.append(ax.transData.transform(xy) if len(xy) else np.empty((0, 2)))
        for each in ax.collections:
            if isinstance(each, PathCollection):
                found.append(each.get_offset_transform().transform(np.ma.filled(each.get_offsets(), np.nan)))
            elif isinstance(each, LineCollection):
                found += [ax.transData.transform(segment) for segment in each.get_segments() if len(segment)]
    points = np.concatenate(found)
    return points[np.isfinite(points).all(axis=1)]
