"""Plans: the search, families of known error, words, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import calibstat as cs
from calibstat import generators as g
from calibstat.planning.families import ErrorFamily, assumed
from calibstat.planning.planning import PlannedTest, minimum_detectable, required_n
from calibstat.planning.search import Search, probit_line
from validity.normal_test import clustered_z, known_power, mean_z

OFF = g.BetaPredictions(1, 1, g.LogitShift(0.5))


@pytest.mark.parametrize(("power", "start"), [(0.8, 200), (0.8, 5), (0.3, 100_000), (0.95, 200)])
def test_the_search_finds_the_crossing_of_a_known_curve(power, start):
    rng = np.random.default_rng(0)

    def rejections(n, runs):
        return int(rng.binomial(runs, ndtr(0.05 * np.sqrt(n) - 1.645)))

    search = Search(power, 1, 1e6, 4000, root=True, whole=True)
    found = search(rejections, start)
    truth = ((1.645 + float(ndtri(power))) / 0.05) ** 2
    assert found.low * 0.97 <= truth <= found.high * 1.03
    assert found.standard_error < 0.02
    assert 4000 <= found.points.runs.sum() < 4100


def test_a_curve_that_is_flat_by_chance_has_bounds_from_single_places():
    """At 40 of 40 runs the power is above .8 for certain; a line through 37 and 35 of 40 falls, and bounds nothing."""
    hits = {200: 40, 100: 40, 50: 40, 25: 40, 12: 35, 10: 37}
    search = Search(0.8, 10, 1e6, 200, root=True, whole=True)
    found = search(lambda n, runs: hits[int(n)], 200)
    assert (found.place, found.low, found.high) == (10, 10, 25)


def test_probit_line_maximises_the_likelihood():
    """Neighbours of the fitted line have a smaller likelihood."""
    scale, runs, hits = np.array([1.0, 2.0, 3.0]), np.array([50.0, 80.0, 60.0]), np.array([10.0, 45.0, 50.0])
    line, covariance = probit_line(scale, runs, hits)

    def loglik(a, b):
        chance = ndtr(a + b * scale)
        return float((hits * np.log(chance) + (runs - hits) * np.log(1 - chance)).sum())

    top = loglik(*line)
    assert all(loglik(line[0] + da, line[1] + db) < top for da, db in [(0.05, 0), (-0.05, 0), (0, 0.02), (0, -0.02)])
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_probit_line_of_separate_sides_is_finite():
    line, _ = probit_line(np.array([1.0, 2.0]), np.array([40.0, 40.0]), np.array([0.0, 40.0]))
    assert np.isfinite(line).all()
    assert line[1] > 0


@pytest.mark.parametrize("direction", ["overconfident", "underconfident", "too low", "too high"])
@pytest.mark.parametrize("given", [False, True])
def test_a_family_has_the_error_that_is_asked_for(direction, given):
    predictions = np.random.default_rng(0).random(300) if given else None
    model = ErrorFamily(predictions, direction)(0.03)
    assert float(model.truth(cs.ECE())) == pytest.approx(0.03, abs=1e-9)
    r = model.recalibration(np.array([0.2, 0.8]))
    signs = {"overconfident": (1, -1), "underconfident": (-1, 1), "too low": (1, 1), "too high": (-1, -1)}
    assert tuple(np.sign(r - [0.2, 0.8])) == signs[direction]


def test_a_family_of_three_classes_is_measured_through_its_lens():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 400)
    sample = cs.Sample(np.zeros(400, dtype=int), p, labels=[0, 1, 2])
    model = ErrorFamily(sample, "overconfident", cs.TopLabel() | cs.ECE())(0.02)
    assert float(model.truth(cs.TopLabel() | cs.ECE())) == pytest.approx(0.02, abs=1e-9)
    with pytest.raises(ValueError, match="for two classes, but there are 3"):
        ErrorFamily(sample, "too low")


def test_the_same_rng_gives_the_same_plan():
    first, second = (required_n(OFF, mean_z, n_repeats=200, rng=3).to_dict() for _ in range(2))
    assert first == second


def test_a_plan_of_an_estimator_prints_itself():
    plan = required_n(g.BetaPredictions(1, 1, g.Slope(0.4)), cs.ECE(cs.EqualMass(5)), n_repeats=100, rng=0)
    assert plan.verdict == (
        f"About {plan.n} labels (95 %: {plan.interval[0]} to {plan.interval[1]}) are needed to see a calibration "
        f"error of {plan.true_error:.4g} with a chance of 80 %, in a test at 5 %, if uniform predictions are "
        "over-confident."
    )
    assert "(unbinned ECE, total variation, through Canonical())" in plan.to_text(200, verbose=True)
    assert "calibration_test of ECE(binning=EqualMass(n_bins=5)) at level 0.05" in plan.to_text(200, verbose=True)
    assert "Monte Carlo standard error of" in plan.to_text(200, verbose=True)
    frame = plan.to_frame()
    assert frame["runs"].sum() == plan.to_dict()["n_repeats"]
    assert (frame["rejections"] <= frame["runs"]).all()


def test_a_smallest_effect_prints_itself():
    found = minimum_detectable(ErrorFamily(direction="too low"), 400, mean_z, n_repeats=100, rng=0)
    low, high = found.interval
    assert low < found.effect < high
    assert float(found.model.truth(cs.ECE())) == pytest.approx(found.effect, abs=1e-6)
    assert found.verdict.startswith("With 400 labels a calibration error of 0.0")
    assert found.verdict.count("calibration error") == 1


def test_a_power_out_of_reach_is_an_error():
    with pytest.raises(ValueError, match=r"with n = 100, the most that is allowed \(max_n\), the power is 0\.\d+ \("):
        required_n(g.BetaPredictions(1, 1, g.LogitShift(0.05)), mean_z, max_n=100, rng=0)


def test_power_that_falls_with_the_level():
    strict = required_n(OFF, mean_z, level=0.001, n_repeats=300, rng=0)
    assert strict.n > required_n(OFF, mean_z, n_repeats=300, rng=0).n
    assert known_power(0.5, strict.n) > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: required_n(cs.ECE(), cs.ECE()), "must be a synthetic model"),
        (lambda: required_n(OFF, 3), "an estimator, or a function"),
        (lambda: required_n(OFF, mean_z, power=0.01), "between the level"),
        (lambda: required_n(OFF, mean_z, level=0), "level is 0"),
        (lambda: required_n(OFF, mean_z, max_n=0), "max_n"),
        (lambda: minimum_detectable(lambda a: OFF, 100, mean_z), "bounds is missing"),
        (lambda: minimum_detectable(lambda a: OFF, 100, mean_z, bounds=(1, 0)), "0 < low < high"),
        (lambda: ErrorFamily()(0.5), r"between 0 and 0\.2"),
        (lambda: ErrorFamily(direction="wrong"), "direction is 'wrong'"),
        (lambda: ErrorFamily(measure=3), "measure is 3"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("found", [float("nan"), 2.0, -0.1, None, "0.04"])
def test_what_is_no_pvalue_is_an_error_at_the_first_call(found):
    calls = []

    def wrong(sample, rng):
        calls.append(sample)
        return found

    with pytest.raises(ValueError, match=r"the test wrong returned .* a p-value between 0 and 1 is expected"):
        required_n(OFF, wrong, rng=0)
    assert len(calls) == 1


@pytest.mark.parametrize(("most", "reached"), [(0.5, False), (0.7, False), (0.75, False), (0.9, True)])
def test_the_end_of_a_family_is_not_an_answer_where_the_power_is_not_reached(most, reached):
    """Power grows in a line up to `most` at an effect of one."""

    def test(sample, rng):
        return float(rng.random() > most * EFFECT[-1])

    def family(effect):
        EFFECT.append(effect)
        return OFF

    def plan():
        return minimum_detectable(family, 30, test, bounds=(0.01, 1.0), n_repeats=2000, rng=0)

    if reached:
        assert plan().effect == pytest.approx(0.8 / 0.9, abs=0.05)
        assert plan().interval[1] <= 1.0
    else:
        with pytest.raises(ValueError, match=r"no effect is seen with power 0.8 in 30 labels: at 1, the largest"):
            plan()


EFFECT = []


def test_a_plan_says_of_which_predictions_it_is():
    rare = np.full(50, 0.004)
    assert assumed(ErrorFamily(rare)(0.002)) == (
        "predictions as in the 50 given rows are over-confident (0.4 % predicted, 0.6 % happens)"
    )
    confident = ErrorFamily(measure=cs.TopLabel() | cs.ECE())(0.03)
    assert assumed(confident, cs.TopLabel()) == (
        "uniform predictions are over-confident (of P(predicted class): 75 % predicted, 72 % happens)"
    )
    assert assumed(ErrorFamily(direction="underconfident")(0.02)) == "uniform predictions are under-confident"
    assert assumed(ErrorFamily(direction="too high")(0.05)).startswith("uniform predictions are too high (50 % pred")
    three = ErrorFamily(np.random.default_rng(0).dirichlet([1, 1, 1], 20), measure=cs.TopLabel() | cs.ECE())
    assert assumed(three(0.02)) == "predictions as in the 20 given rows are over-confident"
    assert assumed(g.BetaPredictions(2, 3, g.Cubic(0.5))).startswith("Beta(2, 3) predictions are wrong as in the given")
    assert assumed(g.FinitePredictions([0.2], [0.3])) == "predictions are as in the given world"


def test_the_true_error_is_a_number_beside_what_it_is():
    found = required_n(OFF, mean_z, n_repeats=80, rng=0).to_dict()
    assert found["true_error"] == pytest.approx(float(OFF.truth(cs.ECE())))
    assert found["which_error"] == "unbinned ECE, total variation, through Canonical()"


def test_rows_in_clusters_are_planned_on_a_clustered_world():
    plan = required_n(OFF, clustered_z, n_repeats=100, cluster_size=8, correlation=0.3, rng=0)
    assert plan.model == g.Clustered(OFF, 8, 0.3, "constant")
    assert plan.to_dict()["design_effect"] == pytest.approx(3.1)
    said = "and rows come in clusters of 8 rows with the same prediction and a correlation of 0.3 (design effect 3.1)."
    assert said in " ".join(str(plan).split())
    same = required_n(g.Clustered(OFF, 8, 0.3, "constant"), clustered_z, n_repeats=100, rng=0)
    assert same.to_dict() == plan.to_dict()
    varying = assumed(g.Clustered(OFF, (2, 14), 0.3))
    assert varying.endswith(
        "clusters of 8 rows on average with predictions that vary and a correlation of 0.3 (design effect 4.45)"
    )
    assert "design_effect" not in required_n(OFF, mean_z, n_repeats=50, rng=0).to_dict()


def test_the_smallest_effect_in_clusters_is_larger():
    def family(shift):
        return g.BetaPredictions(1, 1, g.LogitShift(shift))

    options = {"bounds": (0.01, 3), "n_repeats": 200, "rng": 0}
    alone = minimum_detectable(family, 800, mean_z, **options)
    found = minimum_detectable(family, 800, clustered_z, cluster_size=8, correlation=0.9, **options)
    assert found.effect / alone.effect == pytest.approx(np.sqrt(1 + 7 * 0.9), rel=0.35)
    assert isinstance(found.model, g.Clustered)


def test_too_few_clusters_for_a_test_do_not_reject():
    """Clusters of up to 60 rows: with 60 rows there may be one cluster, which no test is for."""
    world = g.Clustered(OFF, g.ParetoSizes(0.5, 20, 60), 0.3)
    assert PlannedTest(cs.ECE(cs.EqualMass(5)), 0.05).rejections(world, 60, 20, np.random.default_rng(0)) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster_size": 8}, "cluster_size is given alone.*add correlation=0.3"),
        ({"correlation": 0.3}, "correlation is given alone.*add cluster_size=8"),
        ({"cluster_size": 0, "correlation": 0.3}, "size is 0"),
        ({"cluster_size": 4, "correlation": 2}, "correlation is 2; it must be a number from 0 to 1"),
    ],
)
def test_clusters_have_a_size_and_a_correlation(options, words):
    with pytest.raises(ValueError, match=words):
        required_n(OFF, mean_z, **options)
