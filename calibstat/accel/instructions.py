"""Instructions of the processor that numba has no name for: two additions at once, and asking for memory ahead."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

_PAIR, _BYTES, _NUMBER = ir.VectorType(ir.DoubleType(), 2), ir.IntType(8).as_pointer(), ir.IntType(32)
# Rows between what is asked for and what is read, and bytes that come together.
_AHEAD, _TOGETHER = 512, 64


def _at(context: Any, builder: Any, array: Any, where: Any) -> Any:
    """Return the address of an element of an array of this type."""
    return builder.gep(context.make_array(array)(context, builder, where[0]).data, [where[1]])


def _add_pair(context: Any, table: Any, spot: Any, first: Any, second: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Do ``table[spot] += first; table[spot + 1] += second``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.bitcast(_at(context, builder, signature.args[0], arguments), _PAIR.as_pointer())
        pair = ir.Constant(_PAIR, ir.Undefined)
        for position, number in enumerate(arguments[2:]):
            pair = builder.insert_element(pair, number, ir.Constant(_NUMBER, position))
        builder.store(builder.fadd(builder.load(place, align=8), pair), place, align=8)
        return context.get_dummy_value()

    return types.void(table, types.uint64, types.float64, types.float64), code


def _fetch(context: Any, column: Any, row: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Ask for a row that is needed soon, or that is not there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _NUMBER, _NUMBER, _NUMBER])
        place = builder.bitcast(_at(context, builder, signature.args[0], arguments), _BYTES)
        to_read, soon, data = (ir.Constant(_NUMBER, each) for each in (0, 3, 1))
        builder.call(builder.module.declare_intrinsic("llvm.prefetch", (_BYTES,), kind), [place, to_read, soon, data])
        return context.get_dummy_value()

    return types.void(column, types.int64), code


add_pair: Any = intrinsic(_add_pair)
fetch: Any = intrinsic(_fetch)


@njit(nogil=True, cache=True, inline="always")
def fetch_ahead(column, start, stop):  # type: ignore[no-untyped-def]
    """Ask for the rows that come some time after these."""
    for row in range(start + _AHEAD, stop + _AHEAD, _TOGETHER // column.itemsize):
        fetch(column, row)
