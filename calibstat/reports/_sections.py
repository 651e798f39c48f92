"""What follows the answer, section by section: how large the error is, where, what to do, and how sure this is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from calibstat._text import percent
from calibstat.reports import _words as words
from calibstat.reports._advice import what_to_do
from calibstat.reports._answer import (
    confidence_of,
    lens_name,
    margin_words,
    sizes,
    switch_of,
    unit_of,
    upper_bound,
)
from calibstat.reports._blocks import Block, Section, section, seen_through, table, text
from calibstat.reports._findings import MOST_CLASSES, Findings, View
from calibstat.reports._pictures import pictures
from calibstat.reports._where import where


def sections(found: Findings) -> list[Section]:
    """Return the sections about what was found, in their order; what is of the first lens alone goes with it."""
    first = switch_of(found, found.main)
    made = [_lenses(found), pictures(found), where(found), what_to_do(found), _how_sure(found)]
    about_first = [each | {"blocks": seen_through(first, each["blocks"])} for each in made[2:]]
    return [*made[:2], *about_first]


def _lenses(found: Findings) -> Section:
    several, models = len(found.own) > 1, len(found.samples) > 1
    units = [unit_of(view) for view in found.views]
    unit = max(units, key=lambda each: each.per)
    columns = [("Model", "text")] * models + [("Looked at", "text")] * (several or not models)
    columns += [
        (f"Predicted, {unit.name}", "number"),
        (f"Happened, {unit.name}", "number"),
        (f"Average error, {unit.points}, with {confidence_of(found)} interval", "interval"),
        (f"Noise alone, {unit.points}", "number"),
        ("Adjusted p" if len(found.views) > 1 else "p", "pvalue"),
    ]
    digits = words.decimals([float(view.size.headline_null_mean or 0) * unit.per for view in found.views])
    rows = []
    for view in found.views:
        names = [words.text_cell(view.model)] * models + [words.text_cell(lens_name(view))] * (several or not models)
        rows.append([*names, *_numbers_of(view, unit, digits)])
    caption = (
        "A point is the average error, a bar its interval; the line marks what noise alone gives on average in a "
        f"calibrated model. {_beyond(found, len(found.views))}"
    )
    parts = [view for view in found.own if view.in_part]
    return section(
        "lenses",
        "By lens" if several else "The error",
        "Seen through each lens" if several else "How large is the error?",
        [
            text(
                "A lens is a question to the model: whether its most probable class is right as often as it claims, "
                "whether a class happens as often as predicted, or whether all its probabilities are right together."
                if several
                else "",
                "The average error is the mean distance between what is predicted and what happens, over groups of "
                "rows with similar predictions.",
                _left_out(found),
                f"All probabilities together were looked at in {words.rows(parts[0].in_part or 0)}, drawn at random."
                if parts
                else "",
            ),
            table(caption, columns, rows, [switch_of(found, view) for view in found.views]),
        ],
    )


def _beyond(found: Findings, m: int) -> str:
    adjusted = f", adjusted for {m} p-values (Holm 1979)" if m > 1 else ""
    return f"A strong colour means evidence of an error at {percent(found.main.test.level)}{adjusted}."


def _left_out(found: Findings) -> str:
    classes = len(found.sample.labels)
    if not found.classes or len(found.classes) == classes:
        return ""
    return f"Of {classes} classes the {MOST_CLASSES} that are predicted most are looked at one by one."


def _numbers_of(view: View, unit: words.Unit, digits: int) -> list[dict[str, Any]]:
    direction, noise = view.direction, float(view.size.headline_null_mean or 0.0)
    shares = [{"text": ""}] * 2
    if direction is not None:
        shares = [words.number_cell(unit.share_cell(each, 1), each) for each in direction[:2]]
    value, ends = float(view.size.headline or 0.0), view.ends
    return [
        *shares,
        words.interval_cell(unit.cell(value, ends, digits), value, ends, noise, view.rejected),
        words.number_cell(words.signed(noise * unit.per, digits), noise),
        words.p_cell(view.adjusted, view.test.level, view.tail, view.at_smallest),
    ]


# How sure we are.


def _how_sure(found: Findings) -> Section:
    main = found.main
    size, noise = sizes(main)
    level = confidence_of(found)
    unit = unit_of(main)
    ends = (
        f"; the true one lies between {unit.size(main.ends[0])} and {unit.difference(upper_bound(found))}"
        if main.ends
        else ""
    )
    return section(
        "sure",
        "How sure",
        "How sure is this?",
        [
            text(
                f"Even a calibrated model with as many rows would show an average error of {noise} by noise alone; "
                f"this one shows {size}{ends}{f' ({level} confidence)' if ends else ''}.",
                "These are errors of groups of rows with similar predictions: inside a group, errors of opposite "
                "directions cancel.",
                _margin_text(found),
            ),
            text(*_power(found), strong="What could have been missed by the average error."),
            _numbers(found),
            text(*_limits(found), strong="When this does not hold."),
        ],
    )


def _margin_text(found: Findings) -> str:
    test = found.margin
    if test is None:
        return ""
    unit = unit_of(found.main)
    below = "is shown to be" if test.within and upper_bound(found) < test.margin else "is not shown to be"
    return (
        f"The margin, the largest average error that would be accepted, is {margin_words(test.margin, unit)}: the "
        f"error in groups of similar predictions {below} below it."
    )


def _power(found: Findings) -> list[str]:
    plan, n = found.detectable, found.detectable_rows
    if isinstance(plan, str):
        return [f"It is not known how small an error these rows would have shown: {plan.rstrip('.')}."]
    unit = unit_of(found.main)
    low, high = plan.interval
    whole = len(found.sample)
    some = f" Only {words.count(n)} of the {words.count(whole)} rows were needed for that." if n < whole else ""
    return [
        f"This is about the average error in groups of similar predictions alone, not about the other statistics. Were "
        f"predictions like these too sure by {unit.difference(plan.effect)} on average, {words.rows(n)} "
        f"would have shown it with a chance of {percent(plan.power)} (simulated: {unit.size(low)} to "
        f"{unit.size(high)}).{some}",
        "Smaller errors, and errors in groups of few rows, can be there without being seen.",
    ]


def _numbers(found: Findings) -> Block | None:
    main, level = found.main, confidence_of(found)
    value, noise = float(main.size.headline or 0), float(main.size.headline_null_mean or 0)

    def row(
        name: str, number: float, ends: Sequence[float] | None, expected: float, digits: int
    ) -> list[dict[str, Any]]:
        known = "" if ends is None else f"{words.signed(ends[0], digits)} to {words.signed(ends[1], digits)}"
        return [
            words.text_cell(name),
            words.number_cell(words.signed(number, digits), number),
            words.text_cell(known),
            words.number_cell(words.signed(expected, digits), expected),
        ]

    small = words.decimals([value, noise]) + 1
    rows = [row("Average error", value, main.ends, noise, small)]
    if main.direction is not None and main.ratio is not None and main.cox is not None:
        digits = words.decimals([main.difference]) + 1
        rows += [
            row("Happened minus predicted", main.difference, main.difference_ends, 0.0, digits),
            row("Happened / predicted", main.ratio.value, main.ratio.interval, 1.0, 3),
            *([row("Slope", main.cox.slope, main.cox.slope_interval, 1.0, 3)] if isfinite(main.cox.slope) else []),
        ]
    joint = len(found.own) > 1
    caption = f"Each interval holds by itself with {level} confidence" + (
        "; that of the difference holds together with those of the other lenses." if joint else "."
    )
    return table(
        caption,
        [("Number", "text"), ("Value", "number"), (f"{level} interval", "text"), ("If calibrated", "number")],
        rows,
    )


def _limits(found: Findings) -> list[str]:
    notes = [note for view in found.own[:1] for note in (*view.test.notes, *view.size.notes)]
    plain = [note for note in dict.fromkeys(notes) if "null=" not in note and "(" not in note[:3]]
    clusters = found.own[0].test.question.clusters
    clustered = "" if clusters is not None else " if rows come in clusters (several of one patient, one video),"
    told = [
        f"P-values and intervals do not hold if the model or its calibrator was fitted on these rows,{clustered} or if "
        "predictions are cross-validated.",
        "A p-value above the level is no evidence that the model is calibrated.",
    ]
    return [*told, *(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in plain)]
