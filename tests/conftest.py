"""Shared by all tests: reference data, random numbers, paths."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest

import ckernels
import reducedfem as rf
from places import ROOT

# shells start background jobs with Ctrl-C ignored; tests that interrupt would wait for ever
signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples on every run; a slow machine is no failure
hypothesis.settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("house")

# A busy machine must not end haptic sessions.  Tests of a cycle that hangs set a limit of their
# own; programs that tests start set this one themselves.
rf.haptics.settings.set_timeouts(stall=5.0)


def pytest_configure(config: pytest.Config) -> None:
    """Let Matplotlib search for fonts now: a slow search prints a message amid any output."""
    if not hasattr(config, "workerinput"):
        with contextlib.suppress(ImportError):
            import matplotlib.font_manager  # noqa: F401


# Files, folders and tests left out under the address sanitizer, beside those with its marker.
NO_ASAN = {
    "tests/base/test_broadcast.py": "programs of their own, built without that sanitizer",
    "tests/experiments/": "public functions only, which the tests of their rooms run",
    "tests/cli/test_cli.py": "public functions only, which the tests of their rooms run",
    "tests/cli/test_reduce.py": "public functions only, which the tests of their rooms run",
    "tests/cli/test_simulate.py": "public functions only, which the tests of their rooms run",
    "tests/drawing/": "pictures: Python only",
    "tests/pictures/test_animation.py": "pictures: Python only",
    "tests/pictures/test_gltf.py": "files: Python only",
    "tests/pictures/test_vtk.py": "files: Python only",
    "tests/house/test_bench_haptics.py": "timings",
    "tests/house/test_bench_haptics_soak.py": "timings",
    "tests/house/test_bench_table.py": "timings",
    "tests/house/test_bench_view_memory.py": "readings made up: Python only",
    "tests/house/test_floors.py": "reads sources",
    "tests/house/test_metadata.py": "reads sources",
    "tests/house/test_package.py": "documentation, imports and the wheel: Python only",
    "tests/house/test_private_names.py": "reads sources",
    "tests/house/test_prose.py": "reads sources",
    "tests/house/test_python_floors.py": "reads sources",
    "tests/house/test_readme.py": "public functions only, which the tests of their rooms run",
    "tests/house/test_rt_symbols.py": "reads object files",
    "tests/house/test_sources_to_add.py": "reads sources",
    "tests/house/test_symbols.py": "reads sources",
    "tests/scenes/test_scenes.py::test_scenes_meet_their": "other tests run the same C code",
}


# Files and folders of the longest tests, which begin first: at the end all processes have work.
LONGEST = (
    "tests/house/test_notebooks.py",
    "tests/scenes/test_scenes.py",
    "tests/experiments/test_felt_stiffness.py",
    "tests/experiments/test_volume_accuracy.py",
    "tests/house/test_readme.py",
    "tests/experiments/",
    "tests/scenes/",
    "tests/cli/",
    "tests/haptics/",
    "tests/mesh/",
    "tests/world/",
)


def turn(item: pytest.Item) -> int:
    """Return the place of a test among the longest."""
    place = item.path.relative_to(ROOT).as_posix()
    begin = (k for k, start in enumerate(LONGEST) if place.startswith(start))
    return next(begin, len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest; mark the tests of those files; refuse markers without a reason."""
    missing = [start for start in LONGEST if not (ROOT / start).exists()]
    if missing:
        raise pytest.UsageError(f"LONGEST names {missing[0]}, which does not exist")
    items.sort(key=turn)
    for item in items:
        place = f"{item.path.relative_to(ROOT).as_posix()}::{item.name}"
        for reason in (reason for start, reason in NO_ASAN.items() if place.startswith(start)):
            item.add_marker(pytest.mark.no_asan(reason=reason))
        if not all(mark.kwargs.get("reason") for mark in item.iter_markers("no_asan")):
            raise pytest.UsageError(f"{item.nodeid}: no_asan needs a reason=")


@pytest.fixture(scope="session", autouse=True)
def _objects(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Share objects of C code between all tests, also of several processes."""
    base = tmp_path_factory.getbasetemp()
    processes = "PYTEST_XDIST_WORKER" in os.environ
    ckernels.share_objects((base.parent if processes else base) / "objects")


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Return a function that sets the number of threads until the end of the test."""
    before = rf.threads()
    yield rf.set_threads
    rf.set_threads(before)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of independent reference data, or skip the test.

    The data are not part of the project: REDUCEDFEM_SHARED names the folder,
    else it is ``shared`` beside the source tree.
    """
    folder = Path(os.environ.get("REDUCEDFEM_SHARED", ROOT.parent / "shared"))
    if not (folder / "reference").is_dir():
        pytest.skip(f"no reference data in {folder}; set REDUCEDFEM_SHARED to their folder")
    return folder


@pytest.fixture
def set_timeouts() -> Iterator[Callable[..., object]]:
    """Return the function that sets timeouts of haptic sessions; the test has its own."""
    earlier = rf.haptics.settings.timeouts()
    yield rf.haptics.settings.set_timeouts
    rf.haptics.settings.set_timeouts(**dataclasses.asdict(earlier))


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a random generator that starts the same in every test."""
    return np.random.default_rng(20240229)
