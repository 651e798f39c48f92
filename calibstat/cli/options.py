"""Options that several commands share, and how their values are read; this file imports nothing heavy."""

from __future__ import annotations

import argparse
import ast
import csv
import inspect
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import calibstat as cs
from calibstat._files import check_writable
from calibstat._screen import hang, paragraph, prose_width
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL

_LENSES = {
    "top-label": "is the most probable class right as often as its confidence says?",
    "canonical": "are all probabilities right? (the strongest question)",
    "class-wise": "does each class happen as often as predicted? one test for each class",
    "class-wise:LABEL": "the same for one class",
    "top-k:K": "are the probabilities of the K most probable classes right?",
    "an expression": 'written as in Python: \'Partition([["cat", "dog"], ["emu"]])\'',
}
_PANEL = (
    "Without --lens the lens is canonical for two classes; for more classes the lenses are top-label, canonical and "
    "class-wise. An estimator may have its own lens."
)


def lens_help() -> str:
    """Describe the lenses, in lines that fit the terminal."""
    lines = (line for name, text in _LENSES.items() for line in hang(f"  {name}", text, 20, prose_width()))
    return "\n".join(["lenses:", *lines])


# Functions that read the value of an option.


def whole(text: str, least: int = 0) -> int:
    """Read a whole number of at least `least`."""
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    return whole(text, 1)


def share(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1{_meant(text)}")
    return found


def _meant(text: str) -> str:
    """Name the share that may be meant by a percentage, or a number with a decimal comma; nothing for other texts."""
    number = text.strip().removeprefix("-").removesuffix("%").strip().replace(",", ".")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        return ""
    found = float(number) / (100 if "%" in text or float(number) > 1 else 1)
    return f", such as {found:g}" if 0 < found < 1 else ""


def two_costs(text: str) -> cs.DecisionLoss:
    """Read what a false alarm and a miss cost."""
    try:
        alarm, miss = map(float, text.split(","))
        return cs.DecisionLoss(costs=(alarm, miss))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the cost of a false alarm and that of a miss, with a comma between, such as 1,4"
        ) from None


PICTURES = (".png", ".pdf", ".svg")


def picture_file(text: str) -> str:
    """Read the place of a picture, whose name says its format."""
    path = Path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    try:
        check_writable(path)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def shares(text: str) -> list[float]:
    """Read numbers between 0 and 1, with commas between."""
    if re.fullmatch(r"0,\d+", text.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} has a decimal comma: write {text.strip().replace(',', '.')}")
    return [share(each.strip()) for each in text.split(",")]


def column_names(text: str) -> list[str]:
    """Split the names of columns at commas; a name that holds one goes in double quotes.

    >>> column_names('cat, "dog, small"')
    ['cat', 'dog, small']
    """
    names = _split(text, ",")
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} does not name a column, or several with commas between")
    return names


def _split(text: str, delimiter: str) -> list[str]:
    """Split names at a delimiter that is not quoted; a text of several lines names nothing."""
    try:
        return [name.strip() for name in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return []


def conditions(text: str) -> list[list[str]]:
    """Split conditions at commas, and the columns of a joint condition at colons; quoted names may hold both.

    >>> conditions('age,site:sex,"dog: small"')
    [['age'], ['site', 'sex'], ['dog: small']]
    """
    parts = re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', text)
    found = [_split(part.strip(), ":") for part in parts]
    if not all(names and all(names) for names in found):
        raise argparse.ArgumentTypeError(
            f"{text!r} does not name a column, several with commas between, or some jointly with colons (age:site)"
        )
    return found


def column_name(text: str) -> str:
    """Read the name of one column, which may stand in double quotes; commas belong to it.

    >>> column_name('"dog, small"'), column_name("dog, small")
    ('dog, small', 'dog, small')
    """
    names = column_names(text)
    return names[0] if len(names) == 1 else text


class Once(argparse.Action):
    """Stores a value, and refuses a second one instead of forgetting the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Store the value."""
        given = vars(namespace).setdefault("given_once", set())
        if self.dest in given:
            parser.error(f"{option_string} is given more than once, but {parser.prog} takes one: give it once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


# The shared options: the same name, meaning and help in every command.


def _column_option(metavar: str, text: str, read: Callable[[str], list[Any]] = column_names) -> dict[str, Any]:
    text += "; with commas between, or give the option several times"
    return {"action": "extend", "type": read, "metavar": metavar, "help": text}


def _number_option(metavar: str, read: Callable[[str], float], default: float, text: str) -> dict[str, Any]:
    return {"type": read, "default": default, "metavar": metavar, "help": f"{text} (default: {default})"}


def _single_option(metavar: str, text: str, **more: Any) -> dict[str, Any]:
    return {"action": Once, "metavar": metavar, "help": text, **more}


SHARED: dict[str, dict[str, Any]] = {
    "file": {
        "metavar": "FILE",
        "help": "CSV or JSON lines (also compressed), Parquet, NPZ or NetCDF; - is CSV on standard input",
    },
    "--label": {"type": column_name, "metavar": "COL", "help": "the column of what happened"},
    "--events": {
        "type": column_name,
        "metavar": "COL",
        "help": "where a row stands for several, in place of --label: the column of how many of them had the event, of "
        "which --probs is the probability",
    },
    "--trials": {"type": column_name, "metavar": "COL", "help": "with --events: the column of how many there were"},
    "--predicted": {
        "type": column_name,
        "metavar": "COL",
        "help": "in place of --probs, where a row is a bucket of several: the column of the sum of their predictions, "
        "with --events and --trials",
    },
    "--between": _column_option("LOW,HIGH", "with --predicted: the columns of the numbers between which these lie"),
    "--labels": _column_option("A,B,C", "the class of each column of probabilities, in their order"),
    "--probs": _column_option("COL", "the columns of probabilities: a pattern such as 'prob_*', or names"),
    "--confidence": {
        "type": column_name,
        "metavar": "COL",
        "help": "the column of confidences in the predicted label; --label then says whether that was right (true or "
        "false, 1 or 0)",
    },
    "--weights": {"type": column_name, "metavar": "COL", "help": "a column of importance weights"},
    "--groups": {
        "type": column_name,
        "metavar": "COL",
        "help": "a column that says which rows belong together (of one patient, of one question), and so may depend on "
        "each other",
    },
    "--prevalence": _single_option(
        "A",
        "where rows were sampled by their labels (case-control, balanced classes): the share of the last of two "
        "classes in the population, or the share of each, with commas between",
        type=shares,
    ),
    "--nan-policy": {
        "choices": ("raise", "omit"),
        "default": "raise",
        "help": "rows with missing values: an error (the default), or leave them out",
    },
    "--missing": {
        "choices": ("raise", "level"),
        "default": "raise",
        "help": "missing values of these columns: an error (the default), or a level of their own",
    },
    "--by": _column_option("VAR", "columns of groups, or of numbers, which are cut into groups; names or patterns"),
    "--variables": _column_option("VAR", "columns of numbers for calibrators that use variables"),
    "--given": _column_option(
        "VAR",
        "also test conditionally on each of these columns (age,sex); age:sex conditions on both together, and "
        "prediction:age on the prediction and a column; not for an estimator that conditions on nothing",
        conditions,
    ),
    "--lens": _single_option(
        "LENS",
        "the question to ask: canonical, top-label, class-wise:LABEL, top-k:K, or an expression (see below)",
    ),
    "--estimator": _single_option(
        "NAME",
        "the measure of miscalibration: a name that `calibstat estimators` lists (debiased-l2, kuiper), or an "
        "expression: 'TopLabel() | ECE(EqualMass(9))'",
    ),
    "--bins": {
        "type": positive,
        "metavar": "N",
        "help": "cells of a probability or a variable (default: 15, or 10 for a variable); for more than two "
        "outcomes at once, nodes of more than 1/N of the rows are split (default: 20)",
    },
    "--binning": _single_option(
        "BINNING",
        "how a probability or a number is cut into cells: equal-mass (the default), equal-width, or an expression: "
        "'FixedEdges([0, 0.2, 1])'",
        default="equal-mass",
    ),
    "--costs": {
        "type": two_costs,
        "metavar": "A,B",
        "help": "also say what acting on the probabilities costs at most, where a false alarm costs A and a miss B: "
        "acting from A / (A + B) on, through each lens that leaves two outcomes",
    },
    "--null": _single_option(
        "NULL",
        "the null hypothesis and how its distribution is computed: strong, weak, multiplier, exact, asymptotic "
        "or sequential, or an expression: 'Consistency(9999)'",
    ),
    "--adjust": _single_option(
        "METHOD",
        "how the p-values of several tests are adjusted: max-t, step-down, holm, fdr_bh or fdr_by",
    ),
    "--level": _number_option("A", share, LEVEL, "level at which tests reject"),
    "--confidence-level": _number_option("C", share, CONFIDENCE_LEVEL, "level of intervals"),
    "--n-resamples": _number_option("N", positive, 999, "redraws of the labels"),
    "--seed": _number_option("S", whole, 0, "the same seed gives the same numbers"),
    "--plot": _single_option(
        "FILE", "also write the picture of what was found; .png, .pdf or .svg says its format", type=picture_file
    ),
    "--format": {"choices": ("text", "json"), "default": "text", "help": "text to read (the default), or JSON"},
}


def add(parser: argparse._ActionsContainer, *names: str, **defaults: str) -> None:
    """Add shared options; `defaults` are words for the help."""
    for name in names:
        text = defaults.get(name.strip("-").replace("-", "_"))
        add_one(parser, name, **({} if text is None else {"help": f"{SHARED[name]['help']} (default: {text})"}))


def add_one(parser: argparse._ActionsContainer, name: str, *others: str, **changes: Any) -> None:
    """Add a shared option that is different in this command; what has a format of texts also has ``--verbose``."""
    parser.add_argument(name, *others, **SHARED[name] | changes)
    if name == "--format":
        parser.add_argument("--verbose", action="store_true", help="also show how the numbers were computed")


def add_file(parser: argparse.ArgumentParser, *, counts: bool = True) -> None:
    """Add the options of a file, its labels and its classes; with `counts` a row may stand for several."""
    add(parser, "file")
    if counts:
        add_outcome(parser, required=True)
    else:
        add_one(parser, "--label", required=True)
    add(parser, "--labels")


def add_outcome(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options of what happened, in each row or in the several that it stands for."""
    add(parser.add_mutually_exclusive_group(required=required), "--label", "--events")
    add(parser, "--trials")


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sample of one model."""
    add_file(parser)
    add(parser.add_mutually_exclusive_group(), "--probs", "--confidence")
    add(parser, "--predicted", "--between", "--weights", "--groups", "--prevalence", "--nan-policy")


def add_table_format(parser: argparse.ArgumentParser) -> None:
    """Add the format of a command whose answer has a table: that can be CSV."""
    add_one(
        parser,
        "--format",
        choices=("text", "json", "csv"),
        help="text to read (the default), JSON, or the table as CSV",
    )


def add_lens(parser: argparse.ArgumentParser, default: str = "canonical for two classes, top-label for more") -> None:
    """Add the option of one lens."""
    add(parser, "--lens", lens=default)
    parser.epilog = lens_help()


def add_questions(parser: argparse.ArgumentParser) -> None:
    """Add the options of several lenses, of the estimator and of its cells."""
    add_one(parser, "--lens", action="append", help="a question to ask (see below); may be repeated")
    parser.epilog = f"{lens_help()}\n{paragraph(_PANEL)}"
    add(parser, "--given")
    more = "ECE, or ExpectedMiscalibration where more than two outcomes are seen at once"
    add(parser, "--estimator", "--bins", "--binning", estimator=more)


def read_labels(names: Sequence[str]) -> list[Hashable]:
    """Read classes as integers or booleans if all of them are, as the column of labels is read."""
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        return [int(name) for name in names]
    if all(name.lower() in ("true", "false") for name in names):
        return [name.lower() == "true" for name in names]
    return list(names)


@contextmanager
def named_options(options: Mapping[str, str]) -> Iterator[None]:
    """Replace the names of parameters by those of options in errors of the ``with`` block.

    A key that ends in " is " is replaced only at the beginning of an error.

    >>> with named_options({"n_bins is ": "--bins is "}):
    ...     raise ValueError("n_bins is 0")
    Traceback (most recent call last):
    ValueError: --bins is 0
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        for parameter, option in options.items():
            if not parameter.endswith(" is ") or text.startswith(parameter):
                whole_name = r"(?<![-\w])" if parameter[0].isalnum() else ""
                text = re.sub(whole_name + re.escape(parameter), option.replace("\\", r"\\"), text)
        if text == str(error):
            raise
        raise ValueError(text) from error


# Expressions: objects written as their repr. They are read as a tree and never evaluated as Python.
#
# Names are looked up in the tables of public names; calls, literals, ``|``, ``*`` and unary minus are allowed.


def is_expression(text: str) -> bool:
    """Whether a text is more than a short name."""
    return "(" in text or "|" in text


def made(option: str, text: Any, kind: type, values: Mapping[str, Any] | None = None) -> Any:
    """Make an object of this kind from its expression; errors begin with `option`, which says what it is for."""
    if not isinstance(text, str):
        raise ValueError(f"{option} is {text!r}, but an expression in quotation marks is expected")
    try:
        found = build(text, values)
    except ValueError as error:
        raise ValueError(f"{option} {error}") from error
    if not isinstance(found, kind):
        raise ValueError(f"{option} is {text!r}, which makes no {kind.__name__}")
    return found


def build(text: str, values: Mapping[str, Any] | None = None) -> Any:
    """Make the object that an expression describes; `values` gives the values of further names."""
    tree = parsed(text)
    try:
        return _evaluated(tree, values or {})
    except (ValueError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}") from error


def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} cannot be read: write it as in Python, for example ECE(EqualMass(10))") from error


def mentions(text: str, name: str) -> bool:
    """Whether a name occurs in an expression."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(parsed(text)))


def _evaluated(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Call):
        arguments = [_evaluated(each, values) for each in node.args]
        named = {str(each.arg): _evaluated(each.value, values) for each in node.keywords if each.arg is not None}
        if isinstance(node.func, ast.Name) and len(named) == len(node.keywords):
            return _called(node.func.id, arguments, named)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_evaluated(each, values) for each in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_evaluated(each, values) for each in node.keys if each is not None]
        return dict(zip(keys, [_evaluated(each, values) for each in node.values], strict=True))
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluated(node.operand, values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _evaluated(node.left, values) | _evaluated(node.right, values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _evaluated(node.left, values) * _evaluated(node.right, values)
    raise ValueError(f"{ast.unparse(node)!r} is not allowed here; write public names, called, with plain values")


def _called(name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Call a public name, whose arguments an error lists where these are others."""
    maker = _public(name)
    taken = list(inspect.signature(maker).parameters.values())
    if not any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in taken):
        known = [each.name for each in taken]
        unknown = [each for each in named if each not in known]
        given = {*known[: len(arguments)], *named}
        missing = [each.name for each in taken if each.default is each.empty and each.name not in given]
        if unknown or missing or len(arguments) > len(known):
            what = f"takes no {unknown[0]}" if unknown else f"needs {missing[0]}" if missing else "takes fewer values"
            raise ValueError(f"{name} {what}; its parameters: {', '.join(known) or 'none'}")
    return maker(*arguments, **named)


def public_names() -> list[str]:
    """Return the names of calibstat's public table."""
    return list(vars(cs)["__all__"])


def _public(name: str) -> Any:
    for module in (cs, cs.generators):
        if name in module.__all__:
            return getattr(module, name)
    raise ValueError(f"there is no {name!r} in calibstat or calibstat.generators")
