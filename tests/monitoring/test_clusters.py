"""Monitors take each label as new: rows in clusters are refused, and noted by the command."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.cli.main import main


def clusters(seed, n_clusters=300):
    """Rows of clusters of eight, which mostly have the same label; each has the chance that is predicted."""
    rng = np.random.default_rng(seed)
    chance = rng.random(n_clusters)
    p, common = np.repeat(chance, 8), np.repeat(rng.random(n_clusters) < chance, 8)
    return p, np.where(rng.random(len(p)) < 0.9, common, rng.random(len(p)) < p).astype(int)


def test_one_row_of_each_cluster_keeps_the_level_and_all_rows_do_not():
    alarms = np.zeros(2, dtype=int)
    for seed in range(20):
        p, y = clusters(seed)
        alarms += [cs.Monitor().update(p, y), cs.Monitor().update(p[::8], y[::8])]
    assert alarms[0] >= 15
    assert alarms[1] <= 20 * 0.05 + 4 * np.sqrt(20 * 0.05 * 0.95)


@pytest.mark.parametrize("grouped", [True, False])
def test_a_sample_is_refused_with_what_to_do(grouped):
    p, y = clusters(0, 30)
    sample = cs.Sample(y, p, groups=np.repeat(np.arange(30), 8) if grouped else None)
    words = r"30 clusters \(groups\): feed one row of each" if grouped else r"update\(sample\.y_prob, sample\.y_true\)"
    with pytest.raises(TypeError, match=words):
        cs.Monitor().update(sample)


def test_the_command_notes_an_identifier(tmp_path, capsys):
    p, y = clusters(0, 30)
    frame = pd.DataFrame({"question_id": np.repeat(np.arange(30), 8), "time": np.arange(len(p)), "y": y, "p": p})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    main(["monitor", str(tmp_path / "rows.csv"), "--label", "y", "--probs", "p", "--order", "time"])
    said = " ".join(capsys.readouterr().out.split())
    assert "'question_id' has about 8 rows for each value: if these belong together, watch one of them alone" in said
