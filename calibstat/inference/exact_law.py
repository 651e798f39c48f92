"""The exact null distribution of a statistic, where it is to be had."""

from __future__ import annotations

from calibstat.estimators.base import Estimator, Evaluator
from calibstat.nulls.exact import Exact, NotExact
from calibstat.nulls.exact_null import ExactNull
from calibstat.sample import Sample


def exact_law(core: Estimator, seen: Sample, evaluator: Evaluator) -> ExactNull | None:
    """Return the distribution under labels drawn from the predictions, or None where it must be drawn.

    Which of the two it is depends on the predictions alone, so that a test which draws where nothing can be computed
    is as valid as its two parts.

    Parameters
    ----------
    core : Estimator
        Of a number, without its lens.
    seen : Sample
        As seen through the lens.
    evaluator : Evaluator
        Of `core`, prepared on these predictions.
    """
    try:
        return Exact().draw(core, seen, evaluator=evaluator)
    except NotExact:
        return None
