"""How comparisons of calibrators are put into words. Words never accept a null hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from calibstat.comparisons.records import CalibratorResult, PairResult
from calibstat.inference.words import counted, number
from calibstat.lenses.base import Lens

MOST_PAIRS = 6
_LENSES = {"TopLabel()": "for the top label"}


def where(lens: Lens) -> str:
    """Say in which sense: "for the top label", or the lens as it prints itself."""
    return _LENSES.get(repr(lens), f"through {lens!r}")


def pair_text(pair: PairResult, lens: Lens, level: float) -> str:
    """Say which of two is better calibrated and by how much, or that they cannot be told apart."""
    if not pair.rejects:
        names = f"{pair.first.name} and {pair.second.name}"
        return f"{names} cannot be told apart by their binned errors {where(lens)} ({_apart(pair)})."
    better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
    difference = number(abs(pair.difference), better.value, worse.value)
    return (
        f"{better.name} is better calibrated than {worse.name} {where(lens)}: binned squared calibration error lower "
        f"by {difference} ({_spread(pair, level)}root errors {_root(better)} and {_root(worse)}), adjusted "
        f"p = {pair.pvalue_adjusted:.3g}."
    )


def apart_lines(pairs: Sequence[PairResult]) -> list[str]:
    """List who cannot be told apart, a line each; of many only those whose interval excludes 0 all the same."""
    apart = [pair for pair in pairs if not pair.rejects]
    shown = apart if len(apart) <= MOST_PAIRS else [pair for pair in apart if outvoted(pair)]
    lines = [f"  {pair.first.name} and {pair.second.name} cannot be told apart ({_apart(pair)})" for pair in shown]
    rest = len(apart) - len(shown)
    noun = "other pair" if shown else "pair"
    return lines if not rest else [*lines, f"  {counted(rest, noun)} cannot be told apart (to_frame)"]


def outvoted(pair: PairResult) -> bool:
    """Whether the interval of the difference excludes 0 and the p-value does not reject."""
    interval = pair.confidence_interval
    return not pair.rejects and interval is not None and not interval.low <= 0 <= interval.high


def _apart(pair: PairResult) -> str:
    note = "; the interval of the difference excludes 0, but the p-value decides" if outvoted(pair) else ""
    return f"adjusted p = {pair.pvalue_adjusted:.3g}{note}"


def table(models: Sequence[CalibratorResult]) -> list[str]:
    """Lay out errors, p-values and scores, a line for each calibrator."""
    rows = [["", "squared", "root", "95 %" if models[0].root_interval else "", "p", "Brier", "refinement", "log"]]
    for each in models:
        rows.append(
            [
                each.name,
                number(each.value, *(model.value for model in models)),
                f"{each.root:.3g}",
                _interval(each),
                f"{each.pvalue:.3g}",
                _decimals(each.scores.brier),
                _decimals(each.scores.refinement),
                _decimals(each.scores.log),
            ]
        )
    shown = [k for k in range(len(rows[0])) if any(row[k] for row in rows)]
    widths = {k: max(len(row[k]) for row in rows) for k in shown}
    return [
        "  " + "  ".join(row[k].ljust(widths[k]) if k in (0, 3) else row[k].rjust(widths[k]) for k in shown).rstrip()
        for row in rows
    ]


def _decimals(value: float) -> str:
    """Five decimals; what is rounded to zero has no sign."""
    return f"{round(value, 5) + 0.0:.5f}"


def _spread(pair: PairResult, level: float) -> str:
    interval = pair.confidence_interval
    if interval is not None:
        low, high = sorted(-end if pair.difference < 0 else end for end in interval)
        return f"{100 * level:g} % interval {number(low, high)} to {number(high, low)}; "
    error = pair.split_standard_error
    # several splits: of one there is no such error
    if error is None:
        return ""
    return f"mean over {len(pair.tests)} splits, their standard error {number(error, pair.difference)}; "


def _root(model: CalibratorResult) -> str:
    interval = _interval(model)
    return f"{model.root:.3g} [{interval}]" if interval else f"{model.root:.3g}"


def _interval(model: CalibratorResult) -> str:
    return "" if model.root_interval is None else f"{model.root_interval[0]:.3g} to {model.root_interval[1]:.3g}"
