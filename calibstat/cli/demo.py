"""Test a real classifier before and after recalibration.

Trains a classifier on data that come with scikit-learn, tests it before and
after recalibration, explains the results, and draws calibration_demo.png. It
takes seconds and needs no network.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import calibstat as cs
from calibstat._dataclass import dataclass
from calibstat._files import written_whole
from calibstat.cli import options
from calibstat.cli.questions import Measure, panel
from calibstat.cli.test import ask
from calibstat.cli.text import ProgressBar, plain_warnings, say, tell
from calibstat.data.parameters import LEVEL
from calibstat.inference.by_lens import TestsByLens
from calibstat.inference.results import number

N_TREES = 100
PICTURE = "calibration_demo.png"


@dataclass(frozen=True, eq=False)
class Trained:
    """What the demo tests: the same test rows, predicted raw and recalibrated."""

    raw: cs.Sample
    recalibrated: cs.Sample
    temperature: float
    n_fit: int
    n_recalibrate: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--out", default=".", metavar="DIR", help="where to put the picture (default: here)")
    options.add(parser, "--seed")


def run(arguments: argparse.Namespace) -> None:
    """Train, test, explain, draw."""
    folder = Path(arguments.out)
    if folder.is_file():
        raise ValueError(f"--out {folder} is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    seed = arguments.seed
    with ProgressBar("training"):
        trained = train(seed)
    with plain_warnings():
        before, after = (
            ask(sample, panel(sample.predictions, None, (), Measure()), seed)
            for sample in (trained.raw, trained.recalibrated)
        )
    _say(_answer(trained.raw, before, after))
    _say(_introduction(trained))
    _show("Raw.", before)
    _say(_what_it_means(before))
    _show(f"Recalibrated: one number, a temperature of {trained.temperature:.2f}, fitted on rows of its own.", after)
    _say(_what_it_is_not(after))
    path = folder / PICTURE
    with ProgressBar("drawing"):
        _save_picture(trained, seed, path)
    say(f"Picture: {path}")


def train(seed: int) -> Trained:
    """Train a random forest on handwritten digits, and recalibrate it on rows that it has not seen."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=1200, stratify=y, random_state=seed % 2**32)
    X_cal, X_test, y_cal, y_test = train_test_split(
        X_rest, y_rest, test_size=800, stratify=y_rest, random_state=seed % 2**32
    )
    forest = RandomForestClassifier(N_TREES, random_state=seed % 2**32).fit(X_fit, y_fit)
    # One temperature for the log-probabilities (Guo et al. 2017); below one sharpens.
    fitted = cs.calibrators.Temperature().fit(forest.predict_proba(X_cal), y_cal)
    raw = forest.predict_proba(X_test)
    recalibrated = cs.Sample(y_test, fitted.predict_proba(raw))
    return Trained(cs.Sample(y_test, raw), recalibrated, 1 / fitted.inverse_temperature_, len(y_fit), len(y_cal))


def _answer(sample: cs.Sample, before: TestsByLens, after: TestsByLens) -> str:
    seen = cs.TopLabel()(sample)
    accuracy, confidence = float(seen.outcomes.mean()), float(seen.predictions.event.mean())
    n_before, n_after = (sum(p <= LEVEL for p in each.pvalues_adjusted) for each in (before, after))
    tops = (each.tests[0] for each in (before, after))
    errors = [f"{number(top.statistic)}, where noise alone gives {number(top.null_mean)}" for top in tops]
    return (
        f"A random forest gets {100 * accuracy:.0f} % of handwritten digits right, but claims {100 * confidence:.0f} % "
        f"on average: its confidence is off by {errors[0]}; recalibrated by one number, by {errors[1]}. Of "
        f"{len(before.tests)} tests {n_before} reject before, {n_after} after."
    )


def _introduction(trained: Trained) -> str:
    return (
        f"The forest of {N_TREES} trees learns scikit-learn's load_digits: {trained.n_fit} rows to learn from, "
        f"{trained.n_recalibrate} to recalibrate on, {len(trained.raw)} to test on. Do its probabilities mean what "
        "they say? Every test below compares the miscalibration it sees with what noise alone would show, if labels "
        "were drawn anew from the predictions."
    )


def _what_it_means(found: TestsByLens) -> str:
    if not found.pvalues_adjusted[0] <= LEVEL:
        return "There is no evidence against the confidence of the forest."
    return (
        "A forest averages the votes of its trees, which disagree even where the answer is clear, so it is less "
        "confident than it could be. Whoever acts on these probabilities hesitates too often. Good answers do not "
        "help: accuracy and calibration are different things."
    )


def _what_it_is_not(after: TestsByLens) -> str:
    if any(p <= LEVEL for p in after.pvalues_adjusted):
        return "One temperature helps, but does not correct every class."
    return (
        f"That no test rejects is no proof of calibration: with {after.tests[0].question.n} rows, errors not much "
        "larger than the column 'noise alone' stay unseen; the raw error was far larger. And never read an error "
        "without what noise alone would give: the value after recalibration is not zero, and need not be."
    )


def _show(title: str, found: TestsByLens) -> None:
    _say(title)
    say(replace(found.screen(), notes=(), details=()).text(verbose=True))
    say()


def _say(text: str) -> None:
    tell(text)
    say()


def _save_picture(trained: Trained, seed: int, path: Path) -> None:
    from calibstat.displays.reliability import side_by_side

    samples = {"Before": trained.raw, "After recalibration": trained.recalibrated}
    displays = [
        cs.ReliabilityDisplay.compute(sample, cs.EqualWidth(10), lens=cs.TopLabel(), rng=seed, name=name)
        for name, sample in samples.items()
    ]
    cells = [replace(display, curves=[]) for display in displays]  # points and bars are read at one glance
    figure = side_by_side(cells, "A forest reads handwritten digits. Is it right as often as it says?")
    for ax in figure.axes:
        ax.set_xlabel("how sure the model is" if ax.get_xlabel() else "")
        ax.set_ylabel("how often it is right" if ax.get_ylabel() else "")
    with written_whole(path) as place:
        figure.savefig(place, dpi=150)
