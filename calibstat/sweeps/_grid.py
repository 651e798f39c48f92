"""The grid of a sweep: its models, estimators and tests, its random streams, and a description that identifies it."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from itertools import product
from types import CodeType, FunctionType, MethodType
from typing import Annotated, Any, TypeAlias
from zlib import crc32

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import keep
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.tally import BinnedEstimator
from calibstat.generators.base import SyntheticModel
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.sweeps._draws import Cuts, RepeatData, cut_by_one_sort, sums_of_group, ways_to_draw

Plain: TypeAlias = Callable[[Ints, Floats], Any]
Named: TypeAlias = Annotated[
    Mapping[str, Any], "a dict of names, such as {'ECE': lambda n_bins: ECE(EqualMass(n_bins))}, or left out"
]
IntervalOf: TypeAlias = Callable[[Sample, Estimator, np.random.Generator], tuple[float, float] | None]
# The last keys of the streams of one repeat, which name their purpose.
SAMPLE, TEST, INTERVAL, GROUP, TRUTH = range(5)
_ROWS_IN_A_FINGERPRINT = 64


@dataclass(frozen=True, eq=False)
class Study:
    """The definition of a sweep.

    `interval` takes a sample, an estimator and a Generator, and returns the two ends, or None where there is no
    interval. `entropy` is the root of all streams, and `seed` is the integer that it was made from, for texts.
    `draws` ("rows", "sorted" or "cells") is how data sets are drawn.
    """

    models: dict[str, SyntheticModel]
    n: tuple[int, ...]
    n_bins: tuple[int, ...]
    estimators: Items
    tests: Items
    interval: IntervalOf | None
    n_repeats: int
    entropy: tuple[int, ...]
    draws: str = "rows"
    seed: int | None = None
    truths: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # that the user gave: by estimator, model
    truth_rows: int | None = None  # of the large samples for true values of functions, where these are asked for
    ways: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        if self.draws == "cells":
            _refuse_what_needs_rows(self)
        keep(self, ways=ways_to_draw(self.models, self.draws))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments of the study; other processes compute its tables again."""
        return Study, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.models)

    def stream(self, model: str, n: int, repeat: int, *purpose: int) -> np.random.Generator:
        """Return the stream of one repeat; its keys name its purpose, so that a larger grid does not change it."""
        words = (*self.entropy, crc32(model.encode()), n, repeat, *purpose)
        # Four words of entropy and a spawn key are, for NumPy, one after the other; an array is read in a third of the
        # time. Numbers of rows that need two words take the long way.
        if n < 2**32:
            seeds = np.random.SeedSequence(np.array(words, dtype=np.uint32))
        else:
            seeds = np.random.SeedSequence(words[:4], spawn_key=words[4:])
        return np.random.Generator(np.random.PCG64(seeds))

    def draw(self, model: str, n: int, repeat: int) -> RepeatData:
        """Draw the data set of one repeat; all estimators, tests and numbers of bins share it."""
        return self.ways[model](n, self.stream(model, n, repeat, SAMPLE))

    def draw_group(self, model: str, cuts: Cuts, lanes: int, repeats: range) -> Floats | None:
        """Draw the sums of some repeats of a group, all at once; None if they have to be drawn one by one."""
        if self.draws == "cells":  # a stream for the whole group
            first = repeats.start // lanes * lanes
            drawn: Floats = self.ways[model].draw(cuts, lanes, self.stream(model, cuts.n, first, GROUP))
            return drawn[repeats.start - first : repeats.stop - first]
        if self.models[model].finite:  # equal scores, which have to stay together
            return None
        streams = [functools.partial(self.stream, model, cuts.n, repeat, SAMPLE) for repeat in repeats]
        try:
            return sums_of_group(self.ways[model], cuts, streams)
        except Exception:  # one by one, so that the error is that of one repeat
            return None

    def design(self, version: str) -> dict[str, Any]:
        """Return all that determines the numbers, in plain values that are the same in every process."""
        return {
            "calibstat": version,
            "models": {name: f"{described(model)} {_fingerprint(model)}" for name, model in self.models.items()},
            "n": list(self.n),
            "n_bins": list(self.n_bins),
            "estimators": [str(item) for item in self.estimators.each],
            "tests": [str(item) for item in self.tests.each],
            "interval": None if self.interval is None else described(self.interval),
            "n_repeats": self.n_repeats,
            "rng": self.seed,
            "seed": list(self.entropy),
            "draws": self.draws,
            **({"truth": {name: dict(values) for name, values in self.truths.items()}} if self.truths else {}),
            **({} if self.truth_rows is None else {"truth": f"large sample of {self.truth_rows} rows"}),
        }


def _refuse_what_needs_rows(study: Study) -> None:
    for name, items in (("tests=", study.tests), ("interval=", study.estimators if study.interval else ())):
        if len(items):
            raise ValueError(f"{name} needs rows, but draws='cells' draws none: take draws='rows' or 'sorted'.")
    for item in study.estimators.each:
        if not shares_the_sort(item.thing) or item.thing.lens.parts:
            raise ValueError(
                f"estimators[{item.name!r}] needs rows, but draws='cells' draws only counts, events, and sums of "
                "predictions and of squared residuals, in cells. It serves functions of these that are a "
                "BinnedEstimator, as ECE, RMSCE and DebiasedL2 are, on EqualMass or EqualWidth cells of the event's "
                "probability, without a lens; take 'rows' or 'sorted'."
            )


def _fingerprint(model: SyntheticModel) -> str:
    """Return a digest of a few rows with their chances, since two models may have the same repr."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = model.rows(_ROWS_IN_A_FINGERPRINT, rng)
    contents = np.ascontiguousarray(rows.predictions.probabilities).tobytes(), np.ascontiguousarray(rows.chances)
    return hashlib.sha256(contents[0] + contents[1].tobytes()).hexdigest()[:12]


def shares_the_sort(thing: Estimator | Plain) -> bool:
    """Whether an estimator is a function of the sums below borders that estimators share."""
    return (
        isinstance(thing, Estimator)
        and isinstance(thing.core, BinnedEstimator)
        and "complement" not in thing.core.needs
        and cut_by_one_sort(thing.core.binning)
    )


# Units of work: a model, an n, and a block of repeats.


@dataclass(frozen=True)
class Unit:
    """Positions of a model and an n, and the number of a block of repeats."""

    model: int
    n: int
    block: int


def all_units(study: Study, block: int) -> list[Unit]:
    """List the units, the largest samples first, so that no long unit runs alone at the end."""
    order = sorted(range(len(study.n)), key=lambda position: -study.n[position])
    blocks = range(-(-study.n_repeats // block))
    return [Unit(model, n, number) for n, model, number in product(order, range(len(study.models)), blocks)]


def repeats_of(study: Study, unit: Unit, block: int) -> range:
    """Return the repeats of a unit."""
    return range(unit.block * block, min((unit.block + 1) * block, study.n_repeats))


def shapes(study: Study) -> dict[str, tuple[int, int]]:
    """Return the variables that a study fills, with the shape (names, bins) of one repeat."""
    both = {"estimate": study.estimators, "pvalue": study.tests}
    found = {name: (len(items.names), len(study.n_bins)) for name, items in both.items() if len(items)}
    if study.interval is not None and "estimate" in found:
        found |= {"interval_low": found["estimate"], "interval_high": found["estimate"]}
    return found


# Estimators and tests by name, for each number of bins; one that does not depend on that number is listed once.


@dataclass(frozen=True)
class NullTest:
    """A test: a statistic and the null that it is judged by."""

    estimator: Estimator
    null: Null

    def __repr__(self) -> str:
        return f"{self.estimator!r} tested by {self.null!r}"


@dataclass(frozen=True)
class Item:
    """One thing to evaluate on each sample; `n_bins` is 0 if it does not depend on the number of bins."""

    name: str
    n_bins: int
    thing: Any

    def __str__(self) -> str:
        return f"{self.name}, n_bins = {self.n_bins}: {described(self.thing)}"


@dataclass(frozen=True, eq=False)
class Items:
    """All things to evaluate; `where` is the number of the item of each name at each number of bins."""

    names: tuple[str, ...]
    each: tuple[Item, ...]
    where: Ints

    def __len__(self) -> int:
        return len(self.each)


def items_of(argument: str, given: Mapping[str, Any], n_bins: Sequence[int], kind: Callable[[str, Any], Any]) -> Items:
    """Return the things that each name stands for at each number of bins.

    `given` maps names to things, or to functions of the number of bins that return things; `kind` checks a thing, given
    its name and the thing; `argument` is for messages.
    """
    found: list[Item] = []
    where = np.zeros((len(given), len(n_bins)), dtype=np.intp)
    for row, (name, thing) in enumerate(given.items()):
        for column, count in enumerate(n_bins):
            item = _item(argument, name, thing, count, kind)
            if item not in found:
                found.append(item)
            where[row, column] = found.index(item)
    return Items(tuple(given), tuple(found), where)


def _item(argument: str, name: str, thing: Any, n_bins: int, kind: Callable[[str, Any], Any]) -> Item:
    if callable(thing) and not isinstance(thing, Estimator):
        _expect_function_of_bins(argument, name, thing)
        return Item(name, n_bins, kind(name, thing(n_bins)))
    return Item(name, 0, kind(name, thing))


def _expect_function_of_bins(argument: str, name: str, thing: Any) -> None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):  # its signature is unknown
        return
    try:
        signature.bind(1)
    except TypeError:
        raise TypeError(
            f"{argument}[{name!r}] is a function of {signature}, but one of the number of bins is expected, which "
            "returns an estimator or a function of labels and probabilities: put 'lambda n_bins: ' in front of it."
        ) from None


def as_swept(name: str, thing: Any) -> Estimator | Plain:
    """Check an estimator, or a plain function of labels and probabilities."""
    if isinstance(thing, Estimator) or callable(thing):
        return thing
    raise TypeError(
        f"estimators[{name!r}] is {thing!r}, but an estimator is expected, or a function of n_bins that returns an "
        "estimator or a function of labels and probabilities: lambda n_bins: ECE(EqualMass(n_bins))."
    )


def as_test(name: str, thing: Any) -> NullTest | Plain:
    """Check a test: an estimator, a pair (estimator, null), or a plain function that returns a p-value."""
    if isinstance(thing, Estimator):
        return NullTest(thing, Consistency())
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], Estimator) and isinstance(thing[1], Null):
        return NullTest(*thing)
    if callable(thing):
        return thing
    raise TypeError(
        f"tests[{name!r}] is {thing!r}, but an estimator is expected, a pair (estimator, null), or a function of "
        "n_bins that returns one of these or a function of labels and probabilities that returns a p-value."
    )


def call_plain(function: Plain, sample: Sample) -> float:
    """Call a function of labels (as column numbers) and probabilities (of the event alone, for two classes)."""
    predictions = sample.predictions
    two = predictions.n_classes == 2
    return float(function(sample.outcomes, predictions.event if two else predictions.probabilities))


# Descriptions tell one estimator, test or function from another, so that a store never returns another one's numbers.

UNTOLD = "of which nothing can be told"
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_DEEPEST = 20
_CODE, _ARRAY = "<code>", "<array>"


def described(thing: Any) -> str:
    """Describe a thing so that every process writes the same text, and different things have different texts.

    The text is the repr without addresses and, where that does not suffice, a digest. The digest of a function covers
    its code, closure, defaults, and the functions and plain constants of its module that it names; that of a callable
    object covers its attributes. `UNTOLD` stands for an object with neither attributes nor a repr of its own.
    """
    told = _told(thing, 0)
    if _is_ours(thing) and _CODE not in told and _ARRAY not in told:
        return _written(thing)
    text = f"{_written(thing)}, code {hashlib.sha256(told.encode()).hexdigest()[:12]}"
    return f"{text}, {UNTOLD}" if UNTOLD in told else text


def _is_ours(thing: Any) -> bool:
    """Whether a thing is of this package: studies hold its version, and its reprs show all parameters but arrays."""
    return type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]


def _written(thing: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(thing))


def _told(thing: Any, depth: int) -> str:
    """Describe a thing with all that it contains."""
    if isinstance(thing, _PLAIN) or depth > _DEEPEST:
        return _written(thing) if isinstance(thing, _PLAIN) else "..."
    if isinstance(thing, np.ndarray):
        contents = _all(thing.tolist(), depth) if thing.dtype.hasobject else np.ascontiguousarray(thing).tobytes().hex()
        return f"{_ARRAY} {thing.shape} {thing.dtype} {contents}"
    if isinstance(thing, (list, tuple)):
        return _all(thing, depth)
    if isinstance(thing, Mapping):
        return _all([each for pair in thing.items() for each in pair], depth)
    if isinstance(thing, (set, frozenset)):
        return _all(sorted(_told(each, depth + 1) for each in thing), depth)
    if isinstance(thing, FunctionType):
        return _function(thing, depth)
    if isinstance(thing, MethodType):
        return _all([thing.__func__, thing.__self__], depth)
    if isinstance(thing, functools.partial):
        return _all([thing.func, thing.args, thing.keywords], depth)
    return _object(thing, depth)


def _all(things: Any, depth: int) -> str:
    return f"({', '.join(_told(each, depth + 1) for each in things)})"


def _function(function: FunctionType, depth: int) -> str:
    """Describe the code of a function, its closure, its defaults, and the helpers that it names."""
    cells = [_content(cell) for cell in function.__closure__ or ()]
    named = {name: function.__globals__[name] for name in sorted(_names(function.__code__) & {*function.__globals__})}
    helpers = {name: each for name, each in named.items() if _is_own(each, function)}
    given = [function.__defaults__, function.__kwdefaults__, cells, helpers]
    return f"{_byte_code(function.__code__)} {_all(given, depth)}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is not filled yet
        return None


def _is_own(thing: Any, function: FunctionType) -> bool:
    """Whether a global is a function of the same module or a plain constant."""
    if isinstance(thing, FunctionType):
        return thing.__globals__ is function.__globals__
    return isinstance(thing, _PLAIN)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names}.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _byte_code(code: CodeType) -> str:
    """Describe byte code and that of the functions in it, without file names and line numbers."""
    constants = [_byte_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return _CODE + repr((code.co_code.hex(), constants, code.co_names, code.co_varnames))


def _object(thing: Any, depth: int) -> str:
    """Describe an object by its class, its repr and its attributes."""
    kind = type(thing)
    call = None if _is_ours(thing) else inspect.getattr_static(kind, "__call__", None)
    name = (
        f"{kind.__module__}.{kind.__qualname__} {_byte_code(call.__code__) if isinstance(call, FunctionType) else ''}"
    )
    written: Any = kind.__repr__
    state, mute = _state(thing), written is object.__repr__
    if state is None:
        return f"{name} {UNTOLD if mute and _CODE not in name else _written(thing)}"
    return f"{name} {'' if mute else _written(thing)} {_told(state, depth + 1)}"


def _state(thing: Any) -> Any:
    """Return the parameters of an object, or None if it does not show them."""
    if isinstance(thing, type) or not hasattr(thing, "__reduce_ex__"):
        return None
    if is_dataclass(thing):
        return {each.name: getattr(thing, each.name, None) for each in fields(thing)}
    if hasattr(thing, "__dict__"):
        return dict(vars(thing))
    items = [
        name for kind in type(thing).__mro__ for name in kind.__dict__.get("__slots__", ()) if name != "__weakref__"
    ]
    return {name: getattr(thing, name, None) for name in items} if items else None
