"""Who may import whom, read from the source with ``ast``."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import calibstat
from suites import at_once

ROOT = Path(calibstat.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


in_every_file = at_once(FILES)

# A layer is a folder, or a file beside the folders. It may import itself and the layers named here.
BELOW = {"_compiled", "_screen", "_dataclass", "_progress", "_threads", "_text"}
BELOW |= {"_files", "_lazy", "_logistic", "_warn"}
MEASURED = BELOW | {"data", "lenses", "binnings", "estimators"}
DRAWN = MEASURED | {"draws", "nulls"}
JUDGED = DRAWN | {"inference"}
WORLDS = JUDGED | {"generators", "calibrators"}
LAYERS = {
    "__init__": {"_lazy", "_names"},
    "_dask": set(),
    "_dataclass": set(),
    "_lazy": set(),
    "_names": set(),
    "results": {"_lazy", "_names"},
    "_logistic": {"data", "_dataclass", "_lazy"},
    "__main__": {"cli"},
    "_progress": set(),
    "_text": set(),
    "_screen": {"_dataclass", "_lazy", "_text"},
    "_threads": {"_progress"},
    "_compiled": {"_threads"},
    "_files": {"_warn"},
    "_warn": set(),
    "_fast": {"data", "_compiled", "_threads", "binnings"},
    "data": {"_compiled", "_dataclass", "_files", "_progress", "_screen", "_text", "_warn"},
    "lenses": BELOW | {"data"},
    "binnings": BELOW | {"data"},
    "estimators": BELOW | {"data", "lenses", "binnings"},
    "draws": MEASURED,
    "extending": MEASURED | {"draws"},
    "nulls": MEASURED | {"draws"},
    "inference": DRAWN,
    "generators": MEASURED | {"calibrators"},
    "calibrators": BELOW | {"data", "binnings"},
    "displays": JUDGED | {"planning", "interpretability"},
    "ledgers": {"_dask", "_dataclass", "_files", "_progress", "_text", "data", "lenses"},
    "reports": WORLDS | {"references", "displays", "comparisons", "planning", "auditing"},
    "sweeps": WORLDS | {"_dask"},
    "references": {"_dataclass", "inference"},
    "comparisons": WORLDS,
    "planning": WORLDS,
    "interpretability": WORLDS | {"auditing"},
    "auditing": JUDGED,
    "monitoring": JUDGED,
    "testing": JUDGED,
    "scoring": MEASURED,
    "cli": WORLDS
    | {
        "displays",
        "reports",
        "sweeps",
        "comparisons",
        "planning",
        "interpretability",
        "auditing",
        "monitoring",
        "ledgers",
        "testing",
    },
}
# These know estimators by their protocol only. A tally is part of the protocol (the sums that suffice), and so is a
# panel of statistics under their names.
PROTOCOL = {
    "calibstat.estimators.base",
    "calibstat.estimators.large_sample",
    "calibstat.estimators.tally",
    "calibstat.estimators.panels",
}
BY_PROTOCOL = [path for path in FILES if layer(path) in ("nulls", "draws", "inference", "generators")]
where_by_protocol = at_once(BY_PROTOCOL)

# One door for each heavy library: the files that may import it, by the beginning of their path.
DOORS = {
    "matplotlib": ("displays/",),
    "dask": ("_dask.py", "sweeps/", "ledgers/collect.py"),
    "duckdb": ("ledgers/batches.py",),
    "sqlglot": ("ledgers/sql.py",),
    "distributed": ("sweeps/",),
    "zarr": ("sweeps/",),
    "threadpoolctl": ("sweeps/",),
    "statsmodels": (),
    "sklearn": ("calibrators/", "auditing/learner.py", "draws/whole_clusters.py", "scoring.py", "cli/demo.py"),
    "numba": ("_fast/",),
    "tqdm": ("_progress.py",),
    "jinja2": ("reports/",),
    "fastjsonschema": ("reports/",),
    "torch": (),
    "polars": (),
}
# The only imports inside functions: of what is slow to import, where it is returned or read.
INSIDE = {
    ("data/sample.py", "calibstat._screen"),  # the face in notebooks
    ("estimators/base.py", "calibstat._screen"),
    ("_progress.py", "tqdm"),
    ("_threads.py", "concurrent.futures"),
    ("auditing/learner.py", "sklearn.base"),
    ("auditing/learner.py", "sklearn.ensemble"),
    ("auditing/learner.py", "sklearn.tree"),
    ("auditing/learner.py", "sklearn.utils.validation"),
    ("cli/calibrate.py", "pandas"),
    ("cli/demo.py", "calibstat.displays.reliability"),
    ("cli/demo.py", "sklearn.datasets"),
    ("cli/sweep.py", "calibstat.generators.base"),
    ("cli/summarise.py", "calibstat.sweeps.store"),
    ("cli/demo.py", "sklearn.ensemble"),
    ("cli/demo.py", "sklearn.model_selection"),
    ("data/_classes.py", "scipy.optimize"),
    ("data/files.py", "calibstat.data.json_lines"),
    ("data/files.py", "pandas"),
    ("data/sample.py", "calibstat.data.counted"),
    ("data/sample.py", "calibstat.data.files"),
    ("data/files.py", "pyarrow"),
    ("data/files.py", "xarray"),
    ("estimators/_curves.py", "pandas"),
    ("ledgers/counting.py", "pandas"),
    ("ledgers/batches.py", "duckdb"),
    ("ledgers/batches.py", "pyarrow"),
    ("ledgers/batches.py", "pyarrow.dataset"),
    ("ledgers/collect.py", "calibstat._dask"),
    ("ledgers/collect.py", "dask.base"),
    ("ledgers/collect.py", "dask.delayed"),
    ("ledgers/files.py", "pandas"),
    ("ledgers/files.py", "pyarrow"),
    ("ledgers/ledger.py", "calibstat.ledgers.collect"),
    ("ledgers/ledger.py", "pandas"),
    ("ledgers/sql.py", "sqlglot"),
    ("ledgers/table.py", "pandas"),
    ("estimators/panels.py", "calibstat.estimators.belt"),
    ("estimators/panels.py", "calibstat.estimators.cox"),
    ("estimators/panels.py", "calibstat.estimators.histogram"),
    ("estimators/panels.py", "calibstat.estimators.loess"),
    ("estimators/panels.py", "calibstat.estimators.score_tests"),
    ("estimators/panels.py", "calibstat.estimators.scores"),
    ("displays/trajectory.py", "pandas"),
    ("displays/trajectory.py", "xarray"),
    ("estimators/histogram.py", "xarray"),
    ("inference/results.py", "pandas"),
    ("inference/arguments.py", "calibstat.nulls.multiplier"),
    ("inference/results.py", "calibstat.inference.forest"),
    ("nulls/consistency.py", "calibstat.draws.whole_cells"),
    ("nulls/multiplier.py", "calibstat.draws.whole_cells"),
    ("interpretability/leaves.py", "calibstat.calibrators.trees"),
    ("inference/test.py", "calibstat.estimators.panels"),
    ("inference/test.py", "calibstat.inference.multiple"),
    ("inference/test.py", "calibstat.inference.by_lens"),
    ("inference/test.py", "calibstat.inference.tails"),
    ("inference/results.py", "calibstat.inference.tails"),
    ("inference/estimate.py", "calibstat.inference.by_lens"),
    ("inference/_parts.py", "calibstat.inference.estimate"),
    ("inference/results.py", "xarray"),
    ("inference/test.py", "calibstat.inference.estimate"),
    ("inference/test.py", "calibstat.nulls.linear"),
    ("nulls/exact.py", "calibstat.nulls.linear"),
    ("monitoring/watch.py", "xarray"),
    ("draws/whole_clusters.py", "sklearn.model_selection"),
    ("scoring.py", "sklearn.utils.metadata_routing"),
    ("sweeps/store.py", "xarray"),
}
ONLY_INSIDE = ("pandas", "xarray", "pyarrow")


@dataclass(frozen=True)
class Import:
    """One import statement's module, and where it stands."""

    module: str
    line: int
    inside: bool  # a function
    typing: bool  # read by type checkers only


def imports(tree: ast.AST, inside: bool = False, typing: bool = False) -> Iterator[Import]:
    """Walk down to every import."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(each.name, node.lineno, inside, typing) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield Import(str(node.module), node.lineno, inside, typing)
        else:
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from imports(node, inside or function, typing or guarded)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    return tuple(imports(tree_of(path)))


def ours(found: Import) -> bool:
    return found.module.split(".")[0] == "calibstat"


def test_every_layer_has_its_place():
    assert {layer(path) for path in FILES} <= set(LAYERS)


@in_every_file
def test_imports_point_in_one_direction(path):
    allowed = LAYERS[layer(path)] | {layer(path)}
    for found in imports_of(path):
        if ours(found) and not found.typing:
            parts = found.module.split(".")
            target = parts[1] if len(parts) > 1 else None
            if target is None:
                assert layer(path) == "cli", f"line {found.line}: import the module that defines the name"
            else:
                assert target in allowed, f"line {found.line}: {layer(path)} may not import {target}"


def test_layers_have_no_circle():
    done: set[str] = set()
    while len(done) < len(LAYERS):
        ready = {name for name, below in LAYERS.items() if name not in done and below - {name} <= done}
        assert ready, f"a circle among {sorted(set(LAYERS) - done)}"
        done |= ready


@where_by_protocol
def test_estimators_are_known_by_their_protocol(path):
    named = {found.module for found in imports_of(path) if found.module.startswith("calibstat.estimators")}
    assert named <= PROTOCOL


@in_every_file
def test_heavy_libraries_have_one_door(path):
    for found in imports_of(path):
        library = found.module.split(".")[0]
        if library in DOORS and not found.typing:
            assert relative(path).startswith(DOORS[library] or ("nowhere",)), f"line {found.line}: {found.module}"
        if library in ONLY_INSIDE and not found.typing:
            assert found.inside, f"line {found.line}: {found.module} is imported where it is returned or read"


@in_every_file
def test_imports_inside_functions_are_listed(path):
    inside = {(relative(path), found.module) for found in imports_of(path) if found.inside}
    assert inside <= INSIDE


def test_the_list_of_imports_inside_functions_is_kept_up_to_date():
    found = {(relative(path), each.module) for path in FILES for each in imports_of(path) if each.inside}
    assert found == INSIDE


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


@in_every_file
def test_nobody_calls_super(path):
    assert [call.lineno for call in calls(tree_of(path), "super")] == []


def test_default_rng_is_called_in_one_file():
    users = [
        relative(path)
        for path in FILES
        if any(getattr(node, "attr", getattr(node, "id", "")) == "default_rng" for node in ast.walk(tree_of(path)))
    ]
    assert users == ["data/arrays.py"]


@in_every_file
def test_no_randomness_is_global(path):
    """Nothing of numpy.random but its types, and nothing of the standard library's random."""
    for node in ast.walk(tree_of(path)):
        of_random = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
        if of_random and ast.unparse(node.value) in ("np.random", "numpy.random"):
            known = {"Generator", "PCG64", "SeedSequence", "default_rng"}
            assert node.attr in known, f"line {node.lineno}: {ast.unparse(node)}"
    assert "random" not in {found.module for found in imports_of(path)}


CONCRETE = {
    node.name
    for path in FILES
    if layer(path) == "estimators" and path.stem != "base"
    for node in ast.walk(tree_of(path))
    if isinstance(node, ast.ClassDef)
} | {"Through"}


@where_by_protocol
def test_nobody_asks_which_estimator_it_is(path):
    for call in calls(tree_of(path), "isinstance"):
        asked = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
        assert not asked & CONCRETE, f"line {call.lineno}: {ast.unparse(call)}"


def test_the_concrete_estimators_are_found():
    assert {"ECE", "PDE", "HistogramRegression", "Generic"} <= CONCRETE


def test_classes_are_abstract_or_final():
    """What implements a protocol of the package is not subclassed further: wrap instead."""
    for folder in ("lenses", "binnings", "estimators", "nulls", "draws"):
        package = import_module(f"calibstat.{folder}")
        for module in walk_packages(package.__path__, f"calibstat.{folder}."):
            for found in vars(import_module(module.name)).values():
                if isinstance(found, type) and found.__module__ == module.name and not found.__name__.startswith("_"):
                    ours = [each for each in found.__subclasses__() if each.__module__.startswith("calibstat.")]
                    children = [each.__name__ for each in ours]
                    assert not children or found.__abstractmethods__, f"{found.__name__} has children {children}"


# What an import brings along

LIGHT = ["scipy.stats", "pandas", "xarray", "matplotlib", "dask", "zarr", "statsmodels", "sklearn", "numba", "jinja2"]
USED = "import calibstat as cs; cs.Sample; cs.ECE; cs.calibration_test"


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import calibstat", LIGHT),
        (USED, ["pandas", "matplotlib", "sklearn", "dask", "statsmodels", "scipy.special"]),
        (
            f"{USED}; cs.calibration_test(cs.Sample([0, 1], [0.2, 0.7]), cs.ECE(cs.EqualWidth(1)))",
            ["pandas", "sklearn"],
        ),
        (
            "import calibstat as cs; cs.simplify; cs.required_n; cs.compare_models; cs.compare_calibrators",
            ["pandas", "sklearn", "scipy.stats", "scipy.optimize"],
        ),
    ],
    ids=["import", "names", "a test", "verbs"],
)
def test_an_import_brings_along_no_heavy_library(statement, absent):
    code = f"import sys, warnings; warnings.simplefilter('ignore'); {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded or statement == "import calibstat"
    assert loaded & set(absent) == set()


def test_the_check_of_imports_sees_what_is_loaded():
    """The negative control."""
    code = "import sys, calibstat as cs; cs.ReliabilityDisplay; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert "matplotlib" in done.stdout.split()


def defaults(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Each argument and field that has a default, with it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            positional = [*node.args.posonlyargs, *node.args.args]
            with_default = positional[len(positional) - len(node.args.defaults) :]
            yield from ((each.arg, value) for each, value in zip(with_default, node.args.defaults, strict=True))
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from ((each.arg, value) for each, value in pairs if value is not None)


def levels_written(tree: ast.AST) -> list[int]:
    """Lines on which a level is a number: as a default, or compared with a p-value."""

    def number(node: ast.AST) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1

    named = [value.lineno for name, value in defaults(tree) if name.lower() in LEVEL_NAMES and number(value)]
    compared = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(
            isinstance(each, ast.Constant) and each.value in (0.05, 0.95) for each in [node.left, *node.comparators]
        )
        and "p" in ast.unparse(node).lower()
    ]
    return named + compared


LEVEL_NAMES = {"level", "confidence_level", "alpha"}
# A p-value is known by its Monte Carlo interval with this confidence, whatever the level of the test.
OF_INTERVALS = {f"nulls/{name}.py" for name in ("base", "exact", "asymptotic", "consistency", "linear", "multiplier")}


def test_the_level_of_tests_is_written_once():
    found = {relative(path) for path in FILES if levels_written(tree_of(path))}
    assert found - OF_INTERVALS == {"data/parameters.py"}


@pytest.mark.parametrize(
    "line", ["def f(a, level=0.05): pass", "def f(*, confidence_level: float = 0.9): pass", "found = pvalue <= 0.05"]
)
def test_the_check_of_levels_sees_them(line):
    assert levels_written(ast.parse(line)) == [1]
