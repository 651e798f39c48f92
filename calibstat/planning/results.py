"""Plans: frozen records that print themselves in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.generators.base import SyntheticModel
from calibstat.planning.power import PlannedTest
from calibstat.planning.search import Crossing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Plan(ABC):
    """What every plan holds.

    Parameters
    ----------
    test : PlannedTest
    power : float
        Wanted.
    crossing : Crossing
        Where it is reached, with its Monte Carlo error and everything that was simulated.
    model : SyntheticModel
        The model that is to be found out.
    true_error : float or None
        Its true error; None where that is not known.
    which_error : str
        Which error that is; or why it is not known.
    """

    test: PlannedTest
    power: float
    crossing: Crossing
    model: SyntheticModel
    true_error: float | None
    which_error: str

    @property
    @abstractmethod
    def verdict(self) -> str:
        """One sentence: the answer with its Monte Carlo interval."""

    @property
    def standard_error(self) -> float:
        """Monte Carlo standard error of the power at the answer."""
        return self.crossing.standard_error

    @property
    def error(self) -> str:
        """The true error in words: its size, and which one it is."""
        size = "unknown size" if self.true_error is None else f"{self.true_error:.4g}"
        return f"{size} ({self.which_error})"

    def common(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "power": self.power,
            "power_standard_error": self.standard_error,
            "level": self.test.level,
            "test": str(self.test),
            "model": repr(self.model),
            "true_error": self.true_error,
            "which_error": self.which_error,
            "n_runs": int(self.crossing.points.runs.sum()),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of the simulated points: place, runs, rejections."""
        import pandas as pd

        points = self.crossing.points
        return pd.DataFrame({"place": points.places, "runs": points.runs, "rejections": points.rejections})

    def details(self) -> list[str]:
        """Return the lines that say how the answer was had."""
        found = self.common()
        return [
            f"  test   {found['test']} at level {self.test.level:g}",
            f"  model  {found['model']}",
            f"  error  {self.error}",
            f"  runs   {found['n_runs']} simulated samples; the power has a Monte Carlo standard error of "
            f"{self.standard_error:.2g}",
        ]

    def __str__(self) -> str:
        return "\n".join([self.verdict, *self.details()])

    __repr__ = __str__


@final
@dataclass(frozen=True, eq=False, repr=False)
class RequiredN(Plan):
    """What `required_n` found: ``n``, and ``interval``, its 95 % Monte Carlo interval.

    Parameters
    ----------
    test, power, crossing, model, true_error, which_error
        As for `Plan`: what was asked, and where the power is reached.
    """

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(self.crossing.place)

    @property
    def interval(self) -> tuple[int, int]:
        """95 % Monte Carlo interval of the number of labels."""
        return round(self.crossing.low), round(self.crossing.high)

    @property
    def verdict(self) -> str:
        """One sentence: so many labels."""
        low, high = self.interval
        return (
            f"About {self.n} labels (95 % Monte Carlo interval {low} to {high}) give power {self.power:g} at level "
            f"{self.test.level:g} to see a true error of {self.error}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"n": self.n, "n_low": self.interval[0], "n_high": self.interval[1]} | self.common()


@final
@dataclass(frozen=True, eq=False, repr=False)
class MinimumDetectable(Plan):
    """What `minimum_detectable` found: ``effect``, and ``interval``, its 95 % Monte Carlo interval.

    Parameters
    ----------
    test, power, crossing, model, true_error, which_error
        As for `Plan`: what was asked, and where the power is reached.
    n : int
        Number of labels.
    """

    n: int = 0

    @property
    def effect(self) -> float:
        """The smallest effect that is seen with the wanted power, in units of the family."""
        return self.crossing.place

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Monte Carlo interval of the effect."""
        return self.crossing.low, self.crossing.high

    @property
    def verdict(self) -> str:
        """One sentence: an effect of that size."""
        low, high = self.interval
        return (
            f"With {self.n} labels an effect of {self.effect:.3g} (95 % Monte Carlo interval {low:.3g} to {high:.3g}) "
            f"is seen with power {self.power:g} at level {self.test.level:g}: a true error of {self.error}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        low, high = self.interval
        return {"effect": self.effect, "effect_low": low, "effect_high": high, "n": self.n} | self.common()
