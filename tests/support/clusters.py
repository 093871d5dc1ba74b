"""Executors of worker processes, and a Dask cluster of two workers."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import multiprocessing
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

# forked processes may wait for ever for locks that threads of this one held
CONTEXT = multiprocessing.get_context("spawn")
SPAWN = functools.partial(ProcessPoolExecutor, 2, mp_context=CONTEXT)


@contextlib.contextmanager
def dask_client() -> Iterator[Any]:
    """Yield the client of a cluster of two processes; skip without the package distributed."""
    if importlib.util.find_spec("distributed") is None:
        reason = "the package distributed is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}, which continuous integration needs")
        pytest.skip(reason)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Dask and its dependencies
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2,
                processes=True,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
