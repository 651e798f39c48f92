"""Independent streams of random numbers, and the blocks in which replicates are drawn.

Each block has a stream of its own and a full size, which depends on the number of rows only; of the last block only
the first replicates are drawn, or kept. So the same ``rng`` gives the same draws under every scheduler, and fewer
replicates are a prefix of more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar
from zlib import crc32

import numpy as np

from calibstat._progress import track
from calibstat._threads import told_in_order
from calibstat.data.arrays import RNG, Array, Floats, as_generator

# How many draws are held in memory at once: 2 MiB of floats stay in the cache of most processors.
_DRAWS_IN_A_BLOCK = 2**18
_Block = TypeVar("_Block")
# Where a function of the user is in memory, which its repr says, is another place in another process.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Streams:
    """Independent streams, numbered 0, 1, 2, ...; `rng` advances once, however many of them are used afterwards."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.entropy = rng.integers(0, 2**32, size=4, dtype=np.uint32).tolist()

    def __getitem__(self, number: int) -> np.random.Generator:
        """Return stream `number`, always the same, from its beginning."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.entropy, spawn_key=(number,))))

    def named(self, name: str) -> np.random.Generator:
        """Return the stream of that name, whichever others are used."""
        return self[crc32(_ADDRESS.sub("", name).encode())]


def stream_of(rng: RNG, tested: object) -> np.random.Generator:
    """Return the stream of what is `tested`: with one integer, different tests have independent draws.

    A Generator is used as it is, and moves on.
    """
    generator = as_generator(rng)
    return generator if rng is None or generator is rng else Streams(generator).named(str(tested))


def draw_blocks(
    draw: Callable[[np.random.Generator, int, int], _Block],
    n_resamples: int,
    n_rows: int,
    rng: np.random.Generator,
    *,
    one_by_one: bool = False,
) -> Iterator[_Block]:
    """Yield ``draw(stream, size, kept)`` of each block: its stream, the full block to draw, and how many to keep of it.

    A replicate takes `n_rows` random numbers. What asks the stream once draws only those that are kept, since numbers
    come replicate after replicate; what asks it twice must draw the full block first. Several threads draw, unless
    blocks are drawn `one_by_one` because one learns from another.
    """
    block, numbers, _ = _blocks(draw, n_resamples, n_rows, rng)
    yield from track(map(block, numbers), len(numbers)) if one_by_one else told_in_order(block, numbers)


def _blocks(
    draw: Callable[[np.random.Generator, int, int], _Block], n_resamples: int, n_rows: int, rng: np.random.Generator
) -> tuple[Callable[[int], _Block], range, int]:
    """Return what draws the block of a number, the numbers of all blocks, and how many replicates a full one has."""
    size = max(1, _DRAWS_IN_A_BLOCK // max(n_rows, 1))
    streams = Streams(rng)
    starts = range(0, n_resamples, size)

    def block(number: int) -> _Block:
        return draw(streams[number], size, min(size, n_resamples - starts[number]))

    return block, range(len(starts)), size


def replicate(
    evaluate: Callable[[Array], Floats],
    draw: Callable[[np.random.Generator, int, int], Array],
    n_resamples: int,
    n_rows: int,
    rng: np.random.Generator,
    batch_size: int = 1,
) -> Floats:
    """Evaluate what `draw_blocks` draws, some blocks at once on threads: (R, ...).

    Parameters
    ----------
    evaluate : callable
        Takes replicates (r, ...) of what moves and returns their values (r, ...); keeps nothing from call to call.
    draw, n_resamples, n_rows, rng
        As for `draw_blocks`; `draw` too keeps nothing.
    batch_size : int
        The smallest number of replicates to pass at once; what is drawn does not depend on it.
    """
    block, numbers, size = _blocks(draw, n_resamples, n_rows, rng)
    together = max(1, -(-batch_size // size))  # blocks that are evaluated at once

    def values(first: int) -> Floats:
        drawn = [block(number) for number in numbers[first : first + together]]
        return evaluate(drawn[0] if len(drawn) == 1 else np.concatenate(drawn))

    batches = range(0, len(numbers), together)
    return np.concatenate(list(told_in_order(values, batches)))


def random_signs(n: int) -> Callable[[np.random.Generator, int, int], Floats]:
    """Return a function that draws n signs, -1.0 or 1.0, for each replicate."""

    def draw(stream: np.random.Generator, _size: int, kept: int) -> Floats:
        return 2.0 * stream.integers(0, 2, size=(kept, n)).astype(float) - 1.0

    return draw
