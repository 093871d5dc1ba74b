"""Memory that runs out: reported as MemoryError, nothing lost, objects usable after it.

The C library allocates through one function (csrc/base/alloc.h), in which a test can
make the k-th call and all later ones fail. Each operation below is run with k = 0,
1, 2, ... until it succeeds; every failure must be a MemoryError and must leave as
many live blocks as there were before.

Blocks of CHOLMOD do not go through that door, but are counted there: the same sweep is
made by failing functions of SuiteSparse's own, and the count is compared with the heap of the
process, which another test measures over repeated sweeps.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from operations import OPERATIONS, STVK, Operation, small_world
from reducedfem import _core
from shapes import box_hexes


@pytest.fixture(scope="module")
def world() -> SimpleNamespace:
    """Small objects, made before any failure is injected."""
    return small_world()


# those in which CHOLMOD, LAPACK or NumPy allocate as well
FOREIGN = [
    "mesh of hexes", "sparse product", "statics", "modes", "modes by iteration",
    "modal derivatives", "mass-PCA", "reduction", "implicit steps of a solid",
    "unreduced spectrum",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> Iterator[None]:
    """Spare the collector what other tests have left; it runs thousands of times here."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def failing_ks() -> Iterator[int]:
    """Every k to begin with, then sparser: long runs repeat the same few places."""
    yield from range(150)
    k = 150.0
    while True:
        yield int(k)
        k *= 1.07


def sweep(
    operation: Operation, w: SimpleNamespace, fail_from: Callable[[int], None] | None = None
) -> int:
    """Run `operation` with ever later failures; return how many there were."""
    fail_from = fail_from or _core.alloc_fail_from
    before = live_blocks()
    for failures, k in enumerate(failing_ks()):
        fail_from(k)
        try:
            operation(w)
        except MemoryError as error:
            message = str(error)
        else:
            return failures
        finally:
            fail_from(-1)
        assert message, f"k = {k}: a MemoryError without explanation"
        check_live_blocks(before, f"after failure {k}")
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
    check_live_blocks(before)


# those in which CHOLMOD works
FACTORED = [
    "statics",
    "modes by iteration",
    "modal derivatives",
    "mass-PCA",
    "implicit steps of a solid",
]


def loaded_library(name: str) -> ctypes.CDLL:
    """Return a shared library that the process has loaded already."""
    maps = Path("/proc/self/maps")
    files = {line.split()[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    found = [file for file in files if Path(file).name.startswith(name)]
    if not found:
        pytest.skip(f"{name} is not seen among the loaded libraries")
    return ctypes.CDLL(found[0])


@pytest.fixture
def suitesparse_fail_from() -> Iterator[Callable[[int], None]]:
    """Let the k-th allocation of SuiteSparse from now and all later ones fail; -1: none."""
    library, libc = loaded_library("libsuitesparseconfig"), ctypes.CDLL(None)
    size, block = ctypes.c_size_t, ctypes.c_void_p
    left = -1

    def may_proceed() -> bool:
        nonlocal left
        if left > 0:
            left -= 1
            return True
        return left != 0

    def failing(function: str, *arguments: type) -> object:
        real = getattr(libc, function)
        real.restype, real.argtypes = block, arguments
        kind = ctypes.CFUNCTYPE(block, *arguments)
        return kind(lambda *a: real(*a) if may_proceed() else None)

    functions = [
        failing("malloc", size),
        failing("calloc", size, size),
        failing("realloc", block, size),
    ]
    names = ["malloc_func", "calloc_func", "realloc_func"]
    if hasattr(library, "SuiteSparse_config_malloc_func_set"):  # SuiteSparse 7

        def exchange(new: list[object]) -> list[object]:
            old = []
            for name, function in zip(names, new, strict=True):
                get = getattr(library, f"SuiteSparse_config_{name}_get")
                get.restype = block
                old.append(block(get()))
                getattr(library, f"SuiteSparse_config_{name}_set")(function)
            return old
    else:  # the first fields of a public struct
        config = (block * len(names)).in_dll(library, "SuiteSparse_config")

        def exchange(new: list[object]) -> list[object]:
            old = [block(address) for address in config]
            for i, function in enumerate(new):
                config[i] = ctypes.cast(function, block).value
            return old

    def fail_from(k: int) -> None:
        nonlocal left
        left = k

    before = exchange(functions)
    yield fail_from
    exchange(before)


@pytest.mark.parametrize("name", FACTORED)
def test_every_allocation_of_cholmod_may_fail(name, world, suitesparse_fail_from):
    operation = OPERATIONS[name]
    expected = arrays(operation(world))
    before = live_blocks()
    assert sweep(operation, world, suitesparse_fail_from) > 5, "CHOLMOD does not ask here"
    for now, then in zip(arrays(operation(world)), expected, strict=True):
        np.testing.assert_array_equal(now, then)
    check_live_blocks(before)


def test_too_large_factors_report_their_size_and_advice(world, suitesparse_fail_from):
    operation = OPERATIONS["modes by iteration"]
    for k in range(1000):
        suitesparse_fail_from(k)
        try:
            operation(world)
        except MemoryError as error:
            message = str(error)
        else:
            break
        finally:
            suitesparse_fail_from(-1)
        assert re.search(r"Cholesky (analysis|fact|solve).* \d+ unknowns.*order=1", message)
    assert k > 5


@pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizer brings a heap of its own")
def test_factors_are_counted():
    """The counter grows as the heap does while a simulation holds a factor of megabytes."""
    nodes, elements = box_hexes(16, 9, 8, (0.4, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), STVK, fixed=np.flatnonzero(nodes[:, 0] == 0.0))
    force = np.zeros_like(nodes)
    force[-1, 2] = 0.1

    def simulated() -> rf.ImplicitNewmark:
        sim = rf.ImplicitNewmark(solid, dt=1e-3)
        sim.step(force)
        return sim

    del (sim := [simulated()])[:]  # caches of Python and the BLAS fill up
    _core.alloc_reset_peak()
    heap, counted = heap_bytes(), _core.alloc_counters()["live_bytes"]
    sim.append(simulated())
    heap, counters = heap_bytes() - heap, _core.alloc_counters()
    counted = counters["live_bytes"] - counted
    assert heap > 1e7, "no factor is held: the case tests nothing"
    # headers and rounding to pages and cache lines come on top in the heap
    assert counted == pytest.approx(heap, rel=0.02)
    assert counters["peak_bytes"] > counters["live_bytes"]


@pytest.mark.parametrize("system", ["solid", "reduced"])
def test_a_simulation_continues_after_running_out_of_memory(system, world):
    """A step that fails leaves the state of before; the steps after it are the same bits."""
    system = getattr(world, system)
    force = world.force if system is world.solid else world.reduced.project(world.force)
    plain, disturbed = (rf.ImplicitNewmark(system, dt=1e-3, newton_max=2) for _ in range(2))
    for sim in (plain, disturbed):
        sim.step(force, n=2)
    before = disturbed.state
    for k in failing_ks():
        _core.alloc_fail_from(k)
        try:
            disturbed.step(force)
        except MemoryError:
            pass
        else:
            break
        finally:
            _core.alloc_fail_from(-1)
        np.testing.assert_array_equal(disturbed.state.q, before.q)
        np.testing.assert_array_equal(disturbed.state.qddot, before.qddot)
        assert disturbed.state.time == before.time
    if system is world.reduced:
        assert k == 0, "a reduced step allocated memory"
    plain.step(force)
    np.testing.assert_array_equal(disturbed.state.q, plain.state.q)


def test_the_instrument_detects_leaks(world):
    before = live_blocks()
    kept = rf.Mesh(world.nodes, world.elements)
    assert live_blocks() > before
    with pytest.raises(
        AssertionError, match=f"^{before} blocks .* before, {live_blocks()} are kept"
    ):
        check_live_blocks(before, "kept")
    del kept
    check_live_blocks(before)


def in_a_cycle(thing: object) -> list[object]:
    cycle = [thing]
    cycle.append(cycle)
    return cycle


def test_earlier_garbage_is_not_counted_as_a_leak(world):
    """Collected in the middle: Python chooses when."""
    gc.disable()
    try:
        cycle = in_a_cycle(rf.Mesh(world.nodes, world.elements))
        held = _core.alloc_counters()["live_blocks"]
        del cycle
        assert _core.alloc_counters()["live_blocks"] == held, "it is not left to the collector"

        def work() -> rf.Mesh:
            gc.collect()
            return rf.Mesh(world.nodes, world.elements)

        fail_each_allocation(work, 1)
    finally:
        gc.enable()
    assert live_blocks() < held


def test_garbage_of_the_work_is_not_counted_as_a_leak(world):
    kept: list[object] = []

    def mesh() -> rf.Mesh:
        return rf.Mesh(world.nodes, world.elements)

    fail_each_allocation(lambda: in_a_cycle(mesh()), 1)
    with pytest.raises(AssertionError, match="blocks of the core were in use before"):
        fail_each_allocation(lambda: kept.append(mesh()) or kept, 1)


def heap_bytes() -> int:
    """Return the bytes in use in the C heap of the process, by any library."""
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
@pytest.mark.parametrize("name", FOREIGN)
def test_failures_leave_the_heap_as_it_was(name, world):
    operation = OPERATIONS[name]
    sweep(operation, world)  # caches of Python, NumPy and the BLAS fill up
    growth = []
    for _ in range(3):
        before = heap_bytes()
        sweep(operation, world)
        growth.append(heap_bytes() - before)
    # a leak recurs in every sweep, and a factor or a work array is larger than
    # this; the heap's own short lists of free blocks count as in use, and vary
    assert min(growth) < 1024, f"the heap grows by {growth} bytes per sweep"


@pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizer brings a heap of its own")
def test_growth_of_the_heap_is_detected():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    before = heap_bytes()
    block = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(2000)))
    assert heap_bytes() - before >= 1024
    libc.free(block)


def test_failing_allocation_indices_grow():
    ks = list(itertools.islice(failing_ks(), 200))
    assert ks == sorted(set(ks))
