"""What all pictures share: foreign axes and styles, names of any kind, and hostile samples."""

from __future__ import annotations

import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

import calibstat as cs
from calibstat.displays._cells import rows_in_effect
from calibstat.displays._overlays import corners
from calibstat.displays._style import (
    INK,
    OURS,
    answer,
    label_axes,
    legend_below,
    lines_of,
    new_axes,
    percent_tick,
    shortened,
    tick,
)
from displays.rendered import assert_readable

LONG = "a model whose name somebody wrote out in full, with all its hyperparameters"


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    return cs.Sample((rng.random(400) < p**1.5).astype(int), p, variables={"age": rng.normal(50, 10, 400)})


@pytest.fixture(scope="module")
def curve(sample):
    return cs.ValidityCurveDisplay.compute(sample, cs.EqualMass(5), n_resamples=39, rng=0)


@pytest.fixture(scope="module")
def models(sample):
    squared = cs.Sample(sample.outcomes, sample.predictions.event**2)
    return cs.ComparisonDisplay.compute(cs.compare_models({"raw": sample, "bold": squared}, cs.BrierScore(), rng=0))


# Axes of the user.


@pytest.mark.parametrize("bad", [3, [1], plt], ids=str)
def test_what_is_no_axes_is_refused(curve, bad):
    with pytest.raises(TypeError, match=r"ax is of type .*, but one matplotlib Axes is expected"):
        curve.plot(bad)


def test_axes_of_another_projection_are_refused(curve):
    with pytest.raises(ValueError, match="projection 'polar'"):
        curve.plot(plt.figure().add_subplot(projection="polar"))


def test_logarithmic_axes_become_linear(curve):
    _, ax = plt.subplots()
    ax.set(xscale="log", yscale="log")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve.plot(ax)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    np.testing.assert_allclose(ax.get_xlim(), (0, curve.tolerance[-1]))


def test_a_second_picture_in_the_same_axes_replaces_the_words_of_the_first(sample):
    display = cs.ReliabilityDisplay.compute(sample, cs.EqualMass(5))
    _, ax = plt.subplots()
    note = ax.text(0.5, 0.5, "a note of the user")
    display.plot(ax)
    once = len(ax.texts), len(ax.child_axes), len(ax.lines)
    display.plot(ax)
    assert (len(ax.texts), len(ax.child_axes)) == once[:2]
    assert len(ax.lines) == 2 * once[2]
    assert note in ax.texts
    assert [text for text in ax.texts if text.get_label() == OURS]


def test_a_curve_that_is_added_leaves_the_legend_where_it_was(sample):
    display = cs.ReliabilityDisplay.from_sample(sample, cs.EqualMass(5))
    before = display.ax_.get_legend().get_window_extent()
    display.add_curve(cs.LOESS())
    after = display.ax_.get_legend().get_window_extent()
    assert after.y1 == pytest.approx(before.y1, abs=2)
    assert_readable(display.figure_)


def test_a_drawn_display_can_be_pickled(curve, models, sample):
    for display in (curve, models, cs.ReliabilityDisplay.compute(sample, cs.EqualMass(5))):
        again = pickle.loads(pickle.dumps(display.plot()))
        assert again.caption == display.caption
        assert [text.get_text() for text in again.ax_.texts] == [text.get_text() for text in display.ax_.texts]


# Styles.


def light(colour):
    return sum(to_rgb(colour)) > 1.5


def test_words_and_points_are_seen_on_a_dark_page(models, sample):
    with plt.style.context("dark_background"):
        found = models.plot(name="Two models")
        display = cs.ReliabilityDisplay.from_sample(sample, cs.EqualMass(5), name="A model")
    words = [text for ax in (found.ax_, display.ax_) for text in [*ax.texts, ax._left_title, *ax.get_legend().texts]]
    assert all(light(text.get_color()) for text in words if text.get_text())
    assert light(display.line_.get_color())
    assert not light(display.bars_.get_color()[0])
    on_white = models.plot()
    assert on_white.ax_.texts[-1].get_color() == INK


def test_words_in_a_part_of_a_white_figure_are_dark(sample):
    part = plt.figure().subfigures(1, 2)[0]
    display = cs.ReliabilityDisplay.from_sample(sample, cs.EqualMass(5), ax=part.subplots())
    assert display.line_.get_color() == INK


@pytest.mark.slow
@pytest.mark.parametrize("style", ["seaborn-v0_8-poster", "dark_background", "ggplot"])
def test_large_letters_of_a_style_keep_the_legend_below_the_labels(models, curve, sample, style):
    with plt.style.context(style):
        for display in (models, curve, cs.VariableDisplay.compute(sample, "age", n_resamples=39, rng=0)):
            assert_readable(display.plot().figure_)


# Words.


def test_a_long_title_has_two_lines_that_fit():
    ax = new_axes(None)
    answer(ax, LONG, ["first", "second"])
    assert ax.get_title("left").count("\n") == 1
    assert_readable(ax.figure)


def test_a_title_keeps_its_own_lines():
    ax = new_axes(None)
    answer(ax, "one\ntwo", ["a name with\na break"])
    assert ax.get_title("left") == "one\ntwo"
    assert ax.texts[0].get_text() == "a name with\\na break"


def test_wide_letters_count_twice():
    name = "\N{CJK UNIFIED IDEOGRAPH-65E5}" * 10
    assert shortened(name, 20) == name
    assert len(shortened(name, 10)) == 5
    assert [len(line) for line in lines_of(name, 10)] == [5, 5]


def test_ticks_are_short():
    assert [tick(each) for each in (0.1 + 0.2, -0.0, 1e6, 1 - 1e-7, 1e-10)] == [
        "0.3", "0", "1,000,000", "0.9999999", "1e-10",
    ]  # fmt: skip
    assert [percent_tick(each) for each in (0.07, -0.0, 1e-14)] == ["7", "0", "0"]


def test_the_legend_has_as_many_columns_as_there_is_room_for():
    heights = []
    for words in ("short", "words that need the whole width of a column"):
        ax = new_axes(None)
        lines = [ax.plot([0, 1], [k, k], label=f"{words} {k}")[0] for k in range(3)]
        legend_below(ax, lines)
        assert_readable(ax.figure)
        heights.append(ax.get_legend().get_window_extent().height)
    assert heights[1] > 2 * heights[0]


def test_many_categories_are_named_as_far_as_there_is_room():
    rng = np.random.default_rng(1)
    p, hour = rng.random(900), rng.integers(0, 60, 900)
    sample = cs.Sample(rng.random(900) < p, p, variables={"hour": [f"{each} h" for each in hour]})
    display = cs.ReliabilityDisplay.from_sample(sample, cs.Categories(), lens=cs.Given("hour"))
    assert len(display.count) == 60
    assert len(display.ax_.get_xticklabels()) == 12
    assert_readable(display.figure_)


def test_dollar_signs_in_titles_and_categories_are_no_formulas():
    rng = np.random.default_rng(1)
    p = rng.random(60)
    sample = cs.Sample(rng.random(60) < p, p, variables={"$$a": rng.choice(["$$a", "$x_1^", "b"], 60)})
    display = cs.ReliabilityDisplay.compute(sample, cs.Categories(), lens=cs.Given("$$a"), name="$$a")
    figure = cs.side_by_side([display], title="$$a")
    figure.draw_without_rendering()
    assert figure.get_suptitle() == "$$a"


def test_long_names_of_four_classes_do_not_meet():
    rng = np.random.default_rng(1)
    names = ["warbler", "sparrow", "kingfisher", "nightingale"]
    p = rng.dirichlet(np.ones(4), 80)
    sample = cs.Sample([names[k] for k in p.argmax(axis=1)], p, labels=names)
    assert_readable(cs.SimplexDisplay.from_sample(sample, cs.SimplexGrid(2), n_resamples=39, rng=0).figure_)


# Hostile samples.


@pytest.mark.parametrize("event", [0.0, 1.0])
def test_predictions_that_are_certain_and_right_are_drawn(event):
    sample = cs.Sample([int(event)] * 20, [event] * 20, labels=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cs.ValidityCurveDisplay.from_sample(sample, cs.EqualMass(2), n_resamples=39, rng=0)
        steps = {1: sample, 2: sample}
        cs.TrajectoryDisplay.from_samples(steps, {"ECE": cs.ECE(cs.EqualMass(2))}, n_resamples=39, rng=0)
    assert found.ax_.get_xlim()[1] > 0


def test_a_single_row_has_a_place_along_a_variable():
    sample = cs.Sample([1], [0.4], labels=[0, 1], variables={"age": [50.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = cs.VariableDisplay.from_sample(sample, "age", n_resamples=39, rng=0)
    low, high = display.ax_.get_xlim()
    assert low < 50 < high


def test_tiny_probabilities_keep_the_answer_short():
    p = np.random.default_rng(0).random(100) * 1e-9
    display = cs.ReliabilityDisplay.compute(cs.Sample(np.zeros(100, dtype=int), p, labels=[0, 1]), cs.EqualMass(2))
    assert max(map(len, display.answer.lines)) < 60
    assert "e-" in display.answer.lines[1]


def test_rows_in_effect_do_not_depend_on_the_unit_of_weights():
    p = np.tile([0.2, 0.7], 10)
    weights = np.tile([1.0, 2.0, 3.0, 4.0], 5)
    found = []
    for unit in (1.0, 1e-200):
        scaled = weights * np.where(p < 0.5, 1.0, unit)
        predictions = cs.Sample(np.tile([0, 1], 10), p, sample_weight=scaled).predictions
        found.append(rows_in_effect(predictions, cs.FixedEdges([0, 0.5, 1]).cut(predictions)))
    np.testing.assert_allclose(found[1], found[0])
    np.testing.assert_allclose(found[0], [10 * 20 / 25, 10 * 45 / 50])


def test_a_band_is_drawn_by_its_corners():
    x, y = np.arange(6.0), np.array([[0.0, 0, 0, 0, 1, 1], [0, 0, 0, 2, 2, 2]])
    kept, both = corners(x, y)
    np.testing.assert_array_equal(kept, [0, 2, 3, 4, 5])
    np.testing.assert_array_equal([np.interp(x, kept, each) for each in both], y)


@pytest.mark.parametrize("n_shown", [0, -1, "all", 2.5])
def test_so_many_rows_are_not_shown(models, n_shown):
    with pytest.raises((TypeError, ValueError), match="n_shown is"):
        models.plot(n_shown=n_shown)


def test_what_is_no_reliability_diagram_does_not_stand_beside_others(sample):
    with pytest.raises(TypeError, match="must be a ReliabilityDisplay"):
        cs.side_by_side([sample])


@pytest.mark.parametrize(("argument", "value"), [("binning", 3), ("n_resamples", 0)])
def test_arguments_are_checked_where_they_are_not_needed_too(sample, argument, value):
    with pytest.raises((TypeError, ValueError), match=f"{argument} is"):
        cs.ReliabilityDisplay.compute(sample, **{argument: value})


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_a_long_answer_fits_the_page_in_print_and_as_vector_graphics(layout):
    _, ax = plt.subplots(figsize=(3.3, 3.0), layout=layout)
    label_axes(new_axes(ax), "age", "how often it happens")
    lines = ["at age 56.1: happens 0.8 %, predicted 1.5 %: too low", "apart by 0.7 %, noise alone 0.2 %; p = 0.001"]
    answer(ax, "rare", lines)
    legend_below(ax, [Patch(label="noise alone"), Patch(label="more than noise")])
    assert_readable(ax.figure)
    (text,) = ax.texts
    assert text.get_text() == "\n".join(lines)
    assert 6 <= text.get_fontsize() < 7.5
    answer(new_axes(ax), "rare", [line * 2 for line in lines])
    (text,) = ax.texts
    assert text.get_text().replace("\n", " ").count("noise") == 2
    assert text.get_text().count("\n") > 2
    plt.close(ax.figure)


def test_several_small_pictures_are_readable_in_a_column():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([0.3] * 4, 600)
    drawn = (rng.random((600, 1)) > rows.cumsum(axis=1)).sum(axis=1)
    displays = cs.ReliabilityDisplay.of_classes(cs.Sample(drawn, rows, labels=range(4)))
    figure = cs.side_by_side(displays, "Four classes", figsize=(1.65, 1.65), columns=2)
    assert_readable(figure)
    lens = cs.Partition({"first of four": 0, "second of four": 1, "third of four": 2, "last of four": 3})
    _, ax = plt.subplots(figsize=(3.3, 3.0), layout="constrained")
    four = cs.SimplexDisplay.compute(lens(cs.Sample(drawn, rows, labels=range(4))), cs.SimplexGrid(2), rng=0)
    assert_readable(four.plot(ax=ax).figure_)
