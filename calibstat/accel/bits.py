"""The bits of a double as a whole number, and back, for exponentials that are computed many at a time."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _as(found: Any, given: Any) -> tuple[Any, Any]:
    """Return the signature and the code of reading the bits of one type as another."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(arguments[0], context.get_value_type(found))

    return found(given), code


def _integer_of(context: Any, number: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Return the bits of a double."""
    return _as(types.int64, types.float64)


def _float_of(context: Any, bits: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Return the double that has these bits."""
    return _as(types.float64, types.int64)


as_integer: Any = intrinsic(_integer_of)
as_float: Any = intrinsic(_float_of)
