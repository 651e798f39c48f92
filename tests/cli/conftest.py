from __future__ import annotations

import pickle
import warnings
from hashlib import sha256

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli import test as test_command
from calibstat.cli.main import main

COMPUTING = {
    cs: (
        "calibration_test estimate omnibus_test equivalence_test clinical_summary subgroup_audit equal_curves_test "
        "learner_audit scan_variables grow_leaf_table desiderata compare_models compare_calibrators required_n "
        "minimum_detectable"
    ),
    cs.ErrorFamily: "__call__",
    test_command: "recommended_test increment_test",
}


def write_csv(path, columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def columns_of(p, y, names, **others):
    return {"pet": [names[i] for i in y], **{f"prob_{name}": p[:, k] for k, name in enumerate(names)}, **others}


def draw(rng, p):
    return (p.cumsum(axis=1) < rng.random(len(p))[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("predictions")


@pytest.fixture(scope="session")
def others():
    rng = np.random.default_rng(5)
    return {"age": rng.integers(20, 80, 600), "sex": rng.choice(["f", "m"], 600), "w": rng.uniform(0.5, 2, 600)}


@pytest.fixture(scope="session")
def off(folder, others):
    """Three classes, over-confident."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 600)
    y = draw(rng, 0.5 * p + 0.5 / 3)
    return write_csv(folder / "off.csv", columns_of(p, y, ["cat", "dog", "eel"], **others))


@pytest.fixture(scope="session")
def fair(folder, others):
    """Three classes, drawn from the predictions."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], 600)
    return write_csv(folder / "fair.csv", columns_of(p, draw(rng, p), ["cat", "dog", "eel"], **others))


@pytest.fixture(scope="session")
def binary(folder, others):
    """Two classes, drawn from the predictions, labels 0 and 1."""
    rng = np.random.default_rng(3)
    p = rng.random(600)
    columns = {"y": (rng.random(600) < p).astype(int), "p": p, **others}
    return write_csv(folder / "binary.csv", columns)


@pytest.fixture
def run(capsys):
    """Run the command line in this process; returns code, standard output, standard error."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def pets(run):
    """Run ``calibstat test`` on a file of pets."""
    return lambda path, *more: run("test", path, "--label", "pet", "--probs", "prob_*", *more)


@pytest.fixture(scope="session")
def found():
    """What was computed so far, by the arguments."""
    return {}


@pytest.fixture
def once(monkeypatch, found):
    """Let commands compute the same from the same arguments once, however it is asked for and shown."""

    def kept(compute, name):
        def call(*arguments, **options):
            try:
                key = name, sha256(pickle.dumps((arguments, options))).digest()
            except (pickle.PicklingError, AttributeError, TypeError):
                return compute(*arguments, **options)
            if key not in found:
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    found[key] = compute(*arguments, **options), told
            result, told = found[key]
            for each in told:
                warnings.warn(each.message, stacklevel=2)
            return result

        return call

    for owner, names in COMPUTING.items():
        for name in names.split():
            monkeypatch.setattr(owner, name, kept(getattr(owner, name), name))


@pytest.fixture(scope="module")
def answers():
    """What was printed for the questions of a file of tests so far."""
    return {}


@pytest.fixture
def asked(pets, answers, once):
    """As ``pets``, but what was asked before is not computed again."""

    def call(*question):
        if question not in answers:
            answers[question] = pets(*question)
        return answers[question]

    return call
