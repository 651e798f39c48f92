"""The first screen: the answer in a sentence with its direction and its size, then the four numbers behind it."""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

import numpy as np

from calibstat._text import counted, shown, some_of
from calibstat.comparisons.results import CalibratorComparison, advice_in_words
from calibstat.comparisons.splits import UNCALIBRATED
from calibstat.estimators.base import all_weights
from calibstat.estimators.base import happened as happening
from calibstat.inference.compare_models import ModelComparison
from calibstat.inference.direction import WRONG_ORDER, Direction
from calibstat.lenses.relabel import CANONICAL, TopLabel
from calibstat.reports import _words as words
from calibstat.reports._findings import Findings, View

# An error is slight below this share of the mean chance of the rarer outcome, and large above the other one.
SLIGHT, LARGE = 0.1, 0.5
_TOO_HIGH, _TOO_LOW = ("claims {}too much", "claims {}too little")
_TOO_SURE, _UNSURE = ("is {}too sure", "is {}not sure enough")
_END = 0.1  # the share of the rows at either end of the predictions
_OVER_NEARLY_ALL = 0.9  # an interval with so large a share of the rows is no place


def answer(found: Findings) -> dict[str, Any]:
    """Return headline, sentences and tiles."""
    return {"headline": headline(found), "sentences": sentences(found), "tiles": tiles(found)}


def answers(found: Findings) -> list[dict[str, Any]]:
    """Return the answer of each lens but the first, which the whole answer is about."""
    if not switched(found):
        return []
    return [{"lens": lens_name(view), **answer(found.through(view))} for view in found.own[1:]]


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

    It is the one of them that errs more in the direction that is found; where none does, it is said how often the more
    probable outcome is claimed, and happens.
    """
    seen, direction = view.seen, view.direction
    if direction is None:
        return ""
    event, weights, outcomes = seen.predictions.event, all_weights(seen.predictions, None), happening(seen.outcomes)
    sign = -1 if direction.inclined() == "too timid" else 1
    low, high = np.quantile(event, [_END, 1 - _END])
    found = []
    for where, rows, way in (("most", event >= high, sign), ("least", event <= low, -sign)):
        said, happened = (float(np.average(each[rows], weights=weights[rows])) for each in (event, outcomes))
        found.append((way * (said - happened), where, said, happened))
    off, where, said, happened = max(found)
    unit = words.Unit.of(said, happened)
    if off > 0 and unit.share(said) != unit.share(happened):
        return f"where it claims {where}, it says {unit.share(said)}, and {unit.share(happened)} {unit.happens}"
    surest = np.maximum(event, 1 - event), np.where(event > 0.5, outcomes, 1 - outcomes)
    percents = words.Unit()
    sure, right = (float(np.average(each, weights=weights)) for each in surest)
    if sign * (sure - right) > 0:
        return f"it claims to be right in {percents.share(sure)} of the cases, and is right in {percents.share(right)}"
    return claims(view)


def what_is_wrong(view: View) -> str:
    """Say what is claimed, and what happens, where the evidence of an error is; "" where no place is known."""
    evidence = view.evidence
    return claims(view) if evidence == "mean" else at_the_ends(view) if evidence == "slope" else ""


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


def _does(view: View) -> str:
    """Say how a model errs, by the stronger evidence: of the mean, or of the slope."""
    direction = cast(Direction, view.direction)
    if view.evidence == "mean":
        high = direction.predicted > direction.happened
        does = (_TOO_SURE if high else _UNSURE) if is_top(view) else (_TOO_HIGH if high else _TOO_LOW)
    elif view.evidence == "slope" and direction.inclined() == WRONG_ORDER:
        return "puts the cases in the wrong order"
    elif view.evidence == "slope":
        does = _TOO_SURE if direction.inclined() == "too extreme" else _UNSURE
    else:
        return "is off, though no difference on average is shown"
    return does.format(how_much(view))


def headline(found: Findings) -> str:
    """Answer in one sentence; words never accept the null."""
    main = found.main
    model = f"Model {shown(main.model)}" if main.model else "The model"
    rejected = [view for view in found.own if view.rejected]
    if main.rejected and main.direction is not None:
        return f"{_some_evidence(main, model)} {_does(main)}: {what_is_wrong(main) or claims(main)}."
    if main.rejected:
        size, noise = sizes(main)
        does = f"is off: its probabilities miss by {size} on average, where noise alone shows {noise}"
        return f"{_some_evidence(main, model)} {does}."
    if rejected:
        worst = min(rejected, key=lambda view: view.adjusted)
        said = what_is_wrong(worst) or claims(worst)
        return f"{_some_evidence(worst, model)} is off for {name_of(worst)}" + (f": {said}." if said else ".")
    said = claims(main)
    return "There is no evidence that the model is off" + (f": {said}." if said else ".")


def _some_evidence(view: View, model: str) -> str:
    """Name the model, and how strong the evidence is where it is not strong."""
    if view.strong:
        return model
    return f"There is some evidence that {model[:1].lower()}{model[1:]}"


def lens_name(view: View) -> str:
    """Return the name of a view in the switch and in tables."""
    return shown(view.name or view.what)


def switched(found: Findings) -> list[str]:
    """Return the names that the switch offers: the lenses of the model, where there are several."""
    names = [lens_name(view) for view in found.own]
    return names if len(names) > 1 else []


def switch_of(found: Findings, view: View) -> str:
    """Return the name by which the switch shows what is seen in a view, "" where there is no switch."""
    if not switched(found):
        return ""
    return next(lens_name(each) for each in found.own if each.name == view.name)


def confidence_of(found: Findings) -> str:
    """Write the confidence of all intervals: "95 %"."""
    return words.confidence(found.main.test.level)


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


def evidence_of(view: View) -> str:
    """Write the p-value of a view."""
    return words.p_equals(view.adjusted, view.test.level, view.tail, view.at_smallest)


def sentences(found: Findings) -> list[str]:
    """Say how large the error is beside noise, and whether it is shown to be below the margin."""
    main, n = found.main, len(found.sample)
    size, noise = sizes(main)
    evidence = f"({evidence_of(main)}, {words.rows(n)})"
    level = words.confidence(main.test.level)
    value, mean = float(main.size.headline or 0.0), float(main.size.headline_null_mean or 0.0)
    if main.rejected and value > mean:
        small = " small but" if how_much(main) == "slightly " else ""
        real = f"The error is{small} real:" if main.strong else "The error is"
        told = [f"{real} {size} on average, where noise alone would show {noise} {evidence}."]
    elif main.rejected:
        told = [
            f"The evidence is in the pattern of the errors {evidence}; their average, {size}, is no larger than noise "
            f"alone would show ({noise})."
        ]
    else:
        told = [f"The average error is {size}, where noise alone would show {noise} {evidence}."]
        told += [_not_excluded(main, level)] if main.ends else []
    others = [view for view in found.own if view.rejected and view is not main]
    if main.rejected and others:
        told.append(f"Of {counted(len(found.own) - 1, 'other lens')} {len(others)} show an error too.")
    return [*told, *_margin(found, level), *_advice(found), *_look_first(found)]


def _look_first(found: Findings) -> list[str]:
    """Say what was found while the data were read that may make all of this wrong."""
    notes = dict.fromkeys(note for sample in found.samples.values() for note in (*sample.notes, sample.hint) if note)
    return [f"Look at the data first: {words.of_reading(note).rstrip('.')}." for note in notes]


def _advice(found: Findings) -> list[str]:
    """Say which model and which calibrator to use."""
    told = [which_model(found)] if isinstance(found.models, ModelComparison) else []
    if isinstance(found.calibrators, str) or found.calibrators.calibrator == UNCALIBRATED:
        return told
    doubt = (
        f" in one random split of the rows; {other_splits(found.calibrators)}"
        if splits_disagree(found.calibrators)
        else ""
    )
    helps = f"Recalibrating {_model_name(found)}by {shown(found.calibrators.calibrator)} is shown to help"
    return [*told, f"{helps}{doubt}."]


def splits_disagree(comparison: CalibratorComparison) -> bool:
    """Whether most of the other splits advise something else."""
    same = comparison.other_advice.count(comparison.calibrator)
    return 2 * same < len(comparison.other_advice)


def other_splits(comparison: CalibratorComparison) -> str:
    """Say what the other random splits of the rows advise; nothing where none was asked."""
    advice = [shown(each) for each in comparison.other_advice]
    return advice_in_words(advice) if advice else ""


def _model_name(found: Findings) -> str:
    return f"{shown(found.main.model)} " if found.main.model else ""


def which_model(found: Findings) -> str:
    """Say which of several models to use, by their calibration alone."""
    comparison = cast(ModelComparison, found.models)
    n, alike = counted(len(comparison.names), "model"), [shown(name) for name in comparison.confidence_set]
    if not any(pair.pvalue_adjusted <= comparison.level for pair in comparison.pairs):
        return f"None of {n} is told apart from another by its calibration."
    if len(alike) > 1:
        return f"Of {n}, use one of {some_of(alike, 8)}, whose calibration is not told apart."
    return f"Of {n}, use {alike[0]}: it is calibrated best."


def _not_excluded(view: View, level: str) -> str:
    high = unit_of(view).difference(min(1.0, view.ends[1] if view.ends else 1.0))
    return f"That is no proof of calibration: an average error of up to {high} cannot be excluded ({level} confidence)."


def _margin(found: Findings, level: str) -> list[str]:
    """Say whether the error is shown to be below the margin."""
    test = found.margin
    if test is None:
        return []
    unit = unit_of(found.main)
    upper = upper_bound(found)
    margin, bound = margin_words(test.margin, unit), unit.difference(upper)
    if test.within and upper < test.margin:
        return [
            f"The average error in groups of similar predictions is shown to be below {margin} ({level} confidence)."
        ]
    return [f"It is not shown to be below {margin}: it may be as large as {bound} ({level} confidence)."]


def upper_bound(found: Findings) -> float:
    """Return the upper bound of the average error: of the interval and the test of a margin the larger one."""
    main = found.main
    return main.ends[1] if main.ends else main.bound or 1.0


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
        shown_tiles.append(_tile(name, main.ratio.value, main.ratio.interval))
    if main.cox is not None and isfinite(main.cox.slope):
        tile = _tile("Slope", main.cox.slope, main.cox.slope_interval)
        if main.slope_rests_on_extremes:
            tile["range"] += f"; {cast(Direction, main.direction).inner[0]:.3f} without the most extreme 0.1 %"
        shown_tiles.append(tile)
    elif main.direction is not None and isfinite(main.direction.inner[0]):
        shown_tiles.append({
            "name": "Slope", "value": f"{main.direction.inner[0]:.3f}", "range": "without predictions of 0 and 1"
        })  # fmt: skip
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
        worst, n = worst_group(found), counted(len(found.groups.errors.groups) - 1, "group")
        if worst is None or alike(found):
            where = f"of {n}" if worst is None else off_alike(found)
            return {"name": "Worst group", "value": "none stands out", "range": where}
        unit = words.Unit.of(worst.mean_prediction, worst.mean_outcome)
        said, happened = unit.share(worst.mean_prediction), unit.share(worst.mean_outcome)
        return {"name": "Worst group", "value": shown(worst.name), "range": f"{said} said, {happened} happened"}
    if found.classes and len(found.own) > 1:
        view = worst_class(found)
        if view is None:
            return {
                "name": "Worst class",
                "value": "none stands out",
                "range": f"of {counted(len(found.classes), 'class')}",
            }
        size, noise = sizes(view)
        wrong = what_is_wrong(view) or f"off by {size}, noise alone {noise}"
        return {"name": "Worst class", "value": shown(view.lens.label), "range": wrong}  # type: ignore[attr-defined]
    if found.worst is not None and found.worst_test is not None and main.direction is not None:
        unit = unit_of(main)
        name = "Worst where it says"
        if found.worst_test.pvalue > found.worst_test.level:
            return {"name": name, "value": "none stands out", "range": "of all intervals of predictions"}
        if over_nearly_all(found.worst):
            return {"name": "Off over", "value": "nearly all predictions", "range": interval_words(found.worst, unit)}
        return {"name": name, "value": stretch(found.worst, unit), "range": interval_words(found.worst, unit)}
    return None


def worst_class(found: Findings) -> View | None:
    """Return the class with evidence of an error whose average error exceeds noise by most."""
    off = [view for view in found.classes if view.rejected and view.direction is not None]
    return max(off, key=lambda view: view.beyond_noise, default=None)


def over_nearly_all(worst: Any) -> bool:
    """Whether the worst interval of predictions holds so many rows that it is no place."""
    return bool(worst.share >= _OVER_NEARLY_ALL)


def worst_group(found: Findings) -> Any:
    """Return the group with evidence whose mean error is the largest, or None."""
    groups = found.groups
    if groups is None:
        return None
    named = [group for group in groups.errors.rejected if group.levels]
    return max(named, key=lambda group: abs(groups.difference(group)), default=None)


def alike(found: Findings) -> bool:
    """Whether all variables of the groups were scanned, without evidence that the error varies along any."""
    scan = found.scan
    return scan is not None and not scan.varying and {*(found.options.by or ())} <= {v.variable for v in scan.variables}


def off_alike(found: Findings) -> str:
    """Say how many groups are off where there is no evidence that they differ."""
    errors = cast(Any, found.groups).errors
    n, off = len(errors.groups) - 1, len([group for group in errors.rejected if group.levels])
    many = ("both" if n == 2 else f"all {n}") if off == n else f"{off} of {n}"
    return f"{many} {'is' if off == 1 else 'are'} off, with no evidence that they differ"


def stretch(worst: Any, unit: words.Unit) -> str:
    """Write where the worst interval of predictions begins and ends, both with as many decimals."""
    first, last = unit.share(worst.low), unit.share(worst.high)
    if first == last:
        return last
    digits = max(len(unit.share_cell(each).partition(".")[2]) for each in (worst.low, worst.high))
    return f"{unit.per * worst.low:.{digits}f} to {unit.per * worst.high:.{digits}f} {unit.name}"


def interval_words(worst: Any, unit: words.Unit) -> str:
    """Say by how much less, or more, happens in the worst interval of predictions."""
    inside = worst.deviation / worst.share if worst.share > 0 else worst.deviation
    return f"{unit.difference(abs(inside))} {'more' if inside > 0 else 'less'} happens"


def title(found: Findings) -> str:
    """Name what the report is about."""
    model = f" by {shown(found.main.model)}" if found.main.model else ""
    what = "the predicted class" if is_top(found.main) and found.main.lens != CANONICAL else found.main.what
    if what.startswith("P(") and what.endswith(")"):
        what = f"the predicted chance of {what[2:-1]}"
    return f"Calibration of {shown(what)}{model}"
