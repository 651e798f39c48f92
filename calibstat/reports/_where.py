"""Where a model goes wrong: intervals of predictions, groups, variables and classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from calibstat._text import counted, percent, shown, some_of
from calibstat.auditing.audit import GroupFinding
from calibstat.reports import _words as words
from calibstat.reports._answer import (
    alike,
    confidence_of,
    interval_words,
    name_of,
    over_nearly_all,
    sizes,
    stretch,
    switch_of,
    unit_of,
    what_is_wrong,
    worst_class,
    worst_group,
)
from calibstat.reports._blocks import Block, Section, section, table, text
from calibstat.reports._findings import Findings, Groups, View

# So many rows of a table are worth reading.
_MOST_ROWS = 200
_MOST_PARTS = 3  # of groups that are named in a sentence


def where(found: Findings) -> Section:
    """Return the section about the places of errors."""
    return section(
        "where",
        "Where",
        "For whom is it off?" if found.groups is not None else "Where is it off?",
        [_worst(found), *_groups(found), *_variables(found), *_classes(found)],
    )


def _worst(found: Findings) -> Block | None:
    main, worst, test = found.main, found.worst, found.worst_test
    if test is None:
        return text("More than two outcomes are seen at once, so that errors have no one place on a line.")
    if worst is None:
        return text("Every prediction equals what happened, so that no interval of predictions is the worst.")
    unit = unit_of(main)
    where = stretch(worst, unit)
    evidence = words.p_equals(test.pvalue, test.level, found.worst_tail)
    of_rows = f"{words.two_digits(100 * worst.share)} % of the rows" if worst.share < 0.995 else "all rows"
    if test.pvalue > test.level:
        return text(f"No interval of predictions stands out from noise ({evidence}).")
    if over_nearly_all(worst):
        return text(
            f"Over nearly all predictions ({of_rows}), {interval_words(worst, unit)} than the model says ({evidence})."
        )
    return text(
        f"Where the model says {where} ({of_rows}), {interval_words(worst, unit)} than it says ({evidence}).",
        "The interval was chosen as the worst one, so that on other rows its error will be smaller.",
        strong="It is worst in one stretch of the predictions.",
    )


def _groups(found: Findings) -> list[Block | None]:
    groups = found.groups
    if groups is None:
        return [text(found.not_grouped)]
    errors, level, two = groups.errors, confidence_of(found), bool(groups.means)
    ordered = sorted(
        errors.groups, key=lambda each: (each.pvalue_adjusted > errors.level, -abs(groups.difference(each)))
    )
    chances = [each for group in errors.groups for each in (group.mean_prediction, group.mean_outcome)]
    unit = words.Unit.of(*chances) if two else words.Unit()
    digits = words.decimals([groups.noise(group) * unit.per for group in errors.groups])
    rows = [_group_row(each, groups, unit, digits) for each in ordered[:_MOST_ROWS]]
    columns = [("Group", "text"), ("Rows", "number")]
    columns += [(f"Predicted, {unit.name}", "number"), (f"Happened, {unit.name}", "number")] if two else []
    columns += [
        (f"{'Happened minus predicted' if two else 'Error'}, {unit.points}, with joint {level} interval", "interval"),
        ("Adjusted p", "pvalue"),
    ]
    caption = (
        f"The intervals of all groups hold together with {level} confidence. The p-value is of any error along the "
        "predictions of a group, not of their mean alone, and is adjusted for all groups (max-T); the intervals hold "
        "whatever the error is, so that one may contain 0 where the p-value is small. A strong colour means evidence "
        f"at {percent(errors.level)}."
    )
    return [text(*_about_groups(found, groups)), table(caption, columns, rows)]


def _about_groups(found: Findings, groups: Groups) -> list[str]:
    """Say in how many groups there is evidence, and which one is off most."""
    errors, worst = groups.errors, worst_group(found)
    n, rejected = len(errors) - 1, [group for group in errors.rejected if group.levels]
    differ = ", and none that they differ" if alike(found) else ""
    told = [f"There is evidence of an error in {len(rejected)} of {counted(n, 'group')}{differ}."]
    if not rejected:
        smallest = min(group.pvalue_adjusted for group in errors.groups)
        told = [
            f"There is no evidence of an error in any of {counted(n, 'group')} (smallest adjusted "
            f"{words.p_equals(smallest, errors.level)}); the intervals say how large one may still be."
        ]
    elif worst is not None and groups.means:
        unit, off = words.Unit.of(worst.mean_prediction, worst.mean_outcome), groups.difference(worst)
        told.append(
            f"The largest difference is in {shown(worst.name)}: {unit.share(worst.mean_prediction)} predicted, "
            f"{unit.share(worst.mean_outcome)} happened, {unit.difference(abs(off))} {'less' if off < 0 else 'more'}."
        )
    told += _in_parts(rejected) if groups.means else []
    left = [shown(each.name) for each in errors.left_out]
    return [*told, *([f"Too small to be looked at: {some_of(left)}."] if left else [])]


_MODEL = {
    "predicts too high": "claims too much",
    "predicts too low": "claims too little",
    "overconfident": "is too sure",
    "underconfident": "is not sure enough",
}


def _in_parts(groups: Sequence[GroupFinding]) -> list[str]:
    """Say in which groups a part of the predictions is off, rather than their mean."""
    told = [_of_part(group.name, group.direction) for group in groups if "where it says" in group.direction]
    return [f"In part of the predictions: {'; '.join(told[:_MOST_PARTS])}."] if told else []


def _of_part(name: str, direction: str) -> str:
    """Say what the model does in a part of the predictions of a group, with chances as percentages.

    >>> _of_part("age 30 to 48", "predicts too high where it says 0.05 to 0.41")
    'for age 30 to 48 the model claims too much where it says 5 % to 41 %'
    """
    way, place = direction.split(" where it says ")
    chances = re.sub(r"\d\.\d+", lambda chance: f"{100 * float(chance[0]):.0f} %", place)
    return f"for {shown(name)} the model {_MODEL[way]} where it says {chances}"


def _group_row(group: GroupFinding, groups: Groups, unit: words.Unit, digits: int) -> list[dict[str, Any]]:
    off, ends, level = groups.difference(group), groups.ends(group), groups.errors.level
    means = (group.mean_prediction, group.mean_outcome) if groups.means else ()
    return [
        words.text_cell(group.name),
        words.number_cell(words.count(group.n), group.n),
        *(words.number_cell(unit.share_cell(each), each) for each in means),
        words.interval_cell(unit.cell(off, ends, digits), off, ends, 0.0, group.pvalue_adjusted <= level),
        words.p_cell(group.pvalue_adjusted, level, group.tail),
    ]


def _variables(found: Findings) -> list[Block | None]:
    scan = found.scan
    if scan is None:
        return [text(found.not_scanned)]
    varying, m = scan.varying, len(scan.variables)
    if varying:
        first = varying[0]
        names = some_of([shown(each.variable) for each in varying])
        told = [f"The error varies along {names}, most along {shown(first.variable)}."] if len(varying) > 1 else [
            f"The error varies along {names}."
        ]  # fmt: skip
    else:
        smallest = min(each.pvalue_varying_adjusted for each in scan.variables)
        along = f"any of {m} variables" if m > 1 else shown(scan.variables[0].variable)
        told = [
            f"There is no evidence that the error varies along {along} (smallest adjusted "
            f"{words.p_equals(smallest, scan.level)})."
        ]
    worst = [each.worst for each in scan.variables]
    two = found.main.direction is not None
    unit = words.Unit.of(*(each.mean_prediction for each in worst)) if two else words.Unit()
    digits = words.decimals([each.varying_null_mean * unit.per for each in scan.variables])
    columns = [
        ("Variable", "text"),
        (f"Change of the error, {unit.points}, with joint {confidence_of(found)} interval", "interval"),
        (f"Noise alone, {unit.points}", "number"),
        ("Adjusted p", "pvalue"),
        ("Worst at", "text"),
    ]
    columns += [(f"Predicted there, {unit.name}", "number"), (f"Happened there, {unit.name}", "number")] if two else []
    rows = [_variable_row(each, unit, digits, two, scan.level) for each in scan.variables[:_MOST_ROWS]]
    caption = (
        "The change is how far, on average, the error in a part of the rows is from the error of all rows, where each "
        "variable cuts the rows into parts (Kelly & Smyth 2023). The p-values are about right for many rows, and "
        "adjusted for all variables (max-T)."
    )
    return [text(*told), table(caption, columns, rows)]


def _variable_row(each: Any, unit: words.Unit, digits: int, two: bool, level: float) -> list[dict[str, Any]]:
    value, noise, ends = each.varying, each.varying_null_mean, each.varying_interval
    worst = each.worst
    there = [words.number_cell(unit.share_cell(at), at) for at in (worst.mean_prediction, worst.mean_outcome)]
    return [
        words.text_cell(each.variable),
        words.interval_cell(unit.cell(value, ends, digits), value, ends, noise, each.pvalue_varying_adjusted <= level),
        words.number_cell(words.signed(noise * unit.per, digits), noise),
        words.p_cell(each.pvalue_varying_adjusted, level, each.tail_varying),
        words.text_cell(worst.level),
        *(there if two else []),
    ]


def _classes(found: Findings) -> list[Block | None]:
    views = [view for view in found.classes if view.direction is not None]
    if len(views) < 2:
        return []
    unit = max((unit_of(view) for view in views), key=lambda each: -each.per)
    digits = words.decimals([float(view.mean.headline_null_mean or 0) * unit.per for view in views if view.mean])
    off = [view for view in views if view.rejected]
    told = f"There is evidence of an error in {len(off)} of {counted(len(views), 'class')}."
    if off:
        most = cast(View, worst_class(found))
        size, noise = sizes(most)
        wrong = what_is_wrong(most)
        told += (
            f" The largest error beyond noise is that of {name_of(most)}: {wrong + '; ' if wrong else ''}it is off by "
        )
        told += f"{size} on average, where noise alone shows {noise}."
    else:
        told = f"None of {len(views)} classes stands out: there is no evidence of an error in any of them."
    rows = []
    for view in views:
        direction = cast(Any, view.direction)
        ends = view.difference_ends
        slope = direction.slope
        rows.append([
            words.text_cell(view.lens.label),  # type: ignore[attr-defined]
            *(words.number_cell(unit.share_cell(each), each) for each in direction[:2]),
            words.interval_cell(unit.cell(view.difference, ends, digits), view.difference, ends, 0.0, view.rejected),
            words.number_cell(f"{slope:.2f}", slope),
            words.p_cell(view.adjusted, view.test.level, view.tail, view.at_smallest),
        ])  # fmt: skip
    columns = [
        ("Class", "text"),
        (f"Predicted, {unit.name}", "number"),
        (f"Happened, {unit.name}", "number"),
        (f"Happened minus predicted, {unit.points}, with joint {confidence_of(found)} interval", "interval"),
        ("Slope", "number"),
        ("Adjusted p", "pvalue"),
    ]
    caption = (
        "Class by class. The intervals hold together (Bonferroni). The p-value is of any error along the predictions "
        "of a class, not of their mean alone."
    )
    return [text(told), table(caption, columns, rows, [switch_of(found, view) for view in views])]
