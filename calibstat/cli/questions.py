"""The panel of questions that one command asks of a sample."""

from __future__ import annotations

import argparse
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import reduce
from inspect import signature
from operator import mul
from types import EllipsisType
from typing import Any, TypeAlias

import calibstat
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass, EqualWidth
from calibstat.binnings.simplex import VarianceTree
from calibstat.binnings.values import Categories
from calibstat.cli.options import TWO_OUTCOMES, UNCONDITIONAL, lens_name, split_list
from calibstat.cli.text import ProgressBar
from calibstat.data.files import file_arguments
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical, ClassWise, TopK, TopLabel
from calibstat.lenses.restrict import Given

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


# Which cells, and which measure on them, fit a question.


@dataclass(frozen=True)
class Cutting:
    """What the user said about cells and measure.

    Parameters
    ----------
    n_bins : int, optional
        None leaves it to the question.
    equal_width : bool
    estimator : str, optional
        The public name of an estimator; None leaves it to the question.

    Raises
    ------
    ValueError
        If cells are asked for of an estimator that has none.
    """

    n_bins: int | None = None
    equal_width: bool = False
    estimator: str | None = None

    def __post_init__(self) -> None:
        if self.n_bins is not None and not self._takes("binning", "n_bins"):
            raise ValueError(f"--bins {self.n_bins}: {self.estimator} has no cells; leave out --bins")
        if self.equal_width and not self._takes("binning"):
            raise ValueError(f"--binning equal-width: {self.estimator} has no cells to choose; leave it out")

    @property
    def two_outcomes(self) -> bool:
        """Whether the estimator is for two outcomes only."""
        return self.estimator in TWO_OUTCOMES

    def measure(self, n_outcomes: int, n: int) -> Estimator:
        """Measure miscalibration given the prediction, of which `n_outcomes` are seen at once in `n` rows."""
        if n_outcomes == 2:
            return self._build("ECE", self._interval(15))
        return self._build("ExpectedMiscalibration", self._simplex(n))

    def measure_given(
        self, names: tuple[str | EllipsisType, ...], n_outcomes: int, predictions: Predictions
    ) -> Estimator:
        """Measure miscalibration given variables (Kelly & Smyth 2023), and the prediction where ``...`` is named."""
        if self.estimator in UNCONDITIONAL:
            asked = ",".join("prediction" if name is ... else name for name in names)
            raise ValueError(
                f"--given {asked}: {self.estimator} is the same whatever is conditioned on; leave out --given, or take "
                "an estimator that conditions on it, such as ECE"
            )
        factors = [self._factor(name, n_outcomes, predictions) for name in names]
        return self._build("ECE", reduce(mul, factors))

    def _factor(self, name: str | EllipsisType, n_outcomes: int, predictions: Predictions) -> Binning:
        if name is ... and n_outcomes > 2:
            return self._simplex(len(predictions))
        if name is not ... and name in predictions.variables and predictions.column(name).categorical:
            return Categories()
        return self._interval(10)

    def _interval(self, default: int) -> Binning:
        n_bins = default if self.n_bins is None else self.n_bins
        return EqualWidth(n_bins) if self.equal_width else EqualMass(n_bins)

    def _simplex(self, n: int) -> Binning:
        return VarianceTree(max(20, n // 20) if self.n_bins is None else max(2, n // self.n_bins))

    def _build(self, default: str, binning: Binning) -> Estimator:
        """Make the estimator, on these cells if it takes any; by its own defaults otherwise."""
        chosen: Any = getattr(calibstat, self.estimator or default)
        made: Estimator
        if self._takes("binning"):
            made = chosen(binning)
        else:
            made = chosen() if self.n_bins is None else chosen(n_bins=self.n_bins)
        return made

    def _takes(self, *arguments: str) -> bool:
        """Whether the estimator has one of these arguments; that of the question has cells."""
        if self.estimator is None:
            return "binning" in arguments
        return not set(arguments).isdisjoint(signature(getattr(calibstat, self.estimator)).parameters)


# One lens, by its name on the command line.


def one_lens(name: str, labels: Sequence[Hashable]) -> Lens:
    """Return the lens of that name.

    Parameters
    ----------
    name : str
        canonical, top-label, class-wise:LABEL or top-k:K.
    labels : sequence
        The classes there are.

    Raises
    ------
    ValueError
        If there is no such lens or class, or it is several.

    Examples
    --------
    >>> one_lens("class-wise:dog", ["cat", "dog"])
    ClassWise(label='dog')
    """
    kind, detail = lens_name(name)
    if kind in ("canonical", "top-label"):
        return Canonical() if kind == "canonical" else TopLabel()
    if kind == "top-k":
        if not (detail.isascii() and detail.isdigit()):
            raise ValueError(f"--lens {name}: {detail!r} is not a whole number; write for example top-k:2")
        return TopK(int(detail))
    found = [label for label in labels if str(label) == detail]
    if not found:
        shown = ", ".join(map(str, labels[:20]))
        what = f"there is no class {detail!r}" if detail else "name the class, class-wise:LABEL"
        raise ValueError(f"--lens {name}: {what}; the classes are {shown}")
    return ClassWise(found[0])


# The sample that a command is about.

# The advice of `Sample` where values are missing.
_OMIT = 'or pass nan_policy="omit" to leave these rows out'


def read_sample(arguments: argparse.Namespace, given: list[Names]) -> Sample:
    """Read the rows of one model, with the variables that are conditioned on."""
    variables = list(dict.fromkeys(name for names in given for name in names if name is not ...))
    if arguments.label in variables:
        raise ValueError(
            f"--given {arguments.label}: this is the column of what happened; name something that was known before"
        )
    if arguments.confidence is not None:
        return _read_confidence(arguments, variables)
    with ProgressBar("reading"):
        return Sample.read(
            arguments.file,
            y_true=arguments.label,
            y_prob=arguments.probs if len(arguments.probs) > 1 else arguments.probs[0],
            variables=variables or None,
            sample_weight=arguments.weights,
            labels=None if arguments.labels is None else read_labels(arguments.labels),
            nan_policy=arguments.nan_policy,
        )


def read_models(arguments: argparse.Namespace) -> dict[str, Sample]:
    """Read what each model says about the rows of one file."""
    if arguments.file == "-":
        raise ValueError("standard input can be read once only, but each model has its own columns: name a file")
    if len(arguments.model) < 2:
        raise ValueError("--model is there once, but a comparison needs two: --model raw='raw_*' --model new='new_*'")
    labels = None if arguments.labels is None else read_labels(arguments.labels)
    models: dict[str, Sample] = {}
    for option in arguments.model:
        name, equals, columns = option.partition("=")
        if not equals or not name or not columns:
            raise ValueError(f"--model {option}: write a name and its columns, such as --model raw='raw_*'")
        if name in models:
            raise ValueError(f"--model {name}: there are two models of this name; give each its own")
        found = split_list(columns)
        models[name] = _complete(arguments, found if len(found) > 1 else found[0], labels)
    return models


def _complete(arguments: argparse.Namespace, columns: str | list[str], labels: Any) -> Sample:
    """Read the rows of one of several models; nothing may be missing, or the models would not have the same rows."""
    try:
        with ProgressBar("reading"):
            return Sample.read(arguments.file, y_true=arguments.label, y_prob=columns, labels=labels)
    except ValueError as error:
        raise ValueError(str(error).replace(_OMIT, "or leave these rows out of the file")) from error


def _read_confidence(arguments: argparse.Namespace, variables: list[str]) -> Sample:
    """Read whether the predicted label was right, and the confidence in it: the top label is all there is to see."""
    if arguments.labels is not None:
        raise ValueError("--labels names the classes of --probs; --confidence has none")
    if arguments.lens is not None and {lens.lower() for lens in arguments.lens} != {"canonical"}:
        raise ValueError("--confidence is the top label already: leave --lens out")
    with ProgressBar("reading"):
        found = file_arguments(
            arguments.file,
            y_true=arguments.label,
            y_prob=arguments.confidence,
            variables=variables or None,
            sample_weight=arguments.weights,
        )
    return Sample.from_confidence(
        found["y_true"],
        found["y_prob"],
        variables=found["variables"],
        sample_weight=found["sample_weight"],
        nan_policy=arguments.nan_policy,
    )


def read_labels(text: str) -> list[str] | list[int] | list[bool]:
    """Read classes as integers or booleans where all of them are such, as the column of labels is read."""
    names = split_list(text)
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        return [int(name) for name in names]
    if all(name.lower() in ("true", "false") for name in names):
        return [name.lower() == "true" for name in names]
    return names
