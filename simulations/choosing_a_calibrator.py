"""Which rule picks the calibrator that is truly better: raw ECE, debiased error, p-values, or a test of the difference?

Calibrators are fitted on 500 rows of a world with known truth, so that the true error of every fitted map is known, and
judged on test rows. A file in CalArena's layout adds real predictions, without a truth: there the study tells how often
raw ECE prefers the one that the test finds to be worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import calibstat as cs
from calibstat import calibrators
from calibstat.generators import (
    BetaPredictions,
    Identity,
    LogitShift,
    Recalibrated,
    Slope,
    SyntheticModel,
    Wiggle,
)
from simulations import calarena
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study, bracketed, option

FITTED_ROWS, N_BINS, N_RESAMPLES, LEVEL = 500, 15, 199, 0.05
UNCALIBRATED = "uncalibrated"
SAME = 1e-12  # squared errors of maps that are equal but for rounding
WORLDS: dict[str, SyntheticModel] = {
    "overconfident": BetaPredictions(1, 1, Slope(0.6)),
    "wavy": BetaPredictions(1, 1, Wiggle(2, 0.1)),
    "rare": BetaPredictions(0.5, 6, LogitShift(0.5)),
    "calibrated": BetaPredictions(1, 1, Identity()),
}
SQUARED = cs.DebiasedL2(cs.EqualMass(N_BINS))
# Of two calibrators a rule picks the one with the smaller value.
RULES: dict[str, cs.Estimator] = {
    "raw ECE, equal width": cs.ECE(cs.EqualWidth(N_BINS)),
    "raw ECE, equal mass": cs.ECE(cs.EqualMass(N_BINS)),
    "debiased error": SQUARED,
    "Brier score": cs.BrierScore(),
}
BY_PVALUE = "largest p-value"
TEST = "test of the difference"
KEPT = (UNCALIBRATED, "temperature")  # where the test does not find a better one


def for_two_classes() -> dict[str, calibrators.Calibrator]:
    """Return the calibrators that are fitted."""
    return {
        "Platt": calibrators.Platt(),
        "quadratic": calibrators.Quadratic(),
        "temperature": calibrators.Temperature(),
        "beta": calibrators.Beta(),
        "isotonic": calibrators.Isotonic(),
        "histogram": calibrators.HistogramBinning(cs.EqualMass(N_BINS)),
        "scaling-binning": calibrators.ScalingBinning(),
        "spline": calibrators.Spline(),
    }


def for_many_classes() -> dict[str, calibrators.Calibrator]:
    """Return the calibrators that are fitted to more than two classes."""
    return {
        "temperature": calibrators.Temperature(),
        "vector scaling": calibrators.VectorScaling(),
        "Dirichlet": calibrators.Dirichlet(),
        "structured vector scaling": calibrators.StructuredVectorScaling(),
        "structured matrix scaling": calibrators.StructuredMatrixScaling(),
        "isotonic": calibrators.OneVsRest(calibrators.Isotonic()),
        "histogram": calibrators.OneVsRest(calibrators.HistogramBinning(cs.EqualMass(N_BINS))),
    }


def judge(samples: Mapping[str, cs.Sample], rng: np.random.Generator, lens: cs.Lens | None = None) -> xr.Dataset:
    """Return what each rule says of each calibrator, and p-values of the differences of each two, on the same rows.

    The p-value stands at (better, worse), as the rows have it; the other way round there is NaN.
    """
    lens = cs.Canonical() if lens is None else lens
    values = [[(lens | rule)(sample) for sample in samples.values()] for rule in RULES.values()]
    null = cs.Consistency(N_RESAMPLES)
    by_mass = lens | RULES["raw ECE, equal mass"]
    pvalues = [cs.calibration_test(sample, by_mass, null=null, rng=rng).pvalue for sample in samples.values()]
    compared = cs.compare_models(dict(samples), lens | SQUARED, n_resamples=N_RESAMPLES, rng=rng)
    names, table = list(samples), np.full((len(samples), len(samples)), np.nan)
    for pair in compared.pairs:
        first, second = names.index(pair.first), names.index(pair.second)
        better = (first, second) if pair.difference < 0 else (second, first)
        table[better] = pair.pvalue
    return xr.Dataset(
        {
            # A rule picks the smaller value; of p-values the larger, so that they are stored with a minus.
            "value": (("rule", "calibrator"), [*values, [-pvalue for pvalue in pvalues]]),
            "pvalue": (("calibrator", "other"), table),
        },
        {"rule": [*RULES, BY_PVALUE], "calibrator": names, "other": names},
    )


@dataclass(frozen=True)
class FitAndJudge:
    """Fit all calibrators on one set of rows, and judge them on test rows, of which fewer are the first of more.

    Parameters
    ----------
    world : SyntheticModel
    n : sequence of int
        Test rows.
    """

    world: SyntheticModel
    n: tuple[int, ...]

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return the true errors of the fitted maps, and what each rule says."""
        fit, test = self.world.sample(FITTED_ROWS, rng), self.world.sample(max(self.n), rng)
        maps = {name: each.fit(fit.predictions.event, fit.outcomes) for name, each in for_two_classes().items()}
        worlds = [self.world, *(Recalibrated(self.world, each) for each in maps.values())]
        samples = {UNCALIBRATED: test} | {
            name: cs.Sample(test.outcomes, each.predict_proba(test.predictions.event)[:, 1])
            for name, each in maps.items()
        }
        judged = [judge({name: each.take(np.arange(n)) for name, each in samples.items()}, rng) for n in self.n]
        found = xr.concat(judged, "n").assign_coords(n=list(self.n))
        ece, squared = zip(*map(true_errors, worlds), strict=True)
        found["true_ece"], found["true_squared"] = ("calibrator", list(ece)), ("calibrator", list(squared))
        return found


def true_errors(world: SyntheticModel) -> tuple[float, float]:
    """Return the expected and the mean squared calibration error of a world."""
    return float(world.truth(cs.ECE())), float(world.truth(SQUARED))


@dataclass(frozen=True)
class JudgeAFile:
    """Fit and judge calibrators on the predictions of every model of a file in CalArena's layout."""

    path: str

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return what each rule says, along a dimension "model"; calibrators that a model does not have are NaN."""
        found, names = [], []
        for each in calarena.read(self.path):
            two = each.test_probabilities.shape[1] == 2
            candidates = for_two_classes() if two else for_many_classes()
            asked = {UNCALIBRATED: each.test_probabilities}
            for name, calibrator in candidates.items():
                given = each.fit_probabilities[:, 1] if two else each.fit_probabilities
                fitted = calibrator.fit(given, each.fit_labels)
                asked[name] = fitted.predict_proba(each.test_probabilities[:, 1] if two else each.test_probabilities)
            samples = {name: cs.Sample(each.test_labels, rows) for name, rows in asked.items()}
            found.append(judge(samples, rng, None if two else cs.TopLabel()))
            names.append(f"{each.dataset}/{each.model}")
        return xr.concat(found, "model", join="outer").assign_coords(model=names)


@final
@dataclass(frozen=True)
class ChoosingACalibrator(Study):
    """How often each rule picks the worse calibrator."""

    calarena: str | None = option("FILE", "an HDF5 file in CalArena's layout: real predictions, too")

    plan = Plan(
        aim="whether choosing calibrators by tests is better than choosing them by raw ECE",
        mechanisms=f"uniform or rare scores whose log-odds are too large, wavy, shifted or right; calibrators fitted "
        f"on {FITTED_ROWS} rows, compared on test rows; with --calarena predictions of real models",
        estimands="which of two fitted maps has the smaller true squared calibration error, and by how much; pairs "
        "that the true ECE orders otherwise are left out, so that no rule is judged by another one's error",
        methods=f"the smaller raw ECE ({N_BINS} bins), debiased squared error or Brier score; the larger p-value of "
        f"the test of each by itself; the test of the difference at {LEVEL:.0%}, which may name neither",
        performance="shares of pairs where a rule names the worse; excess of the true squared error of the calibrator "
        "that a rule puts first over that of the best",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Judge on every world."""
        n = scale.pick((500, 4000), (500, 1000, 2000, 4000), (500, 1000, 2000, 4000, 16_000))
        repeats = scale.pick(6, 25, 250)
        found = {
            name: Repeats(FitAndJudge(world, n), repeats, SEED + number)
            for number, (name, world) in enumerate(WORLDS.items())
        }
        if self.calarena is None:
            return found
        for _ in calarena.read(self.calarena):  # what is wrong there is said before the work
            pass
        return found | {"calarena": Repeats(JudgeAFile(self.calarena))}

    @staticmethod
    def text(found: Datasets) -> str:
        """Say how often each rule is wrong, for every number of test rows and in every world."""
        worlds = {name: found[name] for name in WORLDS}
        counts = {name: count(each) for name, each in worlds.items()}
        total = sum(counts.values())
        raw, tested = total.sel(rule="raw ECE, equal width"), total.sel(rule=TEST)
        most = int(total["n"].max())
        lines = [
            f"Raw ECE names the worse calibrator in {share(raw, 'wrong')} of pairs over all numbers of test rows "
            f"({share(raw.sel(n=most), 'wrong')} with {most} of them). The test of the difference decides "
            f"{share(tested, 'named')} of pairs ({share(tested.sel(n=most), 'named')} with {most} rows), and is silent "
            f"in the others. In the {int(tested['decided'].sum())} that it decides it is wrong in "
            f"{int(tested['wrong_of_decided'].sum())}, and the others are in "
            + ", ".join(f"{int(total['wrong_of_decided'].sel(rule=rule).sum())} ({rule})" for rule in RULES)
            + ". So what the test gains is silence where the rows cannot tell; where it speaks, the other rules are "
            "mostly right, too.",
        ]
        left_out = sum(int(each["left_out"].sum()) for each in counts.values())
        lines += [
            "",
            f"pairs for each number of test rows: {int(total['pairs'][0, 0])}; left out, because the true ECE and the "
            f"true squared error disagree, or the maps are the same: {left_out}",
            "",
            "pairs that the test decides, and in how many of them each rule names the worse",
            _head(total),
            _row("decided", tested["decided"], ".0f"),
            *(_row(rule, total["wrong_of_decided"].sel(rule=rule), ".0f") for rule in total["rule"].values),
        ]
        for name, each in {"all worlds": total, **counts}.items():
            errors = standard_errors(worlds if each is total else {name: worlds[name]})
            lines += [
                "",
                f"{name}: share of pairs where the rule names the worse, % (standard error, if repeats differ)",
                _head(each),
            ]
            for rule in each["rule"].values:
                own = each.sel(rule=rule)
                shares = zip((100 * own["wrong"] / own["pairs"]).values, errors.sel(rule=rule).values, strict=True)
                lines.append(f"{rule:26}" + "".join(f"{bracketed(share, error, '.1f'):>12}" for share, error in shares))
                if (own["named"] < own["pairs"]).any():
                    lines.append(_row("  names one in", 100 * own["named"] / own["pairs"], ".1f"))
        lines += ["", "excess of the true squared error of the calibrator that is put first, times 10 000"]
        for name, each in worlds.items():
            excess = 1e4 * excess_of_the_first(each).mean("repeat")
            lines += ["", f"{name:26}{_head(excess)[26:]}"]
            lines += [_row(rule, excess.sel(rule=rule), ".2f") for rule in excess["rule"].values]
        lines += ["", "true squared error of each candidate, times 10 000: mean (standard error)", ""]
        lines.append(f"{'':26}" + "".join(f"{name:>18}" for name in worlds))
        for candidate in next(iter(worlds.values()))["calibrator"].values:
            cells = (_with_error(1e4 * each["true_squared"].sel(calibrator=candidate)) for each in worlds.values())
            lines.append(f"{candidate:26}" + "".join(f"{cell:>18}" for cell in cells))
        return "\n".join(lines + (_of_a_file(found["calarena"]) if "calarena" in found else []))

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the shares over the number of test rows, a panel for each world, and the pairs of a file."""
        n_panels = len(WORLDS) + ("calarena" in found)
        figure, axes = plt.subplots(1, n_panels, figsize=(3.75 * n_panels, 4.5), layout="constrained")
        for ax, name in zip(axes, WORLDS, strict=False):
            each, errors = count(found[name]), standard_errors({name: found[name]}) / 100
            for color, rule in enumerate(each["rule"].values):
                own = each.sel(rule=rule)
                shares = own["wrong"] / own["pairs"]
                style = {"linewidth": 3} if rule == TEST else {}
                error = errors.sel(rule=rule)
                ax.errorbar(own["n"], shares, error, fmt="o-", color=f"C{color}", label=rule, **style)
            named = each.sel(rule=TEST)
            ax.plot(
                each["n"], named["named"] / named["pairs"], ":", color=f"C{color}", label="pairs that the test decides"
            )
            ax.set(xscale="log", xlabel="test rows", title=name, ylim=(-0.02, 1))
            ax.set_xticks(each["n"].values, each["n"].values, rotation=45)
            ax.minorticks_off()
        axes[0].set_ylabel("share of pairs: the worse is named\n(dotted: the test decides)")
        if "calarena" in found:
            _draw_a_file(axes[-1], found["calarena"])
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure


def count(found: xr.Dataset) -> xr.Dataset:
    """Count pairs for each rule and number of test rows: all, those where it names one, and where the worse one.

    ``decided`` are the pairs where the test names one, and ``wrong_of_decided`` those of them where the rule names the
    worse.
    """
    squared, ece = found["true_squared"].values, found["true_ece"].values  # (repeat, calibrator)
    value, pvalue = found["value"].values, found["pvalue"].values
    rules = [*found["rule"].values, TEST]
    kinds = ("pairs", "named", "wrong", "decided", "wrong_of_decided")
    counts = {name: np.zeros((len(rules), found.sizes["n"])) for name in kinds}
    left_out = 0
    for first, second in combinations(range(found.sizes["calibrator"]), 2):
        gap = squared[:, first] - squared[:, second]
        truly = np.sign(gap)
        kept = (np.abs(gap) > SAME) & (truly == np.sign(ece[:, first] - ece[:, second]))
        left_out += int((~kept).sum())
        by_value = np.sign(value[..., first] - value[..., second])  # (repeat, n, rule)
        by_test = np.where(pvalue[..., second, first] <= LEVEL, 1, np.where(pvalue[..., first, second] <= LEVEL, -1, 0))
        named = np.concatenate([by_value, by_test[..., None]], axis=2)[kept]
        counts["pairs"] += kept.sum()
        counts["named"] += (named != 0).sum(axis=0).T
        wrong, decided = named == -truly[kept, None, None], named[..., -1:] != 0
        counts["wrong"] += wrong.sum(axis=0).T
        counts["decided"] += decided.sum(axis=0).T
        counts["wrong_of_decided"] += (wrong & decided).sum(axis=0).T
    dataset = xr.Dataset({name: (("rule", "n"), each) for name, each in counts.items()})
    return dataset.assign_coords(rule=rules, n=found["n"].values).assign(left_out=left_out)


def standard_errors(worlds: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """Return the Monte Carlo standard error (rule, n) of the share of pairs where the worse is named, in percent.

    Repeats are independent, the pairs of one are not.
    """
    parts = {name: [count(each.isel(repeat=[r])) for r in range(each.sizes["repeat"])] for name, each in worlds.items()}
    one = next(iter(parts.values()))[0]
    wrong, pairs = (
        {name: np.array([each[kind].values for each in own]) for name, own in parts.items()}
        for kind in ("wrong", "pairs")
    )
    total = sum(each.sum(axis=0) for each in pairs.values())
    share = sum(each.sum(axis=0) for each in wrong.values()) / total
    squares = 0
    for name, own in wrong.items():
        away = own - share * pairs[name]
        squares = squares + len(own) * away.var(axis=0, ddof=1)
    return xr.DataArray(100 * np.sqrt(squares) / total, one["wrong"].coords, one["wrong"].dims)


def excess_of_the_first(found: xr.Dataset) -> xr.DataArray:
    """Return by how much the true squared error of the calibrator that each rule takes exceeds the smallest one.

    A rule takes the calibrator with the smallest value. With the test, one of `KEPT` is kept unless others are found to
    be better, of which the one with the smallest debiased error is taken.
    """
    names, first = list(found["calibrator"].values), found["value"].argmin("calibrator")
    taken = [first]
    for kept in (name for name in KEPT if name in names):
        better = (found["pvalue"].sel(other=kept, drop=True) <= LEVEL).assign_coords(calibrator=names)
        among = found["value"].sel(rule="debiased error", drop=True).where(better, np.inf)
        one = xr.where(better.any("calibrator"), among.argmin("calibrator"), names.index(kept))
        taken.append(one.expand_dims(rule=[f"test, else {kept}"]))
    squared = found["true_squared"]
    return xr.concat(
        [
            squared.isel(calibrator=each).drop_vars("calibrator", errors="ignore") - squared.min("calibrator")
            for each in taken
        ],
        "rule",
    )


def share(counts: xr.Dataset, name: str) -> str:
    """Return a percentage of all pairs."""
    return f"{float(100 * counts[name].sum() / counts['pairs'].sum()):.1f} %"


def of_a_file(found: xr.Dataset) -> xr.Dataset:
    """Count pairs of each model, those that the test tells apart, and of these the ones that raw ECE has reversed."""
    own = found.isel(repeat=0)
    value, pvalue = own["value"].sel(rule="raw ECE, equal width").values, own["pvalue"].values
    told = pvalue <= LEVEL  # (model, better, worse)
    counts = {
        "pairs": np.isfinite(pvalue),
        "told": told,
        "against": told & (value[:, :, None] > value[:, None, :]),
    }
    counted = {name: ("model", each.sum(axis=(1, 2))) for name, each in counts.items()}
    return xr.Dataset(counted, {"model": own["model"].values}).assign(
        file=Path(found.attrs["design"].split(chr(39))[1]).name
    )


def _of_a_file(found: xr.Dataset) -> list[str]:
    """Tell how often raw ECE prefers the calibrator that the test finds to be worse."""
    counts = of_a_file(found)
    pairs, told, against = (int(counts[name].sum()) for name in ("pairs", "told", "against"))
    return [
        "",
        f"{counts['file'].item()}: {counts.sizes['model']} models, {pairs} pairs",
        f"the test tells {told} apart; raw ECE prefers the worse one in {against}",
        *(
            f"  {model}: {counts['told'].sel(model=model).item()} told apart, "
            f"{counts['against'].sel(model=model).item()} against raw ECE"
            for model in counts["model"].values
        ),
    ]


def _draw_a_file(ax: Any, found: xr.Dataset) -> None:
    """Draw the counts of each model, the first of the file on top."""
    counts = of_a_file(found)
    rows = np.arange(counts.sizes["model"])[::-1]
    for name, color, label in (
        ("pairs", "0.88", "pairs"),
        ("told", "C0", "the test tells them apart"),
        ("against", "C3", "raw ECE prefers the worse"),
    ):
        ax.barh(rows, counts[name], color=color, label=label)
    ax.set(yticks=rows, yticklabels=counts["model"].values, xlabel="pairs", title=counts["file"].item())
    ax.legend(fontsize="x-small", loc="lower right")


def _with_error(values: Any) -> str:
    """Return the mean over repeats and its standard error."""
    error = float(values.std("repeat", ddof=1)) / np.sqrt(values.sizes["repeat"])
    return bracketed(float(values.mean()), error, ".2f")


def _head(counts: Any) -> str:
    return f"{'':26}" + "".join(f"{f'n = {n}':>12}" for n in counts["n"].values)


def _row(name: str, values: Any, digits: str) -> str:
    return f"{name:26}" + "".join(f"{value:>12{digits}}" for value in values.values)
