"""What every study has in common: a size, an engine, a store for each sweep, a text and a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from calibstat import Sample, Sweep
from calibstat._files import written_whole

SEED = 20260101


@dataclass(frozen=True)
class Scale:
    """How long a study takes: "quick" (seconds), "usual" (a minute or a few), "full" (as long as the papers)."""

    name: str = "usual"

    def pick(self, quick: Any, usual: Any, full: Any) -> Any:
        """Return what belongs to this scale."""
        return {"quick": quick, "usual": usual, "full": full}[self.name]


@dataclass(frozen=True)
class Simulation:
    """A study.

    Parameters
    ----------
    sweeps : callable
        Takes a `Scale` and a sample of predictions or None; returns sweeps by name.
    tell : callable
        Takes the datasets by name; returns a text.
    draw : callable
        Takes the datasets by name; returns a figure.
    """

    sweeps: Callable[[Scale, Sample | None], Mapping[str, Sweep]]
    tell: Callable[[Mapping[str, Any]], str]
    draw: Callable[[Mapping[str, Any]], Any]


def run(
    name: str, study: Simulation, scale: Scale, folder: Path, client: Any = None, sample: Sample | None = None
) -> str:
    """Run a study; an interrupted one goes on where it was.

    Parameters
    ----------
    name : str
    study : Simulation
    scale : Scale
    folder : Path
        Gets a Zarr store for each sweep, and the figure.
    client : distributed.Client, str or None
    sample : Sample, optional
        Predictions to study beside the synthetic ones.

    Returns
    -------
    text : str
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name}_{scale.name}"
    found = {
        part: sweep.run(client, folder / f"{stem}_{part}.zarr").load()
        for part, sweep in study.sweeps(scale, sample).items()
    }
    figure = study.draw(found)
    with written_whole(folder / f"{stem}.png") as place:
        figure.savefig(place, dpi=150)
    plt.close(figure)
    return study.tell(found)
