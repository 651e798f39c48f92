"""Stores of which something was deleted or garbled, or that may not be written any more."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import calibstat as cs
from calibstat.cli.main import main
from calibstat.generators import GaussianMixture
from calibstat.sweeps._metadata import COPY
from calibstat.sweeps.store import read
from calibstat.sweeps.sweep import Sweep
from suites import slow_but
from sweeps.comparing import assert_same_bits


def make():
    estimators = {"ECE": cs.ECE(cs.EqualWidth(5)), "never": lambda n_bins: lambda y_true, y_prob: np.nan}
    models = [GaussianMixture(0, -2), GaussianMixture(1, 1)]
    return Sweep(models, n=[30, 50], n_bins=[5, 6], estimators=estimators, n_repeats=8, rng=0)


@pytest.fixture(scope="module")
def finished_store(tmp_path_factory):
    store = tmp_path_factory.mktemp("finished") / "s"
    make().run(store=store, progress=False, block=4)
    return store


@pytest.fixture
def store(finished_store, tmp_path):
    """A finished study of one's own."""
    return Path(shutil.copytree(finished_store, tmp_path / "s"))


def test_a_chunk_that_was_deleted_is_computed_again(store):
    whole = xr.open_zarr(store).load()
    (store / "estimate" / "1.0.0.0.1").unlink()
    assert np.isnan(xr.open_zarr(store)["estimate"].values[1, 0, 0, 0, 4:]).all()
    with pytest.raises(
        ValueError, match=r"lacks values of 1 block that it had, first of \(model, n, block\) \(1, 0, 1\)"
    ):
        read(store)
    assert_same_bits(whole, make().run(store=store, progress=False, block=4))
    read(store)


@pytest.mark.parametrize("chunk", ["estimate/0.0.1.0.0", "status/0.0.0"])
def test_a_garbled_chunk_is_named_and_can_be_mended(store, chunk):
    whole = xr.open_zarr(store).load()
    (store / chunk).write_bytes(b"junk")
    for look in (lambda: read(store), lambda: make().run(store=store, progress=False, block=4)):
        with pytest.raises(ValueError, match=f"{chunk} is damaged .*: delete this file and run the sweep again"):
            look()
    (store / chunk).unlink()
    assert_same_bits(whole, make().run(store=store, progress=False, block=4))


def test_what_is_written_once_is_not_mended(store):
    (store / "truth" / "0.0.0").write_bytes(b"junk")
    with pytest.raises(ValueError, match=r"truth/0.0.0 is damaged .*: delete .*/s and run the sweep again"):
        make().run(store=store, progress=False, block=4)


def damaged(path):
    """Each chunk of a store, but messages, cut off, with one bit turned over, and gone; it is mended behind each."""
    for file in [each for each in sorted(path.glob("*/[0-9]*")) if each.parent.name != "error"]:
        content = file.read_bytes()
        turned = bytearray(content)
        turned[len(content) * 2 // 3] ^= 4
        for what in (content[: len(content) // 2], content[:-1], bytes(turned), None):
            file.unlink() if what is None else file.write_bytes(what)
            yield file
            file.write_bytes(content)


def complaint(store, whole):
    """Read a store, and hold it against what was in it; return why it is refused, if it is."""
    try:
        assert read(store).load().identical(whole)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("n_cases", slow_but([60], [60, 600]))
def test_a_turned_bit_anywhere_is_refused_or_changes_nothing(store, n_cases):
    """In numbers, texts, true values, metadata or the copy of the metadata."""
    whole = read(store).load()
    files = [each for each in sorted(store.rglob("*")) if each.is_file()]
    rng, refused = np.random.default_rng(20261124), 0
    for _ in range(n_cases):
        file = files[int(rng.integers(len(files)))]
        content = file.read_bytes()
        turned = bytearray(content)
        turned[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        file.write_bytes(bytes(turned))
        said = complaint(store, whole)
        refused += bool(said)
        assert not said or (str(store) in said and "damaged" in said and "run the sweep again" in said)
        file.write_bytes(content)
    assert refused > n_cases / 2


@pytest.mark.parametrize("name", [".zattrs", ".zgroup", ".zmetadata", "estimate/.zarray", "model/.zattrs"])
@pytest.mark.parametrize("damage", ["turned", "cut", "gone"])
def test_damaged_metadata_are_mended_by_the_next_run_and_no_block_is_lost(store, name, damage, monkeypatch):
    whole, file = read(store).load(), store / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        middle = len(content) // 2
        file.write_bytes(content[:middle] + (b"7" + content[middle + 1 :] if damage == "turned" else b""))
    with pytest.raises(ValueError, match=rf"{name} is damaged, or was changed: run the sweep again .* mends it"):
        read(store)
    computed = []
    monkeypatch.setattr("calibstat.sweeps.sweep.on_threads", lambda *arguments: computed.append(arguments))
    make().run(store=store, progress=False)
    assert not computed
    assert json.loads(file.read_text()) == json.loads(content)
    assert read(store).load().identical(whole)


@pytest.mark.parametrize("damage", ["{", "{}", None])
def test_a_damaged_copy_of_the_metadata_changes_nothing(store, damage):
    whole = read(store).load()
    (store / COPY).unlink()
    if damage is not None:
        (store / COPY).write_text(damage)
    assert read(store).load().identical(whole)
    assert_same_bits(whole, make().run(store=store, progress=False))


def test_a_store_that_is_removed_while_the_sweep_runs_is_missed(tmp_path):
    """Chunks written into a folder that is gone would be no store."""
    place, removed = tmp_path / "s", threading.Event()

    def remove(y_true, y_prob):
        if not removed.is_set() and place.exists():
            removed.set()
            shutil.rmtree(place)
        return 1.0

    sweep = Sweep(GaussianMixture(1, 1), n=[30], estimators={"e": lambda n_bins: remove}, n_repeats=8, rng=0)
    with pytest.raises(FileNotFoundError, match="the store was removed while the sweep ran; run it again, with a "):
        sweep.run("threads", store=place, progress=False, block=2)
    assert removed.is_set()
    assert not place.exists()
    found = sweep.run("threads", store=place, progress=False, block=2)
    assert (found["estimate"] == 1).all()


def test_no_damage_is_read_as_numbers(store):
    found = 0
    for _ in damaged(store):
        with pytest.raises(ValueError, match=r"is damaged|is gone|lacks values"):
            read(store)
        found += 1
    assert found > 60
    read(store)


@pytest.mark.parametrize("name", ["truth/0.0.0", "repeat/0"])
def test_what_is_written_once_and_gone_is_missed(store, name):
    (store / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} is gone: delete .*/s and run the sweep again"):
        make().run(store=store, progress=False, block=4)


def test_a_status_that_is_gone_is_made_anew(store):
    whole = xr.open_zarr(store).load()
    (store / "status" / "0.0.0").unlink()
    with pytest.raises(ValueError, match=r"status/0.0.0 is gone: run the sweep again"):
        read(store)
    assert_same_bits(whole, make().run(store=store, progress=False, block=4))
    read(store)


def test_what_a_kill_leaves_is_no_damage(store):
    """Zarr writes a chunk under another name before it moves it into place."""
    whole = xr.open_zarr(store).load()
    (store / "estimate" / "0.0.0.0.0b1c2d3e4f.partial").write_bytes(b"half")
    read(store)
    assert_same_bits(whole, make().run(store=store, progress=False, block=4))


def test_a_store_of_an_earlier_version_is_read(tmp_path, monkeypatch):
    """Without checksums, and without chunks that hold nothing but missing values."""
    monkeypatch.setattr("calibstat.sweeps.store.CODECS", {})
    whole = make().run(store=tmp_path / "s", progress=False, block=4).load()
    (tmp_path / "s" / "truth" / "0.0.0").unlink()
    found = read(tmp_path / "s").load()
    assert_same_bits(whole.drop_vars("truth"), found.drop_vars("truth"))
    assert found["truth"].isnull().all()


def test_results_can_be_kept_in_other_formats(store, tmp_path):
    found = read(store)
    found.to_zarr(tmp_path / "copy", zarr_format=2)
    found.to_netcdf(tmp_path / "copy.nc")
    for copy in ("copy", "copy.nc"):
        assert_same_bits(found.load(), read(tmp_path / copy).load())


def test_a_block_of_nothing_is_not_computed_twice(store, monkeypatch):
    computed = []
    monkeypatch.setattr("calibstat.sweeps.sweep.on_threads", lambda *arguments: computed.append(arguments))
    make().run(store=store, progress=False, block=4)
    assert not computed


def test_a_table_of_text_is_no_store(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    assert main(["summarise", "a.csv"]) == 2
    assert "a.csv is neither a Zarr store nor a NetCDF file" in capsys.readouterr().err
    (tmp_path / "study.toml").write_text(
        'seed = 0\nn = [20]\n[models]\nm = "GaussianMixture(0, -2)"\n[estimators]\nECE = "ECE(EqualWidth(3))"\n'
    )
    for more in ([], ["--resume"]):
        assert main(["sweep", "study.toml", "--store", "a.csv", *more]) == 2
        assert (
            "--store a.csv is a file, but a sweep is stored in a folder: name another place" in capsys.readouterr().err
        )
