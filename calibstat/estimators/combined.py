"""Several estimators on the same draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Cells
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Norm, check_kind, keep
from calibstat.data.sample import GivenNames, Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    Forwarding,
    Headline,
    ResidualForm,
    common_form,
    is_chances,
)
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.lenses.relabel import ClassWise
from calibstat.lenses.restrict import AtLevel, Region


@final
@dataclass(frozen=True)
class Family(Estimator):
    """Several estimators by name, each with a lens of its own, on the same draws.

    The value is a record with the number of each member. Under a null all members are evaluated on the same draws, so
    ``null.draw(family, ...).samples`` (R, J) is their joint distribution. Members that cut the same cells share one
    tally; if all do, replicates of the tally are drawn whole.

    A family has no lens: labels are redrawn as a whole, so a test is of *canonical* calibration whatever lenses its
    members have. Write a lens that all share in front: ``TopLabel() | Family({"ece": ECE(), "rms": RMSCE()})``.
    The headline is the number with the strongest evidence (sign kept), and a test judges it by its joint distribution
    (Westfall & Young 1993). The test is exact for any members, but useful only if they have the same units: otherwise
    the member with the largest noise decides. Cost: the sum over the members, O(n) each for sums over cells.

    Parameters
    ----------
    members : mapping of str to Estimator
        At least one.

    Raises
    ------
    ValueError
        If there is no member, or one is not an estimator.

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

    @property
    def members(self) -> tuple[Estimator, ...]:
        """The estimators, in the order of their names."""
        return self.estimators

    def __init__(self, members: Mapping[str, Estimator]) -> None:
        check_kind("members", members, Mapping[str, Estimator])
        if not members:
            raise ValueError("members is empty; give estimators by name, such as {'ece': ECE()}")
        keep(self, names=tuple(members), estimators=tuple(members.values()))

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        each = "; ".join(f"{name}: {e.quantity}" for name, e in zip(self.names, self.estimators, strict=True))
        return f"largest of [{each}]"

    @property
    def estimand(self) -> Family:
        """The estimand of each member."""
        return Family({name: e.estimand for name, e in zip(self.names, self.estimators, strict=True)})

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """What holds of a maximum of such values."""
        return common_form(each.residual_form for each in self.estimators)

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether all members take them."""
        return all(each.takes_counts for each in self.estimators)

    reads_buckets = True  # as its members say

    def reads_counts(self, n_classes: int) -> bool:
        """Whether all members do, behind no lens."""
        return all(each is each.core and each.reads_counts(n_classes) for each in self.estimators)

    def value_range(self, n_classes: int) -> tuple[float, float]:
        """Return the range of all members together."""
        low, high = zip(*(each.value_range(n_classes) for each in self.estimators), strict=True)
        return min(low), max(high)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare each member, and find which of them share cells."""
        members = [Headline(each).prepare(predictions) for each in self.estimators]
        return SeveralEvaluator(self.names, members, self, _sharing(predictions, members))

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


@final
@dataclass(frozen=True)
class NamedValues:
    """One number for each name, and the number that is tested; ``float`` gives the latter.

    Parameters
    ----------
    names : tuple
        Class labels, levels of a variable, or the names of the members of a family.
    values : tuple of float
    headline : float

    Examples
    --------
    >>> found = NamedValues(("f", "m"), (0.02, 0.07), 0.07)
    >>> found["f"], float(found)
    (0.02, 0.07)
    """

    names: tuple[Hashable, ...]
    values: tuple[float, ...]
    headline: float

    def __getitem__(self, name: Hashable) -> float:
        if name not in self.names:
            raise KeyError(f"there is no {name!r}; the names are {self.names!r}")
        return self.values[self.names.index(name)]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __float__(self) -> float:
        return self.headline

    def to_dict(self) -> dict[Hashable, float]:
        """Return the numbers by name."""
        return dict(zip(self.names, self.values, strict=True))


_ARRAY = "gives an array, but one number is expected for each name, as of ECE()"


class SeveralEvaluator(Evaluator):
    """Evaluates several prepared numbers on the same outcomes and weights: values (..., J).

    The record shows the headline of `estimator`; rows are counted once for members with `common` cells.
    """

    def __init__(
        self,
        names: tuple[Hashable, ...],
        members: Sequence[Evaluator],
        estimator: Estimator,
        common: Sequence[CommonCells] = (),
    ) -> None:
        self.names = names
        self.members = members
        self.estimator = estimator
        self.common = common
        self.shape = (len(members),)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate each member; labels are counted once for all members with common cells."""
        values = np.empty((*leading_shape(outcomes, weights), *self.shape))
        counted = weights is None and not is_chances(outcomes)
        together = [cells for cells in self.common if counted and "square" not in cells.plan.needs]
        for cells in together:
            found = cells.from_tally(cells.plan(outcomes).outcome)
            if found.ndim != values.ndim:
                raise ValueError(f"{self.names[cells.places[0]]!r} {_ARRAY}")
            values[..., cells.places] = found
        done = {place for cells in together for place in cells.places}
        for place in set(range(len(self.members))) - done:
            value = self.members[place](outcomes, weights)
            if value.shape != values.shape[:-1]:
                raise ValueError(f"{self.names[place]!r} {_ARRAY}")
            values[..., place] = value
        return values

    @property
    def capabilities(self) -> Capabilities:
        """`signed` where all members have it; sums over cells where all members share them."""
        own = Capabilities.stacked([member.capabilities for member in self.members])
        whole = next((cells for cells in self.common if len(cells.places) == len(self.members)), None)
        if whole is None:
            return own
        return replace(own, tally=whole.plan, from_tally=whole.from_tally, from_tallies=whole.from_tallies)

    def present(self, value: Floats) -> NamedValues:
        """Name the numbers."""
        return NamedValues(self.names, tuple(map(float, value)), float(self.estimator.headline(value)))


@final
@dataclass(frozen=True, eq=False)
class CommonCells:
    """Cells in which the rows of several members are counted at once: the places, capabilities and cells of each."""

    plan: TallyPlan
    places: list[int]
    offers: list[Capabilities]
    cells: list[slice]

    def from_tally(self, outcome: Array) -> Floats:
        """Evaluate the members on outcome sums (..., L, c): (..., J)."""
        parts = zip(self.offers, self.cells, strict=True)
        return np.stack([each.from_tally(outcome[..., own, :]) for each, own in parts if each.from_tally], axis=-1)

    @property
    def from_tallies(self) -> Callable[[Tally], Floats] | None:
        """Return what evaluates the members on whole tallies, if all of them can be evaluated so."""
        found = [each.from_tallies for each in self.offers if each.from_tallies is not None]
        if len(found) < len(self.offers):
            return None

        def all_values(tallies: Tally) -> Floats:
            parts = zip(found, self.cells, strict=True)
            return np.stack([each(tallies.of_cells(own)) for each, own in parts], axis=-1)

        return all_values


def _sharing(predictions: Predictions, members: list[Evaluator]) -> list[CommonCells]:
    """Group the members for which outcome sums over the same cells suffice."""
    offers = [member.capabilities for member in members]
    groups: list[list[int]] = []
    for place, own in enumerate(offers):
        if own.tally is None or own.tally.predictions is not predictions:
            continue  # behind a lens of its own, a member gets other outcomes
        home = next((group for group in groups if _same_cells(offers[group[0]].tally, own.tally)), None)
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    return [_on_the_same_cells(predictions, group, [offers[place] for place in group]) for group in groups]


def _on_the_same_cells(predictions: Predictions, places: list[int], offers: list[Capabilities]) -> CommonCells:
    plans = [each.tally for each in offers if each.tally is not None]
    needs = frozenset[str]().union(*(plan.needs for plan in plans))
    plan = plans[0] if needs == plans[0].needs else TallyPlan(predictions, plans[0].cells, needs)
    return CommonCells(plan, places, offers, [slice(None)] * len(places))


def _side_by_side(predictions: Predictions, members: list[Evaluator], rows: list[Ints]) -> list[CommonCells]:
    """Put the cells of members that look at different rows beside each other, so that all are counted at once."""
    offers = [member.capabilities for member in members]
    plans = [each.tally for each in offers if each.tally is not None]
    if not members or len(plans) < len(members) or predictions.weights is not None:
        return []
    stops = np.cumsum([plan.cells.size for plan in plans])
    cells = [slice(int(stop) - plan.cells.size, int(stop)) for plan, stop in zip(plans, stops, strict=True)]
    index = np.empty(len(predictions), dtype=np.intp)
    for plan, kept, own in zip(plans, rows, cells, strict=True):
        index[kept] = own.start + plan.cells.index
    plan = TallyPlan(predictions, Cells(int(stops[-1]), index, "data"), plans[0].needs)
    return [CommonCells(plan, list(range(len(members))), offers, cells)]


def _same_cells(first: TallyPlan | None, second: TallyPlan) -> bool:
    if (
        first is None
        or first.cells.size != second.cells.size
        or ("square" in first.needs) != ("square" in second.needs)
    ):
        return False
    return bool(np.array_equal(first.cells.index, second.cells.index))


class NoRows(Evaluator):
    """Evaluates to NaN, in the shape of a single value, when a region leaves no rows."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Return NaN for each replicate."""
        return np.full((*leading_shape(outcomes, weights), *self.shape), np.nan)


def leading_shape(outcomes: Array, weights: Array | None) -> tuple[int, ...]:
    """Return the shape of the replicates: the axes before the rows."""
    own = outcomes.shape[:-2] if np.issubdtype(outcomes.dtype, np.floating) else outcomes.shape[:-1]
    return own if weights is None else np.broadcast_shapes(own, weights.shape[:-1])


def strongest(values: Floats, evidence: Floats) -> Floats:
    """Pick from values (..., J) those of the strongest evidence (..., J), signs kept; NaN counts only if alone."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    best = np.where(np.isnan(evidence), -np.inf, evidence).argmax(axis=-1)
    return np.take_along_axis(values, best[..., None], axis=-1)[..., 0]


@final
@dataclass(frozen=True)
class Within(Forwarding):
    r"""An estimator inside each level of a categorical variable; the headline is the worst level.

    .. math:: \max_g\, e(\{i : v_i = g\})

    It asks of each group what is asked of all (Hebert-Johnson et al. 2018). The value is a record with the number of
    each level, in the order of the levels; levels without rows are left out. All levels are evaluated on the same
    draws, so a test of the headline needs no further correction for their number. The null hypothesis is that of the
    lens in front: "in each group the outcome follows the prediction".

    In small levels plug-in estimators are noisy, hence large, and dominate the maximum: read each value beside its null
    mean (``estimate(sample, Within(...)).null_mean``), or use an unbiased or standardised estimator. Put a lens in
    front: ``TopLabel() | Within("sex", ECE())`` tests the top label, whereas with a lens inside, whole labels are
    redrawn. Cost: that of the estimator on all rows, O(n) for sums over cells.

    Parameters
    ----------
    variable : str
        The name of a categorical variable of the sample.
    estimator : Estimator
        Evaluated on the rows of each level.

    Raises
    ------
    ValueError
        On preparing, if there is no such variable, or it is numeric.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], variables={"sex": ["f", "f", "m", "m"]})
    >>> cs.Within("sex", cs.ECE(cs.FixedEdges([0, 1])))(sample)
    NamedValues(names=('f', 'm'), values=(0.0, 0.5), headline=0.5)
    """

    variable: str
    estimator: Estimator

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"largest, over the levels of {self.variable!r}, {self.estimator.quantity}"

    @property
    def reads(self) -> GivenNames:
        """The variable, and what the estimator inside reads."""
        return self.variable, *self.estimator.reads

    reads_buckets = True  # as the estimator inside says

    def reads_counts(self, n_classes: int) -> bool:
        """Whether the estimator inside does, without a lens of its own."""
        return not self.estimator.lens.parts and self.estimator.reads_counts(n_classes)

    @property
    def estimand(self) -> Within:
        """The estimand inside each level."""
        return Within(self.variable, self.estimator.estimand)

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """What holds of a maximum of such values."""
        return common_form([self.estimator.residual_form])

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the estimator on the rows of each level."""
        levels = self._levels(predictions)
        codes = predictions.variables[self.variable].values
        found = np.unique(codes).astype(int)
        members = [Headline(each).prepare(predictions) for each in self.parts(predictions)]
        rows = [np.flatnonzero(codes == code) for code in found]
        # Behind a lens inside, the outcomes differ from those that all levels get.
        common = [] if self.estimator.lens.parts else _side_by_side(predictions, members, rows)
        return SeveralEvaluator(tuple(levels[code] for code in found), members, self, common)

    def parts(self, predictions: Predictions) -> Sequence[Estimator]:
        """Return the estimator in the region of each level."""
        codes = np.unique(predictions.variables[self.variable].values).astype(int)
        return [Region(AtLevel(self.variable, code)) | self.estimator for code in codes]

    def _levels(self, predictions: Predictions) -> tuple[str, ...]:
        known = ", ".join(map(repr, predictions.variables)) or "none"
        if self.variable not in predictions.variables:
            raise ValueError(
                f"{self!r}: the sample has no variable {self.variable!r}; its variables are: {known}. "
                "Pass it as Sample(..., variables={name: values})."
            )
        levels = predictions.variables[self.variable].levels
        if levels is None:
            raise ValueError(
                f"{self!r} needs a categorical variable, but {self.variable!r} is numeric: pass its groups as names, "
                f"or look through Given({self.variable!r}) and cut it, for example with EqualMass(10)."
            )
        return levels

    def headline(self, values: Floats) -> Floats:
        """Take the level of the strongest evidence, sign kept."""
        return strongest(values, self.estimator.evidence(values))


_NORMS = {1: "mean", 2: "root mean square", np.inf: "maximum"}


@final
@dataclass(frozen=True)
class EachClass(Forwarding):
    r"""An estimator through every class-wise lens, on the same draws of whole labels.

    .. math:: \Big(\frac1K \sum_k v_k^p\Big)^{1/p}, \qquad v_k = \text{ClassWise}(k) \mid e

    Norm 1 is the mean (class-wise ECE; Nixon et al. 2019, Kull et al. 2019), 2 the root mean square (with `RMSCE` the
    marginal calibration error of Kumar et al. 2019, Definition 2.4, equal weights), inf the maximum. The mean keeps the
    signs of values, so it is unbiased where the estimator is; the other norms are norms of the evidence (the absolute
    value of a z) and count negative values as zero. An estimator of *squared* errors keeps its units: norm 1 of
    `DebiasedCE` is the debiased squared marginal error, and norm 2 of ``DebiasedCE(root=True)`` the marginal error of
    the authors' package. The value is a record with the number of each class; the headline is the norm.

    A test redraws whole labels from the predictions, so its null is *canonical* calibration, which is more than
    class-wise calibration: the latter does not fix the joint law of the labels.

    Cost: K times that of the estimator, O(n K) for sums over cells. Bias at calibration: that of the estimator; taking
    the maximum adds to it.

    Parameters
    ----------
    estimator : Estimator
        Evaluated with two outcomes, "the class" and "any other".
    norm : float
        1 <= norm <= 50, or ``numpy.inf``.

    Raises
    ------
    ValueError
        If `norm` is below 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> y_prob = [[0.6, 0.3, 0.1]] * 6 + [[0.1, 0.8, 0.1]] * 4 + [[0.1, 0.0, 0.9]] * 4
    >>> sample = cs.Sample([0] * 5 + [1] * 4 + [2] * 5, y_prob)
    >>> found = cs.EachClass(cs.RMSCE(cs.UniqueValues()), norm=2)(sample)
    >>> round(float(found), 10), round(found[0], 4)
    (0.1158132048, 0.1704)
    """

    estimator: Estimator
    norm: Norm = 1

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        how = _NORMS.get(self.norm, f"l{self.norm:g} mean")
        return f"{how} over classes of the {self.estimator.quantity}"

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether the estimator does, of the event that each class is."""
        return not self.estimator.lens.parts and self.estimator.reads_counts(2)

    @property
    def estimand(self) -> EachClass:
        """The estimand of each class."""
        return EachClass(self.estimator.estimand, self.norm)

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """What holds of a norm of such values."""
        return common_form([self.estimator.residual_form])

    def value_range(self, n_classes: int) -> tuple[float, float]:  # noqa: ARG002
        """Return that of the estimator, of two outcomes; a norm is one of the evidence."""
        ends = self.estimator.value_range(2)
        return ends if self.norm == 1 else (0.0, max(0.0, float(self.estimator.evidence(np.array(ends)).max())))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the estimator through the lens of each class."""
        members = [Headline(each).prepare(predictions) for each in self.parts(predictions)]
        return SeveralEvaluator(predictions.classes, members, self)

    def parts(self, predictions: Predictions) -> Sequence[Estimator]:
        """Return the estimator through the lens of each class."""
        return [ClassWise(label) | self.estimator for label in predictions.classes]

    def headline(self, values: Floats) -> Floats:
        """Take the norm over classes (..., K)."""
        if self.norm == 1:
            return values.mean(axis=-1)
        size = np.maximum(self.estimator.evidence(values), 0.0)
        if np.isinf(self.norm):
            return size.max(axis=-1)
        return (size**self.norm).mean(axis=-1) ** (1 / self.norm)

    def evidence(self, values: Floats) -> Floats:
        """Order means as the estimator orders its values; a norm is its own evidence."""
        return self.estimator.evidence(values) if self.norm == 1 else values

    def evidences(self, values: Floats) -> Floats:
        """Order the number of each class (..., K) as the estimator does."""
        return self.estimator.evidence(values)
