"""Five measures of a predictor: each is what the estimator gives, beside what noise or the chances give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.generators import BetaPredictions, Cubic, FinitePredictions
from suites import examples

MEASURES = {
    "calibration": cs.ECE(cs.EqualMass(15)),
    "accuracy": cs.ZeroOneLoss(),
    "squared error": cs.BrierScore(),
    "monotonicity": cs.KendallTau(),
    "few cells": cs.ProbabilisticCount(),
}
WORLD = FinitePredictions([0.2, 0.6, 0.7, 0.7], [0.4, 0.5, 0.6, 0.2], mass=[3, 2, 4, 1])
SAMPLE = BetaPredictions(1, 1, Cubic(0.3)).sample(400, rng=0)


@pytest.fixture(scope="module")
def found():
    return cs.desiderata(SAMPLE, n_resamples=199, rng=0)


def test_a_sample_has_the_values_and_intervals_of_estimate(found):
    for name, estimator in list(MEASURES.items())[:4]:
        expected = cs.estimate(SAMPLE, estimator, n_resamples=199, rng=0)
        assert found[name].measure == estimator
        assert found[name].value == pytest.approx(expected.headline)
        assert found[name].expected == pytest.approx(expected.headline_null_mean, rel=0.1)
        assert found[name].confidence_interval == pytest.approx(expected.confidence_interval, abs=0.01)
    assert found["few cells"].value == pytest.approx(400)
    assert found["few cells"].confidence_interval is None
    assert "400 distinct predictions, most of them of a single row" in found["few cells"].sentence


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(1, 5)), min_size=1, max_size=8))
@examples(30)
def test_a_world_has_true_values_and_no_predictor_is_better_than_the_chances(atoms):
    prediction, chance, mass = np.array(atoms, dtype=float).T
    world = FinitePredictions(prediction / 10, chance / 10, mass)
    found = cs.desiderata(world)
    for name, estimator in MEASURES.items():
        truth = float(world.truth(cs.ECE() if name == "calibration" else estimator))
        assert found[name].value == pytest.approx(truth, abs=1e-12)
        assert found[name].confidence_interval is None
    for name in ("calibration", "accuracy", "squared error"):
        assert found[name].value >= found[name].expected - 1e-12
    assert found["monotonicity"].expected == pytest.approx(1)
    assert found["calibration"].expected == pytest.approx(0)


def test_sentences_of_a_world_by_hand():
    said = {each.name: each.sentence for each in cs.desiderata(WORLD, threshold=0.65).measures}
    # .3 * .2 + .2 * .1 + .5 * |.52 - .7|; .3 * .4 + .2 * .5 + .4 * .4 + .1 * .8, against .12 + .1 + .16 + .02
    assert said["calibration"] == "The mean chance of a cell is 0.17 away from the prediction on average."
    assert "from 0.65 on is wrong in 46 % of all cases; no rule is wrong in less than 40 %" in said["accuracy"]
    # Of ordered pairs, .2 (.3 * .1 + .2 * .1): the last row is ranked above two that have a larger chance.
    assert said["monotonicity"] == "10 % of all pairs are ranked against their chances."
    assert said["few cells"].startswith(
        "The probabilistic count is 2.632: two cases share a prediction as often as with 2.632 cells"
    )


def test_few_distinct_predictions_are_the_cells():
    rng = np.random.default_rng(1)
    p = rng.choice([0.1, 0.5, 0.8], 300)
    sample = cs.Sample(rng.random(300) < p, p)
    assert cs.desiderata(sample, n_resamples=19, rng=0)["calibration"].measure == cs.ECE(cs.UniqueValues())
    own = cs.desiderata(sample, binning=cs.EqualWidth(2), threshold=0.3, n_resamples=19, rng=0)
    assert own["calibration"].measure == cs.ECE(cs.EqualWidth(2))
    assert own["accuracy"].value == cs.ZeroOneLoss(0.3)(sample)


def test_a_lens_is_looked_through_and_weights_count():
    rng = np.random.default_rng(2)
    p, weights = rng.dirichlet([1, 1, 1], 200), rng.uniform(0.5, 2, 200)
    sample = cs.Sample(rng.integers(0, 3, 200), p, sample_weight=weights)
    found = cs.desiderata(sample, lens=cs.TopLabel(), n_resamples=19, rng=0)
    assert found["squared error"].value == pytest.approx((cs.TopLabel() | cs.BrierScore())(sample))
    assert "by weights as good as" in found.to_text(verbose=True)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(4).uniform(1, 2, 400)])
def test_pairs_with_and_without_the_event_are_those_of_the_c_index(weights):
    sample = cs.Sample(SAMPLE.outcomes, SAMPLE.y_prob, sample_weight=weights)
    found = cs.desiderata(sample, n_resamples=199, rng=0)
    assert found.misranked == pytest.approx(1 - cs.AUC()(sample))
    share = f"{100 * found.misranked:.3g} %"
    assert f"of pairs with and without the event {share} are ranked the wrong way round" in found.verdict
    # Labels drawn from the predictions: the mean of 400 C-indices has a standard error of 0.001.
    rng, p = np.random.default_rng(3), SAMPLE.y_prob[:, 1]
    drawn = np.mean([1 - cs.AUC()(cs.Sample(rng.random(400) < p, p, sample_weight=weights)) for _ in range(400)])
    said = float(found["monotonicity"].sentence.partition("; about ")[2].partition(" %")[0])
    assert said / 100 == pytest.approx(drawn, abs=0.01)


def test_few_rows_are_no_reason_to_warn_and_a_missing_interval_has_one(recwarn):
    few = cs.desiderata(SAMPLE.take(np.arange(25)), n_resamples=19, rng=0)
    assert few["calibration"].measure == cs.ECE(cs.EqualMass(2))
    assert not recwarn.list
    weights = np.where(np.arange(400) == 0, 1000.0, 1.0)
    weighed = cs.Sample(SAMPLE.outcomes, SAMPLE.y_prob, sample_weight=weights)
    found = cs.desiderata(weighed, n_resamples=19, rng=0)
    missing = [each for each in found.measures[:4] if each.confidence_interval is None]
    assert missing
    assert all(any(note.startswith(f"no interval for {each.name}: ") for note in found.notes) for each in missing)


def test_the_answer_names_the_event_and_does_not_call_noise_an_error():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 400)
    right = cs.Sample((rng.random(400)[:, None] > p.cumsum(axis=1)).sum(axis=1), p)
    found = cs.desiderata(right, lens=cs.TopLabel(), n_resamples=99, rng=0)
    wrong = 1 - np.mean(right.outcomes == p.argmax(axis=1))
    assert found.wrong_class == pytest.approx(wrong)
    assert "The average error of P(predicted class), 0.0" in found.verdict
    assert "may be noise alone" in found.verdict
    assert "telling right classes from wrong ones at 0.5 fails in 36." in found.verdict
    said = float(found.verdict.partition("(the class is wrong in ")[2].partition(" %")[0])
    assert said == pytest.approx(100 * wrong, abs=0.06)
    rows = {row[1]: row[2] for row in found._table()}
    assert float(rows["pairs ranked the wrong way"]) == pytest.approx(found.misranked, abs=1e-4)
    constant = cs.desiderata(cs.Sample(rng.random(400) < 0.3, np.full(400, 0.5)), n_resamples=99, rng=0)
    assert "are ranked the wrong way" not in constant.verdict
    assert "Predictions of P(True) are off by 0.15" in constant.verdict


def test_one_cell_is_written_as_one():
    said = cs.desiderata(FinitePredictions([0.4], [0.3])).to_text(verbose=True)
    assert "1 cell in effect" in said
    assert "as with 1 cell of equal mass" in " ".join(said.split())
    nearly = cs.desiderata(FinitePredictions([0.4, 0.6], [0.3, 0.6], mass=[1, 1e-6]))
    assert "1 cell in effect" in str(nearly)
    one = cs.desiderata(cs.Sample([0], [0.5], labels=[0, 1]), n_resamples=9, rng=0)
    assert "all predictions are equal, so that no pair is ranked" in one.verdict
    none = cs.desiderata(cs.Sample([0, 0], [0.5, 0.4], labels=[0, 1]), n_resamples=9, rng=0)
    assert "there is no pair with and without the event to rank" in none.verdict
    alone = " ".join(one.to_text(verbose=True).split())
    assert "There is 1 distinct prediction." in alone


def test_the_text_fits_and_the_table_has_a_row_for_each(found):
    for each in (found, cs.desiderata(WORLD)):
        assert max(map(len, each.to_text(80).splitlines())) <= 80
        frame = each.to_frame()
        assert frame.desideratum.tolist() == list(MEASURES)
        assert set(frame) >= {"value", "expected", "low", "high", "sentence"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cs.desiderata([0.2]), "source is of type list; pass a Sample, or a world"),
        (lambda: cs.desiderata(BetaPredictions(1, 1)), "predicts infinitely many values"),
        (lambda: cs.desiderata(FinitePredictions(np.eye(3), np.eye(3))), "the world has 3 classes"),
        (lambda: cs.desiderata(cs.Sample([0, 1, 2], np.eye(3))), r"3 classes are seen .* pass a lens"),
        (lambda: cs.desiderata(WORLD, binning=cs.EqualMass(3)), "lens and binning are for samples"),
        (lambda: cs.desiderata(SAMPLE, threshold=2), "threshold is 2; it must be a number from 0 to 1"),
        (lambda: cs.desiderata(SAMPLE, n_resamples=0), "n_resamples is 0"),
        (lambda: cs.desiderata(WORLD, rng="a"), "rng is 'a'"),
        (lambda: cs.desiderata(SAMPLE, binning=15), "binning is 15, a number"),
        (lambda: cs.desiderata(SAMPLE, lens="top-label"), "lens is of type str"),
        (lambda: cs.desiderata(SAMPLE, confidence_level=95), "confidence_level is 95"),
    ],
)
def test_bad_input_is_refused_in_words(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
