"""Lets a page draw as many figures as it likes, and closes them when its examples have run; scripts find each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

sys.path.append(str(Path(__file__).resolve().parent))  # as when a script is run


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    with mpl.rc_context({"figure.max_open_warning": 0}):
        yield
    from matplotlib import pyplot as plt

    plt.close("all")
