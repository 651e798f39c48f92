"""Every public name of the installed calibstat has a type, as mypy sees it from outside: fields and methods too.

A program is written that asks mypy for the type of each of them (`reveal_type`). None may be `Any`, and no function
may return `Any`, but for those named below.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import calibstat

# What depends on the estimator, the result or the package that it was made with, or comes from packages without types.
UNTYPED = {
    "*.plot": "the display of the class of a result",
    "CalibratorComparison.models_to_frame": "as to_frame",
    "*.to_frame": "a table of pandas, whose types are a package of their own (pandas-stubs)",
    "*.present": "a number, an array or a record, by the estimator",
    "Estimate.estimate": "what the estimator presents",
    "ClinicalSummary.belt": "what its estimator presents",
    "ClinicalSummary.curve": "what its estimator presents",
    "CalibratorComparison.fitted": "a calibrator of any package",
    "Classified.classifier": "a classifier of any package",
    "TreeLeaves.tree": "a tree of any package",
    "ErrorFamily.predictions": "anything that is read as an array",
    "MatrixMap.matrix": "anything that is read as an array",
    "MatrixMap.intercept": "anything that is read as an array",
    "*.get_metadata_routing": "scikit-learn has no types",
    "*.get_params": "scikit-learn has no types",
    "*.set_params": "scikit-learn has no types",
    "*.score": "scikit-learn has no types",
    "*.set_fit_request": "scikit-learn has no types",
    "*.set_score_request": "scikit-learn has no types",
}


def questions() -> Iterator[tuple[str, str]]:
    """Yield each name, as it is shown, and the line that asks for its type."""
    packages = [getattr(calibstat, name) for name in calibstat._SUBPACKAGES]
    for package in (calibstat, *packages):
        for name in package.__all__:
            yield name, f"reveal_type({package.__name__}.{name})"
            if package is not calibstat.results:  # its names are those of calibstat
                yield from _parts(package, name)


def _parts(package: ModuleType, name: str) -> Iterator[tuple[str, str]]:
    value = getattr(package, name)
    if inspect.isclass(value):
        parts = {*dir(value), *getattr(value, "__dataclass_fields__", ())}
        for part in sorted(each for each in parts if not each.startswith("_")):
            function = f"def {package.__name__.replace('.', '_')}_{name}_{part}"
            yield f"{name}.{part}", f"{function}(some: {package.__name__}.{name}) -> None: reveal_type(some.{part})"


def answers(asked: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each name with each type that mypy reveals for it."""
    with TemporaryDirectory() as folder:
        program = Path(folder) / "asked.py"
        program.write_text("\n".join(["import calibstat", *(line for _, line in asked)]), encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", program.name]
        told = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False).stdout
    if errors := [line for line in told.splitlines() if ": error:" in line]:
        sys.exit("\n".join(errors[:20]))
    for line, kind in re.findall(r'^asked\.py:(\d+): note: Revealed type is "(.*)"$', told, re.MULTILINE):
        yield asked[int(line) - 2][0], kind


def main() -> None:
    asked = list(questions())
    found = list(answers(asked))
    silent = {name for name, _ in asked} - {name for name, _ in found}
    untyped = {name for name, kind in found if kind == "Any" or kind.endswith(" -> Any")}
    allowed = {name for name in untyped if {name, "*." + name.rpartition(".")[2]} & set(UNTYPED)}
    if silent or untyped - allowed:
        sys.exit(f"without a type: {sorted(untyped - allowed)}; without an answer: {sorted(silent)}")
    print(f"{len(asked) - len(allowed)} of {len(asked)} public names, fields and methods have a type")


if __name__ == "__main__":
    main()
