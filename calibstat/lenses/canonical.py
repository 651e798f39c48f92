"""The canonical lens: all of the prediction, all of the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from calibstat.lenses.base import Lens, View
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Canonical(Lens):
    """Look at the whole prediction: P(Y = k | p) = p_k for every class k (Vaicenavicius et al. 2019, eq. 1).

    The unit of composition: ``Canonical() | lens == lens``.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.Canonical() | cs.TopLabel()
    TopLabel()
    """

    @property
    def parts(self) -> tuple[Lens, ...]:
        """None: looking through nothing changes nothing."""
        return ()

    def look(self, predictions: Predictions) -> View:
        """See everything as it is."""
        return View(predictions)
