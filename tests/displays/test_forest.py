"""Forest plots of comparisons and audits: what is drawn is what the result says."""

from __future__ import annotations

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba

import calibstat as cs
from calibstat.displays._forest import lines_of, not_apart
from calibstat.displays._style import BEYOND, INK
from calibstat.inference.forest import Forest, ForestRow
from displays.rendered import assert_readable

mpl.use("Agg")
LONG = "a network with a name that nobody would write out in full"


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sample():
    """Calibrated for the young, too high for the old; shoes say nothing."""
    rng = np.random.default_rng(0)
    p, age, shoe = rng.random(1500), rng.uniform(20, 80, 1500), rng.uniform(30, 50, 1500)
    happened = rng.random(1500) < np.where(age > 60, p**2, p)
    return cs.Sample(happened, p, variables={"age": age, "shoe": shoe})


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = rng.random(1000) < p
    found = {"raw": cs.Sample(y, p), "bold": cs.Sample(y, p**2), LONG: cs.Sample(y, p)}
    return cs.compare_models(found, cs.DebiasedL2(cs.EqualMass(10)), n_resamples=399, rng=0)


def names(display):
    return [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()]


def test_models_are_drawn_with_the_best_first(models):
    display = models.plot()
    assert isinstance(display, cs.ComparisonDisplay)
    assert names(display)[-1] == "bold"
    drawn = {name: point.get_xdata()[0] for name, point in zip(names(display), display.points_, strict=True)}
    roots = dict(zip(models.names, models.root_values, strict=True))
    assert drawn == pytest.approx({name: roots[name] for name in drawn})
    assert_readable(display.figure_)


def test_intervals_and_noise_of_models_are_roots(models):
    display = models.plot()
    place = [models.names.index(name) for name in names(display)]
    for line, bar, m in zip(display.intervals_, display.noise_, place, strict=True):
        assert line.get_xdata() ** 2 == pytest.approx(np.maximum(models.confidence_intervals[m], 0))
        assert bar.get_xdata()[1] ** 2 == pytest.approx(max(models.own_limits[m], 0.0))
    for point, m in zip(display.points_, place, strict=True):
        beyond = models.own_pvalues[m] <= models.level
        assert to_rgba(point.get_color()) == to_rgba(BEYOND if beyond else INK)
        assert (models.values[m] > models.own_limits[m]) == beyond


def test_a_line_joins_the_models_that_are_not_told_apart(models):
    display = models.plot()
    told = {frozenset((pair.first, pair.second)) for pair in models.pairs if pair.pvalue_adjusted <= models.level}
    assert told == {frozenset(("raw", "bold")), frozenset((LONG, "bold"))}
    (join,) = display.joins_
    assert {names(display)[int(row)] for row in join.get_ydata()} == {"raw", LONG}


def test_sets_that_are_not_told_apart_are_found():
    rng = np.random.default_rng(0)
    for _ in range(20):
        apart = [pair for pair in combinations(range(6), 2) if rng.random() < 0.4]
        free = [
            set(rows)
            for size in range(2, 7)
            for rows in combinations(range(6), size)
            if not any(set(pair) <= set(rows) for pair in apart)
        ]
        largest = [rows for rows in free if not any(rows < other for other in free)]
        assert sorted(map(sorted, largest)) == not_apart(6, apart)


def test_a_difference_of_two_lies_beside_the_noise_of_equal_ones(models):
    rng = np.random.default_rng(0)
    p = rng.random(800)
    y = rng.random(800) < p
    found = cs.comparison_test(cs.Sample(y, p), cs.Sample(y, p**2), cs.DebiasedL2(cs.EqualMass(10)), rng=0)
    display = found.plot(name="Two models")
    assert display.points_[0].get_xdata()[0] == found.difference
    assert display.intervals_[0].get_xdata().tolist() == list(found.confidence_interval)
    assert abs(found.difference) > display.noise_[0].get_xdata()[1]
    assert to_rgba(display.points_[0].get_color()) == to_rgba(BEYOND)
    assert "smaller: A" in display.forest.answer[0]


@pytest.mark.slow
def test_calibrators_are_drawn_as_models_are(sample):
    found = cs.compare_calibrators({"beta": cs.calibrators.Beta(), LONG: cs.calibrators.Platt()}, sample, rng=0)
    display = found.plot()
    by_root = sorted(found.models, key=lambda each: each.value)
    assert names(display) == [each.name for each in by_root]
    assert [point.get_xdata()[0] for point in display.points_] == pytest.approx([each.root for each in by_root])
    assert_readable(display.figure_)


@pytest.mark.slow
def test_errors_over_confidence_and_variable_stand_together(sample):
    found = cs.variable_based_protocol(sample, variable="age", rng=0)
    display = found.plot()
    drawn = [point.get_xdata()[0] for point in display.points_]
    assert drawn == [value for each in found.errors for value in (each.ece, each.vece)]
    assert len({round(point.get_ydata()[0]) for point in display.points_}) == len(found.errors)
    assert_readable(display.figure_)


def test_groups_are_drawn_with_the_strongest_evidence_first(sample):
    audit = cs.subgroup_audit(sample, by=["age", "shoe"], n_resamples=199, rng=0)
    display = audit.plot(name="Audit")
    assert isinstance(display, cs.AuditDisplay)
    assert names(display) == [group.name for group in audit.ranked]
    assert [point.get_xdata()[0] for point in display.points_] == [group.statistic for group in audit.ranked]
    assert [tuple(line.get_xdata()) for line in display.intervals_] == [
        group.confidence_interval for group in audit.ranked
    ]
    assert [bar.get_xdata()[1] for bar in display.noise_] == [group.null_mean for group in audit.ranked]
    strong = [to_rgba(point.get_color()) == to_rgba(BEYOND) for point in display.points_]
    assert strong == [group in audit.rejected for group in audit.ranked]
    assert any(strong)
    assert not all(strong)
    assert_readable(display.figure_)


def test_variables_are_drawn_with_their_worst_place(sample):
    scan = cs.scan_variables(sample, n_resamples=199, rng=0)
    display = scan.plot()
    assert names(display) == ["age", "shoe"]
    words = {text.get_text() for text in display.ax_.texts}
    assert {found.worst.level for found in scan} <= words
    assert display.forest.answer[0] == f"off along {len(scan.varying)} of 2 variables"


@pytest.mark.slow
def test_leaves_and_odds_are_drawn(sample):
    audit = cs.learner_audit(sample, rng=0)
    display = audit.plot()
    assert [point.get_xdata()[0] for point in display.points_] == [leaf.error for leaf in audit.leaves]
    assert_readable(display.figure_)
    curves = cs.equal_curves_test(sample, by="age", rng=0)
    display = curves.plot()
    assert display.ax_.get_xscale() == "log"
    assert sorted(point.get_xdata()[0] for point in display.points_) == sorted(curves.odds_ratios)
    assert_readable(display.figure_)


def test_words_never_accept_a_null(sample):
    rng = np.random.default_rng(1)
    p = rng.random(600)
    fine = cs.Sample(rng.random(600) < p, p, variables={"shoe": rng.uniform(30, 50, 600)})
    found = cs.subgroup_audit(fine, by="shoe", n_resamples=99, rng=0).forest()
    assert found.answer[0] == "no evidence in any of 5 groups"


def many(n, name="group"):
    rng = np.random.default_rng(0)
    rows = tuple(
        ForestRow(
            f"{name} {k}", value, (value - 0.1, value + 0.1), (0, 0.1), value > 0.9, "10.0 \N{RIGHTWARDS ARROW} 9 %"
        )
        for k, value in enumerate(sorted(rng.random(n), reverse=True))
    )
    return Forest(rows, axis="error", answer=("off in 6 of 60 groups", "joint p = 0.001"), caption="", heading="said")


class Result:
    def __init__(self, forest):
        self.found = forest

    def forest(self):
        return self.found


@pytest.mark.parametrize(
    ("n", "name", "size"),
    [
        (5, LONG, None),
        pytest.param(60, LONG, None, marks=pytest.mark.slow),
        pytest.param(1, "group", None, marks=pytest.mark.slow),
        pytest.param(12, "group", (3.3, 3.3), marks=pytest.mark.slow),
        pytest.param(12, LONG, (10.0, 6.5), marks=pytest.mark.slow),
    ],
)
def test_many_rows_and_long_names_can_be_read(n, name, size):
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    display = cs.AuditDisplay.from_result(Result(many(n, name)), ax=ax, name="Audit")
    assert len(display.points_) == min(n, 25)
    assert_readable(display.figure_)
    told = any("35 more rows not shown" in text.get_text() for text in display.ax_.texts)
    assert told == (n == 60)


def test_lines_are_short_and_few():
    for text in ("short", LONG, LONG * 3, "one" * 30):
        lines = lines_of(text, 22)
        assert len(lines) <= 2
        assert max(map(len, lines)) <= 22


def test_what_has_no_rows_is_refused(sample):
    with pytest.raises(TypeError, match="of type Sample, but AuditDisplay draws those of subgroup_audit"):
        cs.AuditDisplay.from_result(sample)


def test_names_are_no_formulas():
    display = cs.AuditDisplay.from_result(Result(many(2, "price in $ and $x^$")))
    display.figure_.canvas.draw()
    assert names(display) == ["price in $ and $x^$ 0", "price in $ and $x^$ 1"]
