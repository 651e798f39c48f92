"""``calibstat estimators``: every public estimator, with the lens it needs.

What an estimator needs is found out by trying it on a small sample of three classes, so that the list cannot be wrong.
"""

from __future__ import annotations

import argparse
import inspect
import json
import warnings
from collections.abc import Iterator
from typing import Any

import calibstat as cs
from calibstat.cli.options import EVERY

ANY, SIMPLEX, TWO, VARIABLE = "any", "any, or cells", "two outcomes", "a variable"
_MEANING = {
    ANY: "any number of outcomes: every lens, or none",
    SIMPLEX: "two outcomes with its own cells; more with cells of the whole simplex, for example VarianceTree(100)",
    TWO: "two classes, or a lens that leaves two outcomes: TopLabel(), ClassWise(label)",
    VARIABLE: "a variable of the sample, and for the outcome the lens that goes in front of it",
}
_HEADER = "Every estimator, and what it must see. A lens goes in front: TopLabel() | ECE()."
_COMMAND_LINE = "test and estimate take all of them by --estimator NAME, with default parameters, but for "


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "estimators",
        help="list the measures of miscalibration",
        description="Lists every estimator with the lens it needs, one line each.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="text (the default), or JSON records"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    records = [record(name) for name in names()]
    if arguments.format == "json":
        print(json.dumps(records, indent=2))
        return
    width = max(len(each["name"]) for each in records) + 2
    print(_HEADER)
    print()
    for each in records:
        print(f"{each['name']:<{width}}{each['needs']:<15}{each['summary']}")
    print()
    for needs, meaning in _MEANING.items():
        print(f"{needs + ':':<15}{meaning}")
    print()
    print(_COMMAND_LINE + ", ".join(each["name"] for each in records if not each["command_line"]))


def names() -> list[str]:
    """Return the public names that make an estimator, in alphabetic order."""
    return [name for name in dir(cs) if _makes_estimator(getattr(cs, name))]


def record(name: str) -> dict[str, Any]:
    """Describe an estimator: its name, its parameters, what it needs, what it is, whether `--estimator` takes it."""
    made = getattr(cs, name)
    text = inspect.getdoc(made) or ""
    return {
        "name": name,
        "parameters": str(inspect.signature(made).replace(return_annotation=inspect.Signature.empty)),
        "needs": needs(name),
        "summary": " ".join(text.partition("\n\n")[0].split()),
        "command_line": name in EVERY,
    }


def needs(name: str) -> str:
    """Find out what an estimator must see, by trying."""
    made = getattr(cs, name)
    if "variable" in inspect.signature(made).parameters:
        return VARIABLE
    three = _three_classes()
    for found, sample, changes in (
        (ANY, three, {}),
        (SIMPLEX, three, {"binning": cs.VarianceTree(20)}),
        (TWO, cs.TopLabel()(three), {}),
    ):
        if any(_works(estimator, sample) for estimator in _made(made, changes)):
            return found
    return "see its text"


def _makes_estimator(found: Any) -> bool:
    """Tell estimators, and functions that make one (aliases too)."""
    if inspect.isfunction(found):
        found = getattr(cs, str(inspect.signature(found).return_annotation), None)
        return found is cs.Estimator or _is_concrete(found)
    return _is_concrete(found)


def _is_concrete(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, cs.Estimator) and not inspect.isabstract(found)


def _made(made: Any, changes: dict[str, Any]) -> Iterator[Any]:
    """Make the estimator with its defaults, with examples for what has none, and with some parameters changed."""
    parameters = inspect.signature(made).parameters
    if not set(changes) <= set(parameters):
        return
    required = [name for name, each in parameters.items() if each.default is inspect.Parameter.empty]
    examples = _examples()
    if set(required) <= set(examples) | set(changes):
        yield made(**{name: examples[name] for name in required if name not in changes}, **changes)


def _examples() -> dict[str, Any]:
    """Return arguments for parameters that have no default."""
    return {
        "binning": cs.EqualMass(5),
        "estimator": cs.ECE(cs.UniqueValues()),
        "members": {"ece": cs.ECE(cs.UniqueValues())},
        "function": len,
        "bandwidth": 0.1,
        "n_neighbors": 5,
        "n_bins": 5,
    }


def _works(estimator: Any, sample: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator(sample)
        except ValueError:
            return False
    return True


def _three_classes() -> Any:
    """Sixty rows of three classes."""
    rows = [[(i % 7 + 1) / 20, (i % 5 + 1) / 10, 1 - (i % 7 + 1) / 20 - (i % 5 + 1) / 10] for i in range(60)]
    return cs.Sample([i % 3 for i in range(60)], rows)
