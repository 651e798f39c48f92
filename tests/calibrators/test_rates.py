"""No default makes the expected loss of a calibrated model worse by more than its published rate.

Predictions are their own chances here, so that what a fit adds to the log loss is the mean divergence of what it says
from what it was given, without noise of labels. A fit of d parameters adds d / (2 n) in large samples (Wilks 1938,
Akaike 1973). That law holds from about ten rows of the rarer class for each parameter on (Peduzzi et al. 1996); below a
thousand rows half as much is allowed besides. Isotonic fits and averages of histograms add n^(-2/3) up to a constant
(Zhang 2002, Birge 1987), cells d / (2 n) besides what the means of cells lose (Kumar et al. 2019). What says exactly 0
or 1 has no finite expected log loss at any n: it is held to the same rates by the squared error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import rel_entr, softmax
from sklearn.base import clone

from calibstat import calibrators as cal
from calibstat.binnings.intervals import EqualMass
from calibstat.data.sample import Predictions
from suites import slow_but

WORLDS = {
    "two": lambda rng, n: rng.dirichlet([1, 1], n),
    "two, almost certain": lambda rng, n: rng.dirichlet([0.15, 0.15], n),
    "two, rare": lambda rng, n: rng.dirichlet([10, 0.5], n),
    "two, near one half": lambda rng, n: rng.dirichlet([20, 20], n),
    "three": lambda rng, n: rng.dirichlet([1, 1, 1], n),
    "ten": lambda rng, n: rng.dirichlet([0.5] * 10, n),
    "ten, almost certain": lambda rng, n: rng.dirichlet([0.05] * 10, n),
}


@dataclass(frozen=True)
class Rate:
    """What a class may add to the loss: parameters by the number of classes, or a constant times n^(-2/3)."""

    calibrator: object
    parameters: object = None
    constant: float = 0.0
    cells: int = 0
    squared: bool = False

    def __str__(self):
        return " ".join(str(self.calibrator).split())


PARAMETRIC = [
    Rate(cal.Temperature(), lambda k: 1),
    Rate(cal.EnsembleTemperature(), lambda k: 3),
    Rate(cal.EnsembleTemperature("log"), lambda k: 3),
    Rate(cal.StructuredVectorScaling(), lambda k: 2 * k - 1),
    Rate(cal.StructuredMatrixScaling(), lambda k: k * k - 1),
    Rate(cal.Platt(), lambda k: 2),
    Rate(cal.Quadratic(), lambda k: 3),
    Rate(cal.Beta(), lambda k: 3),
    Rate(cal.AugmentedBeta(), lambda k: 5),
    Rate(cal.Spline(), lambda k: 2),  # what bends is paid for by rows left out
    Rate(cal.Smooth(), lambda k: 2),
    Rate(cal.VariableBased(), lambda k: 8 * (3 if k == 2 else k * k - 1)),  # of eight leaves
    Rate(cal.CalibrationTree(), lambda k: 10 * (2 if k == 2 else 2 * k)),
    Rate(cal.VectorScaling(), lambda k: 2 * k - 1),
    Rate(cal.MatrixScaling(), lambda k: k * k - 1),
    Rate(cal.Dirichlet(), lambda k: k * k - 1),
    Rate(cal.OneVsRest(), lambda k: 2 * k),
    Rate(cal.OneVsRest(cal.Spline()), lambda k: 2 * k),
    Rate(cal.OneVsRest(cal.Smooth()), lambda k: 2 * k),
]
OTHERS = [
    Rate(cal.VennAbers(), constant=2),
    Rate(cal.BBQ(), constant=2),
    Rate(cal.ScalingBinning(), lambda k: 12, cells=10),
    Rate(cal.Binned(), lambda k: 10, cells=10),
    Rate(cal.Isotonic(), constant=1, squared=True),
    Rate(cal.CenteredIsotonic(), constant=1, squared=True),
    Rate(cal.HistogramBinning(), lambda k: 10, cells=10, squared=True),
    # Of twenty leaves, each with its share and a border that was searched for (Ye 1998).
    Rate(cal.DecisionTree(), lambda k: 60 * (k - 1), cells=10, squared=True),
]
UNPENALISED = [
    Rate(cal.MatrixScaling(penalty=0), lambda k: k * k - 1),
    Rate(cal.Dirichlet(1e-3, 1e-3), lambda k: k * k - 1),
]


def divergence(chance, said, squared):
    """The mean loss that is added where the chances are known."""
    found = ((chance - said) ** 2 if squared else rel_entr(chance, said)).sum(axis=1)
    return float(found.mean())


def means_of_cells(chance, n_cells, squared):
    """What the means of cells of equal mass lose."""
    cells = EqualMass(n_cells).cut(Predictions(chance, (0, 1)))
    mass = np.bincount(cells.index)[:, None]
    means = np.stack([np.bincount(cells.index, column) for column in chance.T], axis=1) / mass
    return divergence(chance, means[cells.index], squared)


def added(calibrator, world, n, n_fits, squared=False):
    """What each of several fits on n rows adds to the loss."""
    rng, draw = np.random.default_rng(len(world) + n), WORLDS[world]
    new = draw(rng, 4000)
    with_variable = hasattr(calibrator, "variable")
    table = np.column_stack([new, rng.random(4000)]) if with_variable else new
    found = []
    while len(found) < n_fits:
        P = draw(rng, n)
        y = (P.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
        if len(np.unique(y)) == P.shape[1]:
            X = np.column_stack([P, rng.random(n)]) if with_variable else P
            found.append(divergence(new, clone(calibrator).fit(X, y).predict_proba(table), squared))
    return np.array(found), new


def excess(rate, world, n, n_fits):
    """By how many standard errors the mean is above what is allowed."""
    found, new = added(rate.calibrator, world, n, n_fits, rate.squared)
    if not np.isfinite(found).all():
        return np.inf
    allowed = rate.constant * n ** (-2 / 3)
    if rate.parameters is not None:
        # A mean of squares has twice the variance of a share, at most 1/4, in place of 1/2.
        allowed += rate.parameters(new.shape[1]) / (2 * n) * (1.5 if n < 1000 else 1.0)
    if rate.cells:
        allowed += means_of_cells(new, rate.cells, rate.squared)
    return (found.mean() - allowed) / (found.std(ddof=1) / np.sqrt(n_fits))


def cases(rates):
    """Each class on the worlds that it takes, in sizes that its law speaks of."""
    for rate in rates:
        for world in WORLDS:
            if world.startswith("two") or not rate.calibrator.binary:
                # More rows of ten classes would take minutes for one case.
                for n in (200, 1000) if world.startswith("ten") else (200, 1000, 5000, 20_000):
                    if n > 200 or not any(word in world for word in ("rare", "certain")):
                        yield rate, world, n


# These fit as Dirichlet, Spline or Smooth does.
ALIKE = [rate for rate in PARAMETRIC if isinstance(rate.calibrator, (cal.VectorScaling, cal.MatrixScaling))]
ALIKE += [rate for rate in PARAMETRIC if isinstance(rate.calibrator, cal.OneVsRest) and "(calibrator=" in str(rate)]


def quick(case):
    rate, world, n = case
    if rate in ALIKE or isinstance(rate.calibrator, (cal.CalibrationTree, cal.VariableBased)):
        return False
    return n == 200 and world == ("two" if rate.calibrator.binary else "three")


@pytest.mark.parametrize(("rate", "world", "n"), slow_but(quick, cases(PARAMETRIC + OTHERS), one_in=5), ids=str)
def test_a_default_adds_at_most_its_rate(rate, world, n):
    trees = isinstance(rate.calibrator, (cal.CalibrationTree, cal.VariableBased))
    few = trees or n >= 5000 or (world.startswith("ten") and n > 200)
    assert excess(rate, world, n, 8 if few else 20) < 4


@pytest.mark.parametrize("kind", slow_but([cal.Spline], [cal.Spline, cal.Smooth]))
def test_columns_of_few_events_are_left_as_they_are(kind):
    """Half of the predictions of each class lie below 1e-6, where quantiles and so knots nearly touch."""
    assert excess(Rate(cal.OneVsRest(kind()), lambda k: 2 * k), "ten, almost certain", 500, 2) < 4
    free = Rate(cal.OneVsRest(cal.Spline(n_knots=5)), lambda k: 5 * k)
    assert excess(free, "ten, almost certain", 500, 2) > 4  # the negative control


@pytest.mark.parametrize("rate", slow_but([], UNPENALISED), ids=str)
def test_without_a_penalty_more_is_added(rate):
    """The negative control: ten classes, few of them wrong."""
    found, _ = added(rate.calibrator, "ten, almost certain", 200, 8)
    allowed = 1.5 * rate.parameters(10) / 400
    assert found.mean() > 2 * allowed


@pytest.mark.parametrize("made", [cal.Temperature, cal.Beta, cal.AugmentedBeta, cal.Spline, cal.Smooth])
def test_separated_rows_cost_little(made):
    """Where all rows are predicted rightly, free fits would tend to certainty, and one wrong row would cost all."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.05, 0.05], 60)
    y = P.argmax(axis=1)
    with_variable = made is cal.AugmentedBeta
    X, new = (np.column_stack([each, np.sin(np.arange(60))]) if with_variable else each for each in (P, P[::-1]))
    assert divergence(P[::-1], made().fit(X, y).predict_proba(new), False) < 0.3


@pytest.mark.parametrize("made", [cal.Temperature, cal.VectorScaling, cal.MatrixScaling, cal.Dirichlet])
def test_separated_rows_of_more_classes_are_aimed_at_with_one_row_as_predicted(made):
    """Shares of (n, y) and one row of p; the scale of the logits must not change what was predicted."""
    P = np.random.default_rng(1).dirichlet([0.3] * 3, 50)
    y = P.argmax(axis=1)
    inverse = cal.Temperature().fit(P, y).inverse_temperature_
    goal, logs = (50 * np.eye(3)[y] + P) / 51, np.log(P)
    slope = ((softmax(inverse * logs, axis=1) - goal) * logs).sum()
    assert abs(slope) < 1e-6
    found = made().fit(P, y)
    np.testing.assert_allclose(getattr(found, "penalty_", np.inf), np.inf)
    np.testing.assert_allclose(found.predict_proba(P), softmax(inverse * logs, axis=1), atol=1e-6)
