"""P-values of several tests at once: which of them find something when they are adjusted for their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from calibstat._text import counted
from calibstat.data.arrays import Floats
from calibstat.data.parameters import at_least_one
from calibstat.displays._style import (
    BEYOND,
    COLUMN,
    FAINT,
    INK,
    NOISE,
    ResultDisplay,
    answer,
    label_axes,
    legend_below,
    lines_of,
    magnified,
    new_axes,
    shortened,
    tick,
)
from calibstat.inference.multiple import MultipleTest, OmnibusTest
from calibstat.inference.results import small_pvalue

# Heights in inches: of a row, and of what stands above and below the rows.
_ROW, _AROUND = 0.21, 1.5
_LETTERS, _ANSWER = 22, 40  # in a line of a name, and of the answer


@final
@dataclass(eq=False, repr=False)
class PanelDisplay(ResultDisplay):
    """The p-values of several statistics, classes or groups, the smallest at the top, on a logarithmic scale.

    Filled points are adjusted for the number of tests, and strong where they are at most the level; open ones are those
    of each test by itself. The pale strip holds p-values that noise alone gives often. Make one by `from_result`, or by
    ``result.plot()`` of the results of `omnibus_test` and `multiple_test`.

    Parameters
    ----------
    test : OmnibusTest or MultipleTest
    names : list of str
        From the smallest adjusted p-value to the largest; tests without a value are left out.
    pvalues, pvalues_adjusted : (m,) floats
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    adjusted_, beyond_, single_ : matplotlib Line2D
        The adjusted p-values above the level, those of at most the level, and those that are not adjusted.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> display = cs.omnibus_test(cs.Sample(rng.random(500) < p**1.5, p), rng=0).plot()
    >>> bool((display.pvalues_adjusted >= display.pvalues).all())
    True
    """

    test: OmnibusTest | MultipleTest
    names: list[str]
    pvalues: Floats
    pvalues_adjusted: Floats
    name: str | None = None

    @classmethod
    def compute(cls, result: OmnibusTest | MultipleTest, *, name: str | None = None) -> Self:
        """Put the p-values of a result in order, without drawing them."""
        if not isinstance(result, (OmnibusTest, MultipleTest)):
            raise TypeError(
                f"result is of type {type(result).__name__}, but that of omnibus_test or multiple_test is expected."
            )
        adjusted, pvalues = np.asarray(result.pvalues_adjusted, dtype=float), np.asarray(result.pvalues, dtype=float)
        order = [int(k) for k in np.lexsort((pvalues, adjusted)) if np.isfinite(adjusted[k])]
        return cls(result, [str(result.names[k]) for k in order], pvalues[order], adjusted[order], name)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, n_shown: int = 25, **kwargs: Any) -> Self:
        """Draw the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure, which is as tall as its rows need.
        name : str, optional
            Title; by default the one given when the display was made.
        n_shown : int
            At most so many tests are shown, from the top.
        **kwargs
            Options of ``Axes.plot`` for the filled points.

        Returns
        -------
        PanelDisplay
            Itself.
        """
        n_shown = at_least_one("n_shown", n_shown)
        names, adjusted, pvalues = self.names[:n_shown], self.pvalues_adjusted[:n_shown], self.pvalues[:n_shown]
        ax = new_axes(ax, (COLUMN[0], _AROUND + _ROW * max(len(names), 2)))
        rows, beyond = np.arange(len(names)), adjusted <= self.test.level
        ax.axvspan(self.test.level, 1.6, color=NOISE, linewidth=0)
        look: dict[str, Any] = {"linestyle": "none", "markersize": 5, **kwargs}
        (self.single_,) = ax.plot(
            pvalues, rows, linestyle="none", marker="o", markersize=4, color=FAINT, markerfacecolor="white"
        )
        (self.adjusted_,) = ax.plot(adjusted[~beyond], rows[~beyond], **({"color": INK, "marker": "o"} | look))
        (self.beyond_,) = ax.plot(adjusted[beyond], rows[beyond], **({"color": BEYOND, "marker": "D"} | look))
        least = 0.5 * min(float(pvalues.min(initial=1.0)), self.test.level / 5)
        ax.set(xscale="log", xlim=(least, 1.6), ylim=(len(names) - 0.4, -0.6))
        ticks = [each for each in (1e-4, 0.001, 0.01, 0.05, 0.2, 1.0) if each >= least]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(tick)
        ax.set_yticks(
            rows, [shortened(each, _LETTERS) for each in names], fontsize=7.5 * magnified(ax), parse_math=False
        )
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        label_axes(ax, "p-value")
        lines = [part for line in self._answer(len(self.names) - len(names)) for part in lines_of(line, _ANSWER)]
        answer(ax, self.name if name is None else name, lines)
        legend_below(ax, self._handles())
        return self._drawn(ax)

    def _handles(self) -> list[Any]:
        """Return what the legend explains."""
        single = Line2D([], [], color=FAINT, marker="o", markersize=4, markerfacecolor="white", linestyle="none")
        single.set_label("by itself")
        found: list[Any] = [
            Patch(color=NOISE, label=f"above {self.test.level:g}"),
            single,
            Line2D([], [], color=INK, marker="o", markersize=5, linestyle="none", label="adjusted"),
        ]
        if (self.pvalues_adjusted <= self.test.level).any():
            words = "adjusted: more than noise"
            found.append(Line2D([], [], color=BEYOND, marker="D", markersize=5, linestyle="none", label=words))
        return found

    def _answer(self, hidden: int) -> list[str]:
        more = f"; {hidden} not shown" if hidden else ""
        found = int((self.pvalues_adjusted <= self.test.level).sum())
        if isinstance(self.test, OmnibusTest):
            what = (
                "evidence of miscalibration" if self.test.pvalue <= self.test.level else "no evidence of miscalibration"
            )
            pvalue = small_pvalue(float(f"{self.test.pvalue:.2g}"), level=self.test.level)
            return [
                f"{what}, p {pvalue}",
                f"strongest: {shortened(self.test.strongest, 24)}; n = {self.test.question.n:,}{more}",
            ]
        what = f"{found} of {len(self.names)} more than noise" if found else "no evidence of miscalibration in any"
        return [what, f"adjusted for {counted(len(self.names), 'test')}; n = {self.test.question.n:,}{more}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        return (
            f"P-values of {len(self.names)} tests, by themselves (open) and adjusted for their number "
            f"({self.test.adjust}; filled), from {self.test.n_resamples} resamples. Null: {self.test.hypothesis}. "
            f"{self.test.verdict}"
        )
