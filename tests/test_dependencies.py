"""What calibstat imports is declared, what is declared is imported, and nothing is locked to a registry."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"scikit-learn": "sklearn"}  # where the name of a module is not that of its package
# Extras, what they bring along, and frames of other packages that are known when they are seen.
OFFERED = {
    "sqlglot",
    "numba",
    "llvmlite",
    "pyarrow",
    "h5netcdf",
    "h5py",
    "duckdb",
    "polars",
    "torch",
    "IPython",
}


def name_of(requirement):
    return re.split(r"[<>=!;\s]", requirement)[0]


def imported():
    """Modules that calibstat imports, by a statement or by their name."""
    for path in (ROOT / "calibstat").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (each.name.split(".")[0] for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield str(node.module).split(".")[0]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_module", "LazyModule"):
                yield from (str(each.value).split(".")[0] for each in node.args if isinstance(each, ast.Constant))


def test_what_is_imported_is_declared_and_the_other_way_round():
    core = {MODULES.get(name_of(each), name_of(each)) for each in PROJECT["dependencies"]}
    others = {name for name in imported() if name not in sys.stdlib_module_names} - {"calibstat"}
    assert others - OFFERED <= core
    assert core <= others


def test_there_is_no_lock_file_and_no_name_of_a_registry():
    names = {path.name for path in ROOT.iterdir()}
    assert not names & {"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "conda-lock.yml"}
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "conda" + ".anaconda", "anaconda" + ".org")
    texts = [
        *ROOT.glob("*.*"),
        *(ROOT / ".ci").iterdir(),
        *(ROOT / "docs").glob("*.*"),
        *(ROOT / "calibstat").rglob("*.py"),
    ]
    for path in (each for each in texts if each.is_file() and each.suffix not in (".png", ".zip")):
        assert not any(host in path.read_text(encoding="utf-8") for host in hosts), path
