"""What all tests share: the reference data, random numbers, paths."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# shells start background jobs with Ctrl-C ignored; tests that interrupt would wait for ever
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

# the same examples on every run; a slow machine is no failure
hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
hypothesis.settings.load_profile("house")


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
