"""Shared by tests of bases: a beam and its linear model."""

from __future__ import annotations

import pytest

import reducedfem as rf
from beams import make_beam


@pytest.fixture(scope="module")
def beam():
    return make_beam()


@pytest.fixture(scope="module")
def model(beam):
    return rf.LinearModel(beam, 6)
