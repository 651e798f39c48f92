"""Sweeps over models, sample sizes and numbers of bins."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import TerminalBar, listener_of_this_thread
from calibstat._text import counted
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import Count, HasParameters, Repeats, at_least_one, keep, true_or_false
from calibstat.draws.streams import Streams
from calibstat.generators.base import SyntheticModel
from calibstat.sweeps._compute import BlockValues
from calibstat.sweeps._grid import IntervalOf, Named, Study, all_units, as_swept, as_test, items_of
from calibstat.sweeps._large_samples import FEWEST_ROWS, ROWS
from calibstat.sweeps.schedule import bundles, connected, measure_pace, on_cluster, on_threads, repeats_in_a_block
from calibstat.sweeps.store import Blocks, expect_told, in_memory, in_zarr, lazily, of_any_length

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

_PATIENCE = 0.5
_LAYOUT = "{desc}: {percentage:3.0f}%|{bar:30}| {n_fmt}/{total_fmt} blocks, {elapsed}{postfix}"


@final
@dataclass(frozen=True, eq=False)
class Sweep(HasParameters):
    """Evaluate estimators and tests on repeated samples from synthetic models.

    All numbers of bins, estimators and tests of a repeat see the same sample (common random numbers). Each repeat has
    a stream of its own, named by its model, its n and its number: the same seed gives the same numbers bit for bit
    whatever the scheduler, the number of workers and the size of blocks, and a larger grid keeps those of a smaller.

    Parameters
    ----------
    models : SyntheticModel, sequence or mapping of str to SyntheticModel
        By name; without names their reprs are used.
    n : sequence of int
        Sample sizes.
    n_bins : sequence of int
        Numbers of bins, for what is given as a function of them.
    estimators : mapping
        Of names to estimators, or to functions of `n_bins` that return an estimator or any function of labels
        (column numbers) and probabilities (of the event alone, for two classes).
    tests : mapping
        Of names to estimators (tested by ``Consistency()``), to pairs (estimator, null), or to functions of `n_bins`
        that return one of these or a function of labels and probabilities that returns a p-value.
    interval : callable, optional
        Takes a sample, an estimator and a Generator, returns the two ends or None; called for each estimator.
    n_repeats : int
    rng : int, Generator or None
        A store needs an integer or a Generator in a known state.
    draws : {"rows", "sorted", "cells"}
        ``"rows"`` draws the model's own random rows. ``"sorted"`` draws scores in increasing order, through a table of
        65 536 quantiles, for models of two classes whose prediction has a density. ``"cells"`` draws sums over cells
        without rows, at a cost that does not grow with n; numbers of rows and events are exact, sums of predictions
        are approximately normal, and estimators on cells of equal width and of equal mass do not share a sample. Up to
        ten rows for each border of cells, it draws sorted rows instead, which are exact and shared. It serves
        estimators on such cells only.
    truth : mapping, int or "large sample", optional
        For functions of your own, whose true value is not known otherwise. A mapping of names of estimators to the
        number that each estimates, or to such numbers by name of the model, stands in for the model's own value. A
        number of rows (``"large sample"`` is 10^6) asks for the value on one sample of so many, which is what the
        function estimates with ever more rows, if not what it should; ``truth_error`` is its error.

    Raises
    ------
    ValueError, TypeError
        If there is neither an estimator nor a test, or an argument is not as described.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import GaussianMixture
    >>> from calibstat.sweeps.sweep import Sweep
    >>> sweep = Sweep(
    ...     {"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)},
    ...     n=[100, 1000],
    ...     n_bins=[5, 10],
    ...     estimators={"ECE": lambda n_bins: cs.ECE(cs.EqualWidth(n_bins))},
    ...     n_repeats=20,
    ...     rng=0,
    ... )
    >>> found = sweep.run(progress=False)
    >>> dict(found["estimate"].sizes)
    {'model': 2, 'estimator': 1, 'n': 2, 'n_bins': 2, 'repeat': 20}
    >>> found["truth"].sel(model="off", estimator="ECE", n_bins=5).round(4).item()
    0.5638
    """

    models: SyntheticModel | Sequence[SyntheticModel] | Mapping[str, SyntheticModel]
    _: KW_ONLY
    n: Sequence[Count]
    n_bins: Sequence[Count] = (15,)
    estimators: Named = field(default_factory=dict)
    tests: Named = field(default_factory=dict)
    interval: IntervalOf | None = None
    n_repeats: Repeats = 100
    rng: RNG = None
    draws: Literal["rows", "sorted", "cells"] = "rows"
    truth: Mapping[str, float | Mapping[str, float]] | Count | Literal["large sample"] = field(default_factory=dict)
    study: Study = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.estimators and not self.tests:
            raise ValueError("nothing to sweep: give estimators={'ECE': lambda n_bins: ECE(EqualMass(n_bins))}.")
        n_bins, models = _different("n_bins", self.n_bins), _named_models(self.models)
        study = Study(
            models,
            _different("n", self.n),
            n_bins,
            items_of("estimators", self.estimators, n_bins, as_swept),
            items_of("tests", self.tests, n_bins, as_test),
            self.interval,
            int(self.n_repeats),
            tuple(Streams(as_generator(self.rng)).entropy),
            self.draws,
            None if isinstance(self.rng, np.random.Generator) or self.rng is None else int(self.rng),
            _truths(self.truth, tuple(models), tuple(self.estimators)) if isinstance(self.truth, Mapping) else {},
            None if isinstance(self.truth, Mapping) else _rows_of_truth(self.truth),
        )
        keep(self, study=study)

    def run(
        self,
        client: Client | str | int | None = None,
        store: str | Path | None = None,
        progress: bool = True,
        *,
        block: int | None = None,
    ) -> xr.Dataset:
        """Compute what is not yet in the store.

        Parameters
        ----------
        client : distributed.Client, str, int or None
            A client, the address of a scheduler (``"tcp://host:8786"``), a number of processes of this machine, or
            "threads" of this one: as ``--scheduler`` of the command. None
            computes on the client that is active (the last one that was made and not closed), otherwise on threads.
        store : path, optional
            A Zarr store: every finished block is written there at once, and what is there is not computed again.
            A store of another study is refused.
        progress : bool
            Show a bar on standard error, if that is a terminal. A listener (`calibstat._progress.listening`) is told
            anyway, from the threads that compute.
        block : int, optional
            Repeats in a block; by default as many as take about half a second. A store that is there keeps its own.

        Returns
        -------
        xarray.Dataset
            ``estimate`` (model, estimator, n, n_bins, repeat), ``pvalue`` (model, test, n, n_bins, repeat), ``truth``
            (with ``truth_error``), ``limit`` and ``miscalibration``; ``status`` and ``error`` of each block. With a
            store it is read from there as it is used.
        """
        bar = TerminalBar(
            "sweep", None, patience=_PATIENCE, stays=True, visible=true_or_false("progress", progress), layout=_LAYOUT
        )
        if store is None:
            with bar:
                blocks, dataset = in_memory(self.study, self._block(block))
                self._fill(blocks, client, bar)
            return of_any_length(dataset)
        path = Path(store)
        expect_told(self.study)
        if self.rng is None:
            raise ValueError("a study that is to be resumed needs a seed: pass for example rng=0.")
        with bar, in_zarr(self.study, path, lambda: self._block(block)) as blocks:
            self._fill(blocks, client, bar)
        return lazily(path)

    def _block(self, block: int | None) -> int:
        if block is None:
            return repeats_in_a_block(self.study, measure_pace(self.study))
        return min(at_least_one("block", block), self.study.n_repeats)

    def _fill(self, blocks: Blocks, client: Client | str | int | None, bar: TerminalBar) -> None:
        """Compute the blocks that are not finished."""
        units = [unit for unit in all_units(self.study, blocks.block) if not blocks.finished(unit)]
        if not units:
            return
        tasks = bundles(self.study, units, blocks.block, measure_pace(self.study))
        tell, lock, failed = listener_of_this_thread(), threading.Lock(), 0
        bar.total = len(units)

        def take(found: BlockValues) -> None:
            nonlocal failed
            blocks.write(found)
            with lock:
                failed += bool(found.error)
                bar.done, bar.note = bar.done + 1, f"{failed} failed" if failed else ""
                if tell is not None:
                    tell(bar.done / len(units))

        with connected(client) as workers:
            if workers is None:
                on_threads(self.study, tasks, blocks.block, take)
            else:
                bar.say(f"dashboard: {workers.dashboard_link}")
                on_cluster(workers, self.study, tasks, blocks.block, take)
        if failed:
            bar.say(
                f"{failed} of {counted(len(units), 'block')} failed: their first errors are in the variable 'error'"
            )


def _named_models(models: Any) -> dict[str, SyntheticModel]:
    models = [models] if isinstance(models, SyntheticModel) else models
    found = dict(models) if isinstance(models, Mapping) else {repr(model): model for model in models}
    if len(found) != len(models) or not found:
        raise ValueError("models have no names, or two have the same repr; pass a dict of names to models.")
    return found


def _rows_of_truth(asked: int | str) -> int:
    """Return how many rows say the true value of a function."""
    rows = ROWS if isinstance(asked, str) else int(asked)
    if rows < FEWEST_ROWS:
        raise ValueError(
            f"truth is {rows}, but a large sample has at least {FEWEST_ROWS} rows; 'large sample' takes {ROWS}."
        )
    return rows


def _truths(
    given: Mapping[str, float | Mapping[str, float]], models: tuple[str, ...], estimators: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Return true values by estimator and model; refuse names that the study does not have."""
    found = {
        name: dict(each) if isinstance(each, Mapping) else dict.fromkeys(models, each) for name, each in given.items()
    }
    for kind, asked, known in (
        ("estimator", found, estimators),
        ("model", {m for v in found.values() for m in v}, models),
    ):
        unknown = sorted(set(asked) - set(known))
        if unknown:
            raise ValueError(f"truth names the {kind} {unknown[0]!r}, but the study has {', '.join(map(repr, known))}.")
    return {name: {model: float(value) for model, value in values.items()} for name, values in found.items()}


def _different(name: str, values: Sequence[int]) -> tuple[int, ...]:
    found = tuple(map(int, values))
    if not found or len(set(found)) != len(found):
        raise ValueError(f"{name} is {values!r}, but different integers are expected, at least one.")
    return found
