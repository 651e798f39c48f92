"""Names on the command line, looked up in tables and never evaluated; nothing heavy is imported here."""

from __future__ import annotations

import csv
from collections.abc import Sequence

# Those of cells that give a single number.
ESTIMATORS = (
    "ECE",
    "RMSCE",
    "SquaredCE",
    "DebiasedCE",
    "DebiasedL2",
    "MaximumMiscalibration",
    "ExpectedMiscalibration",
    "PDE",
    "AUCV",
    "LpCE",
    "PearsonCE",
    "StandardizedL2",
    "TCE",
)
# All others that need nothing but the sample and have one number that a test is about, with their default parameters:
# for any number of outcomes, and for two only.
FOR_ANY = (
    "BrierDecomposition",
    "BrierScore",
    "BrierZ",
    "CME",
    "FerroFricker",
    "KCE",
    "LogLossZ",
    "LogScore",
    "MCE",
    "RMSE",
    "SKCE",
    "ScoreExcess",
    "SphericalScore",
    "UCME",
    "VectorScalingScore",
    "ZeroOneLoss",
)
FOR_TWO = (
    "ACE",
    "AUC",
    "AndersonDarling",
    "AverageTwoBin",
    "BrownianBridge",
    "CORP",
    "CalibrationBelt",
    "Cox",
    "CramerVonMises",
    "CubicScore",
    "ECESweep",
    "HosmerLemeshow",
    "ICI",
    "KS",
    "KolmogorovSmirnov",
    "Kuiper",
    "LOESS",
    "LogitScore",
    "MeanCalibration",
    "MultiscaleL2",
    "ObservedToExpected",
    "PigeonHeyse",
    "SmoothCE",
    "SmoothECE",
    "Spiegelhalter",
    "WorstInterval",
)
EVERY = tuple(sorted((*ESTIMATORS, *FOR_ANY, *FOR_TWO), key=str.lower))
TWO_OUTCOMES = frozenset({"TCE", *FOR_TWO})
# Those whose number is the same whatever is conditioned on.
UNCONDITIONAL = frozenset(
    {
        "AUC",
        "BrierScore",
        "BrierZ",
        "CalibrationBelt",
        "Cox",
        "CubicScore",
        "LogLossZ",
        "LogScore",
        "LogitScore",
        "MeanCalibration",
        "ObservedToExpected",
        "RMSE",
        "ScoreExcess",
        "SphericalScore",
        "Spiegelhalter",
        "VectorScalingScore",
        "ZeroOneLoss",
    }
)
LENSES = ("top-label", "canonical", "class-wise", "class-wise:LABEL", "top-k:K")


def estimator_name(name: str, choices: Sequence[str] = ESTIMATORS) -> str:
    """Return the public name of an estimator, whatever its case and hyphens.

    Parameters
    ----------
    name : str
    choices : sequence of str
        The public names there are.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.

    Examples
    --------
    >>> estimator_name("debiased-ce")
    'DebiasedCE'
    >>> estimator_name("smooth_ece", EVERY)
    'SmoothECE'
    """
    known = {_plain(each): each for each in choices}
    if _plain(name) not in known:
        raise ValueError(f"there is no estimator {name!r}; choose one of {', '.join(choices)}")
    return known[_plain(name)]


def lens_name(name: str) -> tuple[str, str]:
    """Split the name of a lens into its kind and what follows the colon.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.

    Examples
    --------
    >>> lens_name("top-k:2")
    ('top-k', '2')
    >>> lens_name("Canonical")
    ('canonical', '')
    """
    kind, colon, detail = name.partition(":")
    kind = kind.lower().replace("_", "-")
    forms = [form for form in LENSES if form.partition(":")[0] == kind]
    if not any(bool(form.partition(":")[2]) == bool(detail) for form in forms) or (colon and not detail):
        advice = f"write {' or '.join(forms)}" if forms else f"choose one of {', '.join(LENSES)}"
        raise ValueError(f"there is no lens {name!r}; {advice}")
    return kind, detail


def split_list(text: str) -> list[str]:
    """Split at commas; a name that holds one goes in double quotes.

    Examples
    --------
    >>> split_list('cat, "dog, small"')
    ['cat', 'dog, small']
    """
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
