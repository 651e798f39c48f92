"""Reads the layout of the benchmark CalArena (Berta et al. 2026): one HDF5 file with the predictions of many models.

``{dataset}/{model}/probas_cal``, ``labels_cal``, ``probas_test`` and ``labels_test``. The file is that of its authors;
no copy of it is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("probas_cal", "labels_cal", "probas_test", "labels_test")
ROUNDING = 0.01  # of sums of half-precision probabilities


@dataclass(frozen=True)
class Predictions:
    """What a model said about rows to fit on and rows to test on.

    Parameters
    ----------
    dataset, model : str
    fit_probabilities, test_probabilities : (n, K) floats
    fit_labels, test_labels : (n,) ints
        From 0 to K - 1.
    """

    dataset: str
    model: str
    fit_probabilities: np.ndarray
    fit_labels: np.ndarray
    test_probabilities: np.ndarray
    test_labels: np.ndarray


def read(path: str | Path) -> Iterator[Predictions]:
    """Yield the predictions of every model on every dataset, in the order of the file.

    A single column is the probability of the class 1. Rows whose sum is off by at most 0.01 (half precision) are
    divided by it.

    Raises
    ------
    ValueError
        If there is no model in the file, or arrays are missing, or do not fit together; the message names the group.
    ImportError
        If h5py is not installed.
    """
    import h5py

    if not Path(path).is_file():
        raise ValueError(f"{path} is no file: name an HDF5 file in CalArena's layout.")
    if not h5py.is_hdf5(path):
        raise ValueError(f"{path} is no HDF5 file, but one in CalArena's layout is expected.")
    found = False
    with h5py.File(path, "r") as file:
        for dataset, models in file.items():
            if not isinstance(models, h5py.Group):
                raise ValueError(f"{path}: {dataset} is an array, but groups {{dataset}}/{{model}} are expected.")
            for model, group in models.items():
                found = True
                yield _checked(dataset, model, group, f"{path}: {dataset}/{model}")
    if not found:
        raise ValueError(f"{path} holds no model: groups {{dataset}}/{{model}} with {', '.join(NAMES)} are expected.")


def _checked(dataset: str, model: str, group: Any, place: str) -> Predictions:
    keys = set(group.keys()) if hasattr(group, "keys") else set()
    missing = [name for name in NAMES if name not in keys]
    if missing:
        raise ValueError(f"{place} lacks {', '.join(missing)}; it has {', '.join(sorted(keys)) or 'no arrays'}.")
    arrays = [
        part
        for kind in ("cal", "test")
        for part in _rows(np.asarray(group[f"probas_{kind}"]), np.asarray(group[f"labels_{kind}"]), f"{place}, {kind}")
    ]
    if arrays[0].shape[1] != arrays[2].shape[1]:
        raise ValueError(f"{place} has {arrays[0].shape[1]} classes to fit on and {arrays[2].shape[1]} to test on.")
    return Predictions(dataset, model, *arrays)


def _rows(probabilities: np.ndarray, labels: np.ndarray, place: str) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (n, K) that sum to one, and labels (n,)."""
    table = probabilities.astype(float)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim == 1:
        table = np.column_stack([1 - table, table])
    labels = labels.reshape(-1)
    if table.ndim != 2 or len(labels) != len(table):
        raise ValueError(
            f"{place}: probabilities are of shape {probabilities.shape}, but there are {len(labels)} labels."
        )
    if not np.array_equal(labels, labels.astype(np.intp)) or not 0 <= labels.min() <= labels.max() < table.shape[1]:
        raise ValueError(f"{place}: labels must be 0 to {table.shape[1] - 1}, but are {np.unique(labels)[:10]}.")
    sums = table.sum(axis=1)
    if not (table.min() >= 0 and np.abs(sums - 1).max() <= ROUNDING):
        raise ValueError(f"{place}: rows are no probabilities; their sums lie in [{sums.min():.6g}, {sums.max():.6g}].")
    return table / sums[:, None], labels.astype(np.intp)
