"""Wrong uses, each of which mypy must report: an `ignore` that nothing needs is an error in strict mode.

If the types of calibstat were not found, or were `Any`, nothing would be wrong here, and the check would fail.
"""

from __future__ import annotations

import calibstat as cs
from calibstat import calibrators, extending, generators, results, testing
from calibstat.results import no_such_name  # type: ignore[attr-defined]


def wrong(sample: cs.Sample, tested: cs.CalibrationTest) -> None:
    cs.calibration_test(1)  # type: ignore[arg-type]
    cs.calibration_test(sample, null=0.05)  # type: ignore[arg-type]
    cs.calibration_test(sample, level="5 %")  # type: ignore[arg-type]
    cs.calibration_test(sample).p_value  # type: ignore[attr-defined]
    cs.estimate(sample, n_resample=99)  # type: ignore[call-arg]
    cs.ECE(cs.ECE())  # type: ignore[arg-type]
    tested.pvalue = 0.5  # type: ignore[misc]
    tested.pvalue.upper()  # type: ignore[attr-defined]
    cs.no_such_name()  # type: ignore[attr-defined]
    calibrators.no_such_name()  # type: ignore[attr-defined]
    generators.no_such_name()  # type: ignore[attr-defined]
    results.no_such_name()  # type: ignore[attr-defined]
    testing.no_such_name()  # type: ignore[attr-defined]
    extending.no_such_name()  # type: ignore[attr-defined]
    generators.BetaPredictions("1", 1)  # type: ignore[arg-type]
    no_such_name()
