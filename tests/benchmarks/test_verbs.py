"""What every public function costs from raw arrays, at a thousand and at a hundred thousand rows."""

from __future__ import annotations

import warnings

import pytest

from benchmarks.timing import interleaved, redraw_loop, stable_argsort
from benchmarks.verbs import VERBS, Raw

LOOP_SHARE = 20  # the loop does a twentieth of its 999 redraws, and its time is scaled


@pytest.fixture(scope="module", params=[1000, 100_000], ids=["n = 1e3", "n = 1e5"])
def raw(request):
    return Raw(request.param)


@pytest.mark.parametrize("name", VERBS)
def test_verb(name, raw, ratios):
    verb, p = VERBS[name], raw.arrays[1]
    few = raw.n <= 1000

    def reference():
        redraw_loop(p, 999 // LOOP_SHARE) if few else stable_argsort(p)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, unit = interleaved([lambda: verb.call(raw), reference], rounds=5)
    unit *= 999 / (999 // LOOP_SHARE) if few else 1
    of = "999 redraws in a loop" if few else "a stable argsort"
    ratios.record(f"{name}, n = {raw.n:g}; {of}", 1e3 * ours, 1e3 * unit, verb.loops if few else verb.argsorts)
