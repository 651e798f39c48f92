"""What is wanted of a predictor that people read: five measures, each beside what noise alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import one_bar, track
from calibstat._text import counted, percent
from calibstat.auditing.groups import Means, is_top_label
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, Proportion, at_least_one, check_kind, check_share
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.ranks import KendallTau, ProbabilisticCount
from calibstat.estimators.scores import BrierScore, ZeroOneLoss
from calibstat.estimators.squared import ECE
from calibstat.generators.base import SyntheticModel, evaluate, population_of
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.estimate import estimate
from calibstat.inference.forest import Noise
from calibstat.inference.intervals import ConfidenceInterval
from calibstat.inference.results import Estimate, Result, RowCounts, number, number_cell
from calibstat.interpretability._atoms import Atoms
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.relabel import CANONICAL
from calibstat.lenses.words import in_words


@one_bar
def desiderata(
    source: SyntheticModel | Sample,
    *,
    lens: Lens | None = None,
    binning: Binning | None = None,
    threshold: float = 0.5,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> Desiderata:
    """Measure what is wanted of a predictor that people read, by five numbers (Torabian & Urner 2024).

    Calibration: `ECE`. Accuracy: `ZeroOneLoss`. Closeness to the regression function: `BrierScore`, the mean squared
    error. Monotonicity: `KendallTau`. Few cells: `ProbabilisticCount`. On a sample each stands beside its mean under
    calibration, on as many rows, and has the interval of `estimate`, where there is one; labels do not change the
    count. Kendall's tau is taken against labels there. In a world each is a true value, beside that of the chances
    themselves, the best predictor that there is.

    Parameters
    ----------
    source : SyntheticModel or Sample
        Two classes. A world has finitely many predictions; what a sample holds was predicted for rows that the model
        was not fitted on.
    lens : Lens, optional
        For samples with more than two classes: ``TopLabel()`` or ``ClassWise(label)``.
    binning : Binning, optional
        The cells of the calibration error of a sample; by default the distinct predictions if there are ten rows for
        each, otherwise ``EqualMass(15)`` (Gupta & Ramdas 2021), of fewer rows with a cell for every ten.
    threshold : float
        From this prediction on, the decision is for the event.
    confidence_level : float
        Of each interval by itself.
    n_resamples : int
        Redraws of the labels, for the interval of the calibration error and for means under calibration.
    rng : int, Generator or None

    Returns
    -------
    Desiderata
        With a sentence for each measure; prints itself in words.

    Raises
    ------
    ValueError, TypeError
        If there are more than two outcomes, or infinitely many predictions in a world, or an argument is not as
        described.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> world = FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6], mass=[3, 2, 5])
    >>> cs.desiderata(world).to_frame()[["desideratum", "value", "expected"]].round(4)
          desideratum   value  expected
    0     calibration  0.1300    0.0000
    1        accuracy  0.4200    0.4200
    2   squared error  0.2610    0.2420
    3    monotonicity  1.0000    1.0000
    4  few cells       2.6316    2.6316
    """
    check_kind("threshold", threshold, Proportion)
    check_kind("binning", binning, Binning | None)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    at_least_one("n_resamples", n_resamples)
    others, generator = (ZeroOneLoss(threshold), BrierScore(), KendallTau()), as_generator(rng)
    if isinstance(source, SyntheticModel):
        if lens is not None or binning is not None:
            raise ValueError("lens and binning are for samples: the cells of a world are its predictions.")
        return _of_world(source, (ECE(UniqueValues()), *others, ProbabilisticCount()), confidence_level)
    seen = _seen(source, lens)
    asked = (ECE(binning or _default_binning(seen)), *others)
    found = [
        estimate(seen, each, confidence_level=confidence_level, n_resamples=n_resamples, rng=generator)
        for each in track(asked, len(asked))
    ]
    estimated = [_of_estimate(name, each) for name, each in zip(_WANTED, found, strict=False)]
    misranked, misranked_expected, estimated[-1] = _of_pairs(seen, estimated[-1])
    missing = [each for each in estimated if not each.confidence_interval]
    without = [f"no interval for {each.name}: {each.interval_note}" for each in missing]
    said = {each.interval_note for each in missing}
    right = is_top_label(check_lens(lens), seen)
    return Desiderata(
        measures=(*estimated, _count_of_cells(seen)),
        confidence_level=confidence_level,
        n=len(seen),
        lens=check_lens(lens),
        source=seen.predictions.source,
        counts=found[0].question.counts,
        notes=tuple(dict.fromkeys([*without, *(note for each in found for note in each.notes if note not in said)])),
        misranked=misranked,
        misranked_expected=misranked_expected,
        what=in_words(check_lens(lens), source.labels, source.predictions.seen),
        wrong_class=1 - Means.of(seen).happened if right else None,
    )


def _seen(sample: Any, lens: Lens | None) -> Sample:
    """Look at a sample through a lens; refuse what is no sample, and more than two outcomes."""
    if not isinstance(sample, Sample):
        raise TypeError(
            f"source is of type {type(sample).__name__}; pass a Sample, or a world such as FinitePredictions(...)."
        )
    check_sample(sample)
    seen = check_lens(lens)(sample)
    refuse_empty(seen, check_lens(lens))
    if seen.predictions.n_classes != 2:
        raise ValueError(
            f"{seen.predictions.n_classes} classes are seen through {check_lens(lens)!r}, but the measures are of the "
            "prediction of a single event: pass a lens, for example lens=TopLabel()."
        )
    return seen


ROWS_OF_A_CELL = 10


def _default_binning(seen: Sample) -> Binning:
    """Return the distinct predictions where ten rows have each on average, otherwise cells of equal mass, up to 15."""
    cells = EqualMass(max(1, min(15, len(seen) // ROWS_OF_A_CELL)))
    if seen.known.powers is not None and seen.known.powers.any():  # means of steps, in which predictions differ
        return cells
    distinct = UniqueValues().cut(seen.predictions.conditioning_on((...,))).size
    return UniqueValues() if distinct * ROWS_OF_A_CELL <= len(seen) else cells


def _of_estimate(name: str, found: Estimate) -> Desideratum:
    """Put the estimate of a measure, which is one number, into words."""
    value, expected = float(found.headline or 0), float(found.headline_null_mean or 0)
    measure = found.question.estimator
    sentence = _SENTENCES[name](value, expected, measure, "rows")
    return Desideratum(
        name, measure, value, expected, found.confidence_interval, found.interval_note, sentence, found.noise
    )


def _of_pairs(seen: Sample, order: Desideratum) -> tuple[float, float, Desideratum]:
    """Return which share of pairs with and without the event is misranked, what is expected, and tau in such words.

    Tau counts pairs of equal outcomes as ranked right. What is expected is a ratio of means over labels.
    """
    mass = np.ones(len(seen)) if seen.predictions.weights is None else seen.predictions.weights
    mass, chances = mass / mass.sum(), seen.predictions.event
    share, mean = float(mass @ (seen.outcomes == 1)), float(mass @ chances)
    mixed = 2 * share * (1 - share), 2 * (mean * (1 - mean) - float(mass**2 @ (chances * (1 - chances))))
    equal = float(np.ptp(chances)) == 0
    found, noise = (
        (1 - tau) / 2 / pairs if pairs > ROUNDING and not equal else nan
        for tau, pairs in zip((order.value, order.expected), mixed, strict=True)
    )
    said = f"Kendall's tau is {number(order.value)}: {_ranked(found, equal)}"
    about = "" if isnan(noise) else f"; about {_share(max(noise, 0.0))} is expected if the predictions are the chances"
    return found, noise, replace(order, sentence=f"{said}{about}.")


def _count_of_cells(seen: Sample) -> Desideratum:
    """Count cells, which labels do not change, so that nothing is drawn."""
    name, measure = _WANTED[-1], ProbabilisticCount()
    count, distinct = measure(seen), UniqueValues().cut(seen.predictions.conditioning_on((...,))).size
    alone = 2 * distinct > len(seen) > 1
    own = ", most of them of a single row, so that the count grows with the rows" if alone else ""
    there = f"There {'is' if distinct == 1 else 'are'} {counted(distinct, 'distinct prediction')}"
    said = f"{_cells(count, count, measure, 'rows')} {there}{own}."
    return Desideratum(name, measure, count, count, None, "no label changes the count", said)


def _of_world(world: SyntheticModel, measures: Sequence[Estimator], confidence_level: float) -> Desiderata:
    """Compute true values, and those of the chances themselves."""
    atoms = Atoms.of(world)
    best = [ZeroOneLoss() if isinstance(each, ZeroOneLoss) else each for each in measures]  # the Bayes decision
    rows, chances = (population_of(each, atoms.chance, atoms.mass) for each in (atoms.event, atoms.chance))
    found = [
        Desideratum(name, each, value, expected, None, "", _SENTENCES[name](value, expected, each, "world"))
        for name, each, value, expected in zip(
            _WANTED,
            measures,
            (float(evaluate(each, rows)) for each in measures),
            (float(evaluate(each, chances)) for each in best),
            strict=True,
        )
    ]
    method = f"{counted(len(atoms.event), 'row')} with {counted(len(atoms.scores), 'distinct prediction')}"
    return Desiderata(tuple(found), confidence_level, None, CANONICAL, method, None, ())


# The measures in words: a value, what is expected beside it, the estimator, and whether of a sample or of a world.


def _calibration(value: float, expected: float, _: Estimator, of: str) -> str:
    away = f"away from {'the' if of == 'world' else 'its mean'} prediction on average"
    if of == "world":
        return f"The mean chance of a cell is {number(value, expected)} {away}."
    noise = f"where noise alone gives {number(expected, value)}"
    return f"The mean outcome of a cell is {number(value, expected)} {away}, {noise}."


def _accuracy(value: float, expected: float, estimator: Estimator, of: str) -> str:
    decided = f"Deciding for the event from {getattr(estimator, 'threshold', 0.5):g} on is wrong in {_share(value)} of "
    if of == "world":
        return f"{decided}all cases; no rule is wrong in less than {_share(expected)}."
    return f"{decided}the rows; {_share(expected)} is expected if the predictions are the chances."


def _squared(value: float, expected: float, _: Estimator, of: str) -> str:
    error = f"The mean squared error is {number(value, expected)}; "
    if of == "world":
        away = number(max(value - expected, 0.0) ** 0.5)
        return (
            f"{error}that of the chances is {number(expected, value)}, and predictions are {away} away from them (rms)."
        )
    return f"{error}{number(expected, value)} is expected if the predictions are the chances."


def _order(value: float, _: float, __: Estimator, ___: str) -> str:
    return f"{_share((1 - value) / 2)} of all pairs are ranked against their chances."


def _ranked(misranked: float, equal: bool) -> str:
    if equal:
        return "all predictions are equal, so that no pair is ranked"
    if isnan(misranked):
        return "there is no pair with and without the event to rank"
    return f"of pairs with and without the event {_share(misranked)} are ranked the wrong way round"


def _cells(value: float, _: float, __: Estimator, of: str) -> str:
    rows = "cases" if of == "world" else "rows"
    shared = f"two {rows} share a prediction as often as with {_cells_text(value)} of equal mass"
    return f"The probabilistic count is {_count(value)}: {shared}."


def _share(value: float) -> str:
    return percent(float(f"{value:.3g}"))


def _cells_text(value: float) -> str:
    return f"{_count(value)} {'cell' if _count(value) == '1' else 'cells'}"


def _count(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


_SENTENCES = {
    "calibration": _calibration,
    "accuracy": _accuracy,
    "squared error": _squared,
    "monotonicity": _order,
    "few cells": _cells,
}
_WANTED = tuple(_SENTENCES)


@final
@dataclass(frozen=True, eq=False)
class Desideratum:
    """One thing that is wanted of a predictor, and its measure.

    Parameters
    ----------
    name : str
    measure : Estimator
    value : float
    expected : float
        On a sample the mean under calibration, on as many rows: what noise alone gives. In a world that of the chances.
    confidence_interval : ConfidenceInterval or None
    interval_note : str
        What the interval is for and how it was computed, or why there is none.
    sentence : str
        The value in words.
    noise : Noise, optional
        Where the value lies under calibration; None in a world, and of the count, which labels do not change.
    """

    name: str
    measure: Estimator
    value: float
    expected: float
    confidence_interval: ConfidenceInterval | None
    interval_note: str
    sentence: str
    noise: Noise | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        low, high = self.confidence_interval or (None, None)
        return {
            "desideratum": self.name,
            "measure": repr(self.measure),
            "value": self.value,
            "expected": self.expected,
            "low": low,
            "high": high,
            "interval_note": self.interval_note,
            "sentence": self.sentence,
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class Desiderata(Result):
    """The result of `desiderata`: five measures of a predictor that people read.

    Parameters
    ----------
    measures : tuple of Desideratum
        Calibration, accuracy, squared error, monotonicity, few cells.
    confidence_level : float
        Of each interval by itself.
    n : int or None
        Number of rows; None in a world.
    lens : Lens
    source : str
        Which class each column was taken for; of a world, how many rows and predictions it has.
    counts : RowCounts or None
    notes : tuple of str
        What limits the result.
    misranked : float or None
        Of pairs of a row with and one without the event, the share ranked the wrong way round, where `KendallTau`
        counts all pairs; None in a world, NaN where no pair is ranked.
    misranked_expected : float or None
        The same share if the predictions are the chances.
    what : str
        Whose predictions they are, in words; "" in a world.
    wrong_class : float or None
        The share of rows whose predicted class is wrong, where the event is that it is right.
    """

    measures: tuple[Desideratum, ...]
    confidence_level: float
    n: int | None
    lens: Lens
    source: str
    counts: RowCounts | None
    notes: tuple[str, ...]
    misranked: float | None = None
    misranked_expected: float | None = None
    what: str = ""
    wrong_class: float | None = None

    _display: ClassVar[str] = "DesiderataDisplay"
    _row: ClassVar[str] = "desideratum"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 1)
    _spare_columns: ClassVar[tuple[int, ...]] = (1,)

    def __getitem__(self, name: str) -> Desideratum:
        """Return a measure by the name of what is wanted."""
        return next(each for each in self.measures if each.name == name)

    @property
    def verdict(self) -> str:
        """All five in one sentence."""
        calibration, accuracy, squared, order, cells = self.measures
        error, noise = number(calibration.value, calibration.expected), number(calibration.expected, calibration.value)
        of = f" of {self.what}" if self.what else ""
        off = f"Predictions{of} are off by {error} on average"
        if self.n is not None:
            off += f" (noise alone: {noise})"
        if calibration.noise is not None and not calibration.noise.beyond:
            off = f"The average error{of}, {error}, may be noise alone ({noise} on average)"
        where = "true values" if self.n is None else counted(self.n, "row")
        against = f"{_share((1 - order.value) / 2)} of all pairs are ranked the wrong way round"
        ranked = against if self.misranked is None else _ranked(self.misranked, cells.value == 1)
        also = f"the squared error is {number(squared.value)}, and {self._spread(cells.value)} ({where})"
        return f"{off}, {self._decided(accuracy)}, and {ranked}; {also}."

    def _decided(self, accuracy: Desideratum) -> str:
        """Say how often decisions are wrong, and of which event."""
        wrong, threshold = _share(accuracy.value), f"{getattr(accuracy.measure, 'threshold', 0.5):g}"
        if self.wrong_class is None:
            return f"{wrong} of decisions at {threshold} are wrong"
        told = f"telling right classes from wrong ones at {threshold} fails in {wrong} of rows"
        return f"{told} (the class is wrong in {_share(self.wrong_class)})"

    def _spread(self, count: float) -> str:
        """Say how many predictions there are in effect."""
        if self.n is not None and self.n > 1 and count > _NEARLY * self.n:
            return "nearly every row has a prediction of its own"
        return f"predictions fall into {_cells_text(count)} in effect"

    def _values(self) -> dict[str, Any]:
        rows = {} if self.n is None else {"n": self.n}
        return {
            "lens": repr(self.lens),
            **rows,
            "confidence_level": self.confidence_level,
            "measures": self.measures,
            **({} if self.misranked is None else {"misranked": self.misranked}),
            "source": self.source,
            "notes": self.notes,
        }

    def _rows(self) -> Sequence[dict[str, Any]]:
        return [each.to_dict() for each in self.measures]

    def _table(self) -> list[list[str]]:
        beside = "best" if self.n is None else "expected"
        interval = "" if self.n is None else f"{percent(self.confidence_level)} interval"
        header = ["", "measure", "value", beside, interval]
        rows = [self._line(each, words) for each, words in zip(self.measures, MEASURES, strict=True)]
        if self.misranked is not None and not isnan(self.misranked):
            shares = (self.misranked, max(self.misranked_expected or 0.0, 0.0))
            rows.insert(-1, ["", "pairs ranked the wrong way", *map(number_cell, shares), ""])
        return [header, *rows]

    def _line(self, each: Desideratum, words: str) -> list[str]:
        write = _count if each.name == "few cells" else number_cell
        found = each.confidence_interval
        none = "" if self.n is None else "none"
        interval = none if found is None else f"{write(found.low)} to {write(found.high)}"
        return [each.name, words, write(each.value), write(each.expected), interval]

    def _notes(self) -> tuple[str, ...]:
        return self.notes

    def _details(self) -> list[tuple[str, str]]:
        lines = [(each.name, each.sentence) for each in self.measures]
        if self.n is None or self.counts is None:
            return [*lines, ("best", "the same for the chances themselves"), ("world", self.source)]
        return [
            *lines,
            ("expected", "mean on as many rows if the predictions are the chances: what noise alone gives"),
            ("intervals", "each by itself, as `estimate` gives them; labels do not change the count of cells"),
            ("data", f"{self.counts.text(self.n)}, seen through {self.lens!r}; {self.source}"),
        ]


MEASURES = (
    "calibration error",
    "wrong decisions",
    "mean squared error",
    "all pairs (1: none wrong)",
    "cells in effect",
)
# More cells than so many for each row are a prediction for each.
_NEARLY = 0.9
