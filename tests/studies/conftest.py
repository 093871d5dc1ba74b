"""Executors of the tests of studies: each is started once for a module."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from clusters import CONTEXT, SPAWN, dask_client


@pytest.fixture(scope="module")
def client():
    with dask_client() as client:
        yield client


@pytest.fixture(scope="module")
def dask(client):
    return client.get_executor()


@pytest.fixture(scope="module", params=["spawned", "dask"])
def two_workers(request):
    """Two executors, each of one process."""
    if request.param == "dask":
        client = request.getfixturevalue("client")
        yield [client.get_executor(workers=[one]) for one in client.scheduler_info()["workers"]]
        return
    pools = [ProcessPoolExecutor(1, mp_context=CONTEXT) for _ in range(2)]
    with pools[0], pools[1]:
        yield pools


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
