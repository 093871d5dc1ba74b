"""Shared by all tests: reference data, random numbers, paths."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pytest

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
rf.haptics.settings.timeouts.stall = 5.0


def pytest_configure(config: pytest.Config) -> None:
    """Let Matplotlib search for fonts now: a slow search prints a message amid any output."""
    if not hasattr(config, "workerinput"):
        with contextlib.suppress(ImportError):
            import matplotlib.font_manager  # noqa: F401


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
def rng() -> np.random.Generator:
    """Return a random generator that starts the same in every test."""
    return np.random.default_rng(20240229)
