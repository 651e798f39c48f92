"""``python -m simulations NAME [--quick | --full] [--show] [--scheduler ADDRESS | --workers N]``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import fill

import matplotlib as mpl

from simulations.choosing_a_calibrator import ChoosingACalibrator
from simulations.estimator_bias import EstimatorBias
from simulations.frame import Plan, Scale, Study
from simulations.gaussian_mixture import GaussianMixtureStudy
from simulations.kelly_smyth import KellySmyth
from simulations.lens_blindness import LensBlindness
from simulations.networks import Networks
from simulations.null_size import NullSize
from simulations.plugin_vs_debiased import PluginVsDebiased
from simulations.rare_events import RareEvents
from simulations.scaling_binning import ScalingBinningStudy
from simulations.training_curve import TrainingCurve
from simulations.tree_metrics import TreeMetrics

_AS_IT_IS = argparse.RawDescriptionHelpFormatter
STUDIES: dict[str, type[Study]] = {
    "choosing_a_calibrator": ChoosingACalibrator,
    "estimator_bias": EstimatorBias,
    "kelly_smyth": KellySmyth,
    "gaussian_mixture": GaussianMixtureStudy,
    "plugin_vs_debiased": PluginVsDebiased,
    "lens_blindness": LensBlindness,
    "scaling_binning": ScalingBinningStudy,
    "training_curve": TrainingCurve,
    "tree_metrics": TreeMetrics,
    "rare_events": RareEvents,
    "networks": Networks,
    "null_size": NullSize,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study, or read it, and print its plan and what it found."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.study is None:
        parser.print_help()
        return 0
    mpl.use("Agg")
    kind = STUDIES[arguments.study]
    scale = Scale("quick" if arguments.quick else "full" if arguments.full else "usual")
    folder = Path(arguments.out) / arguments.study / scale.name
    try:
        study = kind(**{each.name: getattr(arguments, each.name) for each in fields(kind)})
        print(study.plan, end="\n\n", flush=True)
        client = arguments.workers or arguments.scheduler
        found = study.show(folder) if arguments.show else study.run(scale, folder, client)
        print(study.answer(found))
    except (ValueError, OSError, ImportError) as error:
        print(f"simulations: error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulations", description="Simulation studies, by name.")
    studies = parser.add_subparsers(dest="study", metavar="NAME")
    for name, kind in STUDIES.items():
        own = studies.add_parser(name, help=kind.plan.aim, description=_wrapped(kind.plan), formatter_class=_AS_IT_IS)
        for each in fields(kind):
            own.add_argument(f"--{each.name}", **each.metadata)
        _add_common_options(own)
    return parser


def _wrapped(plan: Plan) -> str:
    """Return a plan with each point as a paragraph of its own."""
    return "\n".join(fill(line, shutil.get_terminal_size().columns - 2) for line in str(plan).splitlines())


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="less than a minute")
    length.add_argument("--full", action="store_true", help="as many repeats as in the papers")
    parser.add_argument("--show", action="store_true", help="show a finished study again, without running it")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="compute on a Dask cluster: tcp://host:8786")
    where.add_argument("--workers", type=int, metavar="N", help="compute in N processes of this machine")
    parser.add_argument("--out", default="simulated", metavar="DIR", help="datasets, texts, figures (simulated)")


if __name__ == "__main__":
    sys.exit(main())
