"""What the public functions are given: the right kinds of things, or an error that says what was expected."""

from __future__ import annotations

from numbers import Real
from typing import Any

from calibstat.estimators.base import Estimator
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null
from calibstat.sample import Sample


def check_sample(sample: Any) -> None:
    """Refuse anything but a sample."""
    if not isinstance(sample, Sample):
        raise TypeError(f"sample is {_named(sample)}, but a Sample is expected: for example Sample(y_true, y_prob).")


def check_lens(lens: Any) -> Lens:
    """Return a lens, and refuse anything else."""
    if not isinstance(lens, Lens):
        raise TypeError(f"lens is {_named(lens)}, but a lens is expected: for example TopLabel().")
    return lens


def check_asked(sample: Any, estimator: Any) -> None:
    """Refuse anything but a sample and an estimator."""
    check_sample(sample)
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"estimator is {_named(estimator)}, but an estimator is expected: for example TopLabel() | ECE(), "
            "or Generic(function) for a function of your own."
        )


def check_number(name: str, value: Any, example: str) -> None:
    """Refuse what is no number."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}, but a number is expected, for example {example}.")


def check_null(null: Any) -> None:
    """Refuse anything but a null."""
    if not isinstance(null, Null):
        raise TypeError(f"null is {_named(null)}, but a null is expected: for example Consistency(999).")


def _named(thing: Any) -> str:
    """A class, or what something is an instance of."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
