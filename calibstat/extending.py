"""Helpers for authors of lenses, binnings, estimators and nulls, beside the classes that these derive from.

The guide to extending (docs/extending.md) uses each of them. They are as stable as the public names.

>>> from calibstat.extending import ratio
>>> import numpy as np
>>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0]), empty=np.nan)
array([0.25,  nan])
"""

from calibstat.binnings.base import one_column
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Capabilities, all_weights, happened, two_classes
from calibstat.estimators.tally import ratio
from calibstat.lenses.base import View

__all__ = [
    "Capabilities",
    "LabelLaw",
    "View",
    "all_weights",
    "happened",
    "one_column",
    "ratio",
    "replicate",
    "two_classes",
]
