"""The three ways to draw agree in law; each gives the same bits whatever is computed together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.estimators.histogram import BrierDecomposition
from calibstat.estimators.tally import BinnedEstimator
from calibstat.generators import BetaPredictions, FinitePredictions, GaussianMixture, Slope, SyntheticModel
from calibstat.generators.line import N_LEVELS
from calibstat.sweeps._compute import FEW_LANES, LANES, Estimates
from calibstat.sweeps._draws import CellLaw, Cuts
from calibstat.sweeps.sweep import Sweep
from suites import slow_but
from sweeps.comparing import assert_same_bits

WAYS = ("rows", "sorted", "cells")
OFF = BetaPredictions(2, 3, Slope(2))
MODELS = {"mixture": GaussianMixture(1, 1), "calibrated": GaussianMixture(0, -2), "beta": OFF}
KINDS = (cs.ECE, cs.DebiasedL2, cs.RMSCE)


def estimators(kinds=KINDS):
    return {
        f"{kind.__name__} {cut.__name__}": lambda b, kind=kind, cut=cut: kind(cut(b))
        for kind in kinds
        for cut in (cs.EqualMass, cs.EqualWidth)
    }


def make(draws, rng, **changes):
    arguments = {"n": [60, 500], "n_bins": [3, 10, 40], "estimators": estimators(), "n_repeats": 400, "rng": rng}
    return Sweep(MODELS, **(arguments | changes), draws=draws)


@pytest.fixture(scope="module")
def found():
    return {draws: make(draws, seed).run(progress=False)["estimate"] for seed, draws in enumerate(WAYS)}


def smallest_pvalue(first, second):
    """Two-sample Kolmogorov-Smirnov of every model, estimator, n and number of bins."""
    sizes = first.shape[-1], second.shape[-1]
    pairs = zip(first.values.reshape(-1, sizes[0]), second.values.reshape(-1, sizes[1]), strict=True)
    return min(stats.ks_2samp(one, other).pvalue for one, other in pairs)


@pytest.mark.parametrize("draws", ["sorted", "cells"])
def test_estimates_have_the_same_law(found, draws):
    """108 comparisons of 400 with 400 values; together at level 0.001."""
    assert found["rows"].isel(repeat=0).size == 108
    assert smallest_pvalue(found["rows"], found[draws]) > 0.001 / 108


def test_another_model_is_rejected(found):
    other = {**MODELS, "beta": BetaPredictions(2, 3, Slope(1.7))}
    off = Sweep(other, n=[60, 500], n_bins=[3, 10, 40], estimators=estimators(), n_repeats=400, rng=1, draws="sorted")
    assert smallest_pvalue(found["rows"], off.run(progress=False)["estimate"]) < 0.001 / 108


@dataclass(frozen=True)
class Product(BinnedEstimator):
    """A matrix product, whose bits may depend on how many replicates there are; one value of many cannot be had."""

    binning: cs.Binning
    matrix: tuple = field(default=tuple(np.sin(np.arange(40.0))))

    quantity = "a product"
    estimand = cs.ECE()
    residual_form = "function"

    def functional(self, tally):
        gaps = tally.residual[..., 0]
        return gaps @ np.array(self.matrix[: gaps.shape[-1]])


@pytest.mark.parametrize("draws", WAYS)
def test_bits_do_not_depend_on_blocks(draws):
    swept = estimators() | {"product": lambda b: Product(cs.EqualMass(b))}
    sweep = make(draws, 5, n=[60], n_bins=[3, 40], estimators=swept, n_repeats=70)
    whole = sweep.run(progress=False, block=70)
    assert (whole["status"] == 1).all()
    for block in (1, 9, 64):
        assert_same_bits(whole, sweep.run(progress=False, block=block))


@dataclass(frozen=True)
class Picky(BinnedEstimator):
    """Raises if the first cell of some sample holds many events."""

    binning: cs.Binning

    quantity = "a refusal"
    estimand = cs.ECE()
    residual_form = "function"

    def functional(self, tally):
        first = tally.outcome[..., 0, 0]
        if (first > 1).any():
            raise ZeroDivisionError("on purpose")
        return first


@pytest.mark.parametrize("draws", WAYS)
def test_one_repeat_that_raises_does_not_spoil_its_group(draws):
    swept = {"picky": lambda b: Picky(cs.EqualMass(b)), "ECE": lambda b: cs.ECE(cs.EqualMass(b))}
    sweep = Sweep(OFF, n=[30], n_bins=[3], estimators=swept, n_repeats=64, rng=0, draws=draws)
    found = sweep.run(progress=False, block=32)
    first = found["estimate"].sel(estimator="picky").values.ravel()
    assert 0 < np.isnan(first).sum() < 64
    assert np.nanmax(first) == 1
    assert np.array_equal(np.isnan(found["estimate"].sel(estimator="ECE").values.ravel()), np.isnan(first))
    assert "ZeroDivisionError: on purpose" in found["error"].values[0, 0, 0]
    if draws == "sorted":
        for repeat in range(64):
            sample = sweep.study.draw(repr(OFF), 30, repeat).sample
            cells = cs.EqualMass(3).cut(sample.predictions).index
            events = sample.outcomes[cells == 0].sum()
            assert events == first[repeat] or (events > 1 and np.isnan(first[repeat]))


@pytest.mark.parametrize("draws", WAYS)
def test_more_repeats_keep_the_first(draws):
    first, more = (
        make(draws, 5, n=[60], n_bins=[3, 40], n_repeats=count).run(progress=False)["estimate"] for count in (140, 170)
    )
    assert np.array_equal(first, more.isel(repeat=range(140)))


@pytest.mark.parametrize("draws", slow_but([], WAYS))
def test_many_borders_are_evaluated_in_smaller_groups(draws):
    """Their sums need more memory; values are those of the estimators, and whatever blocks they are computed in."""
    changes = {"n": [50], "n_bins": [10, 3000, 4000], "n_repeats": 60, "estimators": estimators((cs.ECE,))}
    sweep = make(draws, 6, **changes)
    assert Estimates(sweep.study.estimators, 50).lanes == FEW_LANES < LANES
    found = sweep.run(progress=False)
    assert_same_bits(found, make(draws, 6, **changes).run(progress=False, block=7))
    if draws == "rows":
        for repeat in (0, 59):
            sample = sweep.study.draw("beta", 50, repeat).sample
            value = found["estimate"].sel(model="beta", estimator="ECE EqualWidth", n_bins=3000).squeeze()[repeat]
            assert value.item() == pytest.approx(cs.ECE(cs.EqualWidth(3000))(sample), rel=1e-12)


def order_matters(y_true, y_prob):
    return np.corrcoef(np.arange(len(y_prob)), y_prob)[0, 1]


def test_sorted_draws_serve_everything():
    """Rows in random order for those who want rows, sums that others do not need for `PearsonCE`; one data set."""
    sweep = make(
        "sorted",
        2,
        n=[60],
        n_bins=[3, 10],
        estimators=estimators()
        | {"PDE": lambda b: cs.PDE(cs.EqualMass(b)), "order": lambda b: order_matters}
        | {"Pearson": lambda b: cs.PearsonCE(cs.EqualMass(b))}
        | {"top": lambda b: cs.TopLabel() | cs.ECE(cs.EqualMass(b))},
        tests={"ECE": lambda b: (cs.ECE(cs.EqualMass(b)), cs.Consistency(19))},
        n_repeats=40,
    )
    found = sweep.run(progress=False)
    assert (found["error"] == "").all()
    for repeat in (0, 7):
        sample = sweep.study.draw("mixture", 60, repeat).sample
        more = {"PDE": lambda b: cs.PDE(cs.EqualMass(b)), "Pearson": lambda b: cs.PearsonCE(cs.EqualMass(b))}
        for name, thing in {**estimators(), **more}.items():
            at = {"model": "mixture", "estimator": name, "n": 60, "n_bins": 10, "repeat": repeat}
            assert found["estimate"].sel(at).item() == pytest.approx(thing(10)(sample), rel=1e-10), name
    orders = found["estimate"].sel(estimator="order", n_bins=3)
    assert np.abs(orders).max() < 0.7  # 120 correlations of 60 rows; sorted ones would be near 1
    assert found["miscalibration"].sel(model="calibrated").max() < 1e-12


def test_adding_estimators_changes_nothing_of_sorted_draws():
    few = make("sorted", 2, n_repeats=10, estimators=estimators((cs.ECE,))).run(progress=False)["estimate"]
    more = make("sorted", 2, n_repeats=10, n_bins=[3, 7, 10, 40]).run(progress=False)["estimate"]
    assert np.array_equal(few, more.sel(estimator=few["estimator"], n_bins=few["n_bins"]))


@pytest.mark.parametrize("draws", ["rows", "sorted"])
@pytest.mark.parametrize("n", [40, 700])
def test_data_sets_that_are_added_up_together_are_those_drawn_alone(draws, n):
    """A function of rows has each data set drawn alone; the other values keep their bits."""
    together, alone = (
        make(draws, 3, n=[n], n_bins=[3, 10], n_repeats=12, estimators=estimators() | more).run(progress=False)
        for more in ({}, {"order": lambda b: order_matters})
    )
    same = alone["estimate"].sel(estimator=together["estimator"])
    assert np.array_equal(together["estimate"], same)
    assert (together["estimate"] != together["estimate"].isel(repeat=0)).any("repeat").all()


def test_a_model_that_fails_now_and_then_fails_in_that_repeat_alone():
    @dataclass(frozen=True)
    class Failing(SyntheticModel):
        def rows(self, n, rng):
            if rng.random() < 0.2:
                raise ZeroDivisionError("on purpose")
            return OFF.rows(n, rng)

        def population(self, lens, binning=None):
            return OFF.population(lens, binning)

    swept = {"ECE": lambda b: cs.ECE(cs.EqualMass(b))}
    found = Sweep({"m": Failing()}, n=[50], n_bins=[5], estimators=swept, n_repeats=30, rng=0).run(progress=False)
    failed = np.isnan(found["estimate"].values.ravel())
    assert 0 < failed.sum() < 15
    assert f"repeat {failed.argmax()}: ZeroDivisionError: on purpose" == found["error"].values[0, 0, 0]


def test_few_rows_of_cells_are_drawn_one_by_one():
    """Then one data set serves equal mass and equal width: of one row each, both see the same row."""
    cuts = Cuts([cs.EqualMass(2), cs.EqualWidth(2)], 1)
    few = CellLaw(OFF).draw(cuts, 50, np.random.default_rng(0))
    mass, width = (np.diff(few[..., cuts.columns[kind]]).sum(axis=-1) for kind in (cs.EqualMass(2), cs.EqualWidth(2)))
    assert np.array_equal(mass, width)
    many = Cuts([cs.EqualMass(2), cs.EqualWidth(2)], 5000)
    apart = CellLaw(OFF).draw(many, 50, np.random.default_rng(0))
    mass, width = (np.diff(apart[..., many.columns[kind]]).sum(axis=-1) for kind in (cs.EqualMass(2), cs.EqualWidth(2)))
    assert (mass[:, 2] != width[:, 2]).any()


def test_ties_of_sorted_draws_stay_together():
    """A constant model: all rows are one cell."""
    model = GaussianMixture(0, 0)
    sweep = Sweep(model, n=[30], n_bins=[5], estimators=estimators(), n_repeats=5, rng=0, draws="sorted")
    values = sweep.run(progress=False)["estimate"].squeeze()
    for repeat in range(5):
        sample = sweep.study.draw(repr(model), 30, repeat).sample
        value = values.sel(estimator="ECE EqualMass")[repeat].item()
        assert value == pytest.approx(abs(sample.outcomes.mean() - 0.5), rel=1e-12)


# Cells


@pytest.mark.parametrize("squares", [False, True])
def test_laws_of_cells_of_uniform_scores_in_closed_form(squares):
    law = CellLaw(BetaPredictions(1, 1))
    ends = np.array([0, 0.1, 0.5, 0.55, 1])
    cuts = Cuts([cs.EqualWidth(2)], 9, squares=squares)
    cuts.edges = ends[1:-1]
    sums = law._between_places(ends[None] * N_LEVELS, 4 if squares else 2)
    for power in range(sums.degree + 1):
        exact, of_events = (np.diff(ends**k / k) for k in (power + 1, power + 2))
        assert sums.total(power)[0] == pytest.approx(exact, abs=1e-9)
        assert sums.of_events(power)[0] == pytest.approx(of_events, abs=1e-9)
    between = law._between_edges(cuts)
    mass, mean, square = (np.diff(ends**k / k) for k in (1, 2, 3))
    assert between.rows == pytest.approx(mass, abs=1e-12)
    assert between.events == pytest.approx(mean, abs=1e-12)
    assert between.event.mean == pytest.approx(square / mean, abs=1e-12)
    assert between.other.mean == pytest.approx((mean - square) / (mass - mean), abs=1e-12)


@pytest.mark.parametrize("n", slow_but([40], [40, 2000]))
def test_sums_have_the_means_and_covariances_of_samples(n):
    """4000 draws of cells against 4000 samples: each mean and each covariance of four sums in five cells of each kind.

    By four joint standard errors, widened to 4.5 for 2 x 5 x (4 + 10) comparisons.
    """
    model, binnings = BetaPredictions(2, 3, Slope(2)), [cs.EqualMass(5), cs.EqualWidth(5)]
    cuts, law = Cuts(binnings, n), CellLaw(model)
    drawn = cuts.empty((4000,))  # whole, however few the rows
    law._by_rank(cuts, drawn[..., : len(cuts.ranks)], generator := np.random.default_rng(0))
    law._by_edge(cuts, drawn[..., len(cuts.ranks) :], generator)
    generator = np.random.default_rng(1)
    direct = np.empty_like(drawn)
    for repeat in range(4000):
        sample = model.sample(n, generator)
        event = sample.predictions.event
        order = np.argsort(event)
        direct[repeat] = cuts.sums(event[order], sample.outcomes[order] == 1)[0]
    for binning in binnings:
        first, second = (np.diff(sums[..., cuts.columns[binning]]) for sums in (drawn, direct))
        assert np.array_equal(first[:, 0].sum(axis=-1), np.full(4000, n))
        for cell in range(5):
            compare(moments(first[..., cell]), moments(second[..., cell]))


def moments(sums):
    """Return (draws, 4 + 10) values whose means are the means and covariances of four sums."""
    gaps = sums - sums.mean(axis=0)
    return np.concatenate(
        [sums, np.stack([gaps[:, i] * gaps[:, j] for i in range(4) for j in range(i, 4)], axis=1)], axis=1
    )


def compare(first, second):
    error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / len(first))
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0))
    assert (gap <= 4.5 * error + 1e-9).all()


def test_cells_are_refused_where_rows_are_needed():
    with pytest.raises(ValueError, match="tests= needs rows"):
        make("cells", 0, tests={"ECE": cs.ECE()})
    with pytest.raises(ValueError, match="interval= needs rows"):
        make("cells", 0, interval=lambda *_: None)
    for needs_rows in (cs.PDE(), cs.ECE(cs.FixedEdges([0, 1])), cs.TopLabel() | cs.ECE(), lambda b: order_matters):
        with pytest.raises(ValueError, match=r"estimators\['e'\] needs rows"):
            make("cells", 0, estimators={"e": needs_rows})
    cells = cs.HosmerLemeshow(), cs.PDE(cs.EqualWidth(5)), BrierDecomposition(), cs.ECE(cs.UniqueValues())
    for other in cells:
        with pytest.raises(ValueError, match=r"\['e'\] needs rows.* only .*residuals.*BinnedEstimator.*without a lens"):
            make("cells", 0, estimators={"e": other})
    for draws in ("sorted", "cells"):
        with pytest.raises(ValueError, match="does not know the quantiles"):
            Sweep(FinitePredictions([0.2], [0.3]), n=[9], estimators={"ECE": cs.ECE()}, draws=draws)
    with pytest.raises(ValueError, match="equal predictions"):
        Sweep(GaussianMixture(0, 0), n=[9], estimators={"ECE": cs.ECE()}, draws="cells")
    with pytest.raises(ValueError, match="draws is 'cell'"):
        make("cell", 0)


def test_stores_know_how_data_were_drawn(tmp_path):
    make("sorted", 0, n_repeats=5).run(store=tmp_path / "s", progress=False)
    with pytest.raises(ValueError, match="another study: draws was 'sorted'"):
        make("rows", 0, n_repeats=5).run(store=tmp_path / "s", progress=False)
