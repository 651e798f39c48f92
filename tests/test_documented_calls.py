"""What pages, docstrings and messages say of calibstat in code is there: names, attributes, arguments, options."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import calibstat as cs
from calibstat.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [each for each in [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")] if each.name != "CHANGELOG.md"]  # of then
TEXTS = [*PAGES, *(ROOT / "calibstat").rglob("*.py")]
CODE = re.compile(r"`{1,2}([^`\n]+)`{1,2}")
PACKAGES = [getattr(cs, name) for name in cs._SUBPACKAGES if name != "results"]
NAMES = {name: getattr(home, name) for home in [*PACKAGES, cs] for name in home.__all__}
# A placeholder for any name, ECE of another package, and a private part of our own.
NOT_OURS = {"calibstat.Name", "ECE(equal_intervals=)", "calibstat._fast"}


def named(found: ast.expr) -> Any:
    """The public thing that an expression names, or None."""
    if isinstance(found, ast.Name):
        return NAMES.get(found.id)
    home = found.value if isinstance(found, ast.Attribute) else None
    if isinstance(home, ast.Name) and home.id in (
        "cs",
        "calibstat",
        "calibrators",
        "generators",
        "testing",
        "extending",
    ):
        return NAMES.get(found.attr)
    return None


def wrong_arguments(call: ast.Call) -> Iterator[str]:
    """Say which arguments a call of a public name gives that it does not take."""
    found = named(call.func)
    if found is None or isinstance(found, ModuleType) or not callable(found):
        return
    takes = inspect.signature(found).parameters.values()
    kinds = {each.kind for each in takes}
    known = {each.name for each in takes}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        yield from (f"{found.__name__}({each.arg}=)" for each in call.keywords if each.arg and each.arg not in known)
    by_place = sum(each.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for each in takes)
    written_out = all(not isinstance(each, ast.Starred) and ast.unparse(each) != "..." for each in call.args)
    if inspect.Parameter.VAR_POSITIONAL not in kinds and len(call.args) > by_place and written_out:
        yield f"{found.__name__} takes {by_place} arguments by place: {ast.unparse(call)}"


def wrong_attributes(found: ast.Attribute) -> Iterator[str]:
    """Say which attribute calibstat, or one of its classes, does not have."""
    if not isinstance(found.value, ast.Name):
        return
    home: Any = cs if found.value.id in ("cs", "calibstat") else NAMES.get(found.value.id)
    if isinstance(home, type | ModuleType) and not hasattr(home, found.attr):
        fields = {name for each in getattr(home, "__mro__", ()) for name in inspect.get_annotations(each)}
        if found.attr not in fields:
            yield f"{found.value.id}.{found.attr}"


def wrong_in(code: str) -> Iterator[str]:
    """Say what a piece of code, if it is Python or a command of ours, gets wrong about calibstat."""
    command = code.removeprefix("calibstat ").split(" ")[0]
    if code.startswith("calibstat ") and command in COMMANDS:
        parser = build_parser((command,))
        chosen = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction)).choices[command]
        known = {option for each in chosen._actions for option in each.option_strings}
        yield from (f"calibstat {command} {each}" for each in re.findall(r"(?<= )--[a-z-]+", code) if each not in known)
        return
    try:
        tree = ast.parse(code.strip(), mode="eval")
    except SyntaxError:
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Call):
            yield from wrong_arguments(each)
        elif isinstance(each, ast.Attribute):
            yield from wrong_attributes(each)


def test_what_is_written_of_calibstat_is_there():
    found = {
        (path.name, wrong)
        for path in TEXTS
        for code in CODE.findall(path.read_text(encoding="utf-8"))
        for wrong in wrong_in(code)
        if wrong not in NOT_OURS
    }
    assert found == set()


def test_what_is_not_there_is_found():
    assert [*wrong_in("cs.Ecee")] == ["cs.Ecee"]
    assert [*wrong_in("LogScore(clip=0.1)")] == ["LogScore(clip=)"]
    assert [*wrong_in("TopK(1, 2)")] == ["TopK takes 1 arguments by place: TopK(1, 2)"]
    assert [*wrong_in("Sample.from_nowhere")] == ["Sample.from_nowhere"]
    assert [*wrong_in("calibstat plan --runs 5")] == ["calibstat plan --runs"]
