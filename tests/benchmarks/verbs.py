"""Every public function, called as a user calls it from raw arrays, with its goals.

Goals count what a reader can picture. At a thousand rows it is a loop of 999 redraws as one would write it; at a
hundred thousand a stable argsort. One statistic with its law may take one such loop, or five argsorts; several take
five loops. Where a verb does better, its goal is below twice what it takes, so that it can fail. Some cannot do as
well: an audit of two variables draws nine loops' worth of rows (labels, signs and possible noise, each of all rows and
of the groups of each variable), an `estimate` a loop and a half of signs and possible noise beside the law of the test,
and a comparison six sets of labels. At a hundred thousand rows, more than half of what `learner_audit` takes is the
fits of scikit-learn, `equal_curves_test` fits a spline to all rows by Newton's method, and Kendall's tau, one measure
of `desiderata`, draws all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from inspect import isfunction
from typing import Any

import numpy as np

import calibstat as cs
from benchmarks.worlds import binary_arrays
from calibstat import calibrators as cal
from calibstat import generators as gen


@dataclass
class Raw:
    """Arrays of n rows, as a user has them; what a verb takes that is not an array is made beforehand."""

    n: int

    @cached_property
    def arrays(self):
        return binary_arrays(self.n)

    @cached_property
    def second(self):
        """Predictions of another model."""
        return np.clip(self.arrays[1] + np.random.default_rng(0).normal(0, 0.05, self.n), 0, 1)

    @cached_property
    def variables(self):
        """14 groups in two variables, and a number."""
        rng = np.random.default_rng(1)
        names = {name: rng.choice(list(letters), self.n) for name, letters in (("site", "abcdefghij"), ("sex", "fmxu"))}
        return names | {"age": rng.uniform(20, 80, self.n)}

    @cached_property
    def tree(self):
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=3).fit(self.arrays[1][:, None], self.arrays[0])

    @cached_property
    def swept(self):
        return small_sweep().run(progress=False)

    @cached_property
    def draws(self):
        return np.random.default_rng(2).standard_normal((999, max(2, self.n // 1000)))

    @cached_property
    def pvalues(self):
        return np.random.default_rng(3).random(self.n)

    @cached_property
    def world(self):
        """A world of finitely many predictions, for verbs whose cost does not depend on n."""
        at = np.linspace(0.05, 0.95, 10)
        return gen.FinitePredictions(at, at**1.2)

    def sample(self):
        return cs.Sample(*self.arrays)

    def other(self):
        return cs.Sample(self.arrays[0], self.second)

    def grouped(self):
        return cs.Sample(*self.arrays, variables=self.variables)


def small_sweep():
    estimators = {"ECE": lambda n_bins: cs.ECE(cs.EqualMass(n_bins))}
    return cs.Sweep(gen.BetaPredictions(1, 1), n=[100, 1000], n_bins=[5, 15], estimators=estimators, rng=0)


def off(amount):
    """A family of worlds for planning."""
    return gen.BetaPredictions(1, 1, gen.LogitShift(amount))


def compared(raw):
    return cs.compare_calibrators({"platt": cal.Platt(), "isotonic": cal.Isotonic()}, *raw.arrays, rng=0)


@dataclass(frozen=True)
class Verb:
    """A call, and how many loops of redraws (10^3 rows) and argsorts (10^5 rows) it may take."""

    call: Callable[[Raw], Any]
    loops: float
    argsorts: float


ECE, L2 = cs.ECE(), cs.DebiasedL2()
SHORT = {"rng": 0, "n_repeats": 100, "n_resamples": 199}
VERBS = {
    "Sample": Verb(lambda raw: raw.sample(), 0.006, 0.04),
    "calibration_test": Verb(lambda raw: cs.calibration_test(raw.sample(), ECE, rng=0), 0.6, 4),
    "estimate": Verb(lambda raw: cs.estimate(raw.sample(), ECE, rng=0), 4, 5),
    "equivalence_test": Verb(lambda raw: cs.equivalence_test(raw.sample(), ECE, 0.05, rng=0), 1.6, 5),
    "comparison_test": Verb(lambda raw: cs.comparison_test(raw.sample(), raw.other(), L2, rng=0), 8, 13),
    "calibration_band": Verb(lambda raw: cs.calibration_band(raw.sample()), 150, 300),
    "multiple_test": Verb(lambda raw: cs.multiple_test(raw.sample(), cs.Family({"e": ECE, "l2": L2}), rng=0), 3, 35),
    "omnibus_test": Verb(lambda raw: cs.omnibus_test(raw.sample(), rng=0), 5, 15),
    "compare_models": Verb(lambda raw: cs.compare_models({"a": raw.sample(), "b": raw.other()}, ECE, rng=0), 6, 16),
    "ledger_sql": Verb(lambda raw: cs.ledger_sql("t", y_true="y", y_prob="p", labels=(0, 1)), 2, 2),
    "subgroup_audit": Verb(lambda raw: cs.subgroup_audit(raw.grouped(), ["site", "sex"], rng=0), 14, 15),
    "scan_variables": Verb(lambda raw: cs.scan_variables(raw.grouped(), rng=0), 4, 6),
    "equal_curves_test": Verb(lambda raw: cs.equal_curves_test(raw.grouped(), "sex", rng=0), 6, 50),
    "trajectory": Verb(lambda raw: cs.trajectory({1: raw.sample(), 2: raw.other()}, {"ECE": ECE}, rng=0), 7, 25),
    "desiderata": Verb(lambda raw: cs.desiderata(raw.sample(), rng=0), 5, 80),
    "Monitor.update": Verb(lambda raw: cs.Monitor().update(raw.arrays[1], raw.arrays[0]), 5, 50),
    "DifferenceMonitor.update": Verb(
        lambda raw: cs.DifferenceMonitor(("a", "b")).update(
            {"a": raw.arrays[1], "b": raw.arrays[1] ** 2}, raw.arrays[0]
        ),
        5,
        50,
    ),
    "learner_audit": Verb(lambda raw: cs.learner_audit(raw.grouped(), rng=0), 14, 300),
    "grow_leaf_table": Verb(lambda raw: cs.grow_leaf_table(raw.grouped(), rng=0), 0.6, 18),
    "leaf_table": Verb(lambda raw: cs.leaf_table(raw.sample(), raw.tree, variables=[...]), 0.25, 6),
    "simplify": Verb(lambda raw: cs.simplify(raw.sample(), 5, rng=0), 8, 26),
    "compare_calibrators": Verb(compared, 20, 100),
    "recommend_calibrator": Verb(lambda raw: cs.recommend_calibrator(raw.sample(), rng=0), 60, 300),
    "variable_based_protocol": Verb(
        lambda raw: cs.variable_based_protocol(raw.arrays[0], raw.arrays[1], raw.variables["age"], rng=0), 9, 55
    ),
    "required_n": Verb(lambda raw: cs.required_n(off(1.0), ECE, **SHORT), 20, 20),
    "precision_n": Verb(lambda raw: cs.precision_n(raw.arrays[1]), 0.25, 2.2),
    "clinical_summary": Verb(lambda raw: cs.clinical_summary(raw.sample(), rng=0), 250, 1700),
    "minimum_detectable": Verb(lambda raw: cs.minimum_detectable(off, 1000, ECE, bounds=(0.05, 2.0), **SHORT), 20, 20),
    "Sweep.run": Verb(lambda raw: small_sweep().run(progress=False), 13, 11),
    "summarise": Verb(lambda raw: cs.summarise(raw.swept), 3.5, 3),
    "side_by_side": Verb(lambda raw: cs.side_by_side([cs.ReliabilityDisplay.compute(raw.sample())]).clear(), 8, 8),
    "average_labels": Verb(lambda raw: cs.average_labels(raw.world), 0.07, 0.06),
    "merge_cells": Verb(lambda raw: cs.merge_cells(raw.world, [0.05, 0.15]), 0.06, 0.05),
    "properties": Verb(lambda raw: cs.properties(raw.world), 0.07, 0.06),
    "report": Verb(lambda raw: cs.report(raw.sample(), rng=0), 300, 1150),
    "cite": Verb(lambda _: cs.cite(ECE), 0.1, 0.08),
    "holm": Verb(lambda raw: cs.holm(raw.pvalues), 0.006, 2.3),
    "benjamini_hochberg": Verb(lambda raw: cs.benjamini_hochberg(raw.pvalues), 0.007, 2.4),
    "benjamini_yekutieli": Verb(lambda raw: cs.benjamini_yekutieli(raw.pvalues), 0.008, 2.7),
    "single_step": Verb(lambda raw: cs.single_step(raw.draws[0], raw.draws), 0.02, 0.2),
    "step_down": Verb(lambda raw: cs.step_down(raw.draws[0], raw.draws), 0.03, 1.5),
    "kuiper_sf": Verb(lambda raw: cs.kuiper_sf(1 + raw.pvalues), 0.05, 5.5),
    "kolmogorov_smirnov_sf": Verb(lambda raw: cs.kolmogorov_smirnov_sf(1 + raw.pvalues), 0.04, 4),
    "cramer_von_mises_sf": Verb(lambda raw: cs.cramer_von_mises_sf(1.2), 0.011, 0.01),
    "anderson_darling_sf": Verb(lambda raw: cs.anderson_darling_sf(1.2), 0.009, 0.008),
}
# These only set or convert something.
WITHOUT_WORK = {"accelerate", "as_generator", "scorer"}


def public_functions():
    """Every public function; constructors, such as ACE, begin with a capital."""
    return {name for name in cs.__all__ if name[0].islower() and isfunction(getattr(cs, name))}
