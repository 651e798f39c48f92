"""The page "every estimator": complete, and its noise measured again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.estimators import names
from calibstat.estimators.base import Headline

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "which-number-details.md").read_text(encoding="utf-8")
N_RESAMPLES = 99


def rows() -> list[tuple[str, float, int]]:
    """Estimator, noise, and the number of digits shown, from every table that has such a column."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and re.fullmatch(r"-?[\d.]+", cells[3]):
            digits = len(cells[3].partition(".")[2])
            found += [(code, float(cells[3]), digits) for code in re.findall(r"`(\w+\([^`]*\))`", cells[0])]
    return found


@pytest.fixture(scope="module")
def world():
    rng = np.random.Generator(np.random.PCG64(0))
    p = (np.arange(1000) + 0.5) / 1000
    return cs.Sample((rng.random(1000) < p).astype(int), p, variables={"age": rng.random(1000)})


def test_every_estimator_is_on_the_page():
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    listed = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert set(names()) <= listed, sorted(set(names()) - listed)


def test_the_tables_are_read():
    assert len(rows()) >= 45


@pytest.mark.parametrize(("code", "noise", "digits"), rows(), ids=[code for code, _, _ in rows()])
def test_noise_is_what_is_shown(code, noise, digits, world):
    estimator = eval(code, {"cs": cs} | {name: getattr(cs, name) for name in cs.__all__})
    drawn = (
        cs.Consistency(N_RESAMPLES).draw(Headline(estimator.core), estimator.lens(world), cs.as_generator(1)).samples
    )
    # a "0" says that nothing is expected, up to the noise of the mean
    shown = 0.5 * 10.0**-digits if noise else 0.0
    assert abs(drawn.mean() - noise) <= shown + 5 * drawn.std() / np.sqrt(N_RESAMPLES)
