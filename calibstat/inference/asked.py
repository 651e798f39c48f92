"""What was asked of which data: the part that every result shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibstat.estimators.base import Estimator
from calibstat.lenses.base import Lens


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of which data: the part that every result shares.

    Parameters
    ----------
    estimator : Estimator
        With its lens.
    n : int
        Number of rows seen through the lens.
    n_classes : int
        Number of outcomes seen through the lens.
    given : tuple
        What was conditioned on; ``...`` is the prediction.
    source : str
        What was taken for what when the sample was made.
    """

    estimator: Estimator
    n: int
    n_classes: int
    given: tuple[Any, ...]
    source: str

    @property
    def lens(self) -> Lens:
        """The lens that was looked through."""
        return self.estimator.lens

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "lens": repr(self.lens),
            "given": ", ".join("prediction" if name is ... else str(name) for name in self.given),
            "estimator": repr(self.estimator.core),
            "n": self.n,
            "n_classes": self.n_classes,
            "source": self.source,
        }

    def lines(self, value: str, null_mean: str) -> list[str]:
        """Return the lines of text that every result shows."""
        return [
            f"  value     {value}: {self.estimator.quantity}",
            f"            expected of a calibrated model with as many rows: {null_mean}",
            f"  estimator {self.estimator!r}",
            f"  data      n = {self.n}, {self.n_classes} classes seen through {self.lens!r}; {self.source}",
        ]
