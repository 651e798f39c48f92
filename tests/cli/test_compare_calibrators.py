"""``calibstat compare-calibrators``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.comparisons.compare import compare_calibrators
from calibstat.inference.multiplicity import benjamini_yekutieli
from cli.conftest import write_csv


@pytest.fixture
def compare(run, once):
    return lambda path, *more: run("compare-calibrators", path, *more)


BINARY = ("--label", "y", "--probs", "p")
PETS = ("--label", "pet", "--probs", "prob_*")


def test_text_is_that_of_the_result(compare, binary):
    code, out, err = compare(binary, *BINARY, "--calibrators", "platt, isotonic", "--seed", 3)
    assert (code, err) == (0, "")
    sample = cs.Sample.read(binary, y_true="y", y_prob="p")
    models = {"platt": cal.Platt(), "isotonic": cal.Isotonic()}
    found = compare_calibrators(models, sample.y_true, sample.y_prob, labels=sample.labels, n_other_splits=4, rng=3)
    assert out == f"{found.screen('--verbose').text()}\n"
    assert found.verdict.startswith("Keep the model's own probabilities: none of 2 calibrators is shown to be better ")


def test_three_classes_and_a_lens(compare, off):
    code, out, err = compare(off, *PETS, "--calibrators", "temperature,beta", "--bins", 8, "--level", 0.1)
    assert code == 0
    assert "each of the 3 gets one of its own" in err
    assert "alibration error of P(predicted class)" in " ".join(out.split())
    few = (off, *PETS, "--n-resamples", 49)
    assert "EqualMass(n_bins=8)" in compare(*few, "--calibrators", "beta", "--bins", 8, "--verbose")[1]
    for lens in ("class-wise:dog", "top-k:1", "top-label"):
        assert compare(*few, "--calibrators", "temperature", "--lens", lens)[0] == 0


def test_json(compare, binary):
    options = ("--variable", "age", "--weights", "w", "--format", "json", "--n-splits", 2, "--test-size", 0.4)
    code, out, _ = compare(binary, *BINARY, "--calibrators", "variable-based,decision-tree,beta", *options)
    assert code == 0
    found = json.loads(out)
    assert [each["name"] for each in found["models"]] == ["uncalibrated", "variable-based", "decision-tree", "beta"]
    assert (found["n_test"], found["n_fit"], found["n_splits"], len(found["pairs"])) == (240, 360, 2, 6)
    assert "VariableBased(variable='age')" in out
    assert all(np.isfinite(each["difference"]) for each in found["pairs"])


def test_pvalues_of_pairs_are_adjusted_as_asked(compare, binary):
    options = ("--calibrators", "platt,beta", "--adjust", "fdr_by", "--format", "json")
    found = json.loads(compare(binary, *BINARY, *options)[1])
    wanted = benjamini_yekutieli([pair["pvalue"] for pair in found["pairs"]])
    assert [pair["pvalue_adjusted"] for pair in found["pairs"]] == pytest.approx(list(wanted))
    assert found["adjust"] == "fdr_by"
    code, _, err = compare(binary, *BINARY, *options[:2], "--adjust", "max-t")
    assert (code, "--adjust is 'max-t', but each pair of calibrators is tested by itself" in err) == (2, True)


def test_cross_fitting_is_marked(compare, binary):
    code, out, _ = compare(binary, *BINARY, "--calibrators", "beta", "--cv", 3)
    assert code == 0
    assert "tested on all 600 rows, cross-fitted in 3 folds" in out
    assert "only approximate" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--calibrators", "gamma"), "choose one of augmented-beta, average-labels, bbq, beta"),
        (("--calibrators", "beta,beta"), "name each only once"),
        (("--calibrators", "variable-based"), "needs --variables COL"),
        (("--calibrators", "beta", "--variable", "age"), "--calibrators beta uses no variable"),
        (("--calibrators", "variable-based", "--variable", "sex"), "numbers are needed"),
        (("--calibrators", "beta", "--test-size", "0"), "need rows to be fitted on"),
        (("--calibrators", "beta", "--test-size", "0.5", "--cv", "3"), "not allowed with"),
        (("--calibrators", "beta", "--bins", "0"), "at least 1"),
        (("--calibrators", "beta", "--seed", "-1"), "at least 0"),
        (("--calibrators", "beta", "--n-splits", "0"), "--n-splits"),
        (("--calibrators", "beta", "--lens", "class-wise"), "name the class"),
        (("--calibrators", "beta", "--lens", "class-wise:7"), "there is no class '7'"),
        (("--calibrators", "beta", "--lens", "sideways"), "there is no lens"),
    ],
)
def test_errors_are_one_line(compare, binary, options, message):
    code, out, err = compare(binary, *BINARY, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("calibstat: error: ")
    assert err.count("\n") == 1


# Without --calibrators


@pytest.fixture(scope="module")
def bold(folder):
    """Two classes, over-confident."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.02, 0.98, 4000).round(4)
    happened = rng.random(4000) < 0.5 + 0.6 * (p - 0.5)
    return write_csv(folder / "bold.csv", {"sick": np.where(happened, "yes", "no"), "p": p})


SICK = ("--label", "sick", "--probs", "p")


@pytest.fixture
def wide(monkeypatch):
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


def test_screens_of_80_and_120_columns(compare, bold, wide):
    for columns, screen in ((80, SCREEN_80), (120, SCREEN_120)):
        wide(columns)
        assert compare(bold, *SICK)[:2] == (0, screen)


def test_a_screen_where_none_is_better(compare, binary, wide):
    wide(80)
    assert compare(binary, *BINARY)[:2] == (0, SCREEN_KEEP)


SCREEN_80 = """\
Use isotonic: calibration error of P(yes) 0.004 (0.000 to 0.058) instead of
0.102 (0.068 to 0.139) (adjusted p = 0.01), Brier score lower by 0.00978
(0.00371 to 0.0159, adjusted p = 0.000333). Of 5 that are shown to be better it
has the smallest Brier score. Not told apart from temperature, spline, platt,
beta. Before: 0.499 predicted, 0.502 happened (O/E 1.01, slope 0.485).

              error  95 %            p error    Brier    change   p Brier
isotonic      0.004  0.000 to 0.058     0.01  0.22137  -0.00978  0.000333
temperature   0.032  0.000 to 0.074     0.01  0.22193  -0.00922   0.00186
spline        0.032  0.000 to 0.075     0.01  0.22197  -0.00918   0.00186
platt         0.032  0.000 to 0.075     0.01  0.22198  -0.00917   0.00186
beta          0.033  0.000 to 0.076     0.01  0.22203  -0.00912   0.00186
uncalibrated  0.102  0.068 to 0.139           0.23115

note        tested on 2000 rows, fitted on 2000 others, in one random split;
            advice of 4 other splits: 3 for isotonic, 1 for temperature
note        sharpness of P(yes) (squared error without its calibration part,
            smaller is sharper, not tested): 0.22135, before 0.22069

Column change log, column p log, column log loss, 1 more note and how this was
computed: --verbose

Apply it: calibstat calibrate FILE ... --calibrator isotonic --out NEW_FILE
"""
SCREEN_120 = """\
Use isotonic: calibration error of P(yes) 0.004 (0.000 to 0.058) instead of 0.102 (0.068 to 0.139)
(adjusted p = 0.01), Brier score lower by 0.00978 (0.00371 to 0.0159, adjusted p = 0.000333). Of 5
that are shown to be better it has the smallest Brier score. Not told apart from temperature,
spline, platt, beta. Before: 0.499 predicted, 0.502 happened (O/E 1.01, slope 0.485).

              error  95 %            p error    Brier    change   p Brier  log loss  change log     p log
isotonic      0.004  0.000 to 0.058     0.01  0.22137  -0.00978  0.000333   0.63388    -0.04686  1.05e-07
temperature   0.032  0.000 to 0.074     0.01  0.22193  -0.00922   0.00186   0.63562    -0.04512  4.49e-07
spline        0.032  0.000 to 0.075     0.01  0.22197  -0.00918   0.00186   0.63568    -0.04506  4.49e-07
platt         0.032  0.000 to 0.075     0.01  0.22198  -0.00917   0.00186   0.63570    -0.04504  4.49e-07
beta          0.033  0.000 to 0.076     0.01  0.22203  -0.00912   0.00186   0.63584    -0.04490  4.49e-07
uncalibrated  0.102  0.068 to 0.139           0.23115                       0.68074

note        tested on 2000 rows, fitted on 2000 others, in one random split; advice of 4 other
            splits: 3 for isotonic, 1 for temperature
note        sharpness of P(yes) (squared error without its calibration part, smaller is sharper, not
            tested): 0.22135, before 0.22069

1 more note and how this was computed: --verbose

Apply it: calibstat calibrate FILE ... --calibrator isotonic --out NEW_FILE
"""
SCREEN_KEEP = """\
Keep the model's own probabilities: none of 5 calibrators is shown to be better
at 5 % (adjusted p = 1). Calibration error of P(1) at most 0.158, which 300 rows
cannot tell from 0. 0.494 predicted, 0.477 happened (O/E 0.965, slope 0.892).

              error  95 %            p error    Brier    change  p Brier
spline        0.000  0.000 to 0.158        1  0.18018   0.00000        1
uncalibrated  0.000  0.000 to 0.158           0.18018
platt         0.000  0.000 to 0.158        1  0.18059  +0.00041        1
beta          0.000  0.000 to 0.158        1  0.18079  +0.00061        1
temperature   0.000  0.000 to 0.158        1  0.18106  +0.00087        1
isotonic      0.017  0.000 to 0.160        1  0.18698  +0.00679     0.29

note        with fewer than 500 test rows, p-values of differences are only
            about right
note        tested on 300 rows, fitted on 300 others, in one random split;
            advice of 4 other splits: 4 for none

Column change log, column p log, column log loss, 1 more note and how this was
computed: --verbose
"""


def test_everything_is_shown_where_it_is_asked_for(compare, binary):
    long = compare(binary, *BINARY, "--calibrators", "platt", "--verbose")[1]
    assert "DebiasedL2" in long
    assert "--verbose" not in long
    for short in (SCREEN_80, SCREEN_120, SCREEN_KEEP):
        for word in ("DebiasedL2", "Canonical", "Platt(", "n_bins", "None", "nan"):
            assert word not in short


def test_which_are_tried_depends_on_classes_and_rows(compare, bold, binary, off, monkeypatch):
    def only_names(calibrators, *_, **__):
        raise ValueError(f"tried: {' '.join(calibrators)}")

    monkeypatch.setattr(cs, "compare_calibrators", only_names)

    def tried(*options):
        return compare(*options)[2].partition("tried: ")[2].split()

    assert tried(bold, *SICK) == ["platt", "beta", "temperature", "isotonic", "spline"]
    assert tried(bold, *SICK, "--test-size", 0.98) == ["platt", "beta", "temperature"]
    assert tried(off, *PETS) == ["temperature", "vector", "dirichlet", "beta", "isotonic"]
    assert tried(off, *PETS, "--test-size", 0.9) == ["temperature", "vector"]
    assert tried(binary, *BINARY, "--cv", 10) == tried(bold, *SICK)


def test_a_variable_needs_calibrators_that_use_it(compare, binary):
    code, _, err = compare(binary, *BINARY, "--variable", "age")
    assert code == 2
    assert "the usual calibrators use no variable: name some by --calibrators, from " in err
