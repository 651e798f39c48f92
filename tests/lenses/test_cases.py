"""What each lens shows, by hand; and what it says when it does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from registry import make_sample, older

ROWS = [[0.2, 0.2, 0.6], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]]
LABELS = ["dog", "cat", "car"]


@pytest.fixture
def pets() -> cs.Sample:
    return cs.Sample(["car", "cat", "dog", "dog"], ROWS, labels=LABELS, variables={"age": [1, 2, 3, 4]})


def test_top_label_takes_the_first_of_equal_probabilities(pets):
    seen = cs.TopLabel()(pets)
    assert seen.outcomes.tolist() == [1, 0, 0, 1]
    np.testing.assert_allclose(seen.predictions.event, [0.6, 0.4, 0.8, 1.0])
    assert seen.labels == ("other", "top")


def test_predictions_equally_far_from_one_half_have_one_confidence():
    """1 - 0.32 is not 0.68 in floats: cells of equal mass would take them for two predictions."""
    scores = np.repeat(np.arange(1, 100) / 100, 4)
    seen = cs.TopLabel()(cs.Sample(np.tile([0, 1], 198), scores))
    assert len(np.unique(seen.predictions.event)) == 50
    np.testing.assert_allclose(seen.predictions.event, np.maximum(scores, 1 - scores), rtol=0, atol=5e-16)


def test_top_k_ranks_the_first_of_equal_probabilities_first(pets):
    seen = cs.TopK(2)(pets)
    assert seen.outcomes.tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(seen.y_prob, [[0.2, 0.6, 0.2], [0.2, 0.4, 0.4], [0.1, 0.8, 0.1], [0, 1, 0]], atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_top_1_is_the_top_label(n_classes):
    sample = make_sample(n_classes)
    first, second = cs.TopK(1)(sample), cs.TopLabel()(sample)
    np.testing.assert_array_equal(first.outcomes, second.outcomes)
    np.testing.assert_array_equal(first.y_prob, second.y_prob)
    assert first.labels == second.labels
    estimator = cs.ECE(cs.EqualMass(5))
    assert (cs.TopK(1) | estimator)(sample) == (cs.TopLabel() | estimator)(sample)


@pytest.mark.parametrize(("label", "column"), [("dog", 0), ("cat", 1), ("car", 2)], ids=["first", "second", "third"])
def test_class_wise_takes_labels(pets, label, column):
    seen = cs.ClassWise(label)(pets)
    assert seen.outcomes.tolist() == (pets.outcomes == column).astype(int).tolist()
    np.testing.assert_array_equal(seen.predictions.event, np.array(ROWS)[:, column])
    assert seen.labels[1] == label


def test_integer_labels_are_labels_too_never_positions():
    sample = cs.Sample([7, 3, 7, 5], ROWS, labels=[7, 3, 5])
    np.testing.assert_array_equal(cs.ClassWise(3)(sample).predictions.event, np.array(ROWS)[:, 1])
    np.testing.assert_allclose(cs.Partition([[3], [5, 7]])(sample).y_prob[:, 0], np.array(ROWS)[:, 1])
    with pytest.raises(ValueError, match=r"1 is not a label of this sample, whose classes are \(7, 3, 5\)"):
        cs.ClassWise(1)(sample)
    with pytest.raises(ValueError, match="not a class"):
        cs.Partition([[0], [1, 2]])(sample)


def test_partition_codes_groups_in_the_order_given(pets):
    seen = cs.Partition([["car"], ["cat", "dog"]])(pets)
    assert seen.outcomes.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(seen.y_prob, [[0.6, 0.4], [0.2, 0.8], [0.1, 0.9], [0, 1]])
    assert seen.labels == ("car", "cat or dog")


def test_groups_have_names():
    classes = ["plane", "cat", "dog", "bird", "truck"]
    sample = cs.Sample(["cat", "bird"], np.full((2, 5), 0.2), labels=classes)

    def named(groups):
        return cs.Partition(groups)(sample).labels

    assert named([["cat", "dog", "bird"], ["plane", "truck"]]) == ("cat to bird", "plane or truck")
    assert named([["bird", "cat", "dog", "plane"], ["truck"]]) == ("bird and 3 others", "truck")
    lens = cs.Partition({"animal": ("cat", "dog", "bird"), "4 wheels": "truck", 3: ["plane"]})
    assert lens(sample).labels == ("animal", "4 wheels", 3)
    np.testing.assert_allclose(lens(sample).y_prob[0], [0.6, 0.2, 0.2])
    assert eval(repr(lens), {"Partition": cs.Partition}) == lens != cs.Partition(lens.groups)
    assert hash(lens) == hash(eval(repr(lens), {"Partition": cs.Partition}))
    assert (lens | cs.ClassWise("animal"))(sample).outcomes.tolist() == [1, 1]
    with pytest.raises(ValueError, match="at least two groups"):
        cs.Partition({"all": classes})
    with pytest.raises(TypeError, match="groups is 'cat', a text; it must be a list of values"):
        cs.Partition("cat")


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ([["car"], ["cat"]], "in no group: .'dog'"),
        ([["car", "cat"], ["cat", "dog"]], "in two groups: .'cat'"),
        ([["car", "cat", "dog"]], "at least two groups"),
        ([["car"], ["cat", "dog", "bus"]], "not a class: .'bus'"),
    ],
)
def test_partition_says_what_is_wrong_with_its_groups(pets, groups, complaint):
    with pytest.raises(ValueError, match=complaint):
        cs.Partition(groups)(pets)


def test_given_changes_what_is_conditioned_on_and_nothing_else(pets):
    seen = cs.Given("age")(pets)
    assert seen.predictions.given == ("age",)
    np.testing.assert_array_equal(seen.predictions.conditioned, [[1], [2], [3], [4]])
    assert np.shares_memory(seen.y_prob, pets.y_prob)
    np.testing.assert_array_equal(seen.outcomes, pets.outcomes)
    beside = cs.Given(..., "age")(pets).predictions
    np.testing.assert_array_equal(beside.conditioned, np.column_stack([ROWS, [1, 2, 3, 4]]))


def test_given_is_sticky(pets):
    before, after = (cs.Given("age") | cs.TopLabel())(pets), (cs.TopLabel() | cs.Given("age"))(pets)
    assert before.predictions.given == after.predictions.given == ("age",)
    np.testing.assert_array_equal(before.outcomes, after.outcomes)
    np.testing.assert_array_equal(before.y_prob, after.y_prob)
    estimator = cs.ECE(cs.EqualMass(2))
    assert (cs.Given("age") | cs.TopLabel() | estimator)(pets) == (cs.TopLabel() | cs.VECE("age", cs.EqualMass(2)))(
        pets
    )


def test_the_last_given_counts_and_the_prediction_follows_the_lens(pets):
    seen = (cs.Given("age") | cs.TopLabel() | cs.Given(...))(pets).predictions
    np.testing.assert_array_equal(seen.conditioned[:, 0], [0.6, 0.4, 0.8, 1.0])


def test_given_without_such_a_variable_says_which_there_are(pets):
    with pytest.raises(ValueError, match="no variable 'sex'; its variables are: 'age'"):
        cs.Given("sex")(pets)
    with pytest.raises(ValueError, match="at least one variable"):
        cs.Given()
    with pytest.raises(ValueError, match="at least one variable"):
        cs.Given(1)


def test_a_region_of_a_variable_commutes_with_relabelling():
    sample = make_sample(4, seed=2)
    before, after = (cs.Region(older) | cs.TopK(2))(sample), (cs.TopK(2) | cs.Region(older))(sample)
    np.testing.assert_array_equal(before.outcomes, after.outcomes)
    np.testing.assert_array_equal(before.y_prob, after.y_prob)
    assert 0 < len(before) < len(sample)


def test_a_region_lives_in_what_is_seen_so_far(pets):
    confident = cs.Region.between("top", 0.6, 1)
    assert len((cs.TopLabel() | confident)(pets)) == 3
    with pytest.raises(ValueError, match="neither a numeric variable nor a class"):
        (confident | cs.TopLabel())(pets)
    few = (cs.Region.between("dog", 0.2, 0.4) | cs.TopLabel() | confident)(pets)
    assert few.outcomes.tolist() == [1]
    np.testing.assert_array_equal(few.predictions.variables["age"].values, [1])


def test_both_ends_belong_to_a_region_between(pets):
    assert len(cs.Region.between("age", 2, 3)(pets)) == 2
    assert len(cs.Region.between("dog", 0.2, 0.4)(pets)) == 2


def test_a_predicate_must_return_one_boolean_for_each_row(pets):
    with pytest.raises(ValueError, match="one boolean for each of the 4 rows"):
        cs.Region(lambda predictions: np.ones(3, dtype=bool))(pets)
    with pytest.raises(ValueError, match="int64"):
        cs.Region(lambda predictions: np.ones(4, dtype=np.int64))(pets)


@pytest.mark.parametrize(("lens", "k"), [(cs.TopK(3), 3), (cs.TopK(4), 4)], ids=repr)
def test_top_k_needs_more_classes_than_k(pets, lens, k):
    with pytest.raises(ValueError, match=f"needs more than {k} classes, found 3"):
        lens(pets)


@pytest.mark.parametrize("lens", [cs.TopLabel(), cs.TopK(1)], ids=repr)
def test_the_top_label_is_not_looked_through_twice(lens):
    sample = cs.Sample.from_confidence([True, False], [0.9, 0.6])
    with pytest.raises(ValueError, match="already been seen through the top label"):
        lens(sample)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_top_k_takes_a_whole_number(k):
    with pytest.raises((TypeError, ValueError), match="k is"):
        cs.TopK(k)


def test_an_estimator_that_needs_one_column_proposes_a_lens(pets):
    with pytest.raises(ValueError, match=r"look through a lens first, for example TopLabel\(\)"):
        cs.ECE(cs.EqualMass(2))(pets)
    with pytest.raises(ValueError, match="cross two binnings"):
        (cs.TopLabel() | cs.Given(..., "age") | cs.ECE(cs.EqualMass(2)))(pets)


def test_lenses_refuse_what_is_neither_lens_nor_estimator():
    with pytest.raises(TypeError):
        cs.TopLabel() | 3
    with pytest.raises(TypeError):
        3 | cs.ECE()


def test_labels_that_are_sequences_can_be_partitioned_once_more(pets):
    """Groups of groups: a partition names its codes by the labels they hold."""
    twice = cs.Partition([["dog"], ["cat"], ["car"]]) | cs.Partition([["dog", "cat"], "car"])
    once = cs.Partition([["dog", "cat"], "car"])
    np.testing.assert_array_equal(twice(pets).y_prob, once(pets).y_prob)
