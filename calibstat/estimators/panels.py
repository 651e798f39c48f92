"""Panels of statistics that see different kinds of miscalibration, and what these kinds are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.simplex import VarianceTree
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Floats
from calibstat.data.rounding import SAME
from calibstat.estimators.base import Estimator
from calibstat.estimators.combined import EachClass, Family
from calibstat.estimators.kernel import SKCE
from calibstat.estimators.kernel_locations import CME
from calibstat.estimators.miscalibration import ExpectedMiscalibration, MaximumMiscalibration
from calibstat.estimators.recalibration_scores import CubicScore, VectorScalingScore
from calibstat.estimators.score_tests import LogLossZ, Spiegelhalter
from calibstat.estimators.squared import ECE, DebiasedL2
from calibstat.estimators.standardized_cells import MultiscaleL2
from calibstat.estimators.walks import AndersonDarling, KolmogorovSmirnov, Kuiper
from calibstat.lenses.relabel import TopLabel

if TYPE_CHECKING:
    from calibstat.estimators.histogram import BrierDecomposition


@dataclass(frozen=True)
class Member:
    """A statistic of a panel, with the kind of miscalibration that a value points to, or a `negative` value.

    `of_equal` is what a value points to where all predictions are equal.
    """

    name: str
    estimator: Estimator
    kind: str
    negative: str = ""
    of_equal: str = ""

    def says(self, value: float, rows: Floats) -> str:
        """Say what an extreme value means for predictions (n, K), or (n, 1) of the event of two."""
        if self.of_equal and all((np.ptp(some, axis=0) <= SAME).all() for some in (rows[:2], rows)):
            return self.of_equal
        if not self.negative:
            return self.kind
        return (self.negative if value < 0 else self.kind) + _on_one_side(value, rows)


def _on_one_side(value: float, rows: Floats) -> str:
    """Say where predictions of two classes that are too extreme (a positive value) or too timid are too low or high."""
    below, above = (rows[:, -1] < 0.5).all(), (rows[:, -1] > 0.5).all()
    if rows.shape[1] > 2 or not (below or above):
        return ""
    return (
        f", that is too {'low' if below == (value > 0) else 'high'}, since all are {'below' if below else 'above'} 1/2"
    )


def _describe_equal(members: Sequence[Member], of_equal: str) -> tuple[Member, ...]:
    """Return members that know what all of them point to where predictions are equal."""
    return tuple(replace(each, of_equal=of_equal) for each in members)


# With more than two classes the kernel takes the square of the rows; with more of these, or more probabilities, it is
# read at landmarks. (The panel has the same power there, against temperatures, shifts of a class, local errors, swaps
# and cycles: tests/validity/test_panels.py. With three classes it would have less against shifts: 88 % for 93 %.)
_ROWS_FOR_PAIRS, _PROBABILITIES_FOR_PAIRS, _LANDMARKS = 1000, 4000, 50


def default_panel(n_classes: int, n: int) -> tuple[Member, ...]:
    """Return the default panel for that number of classes and rows, neither of which depends on the labels."""
    if n_classes == 2:
        return _describe_equal(_two(), "a prediction, the same for all rows, that is too high or too low")
    equal = "a prediction, the same for all rows, in which some classes are too probable and others not enough"
    return _describe_equal(_many(n <= _ROWS_FOR_PAIRS and n * n_classes <= _PROBABILITIES_FOR_PAIRS), equal)


def default_size(n_classes: int, n: int, *, buckets: bool = False) -> Estimator:
    """Return the error that is shown beside the p-value of a panel, for that number of classes and rows."""
    if buckets:
        return ECE(UniqueValues())
    return ECE(EqualMass(15)) if n_classes == 2 else ExpectedMiscalibration(VarianceTree(max(20, n // 20)))


def default_comparison() -> DebiasedL2:
    """Return the squared error by which models are compared where the user names none."""
    return DebiasedL2(EqualMass(15))


def chosen_panel(panel: Mapping[str, Estimator] | Sequence[Estimator]) -> tuple[Member, ...]:
    """Return the members of a panel chosen by the user; each is described by its `quantity`."""
    named = panel if isinstance(panel, Mapping) else {repr(each): each for each in panel}
    wrong = [name for name, each in named.items() if not isinstance(each, Estimator)]
    if len(named) < 2 or wrong:
        found = f"{wrong[0]!r} is {named[wrong[0]]!r}" if wrong else f"there are {len(named)}"
        raise ValueError(
            f"a panel has at least two different estimators, by name or in a list, but {found}: "
            "for example {'ece': ECE(), 'l2': DebiasedL2()}."
        )
    return tuple(Member(name, each, f"large {each.quantity}") for name, each in named.items())


def family_of(members: Sequence[Member]) -> Family:
    """Return all statistics of a panel as one estimator, so that they are evaluated on the same draws."""
    return Family({member.name: member.estimator for member in members})


def _two() -> tuple[Member, ...]:
    # Bandwidths, each about a third of the one before: from errors of one sign to errors that alternate.
    kernel = SKCE(multiples=(1, 0.3, 0.1, 0.03))
    return (
        Member(
            "Spiegelhalter",
            Spiegelhalter(),
            "over-confidence: predictions are too extreme",
            "under-confidence: predictions are too timid",
        ),
        Member("cubic score", CubicScore(), "a smooth distortion: a shift, a slope, or bent tails"),
        Member(
            "Anderson-Darling",
            AndersonDarling(),
            "predictions that are too high or too low on average, or over a long range",
        ),
        Member("multi-scale l2", MultiscaleL2(), "errors in separate ranges of the prediction, also of changing sign"),
        Member("multi-bandwidth kernel", kernel, "local errors: similar predictions that err in the same direction"),
    )


def _many(pairs: bool) -> tuple[Member, ...]:
    kuiper, kernel = Kuiper(), SKCE(multiples=(1, 0.5, 0.25, 0.1))
    return (
        Member(
            "multi-bandwidth kernel" if pairs else "kernel at landmarks",
            kernel if pairs else CME(_LANDMARKS),
            "local errors: similar predictions that err in the same direction, also between classes",
        ),
        Member(
            "vector scaling score",
            VectorScalingScore(),
            "probabilities of classes that are shifted, or too extreme or too timid class by class",
        ),
        Member(
            "log loss z",
            LogLossZ(),
            "over-confidence: predictions are too extreme (temperature below what it should be)",
            "under-confidence: predictions are too timid (temperature above what it should be)",
        ),
        Member(
            "class-wise Kuiper",
            EachClass(kuiper, norm=float("inf")),
            "a class whose probability is too high or too low over a range",
        ),
        Member(
            "top-label Kuiper", TopLabel() | kuiper, "confidence in the predicted class that is too high or too low"
        ),
    )


# Estimators under the names that other papers and packages give them.


def MCE(binning: Binning = EqualMass(15)) -> MaximumMiscalibration:  # noqa: N802 (its name elsewhere)
    """Maximum calibration error (Naeini et al. 2015): `MaximumMiscalibration` in total variation.

    Small cells dominate it, so the default is equal-mass cells where the paper has equal widths. (Kumar et al. 2019 use
    MCE for the marginal calibration error, the mean over classes.)

    Parameters
    ----------
    binning : Binning

    Returns
    -------
    MaximumMiscalibration

    Examples
    --------
    >>> from calibstat.estimators.panels import MCE
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

    Returns
    -------
    ECE

    Examples
    --------
    >>> from calibstat.estimators.panels import ACE
    >>> ACE(10)
    ECE(binning=EqualMass(n_bins=10))
    """
    return ECE(EqualMass(n_bins))


def KS() -> KolmogorovSmirnov:  # noqa: N802
    """Kolmogorov-Smirnov calibration error (Gupta et al. 2021; ECCE-MAD): `KolmogorovSmirnov`.

    Returns
    -------
    KolmogorovSmirnov

    Examples
    --------
    >>> from calibstat.estimators.panels import KS
    >>> KS()
    KolmogorovSmirnov()
    """
    return KolmogorovSmirnov()


@dataclass(frozen=True)
class ClinicalPanel:
    """What a clinical validation reports of two classes, for `clinical_summary`."""

    mean: Estimator
    oe: Estimator
    cox: Estimator
    errors: Estimator
    area: Estimator
    brier: Estimator
    parts: BrierDecomposition
    belt: Estimator
    curve: Estimator

    @classmethod
    def of(cls, confidence_level: float, n: int = 100) -> ClinicalPanel:
        """Return the panel for so many rows; no other needs these files."""
        from calibstat.estimators.belt import CalibrationBelt
        from calibstat.estimators.cox import Cox, ObservedToExpected
        from calibstat.estimators.histogram import BrierDecomposition
        from calibstat.estimators.loess import ICI, LOESS
        from calibstat.estimators.score_tests import MeanCalibration
        from calibstat.estimators.scores import AUC, BrierScore

        return cls(
            MeanCalibration(),
            ObservedToExpected(),
            Cox(confidence_level),
            ICI(),
            AUC(),
            BrierScore(),
            BrierDecomposition(EqualMass(max(1, min(15, n // 10)))),
            CalibrationBelt(),
            LOESS(trim=0.0),
        )
