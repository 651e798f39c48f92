"""``calibstat scan``: along which columns is the model off?"""

from __future__ import annotations

import argparse
import json
from typing import Any

from calibstat.auditing.groups import By
from calibstat.auditing.scan import VariableScan, scan_variables
from calibstat.cli.audit import CAUTION, OPTIONS, read_audited, read_binning, read_lens
from calibstat.cli.options import named_options
from calibstat.cli.text import ProgressBar, hang, notice, plain_warnings
from calibstat.data.sample import Sample
from calibstat.lenses.base import Lens


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, scan its columns, print what was found."""
    with plain_warnings(), named_options(OPTIONS):
        sample, variables = read_audited(arguments, "--variable", arguments.variable or ["*"])
        lens = read_lens(arguments.lens, sample.predictions)
        scan = ProgressBar().each(lambda names: _scan(arguments, sample, names, lens), [variables])[0]
    if arguments.format == "json":
        print(json.dumps(records(scan), indent=2, allow_nan=False))
        for each in scan.left_out:
            notice(f"left out: {each.name} {each.reason}")
    else:
        print("\n".join([str(scan), *hang("caution", CAUTION)]))


def records(scan: VariableScan) -> list[dict[str, Any]]:
    """Return one record for each column, in order of rank, with what is common to all in each."""
    whole = scan.to_dict()
    names = ("lens", "n", "n_resamples", "null", "rank_by", "adjust", "confidence_level", "hypothesis", "source")
    common = {key: whole[key] for key in names}
    return [{**found, **common} for found in whole["variables"]]


def _scan(arguments: argparse.Namespace, sample: Sample, variables: By, lens: Lens) -> VariableScan:
    return scan_variables(
        sample,
        variables,
        lens=lens,
        binning=read_binning(arguments),
        null=arguments.null,
        rank_by=arguments.rank_by,
        adjust=arguments.adjust,
        missing=arguments.missing,
        confidence_level=arguments.confidence_level,
        n_resamples=arguments.n_resamples,
        rng=arguments.seed,
    )
