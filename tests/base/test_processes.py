"""Processes and interpreters other than the first: forks and sub-interpreters."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from places import ROOT

WORK = """
import os, sys, threading, time, warnings
import numpy as np
import reducedfem as rf
from reducedfem import _core

sys.path.insert(0, {tests!r})
from shapes import box_hexes

rf.set_threads(4)
usual = _core.blas_description()["threads"]
nodes, elements = box_hexes(10, 3, 3, (0.3, 0.1, 0.1))
fixed = np.flatnonzero(nodes[:, 0] == 0.0)
force = np.zeros_like(nodes)
force[nodes[:, 0] > 0.29, 2] = 0.05


def work():
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.4, 1000.0), fixed=fixed)
    basis = rf.modal_derivative_basis(solid, k=3, r=6)
    return [solid.solve_static(force), basis.vectors, rf.reduce(solid, basis).coefficients]


def forked(count):
    # Python itself warns that forks of processes with threads may deadlock
    warnings.simplefilter("ignore", DeprecationWarning)
    for _ in range(count):
        child = os.fork()
        if child == 0:
            try:
                same = all(np.array_equal(a, b) for a, b in zip(work(), expected))
                # nothing of what other threads had begun with the BLAS is left
                same = same and _core.blas_description()["threads"] == usual
                os._exit(0 if same else 1)
            finally:
                os._exit(2)
        deadline = time.monotonic() + 300.0
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                sys.exit("the child hangs")
            time.sleep(0.005)
        if status:
            sys.exit(f"the child ended with status {{status}}")


expected = work()
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    work = WORK.format(tests=str(ROOT / "tests/support"))
    return subprocess.run(
        [sys.executable, "-c", work + code],
        capture_output=True, text=True, check=False, timeout=3000,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_after_the_use_of_threads_computes_the_same():
    done = run("forked(2)\nforked(1)\nassert np.array_equal(work()[0], expected[0])\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizer has locks of its own")
def test_a_fork_while_another_thread_computes_does_not_hang():
    """Locks that the other thread holds are free in the child."""
    code = """
stop = threading.Event()
# large enough that most of its time goes into the ordering, which is found under a lock
nodes_, elements_ = box_hexes(16, 8, 8, (0.3, 0.1, 0.1))
large = rf.Solid(
    rf.Mesh(nodes_, elements_), rf.StVK(1e6, 0.4, 1000.0), fixed=np.flatnonzero(nodes_[:, 0] == 0.0)
)

def busy():
    while not stop.is_set():
        rf.ImplicitNewmark(large, dt=1e-3)

thread = threading.Thread(target=busy)
thread.start()
try:
    forked(15)
finally:
    stop.set()
    thread.join()
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizer has locks of its own")
def test_a_fork_while_another_thread_uses_the_blas_gets_its_threads_back():
    """The count of threads is one while any thread computes; a child has none of these."""
    code = """
stop = threading.Event()
nodes_, elements_ = box_hexes(16, 5, 5, (0.3, 0.1, 0.1))
large = rf.Solid(
    rf.Mesh(nodes_, elements_), rf.StVK(1e6, 0.4, 1000.0), fixed=np.flatnonzero(nodes_[:, 0] == 0.0)
)

def busy():
    while not stop.is_set():
        large.linear_modes(20)

thread = threading.Thread(target=busy)
thread.start()
try:
    forked(10)
finally:
    stop.set()
    thread.join()
assert _core.blas_description()["threads"] == usual
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_sub_interpreters_are_refused_with_a_message():
    code = """
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(77)
try:
    # one that shares the lock of the first: Python itself lets modules in
    other = interpreters.create("legacy")
except TypeError:
    other = interpreters.create(isolated=False)
ask = '''
try:
    import reducedfem
except ImportError as error:
    print(type(error).__name__, error, flush=True)
else:
    print("imported", flush=True)
'''
interpreters.run_string(other, ask)
interpreters.destroy(other)
assert np.array_equal(work()[0], expected[0])
"""
    done = run(code)
    if done.returncode == 77:
        pytest.skip("this Python has no sub-interpreters")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "ImportError reducedfem can be imported in the main interpreter of a process only"
    )
