"""Statistical tests and simulation of classifier calibration.

Look at a sample through a lens, cut it into cells, prepare an estimator once, move what the null or the resampling
moves, and judge the observed value by where it falls.

>>> import calibstat as cs
>>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
>>> round((cs.Canonical() | cs.ECE(cs.FixedEdges([0, 0.5, 1])))(sample), 6)
0.25
"""

from __future__ import annotations

from calibstat._lazy import lazy_names, together
from calibstat._names import BEHIND, GROUPS

__version__ = "0.1.0"

_MODULES = together(GROUPS.values())
_SUBPACKAGES = ("calibrators", "extending", "generators", "results", "testing")

__getattr__, __dir__, __all__ = lazy_names(
    __name__, _MODULES, _SUBPACKAGES, ["__version__"], behind=together(GROUPS[each] for each in BEHIND)
)
