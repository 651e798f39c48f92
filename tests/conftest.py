"""What all tests share: one thread for linear algebra, the hypothesis profile, pictures without a screen, no traces."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from zlib import crc32

# For libraries not yet loaded, and for the processes that tests start: as many processes as cores run already.
for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["COLUMNS"] = "100"  # results are as wide as the terminal
# What tests start finds the modules of the tests, as pytest does (pythonpath in pyproject.toml).
_HERE = Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_HERE), str(_HERE.parent), os.environ.get("PYTHONPATH")]))

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import threadpoolctl  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from calibstat import _compiled, _progress  # noqa: E402
from suites import ALL_EXAMPLES  # noqa: E402

_progress.LONG = 3600.0  # on a busy machine no command of a test is announced

FOUND = pytest.StashKey[dict[str, object]]()
# Others are set by libraries when they are first loaded.
READ_BY_COMMANDS = ("CALIBSTAT_ACCEL", "COLUMNS", "LINES", "HOME", "NO_COLOR", "PATH", "TERM", "TZ")

# pytest reads our categories of warnings, and with them NumPy, before this file.
threadpoolctl.threadpool_limits(limits=1, user_api="blas")

# Derandomised: the same examples in every run, on every machine; no deadline, since machines differ. The slow suite
# draws all examples, the default run the first of them.
settings.register_profile(
    "all examples",
    deadline=None,
    derandomize=True,
    max_examples=ALL_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("first examples", settings.get_profile("all examples"), max_examples=ALL_EXAMPLES // 4)


def without_slow(config: pytest.Config) -> bool:
    """Whether this is the default run, which pyproject.toml asks for."""
    return config.getoption("markexpr").startswith("not slow")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples hypothesis draws, before the first test is read."""
    settings.load_profile("first examples" if without_slow(config) else "all examples")
    # A shell that starts us in the background lets us, and all that tests start, ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests by examples belong to both suites: the slow one draws all of them, for all estimators of a class.

    Three of four slow simulations of size and coverage, drawn by their names, are run by hand.
    """
    default = without_slow(config)
    for item in items:
        by_examples = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if by_examples and not item.get_closest_marker("hours") and not (default and of_a_first_entry(item)):
            item.add_marker("slow")
        if item.get_closest_marker("slow") and "validity" in item.path.parts and crc32(item.name.encode()) % 4:
            item.add_marker("hours")
    if config.getoption("markexpr") == "slow":
        by_hand = [item for item in items if item.get_closest_marker("hours")]
        config.hook.pytest_deselected(items=by_hand)
        items[:] = [item for item in items if not item.get_closest_marker("hours")]


def of_a_first_entry(item: pytest.Item) -> bool:
    """Whether a test runs over no registry, or over the first entry of a class."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or "entry" not in callspec.params:
        return True
    from registry import first_of_its_class  # that the test itself has imported

    return first_of_its_class(callspec.params["entry"])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Times are measured in one process; everything else runs on all cores."""
    return 0 if any("benchmarks" in argument for argument in config.args) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect no garbage among thousands of tests that stay, neither while they are found nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def process_state() -> dict[str, object]:
    """Return what a test may change for its neighbours in the same process."""
    return {
        "accelerate()": _compiled._setting.on,
        "numpy.seterr": np.geterr(),
        "the current folder": str(Path.cwd()),
        "the environment": [os.environ.get(name) for name in READ_BY_COMMANDS],
    }


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep the state that the test finds."""
    item.stash[FOUND] = process_state()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that leaves the process in another state than it found."""
    yield
    left = process_state()
    changed = [name for name, value in item.stash.get(FOUND, left).items() if left[name] != value]
    if changed:
        pytest.fail(f"the test left changed, for the tests after it: {', '.join(changed)}", pytrace=False)
