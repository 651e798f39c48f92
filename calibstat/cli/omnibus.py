"""``calibstat test --omnibus``: a panel of statistics on the same redraws, one p-value for each lens."""

from __future__ import annotations

import argparse
import json
from typing import Any

from calibstat.cli.cutting import Cutting
from calibstat.cli.estimate import plain_label
from calibstat.cli.inputs import read_sample
from calibstat.cli.notices import plain_warnings
from calibstat.cli.panel import View, panel
from calibstat.cli.progress_bar import ProgressBar
from calibstat.cli.text import narrow
from calibstat.inference.multiplicity import holm
from calibstat.inference.omnibus import omnibus_test
from calibstat.inference.omnibus_result import OmnibusTest

N_RESAMPLES = 999


def run(arguments: argparse.Namespace) -> None:
    """Read the sample, test it through each lens, print what was found."""
    wrong = [f"--{name}" for name in ("given", "estimator", "bins") if getattr(arguments, name) is not None]
    wrong += ["--binning"] if arguments.binning != "equal-mass" else []
    if wrong:
        raise ValueError(f"--omnibus has statistics of its own: leave out {' and '.join(wrong)}")
    n_resamples = arguments.n_resamples or N_RESAMPLES
    with plain_warnings():
        sample = read_sample(arguments, [])
        views = [each.view for each in panel(sample.predictions, arguments.lens or ["canonical"], (), Cutting())]

        def answer(view: View) -> OmnibusTest:
            return omnibus_test(sample, lens=view.lens, n_resamples=n_resamples, rng=arguments.seed)

        found = ProgressBar().each(answer, views)
    adjusted = [float(pvalue) for pvalue in holm([each.pvalue for each in found])]
    if arguments.format == "json":
        records = [_record(*each) for each in zip(views, found, adjusted, strict=True)]
        print(json.dumps(records, indent=2, allow_nan=False))
        return
    for position, (each, pvalue) in enumerate(zip(found, adjusted, strict=True)):
        print(("\n" if position else "") + narrow(str(each), 8))
        if len(found) > 1:
            print(f"  adjusted p = {pvalue:.3g} (Holm's correction over {len(found)} lenses)")


def _record(view: View, found: OmnibusTest, adjusted: float) -> dict[str, Any]:
    record = found.to_dict()
    return {"lens": record.pop("lens"), "class": plain_label(view.label), "pvalue_adjusted": adjusted} | record
