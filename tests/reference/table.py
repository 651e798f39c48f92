"""The naive function of each estimator, found by its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from reference.lenses import look
from reference.rows import Rows, written

Function: TypeAlias = Callable[[Any, Rows], Any]

NAIVE: dict[type, Function] = {}


def naive(*types: type) -> Callable[[Function], Function]:
    """Enter a function of an estimator and the rows that it sees, for these types."""

    def enter(function: Function) -> Function:
        NAIVE.update(dict.fromkeys(types, function))
        return function

    return enter


def evaluate(estimator: Any, seen: Rows) -> Any:
    """Evaluate any estimator on rows; several numbers come in the order of its evaluator. NaN without weight."""
    seen = look(estimator.lens, seen)
    return written(NAIVE, estimator.core)(estimator.core, seen)
