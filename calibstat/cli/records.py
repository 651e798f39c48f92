"""What a panel found: one record for each question, with p-values adjusted over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibstat.cli.panel import Question
from calibstat.cli.progress_bar import ProgressBar
from calibstat.inference.multiplicity import holm
from calibstat.inference.results import CalibrationTest
from calibstat.inference.testing import calibration_test
from calibstat.inference.words import LEVEL, at_floor
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample


@dataclass(frozen=True, eq=False)
class Record:
    """A question, what its test found, and the p-value adjusted over the whole panel."""

    question: Question
    test: CalibrationTest
    pvalue_adjusted: float

    @property
    def rejects(self) -> bool:
        """Whether the null is rejected at the level that texts use, after adjustment."""
        return self.pvalue_adjusted <= LEVEL

    @property
    def at_floor(self) -> bool:
        """Whether the p-value is only known to be smaller."""
        return at_floor(self.test.pvalue, self.test.null_distribution)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; a number that is not finite becomes null."""
        view = self.question.view
        return {
            "lens": repr(view.lens),
            "class": view.label,
            "given": self.question.condition,
            "estimator": repr(self.question.core),
            "n": self.test.asked.n,
            "n_classes": self.test.asked.n_classes,
            "statistic": _finite(self.test.statistic),
            "null_mean": _finite(self.test.null_mean),
            "pvalue": _finite(self.test.pvalue),
            "pvalue_adjusted": _finite(self.pvalue_adjusted),
            "hypothesis": self.test.hypothesis,
            "source": self.test.asked.source,
        }


def ask(sample: Sample, questions: Sequence[Question], n_resamples: int | None, seed: int) -> list[Record]:
    """Test each question, and adjust the p-values over all of them (Holm 1979).

    Without a number of resamples p-values are computed where they can be. Each question begins at the seed, as
    the same call in Python does, so that asking more does not change what the others answer (Holm's method holds
    however the tests depend on each other).
    """
    null = None if n_resamples is None else Consistency(n_resamples)

    def answer(question: Question) -> CalibrationTest:
        return calibration_test(sample, question.estimator, null=null, rng=seed)

    tests = ProgressBar().each(answer, questions)
    adjusted = holm([test.pvalue for test in tests])
    return [
        Record(question, test, float(pvalue)) for question, test, pvalue in zip(questions, tests, adjusted, strict=True)
    ]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
