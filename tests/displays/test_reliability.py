"""Reliability diagrams: what is drawn is what was computed."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import calibstat as cs
from calibstat.displays.side_by_side import side_by_side

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    p, n = rng.random(400), 400
    variables = {"age": rng.normal(50, 10, n), "sex": rng.choice(["f", "m", "x"], n)}
    return cs.Sample((rng.random(n) < p**2).astype(int), p, variables=variables)


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 400)
    return cs.Sample((p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1), p)


@pytest.mark.parametrize("kind", ["deviation", "classical"])
def test_what_is_drawn_is_histogram_regression(binary, kind):
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(8), kind=kind, rng=0)
    cells = cs.HistogramRegression(cs.EqualMass(8))(binary).isel(label=1)
    x, y = display.line_.get_data()
    np.testing.assert_allclose(x, cells["mean_prediction"])
    np.testing.assert_allclose(y, cells["deviation"] if kind == "deviation" else cells["mean_outcome"])
    np.testing.assert_allclose(display.count, cells["count"])


@pytest.mark.parametrize("kind", ["deviation", "classical"])
def test_bars_are_naive_quantiles(binary, kind):
    """Labels drawn by hand, cell by cell: 5th and 95th percentile of the deviation."""
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualWidth(5), kind=kind, n_resamples=4000, rng=0)
    rng, p = np.random.default_rng(1), binary.predictions.event
    labels = rng.random((4000, len(p))) < p
    base = np.zeros(5) if kind == "deviation" else display.mean_prediction
    for cell, segment in enumerate(display.bars_.get_segments()):
        rows = (p >= cell / 5) & (p < (cell + 1) / 5)
        naive = np.quantile(labels[:, rows].mean(axis=1) - p[rows].mean(), [0.05, 0.95])
        # One step of the lattice of means either way, as quantiles of counts may differ by one event.
        np.testing.assert_allclose(segment[:, 1] - base[cell], naive, atol=1.01 / rows.sum())


def test_bars_are_those_of_the_null(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(8), coverage=0.5, rng=3)
    null = cs.Consistency(999).draw(cs.HistogramRegression(cs.EqualMass(8)), binary, cs.as_generator(3))
    np.testing.assert_allclose(display.low, null.quantile(0.25)[:, 1])
    np.testing.assert_allclose(display.high, null.quantile(0.75)[:, 1])


def test_wider_coverage_has_wider_bars(binary):
    narrow, wide = (cs.ReliabilityDisplay.compute(binary, coverage=c, rng=0) for c in (0.5, 0.99))
    assert (narrow.high - narrow.low < wide.high - wide.low).all()


def test_points_outside_their_bars_are_marked(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(6), rng=0)
    out = (display.deviation < display.low) | (display.deviation > display.high)
    assert out.any()
    np.testing.assert_allclose(display.outside_.get_ydata(), display.deviation[out])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("more than noise" in label for label in labels)


def test_none_is_marked_where_none_is_outside():
    p = np.tile([0.25, 0.75], 200)
    y = np.tile([0, 1, 0, 1, 1, 0, 0, 1], 50)
    display = cs.ReliabilityDisplay.from_sample(cs.Sample(y, p), cs.FixedEdges([0, 0.5, 1]), rng=0)
    np.testing.assert_allclose(display.deviation, 0, atol=1e-12)
    assert display.outside_ is None


def test_calibrated_points_lie_in_their_bars_as_often_as_said():
    rng = np.random.default_rng(7)
    inside = []
    for seed in range(60):
        p = rng.random(2000)
        display = cs.ReliabilityDisplay.compute(cs.Sample((rng.random(2000) < p).astype(int), p), rng=seed)
        inside.append(~display.outside)
    rate = np.mean(inside)
    assert abs(rate - 0.9) < 4 * np.sqrt(0.09 / np.size(inside)) + 0.02  # bars of a lattice reach a little further


def test_empty_cells_are_not_drawn():
    sample = cs.Sample([0, 1] * 50, np.tile([0.1, 0.9], 50))
    display = cs.ReliabilityDisplay.from_sample(sample, cs.EqualWidth(10), rng=0)
    assert len(display.line_.get_xdata()) == len(display.bars_.get_segments()) == 2
    assert np.isfinite(display.low).all()


def test_no_figure_is_made_when_axes_are_given(binary):
    figure = mpl.figure.Figure()
    ax = figure.subplots()
    display = cs.ReliabilityDisplay.from_sample(binary, ax=ax, rng=0)
    assert plt.get_fignums() == []
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_a_figure_is_made_otherwise_and_settings_stay(binary):
    before = mpl.rcParams.copy()
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0)
    assert len(plt.get_fignums()) == 1
    assert display.plot() is display
    assert len(plt.get_fignums()) == 2
    assert mpl.rcParams == before


def test_it_is_never_shown(binary, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a window would open"))
    cs.ReliabilityDisplay.from_sample(binary, rng=0)


def test_computing_draws_nothing(binary):
    display = cs.ReliabilityDisplay.compute(binary, rng=0)
    assert plt.get_fignums() == []
    assert not hasattr(display, "line_")


def test_more_classes_need_a_lens(many):
    with pytest.raises(ValueError, match=r"needs 2 classes, got 4.*TopLabel\(\)"):
        cs.ReliabilityDisplay.from_sample(many)
    display = cs.ReliabilityDisplay.from_sample(many, lens=cs.TopLabel(), rng=0)
    cells = (cs.TopLabel() | cs.HistogramRegression(cs.EqualMass(15)))(many).isel(label=1)
    np.testing.assert_allclose(display.deviation, cells["deviation"])
    assert "TopLabel()" in display.ax_.get_xlabel()


def test_given_a_number_cells_lie_at_its_means(binary):
    lens = cs.TopLabel() | cs.Given("age")
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(4), lens=lens, rng=0)
    seen = lens(binary)
    index, age = cs.EqualMass(4).cut(seen.predictions).index, seen.predictions.variables["age"].values
    np.testing.assert_allclose(display.line_.get_xdata(), [age[index == cell].mean() for cell in range(4)])
    gaps = seen.outcomes - seen.predictions.event
    np.testing.assert_allclose(display.line_.get_ydata(), [gaps[index == cell].mean() for cell in range(4)])
    assert display.ax_.get_xlabel().startswith("age")


def test_given_a_category_cells_have_its_names(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, cs.Categories(), lens=cs.Given("sex"), rng=0)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["f", "m", "x"]
    np.testing.assert_array_equal(display.line_.get_xdata(), [0, 1, 2])


def test_two_columns_have_no_axis(binary):
    with pytest.raises(ValueError, match="one axis, but 2 columns"):
        cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(3) * cs.Categories(), lens=cs.Given(..., "sex"))


def test_weights_count(binary):
    weights = np.random.default_rng(2).uniform(0.5, 3, 400)
    display = cs.ReliabilityDisplay.from_predictions(
        binary.outcomes, binary.predictions.event, cs.EqualWidth(4), sample_weight=weights, rng=0
    )
    p, y = binary.predictions.event, binary.outcomes
    for cell in range(4):
        rows = (p >= cell / 4) & (p < (cell + 1) / 4)
        assert display.count[cell] == pytest.approx(weights[rows].sum())
        assert display.deviation[cell] == pytest.approx(np.average((y - p)[rows], weights=weights[rows]))
        assert display.axis.position[cell] == pytest.approx(np.average(p[rows], weights=weights[rows]))


def test_from_predictions_and_from_sample_agree(binary):
    one = cs.ReliabilityDisplay.from_sample(binary, rng=0)
    other = cs.ReliabilityDisplay.from_predictions(binary.outcomes, binary.predictions.event, rng=0)
    np.testing.assert_array_equal(one.line_.get_xydata(), other.line_.get_xydata())
    np.testing.assert_array_equal(one.low, other.low)


def test_from_estimator_is_named_after_it(binary):
    class Coin:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    display = cs.ReliabilityDisplay.from_estimator(Coin(), binary.predictions.event, binary.outcomes, rng=0)
    assert display.ax_.get_title() == "Coin"
    np.testing.assert_allclose(display.deviation, cs.ReliabilityDisplay.compute(binary, rng=0).deviation)


def test_options_go_to_the_points(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0, color="black", marker="s", name="mine")
    assert display.line_.get_color() == "black"
    assert display.line_.get_marker() == "s"
    assert display.ax_.get_title() == "mine"


@pytest.mark.parametrize(("options", "words"), [({"coverage": 1.0}, "coverage is 1.0"), ({"kind": "bar"}, "'bar'")])
def test_bad_options(binary, options, words):
    with pytest.raises(ValueError, match=words):
        cs.ReliabilityDisplay.from_sample(binary, **options)


def test_side_by_side_has_one_scale(binary):
    p = binary.predictions.event
    displays = [
        cs.ReliabilityDisplay.compute(sample, cs.EqualMass(5), rng=0, name=name)
        for name, sample in {"raw": binary, "squared": cs.Sample(binary.outcomes, p**2)}.items()
    ]
    figure = side_by_side(displays, "both")
    first, second = (display.ax_ for display in displays)
    assert plt.get_fignums() == []
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlim() == second.get_xlim()
    assert [first.get_title(), second.get_title(), figure.get_suptitle()] == ["raw", "squared", "both"]
    for display in displays:
        low, high = first.get_ylim()
        assert ((display.deviation > low) & (display.deviation < high)).all()
