"""Leaves of a tree as a calibration table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import rel_entr
from scipy.stats import beta
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from registered.entries import TREE

# In the leaf age <= 2.5; above, score <= 0.45; above both.
SAMPLE = cs.Sample(
    [0, 1, 0, 1, 1, 0, 1, 1],
    [0.3, 0.4, 0.2, 0.4, 0.4, 0.9, 0.7, 0.8],
    variables={"age": [1, 2, 2, 3, 4, 5, 3, 4], "score": [0.9, 0.1, 0.5, 0.1, 0.4, 0.5, 0.6, 0.9]},
)


def world(n=3000, seed=0):
    """Predictions that are too low where x > 0.6 and sex is f."""
    rng = np.random.default_rng(seed)
    x, sex, p = rng.random(n), rng.choice(["f", "m"], n), rng.uniform(0.2, 0.7, n)
    steps = {"kind": rng.integers(1, 4, n), "flag": rng.integers(0, 2, n)}
    off = np.where((x > 0.6) & (sex == "f"), 0.25, 0)
    return cs.Sample(rng.random(n) < p + off, p, variables={"x": x, "sex": sex, **steps})


def test_a_small_table_by_hand():
    found = cs.leaf_table(SAMPLE, TREE, variables=("age", "score"))
    assert [leaf.conditions for leaf in found.leaves] == [
        ("age at most 2",),
        ("age above 2", "score at most 0.4"),
        ("age above 2", "score above 0.4"),
    ]
    assert [leaf.n for leaf in found.leaves] == [3, 2, 3]
    np.testing.assert_allclose([leaf.mean_prediction for leaf in found.leaves], [0.3, 0.4, 0.8])
    np.testing.assert_allclose([leaf.mean_outcome for leaf in found.leaves], [1 / 3, 1, 2 / 3])
    noise = [np.sqrt(0.3 * 0.7 + 0.4 * 0.6 + 0.2 * 0.8) / 3, np.sqrt(0.12), np.sqrt(0.09 + 0.21 + 0.16) / 3]
    np.testing.assert_allclose([leaf.noise for leaf in found.leaves], noise)


def test_intervals_are_binomial_and_hold_together():
    found = cs.leaf_table(SAMPLE, TREE, variables=("age", "score"), confidence_level=0.9)
    tail = (1 - 0.9 ** (1 / 3)) / 2
    for leaf in found.leaves:
        k = round(leaf.mean_outcome * leaf.n)
        low = beta.ppf(tail, k, leaf.n - k + 1) if k > 1 else -np.expm1(np.log1p(-tail) / leaf.n) if k else 0
        high = beta.ppf(1 - tail, k + 1, leaf.n - k) if k < leaf.n else 1
        assert leaf.confidence_interval[1] == pytest.approx(high - leaf.mean_prediction, abs=2e-3)
        assert leaf.confidence_interval[0] == pytest.approx(low - leaf.mean_prediction, abs=2e-3)


def test_two_leaves_and_a_binning_are_the_same_as_arguments():
    top = cs.leaf_table(SAMPLE, TREE, variables=("age", "score"), n_leaves=2)
    assert [leaf.name for leaf in top.leaves] == ["age at most 2", "age above 2"]
    binning = cs.TreeLeaves(TREE, ("age", "score"), 2)
    assert cs.leaf_table(SAMPLE, binning).to_dict() == top.to_dict()
    with pytest.raises(ValueError, match="leave out variables and n_leaves"):
        cs.leaf_table(SAMPLE, binning, n_leaves=2)


def test_rows_of_a_leaf_are_those_that_its_words_say():
    sample = world()
    columns = pd.DataFrame({name: sample.predictions.variables[name].values for name in ("x", "kind", "flag")})
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=40, random_state=0).fit(columns, sample.outcomes)
    found = cs.leaf_table(sample, model)
    assert len(found.leaves) == model.get_n_leaves() > 6
    for leaf in found.leaves:
        inside = np.ones(len(sample), dtype=bool)
        named = []
        for words in leaf.conditions:
            name, *rest = words.split()
            named.append(name)
            values = columns[name].to_numpy()
            match rest:
                case ["at", "most", high]:
                    inside &= values <= float(high)
                case ["above", low]:
                    inside &= values > float(low)
                case [low, "to", high]:
                    inside &= (values > float(low)) & (values <= float(high))
                case [only]:
                    inside &= values == float(only)
        assert len(set(named)) == len(named)  # one condition for each variable
        assert inside.sum() == leaf.n
        assert leaf.mean_outcome == pytest.approx(sample.outcomes[inside].mean())
    assert sum(leaf.n for leaf in found.leaves) == len(sample)


def test_differences_are_the_terms_of_the_expected_error():
    sample = world()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        np.ones((9, 1)) * np.arange(9)[:, None] / 9, [0, 1, 1] * 3
    )
    found = cs.leaf_table(sample, model, variables="x")
    mean = sum(leaf.n * abs(leaf.error) for leaf in found.leaves) / len(sample)
    assert cs.ECE(cs.TreeLeaves(model, "x"))(sample) == pytest.approx(mean)


def test_what_is_off_is_found_and_told():
    found = cs.grow_leaf_table(world(8000), ["x", "sex"], max_depth=2, rng=0)
    first, *_ = found.rejected
    assert first.direction == "predicts too low"
    assert set(first.conditions) >= {"sex f"}
    assert found.verdict.startswith("P(True) is off in ")
    assert f"where {first.name}." in found.verdict
    fair = cs.Sample(np.random.default_rng(3).random(900) < 0.4, np.full(900, 0.4), variables={"x": np.arange(900)})
    none = cs.grow_leaf_table(fair, rng=0)
    assert not none.rejected
    assert none.verdict.startswith("Calibration of P(True) is not rejected at 5 % in any of ")


@pytest.mark.parametrize("width", [80, 120])
def test_the_text_fits(width):
    sample = world()
    long = {
        "a very long name of a laboratory value": sample.predictions.variables["x"].values,
        "y" * 50: np.arange(3000),
    }
    for table in (cs.grow_leaf_table(sample, rng=0), cs.grow_leaf_table(sample, long, rng=0, min_size=100)):
        assert max(map(len, table.to_text(width).splitlines())) <= width
        assert len(table.leaves) > 4
    assert "a very long name" in str(table)


def test_the_frame_has_a_row_for_each_leaf():
    found = cs.leaf_table(SAMPLE, TREE, variables=("age", "score"))
    frame = found.to_frame()
    assert frame.index.tolist() == [leaf.name for leaf in found.leaves]
    assert frame.columns.to_list() == [
        *("n", "mean_prediction", "mean_outcome", "error", "noise", "low", "high", "direction")
    ]


def test_a_tree_has_not_seen_the_rows_that_judge_it():
    sample = world(1000)
    found = cs.grow_leaf_table(sample, ["x"], max_depth=2, share=0.3, rng=5)
    order = cs.as_generator(5).permutation(1000)
    grown, unseen = order[:300], order[300:]
    x = sample.predictions.variables["x"].values[:, None]
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=round(50 * 3 / 7), random_state=0)
    model.fit(x[grown], sample.outcomes[grown])
    expected = cs.leaf_table(sample.take(unseen), model, variables="x")
    assert [leaf.to_dict() for leaf in found.leaves] == [leaf.to_dict() for leaf in expected.leaves]
    assert found.n == 700
    assert "grown on 300 others" in " ".join(found.to_text(verbose=True).split())


def test_missing_values_categories_and_weights():
    sample = world(2000)
    x, sex = sample.predictions.variables["x"].values.copy(), np.where(sample.outcomes == 1, "late", "early")
    x[::3] = np.nan
    columns = {"x": x, "when": np.where(np.arange(2000) % 7 == 0, "never", sex)}
    with pytest.raises(ValueError, match="is missing in 667 of 2000 rows"):
        cs.grow_leaf_table(sample, columns, rng=0)
    found = cs.grow_leaf_table(sample, columns, missing="level", max_depth=3, rng=0)
    words = {words for leaf in found.leaves for words in leaf.conditions}
    assert {"when late", "when not late"} <= words
    weights = np.arange(2000) % 3.0
    weighted = cs.Sample(sample.outcomes, sample.y_prob[:, 1], variables={"x": np.arange(2000)}, sample_weight=weights)
    heavy = cs.leaf_table(
        weighted, TREE | {"left": [1, -1, -1, -1, -1], "threshold": [999.5, 0, 0, 0, 0]}, variables=["x", "x"]
    )
    rows = (np.arange(2000) <= 999) & (weights > 0)
    assert heavy.leaves[0].n == rows.sum()
    assert heavy.leaves[0].mean_outcome == pytest.approx(np.average(sample.outcomes[rows], weights=weights[rows]))


def test_numbers_of_any_size_can_be_split():
    sample = world(400)
    found = cs.grow_leaf_table(sample, {"x": np.where(sample.outcomes == 1, 1e300, -1e300)}, max_depth=1, rng=0)
    assert [leaf.mean_outcome for leaf in found.leaves] == pytest.approx([0, 1])


def test_leaves_without_a_row_are_told():
    young = SAMPLE.take(SAMPLE.predictions.variables["age"].values < 3)
    found = cs.leaf_table(young, TREE, variables=("age", "score"))
    assert [leaf.n for leaf in found.leaves] == [3]
    assert found.notes == ("2 of 3 leaves have no row here",)
    assert "in the one leaf (n = 3)" in found.verdict


def test_the_prediction_can_be_split_and_a_lens_looked_through():
    three = cs.Sample([0, 1, 2] * 40, np.tile([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]], (60, 1)))
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0.55] * 3}
    found = cs.leaf_table(three, tree, variables=[...], lens=cs.TopLabel())
    assert [leaf.name for leaf in found.leaves] == ["prediction 0.5", "prediction 0.6"]
    assert {leaf.direction for leaf in found.leaves} <= {"", "overconfident"}
    with pytest.raises(ValueError, match="two outcomes, but through Canonical"):
        cs.leaf_table(three, tree, variables=[...])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_depth": 0}, ValueError, "max_depth is 0"),
        ({"share": 1.5}, ValueError, "share is 1.5"),
        (
            {"min_size": 400},
            ValueError,
            "min_size is 400, but 300 of 600 rows, on which the tree is grown, are too few",
        ),
        ({"variables": []}, ValueError, "variables is empty"),
        ({"variables": "age"}, ValueError, "variables: the sample has no variable 'age'"),
        ({"confidence_level": 95}, ValueError, "confidence_level is 95"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        cs.grow_leaf_table(world(600), **{"rng": 0} | options)


@pytest.mark.parametrize("weights", [None, "varied"])
def test_an_error_of_all_rows_is_no_error_of_a_leaf(weights):
    """A rare event of three times the predicted chance everywhere; then of six times in one leaf."""
    rng = np.random.default_rng(0)
    n = 40_000
    p, age = rng.uniform(0.001, 0.003, n), rng.uniform(20, 80, n)
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [60.0, 0, 0]}
    weight = None if weights is None else rng.uniform(0.5, 1.5, n)

    def found(times):
        happened = rng.random(n) < times * p
        return cs.leaf_table(
            cs.Sample(happened, p, variables={"age": age}, sample_weight=weight), tree, variables="age"
        )

    alike = found(3)
    assert alike.rejected
    assert alike.verdict.startswith("P(True) predicts too low by 0.0")
    assert "over all rows; in none of 2 leaves is there evidence of another error than this" in alike.verdict
    assert alike._table()[1][-1] == "all rows"
    own = found(np.where(age > 60, 9, 1))
    assert "most clearly it predicts too low" in own.verdict
    assert "where age above 60. Over all rows it predicts too low by 0.0" in own.verdict


@pytest.mark.slow
def test_leaves_with_the_error_of_all_rows_are_seldom_apart():
    """At most 5 percent, by the interval of a leaf as it is scaled for a difference; up to 4 standard errors."""
    runs, named = 400, 0
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0.3, 0, 0]}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        p, x = rng.uniform(0.1, 0.6, 1000), rng.random(1000)
        sample = cs.Sample(rng.random(1000) < p + 0.1, p, variables={"x": x})
        named += any(cs.leaf_table(sample, tree, variables="x").apart)
    assert named / runs <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)


def test_an_unfitted_tree_is_refused():
    with pytest.raises(ValueError, match="has no tree_: fit it first"):
        cs.leaf_table(SAMPLE, DecisionTreeClassifier())
    with pytest.raises(ValueError, match="the sample has no such variable"):
        cs.leaf_table(SAMPLE, TREE, variables=("age", "bmi"))


def visits(number, times, groups=True):
    """Patients of two ages, each of whom is seen so many times with one outcome."""
    rng = np.random.default_rng(3)
    rows = np.repeat(np.arange(number), times)
    age = rng.choice([40.0, 60.0], number)
    happened = (rng.random(number) < np.where(age > 50, 0.9, 0.5))[rows]
    more = {"groups": rows} if groups else {}
    return cs.Sample(happened, np.full(len(rows), 0.5), variables={"age": age[rows]}, **more)


SPLIT = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [50.5, 0, 0]}


def test_a_leaf_of_clusters_says_no_more_than_as_many_rows():
    one, many, blind = (
        cs.leaf_table(visits(80, times, groups), SPLIT, variables="age").leaves[1]
        for times, groups in ((1, False), (10, True), (10, False))
    )
    widths = [np.ptp(leaf.confidence_interval) for leaf in (one, many, blind)]
    assert widths[0] < widths[1] < 1.3 * widths[0]
    assert widths[2] < 0.5 * widths[0]
    assert 0.7 < many.noise / one.noise < 1.4
    assert many.direction == "predicts too low"


def test_a_bound_of_clusters_is_where_their_divergence_is_the_budget():
    sample = visits(40, 5)
    found = cs.leaf_table(sample, SPLIT, variables="age")
    for leaf in found.leaves:
        low = leaf.confidence_interval[0] + leaf.mean_prediction
        seen = min(leaf.mean_outcome, 1.0)
        far = rel_entr(seen, low) + rel_entr(1 - seen, 1 - low)
        assert leaf.n / 5 * far == pytest.approx(-np.log(0.05 / 2 / 2), rel=1e-6)
    assert "40 clusters (groups): intervals hold however their rows are alike" in found.to_text()
    assert found.to_dict()["n_clusters"] == 40


def test_a_leaf_where_it_always_happens_is_bounded_from_below():
    """Its mean may be above one by rounding."""
    weights = np.full(30, 0.1)
    sample = cs.Sample(np.ones(30), np.full(30, 0.5), labels=[0, 1], sample_weight=weights, groups=np.arange(30) // 3)
    low, high = cs.leaf_table(sample, SPLIT, variables=[...]).overall.confidence_interval
    assert low == pytest.approx(0.025 ** (1 / 10) - 0.5)
    assert high == 0.5


def test_a_tree_is_grown_and_judged_on_whole_clusters():
    sample = visits(200, 4)
    found = cs.grow_leaf_table(sample, max_depth=1, rng=0)
    assert (found.clusters.number, found.n) == (100, 400)
    assert [leaf.name for leaf in found.leaves] == ["age 40", "age 60"]
