"""What evaluators offer besides their call: it survives each wrapper, or there is a named reason why it does not."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Capabilities, Headline
from registry import ESTIMATORS, every, make_sample

OFFERS = [each.name for each in fields(Capabilities)]
PLAIN = [entry for entry in ESTIMATORS if not entry.thing.lens.parts and not entry.thing.members]
ROWS_AND_SIGNS = {
    "terms",
    "linear",
    "large_sample",
    "law_of_walk",
    "standard_deviation",
    "expansion",
    "remark",
    "meaning",
    "peaks",
    "nearby",
}
REASONS = {
    "family": {
        **dict.fromkeys(ROWS_AND_SIGNS, "they are about one headline, and that of a family is the strongest of several")
    },
    "group": {
        **dict.fromkeys(ROWS_AND_SIGNS, "they are about one headline, and that of groups is the worst of several")
    },
    "class": {
        **dict.fromkeys(ROWS_AND_SIGNS, "they are about one headline, and that of classes is a norm of several"),
        **dict.fromkeys(("tally", "from_tally", "from_tallies"), "each class has cells of its own"),
    },
}


def offered(evaluator):
    own = evaluator.capabilities
    return {name for name in OFFERS if getattr(own, name) not in (None, 1)}


def sample_of(entry, n_classes=None):
    return make_sample(n_classes or entry.classes[0], seed=3, n=120)


@every(PLAIN)
@pytest.mark.filterwarnings("ignore")
def test_all_of_it_is_there_behind_a_lens_and_in_a_headline(entry):
    sample = sample_of(entry)
    inner = offered(entry.thing.prepare(sample.predictions))
    assert offered(Headline(entry.thing).prepare(sample.predictions)) == inner
    behind = inner - {"linear"}  # it is of the rows that a lens shows, and a test looks through the lens before
    assert offered((cs.Given(...) | entry.thing).prepare(sample.predictions)) == behind
    region = cs.Region.between("age", 1, 6) | entry.thing
    assert offered(Headline(region).prepare(sample.predictions)) == behind


@every([entry for entry in PLAIN if entry.headline])
@pytest.mark.filterwarnings("ignore")
def test_in_a_family_or_a_group_all_is_there_but_what_has_a_reason(entry):
    sample = sample_of(entry)
    inner = offered(entry.thing.prepare(sample.predictions))
    for kind, wrapped in (
        ("family", cs.Family({"a": entry.thing, "b": entry.thing})),
        ("group", cs.Within("sex", entry.thing)),
        ("class", cs.EachClass(entry.thing)),
    ):
        if kind == "class" and 2 not in entry.classes:
            continue
        missing = inner - offered(wrapped.prepare(sample.predictions))
        assert missing <= REASONS[kind].keys(), kind


@every([entry for entry in PLAIN if entry.headline and entry.scalar])
@pytest.mark.filterwarnings("ignore")
def test_the_doors_of_wrappers_give_what_their_call_gives(entry):
    sample = sample_of(entry)
    labels = np.random.default_rng(0).integers(0, len(sample.labels), (4, len(sample)))
    for wrapped in (
        Headline(cs.Region.between("age", 1, 6) | entry.thing),
        cs.Within("sex", entry.thing),
        cs.Family({"a": entry.thing, "b": entry.thing}),
    ):
        evaluator = wrapped.prepare(sample.predictions)
        own, values = evaluator.capabilities, evaluator(labels)
        if own.signed is not None and not np.isinf(values).any():
            ones = np.ones(len(sample))
            np.testing.assert_allclose(own.signed(labels[0], ones[None])[0], values[0], rtol=1e-9, atol=1e-12)
        if own.tally is None or own.from_tally is None or not own.tally.from_counts:
            continue
        seen = labels if own.tally.predictions is sample.predictions else cs.Region.between("age", 1, 6)
        if seen is not labels:
            seen = seen.look(sample.predictions).outcomes(labels)
        np.testing.assert_allclose(own.from_tally(own.tally(seen).outcome), values, rtol=1e-12)
        if own.from_tallies is not None:
            np.testing.assert_allclose(own.from_tallies(own.tally(seen)), values, rtol=1e-9)


def test_the_top_label_in_a_headline_keeps_its_cells():
    own = Headline(cs.TopLabel() | cs.ECE(cs.EqualMass(5))).prepare(make_sample(3, seed=1).predictions).capabilities
    assert own.tally is not None
    assert own.terms is not None


def test_groups_of_sums_over_cells_are_counted_at_once():
    sample = make_sample(2, seed=1, n=200)
    evaluator = cs.Within("sex", cs.ECE(cs.EqualMass(5))).prepare(sample.predictions)
    assert len(evaluator.common) == 1
    draws = cs.Consistency(99).draw(cs.Within("sex", cs.ECE(cs.EqualMass(5))), sample, cs.as_generator(0)).samples
    assert draws.shape == (99, 2)


def test_members_behind_different_lenses_do_not_share_cells():
    sample = make_sample(2, seed=1, n=60)
    cells = cs.FixedEdges([0, 1])
    family = cs.Family({"a": cs.ClassWise("a") | cs.ECE(cells), "b": cs.ClassWise("b") | cs.ECE(cells)})
    evaluator = family.prepare(sample.predictions)
    assert evaluator.capabilities.tally is None
    assert evaluator.common == []


# What a class declares of itself.


@every([entry for entry in PLAIN if entry.thing.two_outcomes])
def test_an_estimator_of_two_outcomes_refuses_more(entry):
    with pytest.raises(ValueError, match="needs 2 classes"):
        entry.thing.prepare(make_sample(3, seed=3).predictions)


@pytest.mark.parametrize("kind", sorted({type(entry.thing) for entry in PLAIN}, key=repr))
def test_an_estimator_that_takes_no_more_than_two_outcomes_says_so(kind):
    entries = [entry for entry in PLAIN if type(entry.thing) is kind]
    two_only = {2} == {n_classes for entry in entries for n_classes in entry.classes}
    one = entries[0].thing
    says = one.two_outcomes or one.along_one_column or one.cut_by is not None
    assert says or not two_only or kind is cs.Generic, "what Generic takes is up to its function"


@every([entry for entry in PLAIN if entry.thing.unconditional])
@pytest.mark.filterwarnings("ignore")
def test_an_unconditional_number_is_the_same_whatever_is_conditioned_on(entry):
    sample = sample_of(entry)
    plain, given = entry.thing, cs.Given("age") | entry.thing
    values = [np.asarray(each.prepare(sample.predictions)(sample.outcomes)) for each in (plain, given)]
    np.testing.assert_array_equal(values[0], values[1])


# Two methods are enough.


class Bare(cs.Evaluator):
    def __init__(self, predictions):
        self.event = predictions.event

    def __call__(self, outcomes, weights=None):
        mass = np.ones(len(self.event)) if weights is None else weights
        happened = outcomes[..., 1] if np.issubdtype(outcomes.dtype, np.floating) else outcomes
        return np.abs((mass * (happened - self.event)).sum(axis=-1) / mass.sum(axis=-1))


@dataclass(frozen=True)
class BareEstimator(cs.Estimator):
    def prepare(self, predictions):
        return Bare(predictions)


def test_an_author_needs_two_methods():
    sample = make_sample(2, seed=3, n=120)
    for estimator in (BareEstimator(), cs.TopLabel() | BareEstimator(), cs.Within("sex", BareEstimator())):
        assert 0 < cs.calibration_test(sample, estimator, null=cs.Consistency(19), rng=0).pvalue <= 1
    assert cs.estimate(sample, BareEstimator(), n_resamples=19, rng=0).null_mean > 0
    assert BareEstimator().estimand == BareEstimator()
    assert BareEstimator().quantity
