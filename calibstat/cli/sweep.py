"""``calibstat sweep``: a study from a TOML file."""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import calibstat as cs
from calibstat import generators
from calibstat.cli.summarise import show
from calibstat.estimators.base import Estimator
from calibstat.generators.base import SyntheticModel
from calibstat.nulls.base import Null
from calibstat.sweeps.schedule import connected
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


# Models, estimators and nulls written as they print themselves: read from a tree, never evaluated as Python.
#
# Names are looked up in the tables of public names; there are calls, literals, ``|``, ``*`` and unary minus.


def build(text: str, values: Mapping[str, Any] | None = None) -> Any:
    """Make the object that an expression describes.

    Parameters
    ----------
    text : str
    values : mapping, optional
        What further names stand for, such as ``n_bins``.

    Raises
    ------
    ValueError
        If it is more than names, calls and literals, a name is unknown, or making the object fails.

    Examples
    --------
    >>> build("TopLabel() | ECE(EqualMass(n_bins))", {"n_bins": 5})
    TopLabel() | ECE(binning=EqualMass(n_bins=5))
    """
    try:
        return _read(parsed(text), dict(values or {}))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}") from error


def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} cannot be read: write it as in Python, for example ECE(EqualMass(10))") from error


def mentions(text: str, name: str) -> bool:
    """Whether a name occurs in an expression."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(parsed(text)))


def _read(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Call):
        arguments = [_read(each, values) for each in node.args]
        named = {str(each.arg): _read(each.value, values) for each in node.keywords if each.arg is not None}
        if isinstance(node.func, ast.Name) and len(named) == len(node.keywords):
            return _public(node.func.id)(*arguments, **named)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_read(each, values) for each in node.elts]
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_read(node.operand, values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _read(node.left, values) | _read(node.right, values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _read(node.left, values) * _read(node.right, values)
    raise ValueError(f"{ast.unparse(node)!r} is not allowed here; write public names, called, with plain values")


def _public(name: str) -> Any:
    for module in (cs, generators):
        if name in module.__all__:
            return getattr(module, name)
    raise ValueError(f"there is no {name!r} in calibstat or calibstat.generators")
