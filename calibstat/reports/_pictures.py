"""Reliability pictures: what the model says, and what happens."""

from __future__ import annotations

from itertools import count as numbers
from typing import Any, cast

from calibstat._progress import track
from calibstat._text import counted, percent, shown, some_of
from calibstat.binnings.simplex import SimplexGrid
from calibstat.displays.reliability import ReliabilityDisplay
from calibstat.displays.simplex import SimplexDisplay
from calibstat.displays.svg import svg_of
from calibstat.inference.direction import Direction
from calibstat.lenses.relabel import CANONICAL
from calibstat.reports import _words as words
from calibstat.reports._answer import claims, evidence_of, lens_name, name_of, sizes, switch_of, unit_of
from calibstat.reports._blocks import Block, Section, section, seen_through, text
from calibstat.reports._findings import Findings, View, cells_for

_MOST_MODELS = 8  # in one picture


def pictures(found: Findings) -> Section:
    """Return the section of pictures: all models in one, and each lens in its own."""
    number = numbers(1)
    blocks = [
        text(
            "Each point is a group of rows with similar predictions: to the right what the model says, upwards how "
            "often it happens.",
            "On the diagonal both agree; a pale bar reaches as far as noise alone moves a point, and points in the "
            "strong colour are beyond noise when all groups are looked at together.",
            "The line is the isotonic curve, which follows what happened and never falls; the strip below shows how "
            "many rows have which predictions.",
        ),
        *(_of_models(found, next(number)) if len(found.samples) > 1 else []),
    ]
    for view in track(found.own, len(found.own)):
        drawn = _picture(found, view, next(number)) or text(_of_view(view))
        blocks += seen_through(switch_of(found, view), [drawn])
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


def _of_models(found: Findings, number: int) -> list[Block]:
    main = found.main
    if main.direction is None or len(found.samples) > _MOST_MODELS:
        return []
    models = {shown(name): sample for name, sample in found.samples.items()}
    display = ReliabilityDisplay.from_samples(models, cells_for(main.seen), lens=main.lens, rng=found.options.rng)
    rows = sorted({len(sample) for sample in found.samples.values()})
    display.lines = (f"{counted(len(models), 'model')}, {' to '.join(map(words.count, rows))} rows",)
    told = f"All models in one picture, seen as {name_of(main)}: {some_of(list(models), 8)}."
    return seen_through(switch_of(found, main), [_drawn(display, number, told, told)])


def _drawn(display: Any, number: int, alt: str, caption: str) -> Block:
    return {"kind": "picture", "svg": svg_of(display, f"p{number}-"), "alt": alt, "caption": caption}


def _picture(found: Findings, view: View, number: int) -> Block | None:
    """Draw what is seen through a lens, if it can be drawn."""
    rng, told = found.options.rng, _of_view(view)
    if view.direction is not None:
        display = ReliabilityDisplay.compute(view.seen, cells_for(view.seen), rng=rng, name=lens_name(view))
        display.lines = _above(view)
        beyond, groups = int(display.beyond.sum()), counted(len(display.count), "group")
        return _drawn(display, number, f"Reliability diagram. {told} Beyond noise: {beyond} of {groups}.", told)
    if view.lens == CANONICAL and len(found.sample.labels) in (3, 4):
        simplex = SimplexDisplay.compute(view.seen, SimplexGrid(5), rng=rng)
        if len(found.sample.labels) == 4:
            return _tetrahedron(simplex, told)
        arrows = counted(len(simplex.proportion), "arrow")
        alt = f"Simplex of three classes with {arrows} from predictions to outcomes. {told}"
        return _drawn(simplex, number, alt, f"{told} {_ARROWS.format(percent(simplex.coverage))}")
    return None


def _above(view: View) -> tuple[str, str]:
    """Return the two lines above a picture: what is said and what happens, and the error beside noise."""
    direction, (size, noise) = cast(Direction, view.direction), sizes(view)
    unit = unit_of(view)
    said, happened = unit.share(direction.predicted), unit.share(direction.happened)
    return f"{said} said, {happened} {unit.happens}", f"error {size}, noise {noise}; {words.rows(len(view.seen))}"


_ARROWS = (
    "A disc is a group of rows with similar predictions, larger for more rows; its arrow leads to what happened. Each "
    "arrow is held against the noise of its own group, which is larger in fewer rows, so that a long arrow can be "
    "noise. In {} of draws or more of a calibrated model with these predictions, no arrow is in the strong colour."
)


def _tetrahedron(display: SimplexDisplay, told: str) -> Block:
    rows = [round(share * display.n) for share in display.proportion.tolist()]
    clipped = [each.clip(0, 1).round(5).tolist() for each in (display.mean_prediction, display.mean_outcome)]
    arrows = [
        {"predicted": predicted, "happened": happened, "rows": max(1, n), "beyond": beyond}
        for predicted, happened, n, beyond in zip(*clipped, rows, display.outside.tolist(), strict=True)
    ]
    seen = counted(len(arrows), "arrow")
    return {
        "kind": "simplex",
        "classes": [shown(label) for label in display.labels],
        "arrows": arrows,
        "alt": f"Tetrahedron of four classes with {seen} from predictions to outcomes. {told}",
        "caption": f"{told} {_ARROWS.format(percent(display.coverage))}",
    }
