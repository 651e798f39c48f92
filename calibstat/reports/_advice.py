"""What to do: which model to use, and whether and how to recalibrate it."""

from __future__ import annotations

from math import floor, log10
from typing import Any

from calibstat._text import counted, shown, some_of
from calibstat.comparisons.results import CalibratorComparison, Changes
from calibstat.comparisons.splits import UNCALIBRATED
from calibstat.inference.tails import far_below
from calibstat.reports import _words as words
from calibstat.reports._answer import confidence_of, other_splits, splits_disagree, unit_of, which_model
from calibstat.reports._blocks import Block, Section, section, table, text
from calibstat.reports._findings import Findings


def what_to_do(found: Findings) -> Section:
    """Return the section about models and calibrators."""
    return section("do", "What to do", "What to do?", [*_models(found), *_calibrators(found)])


def _models(found: Findings) -> list[Block | None]:
    comparison = found.models
    if comparison is None:
        return []
    first = f"All other sections are about {shown(found.main.model)}, which was named first."
    if isinstance(comparison, str):
        return [text(first, f"The models were not compared: {shown(comparison.rstrip('.'))}.")]
    roots = dict(zip(comparison.names, comparison.root_values or comparison.values, strict=True))
    rows = []
    for pair in comparison.pairs:
        better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
        apart = pair.pvalue_adjusted <= comparison.level
        said = f"{shown(better)} is better than {shown(worse)}" if apart else "not told apart"
        rows.append([
            words.text_cell(f"{shown(pair.first)} and {shown(pair.second)}"),
            words.number_cell(f"{100 * roots[pair.first]:.2f}", roots[pair.first]),
            words.number_cell(f"{100 * roots[pair.second]:.2f}", roots[pair.second]),
            words.p_cell(pair.pvalue_adjusted, comparison.level, _pair_tail(pair, comparison)),
            words.text_cell(said),
        ])  # fmt: skip
    columns = [
        ("Models", "text"),
        ("Error of the first, percentage points", "number"),
        ("Error of the second, percentage points", "number"),
        ("Adjusted p", "pvalue"),
        ("Found", "text"),
    ]
    caption = (
        "Each pair of models on the same rows. The error is the root of the mean squared calibration error with its "
        "noise taken off. The p-values are adjusted for all pairs (Holm 1979)."
    )
    return [text(first, strong=which_model(found)), table(caption, columns, rows)]


def _pair_tail(pair: Any, comparison: Any) -> float | None:
    """Return about how small an adjusted p-value is, by the normal law (Bonferroni), where no redraw reaches it."""
    tail = pair.normal_tail
    if not far_below(tail, comparison.n_resamples):
        return None
    return float(min(1.0, tail * len(comparison.pairs)))


def _calibrators(found: Findings) -> list[Block | None]:
    comparison = found.calibrators
    if isinstance(comparison, str):
        return [text(f"Calibrators were not compared: {comparison.rstrip('.')}.")]
    chosen = comparison.calibrator
    tried = comparison.changes
    fitted, tested = len(comparison.splits[0].fit_rows), len(comparison.splits[0].test_rows)
    how = (
        f"A calibrator is a map from the probabilities of the model to better ones. "
        f"{counted(len(tried), 'calibrator', 'was', 'were')} fitted on {words.rows(fitted)} and compared on "
        f"{words.count(tested)} other ones."
    )
    how += _few_events(found, tested)
    if chosen == UNCALIBRATED:
        smallest = min(change.pvalue_of_better for change in tried)
        strong = "Recalibrating is not shown to pay."
        told = [
            how,
            f"None of them is shown to be better than leaving the model as it is (smallest adjusted "
            f"{words.p_equals(smallest, comparison.level)}).",
            _by_variables(found),
        ]
    else:
        change = next(each for each in tried if each.name == chosen)
        doubt = ", though most other splits of the rows advise something else" if splits_disagree(comparison) else ""
        strong = f"Recalibrate by {shown(chosen)}{doubt}."
        told = [how, *_what_improves(found, change, comparison), *_of_equals(comparison)]
    others = other_splits(comparison)
    told += [f"This is from one random split of the rows; {others}."] if others else []
    return [text(*told, strong=strong), _calibrator_table(found)]


_FEW_EVENTS = 100


def _few_events(found: Findings, tested: int) -> str:
    """Say that a half of the rows has few of the rarer outcome, where it has."""
    direction = found.main.direction
    if direction is None:
        return ""
    rarer = tested * min(direction.happened, 1 - direction.happened)
    if rarer >= _FEW_EVENTS:
        return ""
    return f" Only about {words.count(rarer)} of these have the rarer outcome, so that differences are hard to see."


def _what_improves(found: Findings, change: Changes, comparison: CalibratorComparison) -> list[str]:
    """Say which measure is shown to be smaller, by as many digits as tell the two numbers apart."""
    new, own, unit, level = comparison[change.name], comparison.models[0], unit_of(found.main), comparison.level
    told = []
    for name, each, values in (
        ("calibration error", change.error, (unit.per * own.root, unit.per * new.root)),
        ("Brier score", change.brier, (own.scores.brier, new.scores.brier)),
    ):
        before, after = _told_apart(*values)
        after += f" {unit.points}" if name == "calibration error" else ""
        evidence = words.p_equals(each.pvalue_adjusted, level)
        if each.lower(level):
            told.append(f"Its {name} is shown to be smaller: {after} instead of {before} ({evidence}, adjusted).")
        else:
            told.append(f"A smaller {name} is not shown: {after}, and {before} as it is ({evidence}, adjusted).")
    return sorted(told, key=lambda said: not said.startswith("Its"))


def _told_apart(before: float, after: float) -> tuple[str, str]:
    """Write two numbers with two digits of their difference.

    >>> _told_apart(0.00182341, 0.00181952)
    ('0.0018234', '0.0018195')
    """
    gap = abs(before - after)
    digits = min(8, max(1, 1 - floor(log10(gap)))) if gap > 0 else 4
    return f"{before:.{digits}f}", f"{after:.{digits}f}"


def _of_equals(comparison: CalibratorComparison) -> list[str]:
    """Say why this one of several is recommended, and from which ones it is not told apart."""
    chosen, level = comparison.calibrator, comparison.level
    better = [each for each in comparison.changes if each.better(level)]
    both = [pair for pair in comparison.pairs if chosen in pair.names and not pair.told_apart]
    alike = [each.name for each in comparison.ranked if any(each.name in pair.names for pair in both)]
    alike = [shown(name) for name in alike if name not in (chosen, UNCALIBRATED)]
    told = [f"Of {len(better)} that are shown to be better it has the smallest Brier score."] if len(better) > 1 else []
    above = comparison.ranked[0].name
    if above != chosen:
        told.append(f"{shown(above)} has a smaller Brier score in the table, but is not shown to be better.")
    return [*told, *([f"It is not told apart from {some_of(alike, 8)}."] if alike else [])]


def _by_variables(found: Findings) -> str:
    """Say which variables the errors depend on, so that they belong into the model or its calibration."""
    if found.scan is None or not found.scan.varying:
        return ""
    names = some_of([shown(each.variable) for each in found.scan.varying])
    return f"The errors depend on {names}: add this to the model, or calibrate by it."


def _calibrator_table(found: Findings) -> Block | None:
    comparison = found.calibrators
    if isinstance(comparison, str):
        return None
    changes, unit = {each.name: each for each in comparison.changes}, unit_of(found.main)
    rows = []
    for model in comparison.ranked:
        change = changes.get(model.name)
        name = "as it is" if model.name == UNCALIBRATED else model.name
        better = change is not None and change.better(comparison.level)
        rows.append([
            words.text_cell(name),
            words.interval_cell(
                unit.cell(model.root, model.root_interval, 2), model.root, model.root_interval, 0.0, better
            ),
            words.number_cell(f"{model.scores.brier:.5f}", model.scores.brier),
            words.number_cell(f"{model.scores.log:.4f}", model.scores.log),
            words.p_cell(None if change is None else change.pvalue_of_better, comparison.level),
        ])  # fmt: skip
    columns = [
        ("Calibrator", "text"),
        (f"Calibration error, {unit.points}, with joint {confidence_of(found)} interval", "interval"),
        ("Brier score", "number"),
        ("Log loss", "number"),
        ("Adjusted p of being better", "pvalue"),
    ]
    caption = (
        "The smallest Brier score first: the mean squared distance between prediction and outcome. The error is the "
        "root of the mean squared calibration error with its noise taken off. The p-value is of a smaller error or "
        "Brier score than without calibrator, adjusted for all that were tried (Holm 1979)."
    )
    return table(caption, columns, rows)
