"""``calibstat sweep``: a study from a TOML file."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from calibstat.cli.expressions import build, mentions
from calibstat.cli.summarise import show
from calibstat.estimators.base import Estimator
from calibstat.generators.base import SyntheticModel
from calibstat.nulls.base import Null
from calibstat.sweeps.scheduling import connected
from calibstat.sweeps.summary import summarise
from calibstat.sweeps.sweep import Sweep

_KEYS = {"seed", "n_repeats", "n", "n_bins", "draws", "models", "estimators", "tests"}
_NEEDED = {"seed", "n", "models"}


def run(arguments: argparse.Namespace) -> None:
    """Run a study and print its summary."""
    path = Path(arguments.study)
    sweep = read_study(path)
    store = Path(path.stem + ".zarr" if arguments.store is None else arguments.store)
    if store.is_file():
        raise ValueError(f"--store {store} is a file, but a sweep is kept in a folder: name another place")
    if store.exists() and not arguments.resume:
        raise ValueError(f"{store} is there: go on with it by --resume, or name another place by --store")
    if arguments.workers is not None and arguments.workers < 1:
        raise ValueError(f"--workers is {arguments.workers}, but it must be at least 1")
    try:
        with connected(arguments.scheduler, arguments.workers) as client:
            found = sweep.run(client, store)
    except KeyboardInterrupt:
        kept = f"finished blocks are kept in {store}; go on with them by --resume" if store.exists() else ""
        raise KeyboardInterrupt(kept) from None
    print(f"{store} holds {', '.join(f'{size} x {name}' for name, size in found.sizes.items() if name != 'block')}")
    print()
    show(summarise(found), "table")


def read_study(path: Path) -> Sweep:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ValueError
        If a key is missing or unknown, or an expression cannot be read.
    """
    try:
        study = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is no TOML: {error}") from error
    for keys, problem in ((study.keys() - _KEYS, "does not know"), (_NEEDED - study.keys(), "lacks")):
        if keys:
            raise ValueError(f"{path}: a study {problem} {', '.join(sorted(keys))}; it has {', '.join(sorted(_KEYS))}")
    return Sweep(
        {name: _made(name, text, SyntheticModel) for name, text in study["models"].items()},
        n=study["n"],
        n_bins=study.get("n_bins", (15,)),
        estimators={name: _of_bins(text, partial(_estimator, name)) for name, text in _table(study, "estimators")},
        tests={name: _of_bins(given, partial(_test, name)) for name, given in _table(study, "tests")},
        n_repeats=study.get("n_repeats", 100),
        rng=study["seed"],
        draws=study.get("draws", "rows"),
    )


def _table(study: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    return list(study.get(key, {}).items())


def _of_bins(given: Any, make: Callable[[Any, int | None], Any]) -> Any:
    """Make an object, or a function of the number of bins if that occurs in an expression."""
    texts = given.values() if isinstance(given, Mapping) else [given]
    if any(isinstance(text, str) and mentions(text, "n_bins") for text in texts):
        return partial(make, given)
    return make(given, None)


def _estimator(name: str, text: Any, n_bins: int | None) -> Any:
    return _made(name, text, Estimator, n_bins)


def _test(name: str, given: Any, n_bins: int | None) -> Any:
    if not isinstance(given, Mapping):
        return _made(name, given, Estimator, n_bins)
    if set(given) != {"statistic", "null"}:
        raise ValueError(f"the test {name!r} has {', '.join(given)}; write an estimator, or statistic and null")
    return _made(name, given["statistic"], Estimator, n_bins), _made(name, given["null"], Null, n_bins)


def _made(name: str, text: Any, kind: type, n_bins: int | None = None) -> Any:
    """Make an object from its expression, of the kind that is needed."""
    if not isinstance(text, str):
        raise ValueError(f"{name} is {text!r}, but an expression in quotation marks is expected")
    found = build(text, {} if n_bins is None else {"n_bins": n_bins})
    if not isinstance(found, kind):
        raise ValueError(f"{name} is {text!r}, which makes no {kind.__name__}")
    return found
