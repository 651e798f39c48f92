"""Every warning points to the user's line."""

from __future__ import annotations

import ast
import inspect
import warnings
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

import calibstat as cs
from calibstat._files import alone
from calibstat.monitoring.monitor import Monitor

PACKAGE = Path(cs.__file__).parent


def test_one_function_warns():
    """It finds the user's line; nobody else counts frames."""
    calls = [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
    ]
    assert [path for path, _ in calls] == ["_warn.py"]


def small_cells(tmp_path):
    p = np.linspace(0.01, 0.99, 30)
    return cs.calibration_test(cs.Sample(p > 0.5, p), cs.ECE(cs.EqualMass(15)), rng=0)


def counts_as_weights(tmp_path):
    return cs.Sample([0, 1, 1], [0.1, 0.6, 0.9], sample_weight=[10, 20, 30])


def reversed_order(tmp_path):
    p = np.linspace(0.01, 0.99, 100)
    return cs.Sample((p < 0.5).astype(int), p)


def short_line(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("y,p,age,site\n1,0.7,50,a\n0,0.2,60\n0,0.3,40,b\n1,0.5,40,b\n")
    return cs.Sample.read(path, y_true="y", y_prob="p")


def changed_rows(tmp_path):
    monitor = Monitor()
    monitor.update([0.3, 0.4], [0, 1], id=[1, 2])
    monitor.seen_before([1, 2], [0.3, 0.5], [0, 1])


def waiting_for_another_process(tmp_path):
    first = ExitStack()
    first.enter_context(alone(tmp_path))
    Timer(0.2, first.close).start()
    with alone(tmp_path, "another process is at work"):
        pass


SITES = [small_cells, counts_as_weights, reversed_order, short_line, changed_rows, waiting_for_another_process]


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.__name__)
def test_the_line_of_the_user(site, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        site(tmp_path)
    first = inspect.getsourcelines(site)[1]
    lines = range(first, first + len(inspect.getsource(site).splitlines()))
    assert caught
    assert all(each.filename == __file__ and each.lineno in lines for each in caught)
