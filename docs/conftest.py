"""Lets a page draw as many figures as it likes, and closes them when its examples have run."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    with mpl.rc_context({"figure.max_open_warning": 0}):
        yield
    from matplotlib import pyplot as plt

    plt.close("all")
