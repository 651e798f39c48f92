"""A program as users write it, which mypy checks in strict mode where calibstat is installed and its sources are not.

`assert_type` fails where a checker finds another type, `Any` too. `.ci/package` checks it and runs it.
"""

from __future__ import annotations

from typing import assert_type

import calibstat as cs
from calibstat import calibrators, extending, generators, results, testing
from calibstat.results import BrierParts


def draw() -> cs.Sample:
    world = generators.BetaPredictions(1, 1)
    assert_type(world, generators.BetaPredictions)
    return assert_type(world.sample(200, rng=0), cs.Sample)


def test_and_estimate(sample: cs.Sample) -> float:
    tested = assert_type(cs.calibration_test(sample, cs.ECE(cs.EqualMass(10)), rng=0), cs.CalibrationTest)
    assert_type(tested.pvalue, float)
    assert_type(tested.pvalue_interval, tuple[float, float])
    assert_type(tested.verdict, str)
    assert_type(tested.notes, tuple[str, ...])
    assert_type(tested.null, cs.Null)
    assert_type(tested.to_text(), str)
    found = assert_type(cs.estimate(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(10)), rng=0), cs.Estimate)
    assert_type(found.confidence_level, float)
    if found.confidence_interval is not None:
        assert_type(found.confidence_interval.low, float)
    equal = cs.equivalence_test(sample, cs.ECE(cs.EqualMass(5)), margin=0.2, n_resamples=50, rng=0)
    assert_type(equal, cs.EquivalenceTest)
    return tested.pvalue


def calibrate(sample: cs.Sample) -> None:
    fitted = calibrators.Platt().fit(sample.y_prob, sample.y_true)
    assert_type(fitted, calibrators.Platt)
    assert_type(calibrators.Isotonic().fit(sample.y_prob, sample.y_true), calibrators.Isotonic)
    better = fitted.predict_proba(sample.y_prob)
    assert_type(cs.Sample(sample.y_true, better), cs.Sample)


def audit_and_watch(sample: cs.Sample) -> None:
    ages = ["young" if row % 2 else "old" for row in range(len(sample.y_true))]
    audit = cs.subgroup_audit(sample, {"age": ages}, rng=0)
    assert_type(audit, cs.SubgroupAudit)
    assert_type(audit, results.SubgroupAudit)
    assert_type(audit.groups[0], cs.GroupFinding)
    monitor = cs.Monitor()
    assert_type(monitor, cs.Monitor)
    assert_type(monitor.update(sample.y_prob, sample.y_true), bool)
    assert_type(monitor.e_value, float)
    assert_type(monitor.alarm_row, int | None)


def plan() -> None:
    needed = cs.required_n(cs.ErrorFamily()(0.2), cs.ECE(cs.EqualMass(5)), rng=0)
    assert_type(needed, cs.RequiredN)
    assert_type(needed.n, int)


def extend() -> None:
    assert_type(extending.View, type[extending.View])
    shown = testing.assert_calibrated(draw(), cs.ECE(cs.EqualMass(5)), within=0.3, n_resamples=50)
    assert_type(shown, cs.EquivalenceTest)
    parts: type[BrierParts] = results.BrierParts
    assert_type(parts, type[results.BrierParts])
    assert_type(cs.cite(cs.ECE()), str)
    assert_type(cs.__version__, str)


if __name__ == "__main__":
    rows = draw()
    print("p", test_and_estimate(rows))
    calibrate(rows)
    audit_and_watch(rows)
    plan()
    extend()
