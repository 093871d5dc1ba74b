"""Memory that runs out: reported as MemoryError, nothing lost, objects usable after it.

The C library allocates through one door (csrc/base/alloc.h), which can be told to
let its k-th call and all later ones fail. Each operation below is run with k = 0,
1, 2, ... until it succeeds; every failure must be a MemoryError and must leave as
many live blocks as there were before.

Blocks of CHOLMOD and ARPACK do not go through that door, but their owners do: a
second test measures the heap of the whole process over repeated sweeps.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes, box_tets

FORCE = 3.0  # N, small against the stiffness: a few Newton iterations


@pytest.fixture(scope="module")
def world() -> SimpleNamespace:
    """Small objects of every kind, made before any failure is injected."""
    w = SimpleNamespace()
    w.nodes, w.elements = box_hexes(3, 1, 1, (0.3, 0.1, 0.1))
    w.tets = box_tets(2, 1, 1, (0.3, 0.1, 0.1))
    w.mesh = rf.Mesh(w.nodes, w.elements)

    soft = rf.StVK(2e5, 0.3, 1000.0)
    w.small = rf.Solid(w.mesh, soft, fixed=np.flatnonzero(w.nodes[:, 0] == 0))
    w.modes = w.small.linear_modes(3)
    w.derivatives = w.small.modal_derivatives(w.modes)
    # large enough that modes are found by iteration
    nodes, elements = box_hexes(10, 2, 2, (0.3, 0.1, 0.1))
    w.long = rf.Solid(rf.Mesh(nodes, elements), soft, fixed=np.flatnonzero(nodes[:, 0] == 0))
    return w


Operation = Callable[[SimpleNamespace], object]

OPERATIONS: dict[str, Operation] = {
    "mesh of hexes": lambda w: rf.Mesh(w.nodes, w.elements).nodes,
    "mesh of tets": lambda w: rf.Mesh(*w.tets).elements,
    "modes by iteration": lambda w: w.long.linear_modes(2).shapes,
    "modal derivatives": lambda w: w.small.modal_derivatives(w.modes),
    "mass-PCA": lambda w: rf.mass_pca(w.small, w.derivatives, 3).vectors,
    "modal derivative basis": lambda w: rf.modal_derivative_basis(w.small, k=3, r=5).vectors,
}


def live_blocks() -> int:
    gc.collect()
    return _core.alloc_counters()["live_blocks"]


def failing_ks() -> Iterator[int]:
    """Every k to begin with, then sparser: long runs repeat the same few places."""
    yield from range(150)
    k = 150.0
    while True:
        yield int(k)
        k *= 1.07


def sweep(operation: Operation, w: SimpleNamespace) -> int:
    """Run `operation` with ever later failures; return how many there were."""
    before = live_blocks()
    for failures, k in enumerate(failing_ks()):
        _core.alloc_fail_from(k)
        try:
            operation(w)
        except MemoryError as error:
            message = str(error)
        else:
            return failures
        finally:
            _core.alloc_fail_from(-1)
        assert message, f"k = {k}: a MemoryError without explanation"
        assert live_blocks() == before, f"k = {k}: blocks were lost"
    raise AssertionError("unreachable")


def arrays(result: object) -> list[np.ndarray]:
    """Return the numbers of a result, to be compared bit for bit."""
    parts = result if isinstance(result, tuple | list) else [result]
    return [np.array(part) for part in parts]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_allocation_may_fail(name, world):
    operation = OPERATIONS[name]
    expected = arrays(operation(world))
    before = live_blocks()
    assert sweep(operation, world) > 0, "the operation allocates nothing: the case tests nothing"
    # the objects it works on are as good as before, and its result is released
    for now, then in zip(arrays(operation(world)), expected, strict=True):
        np.testing.assert_array_equal(now, then)
    assert live_blocks() == before


def test_the_instrument_sees_what_is_kept(world):
    before = live_blocks()
    kept = rf.Mesh(world.nodes, world.elements)
    assert live_blocks() > before
    del kept
    assert live_blocks() == before


def heap_bytes() -> int:
    """Return the bytes the C heap of the process holds, whoever asked for them."""
    libc = ctypes.CDLL(None)
    try:
        mallinfo2 = libc.mallinfo2
    except AttributeError:
        pytest.skip("this C library has no mallinfo2")
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    info = type("Info", (ctypes.Structure,), {"_fields_": [(n, ctypes.c_size_t) for n in names]})
    mallinfo2.restype = info
    gc.collect()
    now = mallinfo2()
    return now.uordblks + now.hblkhd


@pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizer brings a heap of its own")
@pytest.mark.parametrize("name", OPERATIONS)
def test_failures_leave_the_heap_as_it_was(name, world):
    operation = OPERATIONS[name]
    sweep(operation, world)  # caches of Python, NumPy and the BLAS fill up
    growth = []
    for _ in range(4):
        before = heap_bytes()
        failures = sweep(operation, world)
        growth.append(heap_bytes() - before)
    # one lost block per failure, however small, would show each time; Python's own
    # containers grow now and then, not always
    assert min(growth) < 16 * failures, f"the heap grows by {growth} bytes per sweep"


def test_failing_ks_grow():
    ks = list(itertools.islice(failing_ks(), 200))
    assert ks == sorted(set(ks))
