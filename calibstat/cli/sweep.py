"""Study estimators and tests on models with known truth.

Draws many samples from models whose true calibration errors are known, and
evaluates estimators and tests on each. The study is described in a TOML file;
its results go into a Zarr store, block by block.

example of a study:
  seed = 0
  n_repeats = 200
  n = [100, 1000]
  n_bins = [5, 15]
  draws = "rows"
  [models]
  calibrated = "GaussianMixture(0, -2)"
  off = "GaussianMixture(1, 1)"
  [estimators]
  ECE = "ECE(EqualMass(n_bins))"
  [tests]
  PDE = "PDE(EqualMass(n_bins))"
  ECE = { statistic = "ECE(EqualMass(n_bins))", null = "Consistency(99)" }
An expression that mentions n_bins is made once for each of its values. Names
are those of calibstat and calibstat.generators.
"""

from __future__ import annotations

import argparse
import errno
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import calibstat as cs
from calibstat.cli.options import made, mentions, named_options, positive
from calibstat.cli.summarise import show_summary
from calibstat.cli.text import say

_KEYS = {"seed", "n_repeats", "n", "n_bins", "draws", "models", "estimators", "tests", "truth"}
_NEEDED = {"seed", "n", "models"}
_TABLES = {"models", "estimators", "tests"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("study", metavar="STUDY", help="a TOML file (see below)")
    parser.add_argument(
        "--store", metavar="PATH", help="where the results go (default: the name of the study, with .zarr, here)"
    )
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="compute on this Dask cluster: tcp://host:8786; or a number of processes; or threads (default)",
    )
    engine.add_argument(
        "--workers", type=positive, metavar="N", help="compute in N processes of this machine (default: threads)"
    )
    parser.add_argument("--resume", action="store_true", help="continue with a store that exists")
    parser.add_argument("--verbose", action="store_true", help="also show what each name stands for")


def run(arguments: argparse.Namespace) -> None:
    """Run a study and print its summary."""
    path = Path(arguments.study)
    sweep = read_study(path)
    store = Path(path.stem + ".zarr" if arguments.store is None else arguments.store)
    if store.exists() and not store.is_dir():
        raise ValueError(f"--store {store} is a file, but a sweep is stored in a folder: name another place")
    if store.exists() and not arguments.resume:
        raise ValueError(f"{store} exists: continue with it by --resume, or name another place by --store")
    try:
        with named_options({"client is ": "--scheduler is "}):
            found = sweep.run(arguments.scheduler if arguments.workers is None else arguments.workers, store)
    except KeyboardInterrupt:
        kept = f"finished blocks are kept in {store}; continue with --resume" if store.exists() else ""
        raise KeyboardInterrupt(kept) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        advice = "finished blocks are kept: make room, and continue with --resume" if store.exists() else "make room"
        raise OSError(errno.ENOSPC, f"{error.strerror}; {advice}", str(store)) from error
    show_summary(cs.summarise(found), "table", verbose=arguments.verbose)
    say(f"\nThe samples' values are in {store}")


def read_study(path: Path) -> cs.Sweep:
    """Read a study from a TOML file."""
    try:
        study = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is no TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no TOML, which is text in UTF-8: {error}") from error
    for keys, problem in ((study.keys() - _KEYS, "does not know"), (_NEEDED - study.keys(), "lacks")):
        if keys:
            raise ValueError(f"{path}: a study {problem} {', '.join(sorted(keys))}; it has {', '.join(sorted(_KEYS))}")
    for key in _TABLES & study.keys():
        if not isinstance(study[key], dict):
            raise ValueError(f"{path}: {key} is {study[key]!r}, but a table of names is expected: write [{key}]")
    try:
        return _made(study)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _made(study: Mapping[str, Any]) -> cs.Sweep:
    from calibstat.generators.base import SyntheticModel

    return cs.Sweep(
        {name: made(name, text, SyntheticModel) for name, text in study["models"].items()},
        n=study["n"],
        n_bins=study.get("n_bins", (15,)),
        estimators={
            name: _of_bins(text, partial(_estimator, name)) for name, text in study.get("estimators", {}).items()
        },
        tests={name: _of_bins(given, partial(_test, name)) for name, given in study.get("tests", {}).items()},
        n_repeats=study.get("n_repeats", 100),
        rng=study["seed"],
        draws=study.get("draws", "rows"),
        truth=study.get("truth", {}),
    )


def _of_bins(given: Any, make: Callable[[Any, dict[str, int]], Any]) -> Any:
    """Make an object, or a function of the number of bins if an expression mentions it."""
    texts = given.values() if isinstance(given, Mapping) else [given]
    if any(isinstance(text, str) and mentions(text, "n_bins") for text in texts):
        return lambda n_bins: make(given, {"n_bins": n_bins})
    return make(given, {})


def _estimator(name: str, text: Any, values: dict[str, int]) -> cs.Estimator:
    return made(name, text, cs.Estimator, values)


def _test(name: str, given: Any, values: dict[str, int]) -> Any:
    if not isinstance(given, Mapping):
        return _estimator(name, given, values)
    if set(given) != {"statistic", "null"}:
        raise ValueError(f"the test {name!r} has {', '.join(given)}; write an estimator, or statistic and null")
    return _estimator(name, given["statistic"], values), made(name, given["null"], cs.Null, values)
