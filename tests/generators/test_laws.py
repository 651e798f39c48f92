"""The law suite passes on every world, and fails on worlds that lie."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibstat import generators as gen
from calibstat.generators.laws import chi_square_pvalue
from registered.worlds import CANONICAL, TOP, WIDTH, WORLDS
from suites import slow_but


def quick(case) -> bool:
    """The top label of three classes has no closed form: its limits take longer than those of all other worlds."""
    return not (isinstance(case[0], gen.DirichletPredictions) and TOP in case[1])


@pytest.mark.parametrize(
    ("model", "lenses", "estimators"), slow_but(quick, WORLDS), ids=lambda each: type(each).__name__
)
def test_every_world_keeps_the_laws(model, lenses, estimators):
    gen.check_generator(model, lenses, estimators, n=50_000, rng=4)


@dataclass(frozen=True)
class Liar(gen.SyntheticModel):
    """A uniform score on ten values whose parts disagree in a way of your choice."""

    lie: str = ""

    def rows(self, n, rng):
        score = (rng.integers(0, 10, n) + 0.5) / 10
        if self.lie == "short":
            score = score[1:]
        chance = score + (0.03 if self.lie == "chances" else 0.0)
        return gen.population_of(score**2 if self.lie == "predictions" else score, chance)

    def population(self, lens, binning=None):
        score = (np.arange(10) + 0.5) / 10
        honest = gen.population_of(score, score, np.ones(10))
        if self.lie == "masses":
            return replace(honest, predictions=replace(honest.predictions, weights=np.full(10, 0.2)))
        if self.lie == "weightless":
            return gen.population_of(score, score)
        if self.lie == "laws":
            return replace(honest, chances=honest.chances * 1.1)
        return honest


def test_an_honest_model_passes():
    gen.check_generator(Liar(), [CANONICAL, TOP], [WIDTH])


@pytest.mark.parametrize("lie", ["chances", "predictions", "masses", "weightless", "laws", "short"])
def test_the_laws_can_fail(lie):
    with pytest.raises(AssertionError):
        gen.check_generator(Liar(lie), [CANONICAL])


def test_a_model_is_calibrated_only_if_its_chances_are_the_predictions():
    @dataclass(frozen=True)
    class Boast(gen.SyntheticModel):
        shift: float

        @property
        def calibrated(self):
            return True

        def rows(self, n, rng):
            score = (rng.integers(0, 10, n) + 0.5) / 10
            return gen.population_of(score, score + self.shift)

        def population(self, lens, binning=None):
            score = (np.arange(10) + 0.5) / 10
            return gen.population_of(score, score + self.shift, np.ones(10))

    gen.check_generator(Boast(0.0), [CANONICAL], [WIDTH])
    with pytest.raises(AssertionError, match="calibrated: it is True, but"):
        gen.check_generator(Boast(0.02), [CANONICAL])


def test_limits_are_checked():
    @dataclass(frozen=True)
    class Wrong(gen.SyntheticModel):
        def rows(self, n, rng):
            score = rng.integers(0, 2, n) * 0.25 + 0.25
            return gen.population_of(score, score)

        def population(self, lens, binning=None):
            # the same label counts in each cell, other means
            return gen.population_of(np.array([0.25, 0.51]), np.array([0.25, 0.5]), np.ones(2))

    gen.check_generator(Wrong(), [CANONICAL], [])
    with pytest.raises(AssertionError, match="limit"):
        gen.check_generator(Wrong(), [CANONICAL], [WIDTH])


def test_chi_square_of_a_fair_and_a_loaded_die():
    fair = np.full(6, 100.0)
    assert chi_square_pvalue(np.array([100] * 6), fair) == 1
    assert chi_square_pvalue(np.array([200, 80, 80, 80, 80, 80]), fair) < 1e-20
    rare = np.array([0.1, 299.9, 300.0])
    assert chi_square_pvalue(np.array([0, 300, 300]), rare) > 0.9


# A data set is not printed whole, and a function of the user's own, or a fit, has no expression.
WITHOUT_EXPRESSION = (gen.Empirical, gen.Classified, gen.Conditioned, gen.Recalibrated)


@pytest.mark.parametrize("world", [world for world, _, _ in WORLDS], ids=lambda world: type(world).__name__)
def test_the_repr_makes_the_world_again(world):
    if isinstance(world, WITHOUT_EXPRESSION):
        with pytest.raises(SyntaxError):
            eval(repr(world), {name: getattr(gen, name) for name in gen.__all__})
        return
    assert eval(repr(world), {name: getattr(gen, name) for name in gen.__all__}) == world
