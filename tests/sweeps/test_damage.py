"""Stores of which something was deleted or garbled."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import calibstat as cs
from calibstat.cli.main import main
from calibstat.generators import GaussianMixture
from calibstat.sweeps.store import read
from calibstat.sweeps.sweep import Sweep
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
