"""What is right: a sound result, the same again and with its inputs as they were, or a refusal by calibstat itself."""

from __future__ import annotations

import re
import traceback
import warnings
from typing import Any

import numpy as np

from fuzz.cases import case, lines
from fuzz.hostile import Case
from fuzz.limits import HOME, TookTooLong, time_limit
from fuzz.sound import Numbers, numbers, out_of_range, unsound


def refused(error: BaseException, checked_by: str = "") -> bool:
    """Whether calibstat itself raised it, as bad values or types, or who checks for it, whose folder is named."""
    own = isinstance(error, (ValueError, TypeError)) and type(error).__module__.startswith("calibstat.")
    documented = type(error) in (ValueError, TypeError) or own
    last = traceback.extract_tb(error.__traceback__)[-1]
    if checked_by and checked_by in last.filename:
        return documented
    return documented and last.filename.startswith(HOME) and (last.line or "").startswith("raise ")


class Fault(AssertionError):  # noqa: N818 (it is no error of the case, but what is wrong with it)
    """What is wrong with a case."""


def called(made: Case) -> Any:
    """Call a case: its result, or its refusal in words; anything else is wrong."""
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("ignore")
        try:
            return made.call(made.rows)
        except (Exception, TookTooLong) as error:
            if refused(error, made.checked_by):
                return Refusal(f"refused: {error}")
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise Fault(f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})") from error


class Refusal(str):
    """The words of a refusal."""


def outcome(made: Case) -> Any:
    """Call a case and hold its inputs against what they were."""
    before = made.rows.kept()
    found = called(made)
    if made.rows.kept() != before:
        raise Fault("an input was changed")
    return found


def check(made: Case, once_more: Case) -> None:
    """Raise if there is something wrong with a case; the second is the same one, not called yet."""
    found = outcome(made)
    one, held = told(found)
    other, again = told(outcome(once_more))
    if one != other or not same(held, again):
        raise Fault(f"{one} and then {other}")
    if isinstance(found, Refusal):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = unsound(held) or out_of_range(found, made) or moved_by_order(found, made)
    if said:
        raise Fault(said)


def told(found: Any) -> tuple[str, Numbers]:
    """Give what a result says, without places in memory, and then its numbers, some of which it computes to say it."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(found)), numbers(found)


def same(held: Numbers, again: Numbers) -> bool:
    """Whether numbers are the same ones, bit for bit but for kinds of NaN."""
    return len(held) == len(again) and all(
        name == other and np.array_equal(values, others, equal_nan=True)
        for (name, values), (other, others) in zip(held, again, strict=True)
    )


# Functions whose statistic depends on the order of rows, beside the estimators of blocks, and why.
ORDERED = {
    "learner_audit": "the random numbers deal rows out into blocks",
    "omnibus_test": "it is a p-value, made of labels that are drawn row by row",
    "comparison_test": "it is divided by the spread of what is drawn row by row",
}


def moved_by_order(found: Any, made: Case) -> str:
    """Say what is another number if the rows come in another order, but for rounding; "" if nothing is."""
    entry = made.entry
    if made.name in ORDERED or (entry is not None and entry.ordered):
        return ""
    rows = made.rows.shuffled() if entry is not None or hasattr(found, "statistic") else None
    if rows is None:
        return ""
    again = called(Case(made.name, rows, made.call, entry))
    if isinstance(again, Refusal):
        return f"in another order it is {again}"
    if entry is None:
        one, other = ([("statistic", np.asarray(each.statistic))] for each in (found, again))
    elif entry.fitted:  # where there is no maximum, the other numbers end wherever they end
        one, other = (
            [("its headline", np.asarray(entry.thing.headline(entry.numbers(each.named()))))]
            for each in (made.rows, rows)
        )
    else:
        one, other = numbers(found), numbers(again)
    close = {"rtol": 1e-6, "atol": 1e-7} if entry is not None and entry.fitted else {"rtol": 1e-9, "atol": 1e-11}
    for (name, values), (_, others) in zip(one, other, strict=True):
        if values.shape != others.shape or not np.allclose(values, others, equal_nan=True, **close):
            return f"{name} is {values} and in another order {others}"
    return ""


def fault(seed: int, kinds: str = "estimators") -> str:
    """Say what is wrong with the case of a seed, with three lines of Python that do it again; "" if nothing is."""
    made = case(seed, kinds)
    try:
        check(made, case(seed, kinds))
    except Fault as wrong:
        return f"{made.name}: {wrong}\n{lines(seed, kinds)}"
    return ""
