"""Whole screens, as a person sees them on terminals of 80 and 120 columns: the answer, a table, at most two notes."""

from __future__ import annotations

import pytest

PETS, TWO = ("off", "--label", "pet", "--probs", "prob_*"), ("binary", "--label", "y", "--probs", "p")


@pytest.fixture
def screen(run, once, monkeypatch, off, binary):
    """What a command prints on a terminal of so many columns; files are named by their fixtures."""

    def call(columns, command, name, *options):
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, err = run(command, {"off": off, "binary": binary}[name], *options)
        assert (code, err) == (0, "")
        assert max(map(len, out.splitlines())) <= columns
        return out

    return call


SCREENS = [
    (
        80,
        ("test", *PETS),
        """\
Evidence of miscalibration at 5 % in 5 of 5 tests (n = 600, adjusted by Holm's
method). The largest beyond noise, of all 3 probabilities together: 0.2068,
where noise alone gives 0.1067 (adjusted p = 0.005). It points to local errors:
similar predictions that err in the same direction, also between classes.

calibration of                 error  noise alone      p  adjusted p       about
P(predicted class)            0.1449       0.0587  0.001       0.005  *    4e-11
all 3 probabilities together  0.2068       0.1067  0.001       0.005  *  < 1e-12
P(cat)                        0.1082       0.0497  0.001       0.005  *    1e-10
P(dog)                        0.1441       0.0502  0.001       0.005  *  < 1e-12
P(eel)                        0.1330       0.0498  0.001       0.005  *    6e-11

note        0.001 is the smallest p-value that 999 redraws can give; how small
            they are by theory is under "about"
note        p-values do not hold if the model or its calibration was fitted on
            these rows, if rows come in clusters (several of one patient, one
            video), or if predictions are cross-validated

How this was computed: --verbose
""",
    ),
    (
        80,
        ("test", *TWO),
        """\
Calibration of P(1) is not rejected at 5 % (n = 600, p = 0.863): 0.494
predicted, 0.482 happened (O/E 0.975, slope 0.989). Average calibration error:
0.02965, where noise alone gives 0.05048.

calibration of    error  noise alone      p  rows  predicted  happened    O/E
P(1)            0.02965      0.05048  0.863   600      0.494     0.482  0.975

note        p-values do not hold if the model or its calibration was fitted on
            these rows, if rows come in clusters (several of one patient, one
            video), or if predictions are cross-validated

Column slope and how this was computed: --verbose
""",
    ),
    (
        80,
        ("test", *PETS, "--lens", "top-label", "--given", "age"),
        """\
Evidence of miscalibration at 5 % in 1 of 2 tests (n = 600, adjusted by Holm's
method). The largest beyond noise, of P(predicted class): 0.1449, where noise
alone gives 0.05873 (adjusted p = 0.002): too high and too extreme, 0.607
predicted, 0.462 happened (O/E 0.761, slope 0.597).

calibration of                          error  noise alone  adjusted p     about
P(predicted class)                     0.1449       0.0587       0.002  *  3e-11
P(predicted class) given age, beyond   0.0606       0.0494       0.194
  overall

note        0.001 is the smallest p-value that 999 redraws can give; how small
            they are by theory is under "about"
note        p-values do not hold if the model or its calibration was fitted on
            these rows, if rows come in clusters (several of one patient, one
            video), or if predictions are cross-validated

Column p and how this was computed: --verbose
""",
    ),
    (
        80,
        ("estimate", *PETS, "--lens", "top-label", "--lens", "class-wise:cat"),
        """\
Average calibration error: 0.1449 (95 %: 0.05797 to 0.2318), where noise alone
gives 0.05873. P(predicted class) (n = 600): 0.607 predicted, 0.462 happened
(O/E 0.761, slope 0.597). Of 2 values it exceeds noise by most.

calibration of       error  noise alone      95 % interval
P(predicted class)  0.1449      0.05873  0.05797 to 0.2318
P(cat)              0.1082      0.04968  0.02979 to 0.1866

note        few rows of similar predictions have another outcome than most: the
            interval has the noise that they may hide
note        intervals do not hold if the model or its calibration was fitted on
            these rows, if rows come in clusters (several of one patient, one
            video), or if predictions are cross-validated

How this was computed: --verbose
""",
    ),
    (
        80,
        ("estimate", *TWO, "--estimator", "Cox"),
        """\
Calibration slope 0.9885 (95 %: 0.8164 to 1.161), intercept in the large
-0.07272 (-0.2672 to 0.1218); a calibrated model has 1 and 0. P(1) (n = 600):
0.494 predicted, 0.482 happened (O/E 0.975, slope 0.989).

of P(1)                        value  if calibrated      95 % interval
calibration slope             0.9885              1    0.8164 to 1.161
intercept in the large      -0.07272              0  -0.2672 to 0.1218
intercept beside the slope  -0.07226              0  -0.2663 to 0.1218
likelihood ratio              0.5541
score statistic               0.5574          1.997

note        intervals do not hold if the model or its calibration was fitted on
            these rows, if rows come in clusters (several of one patient, one
            video), or if predictions are cross-validated

How this was computed: --verbose
""",
    ),
    (
        120,
        ("test", *PETS),
        """\
Evidence of miscalibration at 5 % in 5 of 5 tests (n = 600, adjusted by Holm's method). The largest
beyond noise, of all 3 probabilities together: 0.2068, where noise alone gives 0.1067 (adjusted p =
0.005). It points to local errors: similar predictions that err in the same direction, also between
classes.

calibration of                 error  noise alone      p  adjusted p       about
P(predicted class)            0.1449       0.0587  0.001       0.005  *    4e-11
all 3 probabilities together  0.2068       0.1067  0.001       0.005  *  < 1e-12
P(cat)                        0.1082       0.0497  0.001       0.005  *    1e-10
P(dog)                        0.1441       0.0502  0.001       0.005  *  < 1e-12
P(eel)                        0.1330       0.0498  0.001       0.005  *    6e-11

note        0.001 is the smallest p-value that 999 redraws can give; how small they are by theory is
            under "about"
note        p-values do not hold if the model or its calibration was fitted on these rows, if rows
            come in clusters (several of one patient, one video), or if predictions are
            cross-validated

How this was computed: --verbose
""",
    ),
    (
        120,
        ("test", *TWO),
        """\
Calibration of P(1) is not rejected at 5 % (n = 600, p = 0.863): 0.494 predicted, 0.482 happened
(O/E 0.975, slope 0.989). Average calibration error: 0.02965, where noise alone gives 0.05048.

calibration of    error  noise alone      p  rows  predicted  happened    O/E  slope
P(1)            0.02965      0.05048  0.863   600      0.494     0.482  0.975  0.989

note        p-values do not hold if the model or its calibration was fitted on these rows, if rows
            come in clusters (several of one patient, one video), or if predictions are
            cross-validated

How this was computed: --verbose
""",
    ),
    (
        120,
        ("test", *PETS, "--lens", "top-label", "--given", "age"),
        """\
Evidence of miscalibration at 5 % in 1 of 2 tests (n = 600, adjusted by Holm's method). The largest
beyond noise, of P(predicted class): 0.1449, where noise alone gives 0.05873 (adjusted p = 0.002):
too high and too extreme, 0.607 predicted, 0.462 happened (O/E 0.761, slope 0.597).

calibration of                                 error  noise alone      p  adjusted p     about
P(predicted class)                            0.1449       0.0587  0.001       0.002  *  3e-11
P(predicted class) given age, beyond overall  0.0606       0.0494  0.194       0.194

note        0.001 is the smallest p-value that 999 redraws can give; how small they are by theory is
            under "about"
note        p-values do not hold if the model or its calibration was fitted on these rows, if rows
            come in clusters (several of one patient, one video), or if predictions are
            cross-validated

How this was computed: --verbose
""",
    ),
    (
        120,
        ("estimate", *PETS, "--lens", "top-label", "--lens", "class-wise:cat"),
        """\
Average calibration error: 0.1449 (95 %: 0.05797 to 0.2318), where noise alone gives 0.05873.
P(predicted class) (n = 600): 0.607 predicted, 0.462 happened (O/E 0.761, slope 0.597). Of 2 values
it exceeds noise by most.

calibration of       error  noise alone      95 % interval
P(predicted class)  0.1449      0.05873  0.05797 to 0.2318
P(cat)              0.1082      0.04968  0.02979 to 0.1866

note        few rows of similar predictions have another outcome than most: the interval has the
            noise that they may hide
note        intervals do not hold if the model or its calibration was fitted on these rows, if rows
            come in clusters (several of one patient, one video), or if predictions are
            cross-validated

How this was computed: --verbose
""",
    ),
    (
        120,
        ("estimate", *TWO, "--estimator", "Cox"),
        """\
Calibration slope 0.9885 (95 %: 0.8164 to 1.161), intercept in the large -0.07272 (-0.2672 to
0.1218); a calibrated model has 1 and 0. P(1) (n = 600): 0.494 predicted, 0.482 happened (O/E 0.975,
slope 0.989).

of P(1)                        value  if calibrated      95 % interval
calibration slope             0.9885              1    0.8164 to 1.161
intercept in the large      -0.07272              0  -0.2672 to 0.1218
intercept beside the slope  -0.07226              0  -0.2663 to 0.1218
likelihood ratio              0.5541
score statistic               0.5574          1.997

note        intervals do not hold if the model or its calibration was fitted on these rows, if rows
            come in clusters (several of one patient, one video), or if predictions are
            cross-validated

How this was computed: --verbose
""",
    ),
]


@pytest.mark.parametrize(("columns", "command", "expected"), SCREENS)
def test_the_whole_screen(screen, columns, command, expected):
    assert screen(columns, *command) == expected


@pytest.mark.parametrize("command", ["test", "estimate"])
def test_the_first_screen_has_no_python(screen, command):
    """Names of classes and their arguments are for those who ask how a number was computed."""
    first, everything = (screen(80, command, *PETS, *more) for more in ((), ("--verbose",)))
    assert not any(name in first for name in ("ECE(", "Canonical", "TopLabel", "EqualMass", "None", "=" * 2))
    assert "ECE(binning=EqualMass(n_bins=15))" in " ".join(everything.split())
    assert everything.split("\n\n")[:2] == first.split("\n\n")[:2]
