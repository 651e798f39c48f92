"""An audit by a learner, on its own terms: plain loops, all labels enumerated, and what the learner is shown."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import combine_pvalues
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import calibstat as cs
from calibstat.auditing.learner import _blocks, learner_audit
from calibstat.auditing.leaves import rounded
from calibstat.inference.finite import chance_bounds
from calibstat.nulls.multiplier import Multiplier

LINE = LinearRegression()
FAST = {"learner": LINE, "n_resamples": 99, "rng": 0}


def world(n=600, shift=0.0, seed=0, weighted=False):
    """Too low by `shift` in the north for women; `row` numbers the rows."""
    rng = np.random.default_rng(seed)
    p, age = rng.uniform(0.2, 0.7, n), rng.integers(20, 80, n)
    sex, region = rng.choice(["f", "m"], n), rng.choice(["north", "south", "west"], n)
    happened = rng.random(n) < p + shift * ((sex == "f") & (region == "north"))
    weights = rng.uniform(0.5, 2, n) if weighted else None
    variables = {"age": age, "sex": sex, "region": region, "row": np.arange(n)}
    return cs.Sample(happened, p, variables=variables, sample_weight=weights, labels=[False, True])


class Spy(RegressorMixin, BaseEstimator):
    """Learns the mean, and keeps what it was shown in a list that clones share."""

    shown: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.shown.append((X, y, sample_weight))
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_) + X[:, 1] / 100


@pytest.fixture
def spied(monkeypatch):
    monkeypatch.setattr(Spy, "shown", [])
    return Spy.shown


# The p-value


@pytest.mark.parametrize("weighted", [False, True])
def test_each_pvalue_is_that_of_all_labels_of_its_block_in_plain_loops(weighted):
    sample, n_blocks, n_resamples = world(24, weighted=weighted, seed=5), 2, 4999
    found = learner_audit(sample, "age", learner=LINE, n_blocks=n_blocks, min_size=8, n_resamples=n_resamples, rng=3)
    home = _blocks(sample.predictions, n_blocks, 8, np.random.default_rng(3))
    p, y, age = sample.predictions.event, sample.outcomes, sample.predictions.variables["age"].values
    w = sample.predictions.weights if weighted else np.ones(24)
    for block in (1, 2):
        past = [i for i in range(24) if home[i] < block]
        now = [i for i in range(24) if home[i] == block]
        line = LinearRegression().fit(
            [[p[i], age[i]] for i in past], [y[i] - p[i] for i in past], sample_weight=[w[i] for i in past]
        )
        g = line.predict([[p[i], age[i]] for i in now])
        observed = sum(w[i] * each * (y[i] - p[i]) for i, each in zip(now, g, strict=True))
        exact = 0.0
        for labels in product([0, 1], repeat=len(now)):
            chance = np.prod([p[i] if label else 1 - p[i] for i, label in zip(now, labels, strict=True)])
            drawn = sum(w[i] * each * (label - p[i]) for i, each, label in zip(now, g, labels, strict=True))
            exact += chance * (drawn >= observed - 1e-12)
        error = np.sqrt(exact * (1 - exact) / n_resamples)
        assert abs(found.block_pvalues[block - 1] - exact) < 4 * error + 1 / n_resamples
    combined = combine_pvalues(found.block_pvalues, "fisher")
    assert tuple(found) == pytest.approx((combined.statistic, combined.pvalue))


def test_a_learner_has_seen_the_blocks_before_and_no_row_that_it_is_tested_on(spied):
    sample = world(603, weighted=True)
    found = learner_audit(sample, ["age", "row"], **FAST | {"learner": Spy()})
    rows = [set(X[:, 2].astype(int)) for X, _, _ in spied]
    assert [len(each) for each in rows] == [101, 201, 302, 402]
    assert all(before < after for before, after in pairwise(rows))
    last = np.array(sorted(set(range(603)) - rows[-1]))
    assert (found.n_unseen, sum(leaf.n for leaf in found.leaves)) == (201, 2 * 201)  # the tree, and two signs
    for X, residuals, weights in spied:
        row = X[:, 2].astype(int)
        np.testing.assert_allclose(residuals, sample.outcomes[row] - sample.predictions.event[row])
        np.testing.assert_array_equal(weights, sample.predictions.weights[row])
    # Other labels of the last block change its p-value and its leaves, and nothing else.
    outcomes = sample.outcomes.copy()
    outcomes[last] = 1 - outcomes[last]
    other = learner_audit(cs.Sample.of(sample.predictions, outcomes), ["age", "row"], **FAST | {"learner": Spy()})
    assert other.block_pvalues[:-1] == found.block_pvalues[:-1]
    assert other.block_pvalues[-1] != found.block_pvalues[-1]
    assert {leaf.conditions for leaf in other.leaves} == {leaf.conditions for leaf in found.leaves}


def test_the_same_rng_gives_the_same_and_the_learner_is_left_as_it_was():
    learner = DecisionTreeRegressor(max_features=1, max_depth=2)
    first, second, third = (
        learner_audit(world(), **FAST | {"learner": learner, "rng": seed}).to_dict() for seed in (1, 1, 2)
    )
    assert first == second != third
    assert learner.random_state is None
    assert not hasattr(learner, "tree_")


def test_clusters_stay_in_one_block_and_have_no_intervals():
    rng = np.random.default_rng(0)
    patient = np.arange(600) // 4
    p = rng.uniform(0.2, 0.8, 600)
    sample = cs.Sample(rng.random(150)[patient] < p, p, variables={"age": rng.random(600)}, groups=patient)
    home = _blocks(sample.predictions, 5, 50, rng)
    assert all(len(set(home[patient == each])) == 1 for each in range(150))
    assert list(np.bincount(home)) == [80] * 5 + [200]
    found = learner_audit(sample, **FAST | {"null": Multiplier(99), "n_resamples": None})
    assert found.variables == ("age",)
    assert all(leaf.confidence_interval is None for leaf in found.leaves)
    assert "150 clusters" in str(found)
    lax = learner_audit(sample, learner=LINE, null=Multiplier(99), level=0.999, rng=0)
    assert f"where {lax.leaves[0].name}: {lax.leaves[0].mean_prediction:.3f} predicted" in lax.verdict
    assert lax.verdict.endswith("happened, without an interval.")
    assert "for each value of 'groups'" in found.hypothesis
    with pytest.raises(ValueError, match=r"100 clusters are too few for 6 blocks .n_blocks. of at least 12 clusters"):
        learner_audit(sample.take(patient < 100), learner=LINE, n_blocks=6, null=Multiplier(99))


# Where


def test_the_default_finds_who_is_off_and_in_which_direction():
    sample = world(2000, shift=0.3)
    found = learner_audit(sample, ["sex", "region"], n_blocks=3, n_resamples=199, rng=0)
    assert found.pvalue < 1e-4
    first = found.rejected[0]
    assert set(first.conditions) >= {"sex f", "region north"}
    assert first.direction == "predicts too low"
    low, high = first.confidence_interval
    assert 0 < low < 0.3 < high
    assert found.verdict.startswith("P(True) predicts too low by 0.")
    assert found.verdict.endswith(f"(p = {found.pvalue:.3g}).")
    assert found.to_frame().loc[first.name, "low"] == low
    assert sum(leaf.n for leaf in found.leaves) == 2 * found.n_unseen
    ends = {leaf.name: leaf.error for leaf in found.leaves if leaf.name.startswith("learned error")}
    assert ends["learned error above 0"] > ends["learned error at most 0"]
    calm = learner_audit(world(600, seed=1), ["sex", "region"], **FAST)
    assert calm.verdict.startswith(
        "Calibration of P(True) given the prediction, sex, region is not rejected at 5 % (p = "
    )
    assert not calm.rejected


def enumerated_errors(chances, weights, tail):
    """How often each bound misses the mean chance, over all labels of these chances."""
    n, missed = len(chances), np.zeros(2)
    truth = np.average(chances, weights=weights)
    for labels in product([0, 1], repeat=n):
        y = np.array(labels)
        sample = cs.Sample(y, np.full(n, 0.5), sample_weight=weights, labels=[0, 1])
        low, high = chance_bounds(sample, float(np.average(y, weights=weights)), tail)
        missed += np.prod(np.where(y, chances, 1 - chances)) * np.array([low > truth + 1e-12, high < truth - 1e-12])
    return missed


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_of_a_mean_chance_hold_for_all_labels(weighted):
    rng, worst = np.random.default_rng(0), 0.0
    for a in (0.05, 0.3, 1.0):
        for _ in range(2):
            chances = rng.beta(a, 1, 5)
            weights = rng.lognormal(0, 1, 5) if weighted else None
            missed = enumerated_errors(chances, weights, 0.1)
            worst = max(worst, *missed)
            assert (missed <= 0.1).all()
    assert worst > (0.0 if weighted else 0.02)


def test_one_event_among_unequal_chances_is_where_binomial_bounds_need_care():
    """The chance of any event is at most the sum of the chances; a binomial of the same mean has less."""
    tail, n = 0.1, 5
    chances = np.array([tail + 1e-9, 0, 0, 0, 0])
    one = cs.Sample([1, 0, 0, 0, 0], np.full(n, 0.5))
    assert chance_bounds(one, 0.2, tail)[0] <= chances.mean()
    plain = 1 - (1 - tail) ** (1 / n)  # Clopper & Pearson
    assert plain > chances.mean()


def test_thresholds_are_written_with_few_digits_and_hardly_move_a_row():
    for values, cut, expected in [
        ([61.0, 62.0, 63.0], 62.5, 62.0),
        ([0.31, 0.3237], 0.31685, 0.32),
        ([-2.0, 3.0], 0.5, 0.5),
        ([1e7, 1e7 + 1], 1e7 + 0.5, 1e7),
        (np.linspace(0, 1, 2001), 0.43374, 0.43),
        (np.linspace(0, 1, 2001), 0.4379, 0.44),
        (np.linspace(0, 1, 100), 0.43374, 0.43),
    ]:
        found = rounded(np.array(values), cut, moved=0.005)
        assert found == expected
        assert np.mean((np.array(values) <= found) != (np.array(values) <= cut)) <= 0.005


def test_the_words_of_a_leaf_say_which_rows_it_holds():
    sample = world(1200, shift=0.4, seed=2)
    found = learner_audit(sample, ["age", "sex"], **FAST | {"learner": DecisionTreeRegressor(max_depth=3)})
    home = _blocks(sample.predictions, 4, 50, np.random.default_rng(0))
    known = {name: each.values for name, each in sample.predictions.variables.items()}
    known |= {"prediction": sample.predictions.event}
    assert len(found.leaves) > 1
    for leaf in found.leaves:
        if leaf.name.startswith("learned error"):
            continue
        rows = home == 4
        for words in leaf.conditions:
            name, _, rest = words.partition(" ")
            if name == "sex":
                rows &= known["sex"] == "fm".index(rest)
            elif " to " in rest:
                rows &= (known[name] > float(rest.split()[0])) & (known[name] <= float(rest.split()[2]))
            else:
                rows &= (known[name] > float(rest.split()[-1])) == (rest.startswith("above"))
        assert (leaf.n, leaf.mean_outcome) == (rows.sum(), pytest.approx(sample.outcomes[rows].mean()))
        assert leaf.mean_prediction == pytest.approx(sample.predictions.event[rows].mean())


# Variables


def test_strings_and_missing_values_of_a_data_frame_are_learned_from(spied):
    rng, n = np.random.default_rng(1), 360
    p = rng.uniform(0.2, 0.8, n)
    site = pd.Series(rng.choice(["a", "b", "c"], n)).where(rng.random(n) > 0.2)
    age = pd.Series(rng.normal(50, 9, n)).where(rng.random(n) > 0.1)
    frame = pd.DataFrame({"site": site, "age": age, "old": rng.random(n) > 0.5})
    sample = cs.Sample(rng.random(n) < p, p)
    with pytest.raises(ValueError, match=r"variables: variable 'site' is missing in \d+ of 360 rows"):
        learner_audit(sample, frame, **FAST)
    found = learner_audit(sample, frame, missing="level", **FAST | {"learner": Spy()})
    X = spied[0][0]
    assert X.shape[1] == 1 + 4 + 2 + 1  # prediction; levels and missing; age and missing; one of two levels
    assert np.isfinite(X).all()
    assert set(np.unique(X[:, 1:5].sum(axis=1))) == {1.0}
    assert found.variables == ("site", "age", "old")


def test_without_variables_the_prediction_alone_is_learned_from(spied):
    p = np.random.default_rng(0).uniform(0.2, 0.8, 400)
    squeezed = cs.Sample(np.random.default_rng(1).random(400) < 0.5, p)
    found = learner_audit(squeezed, min_size=20, **FAST)
    assert found.pvalue < 0.05
    assert found.leaves[0].conditions[0].startswith("prediction ")
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    assert learner_audit(squeezed, min_size=20, **FAST | {"learner": pipeline}).pvalue == found.pvalue


def test_rows_of_weight_zero_are_left_out_and_a_common_factor_changes_nothing():
    sample = world(400)
    weights = np.r_[np.ones(350), np.zeros(50)]
    rows = {"y_true": sample.outcomes, "y_prob": sample.predictions.event, "labels": [0, 1]}
    whole = learner_audit(cs.Sample(**rows, sample_weight=weights * 3), **FAST)
    assert (whole.n, sum(leaf.n for leaf in whole.leaves)) == (350, 2 * whole.n_unseen)
    plain = learner_audit(cs.Sample(**{k: v if k == "labels" else v[:350] for k, v in rows.items()}), **FAST)
    assert whole.pvalue == plain.pvalue


# What is refused


class Wrong(Spy):
    """Predicts no number."""

    def predict(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"learner": LinearRegression}, TypeError, "with fit and predict is expected"),
        ({"learner": LogisticRegression()}, TypeError, "a regressor .not a classifier. with fit"),
        ({"learner": Wrong()}, ValueError, "numbers that are not finite"),
        ({"n_blocks": 0}, ValueError, "n_blocks is 0; it must be an integer of at least 1"),
        ({"n_blocks": 30}, ValueError, r"600 rows are too few for 30 blocks .n_blocks. of at least 50 rows"),
        ({"n_resamples": 1}, ValueError, "with n_blocks=4 no p-value could be 0.05 or less.*at least 6 "),
        ({"null": "asymptotic"}, ValueError, "null is Asymptotic"),
        ({"null": cs.Consistency(99, resample_predictions=True)}, ValueError, "tested on redrawn labels"),
        ({"lens": cs.Given("age")}, ValueError, "given 'age': look through"),
        ({"variables": "height"}, ValueError, "variables: the sample has no variable 'height'"),
        ({"level": 5}, ValueError, "level is 5"),
    ],
)
def test_what_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        learner_audit(world(), **{"learner": LINE, "rng": 0} | options)


def test_more_outcomes_need_a_lens():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 400)
    sample = cs.Sample(rng.integers(0, 3, 400), p)
    with pytest.raises(ValueError, match=r"it sees 3 given the prediction: look through TopLabel\(\)"):
        learner_audit(sample, **FAST)
    found = learner_audit(sample, lens=cs.TopLabel(), **FAST)
    assert "overconfident by" in found.verdict
    assert "TopLabel()" in found.hypothesis


def test_a_variable_may_hold_numbers_beyond_single_precision():
    rows = world()
    huge = {"huge": np.where(np.arange(600) % 2 == 0, 1e300, 1.0)}
    sample = cs.Sample(rows.outcomes, rows.predictions.event, variables=huge, labels=[0, 1])
    assert 0 < learner_audit(sample, **FAST).pvalue <= 1
