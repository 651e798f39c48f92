"""Drawing of reliability diagrams whose numbers are computed: frame, cells, curves, several models, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWNBASE, CARETLEFTBASE, CARETRIGHTBASE, CARETUPBASE
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator

from calibstat._dataclass import dataclass
from calibstat._text import percent, shown
from calibstat.data.arrays import Floats
from calibstat.data.parameters import LEVEL
from calibstat.displays._cells import CellAxis, shown_through, strip
from calibstat.displays._overlays import Overlay
from calibstat.displays._probability_axis import (
    Scale,
    crowds,
    ends,
    off_scale,
    on_scale,
    set_probability_axis,
    widened,
)
from calibstat.displays._style import BEYOND, CURVE, FAINT, INK, MARKERS, MODELS, NOISE, OURS, magnified, shortened

if TYPE_CHECKING:
    from calibstat.displays.reliability import ReliabilityDisplay

Kind: TypeAlias = Literal["deviation", "classical"]

# The strip of counts takes the lowest part of the axes; the data begin a little higher.
_STRIP, _FOOT = 0.12, 0.17
MIDDLE = (1 + _FOOT) / 2
"""The height of the middle of the data, as a share of that of the axes."""
_LOOKS: tuple[tuple[str, Any], ...] = ((CURVE, "-"), ("#009E73", "-"), ("#7A5195", "--"), ("#E69F00", "-."))
_LONGEST_NAME, _MOST_NAMES = 26, 12


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """Scales and limits, which several diagrams may share; `x_ends` and `y_ends` are where 0 and 1 are drawn."""

    kind: Kind
    over_prediction: bool
    x_scale: Scale
    y_scale: Scale
    x: tuple[float, float]
    y: tuple[float, float]
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]

    def clip_x(self, values: Floats) -> Floats:
        """Place 0 and 1 at the edge of a logit scale."""
        return np.clip(values, *self.x_ends) if self.x_scale == "logit" else values

    def clip_y(self, values: Floats) -> Floats:
        """Place 0 and 1 at the edge of a logit scale."""
        return np.clip(values, *self.y_ends) if self.y_scale == "logit" else values


@final
@dataclass(frozen=True, eq=False)
class Heights:
    """What is drawn of the cells (L,): the height of calibration, of the points, and of both ends of each bar."""

    calibrated: Floats
    point: Floats
    low: Floats
    high: Floats
    interval: tuple[Floats, Floats]

    @classmethod
    def of(cls, display: ReliabilityDisplay, kind: Kind) -> Heights:
        """Take deviations, or means."""
        base = display.mean_prediction if kind == "classical" else np.zeros_like(display.mean_prediction)
        shift = display.mean_prediction - base
        interval = display.wilson_low - shift, display.wilson_high - shift
        return cls(base, base + display.deviation, base + display.low, base + display.high, interval)


def crowded(probabilities: Floats, weights: Floats) -> Scale:
    """Return the scale that shows most."""
    return "logit" if crowds(probabilities, weights) else "linear"


def frame_of(
    displays: Sequence[ReliabilityDisplay], kind: Kind, scale: Scale | Literal["auto"], interval: str | None = None
) -> Frame:
    """Choose scales and limits that hold all cells, bars, intervals and nearly all rows of the displays."""
    axis = displays[0].axis
    if any(each.axis.variable != axis.variable for each in displays):
        raise ValueError("diagrams with different variables along the axis share no scale; draw one after the other.")
    if any(each.axis.categories != axis.categories for each in displays):
        raise ValueError("the samples have different categories along the axis; draw one diagram after the other.")
    over = axis.over_prediction
    crowd = sum(each.axis.scale == "logit" for each in displays)
    logit = scale == "logit" or (scale == "auto" and 2 * crowd > len(displays))
    chosen: Scale = "logit" if logit else "linear"
    x_scale: Scale = chosen if over else "linear"
    y_scale: Scale = chosen if kind == "classical" else "linear"
    places = [part for each in displays for part in (each.axis.position, np.array(each.axis.range))]
    heights = [Heights.of(each, kind) for each in displays]
    values = [part for each in heights for part in (each.point, each.low, each.high, each.calibrated)]
    values += [end for each in heights for end in each.interval] if interval else []
    both = [*places, *values] if over and kind == "classical" else None
    n = max((each.answer.n for each in displays if each.answer), default=10**6)
    x_ends, y_ends = ends(both or places, x_scale, n), ends(both or values, y_scale, n)
    x = _limits(places, x_scale, x_ends, bounded=over)
    if kind == "deviation":
        return Frame(
            kind, over, x_scale, y_scale, x, _limits([*values, np.zeros(1)], "linear", (-1, 1)), x_ends, y_ends
        )
    values += [np.array(x)] if over else []
    return Frame(kind, over, x_scale, y_scale, x, _limits(values, y_scale, y_ends, bounded=True), x_ends, y_ends)


def _limits(
    values: Sequence[Floats], scale: Scale, outermost: tuple[float, float], bounded: bool = False
) -> tuple[float, float]:
    """Return limits with a margin; a linear axis of probabilities that comes near 0 and 1 shows both."""
    together = np.concatenate([np.ravel(each) for each in values])
    low, high = float(together.min()), float(together.max())
    if scale == "logit":
        low, high = np.clip([low, high], *outermost)
    elif bounded:
        low, high = (0.0 if low < 0.1 else low), (1.0 if high > 0.9 else high)
    return widened(low, high, scale)


def prepare_axes(ax: Axes, display: ReliabilityDisplay, frame: Frame) -> None:
    """Set scales, limits and ticks, leave the foot of the axes to the strip, and draw the line of calibration."""
    low, high = frame.y
    if frame.kind == "classical":
        set_probability_axis(ax, "y", frame.y_scale, low, high)
    bottom, top = on_scale(np.array([low, high]), frame.y_scale)
    foot = float(off_scale(bottom - (top - bottom) * _FOOT / (1 - _FOOT), frame.y_scale))
    if frame.over_prediction:
        set_probability_axis(ax, "x", frame.x_scale, *frame.x)
    elif display.axis.categories is not None:
        _name_categories(ax, display.axis)
    ax.set_xlim(*frame.x)
    ax.set_ylim(foot, high)
    ax.spines["left"].set_bounds(low, high)
    if frame.kind == "deviation":
        ax.yaxis.set_major_locator(
            FixedLocator([tick for tick in MaxNLocator(7).tick_values(low, high) if low <= tick <= high])
        )
        ax.axhline(0, color=INK, linewidth=0.9, zorder=1)
    elif frame.over_prediction:
        line = np.array(frame.x)
        ax.plot(line, line, color=INK, linewidth=0.9, zorder=1, scalex=False, scaley=False)
    ax.axhline(low, color=FAINT, linewidth=0.5, zorder=0.5)


def _name_categories(ax: Axes, axis: CellAxis) -> None:
    """Write the names of categories below them: all, or as many as have room."""
    names = [shortened(shown(name), 14) for name in axis.categories or ()]
    slanted: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    look = slanted if sum(map(len, names)) > 24 else {}
    step = -(-len(names) // _MOST_NAMES)
    ax.set_xticks(axis.position[::step], names[::step], parse_math=False, **look)


def axis_labels(axis: CellAxis, frame: Frame) -> tuple[str, str]:
    """Return short labels; the long sentence is in the caption."""
    claim = "confidence" if axis.top else "predicted probability"
    x = claim if axis.variable is None else shortened(shown(axis.variable), _LONGEST_NAME)
    if frame.x_scale == "logit":
        x += " (logit scale)"
    if frame.kind == "deviation":
        return x, "accuracy minus confidence" if axis.top else "frequency minus probability"
    return x, "accuracy" if axis.top else "how often it happens"


# The cells of one model.


def draw_cells(
    ax: Axes, display: ReliabilityDisplay, frame: Frame, interval: str | None, options: dict[str, Any]
) -> tuple[Line2D, Line2D | None, Line2D | None, LineCollection, LineCollection | None, list[Any]]:
    """Draw bars, points, those beyond their bars, and marks at the edge; return them and the handles of the legend."""
    heights, x = Heights.of(display, frame.kind), frame.clip_x(display.axis.position)
    level, size = f"{100 * display.coverage:g} %", magnified(ax)
    bars = _vertical(ax, x, heights.low, heights.high, frame, color=NOISE, linewidth=6 * size, zorder=1.5)
    look: dict[str, Any] = {"color": INK, "marker": "o", "markersize": 4.5 * size, "linestyle": "none", "zorder": 3}
    y = frame.clip_y(heights.point)
    (line,) = ax.plot(x, y, **(look | {"label": "mean of a cell"} | options))
    handles = [_key(color=NOISE, linewidth=6, label=f"noise alone, {level}"), line] if len(x) else []
    if not frame.over_prediction and frame.kind == "classical":
        handles.append(_draw_claims(ax, x, frame.clip_y(heights.calibrated), display.axis))
    outside, found = None, display.beyond
    if found.any():
        look = {"color": BEYOND, "marker": "D", "markersize": 5 * size, "linestyle": "none", "zorder": 3.5}
        (outside,) = ax.plot(x[found], y[found], **look, label="more than noise, all cells")
        handles.append(outside)
    intervals = None
    if interval == "wilson":
        intervals = _vertical(ax, x, *heights.interval, frame, color=INK, linewidth=0.8, zorder=2.5)
        handles.append(_key(color=INK, linewidth=0.8, marker="|", label=f"Wilson, {level}"))
    clipped = _mark_clipped(ax, display.axis.position, heights.point, frame)
    if clipped is not None:
        handles.append(clipped)
    return line, outside, clipped, bars, intervals, handles


def _key(**look: Any) -> Line2D:
    return Line2D([], [], **look)


def _vertical(ax: Axes, x: Floats, low: Floats, high: Floats, frame: Frame, **look: Any) -> LineCollection:
    return ax.vlines(x, frame.clip_y(low), frame.clip_y(high), **look)


def _draw_claims(ax: Axes, x: Floats, y: Floats, axis: CellAxis) -> Line2D:
    """Draw mean predictions against a variable: a line, or a dash for each category."""
    if axis.categories is None:
        look: dict[str, Any] = {"color": INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}
        (found,) = ax.plot(x, y, **look, zorder=2, label="mean prediction")
    else:
        (found,) = ax.plot(
            x, y, color=INK, marker="_", markersize=16, markeredgewidth=2, linestyle="none", zorder=2,
            label="mean prediction",
        )  # fmt: skip
    return found


def _mark_clipped(ax: Axes, position: Floats, height: Floats, frame: Frame) -> Line2D | None:
    """Mark points at 0 or 1, or nearly, by a tip that points beyond the edge where they are drawn."""
    x, y = frame.clip_x(position), frame.clip_y(height)
    sides = (
        (CARETUPBASE, height > y), (CARETDOWNBASE, height < y), (CARETRIGHTBASE, position > x),
        (CARETLEFTBASE, position < x),
    )  # fmt: skip
    last = None
    for marker, there in sides:
        if there.any():
            look: dict[str, Any] = {
                "color": INK,
                "markersize": 6 * magnified(ax),
                "linestyle": "none",
                "zorder": 4,
                "clip_on": False,
            }
            (last,) = ax.plot(x[there], y[there], marker=marker, **look, label="beyond the edge")
    return last


# Curves.


def shown_curves(display: ReliabilityDisplay, frame: Frame) -> list[Overlay]:
    """Return the curves that are drawn: of one model, and around zero none that has steps."""
    if display.beside:
        return []
    return [curve for curve in display.curves if frame.kind == "classical" or not curve.steps]


def draw_curve(ax: Axes, curve: Overlay, rank: int, frame: Frame) -> Any:
    """Draw a curve and its bands within the limits of the diagram; return the handle for the legend."""
    colour, style = (INK, ":") if curve.truth else _LOOKS[rank % len(_LOOKS)]
    inside = (frame.clip_x(curve.x) == curve.x) | curve.steps  # steps reach the edge
    shift = curve.reference[inside] if frame.kind == "deviation" else 0.0
    x = frame.clip_x(curve.x[inside])
    handle: Any = None
    above = Rectangle((0, _FOOT), 1, 1 - _FOOT, transform=ax.transAxes)
    for low, high in curve.bands:
        handle = ax.fill_between(
            x, frame.clip_y(low[inside] - shift), frame.clip_y(high[inside] - shift), color=colour, alpha=0.16,
            linewidth=0, zorder=0.8, label=curve.label,
        )  # fmt: skip
        handle.set_clip_path(above)
    if curve.chance is None:  # of a band, where calibration leaves it
        low, high = curve.bands[-1]
        off = ((curve.reference < low) | (curve.reference > high))[inside]
        y = np.where(off, frame.clip_y(curve.reference[inside] - shift), np.nan)
        ax.plot(x, y, color=BEYOND, linewidth=2.4 * magnified(ax), zorder=2.2, scalex=False, scaley=False)
        return handle
    width = (2.2 if curve.truth else 1.5) * magnified(ax)
    (line,) = ax.plot(
        x, frame.clip_y(curve.chance[inside] - shift), color=colour, linestyle=style, linewidth=width,
        zorder=2, label=curve.label, scalex=False, scaley=False,
    )  # fmt: skip
    line.set_clip_path(above)
    return line


# Several models.


def draw_models(
    ax: Axes, displays: Sequence[ReliabilityDisplay], frame: Frame, options: dict[str, Any]
) -> tuple[list[Any], list[Line2D]]:
    """Draw the points of each model in its own colour, filled where they are more than noise."""
    handles, lines = [], []
    for display, colour, marker in zip(displays, MODELS, MARKERS, strict=False):
        heights, x = Heights.of(display, frame.kind), frame.clip_x(display.axis.position)
        y, order = frame.clip_y(heights.point), np.argsort(x)
        _vertical(ax, x, heights.low, heights.high, frame, color=NOISE, linewidth=2.5, zorder=1.5)
        join = "none" if display.axis.categories else "-"
        ax.plot(x[order], y[order], color=colour, linewidth=0.9, linestyle=join, zorder=2)
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "markersize": 5,
            "linestyle": "none",
            "zorder": 3,
        } | options
        (line,) = ax.plot(x, y, **(look | {"markerfacecolor": "white", "linestyle": "none", "zorder": 3}))
        ax.plot(x[display.beyond], y[display.beyond], **(look | {"linestyle": "none", "zorder": 3.5}))
        words = shortened(shown(display.name or ""), _LONGEST_NAME)
        if display.answer:
            words += f": {display.answer.short}"
        handles.append(_key(**(look | {"linestyle": join, "linewidth": 0.9}), label=words))
        lines.append(line)
    level = f"{100 * displays[0].coverage:g} %"
    handles.append(_key(color=NOISE, linewidth=4, label=f"noise alone, {level}; filled: more, all cells"))
    return handles, lines


# The strip of counts.


def draw_rows(ax: Axes, displays: Sequence[ReliabilityDisplay], frame: Frame) -> Axes:
    """Draw how rows spread along the axis, at the foot of the axes."""
    foot = ax.inset_axes((0, 0, 1, _STRIP), sharex=ax, zorder=0, label=OURS)
    top = 0.0
    for display, colour in zip(displays, MODELS, strict=False):
        edges, counts = strip(display.axis.rows[frame.x_scale], frame.x_scale, frame.x_ends)
        share = counts / max(counts.sum(), 1e-300)
        if len(displays) == 1:
            foot.stairs(share, edges, fill=True, color=FAINT)
        else:
            foot.stairs(share, edges, color=colour, linewidth=0.9)
        top = max(top, float(share.max()))
    foot.set_xlim(ax.get_xlim())
    foot.set_ylim(0, 1.05 * top or 1)
    foot.axis("off")
    return foot


# The caption.


def caption(display: ReliabilityDisplay) -> str:
    """Write what the diagram shows, and how to read it."""
    several = (display, *display.beside)
    frame = getattr(display, "_frame", None) or frame_of(several, "classical", "auto")
    parts = [_first_sentence(display, frame), *_noise(display, several, frame)]
    parts += [curve.sentence for curve in shown_curves(display, frame)]
    if "logit" in (frame.x_scale, frame.y_scale):
        parts.append("Probabilities have a logit scale; points at 0 or 1, or nearly, are drawn at its edge and marked.")
    if display.axis.rows[frame.x_scale][1].any():
        parts.append("The strip shows how the rows spread along the axis.")
    return " ".join([*parts, *(_answer_sentence(each) for each in several if each.answer)])


def _first_sentence(display: ReliabilityDisplay, frame: Frame) -> str:
    about = "the accuracy of the top label" if display.axis.top else f"the event {shown(display.axis.event, 60)}"
    what = "Mean outcome minus mean prediction" if frame.kind == "deviation" else "Mean outcome"
    along = "mean prediction" if display.axis.variable is None else shown(display.axis.variable, 60)
    if not len(display.count):
        return f"What is known of the chance of the event at each prediction{shown_through(display.lens)}."
    cells = f"{len(display.count)} cells ({display.cells})"
    return f"{what} against {along}, for {about}, in {cells}{shown_through(display.lens)}."


def _noise(display: ReliabilityDisplay, several: Sequence[ReliabilityDisplay], frame: Frame) -> list[str]:
    if not len(display.count):
        return []
    chance = percent(round(1 - display.coverage, 6))
    where = {True: "the line of calibration", False: "the mean prediction"}[frame.over_prediction]
    outside, beyond = (
        sum(int(each.sum()) for each in found)
        for found in zip(*((one.outside, one.beyond) for one in several), strict=True)
    )
    points, each = ("Filled points", ", of each model") if display.beside else ("Points in the strong colour", "")
    total = sum(len(each.count) for each in several)
    clustered = display.seen is not None and display.seen.predictions.groups is not None
    independent = "independent clusters" if clustered else "independent rows"
    return [
        f"Pale bars about {where} hold the point of a calibrated model with a probability of "
        f"{percent(display.coverage)} or more, given its predictions and {independent}; {outside} of {total} points "
        f"lie outside, where calibration gives {chance} of them at most on average. {points} ({beyond}) are beyond "
        f"noise when all cells are looked at together: a calibrated model has any with a probability of "
        f"{percent(LEVEL)} at most{each}."
    ]


def _answer_sentence(display: ReliabilityDisplay) -> str:
    found = display.answer
    assert found is not None
    name = f"{shown(display.name, 60)}: " if display.name else ""
    head = f"{name}{found.lines[0].split(':')[0]} of {found.n:,} rows"
    word = found.word if found.pvalue > LEVEL else f"{found.word}, at {percent(LEVEL)}"
    return (
        f"{head} ({word}); the {found.quantity} of these cells is {found.error:.3g}, where calibration gives "
        f"{found.noise:.3g} on average."
    )
