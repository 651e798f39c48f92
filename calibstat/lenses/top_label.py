"""The top label: is the most probable class right as often as its confidence says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from calibstat.lenses.base import Lens, View
from calibstat.lenses.top_k import look_at_top
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class TopLabel(Lens):
    """Was the most probable class right? P(Y = argmax | max) = max (Guo et al. 2017; Vaicenavicius et al. 2019, eq. 2).

    Code 1 is "the top class happened"; the first of equally probable classes is the top one. The induced prediction is
    the confidence and one minus it, as of a sample of confidences (`Sample.from_confidence`).

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 2], [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    >>> cs.TopLabel()(sample).outcomes
    array([0, 1])
    """

    def look(self, predictions: Predictions) -> View:
        """Keep the confidence and whether the top class happened."""
        return look_at_top(self, 1, predictions)
