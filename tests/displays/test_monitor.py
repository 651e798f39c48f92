"""The evidence of a monitor: what is drawn is what it says of itself."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def fed(n=1500, power=1.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    monitor = cs.Monitor(**options)
    monitor.update(p, rng.random(n) < p**power)
    return monitor


@pytest.fixture(scope="module")
def good():
    return fed(600)


@pytest.fixture(scope="module")
def off():
    return fed(1500, 1.8)


def test_the_path_is_the_evidence_in_powers_of_ten(good):
    display = good.plot(name="a model")
    found = good.to_dataset()
    x, y = display.paths_[0].get_data()
    np.testing.assert_array_equal(x, [0, *found["row"].values])
    np.testing.assert_allclose(y, [0, *(found["log_e"].values / np.log(10))])
    assert display.alarms_ == display.restarts_ == []
    assert display.ax_.texts[0].get_text().startswith("no alarm so far")


def test_the_path_is_strong_from_the_alarm_on(off):
    display = cs.MonitorDisplay.from_result(off)
    assert off.alarm
    x, y = display.alarms_[0].get_data()
    assert x[0] == off.alarm_row
    assert y[0] == pytest.approx(np.log10(20))
    assert y[-1] == pytest.approx(off.log_e / np.log(10))
    assert display.alarms_[0].get_color() != display.paths_[0].get_color()
    assert f"alarm after {off.alarm_row:,} rows" in display.ax_.texts[0].get_text()
    assert display.threshold == pytest.approx(np.log10(20))


def test_monitors_one_after_the_other_begin_anew(off, good):
    display = cs.MonitorDisplay.from_result([off, good.to_dataset()])
    assert [line.get_xdata()[0] for line in display.restarts_] == [1500]
    assert display.paths_[1].get_xdata()[0] == 1500
    assert display.paths_[1].get_ydata()[0] == 0
    assert "none since the restart" in display.ax_.texts[0].get_text()
    assert "each broken line" in display.caption


def test_infinite_evidence_lies_at_the_upper_edge():
    monitor = cs.Monitor()
    monitor.update([0.5, 0.5, 0.0, 0.5], [1, 0, 1, 1])
    display = monitor.plot()
    assert display.alarms_[0].get_ydata()[-1] == display.ax_.get_ylim()[1]
    assert "E = infinite" in display.ax_.texts[0].get_text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 2.8), (10, 5.6)])
def test_it_is_readable(off, good, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    assert_readable(cs.MonitorDisplay.from_result([off, good], ax=ax, name="a model with a name").figure_)


def test_what_is_no_monitor_is_refused(good):
    with pytest.raises(TypeError, match="a Monitor, or its to_dataset"):
        cs.MonitorDisplay.from_result([good, 3])
    with pytest.raises(ValueError, match="2 levels"):
        cs.MonitorDisplay.from_result([good, fed(20, level=0.01)])
    with pytest.raises(ValueError, match="no monitor is given"):
        cs.MonitorDisplay.from_result([])


def test_an_alarm_after_a_restart_is_said_at_its_place_on_the_axis(off, good):
    display = cs.MonitorDisplay.compute([good, off]).plot()
    row = off.alarm_row
    before = display.runs[1].before
    assert before > 0
    words = f"alarm {row:,} rows after the restart (row {before + row:,})"
    assert display.ax_.texts[0].get_text().replace("\n", " ").startswith(words)
    both = cs.MonitorDisplay.compute([off, off]).plot().ax_.texts[0].get_text()
    assert both.startswith(f"alarms at rows {row:,} and {off.n_rows + row:,}")
