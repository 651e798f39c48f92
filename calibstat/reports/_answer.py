"""The first screen: the answer in a sentence with its direction and its size, then the four numbers behind it."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from calibstat._text import counted, shown
from calibstat.estimators.base import all_weights
from calibstat.estimators.base import happened as happening
from calibstat.inference.direction import Direction
from calibstat.lenses.relabel import CANONICAL, TopLabel
from calibstat.reports import _words as words
from calibstat.reports._findings import Findings, View

# An error is slight below this share of the mean chance of the rarer outcome, and large above the other one.
SLIGHT, LARGE = 0.1, 0.5
_WORDS = {
    "too high": "says too much",
    "too low": "says too little",
    "too high and too extreme": "is too sure",
    "too extreme": "is too sure",
    "too low and too extreme": "says too little, and is too sure of the extremes",
    "too timid": "is not sure enough",
    "too high and too timid": "says too much, and is not sure enough of the extremes",
    "too low and too timid": "is not sure enough",
    "in the wrong order": "puts the cases in the wrong order",
}
"""What a model does that errs in these directions."""
_OF_TOP_LABEL = _WORDS | {
    "too high": "is too sure",
    "too low": "is not sure enough",
    "too low and too extreme": "is not sure enough",
    "too high and too timid": "is too sure",
}
"""The same of a confidence."""


def answer(found: Findings) -> dict[str, Any]:
    """Return headline, sentences and tiles."""
    return {"headline": headline(found), "sentences": sentences(found), "tiles": tiles(found)}


def unit_of(view: View) -> words.Unit:
    """Return the unit that suits the chances seen through a lens."""
    direction = view.direction
    return words.Unit() if direction is None else words.Unit.of(direction.predicted, direction.happened)


def claims(view: View) -> str:
    """Say what is predicted and what happens: "it claims 51.1 %, and 49.8 % happens"."""
    direction = view.direction
    if direction is None:
        return ""
    unit = unit_of(view)
    said, happened = unit.share(direction.predicted), unit.share(direction.happened)
    if is_top(view):
        return f"it claims to be right in {said} of the cases, and is right in {happened}"
    return f"it claims {said}, and {happened} {unit.happens}"


def at_the_ends(view: View) -> str:
    """Say what is claimed, and what happens, in the tenth of the rows with the highest predictions, or the lowest.

    For a model whose errors cancel on average: it is the first of the two that errs in the direction that is found;
    without one, all rows are told.
    """
    seen, direction = view.seen, view.direction
    if direction is None or not any(word in direction.words for word in ("extreme", "timid")):
        return claims(view)
    event, weights = seen.predictions.event, all_weights(seen.predictions, None)
    for most, share in ((True, 0.9), (False, 0.1)):
        limit = np.quantile(event, share)
        rows = event >= limit if most else event <= limit
        said, happened = (
            float(np.average(each[rows], weights=weights[rows])) for each in (event, happening(seen.outcomes))
        )
        farther = said > happened if most else said < happened
        if farther == ("extreme" in direction.words):
            unit = words.Unit.of(said, happened)
            where = "claims most" if most else "claims least"
            return f"where it {where}, it says {unit.share(said)}, and {unit.share(happened)} {unit.happens}"
    return claims(view)


def is_top(view: View) -> bool:
    """Whether the view is of the predicted class."""
    return isinstance(view.lens, TopLabel) or bool(view.seen.predictions.seen)


def how_much(view: View) -> str:
    """Return the adverb of an error: "slightly", "far" or none, by its size beside the rarer outcome."""
    direction = view.direction
    if direction is None:
        return ""
    rarer = min(direction.predicted, 1 - direction.predicted)
    share = float(view.size.headline or 0.0) / rarer if rarer > 0 else 1.0
    return "slightly " if share < SLIGHT else "far " if share > LARGE else ""


def _does(direction: Direction, view: View) -> str:
    known = (_OF_TOP_LABEL if is_top(view) else _WORDS).get(direction.words, "")
    for verb in ("is too sure", "is not sure enough"):
        if known.startswith(verb):
            adverb = how_much(view).replace("far ", "far " if "too" in verb else "")
            return known.replace(verb, f"is {adverb}{verb.removeprefix('is ')}", 1)
    return known


def headline(found: Findings) -> str:
    """Answer in one sentence; words never accept the null."""
    main = found.main
    model = f"Model {shown(main.model)}" if main.model else "The model"
    rejected = [view for view in found.own if view.rejected]
    if main.rejected and main.direction is not None:
        does = _does(main.direction, main) or "is off, though not on average"
        on_average = any(word in main.direction.words for word in ("high", "low", "order")) or not main.direction.words
        return f"{model} {does}: {claims(main) if on_average else at_the_ends(main)}."
    if main.rejected:
        size, noise = sizes(main)
        return f"{model} is off: its probabilities miss by {size} on average, where noise alone shows {noise}."
    if rejected:
        worst = min(rejected, key=lambda view: view.adjusted)
        said = claims(worst)
        return f"{model} is off for {name_of(worst)}" + (f": {said}." if said else ".")
    said = claims(main)
    return "There is no evidence that the model is off" + (f": {said}." if said else ".")


def name_of(view: View) -> str:
    """Name what is seen through a lens, inside a sentence."""
    if is_top(view):
        return "the predicted class"
    name = view.name or view.what
    return shown(name[:1].lower() + name[1:] if view.name else name)


def sizes(view: View) -> tuple[str, str]:
    """Return the average error and what noise alone shows, in words."""
    unit = unit_of(view)
    value, noise = float(view.size.headline or 0.0), float(view.size.headline_null_mean or 0.0)
    return unit.difference(value), unit.size(noise)


def sentences(found: Findings) -> list[str]:
    """Say how large the error is beside noise, and whether it is shown to be below the margin."""
    main, n = found.main, len(found.sample)
    size, noise = sizes(main)
    evidence = f"({words.p_equals(main.adjusted, main.test.level)}, {words.count(n)} rows)"
    level = words.confidence(main.test.level)
    value, mean = float(main.size.headline or 0.0), float(main.size.headline_null_mean or 0.0)
    if main.rejected and value > mean:
        small = "The error is small but real" if how_much(main) == "slightly " else "The error is real"
        told = [f"{small}: {size} on average, where noise alone would show {noise} {evidence}."]
    elif main.rejected:
        told = [
            f"The evidence is in the pattern of the errors {evidence}; their average, {size}, is no larger than noise "
            f"alone would show ({noise})."
        ]
    else:
        told = [f"The average error is {size}, where noise alone would show {noise} {evidence}."]
        told += [_not_excluded(main, level)] if main.size.confidence_interval else []
    others = [view for view in found.own if view.rejected and view is not main]
    if main.rejected and others:
        told.append(f"Of {counted(len(found.own) - 1, 'other lens')} {len(others)} show an error too.")
    return [*told, *_margin(found, level)]


def _not_excluded(view: View, level: str) -> str:
    interval = view.size.confidence_interval
    high = unit_of(view).difference(min(1.0, float(interval.high if interval else 1.0)))
    return f"That is no proof of calibration: an average error of up to {high} cannot be excluded ({level} confidence)."


def _margin(found: Findings, level: str) -> list[str]:
    """Say whether the error is shown to be below the margin."""
    test = found.margin
    if test is None:
        return []
    unit = unit_of(found.main)
    margin, bound = margin_words(test.margin, unit), unit.difference(test.upper_bound)
    if test.within:
        return [f"The average error is shown to be below {margin} ({level} confidence)."]
    return [f"It is not shown to be below {margin}: it may be as large as {bound} ({level} confidence)."]


def margin_words(margin: float, unit: words.Unit) -> str:
    """Write the margin as it was given, in the unit of the errors."""
    return f"{margin * unit.per:.6g} {unit.points}"


# The tiles.


def tiles(found: Findings) -> list[dict[str, str]]:
    """Return about four numbers, each with its range."""
    main = found.main
    value, noise = float(main.size.headline or 0.0), float(main.size.headline_null_mean or 0.0)
    shown_tiles = []
    if main.ratio is not None:
        name = "Right / claimed" if is_top(main) else "Happened / predicted"
        shown_tiles.append(_tile(name, main.ratio.ratio, main.ratio.confidence_interval))
    if main.cox is not None and isfinite(main.cox.slope):
        shown_tiles.append(_tile("Slope", main.cox.slope, main.cox.slope_interval))
    name = "Average error (ECE)" if main.direction is not None else "Average error"
    shown_tiles.append({"name": name, "value": _three(value), "range": f"noise alone {_three(noise)}"})
    worst = _worst_tile(found)
    return [*shown_tiles, *([worst] if worst else [])]


def _tile(name: str, value: float, ends: tuple[float, float]) -> dict[str, str]:
    written = [words.signed(each, 3) if isfinite(each) else "any" for each in ends]
    return {"name": name, "value": f"{value:.3f}", "range": f"{written[0]} to {written[1]}"}


def _three(value: float) -> str:
    """Write three decimals, or two significant digits of a smaller number."""
    return (
        f"{value:.3f}" if value >= 0.005 or not value else words.two_digits(value) if value >= 1e-6 else f"{value:.1e}"
    )


def _worst_tile(found: Findings) -> dict[str, str] | None:
    """Return the worst group, else the worst class, else the worst interval of predictions; it must be significant."""
    main = found.main
    if found.groups is not None and main.direction is not None:
        worst = worst_group(found)
        if worst is None:
            n = len(found.groups.errors.groups) - 1
            return {"name": "Worst group", "value": "none stands out", "range": f"of {counted(n, 'group')}"}
        unit = words.Unit.of(worst.mean_prediction, worst.mean_outcome)
        said, happened = unit.share(worst.mean_prediction), unit.share(worst.mean_outcome)
        return {"name": "Worst group", "value": shown(worst.name), "range": f"{said} said, {happened} happened"}
    off = [view for view in found.classes if view.rejected and view.direction is not None]
    if off and len(found.own) > 1:
        view = max(off, key=lambda each: abs(each.difference))
        unit = unit_of(view)
        said, happened = (unit.share(each) for each in view.direction[:2])  # type: ignore[index]
        return {"name": "Worst class", "value": shown(view.lens.label), "range": f"{said} said, {happened} happened"}  # type: ignore[attr-defined]
    if found.worst is not None and main.rejected and main.direction is not None:
        unit = unit_of(main)
        where = stretch(found.worst, unit)
        return {"name": "Worst where it says", "value": where, "range": interval_words(found.worst, unit)}
    return None


def worst_group(found: Findings) -> Any:
    """Return the group with evidence whose mean error is the largest, or None."""
    groups = found.groups
    if groups is None:
        return None
    named = [group for group in groups.errors.rejected if group.levels]
    return max(named, key=lambda group: abs(groups.difference(group)), default=None)


def stretch(worst: Any, unit: words.Unit) -> str:
    """Write where the worst interval of predictions begins and ends."""
    first, last = unit.share(worst.low), unit.share(worst.high)
    return last if first == last else f"{unit.share_cell(worst.low)} to {last}"


def interval_words(worst: Any, unit: words.Unit) -> str:
    """Say by how much less, or more, happens in the worst interval of predictions."""
    inside = worst.deviation / worst.share if worst.share > 0 else worst.deviation
    return f"{unit.difference(abs(inside))} {'more' if inside > 0 else 'less'} happens"


def title(found: Findings) -> str:
    """Name what the report is about."""
    model = f" by {shown(found.main.model)}" if found.main.model else ""
    what = "the predicted class" if is_top(found.main) and found.main.lens != CANONICAL else found.main.what
    return f"Calibration of {shown(what)}{model}"
