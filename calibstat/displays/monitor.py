"""Evidence of a monitor over time, with the alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._text import percent
from calibstat.data.arrays import Floats
from calibstat.displays._style import (
    BEYOND,
    FAINT,
    INK,
    NOISE,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    tick,
)

# Small digits above the line; a typesetter of formulas would take a second to start.
_RAISED = str.maketrans("-0123456789\N{MINUS SIGN}", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Run(NamedTuple):
    """The evidence of one monitor: rows fed before it began, rows (m,), powers of ten (m,), its alarm and its end.

    `change` is the interval of rows in which the change began that raised the alarm, if it was found.
    """

    before: int
    rows: Floats
    power: Floats
    alarm_row: int | None
    n_rows: int
    change: tuple[int, int] | None = None

    @property
    def largest(self) -> float:
        """The largest power of ten that is finite."""
        return float(self.power[np.isfinite(self.power)].max(initial=0.0))


@final
@dataclass(eq=False, repr=False)
class MonitorDisplay(ResultDisplay, PlotDisplay):
    """The evidence E of a monitor after each row, on a scale of powers of ten, and the line where the alarm is raised.

    The strip below that line is where E stays for ever with a probability of at least 1 - level if labels follow their
    predictions (Ville 1939). The path is in the strong colour from the alarm on; the change that raised it began in the
    shaded rows (95 %). Several monitors, each begun where the
    one before was stopped, stand one after the other; a broken line marks each restart, where E begins at 1 again.

    Make one by `from_result`, or ``monitor.plot()``.

    Parameters
    ----------
    runs : list of Run
        One for each monitor, in the order of time.
    level : float
        Probability of a false alarm of each monitor.
    null : str
        What the evidence is against.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    paths_ : list of matplotlib Line2D
        The path of each monitor; of one that raised its alarm, the part from there on is in `alarms_`.
    alarms_, restarts_ : list of matplotlib Line2D
    changes_ : list of matplotlib Patch
        The rows in which a change began.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> monitor = cs.Monitor()
    >>> monitor.update(p, rng.random(2000) < p**1.5)
    True
    >>> display = monitor.plot()
    >>> display.runs[0].alarm_row == monitor.alarm_row
    True
    """

    runs: list[Run]
    level: float
    null: str
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 2.8)

    @classmethod
    def compute(cls, result: Any, *, name: str | None = None) -> Self:
        """Compute the numbers of the picture of monitors, without drawing it."""
        found = [_dataset(each) for each in (result if isinstance(result, Sequence) else [result])]
        if not found:
            raise ValueError("no monitor is given, but one or more are expected.")
        levels = sorted({float(each.attrs["level"]) for each in found})
        if len(levels) != 1:
            raise ValueError(f"monitors with {len(levels)} levels {levels} are given, but one is expected.")
        runs: list[Run] = []
        for each in found:
            before = runs[-1].before + runs[-1].n_rows if runs else 0
            rows, power = each["row"].values.astype(float), each["log_e"].values / np.log(10)
            alarm = each.attrs.get("alarm_row")
            change = each.attrs.get("change_interval")
            span = None if change is None else (int(change[0]), int(change[1]))
            end = int(each.attrs["n_rows"])
            runs.append(Run(before, np.append(0.0, rows), np.append(0.0, power), alarm, end, span))
        return cls(runs, levels[0], str(found[0].attrs["hypothesis"]), name or found[0].attrs.get("name") or None)

    @property
    def threshold(self) -> float:
        """The power of ten at which the alarm is raised."""
        return float(-np.log10(self.level))

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        finite = np.concatenate([run.power[np.isfinite(run.power)] for run in self.runs])
        low = min(float(finite.min()) * 1.1, -0.3)
        high = 1.15 * max(float(finite.max()), 1.2 * self.threshold)
        ax.axhspan(low, self.threshold, color=NOISE, linewidth=0)
        self.paths_: list[Line2D] = []
        self.alarms_: list[Line2D] = []
        self.changes_: list[Patch] = []
        for run in self.runs:
            self._draw(ax, run, high, {"color": INK, "linewidth": 1.2, **options})
        self.restarts_ = [ax.axvline(run.before, color=FAINT, linestyle=(0, (4, 3))) for run in self.runs[1:]]
        ax.set(ylim=(low, high), xlim=(0, max(self.runs[-1].before + self.runs[-1].n_rows, 1)))
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.xaxis.set_major_formatter(tick)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.yaxis.set_major_formatter(_power_tick)
        label_axes(ax, "rows", "evidence E")
        legend_below(ax, self._handles())

    def _draw(self, ax: Axes, run: Run, high: float, look: dict[str, Any]) -> None:
        """Draw one path: plain up to the alarm, strong from there on; infinite evidence lies at the upper edge."""
        rows, power = run.before + run.rows, np.minimum(run.power, high)
        if run.alarm_row is None:
            self.paths_ += ax.plot(rows, power, **look)
            return
        at = run.before + run.alarm_row
        until, since = rows < at, rows >= at
        self.paths_ += ax.plot(np.append(rows[until], at), np.append(power[until], self.threshold), **look)
        late = np.append(at, rows[since]), np.append(self.threshold, power[since])
        self.alarms_ += ax.plot(*late, **(look | {"color": BEYOND, "linewidth": 2.0}))
        if run.change is not None:
            span = ax.axvspan(run.before + run.change[0] - 0.5, run.before + run.change[1] + 0.5)
            span.set(color=BEYOND, alpha=0.15, linewidth=0)
            self.changes_.append(span)
        ax.plot(at, self.threshold, marker="o", color=BEYOND, markersize=6, linestyle="none")

    def _handles(self) -> list[Any]:
        """Return what the legend explains."""
        found: list[Any] = [Patch(color=NOISE, label=f"noise alone stays here: {percent(1 - self.level)}")]
        if self.alarms_:
            found.append(Line2D([], [], color=BEYOND, linewidth=2, marker="o", label="since the alarm"))
        if self.changes_:
            label = f"the change began here ({percent(0.95)})"
            found.append(Patch(color=BEYOND, alpha=0.15, linewidth=0, label=label))
        if self.restarts_:
            found.append(Line2D([], [], color=FAINT, linestyle=(0, (4, 3)), label="restart"))
        return found

    @property
    def _answer(self) -> list[str]:
        now = self.runs[-1]
        found = [(run.before, run.alarm_row) for run in self.runs if run.alarm_row is not None]
        alarms = [
            f"after {row:,} rows" if not before else f"{row:,} rows after the restart (row {before + row:,})"
            for before, row in found
        ]
        if len(found) == 2:
            alarms = [f"at rows {' and '.join(f'{before + row:,}' for before, row in found)}"]
        rows = "; ".join(f"n = {run.n_rows:,}" for run in self.runs[-2:])
        size = f"E = {_evidence(now.power[-1])} now, alarm at {1 / self.level:.3g}; {rows}"
        if not alarms:
            return ["no alarm so far", size]
        first = f"alarm{'s' if len(found) == 2 else ''} {alarms[0]}" if len(found) <= 2 else f"{len(found)} alarms"
        if now.alarm_row is None:
            first += "; none since the restart"
        return [first, size]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        several = "" if len(self.runs) == 1 else " At each broken line a new monitor begins, at E = 1."
        rows = ", ".join(str(run.n_rows) for run in self.runs)
        return (
            f"Evidence E against the null that {self.null}, after each of {rows} rows. If it holds, E ever reaches "
            f"{1 / self.level:.4g} with a probability of at most {percent(self.level)}, however often one looks (Ville "
            f"1939).{several}"
        )


def _dataset(monitor: Any) -> Any:
    """Return the evidence of a monitor as a Dataset; refuse anything else."""
    found = monitor.to_dataset() if hasattr(monitor, "to_dataset") and not hasattr(monitor, "data_vars") else monitor
    if "log_e" not in getattr(found, "data_vars", ()):
        raise TypeError(f"a Monitor, or its to_dataset(), is expected, but a {type(monitor).__name__} is given.")
    return found


def _power_tick(power: float, _: float | None = None) -> str:
    return f"10{f'{power:.0f}'.translate(_RAISED)}" if power else "1"


def _evidence(power: float) -> str:
    """Write 10 to some power out, or as a power where it is large or small."""
    if not np.isfinite(power):
        return "infinite"
    return f"{10**power:.3g}" if abs(power) < 4 else f"10^{power:.0f}"
