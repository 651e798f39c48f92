"""The panel of questions that one command asks of a sample."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import EllipsisType
from typing import TypeAlias

from calibstat.cli.cutting import Cutting
from calibstat.cli.names import lens_name, split_list
from calibstat.estimators.base import Estimator
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.lenses.class_wise import ClassWise
from calibstat.lenses.given import Given
from calibstat.lenses.top_k import TopK
from calibstat.lenses.top_label import TopLabel
from calibstat.predictions import Predictions

Names: TypeAlias = tuple[str | EllipsisType, ...]

# With more classes, as many class-wise tests would drown the others in Holm's correction.
CLASS_WISE_UP_TO = 30


@dataclass(frozen=True)
class View:
    """A lens as the panel shows it.

    Parameters
    ----------
    kind : str
        Its name on the command line.
    lens : Lens
    label : label, optional
        The class it is about.
    n_outcomes : int
        How many outcomes are told apart.
    """

    kind: str
    lens: Lens
    label: Hashable
    n_outcomes: int


@dataclass(frozen=True)
class Question:
    """One test of the panel.

    Parameters
    ----------
    view : View
    given : tuple
        The variables that are conditioned on, with ``...`` for the prediction beside them; empty for the prediction
        alone.
    core : Estimator
        Without a lens.
    """

    view: View
    given: Names
    core: Estimator

    @property
    def estimator(self) -> Estimator:
        """The estimator behind the lens."""
        lens = self.view.lens | Given(*self.given) if self.given else self.view.lens
        return lens | self.core

    @property
    def condition(self) -> str | None:
        """What is conditioned on, in words; None for the prediction alone."""
        return ", ".join("prediction" if name is ... else name for name in self.given) or None


def panel(
    predictions: Predictions, lenses: Sequence[str] | None, given: Sequence[Names], cutting: Cutting
) -> list[Question]:
    """List what to ask: every lens given the prediction, then every lens given each of the variables.

    Parameters
    ----------
    predictions : Predictions
    lenses : sequence of str, optional
        Names of lenses; None leaves them to the number of classes.
    given : sequence of tuples
        What to condition on besides, as from `read_given`.
    cutting : Cutting
        If its estimator is for two outcomes, lenses that leave more are left out, unless they were asked for.

    Raises
    ------
    ValueError
        If a lens that was asked for does not exist, or leaves more outcomes than the estimator is for.
    """
    classes = predictions.classes
    names = default_lenses(len(classes)) if lenses is None else lenses
    views = list(dict.fromkeys(view for name in names for view in _views(name, classes)))
    if cutting.two_outcomes:
        views = _with_two_outcomes(views, cutting.estimator, asked=lenses is not None)
    plain = [Question(view, (), cutting.measure(view.n_outcomes, len(predictions))) for view in views]
    conditioned = [
        Question(view, variables, cutting.measure_given(variables, view.n_outcomes, predictions))
        for variables in dict.fromkeys(_expand(given, predictions))
        for view in views
    ]
    return plain + conditioned


def _with_two_outcomes(views: Sequence[View], estimator: str | None, *, asked: bool) -> list[View]:
    more = [view for view in views if view.n_outcomes > 2]
    if asked and more:
        raise ValueError(
            f"--lens {more[0].kind}: {estimator} is for two outcomes, and this lens leaves {more[0].n_outcomes}; take "
            "top-label, or class-wise"
        )
    return [view for view in views if view.n_outcomes <= 2]


def default_lenses(n_classes: int) -> tuple[str, ...]:
    """Name the lenses that are looked through when none is asked for."""
    if n_classes <= 2:
        return ("canonical",)
    return ("top-label", "canonical", "class-wise") if n_classes <= CLASS_WISE_UP_TO else ("top-label", "canonical")


def read_given(options: Iterable[str]) -> list[Names]:
    """Read what is conditioned on, ``prediction`` beside a variable being the prediction itself.

    Examples
    --------
    >>> read_given(["age", "prediction,sex"])
    [('age',), (Ellipsis, 'sex')]
    """
    return [_read_names(option) for option in options]


def _read_names(option: str) -> Names:
    names = split_list(option)
    if not names or not all(names):
        raise ValueError(f"--given {option!r} does not name a column; write for example --given age")
    return tuple(... if name == "prediction" and len(names) > 1 else name for name in names)


def _expand(given: Sequence[Names], predictions: Predictions) -> Iterator[Names]:
    """Write out a pattern that stands alone as the variables it was read for."""
    for names in given:
        alone = names[0] if len(names) == 1 else ...
        if isinstance(alone, str) and alone not in predictions.variables:
            yield from ((name,) for name in predictions.variables if fnmatchcase(name, alone))
        else:
            yield names


def _views(name: str, classes: Sequence[Hashable]) -> list[View]:
    kind, detail = lens_name(name)
    if kind == "class-wise":
        return [View(kind, ClassWise(label), label, 2) for label in classes if detail in ("", str(label))] or _no_class(
            name, classes
        )
    if kind == "top-label":
        return [View(kind, TopLabel(), None, 2)]
    if kind == "canonical":
        return [View(kind, Canonical(), None, len(classes))]
    if not (detail.isascii() and detail.isdigit()):
        raise ValueError(f"--lens {name}: {detail!r} is not a whole number; write for example top-k:2")
    return [View(f"{kind}:{int(detail)}", TopK(int(detail)), None, int(detail) + 1)]


def _no_class(name: str, classes: Sequence[Hashable]) -> list[View]:
    shown = ", ".join(map(str, classes[:20])) + (", ..." if len(classes) > 20 else "")
    raise ValueError(f"--lens {name}: there is no such class; the classes are {shown}")
