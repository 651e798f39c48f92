"""What follows the answer, section by section: tables, pictures and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as numbers
from math import floor, log10
from typing import Any, cast

from calibstat._progress import track
from calibstat._text import counted, percent, shown, some_of
from calibstat.auditing.audit import GroupFinding
from calibstat.binnings.simplex import SimplexGrid
from calibstat.comparisons.results import CalibratorComparison, Changes
from calibstat.comparisons.splits import UNCALIBRATED
from calibstat.displays.reliability import ReliabilityDisplay
from calibstat.displays.simplex import SimplexDisplay
from calibstat.displays.svg import svg_of
from calibstat.inference.tails import far_below
from calibstat.lenses.relabel import CANONICAL
from calibstat.reports import _words as words
from calibstat.reports._answer import (
    claims,
    evidence_of,
    interval_words,
    margin_words,
    name_of,
    over_nearly_all,
    sizes,
    stretch,
    unit_of,
    upper_bound,
    what_is_wrong,
    which_model,
    worst_class,
    worst_group,
)
from calibstat.reports._findings import MOST_CLASSES, Findings, Groups, View, cells_for

Block = dict[str, Any]
Section = dict[str, Any]
# So many rows of a table are worth reading.
_MOST_ROWS = 200
_MOST_MODELS = 8  # in one picture


def section(name: str, label: str, heading: str, blocks: Sequence[Block | None]) -> Section:
    """Return a section of the blocks that there are."""
    return {"id": name, "label": label, "heading": heading, "blocks": [each for each in blocks if each]}


def text(*sentences: str, strong: str = "", lens: str = "") -> Block | None:
    """Return a paragraph of the sentences that there are; None where there is none."""
    said = [each for each in sentences if each]
    if not said and not strong:
        return None
    block: Block = {"kind": "text", "sentences": said}
    return block | ({"strong": strong} if strong else {}) | ({"lens": lens} if lens else {})


def table(caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[list[dict[str, Any]]]) -> Block | None:
    """Return a table; columns are names and types. None where there are no rows."""
    if not rows:
        return None
    named = [{"name": name, "type": kind} for name, kind in columns]
    return {"kind": "table", "caption": caption, "columns": named, "rows": list(rows)}


def sections(found: Findings) -> list[Section]:
    """Return the sections about what was found, in their order."""
    return [_lenses(found), _pictures(found), _where(found), _what_to_do(found), _how_sure(found)]


def switched(found: Findings) -> list[str]:
    """Return the names that the switch offers: the lenses of the model, where there are several."""
    names = [lens_name(view) for view in found.own]
    return names if len(names) > 1 else []


def lens_name(view: View) -> str:
    """Return the name of a view in the switch and in tables."""
    return shown(view.name or view.what)


def _level(found: Findings) -> str:
    return words.confidence(found.main.test.level)


# Lens by lens.


def _lenses(found: Findings) -> Section:
    several, models = len(found.own) > 1, len(found.samples) > 1
    units = [unit_of(view) for view in found.views]
    unit = max(units, key=lambda each: each.per)
    columns = [("Model", "text")] * models + [("Looked at", "text")] * (several or not models)
    columns += [
        (f"Predicted, {unit.name}", "number"),
        (f"Happened, {unit.name}", "number"),
        (f"Average error, {unit.points}, with {_level(found)} interval", "interval"),
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
                f"All probabilities together were looked at in {words.count(parts[0].in_part or 0)} rows, drawn at "
                "random."
                if parts
                else "",
            ),
            table(caption, columns, rows),
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


# Reliability pictures.


def _pictures(found: Findings) -> Section:
    several = switched(found)
    number = numbers(1)
    blocks: list[Block | None] = [
        text(
            "Each point is a group of rows with similar predictions: to the right what the model says, upwards how "
            "often it happens.",
            "On the diagonal both agree; a pale bar reaches as far as noise alone moves a point.",
        ),
        _models_picture(found, next(number)) if len(found.samples) > 1 else None,
    ]
    for view in track(found.own, len(found.own)):
        lens = lens_name(view) if several else ""
        blocks += [text(_of_view(view), lens=lens), _picture(found, view, next(number), lens)]
    return section("reliability", "Pictures", "What it says, and what happens", blocks)


def _of_view(view: View) -> str:
    """Say in a sentence what is seen through a lens."""
    size, noise = sizes(view)
    said = claims(view)
    name = name_of(view)
    about = f"{name[:1].upper()}{name[1:]}"
    told = f"{about}: {said}; " if said else f"{about}: "
    evidence = evidence_of(view)
    return f"{told}the average error is {size}, where noise alone shows {noise} ({evidence})."


def _models_picture(found: Findings, number: int) -> Block | None:
    main = found.main
    if main.direction is None or len(found.samples) > _MOST_MODELS:
        return None
    display = ReliabilityDisplay.from_samples(
        {shown(name): sample for name, sample in found.samples.items()},
        cells_for(main.seen),
        lens=main.lens,
        rng=found.options.rng,
    )
    caption = display.caption
    return _picture_block(
        svg_of(display, f"p{number}-"), f"All models in one reliability diagram. {caption}", caption, ""
    )


def _caption(view: View) -> str:
    """Say what is drawn, in few words."""
    direction = cast(Any, view.direction)
    unit = unit_of(view)
    said, happened = unit.share(direction.predicted), unit.share(direction.happened)
    return (
        f"{lens_name(view)}: {said} said, {happened} happened. Points in the strong colour are beyond noise when all "
        "groups are looked at together; the line is the isotonic curve, and the strip shows how the rows spread."
    )


def _picture_block(svg: str, alt: str, caption: str, lens: str) -> Block:
    block = {"kind": "picture", "svg": svg, "alt": alt, "caption": caption}
    return block | ({"lens": lens} if lens else {})


def _picture(found: Findings, view: View, number: int, lens: str) -> Block | None:
    rng = found.options.rng
    if view.direction is not None:
        display = ReliabilityDisplay.compute(view.seen, cells_for(view.seen), rng=rng, name=lens_name(view))
        lines = "; ".join(display.answer.lines) if display.answer else ""
        alt = f"Reliability diagram of {lens_name(view)}: {lines}."
        return _picture_block(svg_of(display, f"p{number}-"), alt, _caption(view), lens)
    if view.lens == CANONICAL and len(found.sample.labels) in (3, 4):
        simplex = SimplexDisplay.compute(view.seen, SimplexGrid(5), rng=rng)
        if len(found.sample.labels) == 4:
            return _tetrahedron(simplex, lens)
        alt = f"Simplex of three classes with {counted(len(simplex.proportion), 'arrow')} from predictions to outcomes."
        caption = simplex.caption
        return _picture_block(svg_of(simplex, f"p{number}-"), alt, caption, lens)
    return None


def _tetrahedron(display: SimplexDisplay, lens: str) -> Block:
    rows = [round(share * display.n) for share in display.proportion.tolist()]
    clipped = [each.clip(0, 1).round(5).tolist() for each in (display.mean_prediction, display.mean_outcome)]
    arrows = [
        {"predicted": predicted, "happened": happened, "rows": max(1, n), "beyond": beyond}
        for predicted, happened, n, beyond in zip(*clipped, rows, display.outside.tolist(), strict=True)
    ]
    block: Block = {
        "kind": "simplex",
        "classes": [shown(label) for label in display.labels],
        "arrows": arrows,
        "alt": f"Tetrahedron of four classes with {counted(len(arrows), 'arrow')} from predictions to outcomes.",
        "caption": (
            "A disc is a group of rows with similar predictions, larger for more rows; its arrow leads to what "
            "happened. In a calibrated model with these predictions, no arrow is as long as those in the strong "
            f"colour in {percent(display.coverage)} of draws or more, all groups together."
        ),
    }
    return block | ({"lens": lens} if lens else {})


# Where it goes wrong.


def _where(found: Findings) -> Section:
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
    errors, level, two = groups.errors, _level(found), bool(groups.means)
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
        ("Which way", "text"),
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
    told = [f"There is evidence of an error in {len(rejected)} of {counted(n, 'group')}."]
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
    left = [shown(each.name) for each in errors.left_out]
    return [*told, *([f"Too small to be looked at: {some_of(left)}."] if left else [])]


def _group_row(group: GroupFinding, groups: Groups, unit: words.Unit, digits: int) -> list[dict[str, Any]]:
    off, ends, level = groups.difference(group), groups.ends(group), groups.errors.level
    means = (group.mean_prediction, group.mean_outcome) if groups.means else ()
    return [
        words.text_cell(group.name),
        words.number_cell(words.count(group.n), group.n),
        *(words.number_cell(unit.share_cell(each), each) for each in means),
        words.interval_cell(unit.cell(off, ends, digits), off, ends, 0.0, group.pvalue_adjusted <= level),
        words.p_cell(group.pvalue_adjusted, level, group.tail),
        words.text_cell(group.direction.removeprefix("predicts ")),
    ]


def _variables(found: Findings) -> list[Block | None]:
    scan = found.scan
    if scan is None:
        return []
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
        (f"Error varies by, {unit.points}, with joint {_level(found)} interval", "interval"),
        (f"Noise alone, {unit.points}", "number"),
        ("Adjusted p", "pvalue"),
        ("Worst at", "text"),
    ]
    columns += [(f"Predicted there, {unit.name}", "number"), (f"Happened there, {unit.name}", "number")] if two else []
    rows = [_variable_row(each, unit, digits, two, scan.level) for each in scan.variables[:_MOST_ROWS]]
    caption = (
        "How much the difference between what happened and what was predicted changes along each variable, on average "
        "over its cells, when the same difference over all rows is taken off (Kelly & Smyth 2023). The p-values are "
        "approximate (about right for many rows), and adjusted for all variables (max-T)."
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
        (f"Happened minus predicted, {unit.points}, with joint {_level(found)} interval", "interval"),
        ("Slope", "number"),
        ("Adjusted p", "pvalue"),
    ]
    caption = (
        "Class by class. The intervals hold together (Bonferroni). The p-value is of any error along the predictions "
        "of a class, not of their mean alone."
    )
    return [text(told), table(caption, columns, rows)]


# What to do.


def _what_to_do(found: Findings) -> Section:
    return section("do", "What to do", "What to do?", [*_models(found), *_calibrators(found)])


def _models(found: Findings) -> list[Block | None]:
    comparison = found.models
    if comparison is None:
        return []
    roots = dict(zip(comparison.names, comparison.root_values or comparison.values, strict=True))
    rows = []
    for pair in comparison.pairs:
        better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
        said = (
            f"{shown(better)} is better than {shown(worse)}" if pair.adjusted <= comparison.level else "not told apart"
        )
        rows.append([
            words.text_cell(f"{shown(pair.first)} and {shown(pair.second)}"),
            words.number_cell(f"{100 * roots[pair.first]:.2f}", roots[pair.first]),
            words.number_cell(f"{100 * roots[pair.second]:.2f}", roots[pair.second]),
            words.p_cell(pair.adjusted, comparison.level, _pair_tail(pair, comparison)),
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
    first = f"All other sections are about {shown(found.main.model)}, which was named first."
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
        f"{counted(len(tried), 'calibrator', 'was', 'were')} fitted on {words.count(fitted)} rows and compared on "
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
        strong = f"Recalibrate by {shown(chosen)}."
        told = [how, *_what_improves(found, change, comparison), *_of_equals(comparison)]
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
        (f"Calibration error, {unit.points}, with joint {_level(found)} interval", "interval"),
        ("Brier score", "number"),
        ("Log loss", "number"),
        ("Adjusted p of being better", "pvalue"),
    ]
    caption = (
        "The smallest Brier score first. The error is the root of the mean squared calibration error with its noise "
        "taken off. The p-value is of a smaller error or Brier score than without calibrator, adjusted for all that "
        "were tried (Holm 1979)."
    )
    return table(caption, columns, rows)


# How sure we are.


def _how_sure(found: Findings) -> Section:
    main = found.main
    size, noise = sizes(main)
    level = _level(found)
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
        f"The margin is {margin_words(test.margin, unit)}: the error in groups of similar predictions {below} below it."
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
        f"predictions like these too sure by {unit.difference(plan.effect)} on average, {words.count(n)} rows "
        f"would have shown it with a chance of {percent(plan.power)} (simulated: {unit.size(low)} to "
        f"{unit.size(high)}).{some}",
        "Smaller errors, and errors in groups of few rows, can be there without being seen.",
    ]


def _numbers(found: Findings) -> Block | None:
    main, level = found.main, _level(found)
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
            row("Slope", main.cox.slope, main.cox.slope_interval, 1.0, 3),
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
    told = [
        "P-values and intervals do not hold if the model or its calibrator was fitted on these rows, if rows come in "
        "clusters (several of one patient, one video), or if predictions are cross-validated.",
        "A p-value above the level is no evidence that the model is calibrated.",
    ]
    return [*told, *(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in plain)]
