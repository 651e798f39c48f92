"""One seed makes one broken file, and says what reads it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import calibstat as cs
from calibstat.cli.sweep import read_study
from fuzz.tables import ODD_JSON, ODD_NAMES, ODD_NUMBERS, as_csv, as_json_lines, odd_array, spoiled, table

Read = Callable[[Path], Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Broken:
    """A file, or the files of a folder by their names, and what reads it."""

    kind: str
    name: str
    content: bytes | dict[str, bytes]
    read: Read

    def write(self, folder: str | Path) -> Path:
        """Write the file into a folder, and return its place."""
        place = Path(folder, self.name)
        parts = {"": self.content} if isinstance(self.content, bytes) else self.content
        for name, content in parts.items():
            path = place / name if name else place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return place


def case(seed: int) -> Broken:
    """Make the case of a seed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    kind = _kind(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what makes odd arrays says so
        return Broken(kind, *_KINDS[kind][1](rng))


def kind_of(seed: int) -> str:
    """Return the kind of the file of a seed, without making it."""
    return _kind(np.random.Generator(np.random.PCG64(seed)))


def _kind(rng: Rng) -> str:
    return str(rng.choice(list(_KINDS), p=_SHARES))


def lines(seed: int) -> str:
    """Three lines of Python that do the case again, from the folder tests."""
    return (
        f"from fuzz.broken_files import case\nfound = case({seed})\n"
        'print(found.kind, found.read(found.write("/tmp/broken")))'
    )


# Damage that knows nothing of the format.


def damaged(rng: Rng, content: bytes) -> bytes:
    """Turn bits, cut, repeat, overwrite or insert some bytes."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(found) + 1))
        length = int(rng.integers(1, 30))
        noise = rng.bytes(length) if rng.random() < 0.5 else bytes([rng.choice([0, 10, 34, 44, 255])]) * length
        how = rng.integers(6)
        if how == 0:
            found = found[:at]
        elif how == 1:
            found[at:at] = noise
        elif how == 2:
            found[at : at + length] = noise
        elif how == 3:
            del found[at : at + length]
        elif how == 4:
            found[at:at] = found[max(0, at - length) : at]
        elif at < len(found):
            found[at] ^= 1 << int(rng.integers(8))
    return bytes(found)


def _perhaps_damaged(rng: Rng, content: bytes, share: float = 0.3) -> bytes:
    return damaged(rng, content) if rng.random() < share else content


# Files of rows.

_ASKED: list[dict[str, Any]] = [
    {"y_true": "y", "y_prob": "p"},
    {"y_true": "y", "y_prob": "p", "variables": ["age", "sex"], "sample_weight": "w", "groups": "g"},
    {"y_true": "pet", "y_prob": "p_*"},
    {"y_true": "pet", "y_prob": ["p_dog", "p_cat", "p_eel"], "labels": ["dog", "cat", "eel"], "variables": "*"},
    {"events": "events", "trials": "trials", "y_prob": "p"},
    {"counts": ["events", "trials"], "y_prob": "p"},
    {"predicted": "sums", "events": "events", "trials": "trials"},
    {"correct": "right", "confidence": "p"},
    {"y_true": "y", "y_prob": "p", "prevalence": 0.2},
]


def _read_sample(rng: Rng) -> Read:
    asked = _ASKED[rng.integers(len(_ASKED))]
    policy = "omit" if rng.random() < 0.5 else "raise"
    return lambda path: cs.Sample.read(path, nan_policy=policy, **asked)


def _collect(rng: Rng) -> Read:
    by = [[], ["sex"], ["age", "sex"]][rng.integers(3)]
    policy = "omit" if rng.random() < 0.5 else "raise"
    return lambda path: cs.Ledger.collect(path, y_true="y", y_prob="p", by=by, nan_policy=policy)


def _reader(rng: Rng) -> Read:
    return _collect(rng) if rng.random() < 0.25 else _read_sample(rng)


def _delimited(rng: Rng) -> tuple[str, bytes, Read]:
    columns = spoiled(rng, table(rng), ODD_NUMBERS)
    content = _perhaps_damaged(rng, as_csv(rng, columns, odd=rng.random() < 0.7), 0.15)
    name = f"rows{rng.choice(['.csv', '.tsv', '.txt', '.CSV'])}"
    if rng.random() < 0.03:
        content = [b"", b"\n", b"\xef\xbb\xbf", b"y,p", b"y,p\n", b"\x00" * 50, b",\n,\n", b'"', b"y,p\n\n\n"][
            rng.integers(9)
        ]
    return (*_compressed(rng, name, content), _reader(rng))


def _compressed(rng: Rng, name: str, content: bytes) -> tuple[str, bytes]:
    if rng.random() < 0.7:
        return name, content
    end = str(rng.choice([".gz", ".bz2", ".xz", ".zip", ".zst"]))
    packed = {
        ".gz": lambda: gzip.compress(content, mtime=0),
        ".bz2": lambda: bz2.compress(content),
        ".xz": lambda: lzma.compress(content),
        ".zst": lambda: import_module("pyarrow").compress(content, codec="zstd", asbytes=True),
        ".zip": lambda: _zip(rng, name, content),
    }[end]()
    if rng.random() < 0.2:
        end = str(rng.choice([".gz", ".bz2", ".xz", ".zip", ".zst", ""]))
    return name + end, _perhaps_damaged(rng, packed, 0.5)


def _zip(rng: Rng, name: str, content: bytes) -> bytes:
    members = {name: content}
    if rng.random() < 0.2:
        members = [{}, {name: content, "b": content}, {"folder/": b""}][rng.integers(3)]
    return zipped(members)


def zipped(members: dict[str, bytes]) -> bytes:
    """Write a ZIP archive, the same at any time."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def _json_lines(rng: Rng) -> tuple[str, bytes, Read]:
    columns = spoiled(rng, table(rng), ODD_JSON)
    content = _perhaps_damaged(rng, as_json_lines(rng, columns, odd=rng.random() < 0.7), 0.2)
    if rng.random() < 0.1:
        content = content.decode("utf-8", "replace").encode(
            str(rng.choice(["utf-16", "latin-1", "utf-8-sig"])), "replace"
        )
    return (*_compressed(rng, f"rows{rng.choice(['.jsonl', '.ndjson'])}", content), _reader(rng))


def _some_odd_arrays(rng: Rng) -> dict[str, Any]:
    columns = table(rng)
    found: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(list(columns)))
        found[name] = odd_array(rng, columns[name])
    return found


def npz_of(arrays: dict[str, Any]) -> bytes:
    """Write arrays by name; arrays of objects are pickled, which is what readers refuse."""
    members = {}
    for name, array in arrays.items():
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
        members[f"{name}.npy"] = stream.getvalue()
    return zipped(members)


def _npz(rng: Rng) -> tuple[str, bytes, Read]:
    arrays = _some_odd_arrays(rng)
    if rng.random() < 0.1:
        stream = io.BytesIO()
        np.save(stream, arrays["p"], allow_pickle=True)
        return "rows.npz", stream.getvalue(), _read_sample(rng)
    content = npz_of(arrays)
    if rng.random() < 0.15:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        each = str(rng.choice(list(members)))
        members[each] = damaged(rng, members[each])
        content = zipped(members)
    return "rows.npz", _perhaps_damaged(rng, content), _read_sample(rng)


def _parquet(rng: Rng) -> tuple[str, bytes, Read]:
    import pyarrow as pa
    from pyarrow import parquet

    columns = table(rng)
    arrays = {name: pa.array(values) for name, values in columns.items()}
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(list(arrays)))
        arrays[name] = _odd_column(rng, columns[name])
    names = list(arrays)
    if rng.random() < 0.1:
        names[rng.integers(len(names))] = ODD_NAMES[rng.integers(len(ODD_NAMES))]
    made = pa.Table.from_arrays(list(arrays.values()), names=names)
    stream = io.BytesIO()
    size = int(rng.choice([1, 7, 1000]))
    with parquet.ParquetWriter(stream, made.schema, compression=str(rng.choice(["snappy", "none", "zstd"]))) as writer:
        for start in range(0, made.num_rows, size) if rng.random() < 0.97 else ():  # else no group of rows
            writer.write_table(made.slice(start, size))
    return "rows.parquet", _perhaps_damaged(rng, stream.getvalue(), 0.4), _reader(rng)


def _odd_column(rng: Rng, values: list[Any]) -> Any:
    import pyarrow as pa

    n, numbers = len(values), [each if isinstance(each, (int, float)) else 0.5 for each in values]
    shares = [min(1.0, abs(float(each))) for each in numbers]
    kinds: list[Callable[[], Any]] = [
        lambda: pa.nulls(n),
        lambda: pa.array([[each] * 2 for each in shares]),
        lambda: pa.array([{"a": each, "b": "x"} for each in shares]),
        lambda: pa.array([[("k", each)] for each in shares], type=pa.map_(pa.string(), pa.float64())),
        lambda: pa.array([[each] * 3 for each in shares], type=pa.list_(pa.float64(), 3)),
        lambda: pa.array([str(each) for each in values]).dictionary_encode(),
        lambda: pa.array([str(each).encode() for each in values]),
        lambda: pa.array([b"\xff\xfe"] * n),
        lambda: pa.array([str(each) for each in values], type=pa.large_string()),
        lambda: pa.array([int(each) for each in shares], type=pa.timestamp("ns")),
        lambda: pa.array([int(each) for each in shares], type=pa.duration("s")),
        lambda: pa.array([int(each) for each in shares], type=pa.date32()),
        lambda: pa.array(shares, type=pa.float32()),
        lambda: pa.array(np.array(shares, dtype=np.float16)),
        lambda: pa.array([round(each, 3) for each in shares]).cast(pa.decimal128(10, 3), safe=False),
        lambda: pa.array([2**64 - 1] * n, type=pa.uint64()),
        lambda: pa.array([each > 0.5 for each in shares]),
        lambda: pa.array([None if rng.random() < 0.3 else each for each in shares]),
        lambda: pa.array([float("nan") if rng.random() < 0.3 else each for each in shares]),
        lambda: pa.array([float("inf") if rng.random() < 0.3 else each for each in shares]),
        lambda: pa.array([""] * n),
        lambda: pa.array(["é\x00\x1b[31m"] * n),
    ]
    return kinds[rng.integers(len(kinds))]()


def _netcdf(rng: Rng) -> tuple[str, bytes, Read]:
    import xarray as xr

    columns = table(rng)
    arrays = _some_odd_arrays(rng)
    n = len(columns["y"])
    found = {}
    for name, array in arrays.items():
        plain = np.asarray(array)
        if plain.dtype.kind in "cOVM" or plain.dtype in (np.float16, np.longdouble):
            plain = np.asarray(columns[name])  # what no NetCDF holds
        dims = [f"row{'' if size == n else '_'}{size}{'' if k == 0 else f'_{k}'}" for k, size in enumerate(plain.shape)]
        found[name] = (dims, plain, _odd_attributes(rng))
    for name in ODD_NAMES[2:5][: rng.integers(3)]:
        found[name] = found.get(name, ((), np.array(0.5), {}))
    dataset = xr.Dataset(found)
    if rng.random() < 0.2:
        dataset = dataset.drop_vars(str(rng.choice(list(columns))))
    if rng.random() < 0.2:
        dataset = dataset.set_coords([str(rng.choice(list(dataset.variables)))])
    old = rng.random() < 0.5
    unlimited = [f"row{n}"] if rng.random() < 0.3 and f"row{n}" in dataset.sizes else []
    content = _written_netcdf(
        dataset, old=old, unlimited=unlimited, group="inside" if not old and rng.random() < 0.1 else None
    )
    return (
        f"rows{rng.choice(['.nc', '.netcdf'])}",
        _perhaps_damaged(rng, content, 0.4 if old else 0.2),
        _read_sample(rng),
    )


def _odd_attributes(rng: Rng) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"scale_factor": 0.1},
        {"scale_factor": 1e308, "add_offset": 1e308},
        {"missing_value": 1},
        {"units": "days since 1970-01-01"},
        {"units": "days since nothing", "calendar": "none"},
        {"scale_factor": "x"},
        {"valid_min": "a"},
        {"coordinates": "no such variable"},
        {"dtype": "bool"},
    ]
    return kinds[rng.integers(len(kinds))] if rng.random() < 0.06 else {}


def _written_netcdf(dataset: Any, *, old: bool, unlimited: list[str] = (), group: str | None = None) -> bytes:  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "made.nc")
        try:
            dataset.to_netcdf(place, engine="scipy" if old else "h5netcdf", unlimited_dims=unlimited, group=group)
        except (ValueError, TypeError, KeyError, AttributeError):  # what xarray does not write
            return b"CDF\x01" if old else b"\x89HDF\r\n\x1a\n"
        return place.read_bytes()


def _several(rng: Rng) -> tuple[str, dict[str, bytes], Read]:
    """Make a folder of files that do not fit together."""
    makers = [_delimited, _parquet, _json_lines] if rng.random() < 0.2 else [[_delimited, _parquet][rng.integers(2)]]
    found = {}
    for k in range(rng.integers(1, 4)):
        name, content, _ = makers[rng.integers(len(makers))](rng)
        place = f"sex={'fm'[k % 2]}/{name}" if rng.random() < 0.1 else f"{k}-{name}"
        found[place] = content
    return "parts", found, _collect(rng)


# Documents in JSON.


def mutated(rng: Rng, document: Any, places: int = 1) -> Any:
    """Put something odd at some places of a document, or take something away."""
    for _ in range(places):
        document = _mutated(rng, document)
    return document


def _mutated(rng: Rng, found: Any) -> Any:
    inside = isinstance(found, (dict, list)) and len(found) > 0
    if not inside or rng.random() < 0.04:
        return _other_value(rng, found)
    place = rng.integers(len(found)) if isinstance(found, list) else list(found)[rng.integers(len(found))]
    changed = type(found)(found)
    how = rng.random()
    if how < 0.08:
        del changed[place]
    elif how < 0.11 and isinstance(changed, list):
        changed.insert(int(place), changed[place])
    elif how < 0.11:
        changed[ODD_NAMES[rng.integers(len(ODD_NAMES))]] = changed.pop(place)
    else:
        changed[place] = _mutated(rng, changed[place])
    return changed


def _other_value(rng: Rng, found: Any) -> Any:
    if isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < 1e100 and rng.random() < 0.5:
        near = [-found, found + 1, found * 2, found / 2, 0, 1e300, float(found), 10**6]
        return near[rng.integers(len(near))]
    return ODD_JSON[rng.integers(len(ODD_JSON))]


def _as_json(rng: Rng, document: Any) -> bytes:
    text = json.dumps(document).encode()
    if rng.random() < 0.06:
        odd = [
            b"",
            b"null",
            b"[]",
            b"{}",
            b"3",
            b'"x"',
            b"NaN",
            b"[" * 100_000,
            b"\xff\xfe",
            text + text,
            b"\xef\xbb\xbf" + text,
        ]
        return odd[rng.integers(len(odd))]
    if rng.random() < 0.05:
        return text.replace(b'{"', b'{"format": 1, "is": "x", "schema": 2, "', 1 if rng.random() < 0.5 else -1)
    return _perhaps_damaged(rng, text, 0.1)


def _rows(n: int = 60, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


@cache
def _calibrators() -> list[dict[str, Any]]:
    p, y = _rows()
    probs = np.column_stack([p, 1 - p]) / 2
    probs = np.column_stack([probs, 1 - probs.sum(axis=1)])
    made = cs.calibrators
    fitted: list[Any] = [
        each().fit(p, y) for each in (made.Isotonic, made.Beta, made.Platt, made.HistogramBinning, made.Temperature)
    ]
    fitted += [each().fit(probs, y + (p > 0.5)) for each in (made.OneVsRest, made.Dirichlet, made.VectorScaling)]
    fitted.append(made.CalibrationTree(variables=[1]).fit(np.column_stack([p, np.arange(len(p))]), y))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for each in fitted:
            made.save(each, Path(folder, "c.json"))
            found.append(json.loads(Path(folder, "c.json").read_text(encoding="utf-8")))
    return found


def _calibrator(rng: Rng) -> tuple[str, bytes, Read]:
    from calibstat.calibrators._storage import _checksum

    document = dict(_calibrators()[rng.integers(len(_calibrators()))])
    if rng.random() < 0.9:
        document["calibrator"] = mutated(rng, document["calibrator"], int(rng.integers(1, 3)))
        document["checksum"] = _checksum(document["calibrator"])
    else:
        document = mutated(rng, document, 2)
    content = _as_json(rng, document)

    def read(path: Path) -> Any:
        found = cs.calibrators.load(path)
        rows = np.linspace(0, 1, 7)
        k = len(found.classes_)
        columns = rows if found.n_features_in_ == 1 else np.full((7, found.n_features_in_), 1 / k)
        said = found.predict_proba(columns)
        assert np.isfinite(said).all(), said
        return said.tolist()

    return "calibrator.json", content, read


@cache
def _report_document() -> dict[str, Any]:
    p, y = _rows(80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = cs.report(
            cs.Sample(y, p, variables={"sex": ["f", "m"] * 40}), by="sex", margin=0.1, calibrators={}, rng=0
        )
    return dict(json.loads(made.to_json()))


def _report(rng: Rng) -> tuple[str, bytes, Read]:
    content = _as_json(rng, mutated(rng, _report_document(), int(rng.integers(1, 4))))

    def read(path: Path) -> Any:
        found = cs.Report.from_json(path.read_text(encoding="utf-8", errors="surrogateescape"))
        return [str(found), len(found.to_html()), len(found.to_json())]

    return "report.json", content, read


# Arrays and tables that this package keeps.


@cache
def _states() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    p, y = _rows(300)
    first = cs.Monitor(name="m", order="arrival")
    first.update(p, y)
    second = cs.Monitor(lens=cs.TopLabel())
    second.update(np.column_stack([1 - p, p]), [int(each) for each in y])
    third = cs.DifferenceMonitor(names=("a", "b"))
    third.update({"a": p, "b": np.sqrt(p)}, y)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for each in (first, second, third):
            each.save(Path(folder, "state"))
            with np.load(Path(folder, "state")) as arrays:
                kept = {name: arrays[name] for name in arrays.files}
            found.append((json.loads(str(kept.pop("settings"))), kept))
    return found


def _state(rng: Rng) -> tuple[str, bytes, Read]:
    place = int(rng.integers(3))
    settings, arrays = _states()[place]
    if rng.random() < 0.6:
        settings = mutated(rng, settings, int(rng.integers(1, 3)))
    if isinstance(settings, dict) and rng.random() < 0.6:  # as earlier versions wrote it
        settings = {name: each for name, each in settings.items() if name != "checksum"}
    described: Any = np.array(json.dumps(settings))
    if rng.random() < 0.05:
        described = odd_array(rng, [1, 2])
    kept = {"settings": described, **arrays}
    if rng.random() < 0.6:
        name = str(rng.choice(list(kept)))
        values = np.atleast_1d(kept[name])
        kept[name] = [
            lambda: odd_array(rng, values.ravel().tolist()),
            lambda: np.full_like(kept[name], -1) if values.dtype.kind in "iuf" else values,
            lambda: np.full(np.shape(kept[name]), np.nan),
            lambda: np.full(np.shape(kept[name]), 10**18),
            lambda: np.concatenate([values, values]),
        ][rng.integers(5)]()
    if rng.random() < 0.1:
        kept.pop(str(rng.choice(list(kept))))
    monitor: Any = [cs.Monitor, cs.Monitor, cs.DifferenceMonitor][place if rng.random() < 0.95 else 2 - place]

    def read(path: Path) -> Any:
        if rng_restores:
            found = cs.Monitor(name="m", order="arrival") if monitor is cs.Monitor else cs.DifferenceMonitor(("a", "b"))
            found.restore(path)
        else:
            found = monitor.load(path)
        return _watched_further(found)

    rng_restores = rng.random() < 0.2
    return "model.state", _perhaps_damaged(rng, npz_of(kept), 0.15), read


def _watched_further(found: cs.Monitor | cs.DifferenceMonitor) -> Any:
    """Go on with a monitor that was read, and say what it found; a state that it cannot go on from is refused."""
    k = len(found.labels)
    rows = np.linspace(0, 1, 9) if k == 2 else np.full((9, k), 1 / k)
    if not found.n_waiting:
        found.update(
            rows if isinstance(found, cs.Monitor) else dict.fromkeys(found.names, rows),
            [found.labels[row % k] for row in range(9)],
        )
    assert not np.isnan(found.log_e)
    assert 0 <= found.pvalue <= 1
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder, "state"))
        assert str(type(found).load(Path(folder, "state"))) == str(found)
    return [str(found), found.to_dict(), found.to_dataset()]


@cache
def _ledger() -> Any:
    p, y = _rows(80)
    sample = cs.Sample(y, p, variables={"sex": ["f", "m"] * 40})
    with tempfile.TemporaryDirectory() as folder:
        cs.Ledger.count(sample, by=["sex"]).save(Path(folder, "l.parquet"))
        from pyarrow import parquet

        return parquet.read_table(Path(folder, "l.parquet"))


def _ledger_file(rng: Rng) -> tuple[str, bytes, Read]:
    import pyarrow as pa
    from pyarrow import parquet

    from calibstat.ledgers.files import _checksum

    made = _ledger()
    known = json.loads(made.schema.metadata[b"calibstat"])
    columns = {name: made[name].to_pylist() for name in made.column_names}
    if rng.random() < 0.6:
        columns = {
            name: _spoiled_numbers(rng, values) if rng.random() < 0.2 else values for name, values in columns.items()
        }
    arrays = {name: pa.array(values) for name, values in columns.items()}
    if rng.random() < 0.2:
        name = str(rng.choice(list(arrays)))
        arrays[name] = _odd_column(rng, columns[name])
    if rng.random() < 0.1:
        arrays.pop(str(rng.choice(list(arrays))))
    meaning = {name: each for name, each in known.items() if name not in ("schema", "checksum")}
    if rng.random() < 0.5:
        meaning = mutated(rng, meaning)
    content = pa.table(arrays)
    if isinstance(meaning, dict):
        sound = (
            _checksum(content.to_pandas(ignore_metadata=True), meaning)
            if rng.random() < 0.9 and _hashable(arrays)
            else "0"
        )
        known = {"schema": known["schema"], "checksum": sound} | meaning
    else:
        known = meaning
    stream = io.BytesIO()
    parquet.write_table(
        content.replace_schema_metadata({"calibstat": json.dumps(known)}), stream, write_page_checksum=True
    )

    def read(path: Path) -> Any:
        found = cs.Ledger.load(path)
        return [str(found), cs.estimate(found.sample(), rng=0).estimate if len(found.classes) else None]

    return "counted.parquet", _perhaps_damaged(rng, stream.getvalue(), 0.15), read


def _spoiled_numbers(rng: Rng, values: list[Any]) -> list[Any]:
    odd = [None, -1, 0, 1, 2, 0.5, 10**15, float("nan"), float("inf"), 1e300]
    if not values or isinstance(values[0], str):
        return [str(each) for each in rng.permutation(values)]
    number = odd[rng.integers(len(odd))]
    row = int(rng.integers(len(values)))
    return [float(number) if k == row and number is not None else float(each) for k, each in enumerate(values)]


def _hashable(arrays: dict[str, Any]) -> bool:
    return not any(
        "list" in str(each.type) or "map" in str(each.type) or "struct" in str(each.type) for each in arrays.values()
    )


# Studies and their stores.

STUDY: dict[str, Any] = {
    "seed": 0,
    "n_repeats": 4,
    "n": [10, 20],
    "n_bins": [3],
    "draws": "rows",
    "models": {"calibrated": "GaussianMixture(0, -2)", "off": "GaussianMixture(1, 1)"},
    "estimators": {"ECE": "ECE(EqualMass(n_bins))", "Kuiper": "Kuiper()"},
    "tests": {
        "PDE": "PDE(EqualMass(n_bins))",
        "Cox": {"statistic": "ECE(EqualMass(5))", "null": "Consistency(9)"},
    },
}
ODD_EXPRESSIONS = [
    "", " ", "ECE", "ECE(", "ECE()", "ECE(EqualMass(0))", "ECE(EqualMass(-1))", "ECE(EqualMass(10**9))",
    "ECE(EqualMass(2.5))", "ECE(EqualMass('x'))", "ECE(5)", "ECE(n_bins)", "ECE(EqualMass(n_bins * 0.5))", "n_bins",
    "lambda: 1", "__import__('os')", "ECE(*[1])", "ECE(**{})", "ECE(EqualMass(1 / 0))", "()" * 5,
    "(" * 300 + ")" * 300, "-" * 3000 + "1", "1 | 2", "ECE() | 3", "TopLabel() | ECE()", "ClassWise('x') | ECE()",
    "ECE() * ECE()", "'x' * 10", "[1] * 3", "{}", "{[]: 1}", "{1: 2} | 3", "ECE(EqualMass(5), norm=2)",
    "GaussianMixture(nan, 1)", "GaussianMixture(1e999, 1)", "GaussianMixture(0)", "BetaPredictions(-1, 2)",
    "BetaPredictions(0, 0)", "BetaPredictions(1e308, 1e308)", "Consistency(9)", "Consistency(0)", "Consistency(-5)",
    "Weak(9)", "Exact()", "é()", "ECE\x00()", "Given('age') | ECE()", "Generic(3)", "Ledger()", "report()",
    "Sample([0, 1], [0.2, 0.8])", "ECE(binning=EqualMass(3), binning=4)", "TopK(10**20) | ECE()",
    "FixedEdges([0, 0, 1])", "ECE(FixedEdges([1, 0]))", "ECE(FixedEdges([]))", "ECE(FixedEdges(None))",
    "Partition([['a'], ['a']])", "Partition([])", "Region(3) | ECE()", "Region.between(0, 1, 2)", "'x'.join('y')",
    "1j", "b'x'", "...", "-'x'", "-ECE()", "-EqualMass(3)", "ECE(EqualMass(True))",
    "ECE(EqualMass(3) * EqualMass(3))", "SKCE(kind='x')", "f'{1}'", "1 if 1 else 2",
]  # fmt: skip


def odd_study(rng: Rng) -> dict[str, Any]:
    """Make a study with something odd in it."""
    found = mutated(rng, STUDY, int(rng.integers(0, 2)))
    if isinstance(found, dict) and rng.random() < 0.7:
        name = str(rng.choice(["models", "estimators", "tests"]))
        if isinstance(found.get(name), dict):
            found = found | {
                name: found[name]
                | {str(rng.choice(["x", "ECE", "off"])): ODD_EXPRESSIONS[rng.integers(len(ODD_EXPRESSIONS))]}
            }
    return found if isinstance(found, dict) else {}


def as_toml(value: Any) -> str:
    """Write a study as TOML, as far as it can be written."""
    if isinstance(value, dict):
        return "\n".join(f"{json.dumps(str(name))} = {_in_line(each)}" for name, each in value.items()) + "\n"
    return _in_line(value)


def _in_line(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(name))} = {_in_line(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_in_line, value)) + "]"
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return '""' if value is None else json.dumps(value)


def _study(rng: Rng) -> tuple[str, bytes, Read]:
    content = as_toml(odd_study(rng)).encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        odd = [
            b"",
            b"\xff\xfe",
            b"= 1",
            b"[[[",
            b"a = [" * 5000,
            b"seed = 0\nseed = 1",
            b"[models]\n[models]",
            content * 2,
            b"\xef\xbb\xbf" + content,
        ]
        content = odd[rng.integers(len(odd))]
    return "study.toml", _perhaps_damaged(rng, content, 0.1), lambda path: repr(read_study(path))


@cache
def _swept() -> tuple[Any, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "study.toml")
        place.write_text(as_toml(STUDY), encoding="utf-8")
        store = Path(folder, "found.zarr")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read_study(place).run(store=store, progress=False).load()
        return found, {str(each.relative_to(store)): each.read_bytes() for each in store.rglob("*") if each.is_file()}


def summarised(path: Path) -> Any:
    """Read what a sweep left, and summarise it."""
    from calibstat.sweeps.store import read

    return str(cs.summarise(read(path)))


def _store(rng: Rng) -> tuple[str, dict[str, bytes], Read]:
    parts = dict(_swept()[1])
    for _ in range(rng.integers(1, 3)):
        described = [name for name in parts if name.split("/")[-1].startswith(".z")]
        name = str(rng.choice(described if rng.random() < 0.6 and described else list(parts)))
        how = rng.random()
        if how < 0.15:
            del parts[name]
        elif how < 0.7 and name.split("/")[-1].startswith(".z"):
            document = json.loads(parts[name])
            if "design" in document and rng.random() < 0.5:
                document["design"] = json.dumps(mutated(rng, json.loads(document["design"])))
            else:
                document = mutated(rng, document)
            parts[name] = _as_json(rng, document)
        else:
            parts[name] = damaged(rng, parts[name])
    return "found.zarr", parts, summarised


def _swept_netcdf(rng: Rng) -> tuple[str, bytes, Read]:
    dataset = _swept()[0].copy()
    for _ in range(rng.integers(1, 3)):
        name = str(rng.choice(list(dataset.variables)))
        how = rng.integers(8)
        if how == 0:
            dataset = dataset.drop_vars(name, errors="ignore")
        elif how == 1:
            dim = str(rng.choice(list(dataset.sizes)))
            dataset = dataset.isel({dim: [] if rng.random() < 0.5 else 0})
        elif how == 2:
            dataset.attrs.pop(str(rng.choice(list(dataset.attrs))), None)
        elif how == 3:
            dataset.attrs["design"] = json.dumps(mutated(rng, json.loads(_swept()[0].attrs["design"])))
        elif how == 4:
            dataset.attrs[str(rng.choice(list(dataset.attrs)))] = [0, "x", 0.5, [1, 2]][rng.integers(4)]
        elif how == 5 and name in dataset.variables and name not in dataset.dims:
            values = dataset[name]
            odd = [np.nan, -1.0, 1e300, np.inf, 0.0][rng.integers(5)]
            dataset[name] = (values.dims, np.full(values.shape, odd), values.attrs)
        elif how == 6 and name in dataset.variables and name not in dataset.dims:
            dataset[name] = ((), 0.5)
        elif how == 7 and name in dataset.sizes:
            dataset = dataset.rename({name: "other"})
    content = _written_netcdf(dataset, old=rng.random() < 0.5)
    return "found.nc", _perhaps_damaged(rng, content, 0.2), summarised


_KINDS: dict[str, tuple[float, Callable[[Rng], tuple[str, Any, Read]]]] = {
    "delimited text": (36, _delimited),
    "JSON lines": (14, _json_lines),
    "NPZ": (10, _npz),
    "Parquet": (8, _parquet),
    "NetCDF": (3, _netcdf),
    "folder": (3, _several),
    "calibrator": (8, _calibrator),
    "report": (3, _report),
    "state of a monitor": (6, _state),
    "ledger": (3, _ledger_file),
    "study": (6, _study),
    "store of a sweep": (1, _store),
    "NetCDF of a sweep": (1, _swept_netcdf),
}
_SHARES = np.array([share for share, _ in _KINDS.values()]) / sum(share for share, _ in _KINDS.values())
# What these are made from takes seconds.
DEAR = ("calibrator", "report", "store of a sweep", "NetCDF of a sweep", "NetCDF")
