"""Reliability diagrams: what is drawn is what was computed."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import calibstat as cs
from calibstat.displays._probability_axis import ProbabilityTicks, ends
from calibstat.displays._style import BEYOND
from displays.rendered import assert_readable
from suites import slow_but

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
def drawn(binary):
    """A picture to look at, which nothing is added to."""
    return cs.ReliabilityDisplay.from_sample(binary, rng=0)


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
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(6), rng=0, kind="deviation")
    out = (display.deviation < display.all_low) | (display.deviation > display.all_high)
    assert display.outside.sum() > out.sum() > 0
    assert f"({out.sum()}) are beyond noise" in display.caption
    assert "beyond noise (" in display.answer.lines[1]
    np.testing.assert_allclose(display.outside_.get_ydata(), display.deviation[out])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "more than noise, all cells" in labels


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


def test_bars_of_all_cells_hold_together_as_often_as_said():
    rng = np.random.default_rng(1)
    p = np.repeat([0.1, 0.3, 0.5, 0.8], 20)
    display = cs.ReliabilityDisplay.compute(cs.Sample((rng.random(80) < p).astype(int), p), cs.UniqueValues())
    events = np.arange(21)
    held = [
        stats.binom.pmf(events, 20, q)[(events / 20 - q >= low - 1e-9) & (events / 20 - q <= high + 1e-9)].sum()
        for q, low, high in zip([0.1, 0.3, 0.5, 0.8], display.all_low, display.all_high, strict=True)
    ]
    assert 0.95 <= np.prod(held) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_one_calibrated_picture_in_twenty_shows_any_point_in_the_strong_colour(weighted):
    rng, runs, shown, outside, off = np.random.default_rng(5), 400, 0, 0, 0
    for seed in range(runs):
        p = rng.beta(0.6, 2, 900)
        weights = rng.uniform(0.5, 2, 900) if weighted else None
        fair, wrong = (
            cs.Sample((rng.random(900) < p**power).astype(int), p, sample_weight=weights) for power in (1, 1.5)
        )
        display = cs.ReliabilityDisplay.compute(fair, n_resamples=199, rng=seed)
        shown, outside = shown + display.beyond.any(), outside + display.outside.any()
        off += seed < 50 and cs.ReliabilityDisplay.compute(wrong, n_resamples=199, rng=seed).beyond.any()
    assert shown / runs <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)
    assert outside / runs > 0.5
    assert off / 50 > 0.05 + 4 * np.sqrt(0.05 * 0.95 / 50)


def test_models_within_noise_are_not_said_to_be_beyond_it():
    y, p = np.tile([0, 1, 0, 1, 1, 0, 0, 1], 50), np.tile([0.25, 0.75], 200)
    samples = {name: cs.Sample(y, np.clip(p + shift, 0, 1)) for name, shift in {"a": 0, "b": 0.01, "c": -0.01}.items()}
    display = cs.ReliabilityDisplay.from_samples(samples, cs.UniqueValues())
    assert display.ax_.texts[0].get_text().startswith("none is beyond noise")
    steep = cs.generators.BetaPredictions(1, 1, recalibration=cs.generators.Slope(0.6)).sample(3000, rng=0)
    lines = cs.ReliabilityDisplay.compute(steep).answer.lines
    assert lines[0].endswith("no bias beyond noise")
    assert "beyond noise (" in lines[1]


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
    shown = []
    monkeypatch.setattr(plt, "show", lambda *_, **__: shown.append("a window"))
    monkeypatch.setattr(mpl.figure.Figure, "show", lambda *_, **__: shown.append("a window"))
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0)
    assert plt.get_fignums() == [display.figure_.number]
    assert not shown


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
    assert display.ax_.get_xlabel() == "confidence"
    assert "TopLabel()" in display.caption


def test_given_a_number_cells_lie_at_its_means(binary):
    lens = cs.TopLabel() | cs.Given("age")
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(4), lens=lens, rng=0, kind="deviation")
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


def test_from_predictions_and_from_sample_agree(binary, drawn):
    other = cs.ReliabilityDisplay.from_predictions(binary.outcomes, binary.predictions.event, rng=0)
    np.testing.assert_array_equal(drawn.line_.get_xydata(), other.line_.get_xydata())
    np.testing.assert_array_equal(drawn.low, other.low)


def test_from_estimator_is_named_after_it(binary):
    class Coin:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    display = cs.ReliabilityDisplay.from_estimator(Coin(), binary.predictions.event, binary.outcomes, rng=0)
    assert display.ax_.get_title("left") == "Coin"
    np.testing.assert_allclose(display.deviation, cs.ReliabilityDisplay.compute(binary, rng=0).deviation)


def test_options_go_to_the_points(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0, color="black", marker="s", name="mine")
    assert display.line_.get_color() == "black"
    assert display.line_.get_marker() == "s"
    assert display.ax_.get_title("left") == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coverage": 1.0}, "coverage is 1.0"),
        ({"kind": "bar"}, "'bar'"),
        ({"scale": "log"}, "'log'"),
        ({"interval": "wald"}, "'wald'"),
    ],
)
def test_bad_options(binary, options, words):
    with pytest.raises(ValueError, match=words):
        cs.ReliabilityDisplay.from_sample(binary, **options)


def test_side_by_side_has_one_scale(binary):
    p = binary.predictions.event
    displays = [
        cs.ReliabilityDisplay.compute(sample, cs.EqualMass(5), rng=0, name=name)
        for name, sample in {"raw": binary, "squared": cs.Sample(binary.outcomes, p**2)}.items()
    ]
    figure = cs.side_by_side(displays, "both", kind="deviation")
    first, second = (display.ax_ for display in displays)
    assert plt.get_fignums() == []
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlim() == second.get_xlim()
    assert [first.get_title("left"), second.get_title("left"), figure.get_suptitle()] == ["raw", "squared", "both"]
    for display in displays:
        low, high = first.get_ylim()
        assert ((display.deviation > low) & (display.deviation < high)).all()


# The logit scale.


def crowded(n=2000, seed=3):
    """Confidences near 1, some exactly 1, of a model that is too sure."""
    rng = np.random.default_rng(seed)
    confidence = 1 - rng.beta(0.4, 8, n)
    return cs.Sample.from_confidence(rng.random(n) < confidence**1.5, np.where(confidence > 0.9999, 1.0, confidence))


def test_predictions_that_crowd_have_a_logit_scale(binary, drawn):
    assert cs.ReliabilityDisplay.from_sample(crowded(), rng=0).ax_.get_xscale() == "logit"
    assert drawn.ax_.get_xscale() == "linear"
    chosen = cs.ReliabilityDisplay.from_sample(binary, rng=0, scale="logit", kind="deviation").ax_
    assert (chosen.get_xscale(), chosen.get_yscale()) == ("logit", "linear")


def test_the_diagonal_and_the_data_are_right_on_a_logit_scale():
    """The line of calibration holds every point whose mean outcome is its mean prediction."""
    display = cs.ReliabilityDisplay.from_sample(crowded(), cs.EqualMass(8), rng=0, scale="logit")
    diagonal = next(line for line in display.ax_.get_lines() if line.get_zorder() == 1)
    on_page = display.ax_.transData.transform(diagonal.get_xydata())
    middle = display.ax_.transData.transform([[0.9, 0.9], [0.99, 0.99]])
    slope = np.diff(on_page, axis=0)[0]
    for point in middle - on_page[0]:
        assert abs(np.cross(np.append(slope, 0), np.append(point, 0))[2]) < 1e-6 * np.linalg.norm(slope) ** 2
    inside = (display.mean_outcome > 0) & (display.mean_outcome < 1)
    np.testing.assert_allclose(display.line_.get_ydata()[inside], display.mean_outcome[inside])


def test_values_at_0_and_1_are_drawn_at_the_edge_and_marked():
    p = np.repeat([0.0, 0.02, 0.97, 1.0], 50)
    sample = cs.Sample(np.repeat([0, 0, 1, 1], 50), p)
    display = cs.ReliabilityDisplay.from_sample(sample, cs.UniqueValues(), scale="logit", rng=0)
    x, y = display.line_.get_data()
    assert len(x) == 4
    low, high = display.ax_.get_xlim()
    assert (low < x).all()
    assert (x < high).all()
    assert (y[:2] < 0.02).all()
    assert (y[2:] > 0.97).all()
    assert display.clipped_ is not None
    np.testing.assert_array_equal(display.mean_outcome, [0, 0, 1, 1])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "beyond the edge" in labels
    assert cs.ReliabilityDisplay.from_sample(sample, cs.UniqueValues(), scale="linear", rng=0).clipped_ is None


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_predictions_that_are_all_0_or_all_1_are_drawn_at_the_edge(p):
    sample = cs.Sample([0, 1] * 20, np.full(40, p))
    display = cs.ReliabilityDisplay.from_sample(sample, cs.EqualMass(1), scale="logit", rng=0)
    low, high = display.ax_.get_xlim()
    assert low < display.line_.get_xdata()[0] < high
    assert "too low" in display.answer.lines[0] or "too high" in display.answer.lines[0]


def test_an_edge_is_no_nearer_than_a_row_can_tell():
    values = [np.array([1e-6, 0.5, 0.999])]
    assert ends(values, "logit", 100) == (0.002, 0.998)
    assert ends(values, "logit", 10_000) == (1e-4, 1 - 5e-4)
    assert ends(values, "linear", 100) == (0.0, 1.0)


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (0.3, 0.999), (1e-5, 0.2), (0.01, 0.99999)])
def test_ticks_of_a_logit_axis_lie_inside_and_apart(low, high):
    ticks = np.array(ProbabilityTicks("logit", low, high).tick_values(low, high))
    assert len(ticks) >= 2
    assert ((ticks >= low) & (ticks <= high)).all()
    assert (np.diff(np.log(ticks / (1 - ticks))) > 0.2).all()


# The answer above, the interval and the counts.


def test_the_answer_is_that_of_the_estimators(binary):
    display = cs.ReliabilityDisplay.compute(binary, cs.EqualMass(8))
    answer, test = display.answer, cs.calibration_test(binary, cs.ECE(cs.EqualMass(8)), rng=0)
    assert answer.error == pytest.approx(test.statistic, abs=1e-12)
    assert answer.noise == pytest.approx(test.null_mean, rel=1e-9)
    assert answer.claimed == pytest.approx(binary.predictions.event.mean())
    assert answer.happened == pytest.approx(binary.outcomes.mean())
    assert answer.lines[0].endswith("too high")


@pytest.mark.slow
def test_the_words_speak_of_noise_where_it_may_be_all():
    """In 200 calibrated worlds the word for a direction appears in at most about 5 %; the negative control has it."""
    rng, named = np.random.default_rng(5), 0
    for _ in range(200):
        p = rng.random(40)
        answer = cs.ReliabilityDisplay.compute(cs.Sample((rng.random(40) < p).astype(int), p), cs.EqualMass(2)).answer
        named += answer.word != "no bias beyond noise"
    assert named <= 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)
    p = rng.random(400)
    off = cs.ReliabilityDisplay.compute(cs.Sample((rng.random(400) < p**2).astype(int), p)).answer
    assert off.word == "too high"


def test_the_answer_with_weights_agrees_with_the_one_without(binary):
    weighted = cs.Sample(binary.outcomes, binary.predictions.event, sample_weight=np.full(400, 2.0))
    one, other = (cs.ReliabilityDisplay.compute(each, cs.EqualMass(8), rng=0).answer for each in (binary, weighted))
    assert other.error == pytest.approx(one.error)
    assert other.noise == pytest.approx(one.noise, rel=0.06)
    assert (one.pvalue < 0.05) == (other.pvalue < 0.05)


def test_wilson_intervals_are_those_of_scipy(binary, drawn):
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(8), interval="wilson", rng=0)
    for k, segment in enumerate(display.intervals_.get_segments()):
        n = int(display.count[k])
        events = round(display.mean_outcome[k] * n)
        found = stats.binomtest(events, n).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose(segment[:, 1], [found.low, found.high], atol=1e-10)
    assert drawn.intervals_ is None


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_the_strip_holds_all_rows(scale):
    sample = crowded()
    display = cs.ReliabilityDisplay.from_sample(sample, scale=scale, rng=0)
    (stairs,) = display.counts_ax_.patches
    shares, edges, _ = stairs.get_data()
    assert shares.sum() == pytest.approx(1)
    p = np.clip(sample.predictions.event, edges[0], edges[-1])
    middle = (edges[:-1] + edges[1:]) / 2
    at = 30
    inside = (p > edges[at]) & (p < edges[at + 1])
    assert shares[at] == pytest.approx(inside.mean(), abs=1.5 / len(p)), middle[at]
    assert display.counts_ax_.get_xlim() == display.ax_.get_xlim()


def test_given_a_variable_both_means_are_drawn_against_it(binary):
    lens = cs.Given("age")
    display = cs.ReliabilityDisplay.from_sample(binary, cs.EqualMass(4), lens=lens, rng=0)
    index, age = cs.EqualMass(4).cut(lens(binary).predictions).index, binary.predictions.variables["age"].values
    claims = next(line for line in display.ax_.get_lines() if line.get_label() == "mean prediction")
    for line, values in ((display.line_, binary.outcomes), (claims, binary.predictions.event)):
        np.testing.assert_allclose(line.get_xdata(), [age[index == k].mean() for k in range(4)])
        np.testing.assert_allclose(line.get_ydata(), [values[index == k].mean() for k in range(4)])
    assert display.answer.quantity == "VECE"


# Curves.


def test_curves_are_drawn_as_computed(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0)
    isotonic = cs.IsotonicCurve()(binary)
    drawn = next(line for line in display.ax_.get_lines() if line.get_label() == "isotonic curve")
    np.testing.assert_allclose(np.interp(isotonic.prediction, *drawn.get_data()), isotonic.recalibrated, atol=1e-12)
    local = cs.LOESS(n_points=20)(binary)
    display.add_curve(cs.LOESS(n_points=20)).add_curve(cs.CalibrationBelt(), label="a belt")
    smooth = next(line for line in display.ax_.get_lines() if line.get_label() == "LOESS, 95 %")
    np.testing.assert_allclose(smooth.get_data(), [local.x, local.outcome])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[-3:] == ["isotonic curve", "LOESS, 95 %", "a belt"]
    assert "local regression" in display.caption


def test_the_truth_of_a_world_is_its_calibration_function():
    world = cs.generators.BetaPredictions(1, 1, recalibration=cs.generators.Slope(0.6))
    display = cs.ReliabilityDisplay.from_sample(world.sample(300, rng=0), rng=0).add_curve(world)
    truth = next(line for line in display.ax_.get_lines() if line.get_label() == "truth")
    np.testing.assert_allclose(truth.get_ydata(), world.calibration_function(truth.get_xdata()), atol=1e-9)


@pytest.mark.parametrize("curve", [cs.IsotonicCurve(), cs.LOESS(), cs.CalibrationBelt()])
def test_a_curve_is_a_picture_of_its_own(binary, curve):
    found = curve(binary)
    display = found.plot(name="a model")
    assert isinstance(display, cs.ReliabilityDisplay)
    (handle,) = display._handles
    drawn = next(line for line in display.ax_.get_lines() if line.get_color() == handle.get_color())
    places = found.to_frame().iloc[:, 0]
    assert places.min() <= min(drawn.get_xdata()) <= max(drawn.get_xdata()) <= places.max()
    assert display.counts_ax_.patches[0].get_data().values.any() == isinstance(curve, cs.IsotonicCurve)
    assert ("The strip" in display.caption) == isinstance(curve, cs.IsotonicCurve)
    assert_readable(display.figure_)


@pytest.mark.parametrize(("power", "leaves"), [(1.0, False), (2.5, True)])
def test_the_diagonal_is_strong_where_it_leaves_a_band(power, leaves):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    band = cs.calibration_band(cs.Sample((rng.random(400) < p**power).astype(int), p))
    assert band.rejects_calibration == leaves
    strong = [line for line in band.plot().ax_.get_lines() if line.get_color() == BEYOND]
    assert np.isfinite(strong[0].get_ydata()).any() == leaves


def test_rows_at_0_and_1_lie_below_their_points_on_a_logit_scale():
    p, y = np.repeat([0.0, 1.0], 100), np.r_[np.arange(100) < 2, np.arange(100) < 97].astype(int)
    display = cs.ReliabilityDisplay.from_sample(cs.Sample(y, p), cs.UniqueValues(), rng=0)
    found = display.counts_ax_.patches[0].get_data()
    held = np.flatnonzero(found.values)
    for bar, x in zip(held, display.line_.get_xdata(), strict=True):
        assert found.edges[bar] <= x * (1 + 1e-9)
        assert x <= found.edges[bar + 1] * (1 + 1e-9)
    curve = next(line for line in display.ax_.get_lines() if line.get_label() == "isotonic curve")
    np.testing.assert_allclose(curve.get_xdata()[[0, -1]], display.line_.get_xdata())


def test_an_isotonic_curve_is_drawn_once(binary):
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0).add_curve(cs.IsotonicCurve())
    assert [each.get_label() for each in display._handles].count("isotonic curve") == 1


def test_a_curve_over_a_variable_is_drawn_elsewhere(binary):
    with pytest.raises(ValueError, match=r"over a variable; VariableDisplay\.from_sample"):
        (cs.Given("age") | cs.LOESS())(binary).plot()
    with pytest.raises(TypeError, match="CalibrationBand or of the value of IsotonicCurve"):
        cs.ReliabilityDisplay.from_result(3)


def test_a_band_lies_under_the_cells_and_is_a_picture_of_its_own(binary):
    band = cs.calibration_band(binary)
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0).add_curve(band)
    assert "band, 95 %" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    alone = band.plot()
    (drawn,) = alone.ax_.collections[-1:]
    assert alone.count.size == 0
    low, high = drawn.get_paths()[0].vertices[:, 1].min(), drawn.get_paths()[0].vertices[:, 1].max()
    assert low == pytest.approx(band.lower[0] if band.lower[0] == 0 else 0.0, abs=1e-9)
    assert high == pytest.approx(1.0, abs=1e-9)
    assert "95 % band" in alone.ax_.texts[0].get_text()


@pytest.mark.parametrize(
    ("curve", "error", "words"),
    [
        (3, TypeError, "a curve is a int; pass an IsotonicCurve"),
        (cs.CalibrationBelt(), ValueError, "function of the prediction"),
        (cs.IsotonicCurve(), ValueError, "add LOESS"),
    ],
)
def test_other_curves_are_refused(binary, curve, error, words):
    lens = cs.Given("age") if isinstance(curve, cs.IsotonicCurve) else cs.Canonical()
    display = cs.ReliabilityDisplay.compute(binary, cs.EqualMass(4), lens=lens)
    if isinstance(curve, cs.CalibrationBelt):
        display = cs.ReliabilityDisplay.compute(binary, cs.EqualMass(4), lens=cs.Given("age"))
        curve = curve(binary)
    with pytest.raises(error, match=words):
        display.add_curve(curve)


# Several models, and several axes.


def test_several_models_have_one_legend_and_their_own_looks(binary):
    p = binary.predictions.event
    samples = {"raw": binary, "squared": cs.Sample(binary.outcomes, p**2)}
    display = cs.ReliabilityDisplay.from_samples(samples, cs.EqualMass(5), rng=0, name="Two models")
    first, second = display.lines_
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    np.testing.assert_allclose(second.get_xdata(), display.beside[0].mean_prediction)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels[:2]] == ["raw", "squared"]
    assert display.ax_.get_title("left") == "Two models"
    assert display.plot(plt.subplots()[1]).ax_.get_title("left") == "Two models"
    assert "furthest beyond noise: raw" in display.ax_.texts[0].get_text()
    assert "squared" in display.caption


@pytest.mark.parametrize(
    ("samples", "error", "words"),
    [([1], TypeError, "a list; pass a sample for each name"), ({}, ValueError, "0 models, but from 1 to 8")],
)
def test_models_are_a_mapping(samples, error, words):
    with pytest.raises(error, match=words):
        cs.ReliabilityDisplay.from_samples(samples)


def test_classes_have_a_diagram_each(many):
    displays = cs.ReliabilityDisplay.of_classes(many, cs.EqualMass(5), classes=[0, 2])
    assert [display.name for display in displays] == ["0", "2"]
    cells = (cs.ClassWise(2) | cs.HistogramRegression(cs.EqualMass(5)))(many).isel(label=1)
    np.testing.assert_allclose(displays[1].mean_outcome, cells["mean_outcome"])
    figure = cs.side_by_side(cs.ReliabilityDisplay.of_classes(many, cs.EqualMass(5)), "Four classes")
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert len(figure.legends) == 1
    with pytest.raises(ValueError, match="no display"):
        cs.side_by_side([])


def test_many_classes_must_be_named():
    rng = np.random.default_rng(0)
    sample = cs.Sample(rng.integers(0, 30, 60), rng.dirichlet(np.ones(30), 60), labels=range(30))
    with pytest.raises(ValueError, match=r"30 classes.* classes=\[0, 1, 2\]"):
        cs.ReliabilityDisplay.of_classes(sample)


# What a reader sees.


def hard_cases():
    rng = np.random.default_rng(4)
    p = rng.beta(0.3, 30, 5000)
    few = rng.uniform(0.3, 0.7, 60)
    groups = rng.choice(["a group with a long name", "another one", "the third", "the rest of them"], 5000)
    variables = {"where they live": groups, "time since the first visit": rng.lognormal(size=5000)}
    return {
        "crowded": (crowded(), {}),
        "rare": (cs.Sample((rng.random(5000) < 1.5 * p).astype(int), p), {}),
        "few": (cs.Sample((rng.random(60) < few).astype(int), few), {"binning": cs.EqualMass(5)}),
        "categories": (
            cs.Sample((rng.random(5000) < p).astype(int), p, variables=variables),
            {"binning": cs.Categories(), "lens": cs.Given("where they live")},
        ),
        "variable": (
            cs.Sample((rng.random(5000) < p).astype(int), p, variables=variables),
            {"lens": cs.Given("time since the first visit")},
        ),
        "zeros and ones": (
            cs.Sample([0, 1] * 40, [0.0, 1.0] * 40),
            {"binning": cs.UniqueValues()},
        ),
    }


COLUMN, SLIDE = (3.3, 4.0), (9.6, 5.4)
CASES = ["crowded", "rare", "few", "categories", "variable", "zeros and ones"]


@pytest.mark.parametrize(
    ("case", "size"),
    slow_but(
        [("crowded", COLUMN), ("categories", COLUMN)], [(case, size) for case in CASES for size in (COLUMN, SLIDE)]
    ),
)
def test_pictures_are_readable(case, size):
    sample, options = hard_cases()[case]
    figure = plt.figure(figsize=size, layout="constrained")
    display = cs.ReliabilityDisplay.from_sample(
        sample, ax=figure.subplots(), name="A <$50K model for $5", interval="wilson", rng=0, **options
    )
    assert_readable(figure)
    assert display.ax_.get_legend().get_window_extent().y1 <= display.ax_.get_window_extent().y0


@pytest.mark.slow
def test_curves_models_bands_and_classes_are_readable(binary, many):
    display = cs.ReliabilityDisplay.from_sample(binary, rng=0).add_curve(cs.LOESS()).add_curve(cs.CalibrationBelt())
    assert_readable(display.figure_)
    samples = {f"a model with a long name, number {k}": binary for k in range(8)}
    assert_readable(cs.ReliabilityDisplay.from_samples(samples, cs.EqualMass(5), rng=0, name="Eight").figure_)
    assert_readable(cs.calibration_band(binary).plot().figure_)
    assert_readable(cs.side_by_side(cs.ReliabilityDisplay.of_classes(many, cs.EqualMass(5)), "Four classes"))


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["constrained", "tight"])
def test_subplots_keep_all_words_to_themselves(layout, binary):
    figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout=layout)
    for ax, sample in zip(axes.flat, (crowded(), binary, crowded(300), binary), strict=True):
        display = cs.ReliabilityDisplay.from_sample(sample, ax=ax, name="A name of a model", rng=0)
    figure.canvas.draw()
    strip, ax = display.counts_ax_.get_window_extent(), display.ax_.get_window_extent()
    assert strip.y0 >= ax.y0 - 1
    assert strip.y1 <= ax.y1
    assert_readable(figure)


def test_words_stay_on_a_page_without_a_layout(binary):
    figure, ax = plt.subplots(figsize=(5, 4))
    cs.ReliabilityDisplay.from_sample(binary, ax=ax, rng=0, name="No layout")
    assert_readable(figure)
    figure.tight_layout()
    assert_readable(figure)


def test_letters_and_marks_grow_with_the_axes(binary):
    small, large = (cs.ReliabilityDisplay.compute(binary, cs.EqualMass(5)) for _ in range(2))
    for display, size in ((small, (3.3, 4.0)), (large, (9.6, 5.4))):
        display.plot(plt.figure(figsize=size, layout="constrained").subplots())
    assert 1.4 < large.ax_.xaxis.label.get_fontsize() / small.ax_.xaxis.label.get_fontsize() <= 1.5
    assert large.line_.get_markersize() > 1.4 * small.line_.get_markersize()


def test_models_share_the_scale_that_most_of_them_need(binary):
    one = {"a": binary, "b": binary, "c": cs.Sample(binary.outcomes, binary.predictions.event**12)}
    assert cs.ReliabilityDisplay.from_samples(one, rng=0).ax_.get_xscale() == "linear"


@pytest.mark.slow
def test_it_is_written_as_vectors(binary, tmp_path):
    display = cs.ReliabilityDisplay.compute(binary, rng=0)
    for suffix in ("pdf", "svg"):
        display.save(tmp_path / f"picture.{suffix}")
        assert (tmp_path / f"picture.{suffix}").stat().st_size > 1000
