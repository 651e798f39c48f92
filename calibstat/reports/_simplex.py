"""The tetrahedron of four classes as it is seen before the reader turns it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Place: TypeAlias = tuple[float, float, float]

YAW, PITCH = -0.8, -0.3
"""How far it is turned at first, in radians: about the upright axis, then towards the reader."""
_SIDES = [math.radians(degrees) for degrees in (90, 210, 330)]
_CORNERS: list[Place] = [
    (0.0, 1.0, 0.0),
    *((math.sqrt(8) / 3 * math.cos(side), -1 / 3, math.sqrt(8) / 3 * math.sin(side)) for side in _SIDES),
]
_OUTWARDS = 1.14  # where the names of the corners stand
_LARGEST = 0.075  # the radius of the disc of most rows


def view(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a block "simplex" with their places in space, and where they are seen at first."""
    rows = [arrow["rows"] for arrow in block["arrows"]]
    return {
        "yaw": YAW,
        "pitch": PITCH,
        "edges": [_part(_CORNERS[k], _CORNERS[j]) for j in range(4) for k in range(j)],
        "names": [
            {"name": name, **_part([_OUTWARDS * each for each in corner])}
            for name, corner in zip(block["classes"], _CORNERS, strict=True)
        ],
        "discs": [
            {"radius": round(_LARGEST * math.sqrt(arrow["rows"] / max(rows)), 4), **_part(_inside(arrow["predicted"]))}
            for arrow in block["arrows"]
        ],
        "arrows": [
            {"beyond": arrow.get("beyond", False), **_part(_inside(arrow["predicted"]), _inside(arrow["happened"]))}
            for arrow in block["arrows"]
        ],
    }


def _inside(chances: Sequence[float]) -> Place:
    """Return the place of probabilities among the corners."""
    x, y, z = (sum(p * corner[k] for p, corner in zip(chances, _CORNERS, strict=True)) for k in range(3))
    return x, y, z


def _part(*places: Sequence[float]) -> dict[str, Any]:
    """Return the places as the script reads them, and as they are seen at first: what is farther away is paler."""
    seen = [_seen(*place) for place in places]
    away = sum(depth for *_, depth in seen) / len(seen)
    return {
        "at": " ".join(f"{each:.4f}" for place in places for each in place),
        "seen": [(round(x, 4), round(y, 4)) for x, y, _ in seen],
        "opacity": round(0.65 - 0.35 * away, 2),
    }


def _seen(x: float, y: float, z: float) -> Place:
    """Turn a place and look at it along the last axis; pictures have their second axis downwards."""
    across, away = x * math.cos(YAW) + z * math.sin(YAW), z * math.cos(YAW) - x * math.sin(YAW)
    return across, away * math.sin(PITCH) - y * math.cos(PITCH), away * math.cos(PITCH) + y * math.sin(PITCH)
