"""Calibration error conditional on a variable."""

from __future__ import annotations

from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.estimators.base import Estimator
from calibstat.estimators.cells.miscalibration import ECE
from calibstat.lenses.given import Given


def VECE(variable: str, binning: Binning = EqualMass(10)) -> Estimator:  # noqa: N802 (an estimator's name)
    """Variable-based expected calibration error (Kelly & Smyth 2023): ``Given(variable) | ECE(binning)``.

    The mean absolute difference between mean outcome and mean prediction over cells of a variable. It holds no lens
    for the outcome: the authors' measure is ``TopLabel() | VECE("age")``.

    Parameters
    ----------
    variable : str
        The name of a variable of the sample.
    binning : Binning
        How to cut the variable; `Categories` for a categorical one.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.TopLabel() | cs.VECE("age")
    TopLabel() | Given('age') | ECE(binning=EqualMass(n_bins=10))
    """
    return Given(variable) | ECE(binning)
