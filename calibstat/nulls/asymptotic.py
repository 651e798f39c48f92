"""Large-sample laws in place of draws, for the statistics that have one."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat.data.arrays import Floats
from calibstat.data.groups import Groups
from calibstat.data.sample import GivenNames, Sample
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.large_sample import LargeSampleLaw
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null, NullDistribution, strong_hypothesis


@final
@dataclass(frozen=True, eq=False)
class LargeSampleNull(NullDistribution):
    """A law in closed form."""

    law: LargeSampleLaw
    floor: ClassVar[float] = 1e-300  # floats end not far below

    def pvalue(self, value: float) -> float:
        """Return P(statistic at least as extreme as `value`) under the law."""
        return float(min(max(self.law.survival(value), 0.0), 1.0))

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return a point, or how far random probes of a moment may move it; the law itself is an approximation."""
        if self.law.moved is None:
            return self.pvalue(value), self.pvalue(value)
        z = float(special.ndtri((1 + confidence_level) / 2))
        ends = sorted(LargeSampleNull(self.law.moved(each)).pvalue(value) for each in (-z, z))
        return ends[0], ends[1]

    def quantile(self, q: float) -> Floats:
        """Return the q-quantile of the law."""
        return np.asarray(self.law.quantile(q))

    @property
    def mean(self) -> Floats:
        """The mean of the law."""
        return np.asarray(self.law.mean)

    @property
    def description(self) -> str:
        """Which law it is."""
        return f"large-sample law: {self.law.name}"

    @property
    def monte_carlo(self) -> bool:
        """Whether a moment of the law was estimated by random probes."""
        return self.law.moved is not None


@final
@dataclass(frozen=True)
class Asymptotic(Null):
    r"""The large-sample law of the statistic under calibration, given the predictions.

    No labels are drawn, so p-values may be arbitrarily small; but they are approximations, whereas those of the default
    null and of `Consistency` are exact at every n. Use it to compare with published numbers, for very many
    tests, and for very large n. It is available for

    * `Spiegelhalter`, `BrierZ`, `LogLossZ`, `MeanCalibration`, `ScoreExcess`: normal with the exact variance,
      two-sided;
    * `LogitScore`, `CubicScore`, `VectorScalingScore`, `CME` (exact covariance): chi-square, degrees of freedom
      the rank of the covariance;
    * `HosmerLemeshow`, `PigeonHeyse`: chi-square, degrees of freedom the number of cells with variance (no model was
      fitted to these rows);
    * `Kuiper`, `KolmogorovSmirnov`: range and height of a Brownian motion (Arrieta-Ibarra et al. 2022);
    * `BrownianBridge`: chi-square with 4 degrees of freedom (Sadatsafavi & Petkau 2024);
    * `CramerVonMises`, `AndersonDarling`, without weights: sums of squared normal variables (Anderson & Darling 1952);
    * `StandardizedL2`: normal, one-sided (Lee et al. 2023), a good approximation with many cells;
    * `CalibrationBelt`: its law, mixed over the degrees that may be selected (Nattino et al. 2014);
    * `SKCE` and its blocks, with one bandwidth: the shifted gamma law (Pearson's type III) with the exact mean 0,
      variance and third cumulant; in blocks of two rows, whose tail is heavier, the saddlepoint law of independent
      pairs (Lugannani & Rice 1980). Both are refused where the skewness exceeds 4, as where few events are
      expected. Above 750 rows of two classes that are not on a line, and above 1500 / K rows of K classes, part of the
      third cumulant comes from random probes, which `rng` draws: the result states the error.

    With weights the variances are those of the weighted sums. Unequal weights need more rows: with log-normal ones,
    whose logarithms have a standard deviation of 0.5, 1 and 1.5, and uniform predictions, HosmerLemeshow(10) rejected
    5.8, 8.0 and 7.8 percent at level 5 % for n = 300, 5.3, 5.5 and 6.7 for 1000, and 4.7, 5.2 and 4.5 for 5000 (600
    runs each, standard error 0.9), LogitScore() 8.0, 9.5 and 9.8, 6.0, 6.0 and 6.5, and 5.3, 5.5 and 5.0.

    Measured rejections of calibrated models at level 5 %, in percent, 2000 runs each (standard error 0.5), for
    predictions that are uniform, Beta(4, 0.8) and Beta(1, 19):

    =========================  ====== ====== ======  ====== ====== ======
    statistic                  100    100    100     500    500    500
    =========================  ====== ====== ======  ====== ====== ======
    MeanCalibration            5.3    5.3    4.5     5.1    5.2    5.2
    Spiegelhalter              5.3    5.5    4.5     5.4    5.2    5.2
    LogLossZ                   5.2    5.7    4.5     5.7    4.8    5.2
    LogitScore(1)              5.5    5.8    4.5     5.3    4.6    5.3
    CubicScore                 6.5    5.8    4.8     5.2    5.7    6.0
    HosmerLemeshow(10)         5.5    9.1    11.8    5.0    5.8    8.2
    Kuiper                     3.8    3.5    2.8     4.5    4.5    4.0
    KolmogorovSmirnov          4.8    4.2    3.7     4.6    4.2    4.8
    BrownianBridge             4.3    4.0    4.5     4.3    4.7    4.5
    CramerVonMises             5.4    5.1    4.2     4.6    5.5    4.6
    AndersonDarling            5.2    4.9    4.8     5.0    5.6    4.9
    StandardizedL2, 10 cells   6.2    6.1    5.0     6.8    6.7    6.8
    CalibrationBelt            4.5    6.3    11.8    4.7    4.9    5.0
    SKCE                       4.8    4.8    3.2     4.8    4.8    5.2
    =========================  ====== ====== ======  ====== ====== ======

    with n in the first row and the three laws in order. For three classes, Dirichlet(1, 1, 1), at n = 100 and 500
    (there 1000 runs): BrierZ 5.0 and 5.1, LogLossZ 4.8 and 5.2, VectorScalingScore 5.5 and 4.8,
    StandardizedL2(SimplexGrid(3)) 7.1 and 7.6, SKCE 5.0 and 4.7. So for rare events use the exact null with statistics
    of cells and with the belt. Where many predictions are equal, `Kuiper` and `KolmogorovSmirnov` reject too rarely, as
    their walks are read only at the ends of ties: Kuiper in 2.3, 2.0 and 3.3 percent for 5, 10 and 20 different values
    (n = 500, 1000 runs each, standard error 0.5); the exact null has no such loss. Squared walks hardly have it:
    CramerVonMises 5.1, 4.9 and 4.4, AndersonDarling 4.2, 4.3 and 4.3 percent for the same predictions.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.nulls.asymptotic import Asymptotic
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)
    >>> round(cs.calibration_test(sample, cs.Spiegelhalter(), null=Asymptotic()).pvalue, 5)
    0.93182
    """

    joint: ClassVar[bool] = False

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> LargeSampleNull:
        """Return the law that the prepared estimator offers."""
        law = (evaluator or estimator.prepare(sample.predictions)).capabilities.large_sample
        if law is None:
            raise ValueError(
                f"{estimator!r} has no large-sample law here. Those that have one are Kuiper, KolmogorovSmirnov, "
                "BrownianBridge, CramerVonMises and AndersonDarling (without weights), Spiegelhalter, BrierZ, "
                "LogLossZ, MeanCalibration, ScoreExcess, LogitScore, CubicScore, VectorScalingScore, CME with the "
                "exact covariance, HosmerLemeshow, PigeonHeyse, StandardizedL2, CalibrationBelt, and SKCE that is not "
                "biased and has one bandwidth. Leave `null` out, or use Consistency(): exact for every statistic. An "
                "estimator of your own gives its law in Capabilities.large_sample."
            )
        return LargeSampleNull(law(rng))

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:  # noqa: ARG002
        """Say that the law is a large-sample approximation."""
        how = "the law of the statistic is that of many rows (large-sample approximation)"
        return strong_hypothesis(lens, given, how)
