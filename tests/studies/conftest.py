"""Executors of the tests of studies: each is started once for a module."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from clusters import SPAWN, dask_executor


@pytest.fixture(scope="module")
def dask():
    with dask_executor() as executor:
        yield executor


@pytest.fixture(scope="module")
def spawned():
    with SPAWN() as executor:
        yield executor


@pytest.fixture(scope="module")
def threaded():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(params=["threaded", "spawned", "dask"])
def executor(request):
    return request.getfixturevalue(request.param)
