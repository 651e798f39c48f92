"""What sentences of results say on both sides of a level: the level, a p-value on its side of it, and no acceptance."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from calibstat._text import counted, percent
from calibstat.inference.results import small_pvalue
from calibstat.nulls.consistency import Consistency, Sequential

ECE = cs.ECE(cs.EqualMass(5))


@cache
def world(n=400):
    rng = np.random.default_rng(0)
    p, site = rng.random(n), rng.choice(["a", "b"], n)
    return cs.Sample(rng.random(n) < p, p, variables={"site": site, "age": rng.random(n)})


def adjusted(name, *names):
    """Replace p-values in records of a result."""

    def change(found, p, level):
        parts = tuple(replace(each, **dict.fromkeys(names, p)) for each in getattr(found, name))
        more = {"pvalue": p} if hasattr(found, "pvalue") else {}
        return replace(found, level=level, **{name: parts}, **more)

    return change


def alone(found, p, level):
    return replace(found, pvalue=p, level=level)


def first_of_two(found, p, level):
    return replace(found, pvalues_adjusted=np.array([p, 1.0]), level=level)


def of_calibrators(found, p, level):
    """The only calibrator has a smaller error and Brier score, the one with this p-value."""
    (change,) = found.changes
    error = change.error._replace(difference=-0.01, pvalue_adjusted=p)
    brier = change.brier._replace(difference=-0.001, pvalue_adjusted=1.0)
    return replace(found, changes=(replace(change, error=error, brier=brier),), level=level)


def two_models():
    sample = world()
    return {name: cs.Sample(sample.y_true, sample.y_prob[:, 1] ** power) for name, power in (("raw", 1), ("bold", 2))}


L2, FEW = cs.DebiasedL2(cs.EqualMass(5)), {"n_resamples": 199, "rng": 0}
OF_SCANS = ("pvalue_adjusted", "pvalue_varying_adjusted")
ASKED = {
    "calibration": (lambda: cs.calibration_test(world(), ECE, null=Consistency(199), rng=0), alone),
    "several": (lambda: cs.multiple_test(world(), cs.Within("site", ECE), **FEW), first_of_two),
    "omnibus": (lambda: cs.omnibus_test(world(), {"a": cs.BrierZ(), "b": cs.LogLossZ()}, **FEW), alone),
    "audit": (lambda: cs.subgroup_audit(world(), "site", **FEW), adjusted("groups", "pvalue_adjusted")),
    "scan": (lambda: cs.scan_variables(world(), **FEW), adjusted("variables", *OF_SCANS)),
    "strong": (lambda: cs.scan_variables(world(), null="strong", **FEW), adjusted("variables", *OF_SCANS)),
    "curves": (lambda: cs.equal_curves_test(world(), "site", **FEW), alone),
    "two models": (lambda: cs.comparison_test(*two_models().values(), L2, **FEW), alone),
    "models": (lambda: cs.compare_models(two_models(), L2, **FEW), adjusted("pairs", "pvalue_adjusted")),
    "calibrators": (
        lambda: cs.compare_calibrators({"platt": cs.calibrators.Platt()}, world(), **FEW),
        of_calibrators,
    ),
}


@cache
def found_by(ask):
    return ASKED[ask][0]()


FOUND = re.compile(
    "^(Evidence|Use |.* is (better calibrated than|off in)|The error of .* varies|.*groups of .* differ)"
)
at_each_level = pytest.mark.parametrize("level", [0.1, 0.05, 0.01])


@at_each_level
@pytest.mark.parametrize("ask", ASKED)
def test_the_sentence_names_the_level_and_the_pvalue_stays_on_its_side(ask, level):
    for p in (0.003, 0.049, 0.051, 0.5, level, level * (1 + 1e-5), level * (1 - 1e-5)):
        found = ASKED[ask][1](found_by(ask), p, level)
        words = " ".join(str(found).split())
        said = " ".join(found.verdict.split())
        rejected = p <= level
        assert f"{100 * level:g} %" in said
        assert bool(FOUND.search(said)) == rejected
        assert bool(re.search(r"(not rejected|told apart|not shown to be better) at", said)) != rejected
        assert not re.search(r"is calibrated|accept|No evidence|\(\(|\)\)\)|  |\.\.|,,", said)
        # Audits say the direction and leave the p-values to the table.
        printed = [float(each) for each in re.findall(r"\bp = ([\d.e-]*\d)", said)] or [p]
        assert any((each <= level) == rejected and each == pytest.approx(p, rel=0.01) for each in printed)
        assert "is calibrated" not in words


@pytest.mark.parametrize("digits", [3, 4, 8, 15])
@pytest.mark.parametrize("level", [0.1, 0.05, 0.01, 0.001])
def test_digits_show_the_side_of_the_level(level, digits):
    for p in (level * (1 + 10.0**-digits), level * (1 - 10.0**-digits), level):
        written = float(small_pvalue(p, level=level).removeprefix("= "))
        assert (written <= level) == (p <= level)
        assert written == pytest.approx(p, rel=5e-3)


def test_where_no_data_could_be_rejected_the_text_begins_with_that():
    sample = world()
    few = cs.calibration_test(sample, cs.ECE(), null=Consistency(9), rng=0)
    start = (
        "No test could reject at 5 %, whatever the data: with 9 redraws the smallest possible p-value is 0.1 (at least "
    )
    assert few.verdict.startswith(f"{start}19 redraws are needed). Calibration of P(")
    more = cs.calibration_test(sample, cs.ECE(), n_resamples=9, rng=0)
    assert len(more.null_distribution.samples) == 99
    assert (
        "99 redraws were taken, since with 9 no adjusted p-value could be at most 5 %, whatever the data" in more.notes
    )
    twelve = cs.Family({str(k): cs.ECE(cs.EqualMass(2 + k)) for k in range(12)})
    several = cs.multiple_test(sample, twelve, adjust="holm", null=Consistency(199), rng=0)
    assert several.verdict.startswith("No test could reject at 5 %, whatever the data: with 199 redraws the smallest")
    assert cs.multiple_test(sample, twelve, adjust="holm", n_resamples=199, rng=0).n_resamples == 1199
    assert cs.multiple_test(sample, twelve, null=Consistency(199), rng=0).verdict.startswith(
        "Calibration of P(True) is not rejected"
    )
    with pytest.raises(ValueError, match="so few redraws the smallest p-value of the panel is 0"):
        cs.omnibus_test(sample, {"a": cs.BrierZ(), "b": cs.LogLossZ()}, null=Consistency(9), rng=0)


def test_the_note_of_a_pvalue_near_its_level_names_what_decides():
    """Its advice is followed as it is printed: draws go on until a thousand are as extreme as the data."""
    rng = np.random.default_rng(3)
    p = rng.random(300)
    sample = cs.Sample(rng.random(300) < p, p)
    near = cs.calibration_test(sample, cs.Kuiper(), null=Consistency(99), rng=0)
    near = cs.calibration_test(sample, cs.Kuiper(), null=Consistency(99), level=near.pvalue + 0.02, rng=0)
    (note,) = [each for each in near.notes if "contains" in each]
    advice = re.search(r"null=(Sequential\(.*?\))", note)[1]
    assert advice == "Sequential(99999, 1000)"
    decided = cs.calibration_test(sample, cs.Kuiper(), null=eval(advice, {"Sequential": Sequential}), rng=0)
    low, high = decided.pvalue_interval
    assert high - low < 0.2 * decided.pvalue
    far = cs.calibration_test(sample, cs.Kuiper(), null=Consistency(99), rng=0, level=1e-6)
    assert far.notes == ()


@pytest.mark.parametrize(
    ("level", "text"), [(0.05, "5 %"), (1, "100 %"), (0.999, "99.9 %"), (1 - 1e-9, "99.9999999 %"), (1e-9, "1e-07 %")]
)
def test_a_level_below_one_is_not_written_as_100_percent(level, text):
    assert percent(level) == text


def test_numbers_agree_with_their_nouns_and_verbs():
    assert [counted(n, "class") for n in (0, 1, 2)] == ["0 classes", "1 class", "2 classes"]
    assert [counted(n, "row", "waits", "wait") for n in (1, 2)] == ["1 row waits", "2 rows wait"]


CALIBSTAT = Path(cs.__file__).parent
NEVER_ONE = {
    "binnings/base.py: {predictions.n_classes} columns",
    "cli/audit.py: {len(found)} columns",
    "cli/demo.py: {trained.n_fit} rows",
    "data/_classes.py: {len(classes)} columns",
    "data/_classes.py: {n} rows",
    "draws/bootstrap.py: {len(second)} rows",
    "generators/simplex_maps.py: {len(weights)} rows",
    "monitoring/intake.py: {self.n} rows",
}
_COUNT_BEFORE_PLURAL = re.compile(
    r"\{(?:len\([^{}]*\)|n|[\w.]*\bn_\w+|self\.n|total|count|size)\} "
    r"(?:rows|cells|labels|columns|clusters|folds|resamples)\b"
)


def test_no_text_of_ours_puts_a_count_before_a_fixed_plural():
    """`counted` writes "1 row"; where a count of one is impossible, the line stands here."""
    found = {
        f"{path.relative_to(CALIBSTAT)}: {match[0]}"
        for path in CALIBSTAT.rglob("*.py")
        if not {"displays", "interpretability"} & set(path.parts)
        for match in _COUNT_BEFORE_PLURAL.finditer(path.read_text("utf-8"))
    }
    assert found <= NEVER_ONE


def test_brackets_of_what_a_number_is_are_whole():
    """A headline had lost half of the brackets of a call."""
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    sample = cs.Sample(np.zeros(300, dtype=int), p)
    for estimator in (cs.EachClass(cs.ECE()), cs.Family({"top": cs.TopLabel() | ECE})):
        verdict = cs.calibration_test(sample, estimator, rng=0).verdict
        assert "Evidence" in verdict
        assert verdict.count("(") == verdict.count(")") >= 1
        assert "redrawn labels test" not in verdict
