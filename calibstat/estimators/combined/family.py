"""Several estimators on the same draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm, common_form
from calibstat.estimators.combined.named_values import NamedValues, SeveralEvaluator, leading_shape, strongest
from calibstat.estimators.headline import Headline
from calibstat.estimators.tally import TallyPlan
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Family(Estimator):
    """Several estimators by name, each with a lens of its own, on the same draws.

    The value is a record with the number of each member. Under a null all members are evaluated on the same draws, so
    ``null.draw(family, ...).samples`` (R, J) is their joint distribution. Members that cut the same cells share one
    tally; if all do, replicates of the tally are drawn whole.

    A family has no lens: labels are redrawn as a whole, so a test is of *canonical* calibration whatever lenses its
    members have. Write a lens that all share in front: ``TopLabel() | Family({"ece": ECE(), "rms": RMSCE()})``.
    The headline is the number of the strongest evidence (sign kept), judged by its joint distribution (Westfall & Young
    1993). It is exact under the null for any members, but of use only where these have the same units: the one with
    the largest noise decides. Cost: that of all members, O(n) each for sums over cells.

    Parameters
    ----------
    members : mapping of str to Estimator
        At least one.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> family = cs.Family({"one": cs.ECE(cs.FixedEdges([0, 1])), "two": cs.ECE(cs.EqualWidth(2))})
    >>> {name: round(value, 6) for name, value in family(sample).to_dict().items()}
    {'one': 0.05, 'two': 0.25}
    """

    names: tuple[str, ...]
    estimators: tuple[Estimator, ...]

    def __init__(self, members: Mapping[str, Estimator]) -> None:
        wrong = [name for name, each in members.items() if not isinstance(each, Estimator)]
        if not members or wrong:
            found = f"{wrong[0]!r} is {members[wrong[0]]!r}" if wrong else "there is none"
            raise ValueError(f"Family needs estimators by name, but {found}: for example Family({{'ece': ECE()}}).")
        object.__setattr__(self, "names", tuple(members))
        object.__setattr__(self, "estimators", tuple(members.values()))

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words, and what its test is about."""
        each = "; ".join(f"{name}: {e.quantity}" for name, e in zip(self.names, self.estimators, strict=True))
        return f"largest of [{each}] (redrawn labels test canonical calibration)"

    @property
    def estimand(self) -> Family:
        """The estimand of each member."""
        return Family({name: e.estimand for name, e in zip(self.names, self.estimators, strict=True)})

    @property
    def residual_form(self) -> ResidualForm:
        """What holds of a maximum of such values."""
        return common_form(each.residual_form for each in self.estimators)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare each member, and find out who shares cells."""
        members = [Headline(each).prepare(predictions) for each in self.estimators]
        return _FamilyEvaluator(SeveralEvaluator(self.names, members, self))

    def headline(self, values: Floats) -> Floats:
        """Take the member of the strongest evidence, sign kept."""
        return strongest(values, self.evidences(values))

    def evidence(self, values: Floats) -> Floats:
        """Order headlines; absolute where the members' evidence is."""
        each = np.broadcast_to(values[..., None], (*values.shape, len(self.names)))
        return self.evidences(each).max(axis=-1)

    def evidences(self, values: Floats) -> Floats:
        """Order the number of each member (..., J) as that member does."""
        return np.stack([each.evidence(values[..., j]) for j, each in enumerate(self.estimators)], axis=-1)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {each!r}" for name, each in zip(self.names, self.estimators, strict=True))
        return f"Family({{{inside}}})"


class _FamilyEvaluator(Evaluator):
    def __init__(self, members: SeveralEvaluator) -> None:
        self.several = members
        self.shape = members.shape
        self.groups = _sharing(members.members)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        if weights is not None:
            return self.several(outcomes, weights)
        values = np.empty((*leading_shape(outcomes, None), *self.shape))
        for group in self.groups:
            self._fill(values, group, outcomes)
        return values

    def _fill(self, values: Floats, group: list[int], outcomes: Array) -> None:
        """Write the values of members that share a tally."""
        plan = self.several.members[group[0]].tally
        if plan is None or len(group) == 1:
            values[..., group[0]] = self.several.members[group[0]](outcomes)
            return
        counts = plan(outcomes).outcome
        for j in group:
            values[..., j] = self.several.members[j].from_tally(counts)

    def signed(self, outcomes: Array, signs: Array) -> Floats | None:
        return self.several.signed(outcomes, signs)

    @property
    def tally(self) -> TallyPlan | None:
        return self.several.members[0].tally if len(self.groups) == 1 else None

    def from_tally(self, outcome: Array) -> Floats:
        return np.stack([member.from_tally(outcome) for member in self.several.members], axis=-1)

    def present(self, value: Floats) -> NamedValues:
        return self.several.present(value)


def _sharing(members: list[Evaluator]) -> list[list[int]]:
    """Group the members for which the outcome sums of the same cells suffice."""
    groups: list[list[int]] = []
    for j, member in enumerate(members):
        home = next((group for group in groups if _same_cells(members[group[0]].tally, member.tally)), None)
        if home is None:
            groups.append([j])
        else:
            home.append(j)
    return groups


def _same_cells(first: TallyPlan | None, second: TallyPlan | None) -> bool:
    if first is None or second is None or "square" in first.needs | second.needs:
        return False
    return first.cells.size == second.cells.size and bool(np.array_equal(first.cells.index, second.cells.index))
