"""Datasets are compared bit for bit."""

from __future__ import annotations


def assert_same_bits(first, second):
    names = [name for name in first.data_vars if name not in ("status", "error")]
    assert set(names) <= set(second.data_vars)
    for name in names:
        assert first[name].dims == second[name].dims
        assert first[name].values.tobytes() == second[name].values.tobytes(), name
