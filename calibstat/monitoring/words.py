"""What a monitor says of itself. Words never accept the null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

_FEW = 3


def evidence_text(log_e: float) -> str:
    """Write evidence out, as a power of ten where it is large.

    Examples
    --------
    >>> evidence_text(0.0), evidence_text(50.0), evidence_text(float("inf"))
    ('1', '10^21.7', 'infinite')
    """
    if log_e == float("inf"):
        return "infinite"
    return f"{exp(log_e):.4g}" if log_e < log(1e6) else f"10^{log_e / log(10):.1f}"


def verdict(found: Mapping[str, Any]) -> str:
    """One sentence: evidence with the row that raised the alarm, or no evidence."""
    where = f"through {found['lens']}"
    threshold = f"1/alpha = {1 / found['alpha']:.4g}"
    if found["alarm"]:
        return (
            f"ALARM: evidence of miscalibration {where} (n = {found['n_rows']}). E reached {threshold} after "
            f"{found['alarm_row']} rows; its largest value is {evidence_text(found['log_e_max'])}."
        )
    return (
        f"No evidence of miscalibration {where} so far (n = {found['n_rows']}): E = {evidence_text(found['log_e'])}, "
        f"at most {evidence_text(found['log_e_max'])} since the start; the alarm is at {threshold}."
    )


def report(found: Mapping[str, Any], bets: str, order: str, skipped: str) -> str:
    """The verdict, and what it rests on, line by line."""
    alpha = found["alpha"]
    return "\n".join(
        [
            verdict(found),
            f"  null   {found['hypothesis']}",
            f"  alarm  under the null E ever reaches {1 / alpha:.4g} with a chance of at most {alpha:g}",
            f"  bets   {bets}",
            f"  order  {order}",
            *([f"  rows   {skipped}"] if skipped else []),
        ]
    )


def hypothesis(lens: str, n_classes: int) -> str:
    """The null."""
    law = "Bernoulli(prediction)" if n_classes == 2 else "categorical(prediction)"
    return f"given the past, each label seen through {lens} is {law}; no binning is part of it"


def order_text(order: str, n_waiting: int, first: object) -> str:
    """Say in which order rows are bet on, what that assumes, and who waits."""
    if order == "arrival":
        text = "of the arrival of labels: valid ONLY IF how late a label comes does not depend on the label"
        return text + (f"; {n_waiting} labels have not arrived" if n_waiting else "")
    text = "of the predictions, whenever their labels arrive"
    return text + (f"; {n_waiting} rows wait, the first for the label of id {first!r}" if n_waiting else "")


def skipped_text(n_skipped: int, n_worst: int, reasons: Sequence[str]) -> str:
    """Say which rows were left out, and which counted with the worst label."""
    parts = [f"{n_skipped} bad rows skipped"] if n_skipped else []
    parts += [f"{n_worst} rows without a usable label counted with the label that is worst for E"] if n_worst else []
    text = "; ".join(parts)
    shown = [*reasons[:_FEW], *(["..."] if len(reasons) > _FEW else [])]
    return f"{text} ({'; '.join(shown)})" if reasons else text
