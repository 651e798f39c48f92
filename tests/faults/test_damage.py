"""Files that were cut short, or in which a bit was turned, and full disks: an error that says so, or no harm."""

from __future__ import annotations

import resource
import signal
import warnings

import numpy as np
import pytest

from faults import victims
from suites import slow_but

# A page that was damaged is seen by who looks at it.
KINDS = [kind for kind in victims.WRITERS if kind != "report.html"]


@pytest.fixture(scope="module", params=KINDS)
def written(request, tmp_path_factory):
    kind, folder = request.param, tmp_path_factory.mktemp("written")
    victims.WRITERS[kind](0, folder)(folder / kind)
    return kind, (folder / kind).read_bytes(), victims.READERS[kind](folder / kind)


def read(kind, path, content):
    """Return what a file with this content says; None where it is refused by a ValueError that names it."""
    path.write_bytes(content)
    said = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return victims.READERS[kind](path)
    except ValueError as error:
        said = str(error)
    assert path.name in said
    return None


@pytest.mark.parametrize("n_cases", slow_but([60], [60, 2000]))
def test_a_turned_bit_is_refused_or_changes_nothing(written, tmp_path, n_cases):
    kind, content, expected = written
    rng = np.random.default_rng(20261124)
    refused = 0
    for _ in range(n_cases):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        found = read(kind, tmp_path / kind, bytes(damaged))
        assert found is None or found == expected
        refused += found is None
    assert refused > n_cases / 4


@pytest.mark.parametrize("n_cases", slow_but([30], [30, 500]))
def test_a_file_that_was_cut_short_is_refused(written, tmp_path, n_cases):
    kind, content, _ = written
    rng = np.random.default_rng(20261124)
    for length in (0, 1, len(content) - 2, *rng.integers(len(content) - 1, size=n_cases)):
        assert read(kind, tmp_path / kind, content[:length]) is None


@pytest.mark.parametrize("kind", victims.WRITERS)
def test_a_full_disk_leaves_the_file_as_it_was(kind, tmp_path):
    """A limit on the size of files stands for the full disk."""
    path = tmp_path / kind
    victims.WRITERS[kind](0, tmp_path)(path)
    before, write = path.read_bytes(), victims.WRITERS[kind](1, tmp_path)
    names = sorted(each.name for each in tmp_path.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, heard)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == names
