"""Vectors as wide as the processor has them, and memory that begins where they like it to."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic

from calibstat.arrays import Floats

LINE: Final = 8
"""Doubles in a line of the cache, and in the widest vectors that there are."""


def _wide(context: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Let the loops of this function use vectors of 512 bits, where the processor has them; LLVM stays at 256.

    Loops with many multiplications for each number that they read gain a third; others gain nothing.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        attributes = builder.function.attributes
        if isinstance(attributes, set):  # its own `add` knows only attributes without a value
            set.add(attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), code


wide: Any = intrinsic(_wide)


def lined_up(*shape: int) -> Floats:
    """Return zeros that begin with a line of the cache, so that no vector lies across two if rows are whole lines."""
    size = prod(shape)
    memory = np.zeros(size + LINE)
    start = -memory.ctypes.data // memory.itemsize % LINE
    return memory[start : start + size].reshape(shape)
