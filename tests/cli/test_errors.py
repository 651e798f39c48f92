"""Bad input: one line on standard error, exit code 2, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibstat.cli.main import main
from calibstat.cli.sweep import read_study

GOOD = "pet,prob_cat,prob_dog\n" + "cat,0.7,0.3\ndog,0.4,0.6\n" * 200


@pytest.fixture
def file(tmp_path):
    def write(text, name="bad.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def one_error(result):
    code, out, err = result
    assert code == 2
    assert out == ""
    assert err.startswith("calibstat: error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (GOOD.replace("0.7,", "nan,", 1), "--nan-policy omit"),
        (GOOD.replace("0.7,0.3", "1.7,-0.7", 1), "outside [0, 1]"),
        (GOOD.replace("0.7,", "0.9,", 1), "do not sum to 1"),
        (GOOD.replace("0.7,", "x,", 1), "'x'"),
        (GOOD.replace("prob_cat", "a").replace("prob_dog", "b") + "cow,0.5,0.5\n", "--labels "),
        (GOOD.splitlines()[0] + "\n", "no rows"),
        ("", "empty"),
    ],
)
def test_bad_rows(pets, run, file, found, words):
    probs = ("--probs", "a", "--probs", "b") if ",a," in found else ("--probs", "prob_*")
    assert words in one_error(run("test", file(found), "--label", "pet", *probs))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lens", "top"], "top-label, canonical, class-wise"),
        (["--lens", "top-k"], "top-k:K"),
        (["--lens", "top-k:x"], "whole number"),
        (["--lens", "top-k:2"], "more than 2 classes"),
        (["--lens", "class-wise:"], "write class-wise or class-wise:LABEL"),
        (["--lens", "canonical:"], "write canonical"),
        (["--lens", "class-wise:cow"], "cat, dog"),
        (["--lens", "__import__('os')"], "there is no '__import__' in calibstat"),
        (["--estimator", "Kuipers"], "did you mean Kuiper?"),
        (["--estimator", "O/E"], "did you mean ObservedToExpected?"),
        (["--estimator", "Generic"], "`calibstat estimators` lists them all"),
        (["--given", "age"], "no column 'age'"),
        (["--given", "pet"], "what happened"),
        (["--given", ""], "does not name a column"),
        (["--given", "a\nb"], "does not name a column"),
        (["--weights", "a\nb"], "does not name a column"),
        (["--between", "low,high"], "--between is about the buckets of --predicted"),
        (["--weights", "w"], "no column 'w'"),
        (["--labels", "a,b"], "not among --labels a,b"),
        (["--labels", "a,b,c"], "3 classes"),
        (["--bins", "0"], "--bins"),
        (["--n-resamples", "none"], "--n-resamples"),
        (["--seed", "-1"], "--seed"),
        (["--binning", "log"], "equal-mass"),
        (["--format", "xml"], "json"),
        (["--wrong"], "--wrong"),
    ],
)
def test_bad_options(pets, file, options, words):
    assert words in one_error(pets(file(GOOD), *options))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["plot"], "test"),
        (["test"], "FILE"),
        (["test", "x.csv"], "--label --events is required"),
        (["clinical"], "FILE"),
        (["test", "x.csv", "--label", "y"], "by one of --probs, --confidence and --predicted"),
        (["calibrate", "x.csv", "--events", "e"], "calibrate takes no --events; test, estimate, clinical, compare, "),
        (["test", "x.csv", "--margin", "0.1"], "calibstat test takes no --margin; report does (see "),
        (["test", "--frobnicate"], "calibstat test takes no --frobnicate (see calibstat test --help)"),
        (["report", "x.csv", "--margin", "-0.1"], "'-0.1' is not a number between 0 and 1, such as 0.1"),
        (["report", "x.csv", "--margin=-0.1"], "'-0.1' is not a number between 0 and 1, such as 0.1"),
        (["test", "x.csv", "--costs", "-1,4"], "'-1,4' is not the cost of a false alarm and that of a miss"),
        (["plan", "--ece", "-.1"], "a true error of -0.1 is asked for"),
        (["test", "x.csv", "--label", "y", "--probs", "p", "--confidence", "c"], "not allowed with"),
        (["test", "none.csv", "--label", "y", "--probs", "p"], "none.csv"),
        (["test", ".", "--label", "y", "--probs", "p"], "folder"),
    ],
)
def test_bad_commands(run, arguments, words):
    assert words in one_error(run(*arguments))


def test_missing_columns_are_answered_by_those_there_are(run, file):
    path = file(GOOD)
    for label, probs in (("animal", "prob_*"), ("pet", "p_*")):
        assert "'prob_cat', 'prob_dog'" in one_error(run("test", path, "--label", label, "--probs", probs))


def test_all_missing_columns_are_told_at_once(run, file):
    said = one_error(run("audit", file(GOOD), "--label", "kind", "--probs", "chance", "--by", "age"))
    assert "no columns 'kind', 'chance', 'age' in " in said
    assert said.endswith("; the columns are 'pet', 'prob_cat', 'prob_dog'\n")


def test_out_must_be_a_folder(run, file):
    assert "is a file" in one_error(run("demo", "--out", file("")))


@pytest.mark.parametrize("flaw", [ValueError("a\nb"), TypeError("a b"), OSError("a b"), ImportError("a b")])
def test_what_fails_inside_a_command_is_one_line(run, monkeypatch, file, flaw):
    def fail(arguments):
        raise flaw

    monkeypatch.setattr("calibstat.cli.test.run", fail)
    assert one_error(run("test", "x", "--label", "y", "--probs", "p")) == "calibstat: error: a b\n"


def test_interruption(run, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("calibstat.cli.test.run", interrupt)
    assert run("test", "x", "--label", "y", "--probs", "p") == (130, "", "calibstat: interrupted\n")


def test_small_cells_are_one_plain_line_each(pets, file):
    code, _, err = pets(file("\n".join(GOOD.splitlines()[:41])), "--lens", "class-wise")
    assert code == 0
    assert err == (
        "calibstat: warning: 15 cells of about 3 rows each: errors found in them are mostly noise; try --bins 4\n"
    )
    assert pets(file("\n".join(GOOD.splitlines()[:41])), "--lens", "class-wise", "--bins", "4")[2] == ""


def test_too_few_resamples_for_holm(pets, off):
    """An object draws as often as it says; for five tests at 5 % that is 99 times at least."""
    _, out, err = pets(off, "--null", "Consistency(49)")
    assert err == ""
    assert " ".join(out.split()).startswith(
        "No test could reject at 5 %, whatever the data: with 49 redraws the smallest possible p-value is 0.1 (at "
        "least 99 redraws are needed). Calibration is not rejected at 5 % in 5 tests (n = 600, smallest adjusted "
        "p = 0.1)."
    )
    assert "No test could" not in pets(off, "--null", "Consistency(99)")[1]


def test_more_redraws_are_taken_where_the_usual_ones_could_not_reject(pets, file):
    few_rows = file("\n".join(GOOD.splitlines()[:21]))
    assert "(999 resamples" in " ".join(pets(few_rows, "--level", "0.001", "--verbose")[1].split())
    assert "(5559 resamples" in " ".join(pets(few_rows, "--level", "0.0009", "--verbose")[1].split())


def test_many_classes_leave_class_wise_out(run, file):
    names = [f"prob_{k}" for k in range(31)]
    rows = [f"{k % 31}," + ",".join([str(1 / 31)] * 31) for k in range(310)]
    path = file("\n".join(["y," + ",".join(names), *rows]))
    code, out, err = run("test", path, "--label", "y", "--probs", "prob_*", "--n-resamples", "99")
    assert code == 0
    assert "\nclass-wise" not in out
    assert "31 classes; ask for it by --lens class-wise" in err


def test_help_says_what_there_is(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["test", "--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    for word in ("top-k:K", "DebiasedL2", "--nan-policy", "'prob_*'"):
        assert word in out


def call(*arguments, **options):
    command = [sys.executable, "-m", "calibstat", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)


def test_as_a_process_errors_are_one_line_and_two():
    done = call("test", "none.csv", "--label", "y", "--probs", "p", stdout=subprocess.PIPE)
    assert one_error((done.returncode, done.stdout, done.stderr))


def test_as_a_process_the_verdict_is_zero_and_standard_input_is_read():
    command = ("test", "-", "--label", "pet", "--probs", "prob_*", "--lens", "top-label", "--n-resamples", "99")
    done = call(*command, input=GOOD, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert "vidence of miscalibration" in done.stdout
    assert done.stderr == ""


def test_as_a_process_closed_standard_input_is_one_line():
    command = f"{sys.executable} -m calibstat test - --label pet --probs 'prob_*' <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "standard input: it is closed" in one_error((done.returncode, done.stdout, done.stderr))


def test_as_a_process_closed_standard_output_is_no_error(off):
    command = (
        f"{sys.executable} -m calibstat test {off} --label pet --probs 'prob_*' --lens top-label --n-resamples 99 >&-"
    )
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_as_a_process_ascii_output(file):
    path = file("pet,prob_café,prob_dog\n" + "café,0.7,0.3\ndog,0.4,0.6\n" * 200)
    done = call(
        *(
            "test",
            path,
            "--label",
            "pet",
            "--probs",
            "prob_*",
            "--lens",
            "top-label",
            "--n-resamples",
            "99",
            "--verbose",
        ),
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "prob_caf?" in done.stdout


def test_a_line_with_too_few_values_is_named(run, file):
    path = file(GOOD + "cat,0.5\n")
    code, _, err = run("test", path, "--label", "pet", "--probs", "prob_*", "--nan-policy", "omit")
    assert code == 0
    assert err.startswith("calibstat: warning: line 402 has 2 values, 3 expected")


def test_a_reader_that_has_left_is_no_error(off):
    script = f"""
        import os, subprocess, sys
        read, write = os.pipe()
        os.close(read)
        command = [sys.executable, "-m", "calibstat", "test", {off!r}, "--label", "pet", "--probs", "prob_*"]
        command += ["--lens", "top-label", "--n-resamples", "99"]
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
        print(done.returncode, repr(done.stderr))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "141 ''\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["test"], "the output cannot be written"),
        (["--version"], "the output cannot be written"),
        (["test", "--help"], "the output cannot be written"),
        (["calibrate", "--calibrator", "platt", "--out", "/dev/full"], "/dev/full"),
        (["test", "--lens", "top-label", "--plot", "full.png"], "full.png"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line_and_leaves_no_part_of_a_file(binary, tmp_path, command, said, unbuffered):
    """A limit on the size of files stands for a disk that fills while a file is written."""
    script = """
        import resource, signal, sys
        from calibstat.cli.main import main
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        sys.exit(main(sys.argv[1:]))
    """
    rows = [binary, "--label", "y", "--probs", "p"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), command[0], *rows, *command[1:]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, last.startswith("calibstat: error: ")) == (2, True)
    assert said in done.stderr or "cannot be written" in last
    assert list(tmp_path.iterdir()) == []


def test_nothing_heavy_is_imported_for_help():
    script = "import sys\nfrom calibstat.cli.main import main\nmain([])\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_more_than_memory_holds_is_one_line(run, binary, monkeypatch):
    monkeypatch.setattr("calibstat.estimate", lambda *_, **__: np.empty(10**18))
    code, out, err = run("estimate", binary, "--label", "y", "--probs", "p")
    said = err.splitlines()[-1]
    assert (code, out) == (2, "")
    assert said.startswith("calibstat: error: not enough memory: ")
    assert said.endswith("; take fewer bins, rows or redraws")


def test_too_many_cells_are_refused(run, binary):
    bins = ("--binning", "equal-width", "--bins", 10**15)
    code, out, err = run("estimate", binary, "--label", "y", "--probs", "p", *bins)
    assert (code, out) == (2, "")
    assert "n_bins is 1000000000000000; it must be an integer of at least 1 and at most 10 million" in err


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("y,p\n0,0.3\n1,15.0 %\n", [], "column 'p' holds the text '15.0 %' in row 2 (the first row of data is 1): "
         "these are percentages; pass shares, 0.15 and not 15 %"),
        ("y;p\n0;0,25\n1;0,8\n", [], "1 (the first row of data is 1): numbers have a decimal point, not a comma"),
        ("y,p\n0,abc\n", [], "in row 1 (the first row of data is 1): pass numbers"),
        ("y,p,w\n0,0.2,1\n1,1.7,-2\nrow 1,,1\n", ["--weights", "w", "--nan-policy", "omit"],
         "column 'p' has values outside [0, 1]: the worst row is 2 (the first row of data is 1) with 1.7. If these are "
         "percentages, divide them by 100"),
        ("y,p,w\nno,0.2,1\nyes,1.7,-2\nmaybe,0.5,1\n", ["--weights", "w", "--labels", "no,yes"],
         "with 1.7. If these are percentages, divide them by 100. Also: column 'y' holds 'maybe', not among "
         "--labels no,yes: name every class, in the order of the columns; 'maybe' is first in row 3 (the first row of "
         "data is 1). Also: column 'w' is -2 in row 2 (the first row of data is 1): weights must be finite and not "
         "negative"),
        ("y,p\n0,-2.5\n1,1.7\n", [], "with -2.5. These look like log-odds: turn each x of them into the probability "
         "1 / (1 + exp(-x)) first\n"),
        ("y,p\na,0.5\nb,0.7\nc,0.6\n", [], "column 'p' is the probability of one of two classes, but which class each "
         "belongs to is not clear: column 'y' holds 3 labels"),
        ("y,p\n0,0.2\n1,1.7\n1,\n", [], "values are missing (column 'p': 1), first in row 3 of column 'p' (the first "
         "row of data is 1): fill them in, or pass --nan-policy omit to leave these rows out. Also: column 'p' has"),
    ],
)  # fmt: skip
def test_errors_name_columns_and_rows_of_the_file_and_tell_all_that_is_wrong(run, file, text, options, said):
    assert said in one_error(run("test", file(text), "--label", "y", "--probs", "p", *options))


TWO = "y,q0,q1,w\n" + "0,0.6,0.4,1\n1,0.3,0.7,1\n" * 20


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (TWO.replace("0.3,0.7", "0.3,1.7", 1), [], "error: column 'q1' has values outside [0, 1]: the worst row is 2 "
         "(the first row of data is 1) with 0.3, 1.7. This is so in 1 of 40 rows: correct it there\n"),
        (TWO.replace("0.3,0.7", "-3,4", 1), [], "error: columns 'q0' and 'q1' have values outside [0, 1]"),
        (TWO.replace("0.3,0.7", "0.3,inf", 1), [], "error: column 'q1' is infinite in row 2"),
        (TWO.replace("0.3,0.7", "0.3,", 1), [], "(column 'q1': 1), first in row 2 of column 'q1' (the first"),
        (TWO.replace("0.6,0.4", "60 %,40 %"), [], "column 'q0' holds the text '60 %' in row 1 (the first row of data "
         "is 1): these are percentages; pass shares, 0.15 and not 15 %. Also: column 'q1' holds the text '40 %'"),
        (TWO.replace("0.4,1", "0.4,x", 1), ["--weights", "w"], "column 'w' holds the text 'x' in row 1 (the first"),
        (TWO.replace(",", ";").replace(".", ",").replace("0,6", "60,5 %"), [], "pass shares, 0.15 and not 15 %, and "
         "numbers have a decimal point, not a comma"),
        (TWO.replace(".", ","), [], "line 2 has 6 values, 4 expected: the first line must name every column; numbers "
         "have a decimal point, not a comma, and a text with a comma is in double quotes\n"),
        (TWO.replace("0,0.6", "0.5,0.6", 1), [], "column 'y' is 0.5 in row 1 (the first row of data is 1), but labels "
         "are whole numbers, truth values or texts\n"),
        (TWO, ["--prevalence", "0.2,0.2,0.6"], "error: --prevalence is 0.2, 0.2, 0.6, but there are 2 classes"),
        (TWO, ["--prevalence", "0,3"], "'0,3' has a decimal comma: write 0.3"),
        (TWO, ["--level", "5 %"], "'5 %' is not a number between 0 and 1, such as 0.05"),
        (TWO, ["--estimator", "ECE(EqualMass(n=9))"], "EqualMass takes no n; its parameters: n_bins"),
        (TWO, ["--estimator", "VECE()"], "VECE needs variable; its parameters: variable, binning"),
        (TWO, ["--estimator", "ECE(FixedEdges([0.5]))"], "edges are 0.5; give at least two"),
    ],
)  # fmt: skip
def test_errors_say_nothing_as_python_does(run, file, text, options, said):
    assert said in one_error(run("test", file(text), "--label", "y", "--probs", "q0,q1", *options))


def test_exchanged_options_are_told_by_their_names(run, file):
    said = "--label and --probs look exchanged: column 'q1' holds probabilities and column 'y' labels\n"
    assert one_error(run("test", file(TWO), "--label", "q1", "--probs", "y")).endswith(said)
    both = one_error(run("test", file(TWO), "--label", "y", "--probs", "y,q1"))
    assert "the column 'y' of " in both
    assert both.endswith("asked for as --label and as --probs: it can be only one\n")


def test_errors_of_all_models_are_told_at_once(run, file):
    ask = ("compare", file(TWO), "--label", "y")
    absent = one_error(run(*ask, "--model", "a=a_*", "--model", "b=b_*", "--model", "c=q0,q1"))
    assert "error: no columns 'a_*', 'b_*' in " in absent
    assert "Also" not in absent
    wrong = one_error(
        run("compare", file(TWO.replace("0.3,0.7", "-3,4", 1)), *ask[2:], "--model", "a=q0", "--model", "b=q1")
    )
    assert "column 'q0' has values outside [0, 1]" in wrong
    assert "Also: column 'q1' has values outside [0, 1]" in wrong


def test_bad_rows_of_a_monitor_are_told_by_the_names_of_columns(run, file):
    path = file("id,y,q0,q1\n" + "".join(f"{k},{k % 2},{60 - 30 * (k % 2)},{40 + 30 * (k % 2)}\n" for k in range(40)))
    said = one_error(run("monitor", path, "--label", "y", "--probs", "q0,q1", "--order", "id"))
    assert "columns 'q0' and 'q1' have values outside [0, 1]" in said
    assert "divide them by 100" in said
    said = one_error(
        run("monitor", file("id,y,p\n1,0,0.2\n2,1,1.7\n"), "--label", "y", "--probs", "p", "--order", "id")
    )
    assert "error: id 2: column 'p' is 1.7: probabilities lie between 0 and 1" in said


def test_the_source_of_a_command_names_no_argument_of_python(run, file):
    path = file(TWO.replace("1,0.3,0.7", ",0.3,0.7", 1))
    out = run("test", path, "--label", "y", "--probs", "q0,q1", "--nan-policy", "omit", "--bins", "2", "--verbose")[1]
    out = " ".join(out.split())
    assert "2 columns q0, q1 taken for classes 0, 1" in out
    assert "1 of 40 rows omitted (missing in labels: 1)" in out
    assert "y_prob" not in out
    assert "y_true" not in out


def test_columns_in_the_wrong_order_are_one_plain_line(run, file):
    path = file("y,a,b,o\n" + "".join(f"0,0.1,0.9,{2 * k}\n1,0.8,0.2,{2 * k + 1}\n" for k in range(40)))
    said = (
        "calibstat: warning: 2 columns a, b taken for classes 0, 1 by position, but the order 1, 0 fits far better "
        "(Brier score 0.025 instead of 0.725); if that is meant, pass --labels 1,0\n"
    )
    for command, *more in (["clinical"], ["monitor", "--order", "o"]):
        assert said in run(command, path, "--label", "y", "--probs", "a,b", *more)[2]
    assert run("clinical", path, "--label", "y", "--probs", "a,b", "--labels", "1,0")[2] == ""


@pytest.mark.parametrize(
    ("labels", "columns"), [("healthy,ill", "a,b"), ("healthy,ill", "p_first,p_second"), ("cat,dog,emu", "c1,c2,c3")]
)
def test_names_that_spell_no_labels_are_asked_about(run, file, labels, columns):
    names, count = labels.split(","), columns.count(",") + 1
    rows = [f"{names[k % count]},{','.join([repr(1 / count)] * count)},{k}" for k in range(60)]
    path = file("\n".join([f"y,{columns},t", *rows]))
    of = (path, "--label", "y")
    shown = columns.replace(",", ", ")
    told = (
        f"has {count} columns ({shown}), but which class each belongs to is not clear: column 'y' holds {count} labels"
    )
    for command, *more in (["test"], ["monitor", "--order", "t"]):
        found = one_error(run(command, *of, "--probs", columns, *more))
        assert found.endswith(f"pass the class of each column in order, for example --labels {labels}\n")
    assert f"--probs {told}" in one_error(run("test", *of, "--probs", columns))
    assert f"--model one {told}" in one_error(
        run("compare", *of, "--model", f"one={columns}", "--model", f"two={columns}")
    )
    assert run("test", *of, "--probs", columns, "--labels", labels, "--bins", "2", "--n-resamples", "99")[0] == 0


def test_a_study_that_is_not_utf_8_is_refused_by_name(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"n = [50]\n# \xff\xfe\n")
    with pytest.raises(ValueError, match=r"study\.toml is no TOML, which is text in UTF-8"):
        read_study(path)


@pytest.mark.parametrize("key", ["models", "estimators", "tests"])
def test_a_study_with_a_value_for_a_table_is_refused_by_name(tmp_path, key):
    path = tmp_path / "study.toml"
    models = "" if key == "models" else '[models]\na = "BetaPredictions(1, 1)"\n'
    path.write_text(f"seed = 0\nn = [50]\n{key} = 3\n{models}")
    with pytest.raises(ValueError, match=rf"study\.toml: {key} is 3, but a table"):
        read_study(path)


def test_what_is_wrong_inside_a_study_names_the_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('seed = 0\nn = [50]\n[models]\na = "Beta(1, 1)"\n')
    with pytest.raises(ValueError, match=r"study\.toml: a 'Beta\(1, 1\)': there is no 'Beta'"):
        read_study(path)


def test_advice_about_weights_is_in_options(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    table = pd.DataFrame({"y": y, "p": p, "by_label": 1 + y, "counts": rng.integers(5, 50, 300)})
    table.to_csv(tmp_path / "rows.csv", index=False)
    asked = ("test", tmp_path / "rows.csv", "--label", "y", "--probs", "p", "--estimator", "ECE")
    code, _, err = run(*asked, "--weights", "by_label")
    assert code == 2
    assert "give --prevalence, the share of each class in the population" in err
    code, _, err = run(*asked, "--weights", "counts", "--n-resamples", "19")
    assert code == 0
    assert "repeat each row as often; if not, divide them by their mean" in err
    assert "'0' is not a number between 0 and 1 (see" in run(*asked, "--require-within", "0")[2]
