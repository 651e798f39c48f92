"""How often the interval of a monitor's alarm holds the row at which predictions went wrong.

Checks fail beyond four standard errors. ``python tests/validity/test_changes.py`` measures the table of
docs/monitoring.md with 200 runs of each setting.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from validity.changes import CHANGED, difference_intervals, intervals, three_class_intervals

SEED, RUNS, LEVEL = 20261123, 25, 0.95
# Worlds, good rows before the change, and rows after the alarm.
WATCHED = [("slope 2", 300, 0), ("shift .5", 1500, 0), ("high, slope .6", 0, 0), ("rare, shift -1.2", 300, 500)]


def covered(found, row):
    return np.mean([change.low <= row <= change.high for change in found])


def assert_covers(share, runs):
    assert share >= LEVEL - 4 * np.sqrt(LEVEL * (1 - LEVEL) / runs), f"coverage {share:.3f} in {runs} runs"


@pytest.mark.slow
@pytest.mark.parametrize(("world", "good", "more"), WATCHED)
def test_the_interval_holds_the_row_of_a_sudden_change(world, good, more):
    found, missed = intervals(world, good, more, RUNS, SEED)
    assert missed == 0
    assert len(found) >= 20  # an alarm before the change is false, and has no interval to speak of
    assert_covers(covered(found, good + 1), len(found))


@pytest.mark.slow
@pytest.mark.parametrize("changes", [difference_intervals, three_class_intervals])
def test_the_interval_holds_the_row_of_other_monitors(changes):
    found = changes(500, RUNS, SEED)
    assert len(found) >= 20
    assert_covers(covered(found, 501), len(found))


@pytest.mark.slow
def test_of_a_slow_drift_it_is_no_interval_for_the_first_row_but_lies_in_the_drift():
    good, lasts = 500, 2000
    found, _ = intervals("shift .5", good, 500, RUNS, SEED, lasts)
    assert np.mean([good < change.high and change.low <= good + lasts for change in found]) >= 0.9
    with pytest.raises(AssertionError, match="coverage"):
        assert_covers(covered(found, good + 1), len(found))


@pytest.mark.slow
def test_negative_control_a_row_further_off_is_not_held():
    found, _ = intervals("slope 2", 300, 0, RUNS, SEED)
    with pytest.raises(AssertionError, match="coverage"):
        assert_covers(covered(found, 700), len(found))


if __name__ == "__main__":
    for world in CHANGED:
        for good, more in ((0, 0), (300, 0), (1500, 0), (0, 500), (1500, 500)):
            found, missed = intervals(world, good, more, 200, SEED)
            widths = [change.high - change.low for change in found]
            share = 100 * covered(found, good + 1)
            print(f"{world}, from row {good + 1}, {more} later: {share:.1f} %, width {np.median(widths):.0f}, {missed}")
