"""Finite worlds: closed forms against enumeration."""

from contextlib import suppress

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from registry import ESTIMATORS, LABELS, every

TOP = cs.TopLabel()


@pytest.mark.parametrize(
    ("lens", "total_variation"),
    [
        (cs.Canonical(), 0.1),
        (cs.Region.between(0, 0, 0.3), 0.1),
        (TOP, 0.0),
        (cs.TopK(1), 0.0),
        (cs.TopK(2), 0.0),
        (cs.ClassWise(0), 0.0),
        (cs.ClassWise(1), 0.0),
        (cs.ClassWise(2), 0.0),
        (cs.Partition([[0, 1], [2]]), 0.0),
    ],
)
def test_example_1_through_every_lens(lens, total_variation):
    # Vaicenavicius et al. (2019), Table 1
    model = gen.vaicenavicius_example_1()
    for estimator in (
        cs.ECE(),
        cs.ExpectedMiscalibration(cs.SimplexGrid(5)),
        cs.MaximumMiscalibration(cs.EqualMass(3)),
    ):
        truth = model.truth(lens | estimator)
        assert float(truth) == pytest.approx(total_variation, abs=1e-12)
        assert truth.given == "the induced prediction"


def test_example_1_in_other_distances():
    model = gen.vaicenavicius_example_1()
    squared = cs.ExpectedMiscalibration(cs.SimplexGrid(5), cs.SquaredEuclidean())
    assert float(model.truth(squared)) == pytest.approx(0.02, abs=1e-12)
    assert float(model.truth(cs.ExpectedMiscalibration(cs.SimplexGrid(5), cs.Lp(2)))) == pytest.approx(0.1 * 2**0.5)


@pytest.mark.parametrize(("n_bins", "limit"), [(1, 0.0), (2, 0.0), (3, 0.0), (10, 0.1)])
def test_example_1_coarse_cells_hide_it(n_bins, limit):
    model = gen.vaicenavicius_example_1()
    assert float(model.limit(cs.ExpectedMiscalibration(cs.SimplexGrid(n_bins)))) == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_kelly_smyth_constructions(n_classes):
    gap = 0.5 - 1 / (2 * n_classes)
    by_score, by_variable = TOP | cs.ECE(), TOP | cs.VECE("v")
    first, second = gen.kelly_smyth_theorem_5_1(n_classes), gen.kelly_smyth_theorem_5_2(n_classes)
    assert float(first.truth(by_score)) == pytest.approx(0, abs=1e-12)
    assert float(first.truth(by_variable)) == pytest.approx(gap, abs=1e-12)
    assert float(second.truth(by_score)) == pytest.approx(gap, abs=1e-12)
    assert float(second.truth(by_variable)) == pytest.approx(0, abs=1e-12)


def test_kelly_smyth_consistent_overconfidence():
    model = gen.kelly_smyth_theorem_5_4()
    for estimator in (cs.ECE(), cs.VECE("v"), cs.VECE("v", cs.Categories())):
        assert float(model.truth(TOP | estimator)) == pytest.approx(2.3 / 6, abs=1e-12)


@pytest.fixture
def finite():
    rng = np.random.default_rng(8)
    return gen.FinitePredictions(rng.random(12).round(1), rng.random(12), rng.random(12) + 0.1)


def test_truths_of_all_estimands_by_hand(finite):
    p, mass, chance = (np.array(each) for each in (finite.predictions, finite.mass, finite.truths))
    score, event = p[:, 1], chance[:, 1]
    share, gap = [], []
    for value in np.unique(score):
        here = score == value
        share.append(mass[here].sum() / mass.sum())
        gap.append(abs(np.average(event[here], weights=mass[here]) - value))
    share, gap = np.array(share), np.array(gap)
    expected = {
        cs.ECE(): share @ gap,
        cs.PDE(): share @ gap,
        cs.PDE(p=2): (share @ gap**2) ** 0.5,
        cs.RMSCE(): (share @ gap**2) ** 0.5,
        cs.SquaredCE(): share @ gap**2,
        cs.DebiasedCE(): share @ gap**2,
        cs.DebiasedL2(): share @ gap**2,
        cs.ExpectedMiscalibration(cs.EqualMass(3), cs.SquaredEuclidean()): 2 * share @ gap**2,
        cs.MaximumMiscalibration(cs.EqualMass(3)): gap.max(),
    }
    for estimator, value in expected.items():
        assert float(finite.truth(estimator)) == pytest.approx(value, abs=1e-14), estimator


@pytest.mark.parametrize("plain", [cs.DebiasedCE, cs.DebiasedL2])
def test_limit_of_a_debiased_estimator_is_the_squared_error_on_its_cells(finite, plain):
    binning = cs.EqualWidth(3)
    assert float(finite.limit(plain(binning))) == float(finite.limit(cs.SquaredCE(binning)))
    assert float(finite.limit(plain(binning))) < float(finite.truth(plain(binning)))


def test_limit_is_what_large_samples_come_to(finite):
    for estimator in (cs.ECE(cs.EqualWidth(3)), cs.DebiasedL2(cs.EqualWidth(3)), TOP | cs.PDE(cs.EqualWidth(4))):
        values = [estimator(finite.sample(100_000, rng=seed)) for seed in range(10)]
        error = np.std(values, ddof=1) / 10**0.5
        assert abs(np.mean(values) - float(finite.limit(estimator))) < 5 * error


def test_calibration_functions(finite):
    model = gen.vaicenavicius_example_1()
    rows = model.calibration_function([[0.1, 0.3, 0.6], [0.2, 0.2, 0.6]])
    assert rows[0] == pytest.approx([0.2, 0.2, 0.6])
    assert np.isnan(rows[1]).all()
    top = model.calibration_function([0.6, 0.7], TOP)
    assert top[0] == pytest.approx(0.6)
    assert np.isnan(top[1])


def test_monte_carlo_only_when_asked(finite):
    assert finite.truth(cs.ECE()).standard_error == 0
    drawn = finite.truth(cs.ECE(), n_samples=200_000, rng=0)
    assert drawn.standard_error > 0
    assert drawn.given == "the induced prediction"
    assert abs(drawn.value - float(finite.truth(cs.ECE()))) < 5 * drawn.standard_error
    assert drawn == finite.truth(cs.ECE(), n_samples=200_000, rng=0)
    assert "Monte Carlo" in str(drawn)


def test_vector_valued_truth():
    model = gen.FinitePredictions([0.2, 0.7], [0.3, 0.7])
    truth = model.truth(cs.HistogramRegression(cs.EqualWidth(2)))
    assert np.asarray(truth.value)[:, 1] == pytest.approx([0.1, 0.0])


def test_models_with_equal_parameters_are_equal(finite):
    assert gen.kelly_smyth_theorem_5_1(3) == gen.kelly_smyth_theorem_5_1(3)
    assert hash(gen.GaussianMixture(1, 1)) == hash(gen.GaussianMixture(1, 1))
    assert finite != gen.kelly_smyth_theorem_5_1(2)


def test_the_repr_makes_the_world_again():
    world = gen.FinitePredictions(
        [[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]],
        [[0.3, 0.4, 0.3], [0.7, 0.2, 0.1]],
        [3, 1],
        variables={"v": np.array([0.5, 1.5]), "sex": ["f", "m"]},
        labels=np.array([2, 0, 1]),
        features=["v"],
    )
    again = eval(repr(world), vars(gen))
    assert again == world
    assert hash(again) == hash(world)
    assert again.labels == (2, 0, 1)
    assert float(again.truth(cs.TopLabel() | cs.VECE("v"), of="ise")) == float(
        world.truth(cs.TopLabel() | cs.VECE("v"), of="ise")
    )


def listed(n_classes, times):
    """A world of seven atoms, each listed so many times its mass, in no order; once, with masses, for None."""
    rng = np.random.default_rng(0)
    rows, laws = rng.dirichlet(np.ones(n_classes), (2, 7))
    mass, age = rng.integers(1, 4, 7), rng.integers(0, 8, 7).astype(float)
    atoms = np.arange(7) if times is None else rng.permutation(np.repeat(np.arange(7), times * mass))
    return gen.FinitePredictions(
        rows[atoms],
        laws[atoms],
        mass if times is None else None,
        variables={"age": age[atoms], "sex": np.array(["f", "m"])[atoms % 2]},
        labels=LABELS[:n_classes],
    )


@every([entry for entry in ESTIMATORS if entry.chances and entry.weighted])
@pytest.mark.filterwarnings("ignore")
def test_no_truth_depends_on_how_atoms_are_listed(entry):
    """Splitting atoms into equal ones changes no truth; what would change has none, and says why."""
    n_classes = entry.classes[0]
    once, often = listed(n_classes, None), listed(n_classes, 20)
    found = None
    with suppress(ValueError):
        found = once.truth(entry.thing).value
    if found is None:
        with pytest.raises(ValueError, match=r"has no true value|on known chances"):
            often.truth(entry.thing)
        return
    np.testing.assert_allclose(often.truth(entry.thing).value, found, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "estimator", [cs.LogitScore(1), cs.VectorScalingScore(), cs.Cox(), cs.LOESS(), cs.SKCE()], ids=repr
)
def test_what_has_no_true_value_says_why(estimator):
    with pytest.raises(ValueError, match=r"has no true value: .*(grows with the number of rows|of rows|over rows)"):
        listed(2, None).truth(estimator)
    with pytest.raises(ValueError, match="has no true value"):
        listed(2, None).truth(estimator, n_samples=100, rng=0)


@pytest.mark.parametrize("statistic", [cs.LogitScore(), cs.CME([0.3, 0.6], bandwidth=0.3), cs.Cox()], ids=repr)
def test_a_statistic_has_no_truth_in_a_calibrated_world_either(statistic):
    world = gen.BetaPredictions(2, 3)
    for truth in (world.truth, world.limit):
        with pytest.raises(ValueError, match="has no true value: it is a test statistic"):
            truth(statistic)


def test_the_headlines_of_several_numbers_have_truths():
    world, sample = listed(2, None), listed(2, None).sample(40_000, rng=1)
    for estimator in (cs.Cox(statistic="slope"), cs.ObservedToExpected(), cs.ICI(cs.CellMeans(cs.UniqueValues()))):
        evaluator = estimator.prepare(sample.predictions)
        value = estimator.headline(evaluator(sample.outcomes))
        assert float(world.truth(estimator)) == pytest.approx(float(value), abs=0.02)
