"""``--plot``: the picture of what a command found, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

mpl.use("Agg")
FEW = ("--n-resamples", "49")
BEGINNINGS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def commands(off, binary):
    of_pets = (off, "--label", "pet", "--probs", "prob_*")
    of_one = (binary, "--label", "y", "--probs", "p")
    two = ("--model", "a=p", "--model", "b=p", "--bins", "3", "--n-resamples", "399")
    return {
        "test": ("test", *of_one, *FEW),
        "test of several classes": ("test", *of_pets, *FEW),
        "omnibus": ("test", *of_one, "--omnibus", *FEW),
        "clinical": ("clinical", *of_one, *FEW),
        "estimate": ("estimate", *of_one, *FEW),
        "compare": ("compare", binary, "--label", "y", *two),
        "audit": ("audit", *of_one, "--by", "sex", *FEW),
        "curves": ("audit", *of_one, "--by", "sex", "--curves", *FEW),
        "learn": ("audit", *of_one, "--learn"),
        "desiderata": ("desiderata", *of_one, *FEW),
        "plan": ("plan", "--ece", "0.1", "--n-repeats", "80"),
        "scan": ("scan", *of_pets, "--variables", "age,sex", *FEW),
        "compare-calibrators": ("compare-calibrators", *of_one, "--calibrators", "platt", "--bins", "3"),
    }


QUICK = {"test": ".png", "scan": ".svg"}
SLOW = [
    "clinical",
    "desiderata",
    "plan",
    "audit",
    "test of several classes",
    "omnibus",
    "estimate",
    "compare",
    "curves",
    "learn",
    "compare-calibrators",
]


@pytest.mark.parametrize(
    ("name", "suffix"),
    [*QUICK.items(), *(pytest.param(name, ".pdf", marks=pytest.mark.slow) for name in SLOW)],
)
def test_the_picture_is_written_beside_the_same_text(run, commands, tmp_path, name, suffix):
    path = tmp_path / f"found{suffix}"
    code, out, err = run(*commands[name], "--plot", str(path))
    assert (code, err) == (0, "")
    assert path.read_bytes().startswith(BEGINNINGS[suffix])
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    if name in QUICK:
        assert run(*commands[name])[1] == out


@pytest.fixture
def drawn(monkeypatch):
    """The displays that are saved, in place of files."""
    found = []

    def keep(self, place):
        place.write_text("")
        found.append(self)
        return self

    monkeypatch.setattr("calibstat.displays._style.Display.save", keep)
    return found


@pytest.mark.parametrize(
    ("options", "kind", "title"),
    [
        ((), "ReliabilityDisplay", "binary.csv"),
        (("--given", "age"), "ReliabilityDisplay", "binary.csv, given age"),
        (("--given", "prediction:sex", "--given", "sex"), "ReliabilityDisplay", "binary.csv, given sex"),
        (("--estimator", "Kuiper"), "NullDisplay", "binary.csv"),
        (("--omnibus",), "PanelDisplay", "binary.csv"),
    ],
)
def test_the_picture_shows_what_was_asked_and_its_title_says_so(run, binary, tmp_path, drawn, options, kind, title):
    of = (binary, "--label", "y", "--probs", "p", "--n-resamples", "19", *options)
    code, _, err = run("test", *of, "--plot", str(tmp_path / "found.png"))
    assert (code, err) == (0, "")
    assert type(drawn[0]).__name__ == kind
    assert drawn[0].ax_.get_title("left").replace("\n", " ") == title
    if "sex" in title:
        assert [each.get_text() for each in drawn[0].ax_.get_xticklabels()] == ["f", "m"]


def test_every_class_is_drawn_and_named(run, off, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda self, place, **_: (place.write_text(""), figures.append(self))
    )
    of = (off, "--label", "pet", "--probs", "prob_*", *FEW)
    code, _, err = run("test", *of, "--lens", "class-wise", "--plot", str(tmp_path / "found.png"))
    assert (code, err) == (0, "")
    assert [ax.get_title("left") for ax in figures[0].axes] == ["cat", "dog", "eel"]
    assert figures[0].get_suptitle() == "off.csv, class-wise"


def test_few_rows_in_a_cell_are_told_as_ever(run, binary, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("\n".join(Path(binary).read_text().splitlines()[:40]) + "\n")
    of = ("test", str(few), "--label", "y", "--probs", "p", *FEW)
    told = run(*of)[2]
    assert told.count("15 cells of about 3 rows each") == 1
    assert run(*of, "--plot", str(tmp_path / "found.svg"))[2] == told


@pytest.mark.slow
def test_a_monitor_is_drawn(run, binary, tmp_path):
    rows = [f"{line},{row}" for row, line in enumerate(Path(binary).read_text().splitlines()[1:])]
    ordered = tmp_path / "ordered.csv"
    ordered.write_text("\n".join(["y,p,age,sex,w,time", *rows]) + "\n")
    path = tmp_path / "found.png"
    code, _, err = run("monitor", str(ordered), "--label", "y", "--probs", "p", "--order", "time", "--plot", str(path))
    assert (code, err) == (0, "")
    assert path.read_bytes().startswith(BEGINNINGS[".png"])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("found.txt", "does not end in .png, .pdf or .svg"),
        ("found", "does not end in .png, .pdf or .svg"),
        ("missing/found.png", "which is no folder"),
        (".png", "does not end in .png"),
    ],
)
def test_a_bad_place_is_refused_before_the_file_is_read(run, tmp_path, place, words):
    code, out, err = run("test", "no such file", "--label", "y", "--probs", "p", "--plot", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_folder_is_no_place(run, tmp_path):
    (tmp_path / "found.png").mkdir()
    _, _, err = run("scan", "no such file", "--label", "y", "--probs", "p", "--plot", str(tmp_path / "found.png"))
    assert "is a folder" in err


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("test of several classes", ("--lens", "canonical"), "--lens top-label"),
        ("curves", ("--by", "age"), "one picture for each column, but there are 2"),
    ],
)
def test_where_there_is_no_picture_an_error_says_so_before_the_work(run, commands, tmp_path, name, options, words):
    code, out, err = run(*commands[name], *options, "--plot", str(tmp_path / "found.png"))
    assert (code, out) == (2, "")
    assert words in err
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_the_file_as_it_was(run, commands, tmp_path, monkeypatch):
    path = tmp_path / "found.png"
    path.write_text("before")

    def fails(self, place):
        place.write_text("half")
        raise OSError("the disk is full")

    monkeypatch.setattr("calibstat.displays._style.Display.save", fails)
    code, out, err = run(*commands["test"], "--plot", str(path))
    assert code == 2
    assert "the disk is full" in err
    assert out  # what was found is printed all the same
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_reader_that_closes_the_output_early_does_not_lose_the_picture(run, commands, tmp_path, monkeypatch):
    path = tmp_path / "found.svg"

    def closed(*_):
        assert path.exists()
        raise OSError("the reader is gone")

    monkeypatch.setattr("calibstat.cli.pictures.show", closed)
    assert run(*commands["test"], "--plot", str(path))[0] == 2
    assert path.read_bytes().startswith(BEGINNINGS[".svg"])
    assert plt.get_fignums() == []


@pytest.mark.parametrize("there", [True, False])
def test_a_place_that_may_not_be_written_is_refused_before_the_file_is_read(run, tmp_path, monkeypatch, there):
    path = tmp_path / "found.png"
    if there:
        path.write_text("before")

    def refused(place, _):
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr("calibstat._files._new_beside", refused)
    code, out, err = run("test", "no such file", "--label", "y", "--probs", "p", "--plot", str(path))
    assert (code, out) == (2, "")
    assert "may not be written" in err
