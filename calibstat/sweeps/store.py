"""Finished blocks are kept in memory, or in a Zarr store from which an interrupted sweep continues."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array
import numpy as np
import zarr
from numcodecs import CRC32, Blosc

from calibstat._dask import computed
from calibstat._files import alone
from calibstat._text import counted
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Floats
from calibstat.data.files import netcdf_engine
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.estimators.base import Estimator
from calibstat.estimators.squared import ECE
from calibstat.estimators.tally import BinnedEstimator, Tally
from calibstat.generators.base import Population, SyntheticModel, Truth, limit_of, on_own_cells
from calibstat.lenses.base import Lens
from calibstat.sweeps._compute import BlockValues, small_cells_ignored
from calibstat.sweeps._draws import tallies_of_population
from calibstat.sweeps._grid import UNTOLD, Items, NullTest, Study, Unit, repeats_of, shapes, shares_the_sort
from calibstat.sweeps._large_samples import with_large_samples
from calibstat.sweeps._metadata import keep_copy, mend, refuse_damaged

if TYPE_CHECKING:
    import xarray as xr


_BLOCKS_IN_A_CHUNK = 1000  # whose status is written anew with each of them


class Blocks:
    """The NumPy or Zarr arrays that blocks are written into; one process writes, from any of its threads."""

    def __init__(self, study: Study, block: int, arrays: Mapping[str, Any], path: Path | None = None) -> None:
        self.study = study
        self.block = block
        self.arrays = arrays
        self.path = path
        self.status = np.asarray(arrays["status"][:])
        self.lock = threading.Lock()

    def finished(self, unit: Unit) -> bool:
        """Whether a block was computed without an error."""
        return bool(self.status[unit.model, unit.n, unit.block] == DONE)

    def write(self, found: BlockValues) -> None:
        """Write the values of a block, then its status, so that an interrupted block is computed again."""
        unit = found.unit
        repeats = repeats_of(self.study, unit, self.block)
        where = (unit.model, unit.n, unit.block)
        with self.lock:
            self._expect_store()
            for name, values in found.values.items():
                position = (unit.model, slice(None), unit.n, slice(None), slice(repeats.start, repeats.stop))
                # Blocks of NaN are written too, so that a missing chunk is one that was deleted.
                with zarr.config.set({"array.write_empty_chunks": True}):
                    self.arrays[name][position] = values
            if found.error or self.status[where] == FAILED:
                self.arrays["error"][where] = found.error[:ERROR_WIDTH]
            self.status[where] = FAILED if found.error else DONE
            status = self.arrays["status"]
            sizes = getattr(status, "chunks", status.shape)
            # Writing a chunk whole reads nothing; all others stay, so that a block does not cost more among many.
            chunk = tuple(slice(i // size * size, (i // size + 1) * size) for i, size in zip(where, sizes, strict=True))
            status[chunk] = self.status[chunk]

    def _expect_store(self) -> None:
        """Raise where somebody has removed the store: what is written then is no store."""
        if self.path is not None and not (self.path / ".zgroup").exists():
            advice = "the store was removed while the sweep ran; run it again, with a store in a place that stays"
            raise FileNotFoundError(errno.ENOENT, advice, str(self.path))


def in_memory(study: Study, block: int) -> tuple[Blocks, xr.Dataset]:
    """Make a dataset in memory, and the blocks that fill it."""
    dataset = empty_dataset(study, block, lambda shape, _: np.full(shape, np.nan))
    return Blocks(study, block, {name: dataset[name].values for name in (*shapes(study), "status", "error")}), dataset


@contextmanager
def in_zarr(study: Study, path: Path, block: Callable[[], int]) -> Iterator[Blocks]:
    """Open a store of this study, or make one of `block()` repeats in a block, and keep it for this process alone.

    A process that comes while another one works on the store waits for its end, and then finds its blocks.
    """
    if not path.exists():
        _create(study, block(), path)
    with alone(path, f"another process is at work on {path}: waiting until it has ended"):
        mend(path)
        group = _opened_store(path)
        refuse_garbled(path, group)
        _refuse_another_study(json.loads(str(group.attrs["design"])), study.design(own_version()), path)
        arrays = {name: group[name] for name in (*shapes(study), "status", "error")}
        blocks = Blocks(study, int(str(group.attrs["block"])), arrays, path)
        for where in lost_blocks(path, blocks.status):
            blocks.status[where] = UNFINISHED
        yield blocks


def lazily(path: Path) -> xr.Dataset:
    """Open a store; estimates, intervals and p-values are read when they are used, and all else now."""
    import xarray as xr

    dataset = xr.open_zarr(path).drop_encoding()  # the codecs of the store, which other formats do not know
    small = dataset.drop_vars(_PIECES, errors="ignore")
    return of_any_length(dataset.assign(computed(small.load).data_vars))


def of_any_length(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with texts of any length, which are few and are read: a fixed one makes Zarr warn later."""
    texts = {name: values for name, values in dataset.variables.items() if values.dtype.kind == "U"}
    loose = {name: values.copy().load().astype(object) for name, values in texts.items()}
    return dataset.assign_coords({name: values for name, values in loose.items() if name in dataset.coords}).assign(
        {name: values for name, values in loose.items() if name in dataset.data_vars}
    )


def read(path: Path) -> xr.Dataset:
    """Open the results of a sweep, a Zarr store or a NetCDF file made from one; refuse damaged ones."""
    if not path.exists():
        raise ValueError(f"{path} does not exist; name the store of a sweep.")
    if path.is_dir():
        refuse_damaged(path)
        refuse_garbled(path, _opened_store(path), (*_WRITTEN_ONCE, "status"))
    try:
        dataset = lazily(path) if path.is_dir() else _loaded(path)
    except Exception as error:  # each format raises errors of its own
        raise ValueError(
            f"{path} is neither a Zarr store nor a NetCDF file ({type(error).__name__}); name the store of a sweep."
        ) from error
    if "design" not in dataset.attrs:
        raise ValueError(f"{path} holds no sweep; name the store of one.")
    wrong = _fault_of(dataset)
    if wrong:
        raise ValueError(f"{path} is no whole result of a sweep: {wrong}; run the sweep again.")
    lost = lost_blocks(path, dataset["status"]) if path.is_dir() else []
    if lost:
        raise ValueError(
            f"{path} lacks values of {counted(len(lost), 'block')} that it had, first of (model, n, block) {lost[0]}: "
            "run the sweep again with this store, which computes them anew."
        )
    return dataset


def _loaded(path: Path) -> xr.Dataset:
    """Read a NetCDF file and close it; of one of version 3 that is left open, SciPy warns at the end."""
    import xarray as xr

    with xr.open_dataset(path, engine=netcdf_engine(path)) as dataset:
        return dataset.load()


# What is summarised together with each variable.
_TOGETHER = {
    "estimate": ("truth",),
    "interval_low": ("interval_high", "truth"),
    "pvalue": ("miscalibration",),
    "status": ("error",),
}


def _fault_of(dataset: xr.Dataset) -> str:
    """Say what a dataset lacks, or what in it is not as `empty_dataset` makes it, or nothing."""
    needed = {other for name in _TOGETHER if name in dataset for other in _TOGETHER[name]}
    if not {"estimate", "pvalue"} & {*dataset}:
        return "it has neither estimates nor p-values"
    empty = [str(name) for name, size in dataset.sizes.items() if not size]
    if empty:
        return f"it has no {empty[0]}"
    for name, variable in dataset.variables.items():
        known = _dimensions(str(name))
        if known and (variable.dims != known or (variable.dtype.kind not in "iuf") != (name in _TEXTS)):
            return f"{name} is of {variable.dtype} along {', '.join(map(str, variable.dims)) or 'nothing'}"
        needed |= {*known}
    lacking = sorted(needed - {*dataset.variables})
    if lacking:
        return f"it lacks {', '.join(lacking)}"
    return _fault_of_design(dataset.attrs["design"])


def _fault_of_design(text: Any) -> str:
    """Say why a text does not describe a study, or nothing."""
    try:
        design = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return "its design is no JSON"
    if not isinstance(design, dict):
        return "its design is no JSON object"
    listed = [design.get(name, []) for name in ("estimators", "tests")]
    if not all(isinstance(each, list) and all(isinstance(item, str) for item in each) for each in listed):
        return "its design does not list estimators and tests"
    return ""


def _create(study: Study, block: int, path: Path) -> None:
    """Write the empty dataset beside its place and then move it there, so that no half-made store is ever opened.

    Of several processes one makes it; the remains of a process that was killed are removed by the next.
    """
    dataset = empty_dataset(study, block)
    path = Path(os.path.realpath(path))  # of a link, the folder
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent / f".calibstat-unfinished-{path.name}"
    with alone(path.parent):
        shutil.rmtree(folder, ignore_errors=True)
        if path.exists():
            return
        try:
            # Format 2 has strings of fixed width. Chunks of NaN are written too: a missing chunk was deleted.
            with zarr.config.set({"array.write_empty_chunks": True}):
                checked = {str(name): dict(CODECS) for name in dataset.variables}
                checked["status"]["chunks"] = (1, 1, min(_BLOCKS_IN_A_CHUNK, dataset.sizes["block"]))
                dataset.to_zarr(folder, compute=False, zarr_format=2, consolidated=True, encoding=checked)
            keep_copy(folder)
            folder.replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _opened_store(path: Path) -> Any:
    try:
        group = zarr.open_group(str(path), mode="r+")
        group.attrs["design"]
    except Exception as error:
        raise ValueError(
            f"{path} exists, but it is no store of a sweep ({type(error).__name__}); name another place."
        ) from error
    return group


def expect_told(study: Study) -> None:
    """Refuse to store an item that cannot be told from another one, whose numbers it could then get."""
    for item in (*study.estimators.each, *study.tests.each):
        if UNTOLD in str(item):
            raise TypeError(
                f"{item.name!r} is {item.thing!r}, which cannot be told from another one like it, so that a store "
                "might return wrong numbers: give its class a __repr__ with all that decides what it does, or run "
                "without a store."
            )


def _refuse_another_study(stored: dict[str, Any], asked: dict[str, Any], path: Path) -> None:
    for key in {**stored, **asked}:
        if key != "rng" and stored.get(key) != asked.get(key):
            seeds = key == "seed" and stored.get("rng") != asked.get("rng")
            was, now = (each.get("rng" if seeds else key) for each in (stored, asked))
            raise ValueError(
                f"{path} holds another study: {key} was {was!r}, and is {now!r} now. It is left as it is; name another "
                "store, or run the study that it holds."
            )


# The dataset before anything is computed: dimensions, coordinates, true values and provenance.

_lazy: Any = dask.array  # it has no types
UNFINISHED, DONE, FAILED = 0, 1, 2
ERROR_WIDTH = 240
_METHOD = (
    "Every repeat draws a sample of n rows from the model with a stream of its own; all estimators, tests and numbers "
    "of bins see the same sample. truth: the model's value of the estimand; limit: the value that the estimator "
    "converges to with fixed cells; miscalibration: the true ECE through the lens of a test, 0 if its null is true. "
    "The attribute upper_bound of each names those that may be smaller than what stands there."
)
_LONG_NAMES = {
    "estimate": "value of the estimator",
    "pvalue": "p-value of the test",
    "truth": "true value of the estimand",
    "truth_error": "error of a true value from a large sample; 0 where it is known",
    "limit": "limit for growing n and fixed cells",
    "miscalibration": "true ECE through the lens of the test",
    "interval_low": "lower end of the interval",
    "interval_high": "upper end of the interval",
    "status": "0 waiting, 1 done, 2 failed",
    "error": "first error of the block",
    "model": "synthetic model",
    "estimator": "estimator",
    "test": "test",
    "n": "rows of a sample",
    "n_bins": "number of bins",
    "repeat": "number of the repeat",
    "block": "first repeat of the block",
}


def _lazy_nan(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
    return _lazy.full(shape, np.nan, chunks=chunks)


def empty_dataset(
    study: Study, block: int, nan: Callable[[tuple[int, ...], tuple[int, ...]], Any] = _lazy_nan
) -> xr.Dataset:
    """Build the dataset that is filled block by block, each a chunk; `nan` makes an array of a shape, in chunks."""
    import xarray as xr

    values, attributes = true_values(study)
    variables: dict[str, Any] = {name: ((*_head(name), "n_bins"), array) for name, array in values.items()}
    for name, (n_names, n_bins) in shapes(study).items():
        shape = (len(study.models), n_names, len(study.n), n_bins, study.n_repeats)
        variables[name] = ((*_head(name), "n", "n_bins", "repeat"), nan(shape, (1, n_names, 1, n_bins, block)))
    firsts = np.arange(0, study.n_repeats, block)
    cells = (len(study.models), len(study.n), len(firsts))
    variables["status"] = (("model", "n", "block"), np.zeros(cells, dtype=np.int64))
    variables["error"] = (("model", "n", "block"), np.full(cells, "", dtype=f"<U{ERROR_WIDTH}"))
    dataset = xr.Dataset(variables, _coordinates(study, firsts), _provenance(study, block))
    for variable in dataset.variables:
        dataset[variable].attrs["long_name"] = _LONG_NAMES[str(variable)]
    for name, said in attributes.items():
        dataset[name].attrs |= said
    return dataset


_TEXTS = ("model", "estimator", "test", "error")


def _dimensions(name: str) -> tuple[str, ...]:
    """Return the dimensions of a variable of the dataset; none of what is not in it."""
    if name in ("model", "estimator", "test", "n", "n_bins", "repeat", "block"):
        return (name,)
    if name in ("status", "error"):
        return ("model", "n", "block")
    if name in _PIECES:
        return (*_head(name), "n", "n_bins", "repeat")
    return (*_head(name), "n_bins") if name in _LONG_NAMES else ()


def _head(name: str) -> tuple[str, str]:
    return ("model", "test" if name in ("pvalue", "miscalibration") else "estimator")


def _coordinates(study: Study, firsts: Any) -> dict[str, Any]:
    found = {
        "model": np.array(study.names),
        "n": np.array(study.n),
        "n_bins": np.array(study.n_bins),
        "repeat": np.arange(study.n_repeats),
        "block": firsts,
    }
    if len(study.estimators):
        found["estimator"] = np.array(study.estimators.names)
    if len(study.tests):
        found["test"] = np.array(study.tests.names)
    return found


def own_version() -> str:
    """Return the version of this package."""
    return str(sys.modules["calibstat"].__version__)


_version = cache(version)  # each reads a file of metadata


def _provenance(study: Study, block: int) -> dict[str, Any]:
    libraries = ("numpy", "scipy", "xarray", "dask")
    return {
        "title": "Sweep of calibration estimators and tests over synthetic models",
        "method": _METHOD,
        "design": json.dumps(study.design(own_version())),
        "seed": " ".join(map(str, study.entropy)),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": ", ".join(
            [
                f"calibstat {own_version()}",
                f"python {platform.python_version()}",
                *(f"{name} {_version(name)}" for name in libraries),
            ]
        ),
        "block": block,
    }


# Chunks of a store may have been deleted or garbled.

# A checksum of what is on the disk stands beside it, so that no damage is read as numbers.
CODECS: dict[str, Any] = {"filters": [Blosc()], "compressors": CRC32()}
_PIECES = ("estimate", "pvalue", "interval_low", "interval_high")
_COMPUTED = (*_PIECES, "status", "error")
_WRITTEN_ONCE = tuple(name for name in _LONG_NAMES if name not in _COMPUTED)


def lost_blocks(path: Path, status: Any) -> list[tuple[int, int, int]]:
    """Return blocks (model, n, block) marked as done in `status` (models, n, blocks) but lacking a chunk."""
    names = [name for name in _PIECES if (path / name).is_dir()]
    done = [tuple(int(place) for place in where) for where in np.argwhere(np.asarray(status) == DONE)]
    return [
        (model, n, block)
        for model, n, block in done
        if not all((path / name / f"{model}.0.{n}.0.{block}").exists() for name in names)
    ]


def refuse_garbled(path: Path, group: Any, needed: Iterable[str] = _WRITTEN_ONCE) -> None:
    """Read every chunk once; refuse one that cannot be read, or is `needed` and gone, and say what to do."""
    for name, array in group.arrays():
        for place in np.ndindex(array.cdata_shape):
            file = path / name / ".".join(map(str, place))
            try:
                if file.exists():
                    array.blocks[place]
                elif name in needed and array.filters:  # not one of earlier versions, which left empty chunks out
                    raise FileNotFoundError(file)
            except Exception as error:  # each compressor raises errors of its own
                damage = "gone" if isinstance(error, FileNotFoundError) else f"damaged ({type(error).__name__})"
                delete = "" if damage == "gone" else "delete this file and "
                advice = (
                    f"{delete}run the sweep again, which computes what was in it anew"
                    if name in _COMPUTED
                    else f"delete {path} and run the sweep again"
                )
                raise ValueError(f"{file} is {damage}: {advice}.") from error


# True values beside the estimates: the estimand, the limit with fixed cells, and whether a null is true.


def true_values(study: Study) -> tuple[dict[str, Floats], dict[str, dict[str, str]]]:
    """Return the true values of the models, NaN where unknown, and the attributes of each variable.

    ``truth`` and ``limit`` are (models, estimators, bins); ``miscalibration`` (models, tests, bins) is the true ECE
    through the lens of the test. The attribute ``unknown`` says why some are unknown, and ``upper_bound`` which may be
    smaller than the value that stands there, since the model does not pool what the lens makes equal.
    """
    values: dict[str, Floats] = {}
    attributes: dict[str, dict[str, str]] = {}
    asked: dict[str, tuple[Items, Callable[[_Remembering, Estimator], Truth]]] = {
        "truth": (study.estimators, _Remembering.truth),
        "limit": (study.estimators, _Remembering.limit),
        "miscalibration": (study.tests, lambda known, estimator: known.model.truth(estimator.lens | ECE())),
    }
    with small_cells_ignored:
        for name, (items, function) in asked.items():
            if len(items):
                given = study.truths if name == "truth" else {}
                values[name], attributes[name] = _of_items(study, items, function, given)
        if study.truth_rows is not None and "truth" in values:
            values["truth"], values["truth_error"], failed = with_large_samples(study, values["truth"])
            attributes["truth"]["unknown"] = "; ".join(filter(None, [attributes["truth"]["unknown"], failed]))
    return values, attributes


def _of_items(
    study: Study,
    items: Items,
    function: Callable[[_Remembering, Estimator], Truth],
    given: Mapping[str, Mapping[str, float]],
) -> tuple[Floats, dict[str, str]]:
    values = np.full((len(study.models), len(items)), np.nan)
    reasons, bounds = dict[str, None](), dict[str, None]()  # in order, each once
    for row, (model_name, model) in enumerate(study.models.items()):
        remembering = _Remembering(model, items)
        for column, item in enumerate(items.each):
            thing = item.thing.estimator if isinstance(item.thing, NullTest) else item.thing
            known = given.get(item.name, {}).get(model_name)
            try:
                if known is None and not isinstance(thing, Estimator):
                    if function is _Remembering.truth and study.truth_rows is not None:
                        continue  # a large sample will say it
                    raise TypeError(
                        "the estimand of a plain function is not known; Sweep(..., truth={name: value}), or "
                        "truth='large sample'"
                    )
                found = function(remembering, thing) if known is None else Truth(known)
            except (ValueError, TypeError) as error:
                reasons[f"{model_name}, {item.name}: {error}"] = None
                continue
            values[row, column] = float(found)
            if found.upper_bound and float(found) > SAME:  # no error is below 0
                bounds[f"{model_name}, {item.name}"] = None
    return values[:, items.where], {"unknown": "; ".join(reasons), "upper_bound": "; ".join(bounds)}


class _Remembering:
    """A model that computes each truth and each population once for all estimators of a study."""

    def __init__(self, model: SyntheticModel, items: Items) -> None:
        self.model = model
        self.truths: dict[str, Truth] = {}
        self.populations: dict[str, Population] = {}
        self.estimators = [item.thing for item in items.each]

    def truth(self, estimator: Estimator) -> Truth:
        refuse_other_units(estimator)
        key = repr(estimator.estimand)
        if key not in self.truths:
            self.truths[key] = _headline(estimator, self.model.truth(estimator))
        return self.truths[key]

    def limit(self, estimator: Estimator) -> Truth:
        """Return the limit of an estimator, from remembered tallies or populations."""
        refuse_other_units(estimator)
        fixed, binning = on_own_cells(estimator)
        core: Any = fixed.core
        if binning in self._tallies and not fixed.lens.parts and _is_of_means(core):
            found = _headline(estimator, Truth(core.functional(self._tallies[binning])))
            if not np.isnan(found.value):
                return Truth(0.0) if self.model.calibrated and abs(float(found)) <= ROUNDING else found
        return _headline(estimator, limit_of(self.model, estimator, self.population))

    @cached_property
    def _tallies(self) -> dict[Binning, Tally]:
        """Tallies of the population on cells of equal mass and width of all estimators."""
        cores = [each.core for each in self.estimators if shares_the_sort(each) and not each.lens.parts]
        return tallies_of_population(self.model, dict.fromkeys(core.binning for core in cores))

    def population(self, lens: Lens, binning: Binning | None) -> Population:
        """Return the population of the model that a lens and a binning ask for, once for each."""
        key = f"{lens!r} {binning!r}"
        if key not in self.populations:
            self.populations[key] = self.model.population(lens, binning)
        return self.populations[key]


def _is_of_means(core: Estimator) -> bool:
    """Whether a limit is a function of the mass, the mean prediction and the mean outcome of each cell."""
    if not isinstance(core, BinnedEstimator):
        return False
    return not (core.needs or core.compares_labels or core.test_statistic or core.by_rows)


def _headline(estimator: Estimator, truth: Truth) -> Truth:
    """Return the true value of the number that an estimator is judged by."""
    number = np.asarray(truth.value, dtype=float)
    return replace(truth, value=float(estimator.estimand.core.headline(number) if number.ndim else number))


def refuse_other_units(estimator: Estimator) -> None:
    """Raise where the value is not in the units of what it estimates: it may not be compared with a true value."""
    if estimator.test_statistic:
        raise ValueError(f"{estimator!r} is a test statistic: it grows with the number of rows, no true value does")
    for member in estimator.members:
        refuse_other_units(member)
