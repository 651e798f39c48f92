"""Models, estimators and nulls written as they print themselves: read from a tree, never evaluated as Python.

Names are looked up in the tables of public names; there are calls, literals, ``|``, ``*`` and unary minus.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import calibstat as cs
from calibstat import generators


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
