"""The questions that a command asks about a sample: lenses, conditions, an estimator, its cells and a null."""

from __future__ import annotations

import argparse
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial, reduce
from operator import mul
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat.cli.estimators import TWO, default_cells, estimator_name, for_two_outcomes, needs, takes, variables_of
from calibstat.cli.main import in_options
from calibstat.cli.options import column_names, is_expression, made, named_options, read_labels
from calibstat.cli.text import ProgressBar, notice
from calibstat.data.arrays import Ints
from calibstat.data.checks import all_of
from calibstat.data.files import file_arguments
from calibstat.data.frames import confidence_arguments
from calibstat.draws.streams import stream_of
from calibstat.inference.arguments import NULLS
from calibstat.inference.by_lens import recommended_lenses
from calibstat.ledgers.batches import is_large

Condition: TypeAlias = tuple[str | EllipsisType, ...]

CLASS_WISE = "class-wise"
_LENS_FORMS = ("top-label", "canonical", CLASS_WISE, "class-wise:LABEL", "top-k:K")
# The advice of `Sample` about missing values.
_OMIT = "or pass --nan-policy omit to leave these rows out"


@dataclass(frozen=True)
class NamedLens:
    """A lens, with its name or expression, its class if it has one, and the number of its outcomes."""

    kind: str
    lens: cs.Lens
    label: Hashable
    n_outcomes: int


@dataclass(frozen=True)
class Question:
    """One test of the panel: a lens, what is conditioned on, and an estimator without a lens.

    `given` names variables, and ``...`` is the prediction; it is empty for the prediction alone.
    """

    view: NamedLens
    given: Condition
    core: cs.Estimator

    @property
    def estimator(self) -> cs.Estimator:
        """The estimator behind the lens."""
        lens = self.view.lens | cs.Given(*self.given) if self.given else self.view.lens
        return lens | self.core

    @property
    def decides(self) -> bool:
        """Whether it is about two outcomes given the prediction, on which one may act."""
        return self.view.n_outcomes == 2 and not self.given

    @property
    def cells(self) -> list[str]:
        """The question in the first columns of a table: lens, class, given."""
        return [self.view.kind, "" if self.view.label is None else str(self.view.label), in_words(self.given)]

    @property
    def name(self) -> str:
        """The question in words."""
        kind, label, condition = self.cells
        return kind + (f" {label}" if label else "") + (f" given {condition}" if condition else "")

    @property
    def place(self) -> str:
        """The question in words, without the class."""
        return replace(self, view=replace(self.view, label=None)).name

    def to_dict(self) -> dict[str, Any]:
        """Return the question as the beginning of a record."""
        return {
            "lens": repr(self.view.lens),
            "class": self.view.label,
            "given": in_words(self.given) or None,
            "estimator": repr(self.core),
        }


def in_words(given: Condition) -> str:
    """Write a condition as ``--given`` takes it; the prediction alone is the empty text."""
    return ":".join("prediction" if name is ... else name for name in given)


# Lenses, by name or as expressions.


def lenses(name: str, classes: Sequence[Hashable]) -> list[NamedLens]:
    """Return the lens of that name, or one for each class if the name is class-wise without a label.

    The outcomes of an expression are not counted.

    >>> [view.lens for view in lenses("class-wise", ["cat", "dog"])]
    [ClassWise(label='cat'), ClassWise(label='dog')]
    """
    if is_expression(name):
        lens = made("--lens", name, cs.Lens)
        return [NamedLens(repr(lens), lens, None, 0)]
    kind, detail = _kind_of_lens(name)
    if kind == "top-label":
        return [NamedLens(kind, cs.TopLabel(), None, 2)]
    if kind == "canonical":
        return [NamedLens(kind, cs.Canonical(), None, len(classes))]
    if kind == CLASS_WISE:
        found = [NamedLens(kind, cs.ClassWise(label), label, 2) for label in classes if detail in ("", str(label))]
        if not found:
            raise ValueError(f"--lens {name}: there is no class {detail!r}; the classes are {_first_classes(classes)}")
        return found
    if not (detail.isascii() and detail.isdigit()):
        raise ValueError(f"--lens {name}: {detail!r} is not a whole number; write for example top-k:2")
    return [NamedLens(f"{kind}:{int(detail)}", cs.TopK(int(detail)), None, int(detail) + 1)]


def _kind_of_lens(name: str) -> tuple[str, str]:
    """Split the name of a lens into its kind and what follows the colon."""
    kind, colon, detail = name.partition(":")
    kind = _hyphened(kind)
    forms = [form for form in _LENS_FORMS if form.partition(":")[0] == kind]
    if not any(bool(form.partition(":")[2]) == bool(detail) for form in forms) or (colon and not detail):
        advice = f"write {' or '.join(forms)}" if forms else f"choose one of {', '.join(_LENS_FORMS)}, or an expression"
        raise ValueError(f"there is no lens {name!r}; {advice}")
    return kind, detail


def _hyphened(name: str) -> str:
    return name.lower().replace("_", "-")


def _first_classes(classes: Sequence[Hashable]) -> str:
    return ", ".join(map(str, classes[:20])) + (", ..." if len(classes) > 20 else "")


def one_lens(name: str, classes: Sequence[Hashable]) -> NamedLens:
    """Return the one lens of that name."""
    found = lenses(name, classes)
    if len(found) > 1:
        raise ValueError(
            f"--lens {name} is one question for each class; name the class, as in class-wise:LABEL; the classes are "
            f"{_first_classes(classes)}"
        )
    return found[0]


# What the lenses that Python recommends are called.
_KINDS = {cs.TopLabel: "top-label", cs.Canonical: "canonical", cs.ClassWise: CLASS_WISE}


def default_lenses(classes: Sequence[Hashable]) -> list[str]:
    """Name the lenses of a command that asks several questions; the first one is that of a command that asks one."""
    return list(dict.fromkeys(_KINDS[type(lens)] for lens in recommended_lenses(classes)))


# The measure and the cells that fit a question.


@dataclass(frozen=True)
class Measure:
    """The estimator and the cells that the user asked for.

    The estimator is a public name or an object; with None the question decides, and likewise for the number of cells.
    The binning is an object, or "equal-mass" or "equal-width" until the number of cells is known.
    """

    estimator: str | cs.Estimator | None = None
    n_bins: int | None = None
    binning: str | cs.Binning = "equal-mass"

    @classmethod
    def asked(cls, arguments: argparse.Namespace, default: str | None = None) -> Measure:
        """Read ``--estimator``, ``--bins`` and ``--binning``."""
        found = cls(read_estimator(arguments.estimator) or default, arguments.bins, read_binning(arguments.binning))
        named = arguments.bins is not None or found.binning != "equal-mass" or isinstance(found.estimator, cs.Estimator)
        if getattr(arguments, "predicted", None) is None or named or not found._takes("binning"):
            return found
        return replace(found, binning=cs.UniqueValues())  # each bucket is a cell

    def __post_init__(self) -> None:
        if self.n_bins is not None and not isinstance(self.binning, str):
            raise ValueError(f"--bins {self.n_bins}: --binning {self.binning!r} says how many cells; leave out --bins")
        asked = f"--bins {self.n_bins}" if self.n_bins is not None else f"--binning {self.binning}"
        if isinstance(self.estimator, cs.Estimator) and asked != "--binning equal-mass":
            raise ValueError(f"{asked}: the expression of --estimator says which cells; leave it out")
        if self.n_bins is not None and not self._takes("binning", "n_bins"):
            raise ValueError(f"--bins {self.n_bins}: {self.estimator} has no cells; leave out --bins")
        if self.binning != "equal-mass" and not self._takes("binning"):
            raise ValueError(f"--binning {self.binning}: {self.estimator} has no cells to choose; leave it out")

    @property
    def name(self) -> str:
        """The estimator in words."""
        return str(self.estimator or "ECE")

    @property
    def lens(self) -> cs.Lens:
        """The lens of the estimator itself."""
        return cs.Canonical() if self.estimator is None or isinstance(self.estimator, str) else self.estimator.lens

    @property
    def has_lens(self) -> bool:
        """Whether the estimator has a lens of its own."""
        return self.lens != cs.Canonical()

    @property
    def two_outcomes(self) -> bool:
        """Whether the estimator is for two outcomes only."""
        if self.estimator is None:
            return False
        if isinstance(self.estimator, str):
            return needs(self.estimator) == TWO
        return for_two_outcomes(self.estimator.core)

    def of(self, n_outcomes: int, n: int) -> cs.Estimator:
        """Return the measure given the prediction, for `n_outcomes` seen at once in `n` rows."""
        if n_outcomes == 2:
            number = default_cells(self.estimator) if isinstance(self.estimator, str) else 15
            return self._build("ECE", self._interval(number))
        return self._build("ExpectedMiscalibration", self._simplex(n))

    def given(self, names: Condition, n_outcomes: int, predictions: cs.Predictions) -> cs.Estimator:
        """Return the measure given variables (Kelly & Smyth 2023); ``...`` is the prediction."""
        if self.estimator is not None and self.of(2, len(predictions)).unconditional:
            raise ValueError(
                f"--given {in_words(names)}: {self.name} is the same whatever is conditioned on; leave out "
                "--given, or take an estimator that conditions on it, such as ECE"
            )
        return self._build("ECE", reduce(mul, [self._factor(name, n_outcomes, predictions) for name in names]))

    def _factor(self, name: str | EllipsisType, n_outcomes: int, predictions: cs.Predictions) -> cs.Binning:
        if name is ... and n_outcomes > 2:
            return self._simplex(len(predictions))
        if name is not ... and name in predictions.variables and predictions.column(name).categorical:
            return cs.Categories()
        return self._interval(10)

    def _interval(self, default: int) -> cs.Binning:
        return cells(self.binning, self.n_bins or default)

    def _simplex(self, n: int) -> cs.Binning:
        tree = cs.VarianceTree(max(20, n // 20) if self.n_bins is None else max(2, n // self.n_bins))
        return tree if isinstance(self.binning, str) else self.binning

    def _build(self, default: str, binning: cs.Binning) -> cs.Estimator:
        """Make the estimator, on these cells if it takes any, otherwise with its defaults."""
        if isinstance(self.estimator, cs.Estimator):
            return self.estimator.core
        if self._takes("binning"):
            named: dict[str, Any] = {"binning": binning}
        else:
            named = {} if self.n_bins is None else {"n_bins": self.n_bins}
        return getattr(cs, self.estimator or default)(**named)

    def _takes(self, *parameters: str) -> bool:
        """Whether the estimator has one of these parameters; the default estimator has a binning."""
        return "binning" in parameters if self.estimator is None else takes(self.name, *parameters)


def read_estimator(text: str | None) -> str | cs.Estimator | None:
    """Read ``--estimator``: return a public name, or make the object of an expression."""
    if text is None or not is_expression(text):
        return None if text is None else estimator_name(text)
    return made("--estimator", text, cs.Estimator)


def choose(option: str, text: str, kind: type, names: Iterable[str]) -> Any:
    """Return the object that an expression makes, or the short name that was written."""
    if is_expression(text):
        return made(option, text, kind)
    if _hyphened(text) not in names:
        raise ValueError(f"there is no {option} {text!r}; choose one of {', '.join(sorted(names))}, or an expression")
    return _hyphened(text)


def read_binning(text: str) -> str | cs.Binning:
    """Read ``--binning``: return equal-mass or equal-width, or make the object of an expression."""
    return choose("--binning", text, cs.Binning, ("equal-mass", "equal-width"))


def cells(binning: str | cs.Binning, n_bins: int) -> cs.Binning:
    """Return cells of a probability or a number."""
    if not isinstance(binning, str):
        return binning
    return cs.EqualWidth(n_bins) if binning == "equal-width" else cs.EqualMass(n_bins)


def read_null(text: str | None) -> cs.Null | str | None:
    """Read ``--null``: return a name or None, or make the object of an expression.

    >>> read_null("Strong"), read_null("Asymptotic()")
    ('strong', Asymptotic())
    """
    return None if text is None else choose("--null", text, cs.Null, NULLS)


# How errors about a null name the options.
OF_NULLS = {"n_resamples is ": "--n-resamples is ", "null=": "--null ", "null is ": "--null is "}


# The panel of questions.


def read_given(options: Iterable[Sequence[str]] | None) -> list[Condition]:
    """Read ``--given``; ``prediction`` beside a variable is the prediction itself.

    >>> read_given([["age"], ["prediction", "sex"]])
    [('age',), (Ellipsis, 'sex')]
    """
    return [
        tuple(... if name == "prediction" and len(names) > 1 else name for name in names) for names in options or ()
    ]


def panel(
    predictions: cs.Predictions, names: Sequence[str] | None, given: Sequence[Condition], measure: Measure
) -> list[Question]:
    """List the questions: every lens given the prediction, then every lens given each of the conditions.

    Without names of lenses, the estimator's own lens is used, or else the number of classes decides. If the estimator
    is for two outcomes, lenses that leave more are left out, but refused if the user asked for them.
    """
    classes = predictions.classes
    asked = names is not None or measure.has_lens
    if names is None:
        names = ("canonical",) if measure.has_lens else default_lenses(classes)
    views = [_look(view, measure.lens, predictions) for name in names for view in lenses(name, classes)]
    more = [view for view in views if measure.two_outcomes and view.n_outcomes > 2]
    if asked and more:
        raise ValueError(
            f"--lens {more[0].kind}: {measure.name} is for two outcomes, and this lens leaves {more[0].n_outcomes}; "
            "take top-label, or class-wise"
        )
    views = list(dict.fromkeys(view for view in views if view not in more))
    plain = [Question(view, (), measure.of(view.n_outcomes, len(predictions))) for view in views]
    conditioned = [
        Question(view, variables, measure.given(variables, view.n_outcomes, predictions))
        for variables in dict.fromkeys(_expand(given, predictions))
        for view in views
    ]
    return plain + conditioned


def one_question(predictions: cs.Predictions, lens: str | None, measure: Measure, *, two: str = "") -> Question:
    """Return the question of a command that asks only one; `two` names a command that is for two outcomes.

    By default the lens is the estimator's own; without one it is canonical for two classes, and top-label for more.
    """
    name = lens or ("canonical" if measure.has_lens else default_lenses(predictions.classes)[0])
    one_lens(name, predictions.classes)
    (question,) = panel(predictions, [name], (), measure)
    if two and question.view.n_outcomes > 2:
        raise ValueError(
            f"--lens {name} sees {question.view.n_outcomes} outcomes at once, but {two} is for two: take top-label or "
            "class-wise:LABEL"
        )
    return question


def _look(view: NamedLens, further: cs.Lens, predictions: cs.Predictions) -> NamedLens:
    """Add the lens of an estimator, and count the outcomes that it leaves."""
    lens = view.lens | further
    if lens == view.lens and view.n_outcomes:
        return view
    kind = view.kind if lens == view.lens else repr(lens)
    return NamedLens(kind, lens, view.label, lens.look(predictions).predictions.n_classes)


def _expand(given: Sequence[Condition], predictions: cs.Predictions) -> Iterator[Condition]:
    """Replace a pattern that stands alone by the variables that it matches."""
    for names in given:
        alone = names[0] if len(names) == 1 else ...
        if isinstance(alone, str) and alone not in predictions.variables:
            yield from ((name,) for name in predictions.variables if fnmatchcase(name, alone))
        else:
            yield names


def variables_asked(names: str | Sequence[str] | None, given: Sequence[Condition], measure: Measure) -> list[str]:
    """Return the variables that lenses, ``--given`` and the estimator name."""
    asked = [names] if isinstance(names, str) else names or ()
    expressions = [made("--lens", name, cs.Lens) for name in asked if is_expression(name)]
    told = [name for each in given for name in each if name is not ...]
    return list(dict.fromkeys([*told, *variables_of(expressions), *variables_of(measure.estimator)]))


# What a variable shows beyond the prediction's own error.

# So many knots of a spline fit what a prediction can be off by; each needs ten rows of the rarer class.
_MOST_KNOTS = 10


def has_increment(question: Question) -> bool:
    """Whether a variable is named, and residuals say what it shows beyond the prediction's own error."""
    return bool(question.given) and question.core.residual_form != "none"


def recalibrated(sample: cs.Sample) -> cs.Sample:
    """Return a sample, seen through a lens, with its predictions fitted to the outcomes of the same rows.

    The fit is of maximum likelihood, so that residuals have no mean along the prediction, and a variable shows what the
    prediction does not.
    """
    predictions, outcomes = sample.predictions, sample.outcomes
    weights = np.ones(len(sample)) if predictions.weights is None else predictions.weights
    mass = np.bincount(outcomes, weights, minlength=predictions.n_classes)
    if np.count_nonzero(mass) < 2:  # a single outcome says nothing of what the prediction could be off by
        return sample
    fitted: Any = cs.calibrators.VectorScaling(penalty=0.0) if mass.all() else cs.calibrators.Temperature()
    if predictions.n_classes == 2:
        fitted = cs.calibrators.Spline(n_knots=int(np.clip(mass.min() // 10, 2, _MOST_KNOTS)))
    fitted.fit(predictions.probabilities, outcomes, sample_weight=weights)
    return cs.Sample.of(replace(predictions, rows=fitted.predict_proba(predictions.probabilities)), outcomes)


def increment_test(
    question: Question, seen: cs.Sample, n_resamples: int | None, level: float, rng: int
) -> cs.CalibrationTest:
    """Test what a question's variables show in a sample that was `recalibrated` behind its lens."""
    joint = ... in question.given
    found = cs.calibration_test(
        seen,
        cs.Given(*question.given) | question.core,
        null="strong" if joint else "weak",
        n_resamples=n_resamples,
        level=level,
        rng=stream_of(rng, question.estimator),
    )
    law = "redrawn labels" if joint else "the larger p-value of redrawn labels and of centred random signs"
    merged = re.search(r"; cells .* merged: (?!(\d+) of \1 ).*", found.hypothesis)
    columns = "column" if len(question.given) == 1 else "columns"
    says = (
        "beyond the error of the prediction: after predictions were recalibrated on these rows, the mean of outcome - "
        f"prediction given the {columns} is zero; {law} (asymptotic){merged[0] if merged else ''}"
    )
    return replace(found, hypothesis=says, tail_of_one=None)  # predictions were fitted to these rows


# The sample of a command.


def sample_columns(arguments: argparse.Namespace, variables: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of `Sample.read` that name columns."""
    probs = arguments.probs or [arguments.confidence]
    buckets = {name: getattr(arguments, name, None) for name in ("predicted", "between")}
    if [probs[0], buckets["predicted"]].count(None) != 1:
        raise ValueError("name the columns of what was predicted by one of --probs, --confidence and --predicted")
    if buckets["between"] is not None and len(buckets["between"]) != 2:
        raise ValueError("--between names two columns, the lower and the upper end of each bucket: --between low,high")
    if buckets["between"] is not None and buckets["predicted"] is None:
        raise ValueError("--between is about the buckets of --predicted: name that column too, or leave --between out")
    if buckets["predicted"] is not None and arguments.label is not None:
        raise ValueError("--predicted is of buckets of rows: name --events and --trials in place of --label")
    counts = {name: getattr(arguments, name, None) for name in ("events", "trials")}
    if (counts["events"] is None) != (counts["trials"] is None):
        raise ValueError("--events says how many of the --trials had the event: name both columns, in place of --label")
    if counts["events"] is not None and getattr(arguments, "confidence", None) is not None:
        raise ValueError("--events are of the probability in --probs: leave --confidence out")
    return {
        **counts,
        **buckets,
        "y_true": arguments.label,
        "y_prob": probs if len(probs) > 1 else probs[0],
        "variables": variables or None,
        "sample_weight": arguments.weights,
        "groups": getattr(arguments, "groups", None),
    }


def read_sample(
    arguments: argparse.Namespace,
    variables: Sequence[str] | None = None,
    option: str = "",
    later: Sequence[str] = (),
    *,
    in_parts: bool = False,
) -> cs.Sample:
    """Read the rows of one model, and the columns that an option names; those needed `later` must be there too.

    Many or large files are counted `in_parts`, where a command needs no single rows.
    """
    refuse_label(arguments, variables or (), option)
    columns = sample_columns(arguments, variables)
    with ProgressBar("reading"):
        if in_parts and is_large(arguments.file):
            return counted_in_parts(arguments, columns)
        found = file_arguments(arguments.file, **columns, later=later)
    return examined(arguments, found)


def counted_in_parts(arguments: argparse.Namespace, columns: Mapping[str, Any]) -> cs.Sample:
    """Count the rows of many or large files a batch at a time; return the sample of what was counted."""
    needing = ("weights", "groups", "prevalence", "confidence", "events", "predicted")
    single = [f"--{name}" for name in needing if getattr(arguments, name, None)]
    if single:
        raise ValueError(f"{single[0]}: {arguments.file} is counted in parts, which takes --label and --probs alone")
    asked = getattr(arguments, "lens", None)
    others = {name.lower() for name in ([asked] if isinstance(asked, str) else asked or ())} - {"top-label"}
    with named_options(names_of_columns(arguments, {"columns": arguments.probs})):
        ledger = cs.Ledger.collect(
            arguments.file,
            y_true=columns["y_true"],
            y_prob=columns["y_prob"],
            by=columns["variables"] or (),
            lenses=[cs.Canonical()] if others else None,
            labels=labels_asked(arguments),
            nan_policy=arguments.nan_policy,
        )
    if repr(cs.Canonical()) not in ledger.classes:
        notice("there are more than two classes, so rows of many or large files are seen through top-label alone")
        arguments.lens = None
    return ledger.sample()


def refuse_label(arguments: argparse.Namespace, variables: Sequence[str], option: str) -> None:
    """Refuse the columns of what happened as variables."""
    for name in (arguments.label, getattr(arguments, "events", None), getattr(arguments, "trials", None)):
        if name in variables:
            raise ValueError(
                f"{option} {name}: this is the column of what happened; name something that was known before"
            )


def examined(arguments: argparse.Namespace, found: dict[str, Any]) -> cs.Sample:
    """Make a sample of the columns of a file; ``--confidence`` gives one already seen through the top label."""
    prevalence = getattr(arguments, "prevalence", None) or []
    if getattr(arguments, "confidence", None) is None:
        asked = {"labels": labels_asked(arguments), "nan_policy": arguments.nan_policy} | (
            {"ask": True} if "y_true" in found else {}
        )
        with named_options(names_of_columns(arguments, found)):
            return cs.Sample._examined(
                **found, **asked, prevalence=prevalence[0] if len(prevalence) == 1 else prevalence or None
            )
    for option, value in (("--labels", arguments.labels), ("--prevalence", prevalence)):
        if value:
            raise ValueError(f"{option} is about the classes of --probs; --confidence has none")
    lens = [arguments.lens] if isinstance(arguments.lens, str) else arguments.lens or []
    if {each.lower() for each in lens} - {"canonical"}:
        raise ValueError("--confidence is the top label already: leave --lens out")
    asked = confidence_arguments(found["y_true"], found["y_prob"])
    others = {key: found[key] for key in ("variables", "sample_weight", "groups", "groups_name", "identifier")}
    return cs.Sample._examined("the top label", **asked, **others, nan_policy=arguments.nan_policy)


def labels_asked(arguments: argparse.Namespace) -> list[Hashable] | None:
    """Read ``--labels``; without them an event that is counted is called as its column."""
    if arguments.labels is not None:
        return read_labels(arguments.labels)
    events = getattr(arguments, "events", None)
    return None if events is None else [f"no {events}", events]


_EXCHANGED = (
    "y_true and y_prob look exchanged: y_true holds probabilities and y_prob labels; the order is (y_true, y_prob), as "
    "in scikit-learn"
)


def names_of_columns(arguments: argparse.Namespace, found: Mapping[str, Any]) -> dict[str, str]:
    """Return what errors call the columns of the file, for each name of an argument."""
    columns = found["columns"] or []
    probs = f"column {columns[0]!r}" if len(columns) == 1 else "--probs"
    weights = getattr(arguments, "weights", None)
    label = f"column {arguments.label!r}"
    exchanged = f"--label and --probs look exchanged: {label} holds probabilities and {probs} labels"
    named = {_EXCHANGED: exchanged, "; the order of arguments is (y_true, y_prob)": ""}
    named |= {f"{each} is ": f"column {vars(arguments).get(each)!r} is " for each in ("events", "trials")}
    named |= {"of groups (": f"of column {getattr(arguments, 'groups', None)!r} ("}
    named |= {"y_true": label, "sample_weight": f"column {weights!r}", "prevalence is ": "--prevalence is "}
    # Advice such as y_prob / 100 is put into words in the end.
    phrases = {f"y_prob{each}": f"{probs}{each}" for each in (" has", " holds", " is", ": ", " (rows", " and so")}
    return named | phrases | {"variable '": "column '"}


ROW_OF_FILE = "row of the file"


def examined_with_rows(
    arguments: argparse.Namespace, found: dict[str, Any], variables: Mapping[str, Any]
) -> tuple[cs.Sample, Ints]:
    """Make a sample with these variables, and return it with the numbers of its rows in the file."""
    if "y_true" not in found:
        raise ValueError("--missing level is about single rows, but --events counts several in one: leave out one")
    numbered = {**variables, ROW_OF_FILE: np.arange(len(found["y_true"]))}
    sample = examined(arguments, found | {"variables": numbered})
    return sample, sample.predictions.variables[ROW_OF_FILE].values.astype(np.intp)


def read_models(arguments: argparse.Namespace, variables: Sequence[str]) -> dict[str, cs.Sample]:
    """Read one sample for each model from the rows of one file."""
    if arguments.file == "-":
        raise ValueError("standard input can be read only once, but each model has its own columns: name a file")
    if len(arguments.model) < 2:
        raise ValueError("--model is given once, but a comparison needs two: --model raw='raw_*' --model new='new_*'")
    columns = columns_of_models(arguments.model)
    later = [column for each in columns.values() for column in each]
    samples = all_of(*(partial(_read_model, arguments, name, variables, columns[name], later) for name in columns))
    return dict(zip(columns, samples, strict=True))


def columns_of_models(options: Sequence[str]) -> dict[str, list[str]]:
    """Read each --model NAME=COL: the columns of the model's probabilities, by its name."""
    columns: dict[str, list[str]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name or not text:
            raise ValueError(f"--model {option}: write a name and its columns, such as --model raw='raw_*'")
        if name in columns:
            raise ValueError(f"--model {name}: two models have this name; give each a name of its own")
        columns[name] = column_names(text)
    return columns


def _read_model(
    arguments: argparse.Namespace, name: str, variables: Sequence[str], probs: Sequence[str], later: Sequence[str]
) -> cs.Sample:
    """Read the sample of one model, by the columns of its probabilities; `later` are those of all models."""
    # Rows with missing values are not left out, as the models would not have the same rows.
    one = argparse.Namespace(**vars(arguments) | {"probs": probs, "weights": None, "nan_policy": "raise"})
    try:
        return read_sample(one, variables, later=later)
    except ValueError as error:
        said = in_options(str(error)).replace(_OMIT, "or leave these rows out of the file")
        raise ValueError(said.replace("--probs ", f"--model {name} ")) from error
