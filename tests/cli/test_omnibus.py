"""``calibstat test --omnibus``."""

from __future__ import annotations

import json

import pytest

import calibstat as cs
from calibstat.inference.multiple import omnibus_test
from calibstat.inference.multiplicity import benjamini_hochberg, holm

FEW = ("--omnibus", "--n-resamples", "99")


def test_values_are_those_of_the_library(pets, off):
    code, out, err = pets(off, *FEW, "--format", "json")
    assert (code, err) == (0, "")
    (record,) = json.loads(out)
    found = omnibus_test(cs.Sample.read(off, y_true="pet", y_prob="prob_*"), n_resamples=99, rng=0)
    assert list(record)[:3] == ["lens", "class", "pvalue_adjusted"]
    assert record["lens"] == "Canonical()"
    assert record["pvalue"] == record["pvalue_adjusted"] <= 0.05
    for name, value in zip(found.names, found.values, strict=True):
        assert record["panel"][name]["value"] == pytest.approx(value)


@pytest.mark.parametrize(("more", "adjust"), [((), holm), (("--adjust", "fdr_bh"), benjamini_hochberg)])
def test_lenses_are_adjusted_together(pets, off, more, adjust):
    options = ("--lens", "top-label", "--lens", "class-wise", *more)
    records = json.loads(pets(off, *FEW, *options, "--format", "json")[1])
    assert [record["class"] for record in records] == [None, "cat", "dog", "eel"]
    adjusted = adjust([record["pvalue"] for record in records])
    assert [record["pvalue_adjusted"] for record in records] == pytest.approx(list(adjusted))
    alone = json.loads(pets(off, *FEW, "--lens", "class-wise:dog", "--format", "json")[1])
    assert alone[0]["panel"] == records[2]["panel"]


def test_text(pets, off, fair):
    code, out, err = pets(off, *FEW, "--lens", "top-label", "--lens", "canonical")
    assert (code, err) == (0, "")
    assert out.count("Evidence of miscalibration of ") == 2
    assert " ".join(out.split()).count("by Holm's method over 2 lenses") == 2
    assert max(map(len, out.splitlines())) <= 100
    out = pets(fair, *FEW)[1]
    assert "is not rejected at 5 % (n = 600, " in " ".join(out.split())
    assert "Holm" not in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--given", "age"], "--omnibus has statistics of its own: leave out --given"),
        (["--estimator", "ECE", "--bins", "5"], "leave out --estimator and --bins"),
        (["--binning", "equal-width"], "leave out --binning"),
        (["--lens", "top-k:2"], ""),
    ],
)
def test_what_does_not_fit(pets, off, options, words):
    code, out, err = pets(off, *FEW, *options)
    if words:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    else:
        assert (code, err) == (0, "")


def test_more_redraws_are_taken_where_no_lens_could_be_rejected(pets, off):
    """Four lenses by Holm's method need 79 redraws at 5 %."""
    options = ("--omnibus", "--lens", "top-label", "--lens", "class-wise", "--n-resamples")
    out = " ".join(pets(off, *options, "59", "--verbose")[1].split())
    assert out.count("399 redraws were taken, since with 59 no adjusted p-value could be at most 5 %") == 4
    assert "redraws were taken" not in pets(off, *options, "79")[1]
