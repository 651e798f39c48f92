"""List every estimator with the lens that it needs.

Each has its name and what it measures, below what it needs.
"""

from __future__ import annotations

import argparse
import inspect
import re
from difflib import get_close_matches
from typing import Any

import calibstat as cs
from calibstat._screen import hang, prose_width
from calibstat._text import counted
from calibstat.cli import options
from calibstat.cli.text import show

ANY, SIMPLEX, TWO, VARIABLE = "any", "any, or cells", "two outcomes", "a variable"
_MEANING = {
    ANY: "each takes any number of outcomes, with every lens, or none",
    SIMPLEX: "two outcomes with its default cells; more with cells of the simplex, for example VarianceTree(100)",
    TWO: "two classes, or a lens that leaves two outcomes: TopLabel(), ClassWise(label)",
    VARIABLE: "a variable of the sample; the lens in front says which outcome is looked at",
}
_HEADER = "{}, by what they need. A lens stands in front: TopLabel() | ECE()."
_COMMAND_LINE = (
    "--estimator takes each by its name, with default parameters, or as an expression; only as expressions: "
)
_FORMULA = re.compile(r",? :math:`[^`]*`")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add(parser, "--format")


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    records = [record(name) for name in names()]
    indent = max(len(each["name"]) for each in records) + 2
    width = prose_width()
    expressions = ", ".join(each["name"] for each in records if not each["command_line"])
    parts = [hang("", _HEADER.format(counted(len(records), "estimator")), 0, width)]
    for need, meaning in _MEANING.items():
        own = [each for each in records if each["needs"] == need]
        lines = [line for each in own for line in hang(each["name"], each["summary"], indent, width)]
        parts.append([*hang("", f"{need}: {meaning}", 0, width), *lines])
    parts.append(hang("", _COMMAND_LINE + expressions, 0, width))
    show(arguments.format, records, "\n\n".join("\n".join(part) for part in parts))


def record(name: str) -> dict[str, Any]:
    """Describe an estimator: its name, parameters, needs and summary, and whether it has a short name."""
    public = getattr(cs, name)
    text = inspect.getdoc(public) or ""
    return {
        "name": name,
        "parameters": str(inspect.signature(public).replace(return_annotation=inspect.Signature.empty)),
        "needs": needs(name),
        "summary": _FORMULA.sub("", " ".join(text.partition("\n\n")[0].split())).replace("`", ""),
        "command_line": has_short_name(name),
    }


# What screens and textbooks call some estimators, without spaces, hyphens and case.
_ON_SCREENS = {
    "o/e": "ObservedToExpected",
    "oe": "ObservedToExpected",
    "observed/expected": "ObservedToExpected",
    "cindex": "AUC",
    "cstatistic": "AUC",
    "auroc": "AUC",
    "brier": "BrierScore",
    "logloss": "LogScore",
    "crossentropy": "LogScore",
    "slope": "Cox",
    "calibrationslope": "Cox",
    "calibrationinthelarge": "MeanCalibration",
    "averagecalibrationerror": "ECE",
}


# Public names that make an estimator.


def names() -> list[str]:
    """Return the public names that make an estimator, in alphabetic order."""
    return [name for name in options.public_names() if _makes_estimator(getattr(cs, name))]


def short_names() -> list[str]:
    """Return the names of estimators that need nothing but a sample and that can be tested."""
    return sorted(filter(has_short_name, names()), key=str.lower)


def estimator_name(text: str) -> str:
    """Return the public name of an estimator that needs nothing but a sample, whatever its case and hyphens."""
    asked = _without_hyphens(text)
    for name in options.public_names():
        if _without_hyphens(name) == asked and _makes_estimator(getattr(cs, name)) and has_short_name(name):
            return name
    known = {_without_hyphens(name): name for name in short_names()}
    near = [known[each] for each in get_close_matches(asked, known, 1)]
    meant = _ON_SCREENS.get(asked) or (near[0] if near else "")
    did = f"did you mean {meant}? " if meant else ""
    raise ValueError(f"there is no estimator {text!r}: {did}`calibstat estimators` lists them all")


def takes(name: str, *parameters: str) -> bool:
    """Whether an estimator has one of these parameters."""
    return not set(parameters).isdisjoint(inspect.signature(getattr(cs, name)).parameters)


def default_cells(name: str) -> int:
    """Return how many cells an estimator has by default; 15 where its binning says no number."""
    binning = inspect.signature(getattr(cs, name)).parameters.get("binning")
    return getattr(binning and binning.default, "n_bins", 15)


def has_short_name(name: str) -> bool:
    """Whether an estimator needs nothing but a sample and gives one number; cells are those of the question."""
    return _required(name) <= {"binning"} and not takes(name, "variable") and _example(name).has_headline


def needs(name: str) -> str:
    """Say what an estimator needs."""
    if takes(name, "variable"):
        return VARIABLE
    found = _example(name)
    if not for_two_outcomes(found):
        return ANY
    chosen = takes(name, "binning") and not (found.two_outcomes or found.along_one_column)
    return SIMPLEX if chosen else TWO


def for_two_outcomes(estimator: cs.Estimator) -> bool:
    """Whether an estimator, with the cells that it has, is for two outcomes only."""
    cells = estimator.cut_by
    return estimator.two_outcomes or estimator.along_one_column or (cells is not None and cells.columns == 1)


def variables_of(found: Any) -> list[str]:
    """Return the names of variables that an estimator or a lens looks at.

    >>> variables_of(cs.Given("age") | cs.Within("sex", cs.ECE()))
    ['age', 'sex']
    """
    if isinstance(found, cs.Given):
        return [name for name in found.names if isinstance(name, str)]
    if isinstance(found, (list, tuple, dict)):
        parts: list[Any] = list(found.values() if isinstance(found, dict) else found)
    else:
        parts = [getattr(found, name) for name in getattr(found, "__dataclass_fields__", ())]
    own = getattr(found, "variable", None)
    return [*([own] if isinstance(own, str) else []), *(name for part in parts for name in variables_of(part))]


def _without_hyphens(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _makes_estimator(found: Any) -> bool:
    """Whether this is the class of an estimator, or a function that makes one."""
    if inspect.isfunction(found):
        found = getattr(cs, str(inspect.signature(found).return_annotation), None)
        return found is cs.Estimator or _is_concrete(found)
    return _is_concrete(found)


def _is_concrete(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, cs.Estimator) and not inspect.isabstract(found)


def _required(name: str) -> set[str]:
    parameters = inspect.signature(getattr(cs, name)).parameters
    return {key for key, each in parameters.items() if each.default is inspect.Parameter.empty}


def _example(name: str) -> cs.Estimator:
    """Make the estimator with its defaults, and with examples of parameters that have none."""
    examples = {
        "binning": cs.EqualMass(5),
        "estimator": cs.ECE(cs.UniqueValues()),
        "members": {"ece": cs.ECE(cs.UniqueValues())},
        "function": len,
        "bandwidth": 0.1,
        "n_neighbors": 5,
    }
    return getattr(cs, name)(**{key: examples[key] for key in _required(name)})
