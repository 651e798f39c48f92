"""Two-class worlds with a density: closed forms and independent integration against the panels."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import brentq

import calibstat as cs
from calibstat import generators as gen
from suites import slow_but

TOP = cs.TopLabel()
SQUARED = cs.SquaredEuclidean()

# Bins, total variation and squared Euclidean limit of the Gaussian mixture (1, 1); independent quadrature, 8 digits.
LIMITS = [
    (1, 0.17226874, 0.05935304),
    (2, 0.50034612, 0.51215300),
    (5, 0.55307563, 0.75818527),
    (10, 0.55835667, 0.78700236),
    (15, 0.56363682, None),
    (20, 0.56338452, 0.79469839),
    (50, 0.56374929, 0.79692827),
    (100, 0.56374929, 0.79725093),
    (1000, 0.56375095, 0.79735770),
]


def test_gaussian_mixture_truth():
    model = gen.GaussianMixture(1, 1)
    assert float(model.truth(cs.ECE())) == pytest.approx(0.5637511406, abs=1e-10)
    squared = cs.ExpectedMiscalibration(cs.EqualWidth(5), SQUARED)
    assert float(model.truth(squared)) == pytest.approx(0.7973587791, abs=1e-10)
    norm = cs.ExpectedMiscalibration(cs.EqualWidth(5), cs.Lp(2))
    assert float(model.truth(norm)) == pytest.approx(0.7972645088, abs=1e-10)
    assert 0.9999 < float(model.truth(cs.MaximumMiscalibration(cs.EqualWidth(5)))) < 1


@pytest.mark.parametrize("parameters", [(0, -2), (0, 0)])
@pytest.mark.parametrize("lens", [cs.Canonical(), TOP, cs.ClassWise(-1)])
def test_gaussian_mixture_calibrated(parameters, lens):
    model = gen.GaussianMixture(*parameters)
    for estimator in (cs.ECE(), cs.RMSCE()):
        assert float(model.truth(lens | estimator)) == pytest.approx(0, abs=1e-12)
    assert float(model.limit(lens | cs.ECE(cs.EqualWidth(7)))) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("n_bins", "tv", "squared"), LIMITS)
def test_limits_of_the_gaussian_mixture(n_bins, tv, squared):
    # Theorem 2 of Vaicenavicius et al. (2019)
    model = gen.GaussianMixture(1, 1)
    binning = cs.EqualWidth(n_bins)
    assert float(model.limit(cs.ECE(binning))) == pytest.approx(tv, abs=1e-8)
    if squared is not None:
        assert float(model.limit(cs.ExpectedMiscalibration(binning, SQUARED))) == pytest.approx(squared, abs=1e-8)


def test_limits_grow_to_the_truth():
    # Theorem 1: the mesh goes to zero after n has grown; refinements of cells never lower the limit
    model = gen.GaussianMixture(1, 1)
    truth = float(model.truth(cs.ECE()))
    limits = [float(model.limit(cs.ECE(cs.EqualWidth(n)))) for n in (1, 2, 4, 8, 40, 200, 1000)]
    assert all(np.diff(limits) > -1e-12)
    assert limits[-1] < truth
    assert truth - limits[-1] < 1e-6


def test_equal_mass_limit_against_quantiles_by_root_finding():
    model, n_bins = gen.GaussianMixture(1, 1), 4

    def cdf(x):
        return (stats.norm.cdf(x + 1) + stats.norm.cdf(x - 1)) / 2

    cuts = [-11, *(brentq(lambda x, k=k: cdf(x) - k / n_bins, -9, 9, xtol=1e-14) for k in range(1, n_bins)), 11]
    expected = 0.0
    for low, high in pairwise(cuts):
        prediction = integrate.quad(lambda x: 1 / (1 + np.exp(1 + x)) * _density(x), low, high, epsabs=1e-13)[0]
        happened = (stats.norm.cdf(high - 1) - stats.norm.cdf(low - 1)) / 2
        expected += abs(happened - prediction)
    assert float(model.limit(cs.ECE(cs.EqualMass(n_bins)))) == pytest.approx(expected, abs=1e-8)


def _density(x):
    return (stats.norm.pdf(x + 1) + stats.norm.pdf(x - 1)) / 2


RECALIBRATIONS = [
    gen.Identity(),
    gen.LogitShift(0.3),
    gen.Slope(0.75),
    gen.Cubic(-0.7),
    gen.Wiggle(6, 0.09),
    gen.Bump(0.5, 0.06, 0.22),
    gen.ClippedTails(0.07),
    gen.HoelderBumps(1, 4, 10),
    np.sqrt,
]
LAWS = [(1, 1), (4, 0.8), (1, 19), (0.3, 0.4)]


@cache
def quantiles(a, b):
    """The midpoint rule on quantiles knows nothing of panels, log-odds or kinks."""
    return stats.beta.ppf((np.arange(400_000) + 0.5) / 400_000, a, b)


@pytest.mark.parametrize(("a", "b"), slow_but([(4, 0.8)], LAWS))
@pytest.mark.parametrize("recalibration", RECALIBRATIONS, ids=str)
def test_beta_truths_against_a_fine_midpoint_rule(a, b, recalibration):
    model = gen.BetaPredictions(a, b, recalibration)
    p = quantiles(a, b)
    gap = np.abs(recalibration(p) - p)
    assert float(model.truth(cs.ECE())) == pytest.approx(gap.mean(), abs=2e-6)
    assert float(model.truth(cs.SquaredCE())) == pytest.approx((gap**2).mean(), abs=2e-6)
    assert float(model.truth(cs.PDE(cs.EqualMass(5)))) == pytest.approx(float(model.truth(cs.ECE())), abs=1e-12)


@pytest.mark.parametrize(("a", "b"), slow_but([(4, 0.8)], LAWS[:3]))
@pytest.mark.parametrize("recalibration", RECALIBRATIONS[:7], ids=str)
def test_top_label_pools_mirrored_predictions(a, b, recalibration):
    model = gen.BetaPredictions(a, b, recalibration)
    density = stats.beta(a, b).pdf

    def gap(c):
        below, above = density(1 - c), density(c)
        return abs(
            above * (recalibration(np.array([c]))[0] - c) + below * ((1 - c) - recalibration(np.array([1 - c]))[0])
        )

    grid = np.linspace(0.5, 1, 41)
    expected = sum(integrate.quad(gap, *each, epsabs=1e-10, limit=200)[0] for each in pairwise(grid))
    assert float(model.truth(TOP | cs.ECE())) == pytest.approx(expected, abs=1e-6)
    assert float(model.truth(cs.TopK(1) | cs.ECE())) == pytest.approx(float(model.truth(TOP | cs.ECE())), abs=1e-12)


def test_closed_forms():
    uniform = gen.BetaPredictions(1, 1, gen.Cubic(1.0))  # int |p (1-p) (1-2p)| dp = 1/16
    assert float(uniform.truth(cs.ECE())) == pytest.approx(1 / 16, abs=1e-13)
    assert float(uniform.truth(cs.MaximumMiscalibration(cs.EqualWidth(2)))) == pytest.approx(3**0.5 / 18, abs=1e-8)
    clipped = gen.BetaPredictions(1, 1, gen.ClippedTails(0.1))  # two triangles
    assert float(clipped.truth(cs.ECE())) == pytest.approx(0.01, abs=1e-13)
    calibrated = gen.BetaPredictions(1, 1)
    for n_bins in (5, 10, 20):
        assert float(calibrated.limit(cs.PDE(cs.EqualWidth(n_bins)))) == pytest.approx(1 / (4 * n_bins), abs=1e-10)


def test_region_is_cut_exactly():
    model = gen.BetaPredictions(1, 1, gen.Cubic(1.0))
    below = cs.Region.between(1, 0, 0.3)
    value = integrate.quad(lambda p: p * (1 - p) * (1 - 2 * p), 0, 0.3)[0] / 0.3
    assert float(model.truth(below | cs.ECE())) == pytest.approx(value, abs=1e-9)


def test_limit_below_truth_and_products_of_binnings():
    model = gen.BetaPredictions(2, 3, gen.Wiggle(5, 0.1))
    for lens in (cs.Canonical(), TOP):
        truth = float(model.truth(lens | cs.ECE()))
        coarse = float(model.limit(lens | cs.ECE(cs.EqualMass(4))))
        fine = float(model.limit(lens | cs.ECE(cs.EqualMass(4) * cs.EqualWidth(7))))
        assert coarse + 1e-4 < fine < truth - 1e-4


def test_calibration_function():
    model = gen.BetaPredictions(2, 5, gen.LogitShift(0.4))
    p = np.array([0.1, 0.5, 0.8])
    assert model.calibration_function(p) == pytest.approx(gen.LogitShift(0.4)(p), abs=1e-12)
    assert model.calibration_function(p, cs.ClassWise(0)) == pytest.approx(1 - gen.LogitShift(0.4)(1 - p), abs=1e-12)
    above, below = stats.beta(2, 5).pdf(0.8), stats.beta(2, 5).pdf(0.2)
    r = gen.LogitShift(0.4)
    folded = (above * r(np.array([0.8])) + below * (1 - r(np.array([0.2])))) / (above + below)
    assert model.calibration_function([0.8], TOP) == pytest.approx(folded, abs=1e-12)
    assert np.isnan(model.calibration_function([0.3], TOP)).all()


def test_gaussian_calibration_function():
    mu = np.array([0.2, 0.6607563688, 0.9])  # of the class -1
    expected = (1 - mu) ** 2 / ((1 - mu) ** 2 + np.exp(-2) * mu**2)
    found = gen.GaussianMixture(1, 1).calibration_function(np.stack([mu, 1 - mu], axis=1))
    assert found[:, 0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (0.5, 0.5), (2, 0.3)])
def test_chi_square_distance_where_the_event_is_all_but_certain(shape):
    """The integrand is finite where 1 - p has no digits left: against a quadrature in the log-odds."""
    found = gen.BetaPredictions(*shape, gen.Slope(0.75)).truth(cs.PearsonCE())

    def integrand(x):
        p, q, r, s = (1 / (1 + np.exp(-each)) for each in (x, -x, 0.75 * x, -0.75 * x))
        return (r - p if x < 0 else q - s) ** 2 / (p * q) * stats.beta.pdf(p if x < 0 else 1 - q, *shape) * p * q

    halves = [integrate.quad(integrand, *ends, epsabs=1e-13, limit=200)[0] for ends in ((-60, 0), (0, 33))]
    assert float(found) == pytest.approx(sum(halves), rel=1e-5)
