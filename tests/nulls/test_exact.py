"""The exact null against enumeration of all labels, on nasty inputs, and what it refuses."""

from __future__ import annotations

import pickle
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.binnings.base import Cells
from calibstat.data.arrays import as_generator
from calibstat.data.rounding import TIE_SHARE
from calibstat.draws.poisson_binomial import CellCounts
from calibstat.estimators.base import Headline
from calibstat.nulls import _exact_sums as exact_lattice
from calibstat.nulls import exact
from calibstat.nulls._exact_sums import Atoms, enumerate_sum, grid_sum, lattice_halves, maximum, pooled, reach
from calibstat.nulls.exact import Exact, NotExact
from registry import ESTIMATORS, make_sample
from suites import slow_but

pytestmark = pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")


def prepared(estimator, sample):
    """The estimator without its lens, the sample through it, and the evaluator: as `calibration_test` has them."""
    seen, core = estimator.lens(sample), Headline(estimator.core)
    return core, seen, core.prepare(seen.predictions)


def all_labels(seen):
    """Every labelling (2**n, n) of two outcomes, with its probability."""
    chances = seen.predictions.chances[:, 1]
    labels = np.array(list(product([0, 1], repeat=len(chances))))
    return labels, np.where(labels == 1, chances, 1 - chances).prod(axis=1)


def assert_agrees_with_enumeration(estimator, sample, null=None):
    core, seen, evaluator = prepared(estimator, sample)
    found = (null or Exact()).draw(core, seen, None, evaluator)
    labels, chances = all_labels(seen)
    values = evaluator(labels)
    distinct = np.unique(values)
    for value in distinct[:: max(1, len(distinct) // 100)]:
        near = 1.5 * TIE_SHARE * max(found.typical, abs(value))
        at_least, more = chances[values >= value - near].sum(), chances[values >= value + near].sum()
        assert found.pvalue(value) == pytest.approx(max(at_least, found.floor), rel=1e-9, abs=1e-12)
        assert found.pvalue(value + near) == pytest.approx(max(more, found.floor), rel=1e-9, abs=1e-12)
    assert found.mean == pytest.approx(values @ chances, abs=1e-12)
    assert found.pvalue_interval(float(values.max()))[1] == found.pvalue(float(values.max()))
    return found


def by_cells(estimator):
    _, _, evaluator = prepared(estimator, make_sample(2, n=10))
    return evaluator.capabilities.terms is not None and evaluator.capabilities.tally.from_counts


KNOWN = [entry.thing for entry in ESTIMATORS if 2 in entry.classes]
CELLWISE = [estimator for estimator in KNOWN if by_cells(estimator)]
each_cellwise = pytest.mark.parametrize("estimator", CELLWISE, ids=repr)


@each_cellwise
def test_every_cellwise_estimator_agrees_with_the_enumeration_of_all_labels(estimator):
    for seed in range(2):
        assert_agrees_with_enumeration(estimator, make_sample(2, n=10, seed=seed))


@each_cellwise
def test_lattices_agree_as_well(estimator, monkeypatch):
    """Where half of the cells has too many combinations; here any number is too many."""
    monkeypatch.setattr(exact, "_COMBINATIONS", 0)
    monkeypatch.setattr(exact, "grid_sum", lambda *_: None)
    with suppress(NotExact):
        assert_agrees_with_enumeration(estimator, make_sample(2, n=10))


def test_the_registry_has_cellwise_estimators():
    names = " ".join(map(repr, CELLWISE))
    for name in ("ECE", "p=2", "SquaredCE", "DebiasedCE", "MaximumMiscalibration", "PearsonCE", "HosmerLemeshow"):
        assert name in names


CELL = cs.FixedEdges([0, 1])
TWO = cs.FixedEdges([0, 0.5, 1])
EDGES = {
    "one cell": (cs.ECE(CELL), [0.1, 0.4, 0.35, 0.8]),
    "ties": (cs.ECE(TWO), [0.2] * 5 + [0.8] * 5),
    "zeros and ones": (cs.ECE(TWO), [0.0, 0.0, 0.3, 0.7, 1.0, 1.0]),
    "all certain": (cs.ECE(TWO), [0.0, 0.0, 1.0]),
    "single rows": (cs.ECE(cs.UniqueValues()), [0.1, 0.25, 0.4, 0.65, 0.9]),
    "empty cells": (cs.RMSCE(cs.EqualWidth(7)), [0.02, 0.05, 0.5, 0.55, 0.97]),
    "one row": (cs.MaximumMiscalibration(CELL), [0.3]),
    "half a maximum": (cs.MaximumMiscalibration(cs.UniqueValues()), [0.5, 0.5, 0.25, 0.25, 1.0, 0.0]),
    "signed": (cs.DebiasedCE(TWO), [0.2, 0.2, 0.3, 0.7, 0.7, 0.9]),
    "tiny": (cs.ECE(CELL), [1e-9, 1e-9, 1 - 1e-9]),
}


@pytest.mark.parametrize(("estimator", "p"), EDGES.values(), ids=EDGES)
def test_edges(estimator, p):
    outcome = [p_i > 0.5 for p_i in p]
    assert_agrees_with_enumeration(estimator, cs.Sample(outcome, p, labels=[False, True]))


# Sums of cells: what lattices and grids give against enumeration


def cell_laws(p, n_cells, term):
    """The law of each cell's term, and the largest step, of a term (count, expected, rows) -> value."""
    index = np.arange(len(p)) * n_cells // len(p)
    counts = CellCounts(np.asarray(p), Cells(n_cells, index, "fixed"))
    laws, step = [], 0.0
    for cell, (first, masses) in enumerate(counts.laws):
        rows = np.asarray(p)[index == cell]
        values = term(first + np.arange(len(masses)), rows.sum(), len(rows))
        laws.append(pooled(values, masses / masses.sum()))
        step = max(step, float(np.abs(np.diff(values)).max(initial=0)))
    return laws, step


def absolute(count, expected, rows):
    return np.abs(count - expected) / 40


def square(count, expected, rows):
    return (count - expected) ** 2 / rows / 40


SCORES = {
    "any": np.random.Generator(np.random.PCG64(0)).random(40),
    "of one digit": np.random.Generator(np.random.PCG64(1)).integers(1, 10, 40) / 10,
    "equal": np.full(40, 0.3),
    "certain among them": np.r_[np.zeros(10), np.random.Generator(np.random.PCG64(2)).random(25), np.ones(5)],
}


def tails(halves, at):
    second, first = sorted(halves, key=lambda half: len(half.values))
    return np.array([first.masses @ second.tail(each - first.values) for each in at])


@pytest.mark.parametrize("p", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("term", [absolute, square])
def test_a_lattice_gives_the_enumerated_law(p, term):
    cells, step = cell_laws(p, 5, term)
    cells = [cell for cell in cells if len(cell.values) > 1]
    whole, halves = enumerate_sum(cells), lattice_halves(cells, step)
    if term is square and np.unique(p).size > 15:
        assert halves is None
        return
    for shift in (-1e-10, 1e-10):
        at = whole.values[:: max(1, len(whole.values) // 300)] + shift
        np.testing.assert_allclose(tails(halves, at), whole.tail(at), atol=1e-12)


def test_a_law_on_one_lattice_is_found_whatever_the_steps():
    """Terms of very different sizes that are multiples of 0.01: no largest step, but a common divisor."""
    rng = np.random.Generator(np.random.PCG64(5))
    cells = [pooled(rng.integers(0, 3000, 9) / 100 + offset, rng.dirichlet(np.ones(9))) for offset in rng.random(5)]
    halves, whole = lattice_halves(cells, 29.0), enumerate_sum(cells)
    at = whole.values[::50] - 1e-10
    np.testing.assert_allclose(tails(halves, at), whole.tail(at), atol=1e-12)


@pytest.mark.parametrize("p", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("tolerance", slow_but([1e-2], [1e-4, 1e-2]))
def test_the_bounds_of_a_grid_hold(p, tolerance):
    cells, _ = cell_laws(p, 5, square)
    whole = enumerate_sum(cells)
    found = grid_sum(cells, tolerance)
    if found is None:  # atoms larger than the tolerance
        sizes = np.diff(np.append(whole.tail(whole.values), 0.0))
        assert (-sizes > tolerance).any()
        return
    law, rounding = found
    at = whole.values[:: max(1, len(whole.values) // 1000)] - 1e-12
    upper, lower, exactly = law.tail(at), law.tail(at + rounding), whole.tail(at)
    assert (upper >= exactly - 1e-10).all()
    assert (lower <= exactly + 1e-10).all()
    assert (upper - lower <= tolerance).all()
    assert (upper > lower).any()


def test_one_cell_less_rounding_would_break_the_bounds():
    """The negative control: mass that is put on the nearest grid point lies on both sides of the law."""
    rng = np.random.Generator(np.random.PCG64(3))
    cells = [pooled(rng.random(8), rng.dirichlet(np.ones(8))) for _ in range(5)]
    law, rounding = grid_sum(cells, 1e-2)
    whole = enumerate_sum(cells)
    nearest = Atoms(law.values - rounding / 2, law.masses)
    assert (nearest.tail(whole.values) < whole.tail(whole.values - 1e-12) - 1e-4).any()


def test_the_maximum_is_a_product_of_distribution_functions():
    rng = np.random.Generator(np.random.PCG64(4))
    laws = [pooled(rng.integers(0, 12, 6) / 4, rng.dirichlet(np.ones(6))) for _ in range(7)]
    found = maximum(laws)
    for value in np.arange(0, 3, 0.125):
        expected = 1 - np.prod([law.masses[law.values < value].sum() for law in laws])
        assert found.tail(value) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_hardly_anything_lies_beyond_the_reach(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    laws = [pooled(rng.random(6) ** 3, rng.dirichlet(np.full(6, 0.3))) for _ in range(6)]
    whole = enumerate_sum(laws)
    for beyond in (2.0, 5.0):
        assert whole.tail(whole.values[0] + reach(laws, beyond)) <= np.exp(-beyond)
    assert whole.tail(whole.values[0] + 0.3 * reach(laws, 2.0)) > np.exp(-2.0)  # the negative control


def test_equal_totals_are_one_atom():
    laws = [pooled(np.arange(4) * 0.1, np.full(4, 0.25))] * 6
    assert len(enumerate_sum(laws).values) == 19


# The distribution


def draws(sample, estimator, n_resamples, seed):
    core, seen, evaluator = prepared(estimator, sample)
    drawn = cs.Consistency(n_resamples).draw(core, seen, as_generator(seed), evaluator)
    return Exact().draw(core, seen, None, evaluator), drawn, float(evaluator(seen.outcomes))


def scores(n, seed=0, n_classes=2):
    return make_sample(n_classes, n=n, seed=seed)


AGAINST_DRAWS = {
    "lattice": (cs.ECE(cs.EqualMass(15)), scores(3000)),
    "grid": (cs.RMSCE(cs.EqualMass(15)), scores(3000)),
    "signed grid": (cs.DebiasedCE(cs.EqualMass(12)), scores(1000)),
    "skewed grid": (cs.PearsonCE(cs.EqualMass(10)), scores(2000)),
    "two statistics in one record": (cs.HosmerLemeshow(10), scores(1000)),
    "maximum": (cs.MaximumMiscalibration(cs.EqualMass(15)), scores(1000)),
    "top label": (cs.TopLabel() | cs.ECE(cs.EqualMass(15)), scores(2000, n_classes=4)),
    "given a variable": (cs.ClassWise("d") | cs.VECE("age"), scores(1000, n_classes=3)),
}


@pytest.mark.parametrize(("estimator", "sample"), AGAINST_DRAWS.values(), ids=AGAINST_DRAWS)
def test_draws_agree(estimator, sample):
    """99 999 draws: tails at nine quantiles and the mean agree within 4 standard errors, and a wrong law does not."""
    computed, drawn, value = draws(sample, estimator, 99_999, 1)
    values = drawn.samples
    n = len(values)
    assert abs(computed.mean - values.mean()) < 4 * values.std() / np.sqrt(n)
    for at in [*np.quantile(values, [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999]), value]:
        low, high = computed.pvalue_interval(at)
        share = np.mean(values >= at - 1e-12)
        error = 4 * np.sqrt(max(share * (1 - share), 1 / n) / n)
        assert low - error < share < high + error
        assert high - low <= max(1e-4, 1e-3 * high)
    wrong = np.quantile(values, 0.5) * 1.03 + 0.03 * values.std()
    assert abs(computed.pvalue(wrong) - 0.5) > 4 * np.sqrt(0.25 / n)


def test_votes_of_a_hundred_trees_are_one_lattice():
    """Expected counts are multiples of 0.01, as sums of 200 floats each: their rounding must not hide that."""
    rng = np.random.Generator(np.random.PCG64(6))
    votes = rng.integers(0, 101, 20_000) / 100
    sample = cs.Sample(rng.random(20_000) < votes, votes)
    computed, drawn, value = draws(sample, cs.ECE(cs.UniqueValues()), 20_000, 2)
    assert computed.rounding == 0
    share = drawn.exceedances(value) / 20_000
    assert abs(computed.pvalue(value) - share) < 4 * np.sqrt(share * (1 - share) / 20_000)
    assert abs(computed.mean - drawn.mean) < 4 * drawn.samples.std() / np.sqrt(20_000)


def test_small_tails_are_right_too():
    """15 cells of 200 equal scores, against plain convolution of binomial laws on multiples of 1/7."""
    scores = np.linspace(0.1, 0.9, 15)
    computed = Exact().draw(cs.ECE(cs.UniqueValues()), cs.Sample(np.arange(3000) % 2, np.repeat(scores, 200)))
    law = np.ones(1)
    for score in scores:
        sevenths = np.rint(7 * np.abs(np.arange(201) - 200 * score)).astype(int)
        law = np.convolve(law, np.bincount(sevenths, stats.binom(200, score).pmf(np.arange(201))))
    tails = np.cumsum(law[::-1])[::-1]
    for sevenths in (500, 700, 900, 1000, 1100, 1200):
        assert computed.pvalue(sevenths / 7 / 3000) == pytest.approx(tails[sevenths], rel=1e-6, abs=1e-13)
    assert 1e-9 < tails[1200] < 1e-8


def test_quantiles_invert_the_distribution():
    for estimator, sample in AGAINST_DRAWS.values():
        computed, drawn, _ = draws(sample, estimator, 999, 1)
        for q in (0.05, 0.5, 0.95):
            value = float(computed.quantile(q))
            # the smallest value at which the distribution function has reached q
            near = 1.5 * TIE_SHARE * max(computed.typical, abs(value))
            assert computed.pvalue(value + near) <= 1 - q + 1e-9
            assert computed.pvalue(value - near) >= 1 - q - 1e-9
            assert np.mean(drawn.samples <= value) == pytest.approx(q, abs=4 * np.sqrt(q * (1 - q) / 999))


@pytest.mark.parametrize("even", [True, False])
def test_quantiles_of_many_atoms_are_those_of_all_their_sums(even):
    """Half a million sums, evenly spread or with few totals, against a cumulative sum of all of them."""
    rng = np.random.default_rng(4)
    values = [np.sort(rng.integers(0, 300, m) / 7 if even else rng.random(m)) for m in (800, 600)]
    first, second = (Atoms(np.unique(each), rng.dirichlet(np.ones(len(np.unique(each))))) for each in values)
    sums, masses = np.add.outer(first.values, second.values).ravel(), np.outer(first.masses, second.masses).ravel()
    order = np.argsort(sums)
    reached, law = np.cumsum(masses[order]), exact.ExactNull(first, second, lambda total: total)
    for q in (0.0, 1e-6, 0.05, 0.31, 0.95, 0.9999, 1.0):
        expected = sums[order[min(int(np.searchsorted(reached, q)), len(order) - 1)]]
        assert float(law.quantile(q)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*fits far better")
def test_a_result_survives_pickling_and_its_floor_is_a_bound():
    sample = cs.Sample(np.arange(400) % 2, np.where(np.arange(400) % 2, 0.1, 0.9))
    for estimator in (cs.ECE(TWO), cs.RMSCE(cs.EqualMass(15)), cs.HosmerLemeshow(4)):
        result = cs.calibration_test(sample, estimator)
        assert result.pvalue == result.null_distribution.floor
        assert "p < 1e-1" in result.verdict
        assert str(pickle.loads(pickle.dumps(result))) == str(result)


# What it refuses


REFUSED = {
    "no cells": (cs.Kuiper(), scores(40), "not a sum or a maximum"),
    "rows matter": (cs.DebiasedL2(cs.EqualMass(4)), scores(40), "do not suffice"),
    "classes": (cs.ECE(cs.UniqueValues()), scores(40, n_classes=3), "3 outcomes"),
    "weights": (cs.ECE(cs.EqualMass(4)), make_sample(2, weighted=True), "weights"),
    "many cells": (cs.ECE(cs.UniqueValues()), scores(300), "more than 200 cells"),
    "combinations": (cs.RMSCE(cs.EqualMass(150)), scores(1000), "too many combinations"),
}


@pytest.mark.parametrize(("estimator", "sample", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_do_is_refused_and_drawn_by_default(estimator, sample, reason):
    with pytest.raises(NotExact, match=reason) as error:
        cs.calibration_test(sample, estimator, null=Exact())
    assert isinstance(error.value, ValueError)
    assert "Consistency(9999)" in str(error.value)
    default = cs.calibration_test(sample, estimator, rng=1)
    explicit = cs.calibration_test(sample, estimator, null=cs.Consistency(999), rng=1)
    assert default.null == cs.Consistency(999)
    assert default.pvalue == explicit.pvalue


def test_whether_it_serves_does_not_depend_on_labels():
    """Refusals and the way that is taken are the same for all labels: here none, half and all of them events."""
    p = scores(1000).y_prob[:, 1]
    for estimator, served in ((cs.RMSCE(cs.EqualMass(15)), True), (cs.RMSCE(cs.EqualMass(150)), False)):
        for labels in (np.zeros(1000), np.arange(1000) % 2, np.ones(1000)):
            result = cs.calibration_test(cs.Sample(labels, p, labels=[0, 1]), estimator, rng=0)
            assert (result.null == Exact()) is served


def test_evidence_in_another_order_is_refused():
    class Small(cs.ECE):
        def evidence(self, values):
            return -values

    sample = scores(40)
    with pytest.raises(NotExact, match="small values, too, are evidence"):
        Exact().draw(Small(CELL), sample)


def test_an_infinite_term_is_refused(monkeypatch):
    sample = scores(40)
    evaluator = cs.ECE(CELL).prepare(sample.predictions)
    plan, parts = exact._cells_and_terms(cs.ECE(CELL), evaluator)
    wrong = type(parts)(lambda outcome: parts.terms(outcome) * np.inf, "sum", parts.link)
    monkeypatch.setattr(exact, "_cells_and_terms", lambda *_: (plan, wrong))
    with pytest.raises(NotExact, match="not finite"), np.errstate(invalid="ignore"):
        Exact().draw(cs.ECE(CELL), sample, None, evaluator)


@pytest.mark.parametrize("tolerance", [0, 1, -1e-4, float("nan")])
def test_the_tolerance_is_checked(tolerance):
    with pytest.raises(ValueError, match="tolerance is"):
        Exact(tolerance)


def test_there_are_no_samples_and_the_message_says_how_to_have_some():
    found = Exact().draw(cs.ECE(CELL), scores(40))
    assert not hasattr(found, "samples")
    with pytest.raises(AttributeError, match=r"Consistency\(999\)"):
        _ = found.samples


def test_the_hypothesis_says_that_nothing_is_drawn():
    sentence = Exact().hypothesis(cs.TopLabel(), (...,))
    assert "labels drawn from the predictions, which are kept (exact, no Monte Carlo error)" in sentence
    assert "strong null" in Exact().hypothesis(cs.Given("age"), ("age",))


def test_a_step_smaller_than_the_lattice_allows_no_halves():
    cells, _ = cell_laws(SCORES["any"], 5, square)
    assert exact_lattice.common_divisor(cells) == 0.0


def test_a_quantile_of_sums_nearly_equal_is_found():
    """The search for it went on for ever where rounding let it come no closer."""
    part = Atoms(1e6 + 1e-9 * np.arange(2), np.full(2, 0.5))
    np.testing.assert_allclose(exact.ExactNull(part, part, np.asarray).quantile(0.5), 2e6, rtol=1e-14)
