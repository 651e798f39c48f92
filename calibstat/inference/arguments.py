"""What public functions are given: the right kinds of things, or an error that says what was expected."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from calibstat._text import shown
from calibstat.data._classes import refuse_weights_of_labels
from calibstat.data.counted import CountedSample, needs_rows
from calibstat.data.sample import Sample
from calibstat.estimators.base import Capabilities, Estimator
from calibstat.inference.results import Inquiry, RowCounts
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.relabel import CANONICAL
from calibstat.nulls.base import Null


def look_through(
    sample: Any,
    estimator: Any,
    lens: Lens | None = None,
    *,
    counted: bool = False,
    labelled: bool = False,
    buckets: bool = False,
) -> tuple[Inquiry, Sample]:
    """Look at a sample through a lens and then that of the estimator; return what is asked, and what is seen.

    ``look_through(sample, estimator, lens)`` is the same as ``look_through(sample, lens | estimator)``. An error is
    raised where no row is left to look at. Where the caller reads rows that are `counted`, many of them are not written
    out, if the estimator reads them too; `labelled` ones have an outcome each. Rows that are `buckets` are read by both
    or refused.
    """
    check_sample(sample)
    asked = behind(lens, estimator)
    through = asked.lens
    seen = sample if through is CANONICAL else through(sample)
    refuse_empty(seen, through)
    asked.core.expect_rows(seen.known)
    if counted:
        seen = seen.read_by(asked.core.reads_counts, labelled, buckets)
    predictions = seen.predictions
    found = predictions.n_classes, predictions.given, predictions.source
    counts = RowCounts(predictions.effective_rows, predictions.largest_share)
    before = sample.labels, sample.known.seen
    further: dict[str, Any] = {"clusters": predictions.clusters, "hint": sample.hint, "before": before, "seen": seen}
    return Inquiry(asked, predictions.n_rows, *found, counts, **further), seen


def with_counts(question: Inquiry, seen: Sample, offers: Capabilities) -> Inquiry:
    """Count the events in the cells of an evaluator that is prepared on what is seen."""
    fewest = None if offers.fewest is None else offers.fewest(seen.outcomes)
    return replace(question, counts=question.counts._replace(smallest_cell_events=fewest))


def behind(lens: Lens | None, estimator: Any) -> Estimator:
    """Return an estimator behind a lens, which is looked through before the estimator's own; None is no lens."""
    check_estimator(estimator)
    return estimator if lens is None else check_lens(lens) | estimator


def check_sample(sample: Any) -> None:
    """Refuse anything but a sample, and one whose weights depend on the label alone."""
    if not isinstance(sample, Sample):
        raise TypeError(f"sample is {_kind_of(sample)}, but a Sample is expected: for example Sample(y_true, y_prob).")
    if sample.known.weights is not None and sample.predictions.weights is not None:
        refuse_weights_of_labels(sample.outcomes, sample.predictions.weights, sample.labels)


def refuse_counted(verb: str, *samples: Any) -> None:
    """Refuse counted rows of models that are compared, where they are too many to be written out."""
    for sample in samples:
        if isinstance(sample, CountedSample) and len(sample) > sample.most:
            raise ValueError(
                f"{verb} compares models row by row, but a sample counts {len(sample):,} rows, and counts do not tell "
                "which rows of two models are the same: compare the intervals that estimate gives of each model, or "
                "pass single rows, some of them drawn at random, with the predictions of all models"
            )


def in_buckets(sample: Sample) -> bool:
    """Whether the rows of a sample are buckets of rows, of whose predictions the mean alone is known."""
    return sample.known.buckets is not None


def refuse_buckets(sample: Any, what: str) -> None:
    """Refuse buckets of rows, where something needs the prediction of each row."""
    if isinstance(sample, Sample) and in_buckets(sample):
        raise needs_rows(what, len(sample.known))


def hypothesis_of(null: Null, estimator: Estimator, seen: Sample) -> str:
    """Return the sentence that says what a null assumes of what is seen; of buckets no law is exact."""
    said = null.hypothesis(estimator.lens, estimator.core.given(seen.predictions), seen.groups)
    return said.replace("(exact", "(about") if in_buckets(seen) else said


def buckets_note(seen: Sample) -> tuple[str, ...]:
    """Say what a result of buckets takes for granted: that events spread as if rows of a bucket were all alike."""
    if not in_buckets(seen):
        return ()
    return (
        "rows of a bucket are taken for equal predictions, so that noise is at least what it is (Hoeffding 1956): "
        "p-values, and intervals given these predictions, are about right, rather too large than too small; errors "
        "that cancel inside a bucket are not seen",
    )


def check_lens(lens: Any) -> Lens:
    """Return a lens, the canonical one for None, and refuse anything else."""
    if lens is None:
        return CANONICAL
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


# The names of nulls, the same in every verb and on the command line, and the file and class that each stands for.
NULLS: Final = {
    "strong": ("consistency", "Consistency"),
    "consistency": ("consistency", "Consistency"),
    "weak": ("multiplier", "Weak"),
    "multiplier": ("multiplier", "Multiplier"),
    "exact": ("exact", "Exact"),
    "asymptotic": ("asymptotic", "Asymptotic"),
    "saddlepoint": ("linear", "Saddlepoint"),
    "sequential": ("consistency", "Sequential"),
}


def check_null(null: Any, n_resamples: int | None = None, default: str = "strong", **settings: Any) -> Null:
    """Return a null, or the one of that name, and refuse anything else; None has the name `default`.

    A null that is named draws `n_resamples`, or as many as it does by itself; `settings` are for it where it has them.
    An object says all of this, so that another number beside it is refused.
    """
    name = default if null is None else null
    if isinstance(name, str) and name in NULLS:
        file, kind = NULLS[name]
        made: type[Null] = getattr(import_module(f"calibstat.nulls.{file}"), kind)
        if n_resamples is not None and made.n_resamples is None:
            raise ValueError(f"n_resamples is {n_resamples!r}, but null={name!r} draws nothing; leave it out.")
        asked = settings if n_resamples is None else settings | {"n_resamples": n_resamples}
        return made(**{key: value for key, value in asked.items() if hasattr(made, key)})
    if not isinstance(null, Null):
        found = repr(null) if isinstance(null, str) else _kind_of(null)
        raise TypeError(
            f"null is {found}, but a null is expected: for example Consistency(999), or one of "
            f"{', '.join(map(repr, NULLS))}."
        )
    if n_resamples not in (None, null.n_resamples):
        raise ValueError(f"n_resamples is {n_resamples!r}, but null={null!r} says how many are drawn; leave it out.")
    return null


def for_clusters(null: Null, sample: Sample, asked: Any = None) -> tuple[Null, tuple[str, ...]]:
    """Return a null that holds for the sample's clusters, with a note where it is another than was `asked` for."""
    groups = sample.groups
    if groups is None or null.takes_clusters:
        return null, ()
    from calibstat.nulls.multiplier import Multiplier  # it is for clusters, signs and weak nulls

    instead = Multiplier() if null.n_resamples is None else Multiplier(null.n_resamples)
    why = f"{null!r} takes rows as independent, which those of the same {shown(groups.name)!r} are not"
    return instead, () if asked is None else (f"{why}: {instead!r} was used, which holds for clusters",)


def refuse_clusters(sample: Sample, verb: str, instead: str) -> None:
    """Refuse rows in clusters, where a verb is for independent rows; `instead` is what holds for clusters."""
    groups = sample.groups
    if groups is not None:
        raise ValueError(
            f"{verb} takes rows as independent, which those of the same {shown(groups.name)!r} are not; {instead}."
        )


def _kind_of(thing: Any) -> str:
    """A class, or what something is an instance of."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
