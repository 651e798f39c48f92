"""Names that people search for, and what they are here."""

from __future__ import annotations

from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.estimators.cells.miscalibration import ECE, MaximumMiscalibration
from calibstat.estimators.walks.cumulative import KolmogorovSmirnov


def MCE(binning: Binning = EqualMass(15)) -> MaximumMiscalibration:  # noqa: N802 (its name elsewhere)
    """Maximum calibration error (Naeini et al. 2015): `MaximumMiscalibration` in total variation.

    Small cells dominate it; equal-mass cells are the default for that reason, where the paper has equal widths. (Kumar
    et al. 2019 use the same letters for the marginal calibration error, the mean over classes.)

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> from calibstat.estimators.combined.aliases import MCE
    >>> MCE()
    MaximumMiscalibration(binning=EqualMass(n_bins=15), distance=TotalVariation())
    """
    return MaximumMiscalibration(binning)


def ACE(n_bins: int = 15) -> ECE:  # noqa: N802
    """Adaptive calibration error (Nixon et al. 2019): `ECE` over equal-mass cells.

    Their multi-class version is its mean over all class-wise lenses; look through one, for example ``ClassWise(c)``,
    or through ``TopLabel()``.

    Parameters
    ----------
    n_bins : int
        Number of cells.

    Examples
    --------
    >>> from calibstat.estimators.combined.aliases import ACE
    >>> ACE(10)
    ECE(binning=EqualMass(n_bins=10))
    """
    return ECE(EqualMass(n_bins))


def KS() -> KolmogorovSmirnov:  # noqa: N802
    """Kolmogorov-Smirnov calibration error (Gupta et al. 2021; ECCE-MAD): `KolmogorovSmirnov`.

    Examples
    --------
    >>> from calibstat.estimators.combined.aliases import KS
    >>> KS()
    KolmogorovSmirnov()
    """
    return KolmogorovSmirnov()
