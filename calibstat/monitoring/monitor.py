"""Is the model still calibrated? Evidence that may be looked at after every row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._text import counted
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import LEVEL, Count, Share
from calibstat.data.sample import Predictions
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical, TopLabel
from calibstat.lenses.words import in_words
from calibstat.monitoring._stored import ROUNDED_ONE, expect, stored
from calibstat.monitoring.base import UNKNOWN, Bets, Part
from calibstat.monitoring.change import tilted_gains
from calibstat.monitoring.intake import Intake, Ready, induced_classes, plain_labels
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets
from calibstat.monitoring.watch import Watch


@final
@dataclass(eq=False, repr=False)
class Monitor(Watch):
    """Monitor a model: rows are fed in as they come, and E measures the evidence against calibration.

    The null: given the past, each label seen through the lens follows its prediction. E starts at 1, and under the
    null the probability that it *ever* reaches 1 / level is at most the level (Ville 1939), however often one looks.
    Unlike other objects of the package a monitor changes as it is fed.

    Bets on rows are in the order of their predictions. A row whose label has not arrived holds the rows after it:
    betting in the order in which labels arrive is valid only if the delay does not depend on the label;
    ``order="arrival"`` assumes this and says so.

    Parameters
    ----------
    lens : Lens
        By default the whole prediction.
    labels : sequence
        The label of each column of predictions; with two, one dimension is P(the last label).
    bets : Bets, optional
        `LikelihoodRatioBets()` for two outcomes behind the lens, and `KernelBets()` for more, unless given.
    level : float
        Probability of a false alarm, ever.
    order : {"prediction", "arrival"}
        The order in which rows are bet on.
    max_waiting : int
        The largest number of rows that wait for labels.
    when_full : {"raise", "worst label"}
        What to do with more waiting rows: refuse the call and change nothing, or count the oldest rows with the label
        that is worst for E. (Leaving them out would not be valid, because slow labels may differ from others.)
    bad_rows : {"raise", "omit"}
        Refuse a call with a bad row, and change nothing; or leave out rows with bad predictions, and count rows with
        a label that is missing or none of `labels` with the worst one.
    name : str
        Of the model; a state is refused by a monitor of another name.

    Raises
    ------
    ValueError, TypeError
        If a setting is not among those described; the message says what is expected.

    Examples
    --------
    >>> import numpy as np
    >>> from calibstat.monitoring.monitor import Monitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> monitor = Monitor()
    >>> monitor.update(p[:1000], rng.random(1000) < p[:1000])
    False
    >>> monitor.update(p[1000:], rng.random(2000) < p[1000:] ** 1.5)
    True
    >>> monitor.alarm_row > 1000
    True
    """

    made: ClassVar[tuple[str, ...]] = ("lens", "bets")

    lens: Lens = field(default_factory=Canonical)
    labels: Sequence[Hashable] = (0, 1)
    bets: Bets | None = None
    level: Share = LEVEL
    order: Literal["prediction", "arrival"] = "prediction"
    max_waiting: Count = 100_000
    when_full: Literal["raise", "worst label"] = "raise"
    bad_rows: Literal["raise", "omit"] = "raise"
    name: str = ""

    def __post_init__(self) -> None:
        self.labels = plain_labels(self.labels)
        self.n_classes = induced_classes(self.lens, self.labels)
        if self.bets is None:
            self.bets = LikelihoodRatioBets() if self.n_classes == 2 else KernelBets()
        self._sums = EventSums()
        intake = Intake(self.labels, self.order, self.max_waiting, self.when_full, self.bad_rows)
        self._begin(self.bets.start(self.n_classes), intake)

    def _took_one(self, y_prob: Any, y_true: Any, id: Any) -> bool:  # noqa: A002
        single = self._intake.single(y_prob, y_true, id) if not self.lens.parts else None
        if single is None:
            return False
        self._path.add_one(self._bettor.bet_on_one(*single))
        self._sums.add_one(*single)
        return True

    def _bet_on(self, ready: Ready) -> None:
        """Look at rows through the lens, and bet on what is seen."""
        view = self.lens.look(Predictions(ready.rows, tuple(self.labels)))
        # Codes behind a lens may be of a kind that holds no negative numbers, and UNKNOWN is one.
        outcomes = view.outcomes(np.maximum(ready.outcomes, 0)).astype(np.intp)
        outcomes[view.weights(ready.outcomes == UNKNOWN)] = UNKNOWN
        if len(outcomes):
            self._path.add(self._bettor.bet(view.predictions.chances, outcomes))
            self._sums.add(*_event_of(view.predictions.chances, outcomes))

    def _gains(self, chances: Floats, outcomes: Ints) -> Iterator[Floats]:
        return tilted_gains(chances, outcomes)

    def _parts(self) -> dict[str, Part]:
        return Watch._parts(self) | {"sums": self._sums}

    @property
    def _hypothesis(self) -> str:
        law = "Bernoulli(prediction)" if self.n_classes == 2 else "categorical(prediction)"
        return f"given the past, each label seen through {self.lens!r} is {law}; no binning is part of it"

    @property
    def _how(self) -> str:
        return self.bets.description if self.bets else ""

    @property
    def verdict(self) -> str:
        """A sentence or two: an alarm with what was predicted and what happened, or no evidence so far."""
        lens = self.lens if self.n_classes == 2 else self.lens | TopLabel()
        rows, means = counted(self.n_rows, "row"), self._sums.words(in_words(lens, self.labels))
        if self.alarm:
            off = "evidence that predictions do not fit what happens"
            return f"ALARM in {rows}: {off}{means and f' ({means} so far)'}. {self._alarm_words()}"
        return f"No alarm in {rows} so far{means and f' ({means})'}: {self._evidence_words()}"


def _event_of(chances: Floats, outcomes: Ints) -> tuple[Floats, Ints]:
    """Return the probability of the event (n,), and whether it happened; of more outcomes, that the top one did."""
    if chances.shape[1] == 2:
        return chances[:, 1], outcomes
    return chances.max(axis=1), np.where(outcomes == UNKNOWN, UNKNOWN, outcomes == chances.argmax(axis=1))


@final
class EventSums:
    """The events that were predicted and that happened in rows whose label is known; see `_event_of`.

    Sums are added up row by row, so that they do not depend on how rows are fed.
    """

    def __init__(self) -> None:
        self.n_rows, self.predicted, self.happened = 0.0, 0.0, 0.0  # not a number where they are not known

    def add_one(self, event: float, outcome: int) -> None:
        """Add the next row, as `add` does."""
        self.n_rows, self.predicted, self.happened = self.n_rows + 1, self.predicted + event, self.happened + outcome

    def add(self, events: Floats, outcomes: Ints) -> None:
        """Add rows: probabilities of the event (n,), and whether it happened (n,) or `UNKNOWN`."""
        known = outcomes != UNKNOWN
        self.n_rows += int(known.sum())
        self.predicted = float(np.cumsum(np.append(self.predicted, events[known]))[-1])
        self.happened += float(outcomes[known].sum())

    def words(self, what: str) -> str:
        """Say what was predicted and what happened on average; nothing without rows, or where they were not kept."""
        if not self.n_rows > 0:
            return ""
        predicted, happened = self.predicted / self.n_rows, self.happened / self.n_rows
        return f"{what}: {predicted:.3g} predicted, {happened:.3g} happened"

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        return {"sums": np.array([self.n_rows, self.predicted, self.happened], dtype=float)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned; an older state has no sums, and none are told then."""
        missing = np.full(3, np.nan)
        unknown = np.array_equal(state.get("sums", missing), missing, equal_nan=True)
        self.n_rows, self.predicted, self.happened = (missing if unknown else stored(state, "sums", (3,), 0)).tolist()
        expect(unknown or max(self.predicted, self.happened) <= self.n_rows * ROUNDED_ONE, "sums are those of rows")
