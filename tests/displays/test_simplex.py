"""Simplex diagrams: what is drawn is what was computed."""

from __future__ import annotations

from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba

import calibstat as cs
from calibstat.displays.simplex import SimplexDisplay, arrow_length, grid_cell, on_plane, tetrahedron
from displays.rendered import assert_readable
from validity.worlds import dirichlet, draw_class

mpl.use("Agg")
NAMES = ["cat", "dog", "car"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def off():
    """Overconfident: chances are the predictions, flattened."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([0.8, 0.6, 0.7], 1500)
    chances = rows**0.6 / (rows**0.6).sum(axis=1, keepdims=True)
    return cs.Sample(np.array(NAMES)[draw_class(chances, rng)], rows, labels=NAMES)


def arrows(quiver):
    """Tails and heads of arrows: (m, 2) each."""
    tails = np.column_stack([quiver.X, quiver.Y])
    return tails, tails + np.column_stack([quiver.U, quiver.V])


@pytest.mark.parametrize("binning", [cs.SimplexGrid(4), cs.VarianceTree(100)], ids=repr)
def test_arrows_go_from_mean_predictions_to_frequencies_of_outcomes(off, binning):
    display = SimplexDisplay.from_sample(off, binning, rng=0)
    index = binning.cut(off.predictions).index
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    expected = {}
    for cell in np.unique(index):
        rows = index == cell
        tail = off.y_prob[rows].mean(axis=0) @ corners
        expected[tuple(tail.round(9))] = np.eye(3)[off.outcomes[rows]].mean(axis=0) @ corners
    found = {}
    for quiver in (display.arrows_, display.outside_):
        for tail, head in zip(*arrows(quiver), strict=True):
            found[tuple(tail.round(9))] = head
    assert found.keys() == expected.keys()
    for tail, head in found.items():
        np.testing.assert_allclose(head, expected[tail], atol=1e-9)


def test_shades_are_shares_of_rows_in_the_triangles_that_hold_them(off):
    display = SimplexDisplay.from_sample(off, cs.SimplexGrid(4), rng=0)
    shares, paths = display.cells_.get_array(), display.cells_.get_paths()
    assert len(paths) == len(shares) == 16
    places = on_plane(off.y_prob)
    for share, path in zip(shares, paths, strict=True):
        # a nearly certain row may lie on the outer line up to rounding
        assert path.contains_points(places, radius=1e-9).mean() == pytest.approx(share, abs=1.5 / len(off))
    assert shares.sum() == pytest.approx(1)
    assert display.cells_.get_clim() == (0.0, shares.max())


def test_triangles_of_a_grid_are_congruent_and_fill_the_simplex():
    n_bins = 3
    seen = {}
    for steps in product(range(60), repeat=2):
        first, second = (np.array(steps) + 0.31) / 60
        if first + second < 1:
            prediction = np.array([first, second, 1 - first - second])
            corners = grid_cell(prediction, n_bins)
            np.testing.assert_allclose(corners.sum(axis=1), 1, atol=1e-12)
            weights = np.linalg.solve(corners.T, prediction)
            assert (weights > -1e-9).all()  # it lies in its triangle
            seen[tuple(corners.ravel().round(9))] = corners
    assert len(seen) == n_bins**2
    areas = [abs(np.linalg.det(corners)) for corners in seen.values()]
    assert areas == pytest.approx([1 / n_bins**2] * n_bins**2)


def test_a_row_on_a_corner_of_the_grid_has_a_cell_of_its_own():
    corners = grid_cell(np.full(3, 1 / 3), 3)
    np.testing.assert_allclose(corners, 1 / 3)
    sample = cs.Sample([0, 1, 2], [[1 / 3] * 3, [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
    assert len(SimplexDisplay.from_sample(sample, cs.SimplexGrid(3), rng=0).cells_.get_paths()) == 3


def test_limits_are_those_of_the_largest_of_all_standardised_lengths(off):
    display = SimplexDisplay.compute(off, cs.SimplexGrid(3), n_resamples=199, coverage=0.9, rng=3)
    null = cs.Consistency(199).draw(cs.HistogramRegression(cs.SimplexGrid(3)), off, cs.as_generator(3))
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
    lengths = np.array([[float(np.hypot(*(gap @ corners))) for gap in draw] for draw in null.samples])
    scale = np.sqrt(np.mean(lengths**2, axis=0))
    largest = sorted(max(row / scale) for row in lengths)
    np.testing.assert_allclose(display.cells["limit"], scale * largest[-20], rtol=1e-12)
    np.testing.assert_array_equal(display.outside, display.cells["length"].values > display.cells["limit"].values)


def test_arrows_are_as_long_as_their_deviations():
    """The distance of two corners is one, so it is the Euclidean distance of vectors over the root of two."""
    gaps = np.random.default_rng(1).normal(size=(5, 3))
    gaps -= gaps.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(arrow_length(gaps), np.sqrt((gaps**2).sum(axis=1) / 2), rtol=1e-12)


def rate_outside(runs, noise=0.0, weighted=False):
    """The share of runs with an arrow longer than noise, and its standard error, over worlds with a fixed seed."""
    rng, found = np.random.default_rng(7), []
    for _ in range(runs):
        sample = dirichlet(300, rng, noise=noise)
        if weighted:
            sample = cs.Sample(sample.y_true, sample.y_prob, labels=range(3), sample_weight=rng.uniform(0.5, 2, 300))
        found.append(SimplexDisplay.compute(sample, cs.SimplexGrid(2), n_resamples=99, rng=rng).outside.any())
    return np.mean(found), np.std(found) / np.sqrt(runs)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_an_arrow_of_a_calibrated_model_is_marked_as_often_as_said_or_less(weighted):
    """400 runs, four cells of 75 rows; lengths of unweighted rows have ties, and weighted ones have none."""
    rate, error = rate_outside(400, weighted=weighted)
    assert rate < 0.1 + 4 * error
    assert rate > 0.1 - 4 * error


def test_negative_control_arrows_of_a_model_that_is_off_are_marked_more_often():
    rate, error = rate_outside(40, noise=0.3)
    assert rate > 0.1 + 4 * error


def test_arrows_outside_have_another_colour_and_the_legend_says_what_it_means(off):
    display = SimplexDisplay.from_sample(off, cs.SimplexGrid(4), rng=0)
    assert display.outside.any()
    assert not display.outside.all()
    assert len(display.outside_.U) == display.outside.sum()
    assert len(display.arrows_.U) == (~display.outside).sum()
    colours = [tuple(quiver.get_facecolor()[0]) for quiver in (display.arrows_, display.outside_)]
    assert colours[0] != colours[1]
    legend = display.ax_.get_legend()
    assert [to_rgba(line.get_color()) for line in legend.get_lines()] == colours
    assert "more than noise" in legend.get_texts()[1].get_text()
    assert "in 90 % of draws or more, all cells together" in display.caption


def test_none_is_marked_where_none_is_outside():
    rows = np.repeat([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]], 50, axis=0)
    labels = np.tile([0, 0, 0, 1, 2, 0, 0, 0, 1, 2], 5).tolist() + np.tile([2, 2, 2, 1, 0, 2, 2, 2, 1, 0], 5).tolist()
    display = SimplexDisplay.from_sample(cs.Sample(labels, rows), cs.SimplexGrid(2), rng=0)
    np.testing.assert_allclose(display.cells["length"], 0, atol=1e-12)
    assert display.outside_ is None
    assert "more than noise" not in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "no evidence of miscalibration" in " ".join(text.get_text() for text in display.ax_.texts)


def test_all_may_be_outside():
    rows = np.repeat([[0.9, 0.05, 0.05]], 200, axis=0)
    display = SimplexDisplay.from_sample(cs.Sample(np.arange(200) % 3, rows), cs.SimplexGrid(2), rng=0)
    assert display.outside.all()
    assert len(display.arrows_.U) == 0
    display.figure_.canvas.draw()


def test_the_table_needs_no_picture(off):
    display = SimplexDisplay.compute(off, cs.SimplexGrid(3), rng=0)
    assert plt.get_fignums() == []
    assert not hasattr(display, "arrows_")
    table = display.cells[["proportion", "count", "length", "limit", "outside"]].to_dataframe()
    assert len(table) == 9
    assert table["count"].sum() == 1500
    cells = cs.HistogramRegression(cs.SimplexGrid(3))(off)
    np.testing.assert_array_equal(display.cells["deviation"], cells["deviation"])


def test_weights_count(off):
    weights = np.random.default_rng(2).uniform(0.5, 3, len(off))
    display = SimplexDisplay.from_predictions(
        off.y_true, off.y_prob, cs.SimplexGrid(3), labels=NAMES, sample_weight=weights, rng=0
    )
    index = cs.SimplexGrid(3).cut(off.predictions).index
    for cell in range(9):
        rows = index == cell
        np.testing.assert_allclose(
            display.mean_prediction[cell], np.average(off.y_prob[rows], axis=0, weights=weights[rows])
        )
        assert display.proportion[cell] == pytest.approx(weights[rows].sum() / weights.sum())


def test_corners_have_the_names_of_the_classes(off):
    display = SimplexDisplay.from_sample(off, rng=0)
    texts = {text.get_text(): text.xy for text in display.ax_.texts}
    for name, corner in zip(NAMES, [(0, 0), (1, 0), (0.5, np.sqrt(0.75))], strict=True):
        assert texts[name] == pytest.approx(corner)


def test_more_classes_are_put_together_by_a_lens():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(5), 600)
    sample = cs.Sample(draw_class(rows, rng), rows, labels=range(5))
    with pytest.raises(ValueError, match=r"predictions of 3 or 4 classes, got 5.*Partition"):
        SimplexDisplay.from_sample(sample)
    lens = cs.Partition([[0, 1], [2], [3, 4]])
    display = SimplexDisplay.from_sample(sample, cs.SimplexGrid(3), lens=lens, rng=0)
    np.testing.assert_array_equal(
        display.cells["deviation"], (lens | cs.HistogramRegression(cs.SimplexGrid(3)))(sample)["deviation"]
    )
    assert "Partition" in display.caption


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coverage": 1.0}, "coverage is 1.0"),
        ({"n_resamples": 8}, r"n_resamples is 8, too few .* take 9 or more"),
        ({"lens": cs.TopLabel()}, r"got 2 through TopLabel\(\): .*ReliabilityDisplay"),
        ({"lens": cs.Region.between("car", 2, 3)}, "no row is left"),
    ],
)
def test_what_cannot_be_shown_is_refused(off, options, words):
    with pytest.raises(ValueError, match=words):
        SimplexDisplay.from_sample(off, **options)
    SimplexDisplay.compute(off, n_resamples=9)


def test_two_classes_are_shown_elsewhere():
    sample = cs.Sample([0, 1, 1], [0.2, 0.6, 0.7])
    with pytest.raises(ValueError, match=r"got 2 through Canonical\(\): .*ReliabilityDisplay") as raised:
        SimplexDisplay.from_sample(sample)
    assert "Partition" not in str(raised.value)


@pytest.mark.parametrize("names", [("age",), ("age", ...), (..., "age"), ("age", "sex")], ids=str)
@pytest.mark.parametrize("before", [False, True])
def test_it_shows_predictions_and_not_variables(names, before):
    variables = {"age": [20.0, 30.0, 40.0], "sex": ["f", "m", "f"]}
    sample, lens = cs.Sample([0, 1, 2], np.eye(3), variables=variables), cs.Given(*names)
    with pytest.raises(ValueError, match=r"shows predictions, not variables, .*'age'") as raised:
        SimplexDisplay.from_sample(*((lens(sample),) if before else (sample,)), **({} if before else {"lens": lens}))
    assert ("'sex'" in str(raised.value)) == ("sex" in names)
    assert "Ellipsis" not in str(raised.value)
    assert "got 3" not in str(raised.value)


def test_something_else_than_a_sample_or_a_lens_is_refused(off):
    with pytest.raises(TypeError, match="sample is of type ndarray, but a Sample is expected"):
        SimplexDisplay.from_sample(off.y_prob)
    with pytest.raises(TypeError, match="lens is of type str, but a lens is expected"):
        SimplexDisplay.from_sample(off, lens="top")


def test_no_figure_is_made_when_axes_are_given(off, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a window would open"))
    figure = mpl.figure.Figure()
    ax = figure.subplots()
    display = SimplexDisplay.from_sample(off, ax=ax, rng=0, name="mine", color="black")
    assert plt.get_fignums() == []
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.ax_.get_title(loc="left") == "mine"
    assert tuple(display.arrows_.get_facecolor()[0]) == to_rgba("black")
    before = mpl.rcParams.copy()
    assert display.plot() is display
    assert len(plt.get_fignums()) == 1
    assert mpl.rcParams == before


def test_from_estimator_is_named_after_it(off):
    class Coin:
        classes_ = np.array(NAMES)

        def predict_proba(self, X):
            return X

    display = SimplexDisplay.from_estimator(Coin(), off.y_prob, off.y_true, rng=0)
    assert display.ax_.get_title(loc="left") == "Coin"


def test_a_zoom_shows_the_corner_in_the_size_of_the_whole(off):
    corner = SimplexDisplay.compute(off, cs.VarianceTree(60), rng=0).plot(zoom=("dog", 0.6))
    there = corner.mean_prediction[:, 1] >= 0.6
    assert 0 < corner.outside[there].sum() < there.sum()
    for outside, drawn in ((False, corner.arrows_), (True, corner.outside_)):
        chosen = there & (corner.outside == outside)
        for means, after in zip((corner.mean_prediction, corner.mean_outcome), arrows(drawn), strict=True):
            np.testing.assert_allclose(after, (on_plane(means[chosen]) - [0.6, 0]) / 0.4, atol=1e-12)
    assert f"of {there.sum()} cells here" in corner.ax_.texts[-1].get_text()
    words = " ".join(text.get_text() for text in corner.ax_.texts)
    assert "dog 60 %\ncat 40 %" in words
    low, high = corner.ax_.get_xlim()
    assert -0.5 < low < 0 < 1 < high < 1.5


@pytest.mark.parametrize("zoom", [("bird", 0.9), "dog", ("dog", 1.2), ("dog", 0.9999)])
def test_a_zoom_to_no_corner_is_refused(off, zoom):
    with pytest.raises(ValueError, match="zoom"):
        SimplexDisplay.compute(off, n_resamples=99, rng=0).plot(zoom=zoom)


@pytest.fixture(scope="module")
def four():
    rng = np.random.default_rng(5)
    rows = rng.dirichlet([0.8, 0.6, 0.7, 0.9], 1200)
    chances = rows**0.6 / (rows**0.6).sum(axis=1, keepdims=True)
    return cs.Sample(draw_class(chances, rng), rows, labels=range(4))


def test_four_classes_are_a_tetrahedron_from_two_sides_and_its_faces(four):
    display = SimplexDisplay.from_sample(four, cs.SimplexGrid(3), rng=0, n_resamples=99, name="four")
    assert len(display.outside_.U) == 3 * display.outside.sum()
    frames = tetrahedron(display.labels)
    tails = display.mean_prediction
    for each in (display.arrows_, display.outside_):
        chosen = display.outside if each is display.outside_ else ~display.outside
        begin, end = arrows(each)
        places = [
            frame.place(values[chosen], tails[chosen]) for values in (tails, display.mean_outcome) for frame in frames
        ]
        np.testing.assert_allclose(begin, np.concatenate(places[:3]), atol=1e-12)
        np.testing.assert_allclose(end, np.concatenate(places[3:]), atol=1e-12)
    with pytest.raises(ValueError, match="3 classes"):
        display.plot(zoom=(0, 0.9))


def test_the_two_sides_show_all_of_a_tetrahedron_of_side_one():
    """Two views along axes of a cube: three coordinates, one of them twice."""
    one, other, _ = tetrahedron("abcd")
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 30)
    flat = np.column_stack([one.place(rows, rows), other.place(rows, rows)[:, 1]])
    for i in range(30):
        lengths = np.sqrt(((flat - flat[i]) ** 2).sum(axis=1))
        np.testing.assert_allclose(lengths, arrow_length(rows - rows[i]), atol=1e-12)


def test_faces_are_unfolded_without_stretching():
    """Each row lies on the face of its three most probable classes; what lies on a face stays as far apart."""
    net = tetrahedron("abcd")[2]
    for out in range(4):
        rows = np.insert(np.random.default_rng(out).dirichlet(np.ones(3), 20), out, 0.0, axis=1)
        places = net.place(rows, rows)
        lengths = np.hypot(*(places - places[0]).T)
        np.testing.assert_allclose(lengths, arrow_length(rows - rows[0]), atol=1e-12)
        # a row above the face lies at its foot
        above = rows * 0.9 + 0.1 * np.eye(4)[out]
        foot = rows * 0.9 + 0.1 / 3 * (1 - np.eye(4)[out])
        np.testing.assert_allclose(net.place(above, rows), net.place(foot, rows), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 4.9), (10, 5.6)])
def test_it_is_readable(off, four, size):
    grid, tree = cs.SimplexGrid(3), cs.VarianceTree(60, "median")
    for sample, binning, zoom in ((off, grid, None), (off, tree, None), (off, tree, ("dog", 0.7)), (four, grid, None)):
        _, ax = plt.subplots(figsize=size, layout="constrained")
        display = SimplexDisplay.compute(sample, binning, rng=0, n_resamples=99, name="a model with a name")
        assert_readable(display.plot(ax, zoom=zoom).figure_)
