"""Tasks on several threads: which failure is reported does not depend on who was first."""

from __future__ import annotations

import ctypes
import itertools

import pytest

import ckernels
from places import ROOT


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    sources = [ROOT / "tests/support/run_order.c", ROOT / "csrc/base/status.c"]
    return ckernels.build("run_order", sources, tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize(
    "order", [p for n in (2, 3) for p in itertools.permutations([*range(n), *[-1] * (3 - n)])]
)
def test_the_failure_of_the_lowest_task_is_reported(library, order):
    """`order`: when each of three tasks, on a thread each, fails; -1: it does not."""
    failing = [k for k, when in enumerate(order) if when >= 0]
    assert library.lowest_failure((ctypes.c_int * 3)(*order)) == failing[0]


def test_success_reports_no_failure(library):
    assert library.lowest_failure((ctypes.c_int * 3)(-1, -1, -1)) == -1
