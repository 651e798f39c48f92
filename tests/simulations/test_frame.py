"""Studies run by name, go on where they were, and are shown again from what they stored."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from distributed import Client

import calibstat as cs
from calibstat import Sweep
from calibstat.generators import BetaPredictions
from simulations.__main__ import STUDIES, main
from simulations.frame import Plan, Repeats, Scale, Study, bracketed, option
from suites import slow, slow_but

QUICKEST = ["null_size"]
DEAR = ["choosing_a_calibrator", "scaling_binning", "plugin_vs_debiased", "estimator_bias", "kelly_smyth"]
OTHERS = [name for name in STUDIES if name not in DEAR]


@dataclass(frozen=True)
class Swept(Study):
    """Two parts, a sweep and repeats, as most studies have them, that take no time."""

    plan = Plan("an error", "uniform scores", "0", "the ECE", "its mean")

    def parts(self, scale):
        sweep = Sweep(
            {"right": BetaPredictions(1, 1)},
            n=[50],
            n_bins=[5],
            estimators={"ECE": lambda b: cs.ECE(cs.EqualMass(b))},
            n_repeats=3,
            rng=0,
        )
        return {"errors": sweep, "numbers": Repeats(Uniform(3), 2)}

    @staticmethod
    def text(found):
        return f"The ECE is {found['errors']['estimate'].mean().item()}; numbers: {found['numbers'].sizes['row']}"

    @staticmethod
    def figure(found):
        figure, ax = plt.subplots()
        ax.hist(found["errors"]["estimate"].values.ravel())
        return figure


@pytest.fixture
def named(monkeypatch):
    monkeypatch.setitem(STUDIES, "swept", Swept)


@pytest.mark.parametrize("name", [*slow_but(QUICKEST, OTHERS), *(slow(name, by_hand=True) for name in DEAR), "swept"])
def test_studies_run_by_name_and_go_on_where_they_were(name, named, tmp_path, capsys):
    assert main([name, "--quick", "--out", str(tmp_path)]) == 0
    first = capsys.readouterr().out
    folder = tmp_path / name / "quick"
    stores = [path for path in folder.iterdir() if path.suffix in (".zarr", ".nc")]
    assert stores
    for store in stores:
        opened = xr.open_zarr(store) if store.suffix == ".zarr" else xr.open_dataset(store, engine="scipy")
        assert {"design", "created", "versions"} <= set(opened.attrs)
        opened.close()
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "study.txt").read_text(encoding="utf-8") == first
    written = times_of_values(folder)
    assert written
    assert main([name, "--quick", "--out", str(tmp_path)]) == 0
    assert times_of_values(folder) == written  # nothing was computed again
    assert capsys.readouterr().out == first


def times_of_values(folder):
    """When each file of values was written."""
    chunks = [*folder.glob("*.zarr/estimate/**/*"), *folder.glob("*.zarr/pvalue/**/*"), *folder.glob("*.nc")]
    return {path: path.stat().st_mtime_ns for path in chunks if path.is_file()}


@pytest.mark.parametrize("name", [*slow_but([], ["gaussian_mixture"]), "swept"])
def test_a_finished_study_is_shown_without_running(name, named, tmp_path, capsys, monkeypatch):
    where = [name, "--quick", "--out", str(tmp_path)]
    assert main([*where, "--show"]) == 2
    assert "holds no finished study: run it without --show" in capsys.readouterr().err
    main(where)
    first = capsys.readouterr().out
    picture = tmp_path / name / "quick" / "figure.png"
    picture.unlink()
    monkeypatch.setattr(STUDIES[name], "parts", None)  # whoever runs it, fails
    assert main([*where, "--show"]) == 0
    assert capsys.readouterr().out == first
    assert picture.exists()


@dataclass(frozen=True)
class Numbers(Study):
    """The mean of some uniform numbers."""

    rows: int | None = option("N", "numbers of a repeat", type=int)
    more: int | None = option("N", "numbers of another part", type=int)
    plan = Plan("a mean", "uniform numbers", "1/2", "the mean", "none")

    def parts(self, scale):
        found = {"first": Repeats(Uniform(self.rows or 3), 2)}
        return found if self.more is None else found | {"second": Repeats(Uniform(self.more), 2)}

    @staticmethod
    def text(found):
        return f"{', '.join(found)}: {found['first'].sizes['row']} numbers"

    @staticmethod
    def figure(found):
        return plt.figure()


def test_a_run_that_is_refused_leaves_the_finished_study(tmp_path):
    Numbers().run(Scale("quick"), tmp_path)
    told = (tmp_path / "study.txt").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="It is left as it is"):
        Numbers(rows=4, more=5).run(Scale("quick"), tmp_path)
    assert (tmp_path / "study.txt").read_text(encoding="utf-8") == told
    Numbers().show(tmp_path)


def test_what_is_shown_was_made_with_the_options_that_are_named(tmp_path):
    Numbers().run(Scale("quick"), tmp_path)
    with pytest.raises(ValueError, match=r"was made with no options of its own, not with --more 5"):
        Numbers(more=5).show(tmp_path)
    Numbers(more=5).run(Scale("quick"), tmp_path)
    assert [*Numbers(more=5).show(tmp_path)] == [*Numbers().show(tmp_path)] == ["first", "second"]
    Numbers().run(Scale("quick"), tmp_path)  # the second part stays in the folder, but is none of this study
    assert [*Numbers().show(tmp_path)] == ["first"]


def test_an_error_that_no_repeat_shows_is_not_told_as_zero():
    assert bracketed(0, 0, ".1f") == "0.0"
    assert bracketed(1, np.nan, ".0f") == "1"
    assert bracketed(26.71, 7e-16, ".2f") == "26.71"
    assert bracketed(10, 0.03, ".0f") == "10 (0.03)"
    assert bracketed(-1.25, 0.5, "+.2f") == "-1.25 (0.50)"


@pytest.mark.parametrize("kind", STUDIES.values())
def test_every_study_says_all_five_points_of_its_plan(kind):
    assert issubclass(kind, Study)
    said = [line.split(": ")[0] for line in str(kind.plan).splitlines()]
    assert said == ["Aim", "Data-generating mechanisms", "Estimands", "Methods", "Performance"]


def test_mistakes_are_one_line(tmp_path, capsys):
    assert main(["plugin_vs_debiased", "--quick", "--out", str(tmp_path), "--predictions", "nothing.csv"]) == 2
    assert capsys.readouterr().err == "simulations: error: --predictions needs --label and --probs\n"


def test_the_answer_names_upper_bounds():
    class Silent(Study):
        parts = figure = None

        @staticmethod
        def text(found):
            return "Nothing."

    dataset = xr.Dataset({"truth": 0.1, "limit": 0.1})
    dataset["truth"].attrs["upper_bound"], dataset["limit"].attrs["upper_bound"] = "bold, two", ""
    assert Silent().answer({"sweep": dataset}).splitlines() == [
        "Nothing.",
        "",
        "upper bounds, not known exactly (sweep, truth): bold, two",
    ]
    assert Silent().answer({"sweep": xr.Dataset({"truth": 0.1})}) == "Nothing."


@dataclass(frozen=True)
class Uniform:
    """Some uniform numbers."""

    n: int

    def __call__(self, rng):
        return xr.Dataset({"value": ("row", rng.random(self.n)), "name": ("row", ["é"] * self.n)})


def test_repeats_are_kept_and_another_design_is_refused(tmp_path):
    store = tmp_path / "part.nc"
    found = Repeats(Uniform(3), 4).run(None, store)
    assert dict(found.sizes) == {"repeat": 4, "row": 3}
    assert len(np.unique(found["value"])) == 12
    again = Repeats(Uniform(3), 4).run(None, store)
    xr.testing.assert_identical(again.load(), found)
    for other in (Repeats(Uniform(2), 4), Repeats(Uniform(3), 5), Repeats(Uniform(3), 4, seed=1)):
        with pytest.raises(ValueError, match="holds another study"):
            other.run(None, store)


def test_fewer_repeats_are_the_first_of_more_on_a_cluster_too(tmp_path):
    few = Repeats(Uniform(3), 2).run(None, tmp_path / "few.nc")
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        more = Repeats(Uniform(3), 5).run(client, tmp_path / "more.nc")
    assert np.array_equal(more["value"][:2], few["value"])
