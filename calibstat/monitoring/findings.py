"""What a monitor has found so far, as plain values by name."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, isfinite
from typing import Any

from calibstat.monitoring.intake import Intake
from calibstat.monitoring.path import EvidencePath


def findings(settings: Mapping[str, Any], path: EvidencePath, intake: Intake, hypothesis: str) -> dict[str, Any]:
    """Return the settings, and the evidence and the rows that it comes from."""
    return dict(settings) | {
        "n_rows": path.n_rows,
        "n_waiting": len(intake.waiting),
        "n_skipped": intake.n_skipped,
        "n_worst": intake.n_worst,
        "log_e": path.last,
        "log_e_max": path.largest,
        "pvalue": exp(-path.largest),
        "alarm": path.alarm_row > 0,
        "alarm_row": path.alarm_row or None,
        "last_id": intake.last_id,
        "hypothesis": hypothesis,
    }


def finite(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with None in place of infinite ones, for which JSON has no number."""
    return {name: None if isinstance(each, float) and not isfinite(each) else each for name, each in found.items()}


def attributes(found: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return what files can hold as attributes."""
    plain = dict(found) | {"alarm": int(found["alarm"])}
    return {name: each for name, each in plain.items() if isinstance(each, (str, int, float))}
