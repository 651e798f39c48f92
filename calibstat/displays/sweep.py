"""How estimators and tests behave over sample sizes and numbers of bins, with the noise of the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator
from scipy.special import bdtr, ndtri

from calibstat._text import counted
from calibstat.data.arrays import Bools, Floats
from calibstat.displays._style import (
    BEYOND,
    FAINT,
    INK,
    MARKERS,
    MODELS,
    NOISE,
    PlotDisplay,
    label_axes,
    legend_below,
    shortened,
    signed_percent_tick,
    tick,
)

Measure: TypeAlias = Literal["mean", "bias", "variance", "mse", "coverage", "rejection", "size", "power"]
_OF_TRUTH = ("bias", "mse", "coverage")
_SHARES = ("coverage", "rejection", "size", "power")
_WORDS = {
    "mean": "mean estimate",
    "bias": "bias: mean minus truth",
    "variance": "variance of the estimates",
    "mse": "mean squared error",
    "coverage": "intervals that cover the truth",
    "rejection": "rejected",
    "size": "rejected though the null is true",
    "power": "rejected where the null is false",
}
_AXES = {"n": "number of rows", "n_bins": "number of bins"}
_REACH = float(ndtri(0.975))


@final
@dataclass(eq=False, repr=False)
class SweepDisplay(PlotDisplay):
    """Bias, variance, mean squared error, size or power over sample sizes or numbers of bins.

    Make one by `from_result`, from what `summarise` returns. Each curve is an estimator or a test on a model, with a
    band of 95 % for the noise of the simulation (Morris et al. 2019). Estimates stand beside the truth, and
    beside the limit that they have with infinitely many rows in the same cells; the size of a test stands beside its
    level, with the range in which 95 % of the shares of an exact test lie after so many repeats: a share above that is
    in the strong colour.

    Parameters
    ----------
    measure : str
        What is drawn, a variable of the summary.
    along : {"n", "n_bins"}
    x : (G,) floats
        Sample sizes or numbers of bins.
    names : tuple of str
        What each curve is.
    values, errors : (S, G) floats
        Of each curve, with Monte Carlo standard errors.
    truth, limit : (S, G) floats, or None
        Where they are known, in the units of the measure.
    reference : float, optional
        Where a line is drawn: the level, for rejections.
    n_repeats : int
        Repeats of the place that has the fewest.
    name : str, optional
        Title.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
    bands_ : list of matplotlib FillBetweenPolyCollection
        Of each curve; empty where the range about the level is drawn instead.
    truth_, limit_ : list of matplotlib Line2D
    above_ : matplotlib Line2D or None
        Shares of rejections that are more than noise above the level.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import GaussianMixture
    >>> sweep = cs.Sweep(
    ...     GaussianMixture(0, -2),
    ...     n=[100, 400],
    ...     estimators={"ECE": cs.ECE(cs.EqualWidth(10)), "debiased": cs.DebiasedL2(cs.EqualWidth(10))},
    ...     n_repeats=20,
    ...     rng=0,
    ... )
    >>> display = cs.SweepDisplay.compute(cs.summarise(sweep.run(progress=False)), "bias")
    >>> display.names, display.values.round(2).tolist()
    (('ECE', 'debiased'), [[0.08, 0.04], [0.0, 0.0]])
    """

    measure: str
    along: str
    x: Floats
    names: tuple[str, ...]
    values: Floats
    errors: Floats
    _: KW_ONLY
    truth: Floats | None = None
    limit: Floats | None = None
    reference: float | None = None
    n_repeats: int
    name: str | None = None

    @classmethod
    def compute(
        cls,
        summary: Any,
        measure: Measure = "bias",
        *,
        along: Literal["n", "n_bins"] | None = None,
        where: Mapping[str, Any] | None = None,
        reference: float | None = None,
        name: str | None = None,
    ) -> SweepDisplay:
        """Take the numbers from the summary as `from_result` does, without drawing them."""
        _check_summary(summary, measure)
        try:
            chosen = summary.sel({key: _listed(value) for key, value in (where or {}).items()})
        except (KeyError, ValueError) as error:
            there = {key: values.values.tolist() for key, values in summary.coords.items()}
            raise ValueError(f"where is {where!r}, but the summary has {there!r}.") from error
        values = chosen[measure]
        if along is None:
            along = "n" if values.sizes.get("n", 1) > 1 or values.sizes.get("n_bins", 1) == 1 else "n_bins"
        if along not in _AXES:
            raise ValueError(f"along is {along!r}, but 'n' or 'n_bins' is expected: {measure} has {values.dims}.")
        others = [str(dim) for dim in values.dims if dim != along]
        tables = {key: _table(chosen, key, values, along, others) for key in (measure, f"{measure}_se")}
        known: Bools = np.asarray(np.isfinite(tables[measure]).any(axis=1))
        names = _names(values, others, known)
        if not names:
            why = "more repeats, or models of the other kind, give some"
            raise ValueError(f"{measure} has no value anywhere: {why}.")
        if len(names) > len(MODELS):
            raise ValueError(
                f"{measure} has {counted(len(names), 'curve')}, but a picture shows 1 to {len(MODELS)}: choose some by "
                f"where, for example where={{{others[0]!r}: {values[others[0]].values.tolist()[0]!r}}}."
            )
        beside = {}
        if measure in ("mean", "bias") and "truth" in chosen:
            truth, limit = (_table(chosen, key, values, along, others)[known] for key in ("truth", "limit"))
            beside = {"truth": truth, "limit": limit} if measure == "mean" else {"limit": limit - truth}
        of_pvalues = "n_intervals" if measure == "coverage" else "n_pvalues"
        count = chosen[of_pvalues if measure in _SHARES else "n_estimates"]
        if reference is None and measure in ("size", "rejection"):
            reference = float(summary.attrs["level"])
        elif reference is None and measure == "bias":
            reference = 0.0
        return cls(
            measure, along, values[along].values.astype(float), names, *(each[known] for each in tables.values()),
            **{key: each for key, each in beside.items() if np.isfinite(each).any()},
            reference=reference, n_repeats=int(count.min()), name=name,
        )  # fmt: skip

    @classmethod
    def from_result(
        cls,
        summary: Any,
        measure: Measure = "bias",
        *,
        along: Literal["n", "n_bins"] | None = None,
        where: Mapping[str, Any] | None = None,
        reference: float | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> SweepDisplay:
        """Draw a measure of a sweep.

        Parameters
        ----------
        summary : xarray Dataset
            What `summarise` returned.
        measure : {"mean", "bias", "variance", "mse", "coverage", "rejection", "size", "power"}
        along : {"n", "n_bins"}, optional
            By default the sample size, if there are several.
        where : mapping, optional
            Values of ``model``, ``estimator``, ``test``, ``n`` or ``n_bins`` to keep: one, or a list. There are at most
            eight curves.
        reference : float, optional
            Where a line is drawn: by default at the level for "size" and "rejection", at 0 for "bias". For "coverage"
            it is the confidence level.
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError, ValueError
            If the summary, the measure or the choice is not as described.
        """
        display = cls.compute(summary, measure, along=along, where=where, reference=reference, name=name)
        return display.plot(ax, **kwargs)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 3.4, 3.1 + 0.16 * len(self.names)

    @property
    def above(self) -> Bools:
        """(S, G) whether a share of rejections is more than noise above the level: beyond 97.5 % of exact tests."""
        return self.values > (self._noise[1] if self._noise else np.inf)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        self.lines_: list[Line2D] = []
        self.bands_: list[Any] = []
        self.truth_: list[Line2D] = []
        self.limit_: list[Line2D] = []
        self._draw_reference(ax)
        for values, errors, colour, marker in zip(self.values, self.errors, MODELS, MARKERS, strict=False):
            reach = _REACH * np.nan_to_num(errors)
            if not self._noise:
                band = ax.fill_between(self.x, values - reach, values + reach, color=colour, alpha=0.2, linewidth=0)
                self.bands_.append(band)
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.4, "zorder": 4}
            self.lines_ += ax.plot(self.x, values, **(look | options))
        for table, drawn, dashes in ((self.truth, self.truth_, "-"), (self.limit, self.limit_, (0, (3, 2)))):
            for row, colour in zip(() if table is None else table, MODELS, strict=False):
                drawn += ax.plot(self.x, row, color=colour, linewidth=0.8, linestyle=dashes, zorder=3)
        self.above_ = self._draw_above(ax)
        self._draw_axes(ax)
        legend_below(ax, *self._legend())

    @property
    def caption(self) -> str:
        """What is drawn, from how many repeats, and how to read it."""
        beside = ""
        if self.truth is not None or self.limit is not None:
            beside = " Dashed lines are where estimates go with infinitely many rows in the same cells" + (
                ", thin ones the truth." if self.truth is not None else ", minus the truth."
            )
        if self._noise:
            beside = (
                f" The pale band is where 95 % of the shares of an exact test lie after {self.n_repeats} repeats; "
                "shares above it are in the strong colour."
            )
        return (
            f"{_WORDS[self.measure][0].upper()}{_WORDS[self.measure][1:]} over the {_AXES[self.along]}, from at least "
            f"{counted(self.n_repeats, 'repeat')} at each place, with bands of 95 % for the noise of the simulation."
            f"{beside}"
        )

    @property
    def _noise(self) -> tuple[float, float] | None:
        """The range in which 95 % of the shares of an exact test lie (binomial); None where there is no level."""
        if self.measure not in ("size", "rejection") or self.reference is None:
            return None
        upto = bdtr(np.arange(self.n_repeats + 1), self.n_repeats, self.reference)
        low, high = np.searchsorted(upto, [0.025, 0.975])
        return float(low / self.n_repeats), float(high / self.n_repeats)

    def _draw_reference(self, ax: Axes) -> None:
        if self.reference is not None:
            ax.axhline(self.reference, color=INK, linewidth=0.8, zorder=1)
            if self._noise:
                ax.axhspan(*self._noise, color=NOISE, zorder=0, linewidth=0)

    def _draw_above(self, ax: Axes) -> Line2D | None:
        found = self.above
        if not found.any():
            return None
        x = np.broadcast_to(self.x, found.shape)[found]
        (drawn,) = ax.plot(x, self.values[found], linestyle="none", marker="D", markersize=5.5, color=BEYOND, zorder=5)
        return drawn

    def _draw_axes(self, ax: Axes) -> None:
        """Name the axes, put ticks where there are values, and show squares on a logarithmic scale."""
        ax.set_xscale("log")
        step = -(-len(self.x) // 5)
        ax.xaxis.set_major_locator(FixedLocator(np.sort(self.x)[::-1][::step][::-1].tolist()))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(tick)
        if self.measure in ("variance", "mse") and np.nanmin(self.values) > 0:
            ax.set_yscale("log")
        elif self.measure in _SHARES:
            ax.yaxis.set_major_formatter(signed_percent_tick)
            ax.set_ylim(bottom=0.0 if self.measure != "coverage" else None)
        label_axes(ax, _AXES[self.along], _WORDS[self.measure])

    @property
    def _answer(self) -> list[str]:
        """Say what stands out: who is best at the last place, or where a test rejects too often."""
        last = int(np.argmax(self.x))
        place = f"n = {self.x[last]:,.0f}" if self.along == "n" else f"{self.x[last]:,.0f} bins"
        repeats = f"{counted(self.n_repeats, 'repeat')} at each place"
        if self.measure in ("size", "rejection"):
            n, of = int(self.above.sum()), int(np.isfinite(self.values).sum())
            often = f"above {100 * (self.reference or 0):g} % at {n} of {counted(of, 'place')}"
            return [often if n else "nowhere more than noise above the level", repeats]
        column = self.values[:, last]
        score = {"power": -column, "bias": np.abs(column), "mean": None}.get(self.measure, column)
        if score is None or self.measure == "coverage" or not np.isfinite(column).any():
            return [repeats]
        best = int(np.nanargmin(score))
        value = f"{100 * column[best]:.3g} %" if self.measure in _SHARES else f"{column[best]:.2g}"
        if len(self.names) == 1:
            return [f"{value} at {place}", repeats]
        most = "most" if self.measure == "power" else "least"
        return [f"{most} at {place}: {shortened(self.names[best], 18)}, {value}", repeats]

    def _legend(self) -> tuple[list[Any], list[str]]:
        handles: list[Any] = list(self.lines_)
        labels = [shortened(each, 42) for each in self.names]
        for drawn, words in ((self.truth_, "truth"), (self.limit_, "limit, same cells")):
            if drawn:
                dashes = drawn[0].get_linestyle()
                handles.append(Line2D([], [], color=FAINT, linewidth=0.8, linestyle=dashes))
                labels.append(words)
        if self._noise:
            handles.append(Patch(color=NOISE))
            labels.append("95 % if exact")
        if self.above_ is not None:
            handles.append(self.above_)
            labels.append("more than noise")
        return handles, labels


def _check_summary(summary: Any, measure: str) -> None:
    """Refuse what is no summary, and a measure that it does not hold."""
    if measure not in _WORDS:
        raise ValueError(f"measure is {measure!r}, but it must be one of {', '.join(_WORDS)}.")
    if not hasattr(summary, "dims") or not {"n_estimates", "n_pvalues"} & {*summary}:
        raise TypeError(
            f"summary is of type {type(summary).__name__}, but what summarise(sweep.run()) returns is expected."
        )
    if measure not in summary:
        there = ", ".join(each for each in _WORDS if each in summary)
        if measure in _OF_TRUTH and "unknown" in summary.attrs:
            why = "no true value is known; Sweep(..., truth='large sample') finds some, and 'mean' needs none"
            raise ValueError(f"{measure} has no value anywhere: {why}.")
        raise ValueError(f"the summary holds no {measure}: the sweep had nothing that gives it; it has {there}.")


def _listed(value: Any) -> list[Any]:
    """Return several values as a list; a single one too, so that its dimension stays."""
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]


def _table(summary: Any, name: str, like: Any, along: str, others: list[str]) -> Floats:
    """Return a variable as a table (S, G): a row for each combination of the other dimensions."""
    found = summary[name].broadcast_like(like).transpose(*others, along).values
    return np.asarray(found, dtype=float).reshape(-1, like.sizes[along])


def _names(values: Any, others: list[str], known: Bools) -> tuple[str, ...]:
    """Name the known rows of a table by what differs between them."""
    places = np.indices([values.sizes[dim] for dim in others]).reshape(len(others), -1)[:, known]
    units = {"n": "n = {}", "n_bins": "{} bins"}
    columns = [
        [units.get(dim, "{}").format(label) for label in values[dim].values[place]]
        for dim, place in zip(others, places, strict=True)
    ]
    differ = [column for column in columns if len(set(column)) > 1] or columns[1:2] or columns
    return tuple(", ".join(parts) for parts in zip(*differ, strict=True))
