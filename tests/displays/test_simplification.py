"""The picture of a path of merges shows the numbers of the path."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable

WORLD = cs.generators.FinitePredictions([0.1, 0.2, 0.7, 0.8], [0.1, 0.3, 0.6, 0.9], mass=[3, 1, 1, 3])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_the_line_is_the_error_and_the_strip_its_noise():
    rng = np.random.default_rng(0)
    p = rng.random(600)
    path = cs.simplify(cs.Sample(rng.random(600) < p**1.5, p), 3, binning=cs.EqualMass(12), rng=0)
    display = path.plot(name="A model that is too sure")
    assert isinstance(display, cs.SimplificationDisplay)
    assert display.line_.get_xydata().tolist() == np.column_stack([path.n_cells, path.calibration_error]).tolist()
    assert display.chosen_.get_xydata().tolist() == [[3, path.calibration_error[-1]]]
    top = display.noise_.get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(path.expected.max())
    assert display.ax_.texts[-1].get_text().startswith("3 cells in place of 12\nerror ")
    assert "n = 300" in display.ax_.texts[-1].get_text()
    assert path.verdict in display.caption
    assert_readable(display.figure_)


def test_a_world_has_no_noise():
    display = cs.simplify(WORLD, 2).plot()
    assert display.noise_ is None
    assert "noise" not in display.caption
    assert display.ax_.texts[-1].get_text() == "2 cells in place of 4\nerror 0.0375 in place of 0.0625"


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 2.6), (10, 5.6)])
@pytest.mark.parametrize("n_cells", [1, 4])
def test_it_is_readable(size, n_cells):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    assert_readable(cs.simplify(WORLD, n_cells).plot(ax=ax, name="A world").figure_)


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="that of simplify is expected"):
        cs.SimplificationDisplay.from_result(WORLD)
