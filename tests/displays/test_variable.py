"""Pictures along a variable: what is drawn is what was computed, and the answer says where it is worst."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba

import calibstat as cs
from calibstat.displays._style import BEYOND, INK
from displays.rendered import assert_readable

mpl.use("Agg")
QUICK = {"smoother": cs.LOESS(n_points=40), "n_resamples": 99, "rng": 0}
LONG = "number of years since the first visit to a hospital"


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def sample(n: int, shift: float, variable: str = "age", seed: int = 0) -> cs.Sample:
    """A model of two classes whose event happens more often, by `shift`, for the old, and less often for the young."""
    rng = np.random.default_rng(seed)
    p, age = rng.uniform(0.2, 0.8, n), rng.uniform(20, 80, n)
    return cs.Sample(rng.random(n) < p + shift * (age - 50) / 30, p, variables={variable: age})


@pytest.fixture(scope="module")
def off():
    return sample(600, 0.2)


def test_the_curves_are_those_of_loess(off):
    display = cs.VariableDisplay.from_sample(off, "age", lens=cs.Canonical(), **QUICK)
    curve = (cs.Given("age") | QUICK["smoother"])(off)
    np.testing.assert_allclose(display.line_.get_xydata(), np.column_stack([curve.x, curve.outcome]))
    np.testing.assert_allclose(display.predicted_.get_ydata(), curve.prediction)
    np.testing.assert_allclose([line.get_ydata() for line in display.band_], np.clip([curve.low, curve.high], 0, 1))
    assert display.worst_.get_xdata().tolist() == [curve.location] * 2
    assert abs(np.diff(display.worst_.get_ydata())[0]) == pytest.approx(curve.maximum)


def test_through_the_top_label_errors_are_drawn(off):
    display = cs.VariableDisplay.from_sample(off, "age", **QUICK)
    curve = (cs.TopLabel() | cs.Given("age") | QUICK["smoother"])(off)
    np.testing.assert_allclose(display.line_.get_ydata(), 1 - curve.outcome)
    np.testing.assert_allclose(display.predicted_.get_ydata(), 1 - curve.prediction)
    assert display.ax_.get_ylabel() == "share of errors"


def test_confidences_are_seen_through_the_top_label_already():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.2, 1.0, 500)  # some below 1/2, which the top label of two classes cannot have
    given = cs.Sample.from_confidence(
        rng.random(500) < confidence, confidence, variables={"age": rng.uniform(20, 80, 500)}
    )
    display = cs.VariableDisplay.compute(given, "age", **QUICK)
    assert display.errors
    np.testing.assert_allclose(display.curve.prediction, (cs.Given("age") | QUICK["smoother"])(given).prediction)


def test_the_worst_place_is_strong_only_beyond_noise(off):
    beyond, within = (
        cs.VariableDisplay.from_sample(each, "age", lens=cs.Canonical(), **QUICK) for each in (off, sample(600, 0.0))
    )
    assert (beyond.rejects, within.rejects) == (True, False)
    assert to_rgba(beyond.worst_.get_color()) == to_rgba(BEYOND)
    assert to_rgba(within.worst_.get_color()) == to_rgba(INK)
    assert "more than noise explains" in beyond.caption
    assert "no evidence against" in within.caption


def test_the_pvalue_is_that_of_the_test(off):
    display = cs.VariableDisplay.compute(off, "age", n_resamples=99, rng=3)
    test = cs.calibration_test(off, cs.TopLabel() | cs.VCE("age"), null="strong", n_resamples=99, rng=3)
    assert (display.pvalue, display.null_mean) == (test.pvalue, test.null_mean)


def test_the_strip_counts_the_rows_by_their_weight():
    given = sample(300, 0.0)
    weighted = cs.Sample(
        given.outcomes,
        given.predictions.event,
        variables={"age": given.predictions.variables["age"].values},
        sample_weight=np.linspace(0.5, 1.5, 300),
    )
    display = cs.VariableDisplay.from_sample(weighted, "age", **QUICK)
    age = given.predictions.variables["age"].values
    expected, _ = np.histogram(age, display.edges, weights=np.linspace(0.5, 1.5, 300))
    np.testing.assert_allclose(display.density, expected / expected.max())


@pytest.mark.parametrize(
    ("variable", "size"), [(LONG, (3.3, 3.3)), pytest.param("age", (10.0, 5.6), marks=pytest.mark.slow)]
)
def test_everything_can_be_read(variable, size):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    given = sample(400, 0.3, variable)
    display = cs.VariableDisplay.from_sample(given, variable, **QUICK, ax=ax, name="A model")
    assert display.figure_ is figure
    assert_readable(figure)


@pytest.mark.slow
def test_sixty_rows_can_be_read():
    assert_readable(cs.VariableDisplay.from_sample(sample(60, 0.0), "age", **QUICK).figure_)


@pytest.mark.slow
def test_models_side_by_side_have_one_scale_and_one_legend(off):
    after = cs.Sample(
        off.outcomes,
        np.full(len(off), off.outcomes.mean()),
        variables={"age": off.predictions.variables["age"].values},
    )
    before, behind = cs.VariableDisplay.from_samples({"raw": off, "mean": after}, "age", **QUICK)
    assert before.ax_.get_ylim() == behind.ax_.get_ylim()
    assert [each.ax_.get_title(loc="left") for each in (before, behind)] == ["raw", "mean"]
    assert len(before.figure_.legends) == 1
    assert before.strip_ax_.get_legend() is None
    assert_readable(before.figure_)


@pytest.mark.slow
def test_arrays_and_classifiers_give_the_same_picture(off):
    class Model:
        classes_ = np.array([False, True])

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    p, variables = off.predictions.event, {"age": off.predictions.variables["age"].values}
    found = [
        cs.VariableDisplay.from_predictions(off.outcomes, p, "age", variables=variables, **QUICK),
        cs.VariableDisplay.from_estimator(Model(), p, off.outcomes == 1, "age", variables=variables, **QUICK),
    ]
    for each in found:
        np.testing.assert_allclose(each.curve.outcome, cs.VariableDisplay.compute(off, "age", **QUICK).curve.outcome)
    assert found[1].ax_.get_title(loc="left") == "Model"


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"variable": "sex"}, ValueError, "no curve: take ReliabilityDisplay"),
        ({"variable": "shoe"}, ValueError, "shoe"),
        ({"variable": "age", "smoother": cs.ECE()}, TypeError, "a LOESS is expected"),
        ({"variable": "age", "level": 1.0}, ValueError, "level"),
        ({"variable": "age", "lens": "TopLabel"}, TypeError, "lens"),
    ],
)
def test_bad_input_is_refused(arguments, kind, words):
    given = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], variables={"age": [1.0, 2, 3, 4], "sex": list("fmfm")})
    with pytest.raises(kind, match=words):
        cs.VariableDisplay.compute(given, **arguments)


def test_side_by_side_wants_names(off):
    with pytest.raises(ValueError, match="map names to samples"):
        cs.VariableDisplay.from_samples([off], "age")


def test_a_number_with_two_values_has_no_curve():
    rng = np.random.default_rng(0)
    gender = rng.integers(1, 3, 200)
    sample = cs.Sample(rng.integers(0, 2, 200), rng.random(200), variables={"gender": gender})
    with pytest.raises(ValueError, match=r"2 distinct values, too few for a curve: take ReliabilityDisplay"):
        cs.VariableDisplay.compute(sample, "gender")


def test_values_that_lie_close_together_and_far_from_zero():
    rng = np.random.default_rng(0)
    p = rng.random(120)
    sample = cs.Sample(rng.random(120) < p, p, variables={"v": 1.7e18 + rng.integers(0, 5000, 120)})
    drawn = cs.VariableDisplay.from_sample(sample, "v", n_resamples=19, rng=0)
    assert drawn.edges[0] == drawn.curve.x[0]
    assert drawn.density.max() == 1
    drawn.close()
