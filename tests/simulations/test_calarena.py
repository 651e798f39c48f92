"""Files in CalArena's layout, made here, are read; those that are not say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from simulations import calarena

h5py = pytest.importorskip("h5py")


def arrays(n_classes, rng, n=(40, 60), dtype=np.float32):
    found = {}
    for kind, rows in zip(("cal", "test"), n, strict=True):
        found[f"probas_{kind}"] = rng.dirichlet(np.ones(n_classes), rows).astype(dtype)
        found[f"labels_{kind}"] = rng.integers(0, n_classes, rows)
    return found


def write(path, models):
    with h5py.File(path, "w") as file:
        for place, values in models.items():
            for name, value in values.items():
                file[f"{place}/{name}"] = value
    return path


def test_every_model_is_read(tmp_path):
    rng = np.random.default_rng(0)
    models = {"cifar/net": arrays(10, rng), "adult/forest": arrays(2, rng), "adult/line": arrays(2, rng)}
    found = {f"{each.dataset}/{each.model}": each for each in calarena.read(write(tmp_path / "x.h5", models))}
    assert set(found) == set(models)
    for place, each in found.items():
        assert np.allclose(each.test_probabilities, models[place]["probas_test"], atol=1e-6)
        assert np.allclose(each.fit_probabilities.sum(axis=1), 1, atol=1e-12)
        assert np.array_equal(each.test_labels, models[place]["labels_test"])
        assert len(each.fit_labels) == 40


def test_one_column_is_the_class_1(tmp_path):
    rng = np.random.default_rng(0)
    given = arrays(2, rng)
    for kind in ("cal", "test"):
        given[f"probas_{kind}"] = given[f"probas_{kind}"][:, 1]
    (found,) = calarena.read(write(tmp_path / "x.h5", {"a/b": given}))
    assert np.allclose(found.test_probabilities[:, 1], given["probas_test"])


def test_half_precision_is_made_to_sum_to_one(tmp_path):
    given = arrays(100, np.random.default_rng(0), dtype=np.float16)
    (found,) = calarena.read(write(tmp_path / "x.h5", {"a/b": given}))
    assert np.abs(given["probas_test"].astype(float).sum(axis=1) - 1).max() > 1e-5
    assert np.allclose(found.test_probabilities.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels_test": None}, "a/b lacks labels_test; it has labels_cal, probas_cal, probas_test"),
        ({"labels_test": np.full(60, 7)}, "labels must be 0 to 2, but are"),
        ({"labels_test": np.zeros(5, dtype=int)}, r"probabilities are of shape \(60, 3\), but there are 5 labels"),
        ({"probas_test": np.ones((60, 3))}, "rows are no probabilities; their sums lie in"),
        ({"probas_test": np.full((60, 4), 0.25)}, "3 classes to fit on and 4 to test on"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, message):
    given = arrays(3, np.random.default_rng(0)) | change
    kept = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        list(calarena.read(write(tmp_path / "x.h5", {"a/b": kept})))


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no model"):
        list(calarena.read(write(tmp_path / "x.h5", {})))
