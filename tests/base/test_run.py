"""Tasks on several threads: which failure is reported, and a callback while helpers work."""

from __future__ import annotations

import ctypes
import itertools

import pytest

import ckernels
from places import ROOT
from reducedfem.base.run import callback


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


def test_the_callback_is_polled_while_a_helper_works(library):
    asked = ctypes.c_int()
    assert library.status_of_pair(0, ctypes.byref(asked)) == 0
    assert asked.value >= 3
    assert library.status_of_pair(1, ctypes.byref(asked)) == -5  # RF_ERR_INTERRUPTED
    assert asked.value == 3  # and not again after it asked to stop


@pytest.mark.no_asan(reason="it runs no C code")
def test_a_label_goes_to_a_method_begin_only():
    class Counted:
        begin = 3  # its own affair

        def __call__(self, done, total):
            pass

    class Labelled(Counted):
        def begin(self, label):
            self.label = label

    with callback(one := Counted(), "work") as tell:
        assert tell is one
    with callback(one := Labelled(), "work"):
        assert one.label == "work"
