"""Conditioning on a variable instead of, or beside, the prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import EllipsisType
from typing import final

from calibstat.lenses.base import Lens, View
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Given(Lens):
    """Change what is conditioned on, and nothing else.

    ``TopLabel() | Given("age") | ECE(EqualMass(10))`` is the variable-based calibration error of Kelly & Smyth
    (2023); ``Given(..., "sex")`` keeps the prediction beside the variable.

    Parameters
    ----------
    *names : str or ``...``
        Names of variables of the sample; ``...`` is the prediction.

    Raises
    ------
    ValueError
        On looking, if the sample has no such variable; the message lists those it has.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1], [0.2, 0.7], variables={"age": [20, 60]})
    >>> cs.Given("age")(sample).predictions.conditioned
    array([[20.],
           [60.]])
    """

    names: tuple[str | EllipsisType, ...]

    def __init__(self, *names: str | EllipsisType) -> None:
        if not names or not all(isinstance(name, str) or name is ... for name in names):
            raise ValueError(
                f"Given{names!r} must name at least one variable, or ... for the prediction: for example Given('age')."
            )
        object.__setattr__(self, "names", names)

    def look(self, predictions: Predictions) -> View:
        """Replace the names of what is conditioned on."""
        unknown = [name for name in self.names if name is not ... and name not in predictions.variables]
        if unknown:
            known = ", ".join(map(repr, predictions.variables)) or "none"
            raise ValueError(
                f"{self!r}: the sample has no variable {unknown[0]!r}; its variables are: {known}. "
                "Pass it as Sample(..., variables={name: values})."
            )
        return View(replace(predictions, given=self.names))

    def __repr__(self) -> str:
        return f"Given({', '.join('...' if name is ... else repr(name) for name in self.names)})"
