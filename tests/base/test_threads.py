"""Objects shared by threads, and the GIL while C computes.

The rooms test that the package's own threads do not show in the results; here the
threads are those of the user.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes


def make_solid(nx: int, ny: int) -> SimpleNamespace:
    nodes, elements = box_hexes(nx, ny, ny, (0.3, 0.05, 0.05))
    w = SimpleNamespace(nodes=nodes, elements=elements)
    w.solid = rf.Solid(
        rf.Mesh(nodes, elements), rf.StVK(1e6, 0.4, 1000.0), fixed=np.flatnonzero(nodes[:, 0] == 0)
    )
    w.force = np.zeros_like(nodes)
    w.force[nodes[:, 0] == nodes[:, 0].max(), 2] = 0.05
    return w


@pytest.fixture(scope="module")
def world() -> SimpleNamespace:
    w = make_solid(8, 2)
    w.u = w.solid.solve_static(w.force)
    w.basis = rf.modal_derivative_basis(w.solid, k=3, r=6)
    w.reduced = rf.reduce(w.solid, w.basis)
    w.q = np.linspace(-0.01, 0.01, 6)
    return w


def stepped(w: SimpleNamespace, system: rf.Solid | rf.ReducedSolid, n: int) -> np.ndarray:
    sim = rf.ImplicitNewmark(system, dt=1e-3)
    sim.step(w.force if system is w.solid else w.reduced.project(w.force), n=n)
    return sim.state.q


SHARED: dict[str, Callable[[SimpleNamespace], np.ndarray]] = {
    "internal force": lambda w: w.solid.internal_force(w.u),
    "stiffness": lambda w: w.solid.stiffness(w.u).data,
    "statics": lambda w: w.solid.solve_static(w.force),
    "modes": lambda w: w.solid.linear_modes(3).shapes,
    "basis": lambda w: rf.modal_derivative_basis(w.solid, k=3, r=6).vectors,
    "reduction": lambda w: rf.reduce(w.solid, w.basis).coefficients,
    "reduced force": lambda w: w.reduced.internal_force(w.q),
    "reduced steps": lambda w: stepped(w, w.reduced, 50),
    "unreduced steps": lambda w: stepped(w, w.solid, 3),
}


@pytest.fixture
def _frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_frequent_switches")
def test_models_are_shared_by_threads_all_at_once(world):
    """Every operation on the same objects, from four threads, in different orders."""
    expected = {name: operation(world) for name, operation in SHARED.items()}
    blas_threads = _core.blas_description()["threads"]
    start = threading.Barrier(4)

    def work(seed: int) -> list[tuple[str, np.ndarray]]:
        start.wait(timeout=600)
        order = np.random.default_rng(seed).permutation(list(SHARED))
        return [(name, SHARED[name](world)) for name in order for _ in range(2)]

    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(work, range(4)):
            for name, result in results:
                np.testing.assert_array_equal(result, expected[name], err_msg=name)
    # the number of BLAS threads is restored after work on one thread
    assert _core.blas_description()["threads"] == blas_threads


LONG: dict[str, Callable[[SimpleNamespace], object]] = {
    "force": lambda w: [w.solid.internal_force(w.force) for _ in range(40)],
    "stiffness": lambda w: [w.solid.stiffness() for _ in range(10)],
    "statics": lambda w: w.solid.solve_static(w.force),
    "modes": lambda w: w.solid.linear_modes(10),
    "reduction": lambda w: [rf.reduce(w.solid, w.basis) for _ in range(5)],
    "reduced steps": lambda w: stepped(w, w.reduced, 20_000),
}


def longest_silence(work: Callable[[], object]) -> tuple[float, float]:
    """Return how long another thread waited for its turn at most, and how long `work` took."""
    longest = 0.0
    stop = threading.Event()

    def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    ticking = threading.Thread(target=tick)
    begin = time.perf_counter()
    ticking.start()
    work()
    length = time.perf_counter() - begin
    stop.set()
    ticking.join()
    return longest, length


@pytest.mark.parametrize("name", LONG)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_python_runs_while_c_computes(name):
    w = make_solid(24, 6)
    w.basis = rf.mass_pca(w.solid, w.solid.linear_modes(8).shapes, 8)
    w.reduced = rf.reduce(w.solid, w.basis)
    calls = {"force": 40, "stiffness": 10, "reduction": 5}.get(name, 1)
    # a call that keeps the GIL keeps the other thread silent for its whole length, every
    # time; on a busy machine any thread may have to wait, but not each time again
    seen = []
    for _ in range(40):
        longest, length = longest_silence(lambda: LONG[name](w))
        if longest < max(0.5 * length / calls, 0.05):
            return
        seen.append(f"silent for {longest:.3f} of {length:.3f} s")
    pytest.fail("; ".join(seen))
