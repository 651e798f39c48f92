"""Reliability diagrams: what is drawn is what was computed."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import calibstat as cs
from calibstat.displays.reliability import side_by_side

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


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("n", "p"), [(1, 0.2), (10, 0.3), (100, 0.3), (40, 0.95), (25, 0.0)])
def test_bars_of_equal_predictions_are_the_exact_quantiles_of_the_binomial(n, p, coverage):
    """Ends are counts; beyond each lies half of the rest at most, and one event further in it would be more."""
    display = cs.ReliabilityDisplay.compute(
        cs.Sample(np.arange(n) % 2, np.full(n, p)), cs.EqualMass(1), coverage=coverage
    )
    low, high = n * (display.low[0] + p), n * (display.high[0] + p)
    tail = (1 - coverage) / 2
    assert [low, high] == pytest.approx([round(low), round(high)], abs=1e-9)
    low, high = round(low), round(high)
    assert stats.binom.cdf(low - 1, n, p) <= tail < stats.binom.cdf(low, n, p)
    assert stats.binom.sf(high, n, p) <= tail < stats.binom.sf(high - 1, n, p)


def test_bars_are_naive_quantiles_of_the_convolution(binary):
    """The law of the number of events, one row after the other; each bar holds its share, and ends are possible."""
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualWidth(5), kind="classical")
    p = binary.predictions.event
    for cell, segment in enumerate(display.bars_.get_segments()):
        rows = p[(p >= cell / 5) & (p < (cell + 1) / 5)]
        law = np.ones(1)
        for chance in rows:
            law = np.convolve(law, [1 - chance, chance])
        shares = segment[:, 1] - display.mean_prediction[cell] + rows.mean()
        low, high = np.round(len(rows) * shares).astype(int)
        assert shares * len(rows) == pytest.approx([low, high], abs=1e-9)
        assert law[:low].sum() <= 0.05 < law[: low + 1].sum()
        assert law[high + 1 :].sum() <= 0.05 < law[high:].sum()


def test_bars_of_weighted_rows_are_order_statistics_of_the_null(binary):
    weights = np.random.default_rng(2).uniform(0.5, 3, 400)
    weighted = cs.Sample(binary.outcomes, binary.predictions.event, sample_weight=weights)
    display = cs.ReliabilityDisplay.compute(weighted, cs.EqualMass(8), coverage=0.5, rng=3)
    null = cs.Consistency(999).draw(cs.HistogramRegression(cs.EqualMass(8)), weighted, cs.as_generator(3))
    ordered = np.sort(null.samples[..., 1], axis=0)
    np.testing.assert_array_equal(display.low, ordered[249])
    np.testing.assert_array_equal(display.high, ordered[-250])
    with pytest.raises(ValueError, match=r"n_resamples is 9, too few .* take 19 or more"):
        cs.ReliabilityDisplay.compute(weighted, n_resamples=9, rng=0)
    cs.ReliabilityDisplay.compute(weighted, n_resamples=19, rng=0)


def test_nothing_is_drawn_without_weights(binary):
    one, other = (cs.ReliabilityDisplay.compute(binary, rng=seed, n_resamples=1) for seed in (0, 1))
    np.testing.assert_array_equal([one.low, one.high], [other.low, other.high])


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


def coverage_of_bars(n, binning, runs, *, weighted=False, power=1.0):
    """The share of bars that hold their points, and its standard error, over worlds with fixed seeds."""
    rng, inside = np.random.default_rng(7), []
    for seed in range(runs):
        p = rng.random(n)
        y = (rng.random(n) < p**power).astype(int)
        weights = rng.uniform(0.5, 2, n) if weighted else None
        sample = cs.Sample(y, p, sample_weight=weights)
        inside.append(np.mean(~cs.ReliabilityDisplay.compute(sample, binning, n_resamples=199, rng=seed).outside))
    return np.mean(inside), np.std(inside) / np.sqrt(runs)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_points_lie_in_their_bars_as_often_as_said_or_more(weighted):
    """200 runs; cells of ten rows, where one event is much, and of forty."""
    for n_bins in (40, 10):
        rate, error = coverage_of_bars(400, cs.EqualMass(n_bins), 200, weighted=weighted)
        assert rate > 0.9 - 4 * error
        assert rate < 0.99


def test_negative_control_points_of_a_model_that_is_off_lie_in_their_bars_less_often():
    rate, error = coverage_of_bars(400, cs.EqualMass(10), 50, power=2.0)
    assert rate < 0.9 - 4 * error


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
