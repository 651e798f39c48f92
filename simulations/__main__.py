"""``python -m simulations NAME [--quick | --full] [--scheduler ADDRESS]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from calibstat import Sample
from simulations import gaussian_mixture, null_size, plugin_vs_debiased
from simulations.frame import Scale, run

STUDIES = {
    "gaussian_mixture": gaussian_mixture.STUDY,
    "plugin_vs_debiased": plugin_vs_debiased.STUDY,
    "null_size": null_size.STUDY,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study and print what it found."""
    arguments = _parser().parse_args(argv)
    mpl.use("Agg")
    try:
        sample = _sample(arguments)
        scale = Scale("quick" if arguments.quick else "full" if arguments.full else "usual")
        study = STUDIES[arguments.study]
        print(run(arguments.study, study, scale, Path(arguments.out), arguments.scheduler, sample))
    except (ValueError, OSError) as error:
        print(f"simulations: error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulations", description="Simulation studies, by name.")
    parser.add_argument("study", choices=STUDIES)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="a few seconds")
    length.add_argument("--full", action="store_true", help="as many repeats as in the papers")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster: tcp://host:8786 (default: threads)")
    parser.add_argument("--out", default="simulated", metavar="DIR", help="stores and figures (default: simulated)")
    parser.add_argument("--predictions", metavar="FILE", help="plugin_vs_debiased: predictions to resample, too")
    parser.add_argument("--label", metavar="COL", help="the column of what happened in that file")
    parser.add_argument("--probs", action="append", metavar="COL", help="its columns of probabilities: 'prob_*'")
    return parser


def _sample(arguments: argparse.Namespace) -> Sample | None:
    if arguments.predictions is None:
        return None
    if arguments.label is None or arguments.probs is None:
        raise ValueError("--predictions needs --label and --probs")
    probs = arguments.probs if len(arguments.probs) > 1 else arguments.probs[0]
    return Sample.read(arguments.predictions, y_true=arguments.label, y_prob=probs)


if __name__ == "__main__":
    sys.exit(main())
