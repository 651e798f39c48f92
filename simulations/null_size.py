"""How often tests reject where nothing is wrong, how often intervals cover, and what the omnibus test finds.

These simulations are the evidence for the tests themselves, so that they are kept, checked and documented there
(docs/evidence). This study reads their tables and draws them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from simulations.frame import Datasets, Plan, Repeats, Scale, Study, option

TABLES = {"size": "rejections of true nulls", "coverage": "intervals that cover", "omnibus": "rejections"}
EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"


@dataclass(frozen=True)
class Table:
    """A stored table, with the share of runs that each row counted."""

    path: str
    checksum: str

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:  # noqa: ARG002 (what is stored is not random)
        """Read it."""
        table = pd.read_csv(self.path, comment="#")
        table["share"] = table["count"] / table["runs"]
        return xr.Dataset.from_dataframe(table.astype(dict.fromkeys(("world", "subject", "method"), "str")))


@final
@dataclass(frozen=True)
class NullSize(Study):
    """A view of the stored evidence."""

    evidence: str | None = option("DIR", "the folder of the tables (default: docs/evidence)")

    plan = Plan(
        aim="whether tests keep their level and intervals cover, and what an omnibus test finds",
        mechanisms="the worlds of docs/evidence: binary scores, of one digit, with a variable, several classes",
        estimands="the null of each test, true by construction; the limit of each estimator",
        methods="every null on every statistic that it serves; every interval; the omnibus test and its members",
        performance="share of runs that reject or cover, with its Monte Carlo standard error",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:  # noqa: ARG002 (the runs are those of the evidence)
        """Read the tables."""
        folder = EVIDENCE if self.evidence is None else Path(self.evidence)
        paths = {name: folder / f"{name}.csv" for name in TABLES}
        return {name: Repeats(Table(str(path), sha256(path.read_bytes()).hexdigest())) for name, path in paths.items()}

    @staticmethod
    def text(found: Datasets) -> str:
        """Say how many shares break a promise, then the shares of each method."""
        promised = {name: int(_has_a_bound(each).sum()) for name, each in _tables(found)}
        broken = {name: int(_breaks_its_bound(each).sum()) for name, each in _tables(found)}
        lines = [
            f"Of {sum(promised.values())} promised sizes and coverages {sum(broken.values())} are broken by more than "
            "four Monte Carlo standard errors ("
            + ", ".join(f"{name} {broken[name]} of {promised[name]}" for name in TABLES)
            + "). The tables have settings for which nothing is promised, too: the percentile bootstrap, laws of large "
            "samples in small ones, redrawn predictions, some of the multiplier and the weak null; and models that are "
            "off.",
        ]
        for name, each in _tables(found):
            lines += ["", f"{TABLES[name]}, %", f"{'':36}{'settings':>9}{'least':>8}{'mean':>8}{'most':>8}"]
            for (kind, method), shares in each.groupby(["kind", "method"])["share"]:
                numbers = (100 * value for value in (shares.min(), shares.mean(), shares.max()))
                cells = "".join(f"{number:8.1f}" for number in numbers)
                lines.append(f"{f'{method} {kind}':36}{len(shares):>9}{cells}")
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the share of every setting, a row for each method."""
        figure, axes = plt.subplots(1, len(TABLES), figsize=(14, 5), layout="constrained")
        for ax, (name, each) in zip(axes, _tables(found), strict=True):
            methods = sorted(set(each["method"]), reverse=True)
            for color, (kind, own) in enumerate(each.groupby("kind")):
                rows = own["method"].map(methods.index)
                ax.plot(own["share"], rows, "|", color=f"C{color}", markersize=12, alpha=0.6, label=kind or None)
            ax.axvline(0.95 if name == "coverage" else 0.05, color="black", linewidth=1)
            ax.set(yticks=range(len(methods)), yticklabels=methods, xlabel="share of runs", title=TABLES[name])
        figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower right", ncols=2)
        return figure


def _tables(found: Datasets) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each table, with the kind of its settings: whether the world of an omnibus test is calibrated."""
    for name in TABLES:
        each = found[name].isel(repeat=0).to_dataframe()
        calibrated = each["at_most"].notna() | each["world"].str.endswith("Identity()")
        each["kind"] = np.where(calibrated, "(calibrated)", "(off)") if name == "omnibus" else ""
        yield name, each


def _has_a_bound(table: pd.DataFrame) -> pd.Series:
    return table["at_most"].notna() | table["at_least"].notna()


def _breaks_its_bound(table: pd.DataFrame) -> pd.Series:
    bound = table["at_most"].fillna(table["at_least"])
    slack = 4 * np.sqrt(bound * (1 - bound) / table["runs"])
    return (table["share"] > table["at_most"] + slack) | (table["share"] < table["at_least"] - slack)
