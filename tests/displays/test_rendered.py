"""The check of pictures finds what it is meant to find."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from calibstat.displays._style import answer, label_axes, legend_below, new_axes
from displays.rendered import assert_readable


@pytest.fixture
def ax():
    ax = new_axes(None)
    (points,) = ax.plot([0, 0.5, 1], [0, 0.6, 1], "o", label="mean of a cell")
    answer(ax, "A network", ["claims 94 %, happens 91 %: too sure", "ECE .028, noise alone .006"])
    label_axes(ax, "confidence", "accuracy")
    legend_below(ax, [points])
    yield ax
    plt.close(ax.figure)


def test_a_picture_in_this_style_is_readable(ax):
    assert_readable(ax.figure)


@pytest.mark.parametrize(
    ("text", "at", "fault"),
    [("here", (0.5, 0.6), "on a point"), ("beyond the edge of the figure", (1.0, 0.3), "cut off")],
)
def test_words_in_the_wrong_place_are_found(ax, text, at, fault):
    words = ax.text(*at, text, va="center", ha="center" if fault == "on a point" else "left")
    words.set_in_layout(False)
    with pytest.raises(AssertionError, match=fault):
        assert_readable(ax.figure)


def test_words_on_words_are_found(ax):
    for _ in range(2):
        ax.text(0.2, 0.8, "twice")
    with pytest.raises(AssertionError, match="lies on 'twice'"):
        assert_readable(ax.figure)


def test_words_on_a_curve_are_found(ax):
    ax.plot([0, 0.5, 1], [0.2, 0.2, 0.2])
    ax.text(0.25, 0.2, "on the curve", va="center", ha="center")
    with pytest.raises(AssertionError, match="on a point"):
        assert_readable(ax.figure)


def test_words_that_run_into_the_next_axes_are_found():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3))
    left.set_xlabel("a label that is as long as a sentence about the axis of a picture")
    right.set_xticks([])
    left.xaxis.set_label_coords(0.9, 0.5)
    with pytest.raises(AssertionError, match=r"runs into|cut off|lies on"):
        assert_readable(figure)
    plt.close(figure)


@pytest.mark.parametrize(("apart", "readable"), [(0.4, True), (0.02, False)])
def test_slanted_words_may_run_beside_each_other(apart, readable):
    figure, ax = plt.subplots(figsize=(4, 4))
    ax.plot([0, 1], [1, 0], "o")
    for k in range(2):
        ax.text(0.1 + apart * k, 0.3, "slanted words", rotation=45, rotation_mode="anchor")
    if readable:
        assert_readable(figure)
    else:
        with pytest.raises(AssertionError, match="lies on"):
            assert_readable(figure)
    plt.close(figure)
