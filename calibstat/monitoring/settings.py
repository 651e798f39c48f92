"""How a monitor was made: as plain values, to be written down, and compared with those of another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What may be changed on the way: it decides which rows are taken, not what is bet on those that are.
HANDLING = ("bad_rows", "max_waiting", "when_full")


def settings_of(monitor: Any) -> dict[str, Any]:
    """Return the settings of a monitor as plain values by name; its lens and bets as they print themselves."""
    return {
        "name": monitor.name,
        "lens": repr(monitor.lens),
        "labels": list(monitor.labels),
        "bets": repr(monitor.bets),
        "alpha": monitor.alpha,
        "order": monitor.order,
        "max_waiting": monitor.max_waiting,
        "when_full": monitor.when_full,
        "bad_rows": monitor.bad_rows,
    }


def expect_same(path: str | Path, stored: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse the state of a monitor that bets otherwise.

    Raises
    ------
    ValueError
        With all settings that differ.
    """
    differing = [
        f"{name} {stored.get(name)!r} (here {own[name]!r})"
        for name in own
        if name not in HANDLING and stored.get(name) != own[name]
    ]
    if differing:
        raise ValueError(f"{path} is the state of another monitor: it has {', '.join(differing)}")
