"""What public functions are given: the right kinds of things, or an error that says what was expected."""

from __future__ import annotations

from typing import Any

from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.inference.results import Inquiry
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.exact import Exact
from calibstat.nulls.multiplier import Multiplier, Weak


def look_through(sample: Any, estimator: Any, lens: Lens | None = None) -> tuple[Inquiry, Sample]:
    """Look at a sample through a lens and then that of the estimator; return what is asked, and what is seen.

    ``look_through(sample, estimator, lens)`` is the same as ``look_through(sample, lens | estimator)``. An error is
    raised where no row is left to look at.
    """
    check_sample(sample)
    asked = behind(lens, estimator)
    through = asked.lens
    seen = through(sample)
    refuse_empty(seen, through)
    predictions = seen.predictions
    return Inquiry(asked, len(seen), predictions.n_classes, predictions.given, predictions.source), seen


def behind(lens: Lens | None, estimator: Any) -> Estimator:
    """Return an estimator behind a lens, which is looked through before the estimator's own; None is no lens."""
    check_estimator(estimator)
    asked: Estimator = estimator if lens is None else check_lens(lens) | estimator
    return asked


def refuse_empty(seen: Sample, lens: Lens) -> None:
    """Refuse what a lens leaves without rows, or without weight."""
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    weights = seen.predictions.weights
    if weights is not None and not weights.any():
        raise ValueError(f"all rows seen through {lens!r} have weight 0; widen its region.")


def check_sample(sample: Any) -> None:
    """Refuse anything but a sample."""
    if not isinstance(sample, Sample):
        raise TypeError(f"sample is {_kind_of(sample)}, but a Sample is expected: for example Sample(y_true, y_prob).")


def check_lens(lens: Any) -> Lens:
    """Return a lens, and refuse anything else."""
    if not isinstance(lens, Lens):
        raise TypeError(f"lens is {_kind_of(lens)}, but a lens is expected: for example TopLabel().")
    return lens


def check_estimator(estimator: Any) -> None:
    """Refuse anything but an estimator."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"estimator is {_kind_of(estimator)}, but an estimator is expected: for example TopLabel() | ECE(), "
            "or Generic(function) for a function of your own."
        )


_NULLS = {"strong": Consistency, "consistency": Consistency, "weak": Weak, "multiplier": Multiplier, "exact": Exact}


def check_null(null: Any) -> Null:
    """Return a null, or the one of that name with its defaults, and refuse anything else."""
    if isinstance(null, str) and null in _NULLS:
        named: Null = _NULLS[null]()
        return named
    if not isinstance(null, Null):
        found = repr(null) if isinstance(null, str) else _kind_of(null)
        raise TypeError(
            f"null is {found}, but a null is expected: for example Consistency(999), or one of "
            f"{', '.join(map(repr, _NULLS))}."
        )
    return null


def _kind_of(thing: Any) -> str:
    """A class, or what something is an instance of."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
