"""The comparison of several models."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import calibstat as cs
from calibstat.inference.compare import comparison_test, normal_tail
from calibstat.inference.compare_models import compare_models
from calibstat.inference.multiplicity import holm_of_pairs

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
L2 = cs.DebiasedL2(cs.EqualMass(15))
MODELS = {"good": lambda p: p, "bold": lambda p: p**2, "timid": lambda p: 0.5 + 0.5 * (p - 0.5)}


def samples(n=1000, seed=0, models=MODELS):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    return {name: cs.Sample(y, model(p), labels=[0, 1]) for name, model in models.items()}


def test_pairs_are_those_of_two_models():
    models = samples(600, 1, MODELS | {"slope": lambda p: p**1.1})
    found = compare_models(models, L2, rng=0)
    assert len(found.pairs) == 6
    for pair in found.pairs:
        two = comparison_test(models[pair.first], models[pair.second], L2, n_resamples=199, rng=0)
        assert pair.difference == pytest.approx(two.difference)
        assert pair.standard_error == pytest.approx(two.standard_error, rel=0.25)
        assert pair.difference_pvalue == pytest.approx(two.difference_pvalue, abs=0.1)
        own = [found.own_pvalues[found.names.index(name)] for name in (pair.first, pair.second)]
        assert pair.pvalue == max(pair.difference_pvalue, min(1.0, 2 * min(own)))
    places = [(found.names.index(p.first), found.names.index(p.second)) for p in found.pairs]
    adjusted = holm_of_pairs([p.difference_pvalue for p in found.pairs], found.own_pvalues, places)
    np.testing.assert_allclose([p.pvalue_adjusted for p in found.pairs], adjusted)


def test_two_models_are_the_pair_alone():
    models = {name: samples()[name] for name in ("good", "bold")}
    for adjust in ("holm", "max-t"):
        (pair,) = compare_models(models, L2, adjust=adjust, rng=0).pairs
        assert pair.pvalue == pytest.approx(0.002)
        assert pair.pvalue_adjusted == pytest.approx(0.002)


FEW_CELLS = cs.DebiasedL2(cs.EqualMass(5))  # each with events and non-events, so that no noise is made up for


def max_t_by_loops(found, models, signs):
    """Random signs times what each row adds, for every set C of calibrated models (comments in the source)."""
    influence = []
    for sample in models.values():
        cells = FEW_CELLS.binning.cut(sample.predictions).index
        residual = sample.outcomes - sample.y_prob[:, 1]
        mean = np.array([residual[cells == cell].mean() for cell in cells])
        row = 2 * mean * residual - mean**2
        influence.append(row - row.mean())
    z = {(p.first, p.second): abs(p.statistic) for p in found.pairs}
    draws = {}
    for a, b in z:
        each = influence[found.names.index(a)] - influence[found.names.index(b)]
        draws[a, b] = np.abs(signs @ each) / np.sqrt((each**2).sum())
    own = dict(zip(found.names, found.own_pvalues, strict=True))
    adjusted = {}
    for pair in z:
        worst = 0.0
        for code in range(2 ** len(own)):
            calibrated = {name for k, name in enumerate(found.names) if code >> k & 1}
            rest = set(found.names) - calibrated
            both = 2 if min(len(calibrated), len(rest)) > 1 else 1
            if set(pair) <= calibrated:
                worst = max(worst, both * len(calibrated) * min(own[name] for name in pair))
            elif set(pair) <= rest:
                largest = np.max([draws[other] for other in z if set(other) <= rest], axis=0)
                worst = max(worst, both * (1 + (largest >= z[pair] - 1e-12).sum()) / (1 + len(signs)))
        adjusted[pair] = min(1.0, worst)
    return adjusted


def as_influences_show(evaluators, values, clusters, seen, pairs, *more):
    """Standard errors without the noise of redrawn labels, and normal p-values."""
    errors = np.array([np.sqrt(((values[a].influence - values[b].influence) ** 2).sum()) for a, b in pairs])
    differences = np.array([values[a].value - values[b].value for a, b in pairs])
    return errors, 2 * norm.sf(np.abs(differences) / errors), [None] * len(pairs)


@pytest.mark.parametrize("n_models", [3, 4, 5])
def test_max_t_agrees_with_all_sets_of_calibrated_models(monkeypatch, n_models):
    """Signs are handed in, so that loops over the 2^m possible sets of calibrated models see the same ones."""
    more = {"slope": lambda p: p**1.15, "shift": lambda p: np.clip(p + 0.03, 0, 1)}
    models = dict(list(samples(500, 3, MODELS | more).items())[5 - n_models :])
    signs = np.random.default_rng(1).integers(0, 2, size=(199, 500)) * 2.0 - 1.0
    monkeypatch.setattr("calibstat.inference.compare_models._normal_sums", lambda rows, *_: signs @ rows)
    monkeypatch.setattr("calibstat.inference.compare_models._each_pair", as_influences_show)
    found = compare_models(models, FEW_CELLS, adjust="max-t", n_resamples=199, rng=0)
    expected = max_t_by_loops(found, models, signs)
    assert {(p.first, p.second): p.pvalue_adjusted for p in found.pairs} == pytest.approx(expected)


def test_identical_predictions_have_no_difference():
    models = samples(800, 2, {"a": lambda p: p**2, "b": lambda p: p**2, "c": lambda p: p})
    for adjust in ("holm", "max-t"):
        found = compare_models(models, L2, adjust=adjust, rng=0)
        same = found.pairs[0]
        assert (same.difference, same.statistic, same.pvalue, same.pvalue_adjusted) == (0, 0, 1, 1)
        assert found.confidence_set == ("c",)
    copies = compare_models(dict.fromkeys("xyz", models["a"]), L2, rng=0)
    assert copies.confidence_set == ("x", "y", "z")
    assert copies.verdict.startswith("These 3 models cannot be told apart at 5 %: ")


def test_the_confidence_set_keeps_what_may_be_the_best():
    found = compare_models(samples(2000, 4), L2, rng=0)
    assert found.confidence_set == ("good",)
    assert found.set_pvalues[0] == 1
    assert all(p <= 0.05 for p in found.set_pvalues[1:])
    assert found.confidence_set == compare_models(dict(reversed(samples(2000, 4).items())), L2, rng=0).confidence_set


def test_words_and_tables():
    found = compare_models(samples(), L2, rng=0)
    text = str(found)
    assert "fewer than 500 rows" in str(compare_models(samples(300), L2, rng=0))
    few = compare_models(samples(), L2, n_resamples=49, rng=0)
    assert (
        "299 redraws were taken, since with 49 no adjusted p-value could be at most 5 %, whatever the data" in few.notes
    )
    assert min(pair.pvalue_adjusted for pair in few.pairs) == pytest.approx(0.01)
    pairs = tuple(replace(pair, pvalue_adjusted=0.06) for pair in few.pairs)
    assert replace(few, n_resamples=49, pairs=pairs).verdict.startswith(
        "No test could reject at 5 %, whatever the data: with 49 redraws the smallest possible p-value is 0.06 (at "
        "least 59 redraws are needed). These 3 models cannot be told apart at 5 %: calibration error of P(1) 0.0203 to "
    )
    assert "redraws were taken" not in str(compare_models(samples(), L2, adjust="max-t", n_resamples=199, rng=0))
    fair = compare_models(samples(1000, 5, {"a": lambda p: p, "b": lambda p: p}), L2, rng=0)
    assert fair.verdict.startswith("a and b cannot be told apart at 5 %: calibration error of P(1) 0.0")
    assert found.to_frame().shape == (3, 12)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    assert str(pickle.loads(pickle.dumps(found))) == text


def one_short():
    models = samples()
    return {"good": models["good"], "bad": models["bold"].take(np.arange(999))}


def other_labels():
    return {"good": samples()["good"], "bad": cs.Sample([0, 2] * 500, np.full(1000, 0.5), labels=[0, 2])}


@pytest.mark.parametrize(
    ("models", "estimator", "options", "message"),
    [
        (one_short, L2, {}, "'good' and 'bad': a paired comparison needs the same rows.*1000 and 999 rows; give every"),
        (other_labels, L2, {}, "'good' and 'bad': the models have different labels"),
        (lambda: {"a": samples()["good"]}, L2, {}, "samples must map at least two names to samples, but is of 1"),
        (lambda: list(samples().values()), L2, {}, "at least two names to samples, but is a list"),
        (samples, cs.Kuiper(), {}, r"compare_models: Kuiper.*use DebiasedL2\(EqualMass\(15\)\)"),
        (samples, L2, {"adjust": "fdr"}, "it must be one of 'max-t', 'holm', 'fdr_by'"),
        (samples, L2, {"confidence_level": 95}, "must be a number between 0 and 1"),
    ],
    ids=["rows", "labels", "one", "list", "Kuiper", "adjust", "level"],
)
def test_what_cannot_be_compared(models, estimator, options, message):
    with pytest.raises(ValueError, match=message):
        compare_models(models(), estimator, **options)


def test_the_same_predictions_have_the_same_numbers():
    """Each model had draws of its own, and two identical ones intervals that differed."""
    good, bold = samples()["good"], samples()["bold"]
    found = compare_models({"a": bold, "good": good, "b": bold}, L2, n_resamples=99, rng=0)
    assert found.confidence_intervals[0] == found.confidence_intervals[2] != found.confidence_intervals[1]
    other = compare_models({"a": good, "b": good}, L2, n_resamples=99, rng=0)
    assert other.own_pvalues[0] == other.own_pvalues[1]
    assert cs.comparison_test(good, good, L2, n_resamples=99, rng=0).own_pvalues[0] == pytest.approx(
        cs.comparison_test(good, good, L2, n_resamples=99, rng=0).own_pvalues[1], abs=0
    )


def in_another_order(sample):
    labels = sample.labels[::-1]
    return cs.Sample(sample.y_true, sample.y_prob[:, ::-1], labels=labels)


def test_columns_in_another_order_are_taken_by_their_labels():
    models = samples()
    turned = {"good": models["good"], "bold": in_another_order(models["bold"])}
    plain = {name: models[name] for name in turned}
    assert turned["bold"].labels != plain["bold"].labels
    assert str(compare_models(turned, L2, n_resamples=99, rng=0)) == str(
        compare_models(plain, L2, n_resamples=99, rng=0)
    )
    both = [cs.comparison_test(*each.values(), L2, n_resamples=99, rng=0) for each in (turned, plain)]
    assert {**both[0].to_dict(), "source": ""} == {**both[1].to_dict(), "source": ""}


def test_arguments_that_are_no_samples():
    with pytest.raises(TypeError, match="sample is of type list, but a Sample is expected"):
        compare_models({"a": samples()["good"], "b": [1, 2]}, L2)


def bolder(n, models, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < p
    return {f"m{k}": cs.Sample(y, p ** (1 + 0.6 * k)) for k in range(models)}


@pytest.mark.parametrize("models", [8, 12])
def test_many_models_are_told_apart_at_the_defaults(models):
    """Root errors from 0 to 0.37, and 999 redraws: 28 pairs could not be told apart by Holm's method, nor 66."""
    found = compare_models(bolder(5000, models), L2, rng=0)
    assert all(pair.pvalue_adjusted <= 0.05 for pair in found.pairs)
    assert found.confidence_set == ("m0",)
    assert found.n_resamples > 3 * 999
    words = "no adjusted p-value could be at most 5 %" if models == 12 else "one or two that reach a difference"
    assert f"{found.n_resamples} redraws were taken, since with 999 {words}" in " ".join(str(found).split())


def test_a_few_redraws_that_reach_a_difference_do_not_hide_it(monkeypatch):
    """Eleven models alike and one off: 66 pairs, of which 1319 redraws told each apart only if none reached it."""
    rng = np.random.default_rng(2)
    p = rng.random(1000)
    y = rng.random(1000) < p
    models = {f"m{k}": cs.Sample(y, np.clip(p + rng.normal(0, 0.02, 1000), 0, 1)) for k in range(11)}
    models["off"] = cs.Sample(y, np.clip(p + 0.15, 0, 1))

    def told_apart():
        found = compare_models(models, L2, rng=2)
        off = [pair for pair in found.pairs if "off" in (pair.first, pair.second)]
        return all(pair.pvalue_adjusted <= 0.05 for pair in off), found.n_resamples

    all_apart, n_resamples = told_apart()
    assert all_apart
    assert 66 * 3 / (1 + n_resamples) <= 0.05
    monkeypatch.setattr("calibstat.inference.compare_models._SEVERAL", 1)
    assert told_apart() == (False, 1319)


def test_normal_tails_tell_large_differences_from_huge_ones():
    found = compare_models(bolder(2000, 3), L2, rng=0)
    first, huge, _ = found.pairs
    assert first.difference_pvalue == huge.difference_pvalue == 0.001
    assert huge.normal_tail < 1e-20 < first.normal_tail < 1e-8
    assert huge.normal_tail == pytest.approx(2 * norm.sf(abs(huge.statistic)))
    assert found.to_dict()["pairs"][1]["normal_tail"] == huge.normal_tail
    close = compare_models({"a": bolder(2000, 2)["m0"], "b": bolder(2000, 2)["m0"]}, L2, rng=0)
    assert close.pairs[0].normal_tail is None
    scores = compare_models(bolder(2000, 2), cs.BrierScore(), rng=0)
    assert scores.pairs[0].normal_tail is None  # its p-value is normal as it is


def test_noise_that_is_not_normal_has_no_normal_tail():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(999)
    assert normal_tail(10.0, noise) == pytest.approx(2 * norm.sf(10 / np.sqrt(np.mean(noise**2))))
    assert normal_tail(2.0, noise) is None
    assert normal_tail(100.0, noise * rng.standard_normal(999)) is None
    assert normal_tail(1.0, np.zeros(999)) is None


def two():
    return {name: sample for name, sample in samples().items() if name != "timid"}


def alike():
    return samples(1000, 5, {"a": lambda p: p, "b": lambda p: p})


def four():
    return samples(700, models=MODELS | {"slope": lambda p: p**1.1})


def eight():
    return bolder(5000, 8)


@pytest.mark.parametrize(
    ("apart", "words"),
    [
        ("m2<m0", ["m2 is worse calibrated than m0 at 5 %: ", " 1 of 6 pairs is told apart. With 95 %"]),
        ("m2<m0 m3<m0", ["m2 and m3 are worse calibrated than m0 at 5 %: ", " 2 of 6 pairs are told apart."]),
        ("m3<m0 m3<m1", ["m3 is worse calibrated than m0 and m1 at 5 %: "]),
        ("m3<m1 m2<m0", ["m3 is worse calibrated than m1 at 5 %: ", "). m2 is worse than m0 (0.194 against 0"]),
        (
            "m3<m2 m2<m1 m1<m0 m3<m0",
            [" than m0 and m2 at 5 %", "). m2 is worse than m1 (", "). m1 is worse than others too."],
        ),
    ],
)
def test_the_headline_says_which_is_worse_than_which(apart, words):
    """Where only some pairs differ: the worst first, models that are worse than the same ones together."""
    found = compare_models(bolder(5000, 4), L2, n_resamples=99, rng=0)
    told = {frozenset(each.split("<")) for each in apart.split()}
    pairs = tuple(replace(p, pvalue_adjusted=0.01 if {p.first, p.second} in told else 0.5) for p in found.pairs)
    verdict = replace(found, pairs=pairs).verdict
    assert all(each in verdict for each in words), verdict


SCREENS = {
    (two, 80): """\
good is better calibrated than bold at 5 %: calibration error of P(1) 0.0203
against 0.191 (n = 1000, p = 0.002).

model   error  95 % interval      O/E  slope  own p  may be best  worse than
good   0.0203  0.0000 to 0.0707  1.01   1.06  0.327  yes
bold   0.1909  0.1571 to 0.2253   1.5  0.776  0.001  no           good

note        0.001 is the smallest p-value that 999 redraws can give, before it
            is adjusted; by the normal law that of good and bold is about 4e-12

How this was computed: .to_text(verbose=True)
""",
    (alike, 80): """\
a and b cannot be told apart at 5 %: calibration error of P(1) 0.033 and 0.033
(n = 1000, p = 1).

model   error  95 % interval      O/E  slope  own p  may be best
a      0.0330  0.0000 to 0.0781  1.01   1.04  0.131  yes
b      0.0330  0.0000 to 0.0781  1.01   1.04  0.131  yes

How this was computed: .to_text(verbose=True)
""",
    (four, 80): """\
timid and bold are worse calibrated than good and slope at 5 %: calibration
error of P(1) 0.135 and 0.167 against about 0 (n = 700, adjusted p at most
0.006). 4 of 6 pairs are told apart. With 95 % confidence the best is good or
slope.

model   error  95 % interval       O/E  slope  may be best  worse than
good   0.0000  0.0000 to 0.0789  0.995  0.953  yes
slope  0.0000  0.0000 to 0.0789   1.04  0.919  yes
timid  0.1350  0.0929 to 0.1790   1.01   2.41  no           good and slope
bold   0.1675  0.1263 to 0.2109   1.47   0.68  no           good and slope

note        0.001 is the smallest p-value that 999 redraws can give, before it
            is adjusted; by the normal law that of bold and slope is about 1e-07

Column own p and how this was computed: .to_text(verbose=True)
""",
    (eight, 80): """\
m0 is better calibrated than all 7 other models at 5 %: calibration error of
P(True) 0 against 0.114 to 0.367 (n = 5000, adjusted p at most 0.00333). All 28
pairs are told apart.

model   error  95 % interval       O/E  may be best  worse than
m0     0.0000  0.0000 to 0.0279  0.985  yes
m1     0.1140  0.0999 to 0.1287   1.28  no           m0
m2     0.1939  0.1798 to 0.2084   1.57  no           m0 and m1
m3     0.2494  0.2352 to 0.2638   1.87  no           m0, m1 and m2
m4     0.2903  0.2761 to 0.3047   2.16  no           m0, m1, m2 and m3
m5     0.3219  0.3077 to 0.3363   2.46  no           m0, m1, m2 and 2 more
m6     0.3469  0.3327 to 0.3614   2.75  no           m0, m1, m2 and 3 more
m7     0.3673  0.3531 to 0.3818   3.05  no           m0, m1, m2 and 4 more

note        8399 redraws were taken, since with 999 one or two that reach a
            difference could hide it
note        0.00012 is the smallest p-value that 8399 redraws can give, before
            it is adjusted; by the normal law that of m6 and m7 is below about
            1e-12

Column own p, column slope and how this was computed: .to_text(verbose=True)
""",
    (eight, 120): """\
m0 is better calibrated than all 7 other models at 5 %: calibration error of P(True) 0 against 0.114
to 0.367 (n = 5000, adjusted p at most 0.00333). All 28 pairs are told apart.

model   error  95 % interval       O/E  slope     own p  may be best  worse than
m0     0.0000  0.0000 to 0.0279  0.985   1.01     0.884  yes
m1     0.1140  0.0999 to 0.1287   1.28  0.832  0.000119  no           m0
m2     0.1939  0.1798 to 0.2084   1.57  0.698  0.000119  no           m0 and m1
m3     0.2494  0.2352 to 0.2638   1.87  0.595  0.000119  no           m0, m1 and m2
m4     0.2903  0.2761 to 0.3047   2.16  0.516  0.000119  no           m0, m1, m2 and m3
m5     0.3219  0.3077 to 0.3363   2.46  0.453  0.000119  no           m0, m1, m2 and 2 more
m6     0.3469  0.3327 to 0.3614   2.75  0.404  0.000119  no           m0, m1, m2 and 3 more
m7     0.3673  0.3531 to 0.3818   3.05  0.363  0.000119  no           m0, m1, m2 and 4 more

note        8399 redraws were taken, since with 999 one or two that reach a difference could hide it
note        0.00012 is the smallest p-value that 8399 redraws can give, before it is adjusted; by
            the normal law that of m6 and m7 is below about 1e-12

How this was computed: .to_text(verbose=True)
""",
}


@pytest.mark.parametrize(("models", "width"), SCREENS)
def test_the_whole_screen(models, width):
    found, expected = compare_models(models(), L2, rng=0).to_text(width), SCREENS[models, width].rstrip("\n")
    assert NUMBER.sub("0", found) == NUMBER.sub("0", expected)
    # NumPy 2.5 draws one binomial number in sixty otherwise than 2.4, which moves ends of intervals a little.
    numbers, known = (np.array(NUMBER.findall(text), dtype=float) for text in (found, expected))
    assert numbers == pytest.approx(known, rel=5e-3)
