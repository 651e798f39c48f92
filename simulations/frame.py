"""What every study has in common: a plan that is printed first, parts that are computed and kept, a text, a figure.

A study is a file of this folder with one subclass of `Study`. Its parts are sweeps, or `Repeats` of a function of its
own. Text and figure are made from the stored datasets alone, so that a finished study is shown again without running.
"""

from __future__ import annotations

import json
import platform
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import dask
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from calibstat import SmallCellsWarning, Sweep
from calibstat._dask import computed
from calibstat._files import written_whole
from calibstat.sweeps.schedule import connected

SEED = 20260101
Datasets: TypeAlias = Mapping[str, xr.Dataset]


@dataclass(frozen=True)
class Scale:
    """How long a study takes: "quick" (less than a minute), "usual" (minutes), "full" (as long as the papers)."""

    name: str = "usual"

    def pick(self, quick: Any, usual: Any, full: Any) -> Any:
        """Return what belongs to this scale."""
        return {"quick": quick, "usual": usual, "full": full}[self.name]


@dataclass(frozen=True)
class Plan:
    """What a study asks, and how: the five points of Morris, White & Crowther (2019)."""

    aim: str
    mechanisms: str
    estimands: str
    methods: str
    performance: str

    def __str__(self) -> str:
        heads = ("Aim", "Data-generating mechanisms", "Estimands", "Methods", "Performance")
        points = (self.aim, self.mechanisms, self.estimands, self.methods, self.performance)
        return "\n".join(f"{head}: {point}" for head, point in zip(heads, points, strict=True))


class Part(Protocol):
    """A dataset that is computed and kept: a `Sweep`, or `Repeats`."""

    def run(self, client: Any, store: Path) -> xr.Dataset:
        """Compute what is not in the store, on a client as `Sweep.run` takes it."""


@dataclass(frozen=True)
class Repeats:
    """A function that returns a dataset, repeated, each time with a random stream of its own, and kept as NetCDF.

    Parameters
    ----------
    once : callable
        Takes a Generator. Its repr is the design, so that a stored file of another design is refused: a frozen
        dataclass whose fields are all that decides its numbers.
    n_repeats : int
    seed : int
    """

    once: Callable[[np.random.Generator], xr.Dataset]
    n_repeats: int = 1
    seed: int = SEED

    def run(self, client: Any, store: Path) -> xr.Dataset:
        """Return the repeats along a dimension "repeat"; without a client they are computed one after the other."""
        if store.exists():
            found = _read(store)
            if found.attrs["design"] != repr(self):
                raise ValueError(
                    f"{store} holds another study: {found.attrs['design']}, but {self!r} is asked for. It is left as "
                    "it is; name another folder by --out, or delete it."
                )
            return found
        streams = np.random.SeedSequence(self.seed).spawn(self.n_repeats)
        tasks = [dask.delayed(_in_stream, pure=False)(self.once, stream) for stream in streams]
        with connected(client) as workers:
            values = dask.compute(*tasks, scheduler="synchronous" if workers is None else workers)
        found = xr.concat(values, "repeat").assign_attrs(_provenance(self))
        with written_whole(store) as place:
            found.to_netcdf(place, engine="scipy")
        return found


class MeanAndError(NamedTuple):
    """Means over repeats, and their Monte Carlo standard errors."""

    mean: xr.DataArray
    error: xr.DataArray


def mean_and_error(values: xr.DataArray) -> MeanAndError:
    """Return the mean over the dimension "repeat" and its Monte Carlo standard error (NaN where it is not finite)."""
    with np.errstate(invalid="ignore"):
        spread = values.std("repeat", ddof=1)
    return MeanAndError(values.mean("repeat"), spread / np.sqrt(values.sizes["repeat"]))


def bracketed(mean: float, error: float, digits: str) -> str:
    """Return a mean with its Monte Carlo standard error in brackets, without one where all repeats agree.

    There the error is estimated as 0, which it is not: a few repeats do not show what is rare.
    """
    if not error > 1e-9 * abs(mean):
        return f"{mean:{digits}}"
    told = f"{error:{digits.removeprefix('+')}}"
    return f"{mean:{digits}} ({told if float(told) else f'{error:.1g}'})"


@contextmanager
def small_cells_on_purpose() -> Iterator[None]:
    """Leave out the warning that cells hold few rows, where a study shows what comes of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellsWarning)
        yield


def _in_stream(once: Callable[[np.random.Generator], xr.Dataset], stream: np.random.SeedSequence) -> xr.Dataset:
    return once(np.random.default_rng(stream))


def _provenance(part: Repeats) -> dict[str, str]:
    libraries = ("numpy", "scipy", "scikit-learn", "xarray")
    return {
        "design": repr(part),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": f"python {platform.python_version()}, calibstat {version('calibstat')}, "
        + ", ".join(f"{name} {version(name)}" for name in libraries),
    }


def _read(store: Path) -> xr.Dataset:
    if store.suffix == ".zarr":
        return computed(xr.open_zarr(store).load)
    with xr.open_dataset(store, engine="scipy") as found:
        return found.load()


def option(metavar: str, help: str, **kind: Any) -> Any:  # noqa: A002 (as argparse has it)
    """Declare an option of a study: a field of it, and ``--name METAVAR`` on the command line."""
    return field(default=None, metadata={"metavar": metavar, "help": help, **kind})


@dataclass(frozen=True)
class Study(ABC):
    """A study; the fields of a subclass are its own options."""

    plan: ClassVar[Plan]

    @abstractmethod
    def parts(self, scale: Scale) -> Mapping[str, Part]:
        """Return what is computed, by name."""

    @staticmethod
    @abstractmethod
    def text(found: Datasets) -> str:
        """Return the answer in a sentence or two, then the numbers, from the datasets alone."""

    @staticmethod
    @abstractmethod
    def figure(found: Datasets) -> Figure:
        """Draw the datasets."""

    def answer(self, found: Datasets) -> str:
        """Return the text, and which true values of sweeps are upper bounds only."""
        return "\n".join([self.text(found), *_bounds(found)])

    def run(self, scale: Scale, folder: Path, client: Any = None) -> Datasets:
        """Compute the parts that are not in the folder, each as `Sweep.run` does, and leave text and figure there."""
        parts = self.parts(scale)
        folder.mkdir(parents=True, exist_ok=True)
        stores = {name: folder / _file_of(name, part) for name, part in parts.items()}
        # What is there comes first: if it is of another design, it is refused, and a finished study stays finished.
        kept = {
            name: computed(part.run(client, stores[name]).load) for name, part in parts.items() if stores[name].exists()
        }
        if len(kept) < len(parts):
            with suppress(FileNotFoundError):
                _text_in(folder).unlink()
        found = {
            name: kept[name] if name in kept else computed(part.run(client, stores[name]).load)
            for name, part in parts.items()
        }
        with written_whole(_options_in(folder)) as place:
            made_with = {"options": self._options(), "parts": [store.name for store in stores.values()]}
            place.write_text(json.dumps(made_with, indent=1) + "\n", encoding="utf-8")
        self._write(found, folder)
        return found

    def show(self, folder: Path) -> Datasets:
        """Read what a finished run left in the folder, and make text and figure again.

        Options may be left out; those that are named must be the ones that the study was made with.
        """
        if not _text_in(folder).exists() or not _options_in(folder).exists():
            raise ValueError(f"{folder} holds no finished study: run it without --show.")
        made_with = json.loads(_options_in(folder).read_text(encoding="utf-8"))
        other = {name: value for name, value in self._options().items() if made_with["options"].get(name) != value}
        if other:
            raise ValueError(
                f"{folder} was made with {_as_typed(made_with['options'])}, not with {_as_typed(other)}: leave that "
                "out, or run it without --show."
            )
        found = {Path(name).stem: _read(folder / name) for name in made_with["parts"]}
        self._write(found, folder)
        return found

    def _options(self) -> dict[str, Any]:
        """Return the options that are named."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def _write(self, found: Datasets, folder: Path) -> None:
        figure = self.figure(found)
        with written_whole(folder / "figure.png") as place:
            figure.savefig(place, dpi=150)
        plt.close(figure)
        with written_whole(_text_in(folder)) as place:
            place.write_text(f"{self.plan}\n\n{self.answer(found)}\n", encoding="utf-8")


def _bounds(found: Datasets) -> list[str]:
    """Name the true values that are known as upper bounds only."""
    told = [
        f"upper bounds, not known exactly ({part}, {kind}): {own.attrs['upper_bound']}"
        for part, dataset in found.items()
        for kind, own in dataset.data_vars.items()
        if own.attrs.get("upper_bound")
    ]
    return ["", *told] if told else []


def _file_of(name: str, part: Part) -> str:
    return f"{name}.zarr" if isinstance(part, Sweep) else f"{name}.nc"


def _as_typed(options: Mapping[str, Any]) -> str:
    """Return options as on the command line."""
    told = (
        f"--{name} {value}"
        for name, given in options.items()
        for value in (given if isinstance(given, list) else [given])
    )
    return " ".join(told) or "no options of its own"


def _text_in(folder: Path) -> Path:
    return folder / "study.txt"


def _options_in(folder: Path) -> Path:
    return folder / "options.json"
