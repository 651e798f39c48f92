"""What functions and estimators return, apart from the names that one calls; each is a name of calibstat too.

>>> import calibstat as cs
>>> cs.results.CalibrationTest is cs.CalibrationTest
True
"""

from __future__ import annotations

from calibstat._lazy import lazy_names, together
from calibstat._names import GROUPS

_MODULES = together([GROUPS["Results"], GROUPS["Values of estimators"]])

__getattr__, __dir__, __all__ = lazy_names("calibstat", _MODULES)
