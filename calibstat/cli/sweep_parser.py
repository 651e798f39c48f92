"""The arguments of ``calibstat sweep`` and ``calibstat summarise``; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

_SWEEP = """\
Draws many samples from models whose true calibration errors are known, and evaluates estimators and tests on each.
The study is described in a TOML file; its results go into a Zarr store, block by block."""

_EXAMPLE = """\
a study:
  seed = 0
  n_repeats = 200
  n = [100, 1000]
  n_bins = [5, 15]
  draws = "rows"
  [models]
  calibrated = "GaussianMixture(0, -2)"
  off = "GaussianMixture(1, 1)"
  [estimators]
  ECE = "ECE(EqualMass(n_bins))"
  [tests]
  PDE = "PDE(EqualMass(n_bins))"
  ECE = { statistic = "ECE(EqualMass(n_bins))", null = "Consistency(99)" }
What mentions n_bins is made anew for each of them. Names are those of calibstat and calibstat.generators."""


def add_sweep(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat sweep``."""
    sweep = commands.add_parser(
        "sweep",
        help="study estimators and tests on models with known truth",
        description=_SWEEP,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    sweep.add_argument("study", metavar="STUDY", help="a TOML file (see below)")
    sweep.add_argument(
        "--store", metavar="PATH", help="where the results go (default: the name of the study, with .zarr, here)"
    )
    engine = sweep.add_mutually_exclusive_group()
    engine.add_argument("--scheduler", metavar="ADDRESS", help="compute on this Dask cluster: tcp://host:8786")
    engine.add_argument(
        "--workers", type=int, metavar="N", help="compute in N processes of this machine (default: threads)"
    )
    sweep.add_argument("--resume", action="store_true", help="go on with a store that is there")


def add_summarise(commands: argparse._SubParsersAction[Any]) -> None:
    """Register ``calibstat summarise``."""
    summarise = commands.add_parser(
        "summarise",
        help="bias, variance, coverage, size and power from a sweep",
        description="Summarises the store of a sweep over its repeats, each number with its Monte Carlo standard "
        "error.",
        allow_abbrev=False,
    )
    summarise.add_argument("store", metavar="STORE", help="a Zarr store, or a NetCDF file")
    summarise.add_argument("--level", type=float, default=0.05, metavar="A", help="level of the tests (default: 0.05)")
    summarise.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print it (default: table)"
    )
